"""What every delivery waited for, as events: the auditor's answer for all deliveries at once.

The auditor speaks of ranks: the last predecessor of a copy by its rank of delivery, and by its rank
of arrival. A picture wants to point at something, so here both become events of the run.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from antecede.trace import DELIVER, LAYERS, RECEIVE, Run
from antecede.trace.events import Events, Integers
from antecede.trace.joined import NEVER, Joined
from antecede.trace.prepare import prepare
from antecede.verify.passes import last_predecessors

Flags = npt.NDArray[np.bool_]
Column = npt.NDArray[np.signedinteger[Any]]

NOTHING: Final = -1
"""There was nothing to wait for, or it had come already."""
NEVER_CAME: Final = -2


@dataclass(frozen=True, eq=False)
class Waits:
    """Columns as long as the run; `NOTHING` but on deliveries at others than the sender."""

    delivered: Integers
    """The delivery, at the same process, of the last predecessor, where it came after the message
    arrived. One that comes after the delivery itself, or never, makes it an early delivery."""
    arrived: Integers
    """The arrival there of the predecessor that arrived last, where it came after the message."""
    missing: Integers
    """Pairs of a send and a destination that neither received nor delivered the message: the events
    in the first row, the processes in the second."""

    def is_early(self) -> Flags:
        """Which events are deliveries that broke causal order."""
        early: Flags = (self.delivered == NEVER_CAME) | (
            self.delivered > np.arange(len(self.delivered))
        )
        return early


def find_waits(run: Run) -> Waits:
    """Of every layer of a run."""
    size = len(run.events)
    delivered, arrived = np.full(size, NOTHING), np.full(size, NOTHING)
    missing = [np.zeros((2, 0), np.int64)]
    for layer in range(len(LAYERS)):
        place = np.flatnonzero(run.events.layer == layer)
        if not len(place):
            continue
        events = run.events.take(place)
        joined = prepare(events, len(run.processes))
        arrival = _arrival_events(events, joined)
        _point(place, joined, arrival, delivered, arrived)
        missing.append(_missing(place, joined))
    return Waits(delivered, arrived, np.concatenate(missing, axis=1))


def _point(
    place: Integers,
    joined: Joined,
    arrival: Integers,
    delivered: Integers,
    arrived: Integers,
) -> None:
    """Fill both columns for one layer, whose events stand at `place` in the run."""
    prepared = joined.prepared
    of_prepared = place[joined.row]
    copies = np.flatnonzero(joined.delivery >= 0)
    own = of_prepared[joined.delivery[copies]]
    own_arrival = place[arrival[copies]]
    delivery = np.where(joined.delivery >= 0, of_prepared[joined.delivery], NOTHING)
    for last, rank, event, out in (
        (last_predecessors(prepared), prepared.rank, delivery, delivered),
        (last_predecessors(joined.by_arrival()), joined.arrival, place[arrival], arrived),
    ):
        found = _by_rank(prepared.column, rank, event, last)[copies]
        came_later = (found == NEVER_CAME) | (found > own_arrival)
        out[own] = np.where(came_later, found, NOTHING)


def _by_rank(column: Column, rank: Column, event: Integers, wanted: Column) -> Integers:
    """For each copy the event of that copy to the same process whose rank is wanted."""
    ranked = np.flatnonzero(rank != NEVER)
    order = ranked[np.lexsort((rank[ranked], column[ranked]))]
    first = np.searchsorted(column[order], np.arange(int(column.max(initial=0)) + 1))
    found = np.full(len(wanted), NOTHING)
    found[wanted == NEVER] = NEVER_CAME
    some = np.flatnonzero((wanted > 0) & (wanted != NEVER))
    found[some] = event[order[first[column[some]] + wanted[some] - 1]]
    return found


def _arrival_events(events: Events, joined: Joined) -> Integers:
    """Which event each copy's arrival is: its first reception, or its delivery if that came first;
    0 for a copy that never came."""
    size = int(events.process.max(initial=-1)) + 1
    some = np.flatnonzero((events.kind == RECEIVE) | (events.kind == DELIVER))
    keys = events.message[some].astype(np.int64) * size + events.process[some]
    known, first = np.unique(keys, return_index=True)
    prepared = joined.prepared
    message = np.repeat(np.arange(len(joined.send)), np.diff(prepared.start))
    wanted = message * size + prepared.column
    came = np.flatnonzero(joined.arrival != NEVER)
    arrival = np.zeros(len(wanted), np.int64)
    arrival[came] = some[first[np.searchsorted(known, wanted[came])]]
    return arrival


def _missing(place: Integers, joined: Joined) -> Integers:
    prepared = joined.prepared
    lost = np.flatnonzero(joined.arrival == NEVER)
    message = np.searchsorted(prepared.start, lost, side="right") - 1
    return np.stack(
        [place[joined.row[joined.send[message]]], prepared.column[lost].astype(np.int64)]
    )
