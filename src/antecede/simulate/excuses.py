"""What excuses an undelivered copy or an early delivery, copy by copy.

Two things do. A *stop*: a group has lost its majority for good, says so, and the copy has no other
way. That is judged from the views that were told, who lives and which cuts last, not from the mere
word of who has stopped. A *gap*: it was told that a message is lost, and none of the survivors had
it when that was told: what is told of a message that somebody has excuses nothing, even if that one
lets it go later. That is looked up: the run is repeated with a mark in every message, and the marks
are sought in the states of the survivors. Nothing of the protocol takes part in either.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import blake2b

from antecede.message import MessageId, ProcessSet, members, process_set
from antecede.order import Event, Notice
from antecede.simulate.notices import Chronicle
from antecede.simulate.scenario import Scenario

MARK_BYTES = 12

Telling = tuple[Notice, int]
"""A notice of a gap, and who told it, where it speaks of the teller alone; else -1."""


def mark(message: MessageId) -> bytes:
    """Bytes that are found wherever a message is."""
    return blake2b(b"%d:%d" % message, digest_size=MARK_BYTES).digest()


def telling(process: int, notice: Notice) -> Telling:
    """A notice of a gap that several give is told once."""
    return notice, -1 if notice.members or notice.messages else process


class Excuses:
    """What a run excuses. `states` gives, for every telling of a gap in the same run with a mark in
    every message, the states of the survivors at that time, one after the other."""

    def __init__(
        self,
        scenario: Scenario,
        chronicle: Chronicle,
        dead: ProcessSet,
        over_s: float,
        states: Callable[[], Mapping[Telling, bytes]],
    ) -> None:
        self._chronicle = chronicle
        self._living = (1 << len(scenario.process_names)) - 1 & ~dead
        self._cuts = _lasting_cuts(scenario, over_s)
        self._states = states

    def stop(self, message: MessageId, delivered: ProcessSet, process: int) -> bool:
        """Whether the message cannot reach the process from its sender, nor from any of those who
        have delivered it, because groups have stopped that cannot go on."""
        if not self.stopped:
            return False
        sources = (delivered | 1 << message.sender) & self._living & ~self.stopped
        return not any(part & sources and part >> process & 1 for part in self._connected)

    @cached_property
    def stopped(self) -> ProcessSet:
        """Who has stopped in a group that has lost its majority, or is cut off from it."""
        found = 0
        for process, where in self._chronicle.stops:
            if self._living >> process & 1 and not self._quorum(where) >> process & 1:
                found |= 1 << process
        return found

    @cached_property
    def _views(self) -> dict[str, Notice]:
        """By group, the view that was installed last."""
        last: dict[str, tuple[float, int]] = {}
        found: dict[str, Notice] = {}
        for notice, seen in self._chronicle.notices.items():
            if notice.event is Event.VIEW and (at := (seen.first_s, notice.number)) >= last.get(
                notice.where, (0.0, 0)
            ):
                last[notice.where], found[notice.where] = at, notice
        return found

    def _quorum(self, where: str) -> ProcessSet:
        """Those of the last view of a group who are most of it and hear each other, if any."""
        view = self._views[where].members if where in self._views else 0
        for part in _parts(view & self._living, self._cuts):
            if 2 * part.bit_count() > view.bit_count():
                return part
        return 0

    @cached_property
    def _connected(self) -> list[ProcessSet]:
        """The parts of the system that are joined by groups which can go on."""
        groups: dict[str, ProcessSet] = {}
        for notice in self._chronicle.notices:
            if notice.event is Event.VIEW:
                groups[notice.where] = groups.get(notice.where, 0) | notice.members
        joined = [
            everybody & self._living & ~self.stopped
            for where, everybody in groups.items()
            if self._quorum(where)
        ]
        return _united(joined)

    def gap(self, message: MessageId) -> bool:
        """Whether it was told that the message may be lost, and it was."""
        if not any(notice.event is Event.GAP for notice in self._chronicle.notices):
            return False
        content = mark(message)
        return any(
            content not in states
            for (notice, _), states in self._told.items()
            if not (notice.members or notice.messages)
            or message in notice.messages
            or notice.members >> message.sender & 1
        )

    @cached_property
    def _told(self) -> Mapping[Telling, bytes]:
        return self._states()


def _lasting_cuts(scenario: Scenario, over_s: float) -> list[tuple[ProcessSet, ...]]:
    """The sides of the cuts that have not healed when a run is over."""
    everybody = (1 << len(scenario.process_names)) - 1
    cuts = []
    for cut in scenario.network.partitions:
        if cut.end_s > over_s:
            sides = tuple(process_set(map(scenario.index, side)) for side in cut.sides)
            cuts.append(sides if len(sides) > 1 else (*sides, everybody & ~sides[0]))
    return cuts


def _parts(processes: ProcessSet, cuts: Iterable[tuple[ProcessSet, ...]]) -> list[ProcessSet]:
    """Those who can reach each other, through others of them where a link is cut."""
    cuts = list(cuts)
    near = []
    for process in members(processes):
        reached = processes
        for sides in cuts:
            own = sum(side for side in sides if side >> process & 1)
            if own:
                reached &= own | ~sum(sides)
        near.append(reached)
    return _united(near)


def _united(sets: Iterable[ProcessSet]) -> list[ProcessSet]:
    """Sets that share a member are one."""
    found: list[ProcessSet] = []
    for one in sets:
        joined = one
        for other in [other for other in found if other & one]:
            found.remove(other)
            joined |= other
        if joined:
            found.append(joined)
    return found
