"""Deduplication: what has been had of durable members. They send again what may not have arrived,
under the same number, and whoever has it already drops it.

A durable member says now and then up to which number everything has reached everybody; only above
that are numbers kept one by one.
"""

from collections.abc import Iterable

import msgspec

from antecede.live.ordering.offers import HadOf


class _Known(msgspec.Struct):
    series: int
    floor: int = 0
    numbers: set[int] = msgspec.field(default_factory=set)


class Had:
    """Of every durable member that was ever heard of, in the latest of its series."""

    def __init__(self, known: Iterable[HadOf] = ()) -> None:
        self._known: dict[str, _Known] = {}
        self.learn(known)

    def learn(self, known: Iterable[HadOf]) -> None:
        """Others had these before this process came."""
        for one in known:
            entry = self._of(one.sender, one.series)
            entry.floor = max(entry.floor, one.floor)
            entry.numbers |= set(one.numbers)

    def add(self, sender: str, series: int, number: int) -> bool:
        """A message has come; gives whether it is new."""
        entry = self._of(sender, series)
        if number <= entry.floor or number in entry.numbers:
            return False
        entry.numbers.add(number)
        return True

    def raise_floor(self, sender: str, series: int, floor: int) -> bool:
        """Everything up to here has reached everybody; gives whether that is news."""
        entry = self._of(sender, series)
        if floor <= entry.floor:
            return False
        entry.floor = floor
        entry.numbers = {number for number in entry.numbers if number > floor}
        return True

    def knows(self, sender: str, series: int) -> bool:
        """Whether anything has been heard of this series."""
        entry = self._known.get(sender)
        return entry is not None and entry.series == series

    def highest(self, sender: str, series: int) -> int:
        """The number of the last message of this series that was had."""
        entry = self._known.get(sender)
        if entry is None or entry.series != series:
            return 0
        return max(entry.numbers, default=entry.floor)

    def whole(self, sender: str, series: int, start: int) -> int:
        """Up to here everything of this series was had, if it was up to `start`."""
        entry = self._of(sender, series)
        number = max(start, entry.floor)
        while number + 1 in entry.numbers:
            number += 1
        return number

    def told(self) -> tuple[HadOf, ...]:
        """All of it, for a newcomer."""
        return tuple(
            HadOf(sender, one.series, one.floor, tuple(sorted(one.numbers)))
            for sender, one in self._known.items()
        )

    def _of(self, sender: str, series: int) -> _Known:
        entry = self._known.get(sender)
        if entry is None or entry.series != series:
            # A new log is a new series: nothing of the former one is sent again.
            entry = self._known[sender] = _Known(series)
        return entry
