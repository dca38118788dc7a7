"""Causal order over brokers: the pure part explored, the adapters against real servers."""
