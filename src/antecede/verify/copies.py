"""A run copy by copy: which deliveries came too early, and the parts of the delay of each.

`audit` adds these up as it goes along, in little memory; whoever wants distributions needs them one
by one.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from antecede.trace.events import Run
from antecede.trace.joined import NEVER, Integers, Joined, Times
from antecede.trace.prepare import prepare
from antecede.trace.schema import APP
from antecede.verify.delays import Split, split_times
from antecede.verify.passes import last_predecessors


@dataclass(frozen=True, eq=False)
class Copies:
    """The copies of all messages to others, message by message. A time is not a number where the
    thing did not happen or was not recorded."""

    joined: Joined
    """The run that they are the copies of."""
    early: npt.NDArray[np.bool_]
    """Which were delivered too early."""
    violations: int
    undelivered: int
    sent: Times
    received: Times
    delivered: Times
    split: Split


def examine(run: Run, layer: int = APP) -> Copies:
    """All copies in one layer of a run whose receptions are recorded."""
    events = run.layer(layer)
    joined = prepare(events, len(run.processes))
    prepared = joined.prepared
    last = last_predecessors(prepared)
    early = last > prepared.rank
    return Copies(
        joined=joined,
        early=early,
        violations=int(np.count_nonzero(early)),
        undelivered=int(np.count_nonzero(prepared.rank == NEVER)),
        sent=np.repeat(events.time[joined.row[joined.send]], np.diff(prepared.start)),
        received=joined.received,
        delivered=joined.delivered,
        split=_split(joined, last, last_predecessors(joined.by_arrival())),
    )


def _split(joined: Joined, last_delivered: Integers, last_arrived: Integers) -> Split:
    """The parts of the delays, from the last predecessor of each copy by rank of delivery and by
    rank of arrival."""
    prepared = joined.prepared
    arrived = np.where(np.isnan(joined.received), joined.delivered, joined.received)
    allowed = _times_of(last_delivered, prepared.column, prepared.rank, joined.delivered)
    possible = _times_of(last_arrived, prepared.column, joined.arrival, arrived)
    return split_times(joined.received, joined.delivered, possible, allowed)


def _times_of(last: Integers, column: Integers, rank: Integers, time: Times) -> Times:
    """When the copy of this rank at the same process had its time: minus infinity for rank 0, which
    none has, and infinity where it never came."""
    ranked = rank != NEVER
    first = np.zeros(int(column.max(initial=0)) + 2, np.int64)
    np.cumsum(np.bincount(column[ranked], minlength=len(first) - 1), out=first[1:])
    times = np.full(int(first[-1]) + 1, -np.inf)  # the last one is nobody's
    times[first[column[ranked]] + rank[ranked] - 1] = time[ranked]
    found = times[np.where((last == 0) | (last == NEVER), -1, first[column] + last - 1)]
    return np.where(last == NEVER, np.inf, found)
