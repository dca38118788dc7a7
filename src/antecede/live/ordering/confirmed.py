"""Fully delivered messages, live (Rodrigues, Verissimo, section 4.5): which own messages have been
delivered by all members that they are for, by the evidence of what these report.

A report says how much of what a member has received it has delivered, without a gap: so a message
is known to be delivered everywhere one report after it is. Of a view that is over, everything is
delivered as soon as all who are still there have gone on.
"""

from collections import deque
from collections.abc import Sequence
from operator import ge

import msgspec


class FullyDelivered(msgspec.Struct, frozen=True):
    """All own messages up to this number have been delivered by all members that they were for and
    that are still there; the last of them was sent so long ago."""

    number: int
    since_s: float


class Confirmed:
    """The own messages of one view that are not known to be delivered everywhere."""

    def __init__(self, members: int) -> None:
        self._delivered = [0] * members
        """By rank, how much of what was put on the link to it has been delivered there,"""
        self._open: deque[tuple[int, Sequence[int], float]] = deque()
        """and by own message how much has to be: its number, that by rank, and when it was sent."""

    def sent(self, number: int, put: Sequence[int], now: float) -> None:
        self._open.append((number, put, now))

    def report(self, rank: int, delivered: int) -> None:
        self._delivered[rank] = delivered

    def take(self, now: float, *, is_over: bool = False) -> FullyDelivered | None:
        """What has become known; `is_over`: the view is, for everybody who is still there."""
        last = None
        while self._open and (is_over or all(map(ge, self._delivered, self._open[0][1]))):
            last = self._open.popleft()
        return None if last is None else FullyDelivered(last[0], now - last[2])
