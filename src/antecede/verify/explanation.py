"""Why was this message held, or how did it break order? One message at one process, on demand."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np

from antecede.compiled import loop_for
from antecede.errors import Misuse
from antecede.trace.around import read_around
from antecede.trace.assumed import Assumed, read_assumed
from antecede.trace.called import find_called, is_absolute, read_called, time_text
from antecede.trace.events import Events, Run
from antecede.trace.joined import NEVER, Column, Joined, Offsets
from antecede.trace.reader import count_rows, read_trace
from antecede.trace.schema import DELIVER, RECEIVE, SEND
from antecede.verify.audit import Subject, find_witnesses, subject_of
from antecede.verify.check import layer_code
from antecede.verify.delays import split_times
from antecede.verify.told import name_witnesses
from antecede.verify.verdict import Answer, Witness, answer_of, assumed_to_json, doubts_of

WHOLE: Final = 1_000_000
"""Rows up to which a trace is read as a whole; of a longer one, so many"""
REACH: Final = 200_000
"""on either side of the message, and at most so many:"""
FARTHEST: Final = 3_200_000


@dataclass(frozen=True)
class Predecessor:
    """A message, addressed to the same process, that had to be delivered there before."""

    message: str
    received_s: float | None
    delivered_s: float | None


@dataclass(frozen=True)
class Explanation:
    """What happened to a message at a process. Times are in seconds, None where unknown."""

    run: str
    process: str
    message: str
    sent_s: float | None
    received_s: float | None
    delivered_s: float | None
    delivered: bool
    waited_for: tuple[Predecessor, ...] = ()
    """The predecessors that were delivered there while it was held, in that order."""
    missing: tuple[Predecessor, ...] = ()
    """Those that the process had not delivered when it delivered the message, or ever."""
    forced_s: float | None = None
    inherited_s: float | None = None
    own_s: float | None = None
    violation: Witness | None = None
    """The proof, if it was delivered too early."""
    looked_at: tuple[int, int] | None = None
    """Of how many rows the answer is, and how many there are, where it is not of all of them. What
    was lost, or is under way, since long before is not seen there."""
    assumed: tuple[Assumed, ...] = ()
    """What the maker of the trace had to assume,"""
    names: Mapping[str, str] = field(default_factory=dict)
    """what the log that it was made from calls the messages,"""
    is_absolute: bool = False
    """and whether times count from 1970."""

    @property
    def answer(self) -> Answer:
        """Whether this delivery kept causal order. What was sent long before it and is delivered
        long after it stands in no row around it."""
        if self.looked_at and not self.violation:
            return Answer.CANNOT_TELL
        proofs = (self.violation,) if self.violation else ()
        return answer_of(proofs, doubts_of(self.delivered, 0, self.assumed), proofs)

    @property
    def held_s(self) -> float | None:
        if self.received_s is None or self.delivered_s is None:
            return None
        return self.delivered_s - self.received_s

    def to_json(self) -> dict[str, Any]:
        """What `explain --json` prints."""
        told = {"answer": str(self.answer), **asdict(self), "names": dict(self.names)}
        told["assumed"] = [assumed_to_json(one) for one in self.assumed]
        told["violation"] = self.violation.to_json() if self.violation else None
        return {**told, "held_s": self.held_s}

    def sentences(self) -> list[str]:
        """The same for a person."""
        told = [self._what_happened()]
        if self.waited_for:
            names = ", ".join(self._described(waited) for waited in self.waited_for)
            told.append(f"While it waited, {self.process} delivered what it depends on: {names}.")
        elif self.delivered and self.held_s:
            told.append("It waited for no other message.")
        if self.held_s:
            told.append(
                f"Of the wait, {self.forced_s:.6g} s was forced: a message that it depends on had "
                f"not arrived. {self.inherited_s:.6g} s was inherited from messages that were held "
                f"longer than needed. {self.own_s:.6g} s was its own: causality did not require it."
            )
        if self.violation:
            perhaps = "Perhaps causal" if self.answer is Answer.CANNOT_TELL else "Causal"
            told.append(f"{perhaps} order was BROKEN: {self.violation.sentence()}.")
        if self.missing and (more := self.missing[1:] if self.violation else self.missing):
            names = ", ".join(self._described(missed) for missed in more)
            lead = "It also overtook" if self.violation else "It depends on what is missing there:"
            told.append(f"{lead} {names}.")
        if self.looked_at:
            some, rows = self.looked_at
            told.append(f"This is what {some:,} of {rows:,} rows say, those around the message.")
        if self.delivered and self.answer is Answer.CANNOT_TELL:
            told.append("Whether that kept causal order cannot be told:")
            told += [f"  {one.sentence()}" for one in self.assumed if one.doubt]
            if self.looked_at:
                told.append("  what overtakes by more than these rows, antecede verify finds")
        return told

    def _what_happened(self) -> str:
        message = self._name(self.message)
        subject = f"{self.process} received {message}{self._at(self.received_s)}"
        if self.received_s is None:
            subject = f"Nobody noted when {self.process} received {message}"
        if not self.delivered:
            verb = "; it" if self.received_s is None else " and"
            ever = "did not deliver it in these rows" if self.looked_at else "never delivered it"
            return f"{subject}{verb} {ever}."
        if self.held_s is None:
            verb = "; it" if self.received_s is None else " and"
            return f"{subject}{verb} delivered it{self._at(self.delivered_s)}."
        return f"{subject} and delivered it{self._at(self.delivered_s)}: " + (
            f"held for {self.held_s:.6g} s." if self.held_s else "at once."
        )

    def _name(self, message: str) -> str:
        return self.names.get(message, message)

    def _at(self, time: float | None) -> str:
        return "" if time is None else f" at {time_text(time, absolute=self.is_absolute)}"

    def _described(self, predecessor: Predecessor) -> str:
        times = [
            f"{verb}{self._at(time)}"
            for verb, time in (
                ("arrived", predecessor.received_s),
                ("delivered", predecessor.delivered_s),
            )
            if time is not None
        ]
        return self._name(predecessor.message) + (f" ({', '.join(times)})" if times else "")


def explain(
    path: str | os.PathLike[str],
    process: str,
    message: str,
    run: str | None = None,
    layer: str = "app",
) -> Explanation:
    """What happened to a message, given as SENDER:NUMBER or as the log calls it that the trace was
    made from, at one of its destinations."""
    code = layer_code(layer)
    run, message = find_called(path, message, run, layer)
    found = None
    if count_rows(path) > WHOLE:
        found = _explain_around(path, process, message, run, code)
    if found is None:
        chosen = _choose_run(read_trace(path, stamps=False).runs, run)
        found = _explain(chosen.layer(code), subject_of(chosen, code), process, message)
    return _in_words_of_the_log(path, replace(found, assumed=read_assumed(path)), layer)


def _in_words_of_the_log(
    path: str | os.PathLike[str], told: Explanation, layer: str
) -> Explanation:
    messages = [told.message, *(one.message for one in (*told.waited_for, *told.missing))]
    called = read_called(path, {(told.run, message) for message in messages}, layer)
    (violation,) = name_witnesses(path, (told.violation,), layer) if told.violation else (None,)
    return replace(
        told,
        names={message: name for (_, message), name in called.names.items()},
        violation=violation,
        is_absolute=is_absolute(path),
    )


def _explain_around(
    path: str | os.PathLike[str], process: str, message: str, run: str | None, layer: int
) -> Explanation | None:
    """The same from the rows around the message: more of them, as long as the message is not
    delivered there, or the process gets messages that were sent before; nothing if there is
    something that only all rows can tell."""
    reach = REACH
    while True:
        around = read_around(path, run, message, layer, reach)
        if around is None or process not in around.run.processes:
            return None
        events = around.run.layer(layer)
        try:
            told = _explain(events, subject_of(around.run, layer), process, message)
        except Misuse:
            return None
        enough = told.delivered or around.at_end
        enough &= around.at_start or process not in around.cut_off
        if enough or reach >= FARTHEST:
            looked_at = (len(around.run.events), around.rows)
            return replace(told, looked_at=looked_at if around.rows > looked_at[0] else None)
        reach *= 4


def _choose_run(runs: Sequence[Run], name: str | None) -> Run:
    names = [run.name for run in runs]
    if not runs:
        raise Misuse("the trace is empty")
    if name is None and len(runs) == 1:
        return runs[0]
    if name not in names:
        listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        which = "there is more than one run" if name is None else f"there is no run '{name}'"
        raise Misuse(f"{which}; name one of {listed} with --run")
    return runs[names.index(name)]


def _explain(events: Events, subject: Subject, process: str, message: str) -> Explanation:
    joined = subject.joined
    prepared = joined.prepared
    q = _find_process(subject, process)
    m = _find_message(subject, events, message)
    copies = np.arange(prepared.start[m], prepared.start[m + 1])
    copies = copies[prepared.column[copies] == q]
    if not len(copies):
        if joined.sender(m) == q:
            raise Misuse(f"{process} sent {message} itself: its own copy waits for nothing")
        raise Misuse(f"{message} is not addressed to {process}")
    copy = int(copies[0])
    rank = int(prepared.rank[copy])
    before = _predecessors(joined, m, q)
    waited = before[(prepared.rank[before] > _rank_at_arrival(events, joined, copy, m, q))]
    waited = waited[prepared.rank[waited] < rank]
    missing = before[(prepared.rank[before] > rank) | (prepared.rank[before] == NEVER)]
    if rank == NEVER:
        waited, missing = waited[:0], before[prepared.rank[before] == NEVER]

    def told(copies: Offsets) -> tuple[Predecessor, ...]:
        return tuple(_predecessor(subject, int(copy)) for copy in copies)

    early = np.array([copy] if rank != NEVER and len(missing) else [], np.int64)
    witnesses = list(find_witnesses(subject, early))
    return Explanation(
        subject.name,
        process,
        message,
        _known(events.time[joined.row[joined.send[m]]]),
        _known(joined.received[copy]),
        _known(joined.delivered[copy]),
        rank != NEVER,
        told(waited[np.argsort(prepared.rank[waited], kind="stable")]),
        told(missing),
        *_parts(joined, copy, before),
        witnesses[0] if witnesses else None,
    )


def _find_process(subject: Subject, name: str) -> int:
    if name not in subject.processes:
        known = sorted(subject.processes)
        listed = ", ".join(known[:10]) + (" ..." if len(known) > 10 else "")
        raise Misuse(f"there is no process '{name}' in run '{subject.name}'; there are {listed}")
    return list(subject.processes).index(name)


def _find_message(subject: Subject, events: Events, text: str) -> int:
    sender, colon, number = text.rpartition(":")
    if not colon or not number.isdecimal():
        raise Misuse(f"'{text}' is no message; write it as SENDER:NUMBER")
    sent = (events.kind == SEND) & (events.sender == _find_process(subject, sender))
    found = np.flatnonzero(sent & (events.number == int(number)))
    if not len(found):
        raise Misuse(f"{sender} sends no message {number}; it sends {np.count_nonzero(sent)}")
    return int(events.message[found[0]])


def _predecessors(joined: Joined, message: int, process: int) -> Offsets:
    """The copies to this process of all messages in the past of one, in the order of their
    sends."""
    prepared = joined.prepared
    stop = int(joined.send[message])
    in_past = np.zeros(message + 1, bool)
    in_past[message] = True
    loop_for(mark_past, stop)(
        prepared.process[: stop + 1],
        prepared.message[: stop + 1],
        np.zeros(len(prepared.column_of), bool),
        in_past,
    )
    in_past[message] = False
    of_message = np.repeat(np.arange(message), np.diff(prepared.start[: message + 1]))
    to_here = prepared.column[: len(of_message)] == process
    return np.flatnonzero(to_here & in_past[of_message])


def mark_past(process: Column, message: Column, process_past: Column, in_past: Column) -> None:
    """Backwards from the send of a message that is marked: mark all that its send depends on."""
    for event in range(len(process) - 1, -1, -1):
        p = process[event]
        m = message[event]
        if m >= 0:
            if process_past[p]:
                in_past[m] = True
            elif in_past[m]:
                process_past[p] = True
        elif process_past[p] and -1 - m < len(in_past):
            in_past[-1 - m] = True


def _rank_at_arrival(events: Events, joined: Joined, copy: int, message: int, process: int) -> int:
    """How many messages of others the process had delivered when this one arrived. If its
    reception was not recorded, it arrived when it was delivered."""
    is_arrival = (events.kind == RECEIVE) & (events.message == message)
    arrivals = np.flatnonzero(is_arrival & (events.process == process))
    if not len(arrivals):
        return int(joined.prepared.rank[copy])
    of_others = (events.process == process) & (events.sender != process)
    delivered = np.flatnonzero(of_others & (events.kind == DELIVER))
    return int(np.searchsorted(delivered, arrivals[0]))


def _parts(
    joined: Joined, copy: int, before: Offsets
) -> tuple[float | None, float | None, float | None]:
    """The parts of the delay, straight from their definition."""
    if joined.prepared.rank[copy] == NEVER:
        return None, None, None
    send = joined.send[joined.message_of(np.array([copy]))[0]]
    delivered = np.where(joined.delivery[before] < 0, np.inf, joined.delivered[before])
    arrived = np.where(np.isnan(joined.received[before]), delivered, joined.received[before])
    # What was there before the message was sent did not keep it waiting, whatever the clocks say.
    delivered = delivered[(joined.delivery[before] < 0) | (joined.delivery[before] > send)]
    arrived = arrived[joined.arrival[before] > joined.arrived[copy]]
    split = split_times(
        joined.received[[copy]],
        joined.delivered[[copy]],
        np.array([np.nanmax(arrived, initial=-np.inf)]),
        np.array([np.nanmax(delivered, initial=-np.inf)]),
    )
    forced, inherited, own = (
        _known(part[0]) for part in (split.forced_s, split.inherited_s, split.own_s)
    )
    return forced, inherited, own


def _predecessor(subject: Subject, copy: int) -> Predecessor:
    joined = subject.joined
    message = int(np.searchsorted(joined.prepared.start, copy, side="right")) - 1
    return Predecessor(
        subject.message(message),
        _known(joined.received[copy]),
        _known(joined.delivered[copy]),
    )


def _known(time: float) -> float | None:
    return None if math.isnan(time) else float(time)
