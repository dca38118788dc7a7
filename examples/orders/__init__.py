"""A shop of three services over TCP, recorded and judged."""
