"""What a durable member knows of its former lives: the memory of its log, without the file.

- *outbox*: own messages that are not known to have reached everybody, in the order of their
  numbers, which go on over all lives;
- *marks*: of every sender, the number of the last message that was delivered here, and up to which
  number the log has nothing (what was sent before this member's time, or is not kept any more).
"""

from collections import deque
from collections.abc import Iterable

import msgspec

from antecede.live.durable.deduplication import Had
from antecede.live.ordering.offers import HadOf, Mark

Source = tuple[str, int]
"""A sender and its series."""


class Outgone(msgspec.Struct, frozen=True, gc=False):
    """An own message, as it has to be in the log before it leaves."""

    number: int
    to: tuple[str, ...] | None
    group: str | None
    payload: bytes


class Remembered(msgspec.Struct):
    """All of it. `begins` is true for a member that has never been in the group."""

    series: int
    begins: bool = True
    reached: int = 0
    """Up to this number own messages have reached everybody."""
    position: int = 0
    """Of the last delivery in the log."""
    outbox: deque[Outgone] = msgspec.field(default_factory=deque)
    had: tuple[HadOf, ...] = ()
    last: dict[Source, int] = msgspec.field(default_factory=dict)
    lacks: dict[Source, int] = msgspec.field(default_factory=dict)
    company: tuple[str, ...] = ()
    """The members of the last view, or those of the group that it was about to found."""

    @property
    def sent(self) -> int:
        """The number of the last own message."""
        return self.outbox[-1].number if self.outbox else self.reached

    def marks(self, had: Had) -> tuple[Mark, ...]:
        """Up to where nothing is missing: beyond it, later messages may be here already."""
        return marks_of({source: self.whole(source, had) for source in self.last})

    def whole(self, source: Source, had: Had) -> int:
        """Up to here everything of this sender is here, or cannot be had any more."""
        if not had.knows(*source):
            return self.last.get(source, 0)
        return had.whole(*source, self.lacks.get(source, 0))

    def lacking(self, marks: Iterable[Mark]) -> tuple[Mark, ...]:
        """What somebody with these marks misses and this log has not."""
        has = {(mark.sender, mark.series): mark.number for mark in marks}
        gaps = {key: number for key, number in self.lacks.items() if number > has.get(key, 0)}
        return marks_of(gaps)

    def raise_last(self, source: Source, number: int) -> bool:
        """A message of this sender is here; gives whether it is later than all before."""
        if number <= self.last.get(source, 0):
            return False
        self.last[source] = number
        return True

    def raise_lacks(self, source: Source, number: int) -> None:
        """Nothing of this sender up to this number comes any more."""
        self.raise_last(source, number)
        self.lacks[source] = max(number, self.lacks.get(source, 0))

    def raise_reached(self, number: int) -> None:
        self.reached = number
        while self.outbox and self.outbox[0].number <= number:
            self.outbox.popleft()


def marks_of(numbers: dict[Source, int]) -> tuple[Mark, ...]:
    return tuple(
        Mark(sender, series, number) for (sender, series), number in sorted(numbers.items())
    )
