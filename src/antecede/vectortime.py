"""Vector times (Mattern, Fidge), and how the clocks tell that an order was broken.

A vector time has one entry a site: how many events of that site it knows of. Times are compared
entry by entry, and equal times precede each other: the "<" of Schiper, Eggli and Sandoz (4.1) is
reflexive, and so is `precedes`.
"""

from collections.abc import Sequence
from operator import le, sub

VectorTime = tuple[int, ...]


def precedes(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether no entry of the first time is larger than that of the second (4.1)."""
    return all(map(le, first, second))


def supremum(first: Sequence[int], second: Sequence[int]) -> VectorTime:
    """The smallest time that both precede (4.2.2)."""
    return tuple(map(max, first, second))


def lag(vector: VectorTime, time: VectorTime) -> VectorTime:
    """How far a time that precedes `time` is behind it; nothing when they are equal. Lags travel in
    the place of times: they stay small however long the run is."""
    return () if vector == time else tuple(map(sub, time, vector))


def behind(time: VectorTime, lagging: VectorTime) -> VectorTime:
    """The time that lags so much behind `time`."""
    return tuple(map(sub, time, lagging)) if lagging else time


def may_be_late(message_time: int, local_time: int) -> bool:
    """Proposition 1: whether a message that arrives may have been overtaken, by Lamport's clocks.

    `local_time` is the receiver's just before the arrival. Whenever causal order is broken this is
    true of some message; but it is also true of messages that nothing overtook.
    """
    return local_time > message_time


def is_late(message_time: Sequence[int], local_time: Sequence[int]) -> bool:
    """Proposition 2: whether a message that arrives has been overtaken, by vector times.

    `local_time` is the receiver's just before the arrival. True exactly when the receiver has had a
    message that depends on this one. A second copy of a message looks the same, and so does a
    message of the receiver's own: the proposition is about the first arrival at another site.
    """
    return precedes(message_time, local_time)
