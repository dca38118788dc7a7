"""What a multicast costs in a daisy, a flat vector and a matrix, counted instead of simulated.

`sizes` are the members of a group, from the local groups to the servers at the top; all groups of a
level are equally large. The sender and the destinations are drawn at random.
"""

from collections.abc import Iterator
from math import comb, prod
from typing import NamedTuple

Sizes = tuple[int, ...]


class Cost(NamedTuple):
    """Packets that carry the message, and the integers of the vectors on them."""

    packets: float
    integers: float


def daisy(sizes: Sizes, destinations: int) -> Cost:
    """A message is broadcast in the group of its sender; in groups of servers on the way up, as
    long as a destination lies outside; and in all groups that have destinations in or below."""
    n = prod(sizes)
    packets = integers = 0.0
    for level, size in enumerate(sizes):
        below, span = prod(sizes[:level]), prod(sizes[: level + 1])
        on_the_way_up = 1.0 if not level else _some(n, n - below, destinations)
        elsewhere = (n // span - 1) * _some(n, span, destinations)
        broadcasts = on_the_way_up + elsewhere
        packets += broadcasts * (size - 1)
        integers += broadcasts * (size - 1) * size
    return Cost(packets, integers)


def _some(n: int, part: int, destinations: int) -> float:
    """The probability that some destinations are among these many of the n - 1 others."""
    return 1 - comb(max(0, n - 1 - part), destinations) / comb(n - 1, destinations)


def vector(n: int) -> Cost:
    """It has to reach everybody, whomever it is for."""
    return Cost(n - 1, (n - 1) * n)


def matrix(n: int, destinations: int) -> Cost:
    return Cost(destinations, destinations * n * n)


def hops(sizes: Sizes) -> int:
    """The most groups that a message passes."""
    return 2 * len(sizes) - 1


def choices(n: int, most_levels: int = 4) -> list[Sizes]:
    """All ways to divide n processes evenly into groups of 2 and more on 2 levels and more."""
    return [sizes for sizes in _factors(n, most_levels) if len(sizes) > 1]


def _factors(n: int, most: int) -> Iterator[Sizes]:
    if n > 1:
        yield (n,)
    if most > 1:
        for size in range(2, n // 2 + 1):
            if n % size == 0:
                for rest in _factors(n // size, most - 1):
                    yield (size, *rest)
