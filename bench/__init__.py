"""Benchmarks: measured apart from the tests, run with `make bench`."""
