"""What callers may write, and what is said if they write something else."""

import os
from pathlib import Path
from typing import Final

from antecede.errors import Misuse
from antecede.live.transport.outgoing import Address
from antecede.live.transport.tls import Certificates, PlainTcp

SomeAddress = str | tuple[str, int]
"""`"host:port"`, `"[v6]:port"`, or a pair."""
SomePath = str | os.PathLike[str]
_LONGEST_NAME: Final = 200
_PORTS: Final = 1 << 16


def to_address(given: object, field: str) -> Address:
    """An address from a text or a pair."""
    host: object = ""
    port = ""
    if isinstance(given, str):
        text, _, port = given.rpartition(":")
        host = text.removeprefix("[").removesuffix("]")
        port = port if ":" in given else ""
    elif isinstance(given, tuple | list) and len(given) == 2:
        host, port = given[0], str(given[1])
    if not isinstance(host, str) or not port.isdecimal() or int(port) >= _PORTS:
        raise Misuse(f"{field}={given!r}: write an address as 'host:port' or ('host', port)")
    return host, int(port)


def to_path(given: object, field: str) -> Path | None:
    """A path from a text or a path."""
    if given is None:
        return None
    if not isinstance(given, str | os.PathLike) or not str(given):
        raise Misuse(f"{field}={given!r}: name a file, as text or as a path")
    return Path(given)


def check_name(name: object, field: str) -> None:
    """The name of a process or a group."""
    if not isinstance(name, str) or not name or len(name) > _LONGEST_NAME:
        raise Misuse(f"{field}={name!r}: a name is a text of 1 to {_LONGEST_NAME} characters")


def check_security(security: object) -> None:
    """Plain TCP has to be said in so many words."""
    if not isinstance(security, Certificates | PlainTcp):
        raise Misuse(
            f"security={security!r}: name Certificates(authority, certificate, key), or PLAIN_TCP "
            "for a network that is protected otherwise"
        )


def check_payload(payload: object) -> None:
    """What is sent is bytes."""
    if not isinstance(payload, bytes | bytearray | memoryview):
        kind = type(payload).__name__
        fix = "encode it: text.encode()" if isinstance(payload, str) else "make bytes of it"
        raise Misuse(f"a payload is bytes, not {kind}; {fix}")
