"""How a matrix travels: row after row, each integer in as few bytes as it needs, seven bits in a
byte. Most are small, so a matrix takes about a byte for each pair of members."""

from collections.abc import Iterable
from functools import lru_cache
from math import isqrt

from antecede.errors import MalformedStamp

_MORE = 0x80
"""Set in every byte of an integer but its last."""
_LONGEST = 9
"""Bytes of an integer: 63 bits."""


def encode_matrix(integers: Iterable[int]) -> bytes:
    encoded = bytearray()
    for integer in integers:
        while integer >= _MORE:
            encoded.append(integer & (_MORE - 1) | _MORE)
            integer >>= 7  # noqa: PLW2901
        encoded.append(integer)
    return bytes(encoded)


@lru_cache(maxsize=1024)
def decode_matrix(encoded: bytes) -> tuple[int, ...]:
    """The integers of a square matrix, row after row."""
    integers: list[int] = []
    integer = shift = 0
    for byte in encoded:
        integer |= (byte & (_MORE - 1)) << shift
        if byte & _MORE:
            shift += 7
            if shift >= 7 * _LONGEST:
                raise MalformedStamp("matrix", f"has an integer of more than {_LONGEST} bytes")
        else:
            integers.append(integer)
            integer = shift = 0
    if shift or not integers or isqrt(len(integers)) ** 2 != len(integers):
        raise MalformedStamp("matrix", f"of {len(integers)} integers is cut short, or no square")
    return tuple(integers)


def integers_in(encoded: bytes) -> int:
    return sum(byte < _MORE for byte in encoded)
