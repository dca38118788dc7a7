"""One suite that every protocol passes; a new protocol file is included by itself.

`pytest tests/conformance -k vector` runs it for one protocol. The network, the traffic and the
ground truth are the suite's own and share no code with the protocols or with the oracle.
"""
