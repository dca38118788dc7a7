"""Stamps as bytes: what travels in a header of a message, for brokers with and without a log.

Fixed layouts, read and written by `struct` in one call: a stamp is decoded for every message that
arrives. Lanes and topics travel as the CRC-32 of their names (`key_of`), so that long names cost
nothing; a reader refuses two names with the same key (`Keys`).

::

    lanes     width: 4 or 8 (1 byte), publisher (6), number (6); for each lane: key (4),
              place (width)
    numbers   2 (1 byte), publisher (6), number (6); for each message of the front: topic's key (4),
              publisher (6), number (6)
"""

from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from struct import Struct
from struct import error as StructError
from typing import Any, Final
from zlib import crc32

import msgspec

from antecede.errors import MalformedStamp, Misuse

HEADER: Final = "causal"
"""The name of the header, field or channel suffix that carries a stamp."""
PUBLISHER_BITS: Final = 48
_HEAD = Struct(">BHIHI")
_NARROW = Struct(">II")
_WIDE = Struct(">IQ")
_ELEMENT = Struct(">IHIHI")
_NUMBERS: Final = 2
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
    is_narrow = all(place <= _LOW for _, place in stamp.past)
    pack = (_NARROW if is_narrow else _WIDE).pack
    publisher = stamp.publisher
    number = stamp.number
    head = _HEAD.pack(
        4 if is_narrow else 8, publisher >> 32, publisher & _LOW, number >> 32, number & _LOW
    )
    return head + b"".join([pack(lane, place) for lane, place in stamp.past])


def decode_lanes(stamp: bytes) -> LaneStamp:
    try:
        width, high, low, upper, number = _HEAD.unpack_from(stamp)
        number |= upper << 32
        if width not in (4, 8):
            raise MalformedStamp("width", f"is {width}, not 4 or 8")
        past = tuple((_NARROW if width == 4 else _WIDE).iter_unpack(stamp[_HEAD.size :]))
    except StructError:
        raise MalformedStamp("past", f"is cut off: the stamp has {len(stamp)} bytes") from None
    if number < 1:
        raise MalformedStamp("number", f"is {number}; messages are numbered from 1")
    if len(past) > 1 and len(dict(past)) != len(past):
        raise MalformedStamp("past", "names a lane twice")
    return LaneStamp(high << 32 | low, number, past)


def encode_topics(stamp: TopicStamp) -> bytes:
    publisher = stamp.publisher
    number = stamp.number
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
        elements = _ELEMENT.iter_unpack(stamp[_HEAD.size :])
        front = tuple([(t, ph << 32 | pl, nh << 32 | nl) for t, ph, pl, nh, nl in elements])
    except StructError:
        raise MalformedStamp("front", f"is cut off: the stamp has {len(stamp)} bytes") from None
    if number < 1:
        raise MalformedStamp("number", f"is {number}; messages are numbered from 1")
    if any(element[2] < 1 for element in front):
        raise MalformedStamp("front", "names number 0; messages are numbered from 1")
    if len({element[:2] for element in front}) != len(front):
        raise MalformedStamp("front", "names a publisher twice in one topic")
    return TopicStamp(high << 32 | low, number, front)


def as_text(stamp: bytes) -> str:
    """A stamp for headers that hold text."""
    return b2a_base64(stamp, newline=False).decode()


def from_text(text: str | bytes) -> bytes:
    try:
        return a2b_base64(text, strict_mode=True)
    except (NotBase64, ValueError):
        raise MalformedStamp(HEADER, "is not base64") from None
