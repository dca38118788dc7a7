"""The verdict on a run by the kernel: the same as the oracle's, count for count and witness for
witness, and the delays besides."""

import math

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
        delays=_delays(joined, last),
    )


def _delays(joined: Joined, last: Integers) -> Delays:
    if not joined.receptions_known:
        return Delays()
    return total_delays(joined, last, last_predecessors(joined.by_arrival()))


def find_witnesses(run: Run, events: Events, joined: Joined, early: Offsets) -> tuple[Witness, ...]:
    """The proofs that these copies were delivered too early."""
    prepared = joined.prepared
    firsts = overtaken_messages(joined, early)
    told = []
    for copy, first in zip(early.tolist(), firsts.tolist(), strict=True):
        second = int(np.searchsorted(prepared.start, copy, side="right")) - 1
        path = shortest_path(joined, first, second)
        names = tuple(name_message(run, events, joined, message) for message in path)
        time = float(joined.delivered[copy])
        told.append(
            Witness(
                run.name,
                run.name_of(int(prepared.column[copy])),
                names[0],
                names[-1],
                names,
                None if math.isnan(time) else time,
            )
        )
    return tuple(told)


def name_message(run: Run, events: Events, joined: Joined, message: int) -> str:
    """A message as people write it."""
    event = joined.origin[message]
    return f"{run.name_of(int(events.sender[event]))}:{events.number[event]}"
