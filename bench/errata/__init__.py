"""The figures of docs/errata.md, measured again: see `bench.errata.__main__`."""
