"""Three services in one causal group: one is killed and started again, and nothing is lost."""
