"""The verdict on a run by the kernel: the same as the oracle's, count for count and witness for
witness, and the delays besides."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from antecede.trace.events import Run
from antecede.trace.joined import NEVER, Integers, Joined, Offsets, Times
from antecede.trace.prepare import prepare
from antecede.trace.schema import APP, CRASH, DELIVER
from antecede.verify.delays import Delays, total_delays
from antecede.verify.passes import last_predecessors
from antecede.verify.verdict import WITNESS_LIMIT, Verdict, Witness
from antecede.verify.witness import first_early, overtaken_messages, shortest_path


@dataclass(frozen=True, eq=False)
class Subject:
    """A run of one layer, or a stretch of one, joined, and whatever else it takes to tell of it."""

    name: str
    processes: Sequence[str]
    joined: Joined
    deliveries: int
    crashed: npt.NDArray[np.bool_]
    """Which processes crashed, in whichever layer."""
    look_up_times: Callable[[Offsets], Times] | None = None
    """Finds when copies were delivered, where that was not kept."""

    @property
    def own_only(self) -> int:
        """All deliveries, if each is at the sender itself: then events are nothing but sends."""
        joined = self.joined
        return self.deliveries if len(joined.prepared.process) == len(joined.send) else 0

    def message(self, message: int) -> str:
        """A message as people write it."""
        sender = self.processes[self.joined.sender(message)]
        return f"{sender}:{self.joined.number[message]}"

    def delivered(self, copies: Offsets) -> Times:
        """When these copies were delivered."""
        if self.look_up_times is not None:
            return self.look_up_times(copies)
        times: Times = self.joined.delivered[copies]
        return times


class Judgement(NamedTuple):
    """What was found out about a run, or about some of its copies."""

    last: Integers
    """Of every copy the rank of the last predecessor."""
    early: Offsets
    """The copies that were delivered too early, in the order of their sends."""
    missing: Integers
    """Where a copy was never delivered: its destination."""
    delays: Delays


def audit(run: Run, layer: int = APP, witnesses: int = WITNESS_LIMIT) -> Verdict:
    """Whether causal delivery held in one layer of a run, with at most so many witnesses."""
    subject = subject_of(run, layer)
    return verdict_on(subject, judge_copies(subject.joined), witnesses)


def subject_of(run: Run, layer: int) -> Subject:
    """One layer of a run in memory."""
    events = run.layer(layer)
    crashed = np.zeros(len(run.processes), bool)
    # A process crashes in all layers, whichever recorded it.
    crashed[run.events.process[run.events.kind == CRASH]] = True
    deliveries = int(np.count_nonzero(events.kind == DELIVER))
    joined = prepare(events, len(run.processes))
    return Subject(run.name, run.processes, joined, deliveries, crashed)


def judge_copies(joined: Joined, own: slice = slice(None)) -> Judgement:
    """Judge all copies, or those that are one's own, given everything that may matter for them."""
    prepared = joined.prepared
    first, stop, _ = own.indices(len(prepared.rank))
    last = last_predecessors(prepared)
    rank = prepared.rank[first:stop]
    early: Offsets = first + np.flatnonzero(last[first:stop] > rank)
    missing = prepared.column[first:stop][rank == NEVER]
    delays = Delays()
    if joined.receptions_known:
        arrived = last_predecessors(joined.by_arrival())
        delays = total_delays(joined, last, arrived, slice(first, stop))
    return Judgement(last, early, missing, delays)


def verdict_on(subject: Subject, judged: Judgement, witnesses: int = WITNESS_LIMIT) -> Verdict:
    """The judgement in numbers and names."""
    early = first_early(subject.joined, judged.early, witnesses)
    return Verdict(
        runs=1,
        messages=len(subject.joined.send),
        deliveries=subject.deliveries,
        violations=len(judged.early),
        undelivered=len(judged.missing),
        undelivered_at_crashed=int(np.count_nonzero(subject.crashed[judged.missing])),
        witnesses=tuple(find_witnesses(subject, early)),
        delays=judged.delays,
        own_only=subject.own_only,
    )


def find_witnesses(subject: Subject, early: Offsets) -> Iterator[Witness]:
    """The proofs that these copies were delivered too early."""
    joined = subject.joined
    firsts, seconds = overtaken_messages(joined, early), joined.message_of(early)
    times = subject.delivered(early)
    for copy, first, second, time in zip(
        *(column.tolist() for column in (early, firsts, seconds, times)), strict=True
    ):
        path = tuple(subject.message(step) for step in shortest_path(joined, first, second))
        process = subject.processes[joined.prepared.column[copy]]
        known = None if math.isnan(time) else time
        yield Witness(subject.name, process, path[0], path[-1], path, known)
