"""What a newcomer asks older members for, and what they give: as it travels.

Everything is asked for part by part, so that neither side has more than a part under way and what
keeps the group alive is never stuck behind it.
"""

from enum import IntEnum

import msgspec

from antecede.errors import MalformedStamp
from antecede.live.transport.handshake import Name
from antecede.order import Count


class Subject(IntEnum):
    """What can be asked for."""

    HAD = 0
    """What has been had of durable members, so that what they send again is dropped; to one that
    returns, how much there is of its own without a hole, so that it sends the rest again."""
    PAST = 1
    """What was sent to everybody while a durable member was away."""
    STATE = 2
    """The state of the application."""


class Mark(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Up to where the messages of a sender are known. The series is that of a durable member's
    log, or else the incarnation."""

    sender: Name
    series: Count
    number: Count


class HadOf(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Of a durable sender: everything up to `floor`, and these."""

    sender: Name
    series: Count
    floor: Count
    numbers: tuple[Count, ...]


class PastRow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A message to everybody, as it stands in a log."""

    sender: Name
    series: Count
    number: Count
    process: Count
    incarnation: Count
    payload: bytes


class Past(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Messages in the order of a log. `lacking` are those that the log does not reach back to:
    nothing of these senders up to these numbers. `lasts` is where a member that is in the group
    for the first time begins; to one that returns it says how much of its own is known there.
    `missing` are members who may have sent what is not in this log, and have not returned since."""

    rows: tuple[PastRow, ...] = ()
    lacking: tuple[Mark, ...] = ()
    lasts: tuple[Mark, ...] = ()
    missing: tuple[Name, ...] = ()


class Wanted(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=10):
    """A newcomer in this `life` (an incarnation), which has come to `view`, wants something, from
    `number` on. `marks` is what it has, where it returns; it `begins` if it has never been in the
    group."""

    life: Count
    view: Count
    kind: Subject
    number: Count = 0
    marks: tuple[Mark, ...] = ()
    begins: bool = False


class Given(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=11):
    """A part of it, for that life, as of `view`, and whether there is `more` from `number` on. Who
    cannot give it says so with `is_known` false."""

    life: Count
    view: Count
    kind: Subject
    is_known: bool
    number: Count = 0
    more: bool = False
    content: bytes = b""


class Ready(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=12):
    """A newcomer has what it wanted, in this life."""

    life: Count


class Floor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=13):
    """Everything of mine up to this number has reached everybody; none of it is sent again."""

    series: Count
    number: Count


class Stored(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=14):
    """My log has what you sent me up to this number."""

    series: Count
    number: Count


class Outdated(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=21):
    """Your log is an older copy of itself: I have had messages of it up to this number."""

    series: Count
    number: Count


Offer = Wanted | Given | Ready | Floor | Stored

_encoder = msgspec.msgpack.Encoder()
_past = msgspec.msgpack.Decoder(Past)
_had = msgspec.msgpack.Decoder(tuple[HadOf, ...])
encode_content = _encoder.encode


def decode_past(content: bytes) -> Past:
    try:
        return _past.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedStamp("past", str(error)) from None


def decode_had(content: bytes) -> tuple[HadOf, ...]:
    try:
        return _had.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedStamp("had", str(error)) from None
