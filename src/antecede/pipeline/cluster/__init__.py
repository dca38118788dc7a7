"""Clusters: one on this machine, and whether any can do the work."""
