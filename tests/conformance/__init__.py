"""The suite of `antecede.testing` on our own protocols; a new protocol file is included by itself.

`pytest tests/conformance -k vector` runs it for one protocol.
"""
