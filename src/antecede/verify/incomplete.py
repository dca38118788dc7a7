"""Less than causal order, judged: exactly what the messages' scopes ask for (`scopes`).

Twice, and without common code. `ScopedOracle` goes by the definition: it keeps, for every message,
the set of those that it follows. `find_scoped` makes of a run several that the kernel judges as it
judges any run:

- a label is a run of its own, of its messages alone;
- of priorities, each is a pass of the kernel in which only messages at least as urgent count as
  predecessors, and only those of this priority are judged;
- for contexts, every history that is held becomes a process of its own, which has delivered what is
  in it; the processes of the trace only deliver. What precedes what is then as the scopes say.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from math import isnan
from typing import Any

import numpy as np
import pyarrow as pa

from antecede.errors import BadTrace
from antecede.message import MessageId, ProcessSet, members
from antecede.trace.events import Events, Run
from antecede.trace.joined import NEVER
from antecede.trace.reader import trace_from_tables
from antecede.trace.schema import APP, DELIVER, SCHEMA, SEND
from antecede.verify.audit import (
    Subject,
    audit,
    find_witnesses,
    subject_of,
)
from antecede.verify.delays import Delays
from antecede.verify.findings import FINDINGS, Found, find_early, findings_of
from antecede.verify.oracle import OnlineOracle, Violation, judge_with
from antecede.verify.passes import enter_only, last_predecessors
from antecede.verify.scopes import NO_LABEL, Name, Scope, Scopes
from antecede.verify.verdict import WITNESS_LIMIT, Verdict, Witness
from antecede.verify.witness import first_early

_URGENCY = "priority"
UNSENT = "what a message is ordered after has been sent before it"


class ScopedOracle(OnlineOracle):
    """The oracle, for messages with scopes. Give it those before the sends."""

    def __init__(self, processes: Sequence[str], run: str = "") -> None:
        super().__init__(processes, run)
        self.scopes: dict[MessageId, Scope] = {}
        self._follows: list[int] = []
        """Of every message those that it follows."""
        self._threads: dict[tuple[int, str], int] = {}
        """By process and label, or for all priorities, what the next message there follows."""
        self._urgent: dict[int, int] = {}
        """By priority, the messages that have it, or a higher one."""
        self._codes = {name: code for code, name in enumerate(processes)}

    def send(self, process: int, sender: int, number: int, destinations: ProcessSet) -> None:
        message = MessageId(sender, number)
        scope = self.scopes.get(message, NO_LABEL)
        follows = self._before(process, message, scope)
        index = len(self._sent)
        bit = 1 << index
        self._past[process] = follows  # which the oracle takes for the past of the message
        super().send(process, sender, number, destinations)
        self._follows.append(follows)
        if scope.kind == "label":
            self._threads[process, scope.text] = follows | bit
        elif scope.kind == "priority":
            self._threads[process, _URGENCY] = follows | bit
            for priority in {scope.priority, *self._urgent}:
                known = self._urgent.setdefault(priority, self._at_least(priority))
                self._urgent[priority] = known | (bit if scope.priority >= priority else 0)

    def _at_least(self, priority: int) -> int:
        found = 0
        for index, sent in enumerate(self._sent):
            scope = self.scopes.get(sent.id, NO_LABEL)
            if scope.kind == "priority" and scope.priority >= priority:
                found |= 1 << index
        return found

    def _before(self, process: int, message: MessageId, scope: Scope) -> int:
        if scope.kind == "label":
            return self._threads.get((process, scope.text), 0)
        if scope.kind == "priority":
            return self._threads.get((process, _URGENCY), 0)
        follows = 0
        for sender, number in scope.after:
            first = MessageId(self._codes.get(sender, -1), number)
            if first not in self._index:
                raise self._bad(UNSENT, process, message, f"sent after {sender}:{number}, unknown")
            index = self._index[first]
            follows |= self._follows[index] | 1 << index
        return follows

    def deliver(
        self, process: int, sender: int, number: int, time: float | None = None
    ) -> Violation | None:
        message = MessageId(sender, number)
        scope = self.scopes.get(message, NO_LABEL)
        awaited = self._awaited[process]
        if scope.kind == "priority":
            self._awaited[process] &= self._urgent[scope.priority] | 1 << self._index[message]
        violation = super().deliver(process, sender, number, time)
        index = self._index[message]
        if process != sender:
            self._awaited[process] = awaited & ~(1 << index)
        if process != sender and scope.kind in {"label", "priority"}:
            key = (process, scope.text if scope.kind == "label" else _URGENCY)
            self._threads[key] = self._threads.get(key, 0) | self._follows[index] | 1 << index
        return violation

    def path(self, first: MessageId, second: MessageId) -> list[MessageId]:
        """From the first to the second, each of which the next one follows; not always shortest."""
        index, goal = self._index[second], self._index[first]
        path = [second]
        while index != goal:
            if not self._follows[index] >> goal & 1:
                return []
            between = [
                step for step in members(self._follows[index]) if self._follows[step] >> goal & 1
            ]
            index = between[0] if between else goal
            path.append(self._sent[index].id)
        return path[::-1]


def judge_scoped(run: Run, scopes: Scopes) -> Verdict:
    """The verdict by the definition."""
    oracle = ScopedOracle(run.processes, run.name)
    codes = {name: code for code, name in enumerate(run.processes)}
    oracle.scopes = {MessageId(codes[s], number): scope for (s, number), scope in scopes.items()}
    return judge_with(oracle, run)


def audit_scoped(run: Run, scopes: Scopes) -> Verdict:
    """The verdict by the kernel."""
    return find_scoped(run, scopes).verdict


def find_scoped(run: Run, scopes: Scopes) -> Found:
    """The verdict by the kernel, and all early deliveries."""
    events = run.layer(APP)
    scope_of = [
        scopes.get((run.processes[sender], number), NO_LABEL)
        for sender, number in zip(events.sender.tolist(), events.number.tolist(), strict=True)
    ]
    is_message = events.sender >= 0
    verdict, early = Verdict(runs=1), [FINDINGS.empty_table()]

    def add(judge_part: Callable[[Run], Found], wanted: Iterable[bool]) -> None:
        nonlocal verdict
        part = _only(run, events, np.fromiter(wanted, bool, len(events)) | ~is_message)
        found, names = judge_part(part), _numbers(run, part)
        verdict = _plus(verdict, found.verdict, names)
        early.append(_renumbered(found.early, names))

    for label in sorted({scope.label for scope in scope_of if scope.kind == "label"}):
        add(find_early, (scope.kind == "label" and scope.label == label for scope in scope_of))
    kinds = {scope.kind for scope in scope_of}
    for kind, judge_part in (
        ("priority", partial(_by_priority, scopes)),
        ("after", partial(_by_context, scopes)),
        ("none", _by_nothing),
    ):
        if kind in kinds:
            add(judge_part, (scope.kind == kind for scope in scope_of))
    return Found(verdict, pa.concat_tables(early))


def _by_nothing(part: Run) -> Found:
    """Counted alone."""
    return _with_findings(part, Found(Verdict(), FINDINGS.empty_table()))


def _only(run: Run, events: Events, wanted: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Run:
    """A run of these events alone, counted anew; `row` says where they stood."""
    chosen = np.flatnonzero(wanted)
    kept = events.take(chosen)
    number, seq = kept.number.copy(), kept.seq.copy()
    is_send = kept.kind == SEND
    for sender in np.unique(kept.sender[is_send]):
        of_sender = kept.sender == sender
        sent = np.sort(kept.number[of_sender & is_send])
        number[of_sender] = np.searchsorted(sent, kept.number[of_sender]) + 1
    for process in np.unique(kept.process):
        here = kept.process == process
        seq[here] = np.arange(np.count_nonzero(here))
    is_message = kept.message >= 0
    message = kept.message.copy()
    message[is_message] = np.unique(kept.message[is_message], return_inverse=True)[1]
    part = replace(kept, number=number, seq=seq, message=message, row=kept.number.copy())
    return replace(run, events=part)


def _numbers(run: Run, part: Run) -> dict[str, str]:
    """What the messages of a part are called in the whole run."""
    events = part.events
    found = {}
    for event in np.flatnonzero(events.kind == SEND).tolist():
        sender = run.processes[int(events.sender[event])]
        found[f"{sender}:{events.number[event]}"] = f"{sender}:{events.row[event]}"
    return found


def _plus(verdict: Verdict, more: Verdict, names: dict[str, str]) -> Verdict:
    """Both; a run in parts is one run."""
    room = WITNESS_LIMIT - len(verdict.witnesses)
    witnesses = tuple([_renamed(witness, names) for witness in more.witnesses[:room]])
    total = verdict + replace(more, runs=0, witnesses=())
    return replace(total, witnesses=verdict.witnesses + witnesses)


def _renamed(witness: Witness, names: dict[str, str]) -> Witness:
    path = tuple([names[step] for step in witness.path])
    return replace(witness, first=path[0], second=path[-1], path=path)


def _renumbered(early: pa.Table, names: dict[str, str]) -> pa.Table:
    """The same with the numbers of the whole run."""
    rows = early.to_pylist()
    for row in rows:
        row["number"] = int(names[f"{row['sender']}:{row['number']}"].rpartition(":")[2])
    return pa.Table.from_pylist(rows, FINDINGS)


def _with_findings(part: Run, found: Found) -> Found:
    """The counts of a part, and what was found out otherwise."""
    other = found.verdict
    verdict = replace(
        audit(part), violations=other.violations, witnesses=other.witnesses, delays=Delays()
    )
    return Found(verdict, found.early)


def _by_priority(scopes: Scopes, part: Run) -> Found:
    subject = subject_of(part, APP)
    joined, prepared = subject.joined, subject.joined.prepared
    original = {renamed: name for name, renamed in _original(part).items()}
    priority = np.array(
        [
            scopes[
                original[part.processes[joined.sender(message)], int(joined.number[message])]
            ].priority
            for message in range(len(joined.send))
        ],
        np.int64,
    )
    of_copy = np.repeat(priority, np.diff(prepared.start))
    early, witnesses = list[np.ndarray[Any, np.dtype[np.int64]]](), list[Witness]()
    for level in np.unique(of_copy):
        passed = enter_only(prepared, of_copy >= level)
        last = last_predecessors(passed)
        is_early = (of_copy == level) & (last > prepared.rank) & (prepared.rank != NEVER)
        copies = np.flatnonzero(is_early)
        early.append(copies)
        entered = Subject(**{**vars(subject), "joined": replace(joined, prepared=passed)})
        first = first_early(joined, copies, WITNESS_LIMIT - len(witnesses))
        witnesses += find_witnesses(entered, first)
    missing = prepared.column[prepared.rank == NEVER]
    findings = [FINDINGS.empty_table(), *(findings_of(subject, copies) for copies in early)]
    verdict = Verdict(
        runs=1,
        messages=len(joined.send),
        deliveries=subject.deliveries,
        violations=sum(map(len, early)),
        undelivered=len(missing),
        undelivered_at_crashed=int(np.count_nonzero(subject.crashed[missing])),
        witnesses=tuple(witnesses),
        own_only=subject.own_only,
    )
    return Found(verdict, pa.concat_tables(findings))


def _original(part: Run) -> dict[Name, Name]:
    """By the name of a message in the whole run, its name in a part."""
    events = part.events
    sends = np.flatnonzero(events.kind == SEND).tolist()
    senders = [part.processes[int(events.sender[event])] for event in sends]
    return {
        (sender, int(events.row[event])): (sender, int(events.number[event]))
        for sender, event in zip(senders, sends, strict=True)
    }


def _by_context(scopes: Scopes, part: Run) -> Found:
    """By the run in which every history that is held is a process."""
    renamed = _original(part)
    rows = _Rows(part.name)
    holder: dict[Name, str] = {}
    """By message (as the part calls it), the history that it was sent in."""
    last: dict[str, Name] = {}
    past: dict[str, int] = {}
    """What is in each history, as a set of the messages in the order of their sends,"""
    past_of: dict[Name, tuple[int, int]] = {}
    """and by message its place in that order, and what it follows."""
    events, names = part.events, part.processes
    original = {name: whole for whole, name in renamed.items()}
    sends: dict[Name, dict[str, object]] = {}
    for event in range(len(events)):
        kind, process = int(events.kind[event]), names[int(events.process[event])]
        if kind not in (SEND, DELIVER):
            continue
        message = (names[int(events.sender[event])], int(events.number[event]))
        if kind == DELIVER:
            if process != message[0]:
                row = rows.add(f"at {process}", "deliver", sends[message])
                row["time"] = None if isnan(events.time[event]) else float(events.time[event])
            continue
        follows = scopes[original[message]].after
        before = [renamed[one] for one in follows if one in renamed]
        if len(before) < len(follows) or any(one not in sends for one in before):
            raise BadTrace(UNSENT, f"run '{part.name}', message {message[0]}", str(follows))
        mine = [h for h, one in last.items() if one in before and holder[one] == h]
        mine = [h for h in mine if h.startswith(f"{process} ")]
        history = mine[0] if mine else f"{process} history {len(last)}"
        inside = past.get(history, 0)
        for place, follows_too, one in sorted((*past_of[one], one) for one in before):
            if not inside >> place & 1:  # a history delivers nothing that it knows through others
                sends[one]["destinations"].append(history)  # type: ignore[attr-defined]
                rows.add(history, "deliver", sends[one])
            inside |= follows_too | 1 << place
        start, stop = events.destination_start[event : event + 2]
        to = [names[p] for p in events.destination[start:stop].tolist()]
        sent = rows.add(history, "send", None)
        sent["destinations"] = [f"at {one}" for one in to if one != message[0]]
        sends[message] = sent
        holder[message], last[history] = history, message
        past_of[message] = len(past_of), inside
        past[history] = inside | 1 << len(past_of) - 1
    found = find_early(rows.run())
    back = {(s["sender"], s["number"]): message for message, s in sends.items()}
    witnesses = []
    for witness in found.verdict.witnesses:
        path = []
        for step in witness.path:
            sender, _, number = step.rpartition(":")
            path.append("{}:{}".format(*back[sender, int(number)]))
        process = witness.process.removeprefix("at ")
        witnesses.append(
            replace(witness, process=process, first=path[0], second=path[-1], path=tuple(path))
        )
    early = found.early.to_pylist()
    for row in early:
        row["process"] = row["process"].removeprefix("at ")
        row["sender"], row["number"] = back[row["sender"], row["number"]]
    verdict = replace(found.verdict, witnesses=tuple(witnesses))
    return _with_findings(part, Found(verdict, pa.Table.from_pylist(early, FINDINGS)))


class _Rows:
    """A run that is made up row by row."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._rows: list[dict[str, object]] = []
        self._seq: dict[str, int] = {}
        self._number: dict[str, int] = {}

    def add(self, process: str, kind: str, of: dict[str, object] | None) -> dict[str, object]:
        seq = self._seq[process] = self._seq.get(process, -1) + 1
        if of is None:
            self._number[process] = self._number.get(process, 0) + 1
            of = {"sender": process, "number": self._number[process]}
        row = {
            "run": self._run,
            "process": process,
            "seq": seq,
            "kind": kind,
            "sender": of["sender"],
            "number": of["number"],
            "position": len(self._rows),
        }
        self._rows.append(row)
        return row

    def run(self) -> Run:
        table = pa.Table.from_pylist(self._rows, schema=SCHEMA)
        [run] = trace_from_tables([table], "histories that are held").runs
        return run
