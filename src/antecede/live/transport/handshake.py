"""The handshake: who talks to whom, about what, and from where on.

The one who dials says `Hello`; the other answers `Welcome` with the number of the last data frame
that it has, so that a broken connection is taken up where it broke, or a refusal. Reasons are
told only to those who have proved who they are: a stranger learns that it is refused, no more.
A later version may append fields; the version comes first, so that both can still say no politely.
"""

from typing import Annotated, Final, TypeVar

import msgspec

from antecede.errors import Misuse
from antecede.live.transport.frames import BadFrame
from antecede.order import Count

VERSION: Final = 6
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class Hello(msgspec.Struct, frozen=True, array_like=True):
    version: Count
    group: Name
    protocol: Name
    """With its options, as text: both sides must have the same."""
    sender: Name
    incarnation: Count
    """Grows with each start of a process of this name."""
    receiver: Name | None
    """Whom it means to reach; None where it knows only an address."""
    link: Count = 0
    """Grows with each link that this incarnation begins anew: data frames are numbered within
    it."""


class Welcome(msgspec.Struct, frozen=True, array_like=True):
    receiver: Name
    incarnation: Count
    received: Count
    """The number of the last data frame of this sender and incarnation."""
    key: Annotated[bytes, msgspec.Meta(max_length=64)] = b""
    """For this sender alone (`live/ordering/seals`)."""


class Refusal(msgspec.Struct, frozen=True, array_like=True):
    reason: Annotated[str, msgspec.Meta(max_length=500)]
    is_final: bool = True
    """Whether there is no point in asking again soon."""


class Refused(Misuse):
    """A peer does not want to talk to this process, and says why if it may."""

    def __init__(self, reason: str, is_final: bool = True) -> None:
        super().__init__(reason, is_final)
        self.reason = reason
        self.is_final = is_final

    def __str__(self) -> str:
        return self.reason


NO_REASON: Final = "refused"

_encoder = msgspec.msgpack.Encoder()
encode = _encoder.encode
T = TypeVar("T", bound=msgspec.Struct)


def decode(body: bytes, kind: type[T]) -> T:
    """One of the structs above, or `BadFrame`."""
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadFrame(f"{kind.__name__}: {error}") from None


def why_not(hello: Hello, group: str, protocol: str, receiver: str) -> str | None:
    """Why a peer that has proved its identity is refused; None if it is not."""
    if hello.version != VERSION:
        return f"this is version {VERSION} of the transport, yours is {hello.version}"
    if hello.group != group:
        return f"this is group '{group}', not '{hello.group}'"
    if hello.protocol != protocol:
        return f"group '{group}' runs {protocol}, not {hello.protocol}"
    if hello.receiver not in (None, receiver):
        return f"this is '{receiver}', not '{hello.receiver}'"
    if hello.sender == receiver:
        return f"the name '{receiver}' is taken"
    return None
