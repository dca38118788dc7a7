"""Whether the files of a log are what was written: checksums of rows, and of the write-ahead file.

SQLite checks each frame of a write-ahead file, and drops silently what follows the first bad one:
right for the last write before a power cut, but then a log that was damaged in the middle would be
taken for an older one. A frame that is bad and followed by another of the same file is damage.
"""

from pathlib import Path
from struct import Struct
from typing import Final
from zlib import crc32

import msgspec

_WAL_HEAD: Final = Struct(">IIIIIIII")
_FRAME_HEAD: Final = Struct(">IIIIII")
_MAGIC: Final = 0x377F0682
"""Its lowest bit says whether checksums are of big-endian words."""
_encode: Final = msgspec.msgpack.Encoder().encode


def row_sum(*columns: object) -> int:
    """The checksum of a row."""
    return crc32(_encode(columns))


def wal_damage(wal: Path) -> str | None:
    """What is wrong with a write-ahead file; None if nothing is."""
    try:
        content = wal.read_bytes()
    except OSError:
        return None  # There is none; or SQLite says what is the matter.
    if not content:
        return None
    if len(content) < _WAL_HEAD.size:
        return f"{wal.name} has {len(content)} bytes"
    magic, _, page_bytes, _, salt1, salt2, sum1, sum2 = _WAL_HEAD.unpack_from(content)
    if magic & ~1 != _MAGIC or not 512 <= page_bytes <= 65536:
        return f"the head of {wal.name} is damaged"
    order = ">" if magic & 1 else "<"
    sums = _sums(content[:24], order, 0, 0)
    if sums != (sum1, sum2):
        return f"the head of {wal.name} is damaged"
    size = _FRAME_HEAD.size + page_bytes
    frames = range(_WAL_HEAD.size, len(content) - size + 1, size)
    bad = None
    for number, at in enumerate(frames, start=1):
        _, _, *salts, first, second = _FRAME_HEAD.unpack_from(content, at)
        is_of_this = salts == [salt1, salt2]
        if bad is not None:
            if is_of_this:
                return f"frame {bad} of {wal.name} is damaged, and {number} follows it"
        elif is_of_this:
            sums = _sums(content[at : at + 8], order, *sums)
            sums = _sums(content[at + _FRAME_HEAD.size : at + size], order, *sums)
            if sums != (first, second):
                bad = number
        else:
            break  # What is left of an earlier use of the file.
    return None


def _sums(data: bytes, order: str, first: int, second: int) -> tuple[int, int]:
    words = Struct(f"{order}{len(data) // 4}I").unpack(data)
    for place in range(0, len(words), 2):
        first = (first + words[place] + second) & 0xFFFFFFFF
        second = (second + words[place + 1] + first) & 0xFFFFFFFF
    return first, second
