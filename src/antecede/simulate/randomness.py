"""One seed, many independent streams, each found by its name.

A stream is a fixed sequence of numbers: it depends on the seed and on its name, never on how many
are drawn at a time or on what other streams were used for. So one source of chance can be switched
on without disturbing the others. Nothing here depends on Python's hash seed.
"""

from collections.abc import Callable
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

Filler = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]
"""Draws that many numbers at once."""

_FIRST_BLOCK = 64
_LARGEST_BLOCK = 4096
_WORD = (1 << 64) - 1


def generator(seed: int, *name: str | int) -> np.random.Generator:
    """The stream of this name."""
    digest = blake2b(repr(name).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.PCG64([seed, int.from_bytes(digest, "little")]))


class Draws:
    """A stream of numbers, drawn in blocks that grow with use and handed out a few at a time."""

    __slots__ = ("_block", "_fill", "_generator", "_largest", "_next", "_size")

    def __init__(
        self, generator: np.random.Generator, fill: Filler, largest: int = _LARGEST_BLOCK
    ) -> None:
        self._largest = largest
        self._generator = generator
        self._fill = fill
        self._block: list[float] = []
        self._next = 0
        self._size = _FIRST_BLOCK

    def take(self, count: int) -> list[float]:
        """The next so many numbers."""
        start = self._next
        end = self._next = start + count
        if end > len(self._block):
            fresh = self._fill(self._generator, max(count, self._size)).tolist()
            self._block = self._block[start:] + fresh
            self._size = min(2 * self._size, self._largest)
            start, end = 0, count
            self._next = end
        return self._block[start:end]

    def one(self) -> float:
        """The next number."""
        if self._next == len(self._block):
            return self.take(1)[0]
        number = self._block[self._next]
        self._next += 1
        return number


def uniforms(seed: int, *name: str | int, largest: int = _LARGEST_BLOCK) -> Draws:
    """A stream of numbers from 0 (inclusive) to 1 (exclusive)."""
    return Draws(generator(seed, *name), np.random.Generator.random, largest)


def mix(key: int, *parts: int) -> int:
    """A 64-bit number that follows from these and looks like chance (the finaliser of SplitMix64):
    for decisions that belong to a thing, not to the moment at which it is asked about."""
    for part in parts:
        key = (key + 0x9E3779B97F4A7C15 * (part + 1)) & _WORD
        key = ((key ^ key >> 30) * 0xBF58476D1CE4E5B9) & _WORD
        key = ((key ^ key >> 27) * 0x94D049BB133111EB) & _WORD
        key ^= key >> 31
    return key


def as_uniform(key: int) -> float:
    """A 64-bit number as one from 0 (inclusive) to 1 (exclusive)."""
    return (key >> 11) / (1 << 53)
