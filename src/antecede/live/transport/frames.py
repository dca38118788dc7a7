"""Frames: what travels on one connection.

A frame is four bytes of length (of what follows them), one byte of kind, and a body. The decoder
takes bytes as they come and gives back whole frames; it never keeps more than one unfinished frame,
and refuses a frame that is too long as soon as it has seen its length. Whatever is wrong, it raises
`BadFrame`, after which the connection is of no use any more.
"""

from enum import IntEnum
from struct import Struct
from typing import Final

from antecede.errors import BadInput


class BadFrame(BadInput):
    """A peer sent what is no frame. The connection is closed; nothing else changes."""


class Kind(IntEnum):
    """What a frame is."""

    HELLO = 1
    """The one who dialled: who it is and what it wants to talk about."""
    WELCOME = 2
    """The answer: what has been received before."""
    REFUSAL = 3
    """The other answer. The connection is closed after it."""
    DATA = 4
    """A number, and a batch of items."""
    ACKNOWLEDGEMENT = 5
    """Up to which number data frames have been received."""


_HEAD: Final = Struct(">IB")
_NUMBER: Final = Struct(">Q")
_DATA_HEAD: Final = Struct(">IBQ")
_KINDS: Final = frozenset(Kind)

Frame = tuple[int, bytes]
"""Kind and body."""

HELLO_LIMIT: Final = 4096
"""Bytes of a frame before both sides know each other."""
FRAME_LIMIT: Final = 16 * 2**20
"""Bytes of a frame unless somebody asks for less."""


def encode_frame(kind: Kind, body: bytes = b"") -> bytes:
    return _HEAD.pack(1 + len(body), kind) + body


def encode_data(number: int, items: bytes) -> bytes:
    return _DATA_HEAD.pack(9 + len(items), Kind.DATA, number) + items


def encode_acknowledgement(number: int) -> bytes:
    return _DATA_HEAD.pack(9, Kind.ACKNOWLEDGEMENT, number)


def split_number(body: bytes) -> tuple[int, memoryview]:
    """The number that a body begins with, and the rest."""
    if len(body) < _NUMBER.size:
        raise BadFrame(f"a numbered frame has {len(body)} bytes, fewer than {_NUMBER.size}")
    return _NUMBER.unpack_from(body)[0], memoryview(body)[_NUMBER.size :]


class FrameDecoder:
    """Bytes in, frames out."""

    def __init__(self, limit: int = FRAME_LIMIT) -> None:
        self.limit = limit
        """May be changed between two calls: little before the handshake, more after it."""
        self._rest = bytearray()
        self._wanted = _HEAD.size
        """How many bytes have to be there before there is anything new to say."""

    @property
    def pending(self) -> int:
        """Bytes of a frame that is not complete yet."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete."""
        source: bytes | bytearray = data
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted:
                return []  # A frame that trickles in is not looked at again with every drop.
            source = self._rest
        frames: list[Frame] = []
        start, end = 0, len(source)
        self._wanted = _HEAD.size
        while end - start >= _HEAD.size:
            length, kind = _HEAD.unpack_from(source, start)
            if not 1 <= length <= self.limit:
                raise BadFrame(f"a frame of {length} bytes; 1 to {self.limit} are allowed")
            if kind not in _KINDS:
                raise BadFrame(f"a frame of unknown kind {kind}")
            until = start + 4 + length
            if until > end:
                self._wanted = 4 + length
                break
            with memoryview(source) as whole:  # So that a long frame is copied once.
                frames.append((kind, bytes(whole[start + 5 : until])))
            start = until
        self._rest = bytearray(source[start:])
        return frames
