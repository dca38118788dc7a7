"""Putting one group's messages into causal order as they come: pure, with the rows' own time.

A message is (sender, number), numbers of a sender counting from 1. It *names* others: its sender's
message before it, and what it comes after; naming (p, 7) names all of p's messages up to 7. It is
released when everything it names has been released or given up. Messages that are free at the same
time leave in the order of their times, then of their senders and numbers.

*Frontier*: of every sender the number up to which all has been released or given up.
*Patience*: what a message names, and what has not come when it has waited for so long, is given up
and told as a gap. A message that comes after that is *late*: it is marked, and leaves at once, or
in its place where the frontier has not passed it yet. One that was released before, or is held
already, is dropped.

Rows come in the order of (time, sender, number). If times do not run backwards from one call to the
next, what is released, and in which order, does not depend on where calls are cut.
"""

from heapq import heapify, heappop, heappush
from typing import Any, Final

import msgspec

MESSAGE: Final = "message"
GAP: Final = "gap"
LATE: Final = "late"
GAPS_KEPT: Final = 1_000
"""Of each sender, behind its frontier. A message of an older gap that comes yet is dropped."""

Name = tuple[Any, int]
"""A sender and a number."""


class Held(msgspec.Struct, array_like=True):
    """A message that waits."""

    sender: Any
    number: int
    time: float
    since: float
    """When it came, on the group's clock, which never runs backwards."""
    needs: list[Name]
    row: int
    """Where its columns stand."""
    late: bool = False

    def order(self) -> tuple[float, str, int]:
        return (self.time, str(self.sender), self.number)


class Released(msgspec.Struct, array_like=True):
    """What leaves: a message's row, or for a gap -1, and the numbers that did not come."""

    kind: str
    position: int
    row: int
    sender: Any
    number: int
    until: int


class State(msgspec.Struct, array_like=True):
    """All that is known of a group."""

    position: int = 0
    clock: float = float("-inf")
    frontier: list[tuple[Any, int]] = msgspec.field(default_factory=list)
    gaps: list[list[Any]] = msgspec.field(default_factory=list)
    """Given up: sender, first number, last number."""
    held: list[Held] = msgspec.field(default_factory=list)


class Group:
    """One group, from one state to the next."""

    def __init__(self, state: State, patience: float | None) -> None:
        self._patience = patience
        self._position = state.position
        self._clock = state.clock
        self._frontier: dict[Any, int] = dict(state.frontier)
        self._gaps: dict[Any, list[tuple[int, int]]] = {}
        for sender, first, last in state.gaps:
            self._gaps.setdefault(sender, []).append((first, last))
        self._held: dict[Name, Held] = {(one.sender, one.number): one for one in state.held}
        self._waiting: dict[Any, list[tuple[int, tuple[float, str, int], Name]]] = {}
        self._ready: list[tuple[tuple[float, str, int], Name]] = []
        self._deadlines = [(one.since, one.order(), name) for name, one in self._held.items()]
        heapify(self._deadlines)
        self.released: list[Released] = []
        for name in self._held:
            self._file(name)

    def state(self) -> State:
        """What is known now."""
        return State(
            self._position,
            self._clock,
            list(self._frontier.items()),
            [[sender, *gap] for sender in self._gaps for gap in self._kept_gaps(sender)],
            list(self._held.values()),
        )

    def _kept_gaps(self, sender: Any) -> list[tuple[int, int]]:
        """Those that the frontier has not passed, and the last of the others."""
        gaps, frontier = self._gaps[sender], self._frontier.get(sender, 0)
        passed = [gap for gap in gaps if gap[1] <= frontier]
        return [*passed[-GAPS_KEPT:], *gaps[len(passed) :]]

    def add(self, one: Held) -> None:
        """A message has come."""
        self.advance(one.time)
        one.since = self._clock
        name = (one.sender, one.number)
        if name in self._held:
            return
        one.late = self._come_back(*name)
        if one.number <= self._frontier.get(one.sender, 0):
            if one.late:
                self._emit(LATE, one.row, *name)
            return
        self._held[name] = one
        heappush(self._deadlines, (one.since, one.order(), name))
        self._file(name)
        self._drain()

    def advance(self, now: float) -> None:
        """It is this late; whoever has waited for too long goes without what has not come."""
        self._clock = max(self._clock, now)
        while (
            self._patience is not None
            and self._deadlines
            and self._deadlines[0][0] + self._patience < self._clock
        ):
            _, _, name = heappop(self._deadlines)
            if name in self._held:
                self._give_up(self._held[name])
                self._drain()

    def _needs(self, one: Held) -> list[Name]:
        return [(one.sender, one.number - 1), *one.needs]

    def _file(self, name: Name) -> None:
        """Under the first thing it waits for, or among those that are free."""
        one = self._held[name]
        for sender, number in self._needs(one):
            if self._frontier.get(sender, 0) < number and (sender, number) != name:
                heappush(self._waiting.setdefault(sender, []), (number, one.order(), name))
                return
        heappush(self._ready, (one.order(), name))

    def _drain(self) -> None:
        while self._ready:
            _, (sender, number) = heappop(self._ready)
            one = self._held.pop((sender, number))
            self._emit(LATE if one.late else MESSAGE, one.row, sender, number)
            self._reach(sender, number)

    def _reach(self, sender: Any, number: int) -> None:
        """All of a sender's messages up to this one are done with, and the gap behind it."""
        for first, last in self._gaps.get(sender, ()):
            if first <= number + 1 <= last + 1:
                number = max(number, last)
        self._frontier[sender] = number
        waiting = self._waiting.get(sender, [])
        while waiting and waiting[0][0] <= number:
            self._file(heappop(waiting)[2])

    def _give_up(self, one: Held) -> None:
        """Everything it names that has not come."""
        for sender, number in self._needs(one):
            begin = self._frontier.get(sender, 0) + 1
            known = [held for who, held in self._held if who == sender and begin <= held <= number]
            skipped = [(n, n) for n in known] + self._gaps.get(sender, [])
            for first, last in sorted(skipped):
                if begin < first and begin <= number:
                    self._tell_gap(sender, begin, min(first - 1, number))
                begin = max(begin, last + 1)
            if begin <= number:
                self._tell_gap(sender, begin, number)
            self._reach(sender, self._frontier.get(sender, 0))

    def _tell_gap(self, sender: Any, first: int, last: int) -> None:
        self._emit(GAP, -1, sender, first, last)
        gaps = self._gaps.setdefault(sender, [])
        gaps.append((first, last))
        gaps.sort()

    def _come_back(self, sender: Any, number: int) -> bool:
        """Whether this one had been given up; it is not any more."""
        for index, (first, last) in enumerate(gaps := self._gaps.get(sender, [])):
            if first <= number <= last:
                parts = ((first, number - 1), (number + 1, last))
                gaps[index : index + 1] = [part for part in parts if part[0] <= part[1]]
                return True
        return False

    def _emit(self, kind: str, row: int, sender: Any, number: int, until: int = 0) -> None:
        self.released.append(Released(kind, self._position, row, sender, number, until or number))
        self._position += 1
