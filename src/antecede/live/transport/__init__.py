"""Links between processes: numbered frames on TCP, taken up where a connection broke.

- `frames`: what travels on one connection, and its decoder
- `handshake`: how two ends greet each other, and why one is refused
- `tls`: certificates, and the names that they give
- `turns`: few handshakes at one time
- `outgoing`: the link to one peer, dialled again whenever it breaks
- `visitors`: connections from accept to hello
- `incoming`: the listening end, and what peers are allowed to say
- `links`: all links of one process in one group
"""
