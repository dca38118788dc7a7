"""The verdict on a run by the kernel: the same as the oracle's, count for count and witness for
witness, and the delays besides."""

import math
from collections.abc import Iterator

import numpy as np

from antecede.trace.events import Events, Run
from antecede.trace.schema import APP, CRASH, DELIVER
from antecede.verify.delays import Delays, total_delays
from antecede.verify.kernel import NEVER
from antecede.verify.passes import last_predecessors
from antecede.verify.prepare import Integers, Joined, Offsets, prepare
from antecede.verify.verdict import WITNESS_LIMIT, Verdict, Witness
from antecede.verify.witness import first_early, overtaken_messages, shortest_path


def audit(run: Run, layer: int = APP, witnesses: int = WITNESS_LIMIT) -> Verdict:
    """Whether causal delivery held in one layer of a run, with at most so many witnesses."""
    events = run.layer(layer)
    joined = prepare(events, len(run.processes))
    prepared = joined.prepared
    last = last_predecessors(prepared)
    missing = prepared.column[prepared.rank == NEVER]
    # A process crashes in all layers, whichever recorded it.
    crashed = np.zeros(len(run.processes), bool)
    crashed[run.events.process[run.events.kind == CRASH]] = True
    told = first_early(joined, last, witnesses)
    return Verdict(
        runs=1,
        messages=len(joined.send),
        deliveries=int(np.count_nonzero(events.kind == DELIVER)),
        violations=int(np.count_nonzero(last > prepared.rank)),
        undelivered=len(missing),
        undelivered_at_crashed=int(np.count_nonzero(crashed[missing])),
        witnesses=find_witnesses(run, events, joined, told),
        delays=delays_of(joined, last),
    )


def delays_of(joined: Joined, last: Integers) -> Delays:
    """What deliveries waited for, given the last predecessor of each, if receptions are known."""
    if not joined.receptions_known:
        return Delays()
    return total_delays(joined, last, last_predecessors(joined.by_arrival()))


def find_witnesses(run: Run, events: Events, joined: Joined, early: Offsets) -> tuple[Witness, ...]:
    """The proofs that these copies were delivered too early."""
    told = []
    for copy, path in trace_paths(joined, early):
        names = tuple(name_message(run, events, joined, message) for message in path)
        process = run.name_of(int(joined.prepared.column[copy]))
        told.append(make_witness(run.name, process, names, float(joined.delivered[copy])))
    return tuple(told)


def trace_paths(joined: Joined, early: Offsets) -> Iterator[tuple[int, list[int]]]:
    """Each of these copies with a shortest path to its message from one that it overtook."""
    seconds = np.searchsorted(joined.prepared.start, early, side="right") - 1
    firsts = overtaken_messages(joined, early)
    for copy, first, second in zip(early.tolist(), firsts.tolist(), seconds.tolist(), strict=True):
        yield copy, shortest_path(joined, first, second)


def make_witness(run: str, process: str, path: tuple[str, ...], time: float) -> Witness:
    return Witness(run, process, path[0], path[-1], path, None if math.isnan(time) else time)


def name_message(run: Run, events: Events, joined: Joined, message: int) -> str:
    """A message as people write it."""
    event = joined.origin[message]
    return f"{run.name_of(int(events.sender[event]))}:{events.number[event]}"
