"""Stamps as bytes: what travels in a header of a message, for brokers with and without a log.

Columns of fixed width, read and written by `struct` in one call: a stamp is decoded for every
message that arrives. Lanes and topics travel as the CRC-32 of their names (`key_of`), so that long
names cost nothing; a reader refuses two names with the same key (`Keys`). The first byte says which
layout follows; one that is not known is refused, and its message waits for nothing.

::

    narrow    4 (1 byte), publisher (6), number (5); for each lane: key (4), place (4)
    wide      8 (1 byte), publisher (6), number (5); for each lane: key (4), place (8)
    relative  32 + b (1 byte), publisher (6), number (5); the lane with the latest place: key (4),
              place (8); for each other lane: key (4), and in 4 bytes how many milliseconds its
              place is earlier (32 - b bits) and its sequence number (b bits)
    numbers   2 (1 byte), publisher (6), number (5); for each message of the front: topic's key (4),
              publisher (6), number (6)

`relative` is for Redis, where a place is a time in milliseconds (42 bits) and a sequence number in
it (22 bits): places of 64 bits, of which stamps mostly name some that are days apart at most.
"""

from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from operator import itemgetter
from struct import Struct
from struct import error as StructError
from typing import Any, Final
from zlib import crc32

import msgspec

from antecede.errors import MalformedStamp, Misuse

HEADER: Final = "causal"
"""The name of the header, field or channel suffix that carries a stamp."""
PUBLISHER_BITS: Final = 48
_HEAD = Struct(">BHIBI")
_HEAD_BYTES: Final = _HEAD.size
_WIDE_LANE = Struct(">IQ")
_LANE = Struct(">II")
_ELEMENT = Struct(">IHIHI")
_NUMBERS: Final = 2
_NARROW: Final = 4
_WIDE: Final = 8
_RELATIVE: Final = 32
NAMED_AT_MOST: Final = 4_096
"""How many lanes or messages a stamp may name: one forged stamp fills nobody's memory."""
SEQUENCE_BITS: Final = 22
PLACE_BITS: Final = 64
_SEQUENCE: Final = (1 << SEQUENCE_BITS) - 1
_LOW: Final = 0xFFFFFFFF


class LaneStamp(msgspec.Struct, frozen=True, gc=False):
    """What a message in a log depends on."""

    publisher: int
    """One life of a publisher: a random number."""
    number: int
    """Counts what that publisher has published, from 1."""
    past: tuple[tuple[int, int], ...]
    """For each lane in the publisher's past the last place in it."""


class TopicStamp(msgspec.Struct, frozen=True, gc=False):
    """What a message without a log depends on."""

    publisher: int
    number: int
    """Counts what that publisher has published to this topic, from 1."""
    front: tuple[tuple[int, int, int], ...]
    """(topic, publisher, number): of each topic in the publisher's past the last messages."""


def key_of(name: str) -> int:
    """What stands for a lane or topic in stamps."""
    return crc32(name.encode())


class Keys:
    """Names of lanes or topics by key, and the other way round."""

    def __init__(self) -> None:
        self._keys: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def add(self, name: str) -> int:
        """The key of a name."""
        key = self._keys.get(name)
        if key is None:
            key = key_of(name)
            if key in self._names:
                raise Misuse(
                    f"'{name}' and '{self._names[key]}' have the same CRC-32; rename one of them"
                )
            self._keys[name] = key
            self._names[key] = name
        return key

    def name(self, key: Any) -> str:
        """The name of a key, or the key itself where the name is not known here."""
        return self._names.get(key) or f"#{key:08x}"


def encode_lanes(stamp: LaneStamp) -> bytes:
    past = stamp.past
    if len(past) > NAMED_AT_MOST:
        raise Misuse(f"this publisher knows of {len(past):,} lanes; at most {NAMED_AT_MOST:,} fit")
    publisher, number = stamp.publisher, stamp.number
    head = (publisher >> 32, publisher & _LOW, number >> 32, number & _LOW)
    latest = max(past, key=itemgetter(1), default=(0, 0))
    if latest[1] <= _LOW:
        pack = _LANE.pack
        return _HEAD.pack(_NARROW, *head) + b"".join([pack(lane, place) for lane, place in past])
    others = [one for one in past if one is not latest]
    bits = max([place & _SEQUENCE for _, place in others], default=0).bit_length()
    time = latest[1] >> SEQUENCE_BITS
    rows = [
        (lane, time - (place >> SEQUENCE_BITS) << bits | place & _SEQUENCE)
        for lane, place in others
    ]
    if any(row[1] > _LOW for row in rows):
        pack = _WIDE_LANE.pack
        return _HEAD.pack(_WIDE, *head) + b"".join([pack(lane, place) for lane, place in past])
    pack = _LANE.pack
    start = _HEAD.pack(_RELATIVE | bits, *head) + _WIDE_LANE.pack(*latest)
    return start + b"".join([pack(*row) for row in rows])


def decode_lanes(stamp: bytes) -> LaneStamp:
    try:
        kind, high, low, upper, number = _HEAD.unpack_from(stamp)
        number |= upper << 32
        past: tuple[tuple[int, int], ...]
        if kind == _NARROW:
            past = tuple(_LANE.iter_unpack(stamp[_HEAD_BYTES:]))
        elif _RELATIVE <= kind <= _RELATIVE + SEQUENCE_BITS:
            past = _decode_relative(stamp, kind - _RELATIVE)
        elif kind == _WIDE:
            past = tuple(_WIDE_LANE.iter_unpack(stamp[_HEAD_BYTES:]))
        else:
            raise MalformedStamp("kind", f"is {kind}, which is not known here")
    except StructError:
        raise MalformedStamp("past", f"is cut off: the stamp has {len(stamp)} bytes") from None
    if number < 1:
        raise MalformedStamp("number", f"is {number}; messages are numbered from 1")
    if len(past) > 1:
        if len(past) > NAMED_AT_MOST:
            raise MalformedStamp("past", f"names {len(past):,} lanes, {NAMED_AT_MOST:,} at most")
        if len(dict(past)) != len(past):
            raise MalformedStamp("past", "names a lane twice")
    return LaneStamp(high << 32 | low, number, past)


def _decode_relative(stamp: bytes, bits: int) -> tuple[tuple[int, int], ...]:
    latest: tuple[int, int] = _WIDE_LANE.unpack_from(stamp, _HEAD_BYTES)
    begin = latest[1] & ~_SEQUENCE
    rows = _LANE.iter_unpack(stamp[_HEAD_BYTES + _WIDE_LANE.size :])
    if not bits:
        return (latest, *[(lane, begin - (row << SEQUENCE_BITS)) for lane, row in rows])
    mask = (1 << bits) - 1
    return (
        latest,
        *[(lane, begin - (row >> bits << SEQUENCE_BITS) + (row & mask)) for lane, row in rows],
    )


def encode_topics(stamp: TopicStamp) -> bytes:
    publisher, number = stamp.publisher, stamp.number
    if len(stamp.front) > NAMED_AT_MOST:
        raise Misuse(
            f"the last messages of all topics are {len(stamp.front):,}; at most "
            f"{NAMED_AT_MOST:,} fit"
        )
    head = _HEAD.pack(_NUMBERS, publisher >> 32, publisher & _LOW, number >> 32, number & _LOW)
    pack = _ELEMENT.pack
    return head + b"".join(
        [pack(t, p >> 32, p & _LOW, n >> 32, n & _LOW) for t, p, n in stamp.front]
    )


def decode_topics(stamp: bytes) -> TopicStamp:
    try:
        kind, high, low, upper, number = _HEAD.unpack_from(stamp)
        number |= upper << 32
        if kind != _NUMBERS:
            raise MalformedStamp("kind", f"is {kind}, not {_NUMBERS}")
        elements = _ELEMENT.iter_unpack(stamp[_HEAD_BYTES:])
        front = tuple([(t, ph << 32 | pl, nh << 32 | nl) for t, ph, pl, nh, nl in elements])
    except StructError:
        raise MalformedStamp("front", f"is cut off: the stamp has {len(stamp)} bytes") from None
    if number < 1:
        raise MalformedStamp("number", f"is {number}; messages are numbered from 1")
    if len(front) > NAMED_AT_MOST:
        raise MalformedStamp("front", f"names {len(front):,} messages, {NAMED_AT_MOST:,} at most")
    if any(element[2] < 1 for element in front):
        raise MalformedStamp("front", "names number 0; messages are numbered from 1")
    if len({element[:2] for element in front}) != len(front):
        raise MalformedStamp("front", "names a publisher twice in one topic")
    return TopicStamp(high << 32 | low, number, front)


def as_text(stamp: bytes) -> str:
    """A stamp for headers that hold text: base64 without padding."""
    return b2a_base64(stamp, newline=False).rstrip(b"=").decode()


def from_text(text: str | bytes) -> bytes:
    try:
        padding = -len(text) % 4
        if padding:
            text = text + "===="[:padding] if isinstance(text, str) else text + b"===="[:padding]
        return a2b_base64(text, strict_mode=True)
    except (NotBase64, ValueError):
        raise MalformedStamp(HEADER, "is not base64") from None
