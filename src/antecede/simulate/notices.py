"""What happens in a run besides messages, in words: faults, and what protocols tell of themselves.

All members of a group tell of the same view; one line stands for all of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from antecede.message import ProcessSet, members
from antecede.order import Event, Notice
from antecede.simulate.parts import Partition
from antecede.simulate.scenario import Scenario

_SHOWN = 8
"""The members of a set that are named."""


class Noticed(msgspec.Struct):
    """When the processes that gave the same notice did so, and who they are."""

    first_s: float
    last_s: float
    processes: ProcessSet

    def add(self, process: int, now: float) -> None:
        self.first_s, self.last_s = min(self.first_s, now), max(self.last_s, now)
        self.processes |= 1 << process


class Stop(Noticed):
    """When processes were cut off from most of a group, and until when, if that has ended."""

    until_s: float | None = None


class Fault(NamedTuple):
    """A crash, a return, or a first arrival."""

    time_s: float
    process: int
    back_as: int | None
    """The process as which it is back: itself if it comes for the first time; none if it crashes.
    """
    is_late: bool
    """Whether nothing was left to happen then."""


class Chronicle:
    """What is told while a run goes on."""

    def __init__(self, founding: Mapping[str, Notice] = MappingProxyType({})) -> None:
        self.founding = founding
        """By group, the view that its founders began with, of which nobody tells."""
        self.notices: dict[Notice, Noticed] = {}
        self.faults: list[Fault] = []
        self.asked: dict[int, ProcessSet] = {}
        """By process that said that nobody lets it in, and has not been let in since: whom it had
        asked."""
        self.asked_at: dict[int, str] = {}
        """By process that said so, the group that it asked for last."""
        self._stopped: dict[tuple[int, str], float] = {}
        """By process and group, since when the process is cut off from most of the group."""
        self._stops: dict[Notice, Stop] = {}
        """By notice with which processes have gone on, when they had stopped."""
        self._spells: list[tuple[int, str, float, float]] = []
        """The spans of time for which processes had stopped, each with its process and group."""

    def add(self, process: int, notice: Notice, now: float) -> None:
        self.notices.setdefault(notice, Noticed(now, now, 0)).add(process, now)
        if notice.event is Event.STOPPED and notice.members:
            self.asked[process], self.asked_at[process] = notice.members, notice.where
        elif notice.event is Event.STOPPED:
            self._stopped.setdefault((process, notice.where), now)
        elif notice.event in {Event.RESUMED, Event.VIEW}:
            self.asked.pop(process, None)
            since = self._stopped.pop((process, notice.where), None)
            if since is not None:
                stop = self._stops.setdefault(notice, Stop(since, since, 0))
                stop.add(process, since)
                stop.until_s = now
                self._spells.append((process, notice.where, since, now))

    @property
    def stops(self) -> Iterable[tuple[int, str]]:
        """Who is cut off from most of a group, as it says, and has not gone on."""
        return self._stopped

    def stopped_in(self, process: int, time_s: float) -> set[str]:
        """The groups from most of which a process was cut off then, as it said."""
        lasting = [(*key, since, inf) for key, since in self._stopped.items()]
        return {
            where
            for who, where, since, until in (*lasting, *self._spells)
            if who == process and since <= time_s < until
        }

    def has_come(self, process: int, view: Notice) -> bool:
        """Whether a process has ever been in a view as far as it knows: it founded the group so, or
        says so."""
        told = self.notices.get(view)
        is_told = told is not None and told.processes >> process & 1
        return bool(is_told) or view == self.founding.get(view.where)

    def last_views(self, until_s: float, seen_by: ProcessSet = -1) -> dict[str, Notice]:
        """By group, the last view that one of these processes had installed by then; at the start,
        that of the founders."""
        last: dict[str, tuple[float, int]] = {}
        found = {
            where: notice for where, notice in self.founding.items() if notice.members & seen_by
        }
        for notice, seen in self.notices.items():
            if notice.event is not Event.VIEW or not seen.processes & seen_by:
                continue
            at = (seen.first_s, notice.number)
            if at[0] <= until_s and at >= last.get(notice.where, (0.0, 0)):
                last[notice.where], found[notice.where] = at, notice
        return found

    def sentences(self, scenario: Scenario, last_s: float) -> tuple[str, ...]:
        """One a notice and a fault, in the order of time. `last_s`: when a message was sent,
        received or delivered for the last time."""
        names = scenario.process_names
        over_s = max([last_s, *(noticed.last_s for noticed in self.notices.values())])
        late = [fault for fault in self.faults if fault.is_late and fault.time_s > over_s]
        on_time = [fault for fault in self.faults if fault not in late]
        over_s = max([over_s, *(fault.time_s for fault in on_time)])
        cuts = scenario.network.partitions
        told = [*self._told(names), *self._stops_told(names)]
        told += [(fault.time_s, _when(fault.time_s), _fault(fault, names)) for fault in on_time]
        told += [_cut(cut, scenario) for cut in cuts if cut.start_s <= over_s]
        if cuts or self.faults:
            missed = [_missed(fault, names) for fault in late]
            missed += [f"the partition at {c.start_s:g} s" for c in cuts if c.start_s > over_s]
            before = f", before {_listed(missed)}" if missed else ""
            told.append((over_s, _when(over_s), f"the run is over{before}"))
        told.sort(key=lambda one: one[0])
        return tuple([f"{when}: {sentence}" for _, when, sentence in told])

    def _told(self, names: Sequence[str]) -> Iterator[tuple[float, str, str]]:
        for notice, noticed in self.notices.items():
            is_stop = notice.event is Event.STOPPED and not notice.members
            if is_stop or notice.event is Event.RESUMED:
                continue
            told = notice.sentence()
            if notice.members:
                told += f": {_named(notice.members, names)}"
            elif notice.event is Event.GAP and not notice.messages:
                told += f": {_named(noticed.processes, names)}"
            yield noticed.first_s, _when(noticed.first_s, noticed.last_s), told

    def _stops_told(self, names: Sequence[str]) -> Iterator[tuple[float, str, str]]:
        lasting: dict[str, Stop] = {}
        for (process, where), since in self._stopped.items():
            lasting.setdefault(where, Stop(since, since, 0)).add(process, since)
        ended = [(view.where, stop) for view, stop in self._stops.items()]
        for where, stop in (*ended, *lasting.items()):
            be, cease = ("is", "stops") if stop.processes.bit_count() == 1 else ("are", "stop")
            who = _named(stop.processes, names)
            told = f"{who} {be} cut off from most of {where} and {cease}"
            told += "" if stop.until_s is None else f", until {stop.until_s:.3f} s"
            yield stop.first_s, _when(stop.first_s, stop.last_s), told


def _when(first_s: float, last_s: float | None = None) -> str:
    to = f" to {last_s:.3f} s" if last_s is not None and last_s > first_s else ""
    return f"{first_s:.3f} s{to}"


def _fault(fault: Fault, names: Sequence[str]) -> str:
    if fault.back_as == fault.process:
        return f"{names[fault.process]} comes"
    what = "crashes" if fault.back_as is None else f"is back as {names[fault.back_as]}"
    return f"{names[fault.process]} {what}"


def _missed(fault: Fault, names: Sequence[str]) -> str:
    what = "crash" if fault.back_as is None else "return"
    what = "arrival" if fault.back_as == fault.process else what
    return f"the {what} of {names[fault.process]} at {fault.time_s:g} s"


def _cut(cut: Partition, scenario: Scenario) -> tuple[float, str, str]:
    names = scenario.process_names
    sides = [_named(scenario.members(side), names) for side in cut.sides]
    verb = "is" if len(cut.sides) == len(cut.sides[0]) == 1 else "are"
    whom = "each other" if len(sides) > 1 else "the others"
    told = f"{' / '.join(sides)} {verb} cut off from {whom}"
    if cut.one_way:
        others = " / ".join(sides[1:]) or "the others"
        told = f"nothing gets from {sides[0]} to {others}"
    return cut.start_s, _when(cut.start_s, cut.end_s), told


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([part for part in (", ".join(parts[:-1]), parts[-1]) if part])


def _named(processes: ProcessSet, names: Sequence[str]) -> str:
    return some_of([names[process] for process in members(processes)])


def some_of(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
