"""Causal order over the brokers people already run."""
