"""From the events of a run to what the kernel reads: ranks, and deliveries joined with their sends.

Everything here is a plain column of integers or times, so that whoever has these columns from
elsewhere (a Spark job has) can go to the kernel without a run in memory.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from antecede.compiled import loop_for
from antecede.trace.events import Events
from antecede.trace.schema import DELIVER, RECEIVE, SEND
from antecede.verify.kernel import NEVER

Integers = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Times = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prepared:
    """What the kernel reads. Events are the sends and the deliveries at others than the sender, in
    a linear extension of happened-before; messages are counted from 0 in the order of their sends.
    A *copy* is a message and one destination other than its sender."""

    process: Integers
    """Where each event happened."""
    message: Integers
    """m for the send of message m, -1 - m for a delivery of it."""
    reached: Integers
    """With a delivery: its rank among the deliveries at its process, from 1."""
    start: Offsets
    """The copies of message m are those from `start[m]` to `start[m + 1]`."""
    column: Integers
    """The destination of each copy: a process, or its column in a shard."""
    rank: Integers
    """The rank of its delivery there, or `NEVER`."""
    deliveries: Integers
    """How many deliveries of each message are among the events."""
    column_of: Integers
    """For every process the column that it has, or -1."""

    @property
    def width(self) -> int:
        return int(self.column_of.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False)
class Joined:
    """A run of one layer, joined: for the kernel, for the delays and for the witnesses."""

    prepared: Prepared
    send: Integers
    """Of each message: which event of `prepared` its send is,"""
    origin: Offsets
    """and which of the events that this was made of."""
    delivery: Integers
    """Of each copy: which event of `prepared` its delivery is, -1 if there is none."""
    delivered: Times
    """When that was."""
    received: Times
    """When the network handed it over; not a number if that was not recorded."""
    arrival: Integers
    """The rank of its arrival: of its first reception, or of its delivery if that came first."""
    arrived: Integers
    """With each delivery in `prepared`: the rank of arrival that its process has reached."""

    def by_arrival(self) -> Prepared:
        """The same for the kernel with ranks of arrival."""
        return replace(self.prepared, reached=self.arrived, rank=self.arrival)

    @property
    def receptions_known(self) -> bool:
        return not bool(np.isnan(self.received).all())

    def cut_times(self) -> Self:
        """The same without receptions, as if none had been recorded."""
        return replace(self, received=np.full(len(self.received), np.nan))


def prepare(events: Events, processes: int) -> Joined:
    """Join the events of one layer of a run, which have passed the rules of the format."""
    kind, process = events.kind, events.process
    sends = np.flatnonzero(kind == SEND)
    addressed = int(events.destination_start[-1])
    steps = len(events) + addressed
    size = len(sends) + int(np.count_nonzero(kind == DELIVER))
    of_event = [np.zeros(size, np.int32) for _ in range(4)]
    of_message = [np.zeros(len(sends), np.int32) for _ in range(2)]
    of_copy = [np.full(addressed, fill, np.int32) for fill in (0, NEVER, NEVER, -1)]
    delivered, received = (np.full(addressed, np.nan) for _ in range(2))
    start = np.zeros(len(sends) + 1, np.int64)
    joined = loop_for(join, steps)(
        kind,
        process,
        events.message,
        events.time,
        events.destination_start,
        events.destination,
        np.zeros((2, processes), np.int32),
        start,
        *of_event,
        *of_message,
        *of_copy,
        delivered,
        received,
    )
    copies = int(start[-1])
    at, message, reached, arrived = (column[:joined] for column in of_event)
    column, rank, arrival, delivery = (values[:copies] for values in of_copy)
    column_of = np.arange(processes, dtype=np.int32)
    prepared = Prepared(at, message, reached, start, column, rank, of_message[1], column_of)
    times = delivered[:copies], received[:copies]
    return Joined(prepared, of_message[0], sends, delivery, *times, arrival, arrived)


def join(
    kind: npt.NDArray[Any],
    process: npt.NDArray[Any],
    message: npt.NDArray[Any],
    time: Times,
    destination_start: Offsets,
    destination: Integers,
    counts: Integers,
    start: Offsets,
    out_process: Integers,
    out_message: Integers,
    out_reached: Integers,
    out_arrived: Integers,
    out_send: Integers,
    out_deliveries: Integers,
    out_column: Integers,
    out_rank: Integers,
    out_arrival: Integers,
    out_delivery: Integers,
    out_delivered: Times,
    out_received: Times,
) -> int:
    """One pass over the events that fills the columns of `Joined`; gives the number of events that
    the kernel will see. `counts` are the deliveries and the arrivals at every process so far."""
    size = 0
    copies = 0
    for event in range(len(kind)):
        what = kind[event]
        if what > DELIVER:
            continue
        p = process[event]
        m = message[event]
        if what == SEND:
            for place in range(destination_start[event], destination_start[event + 1]):
                if destination[place] != p:
                    out_column[copies] = destination[place]
                    copies += 1
            start[m + 1] = copies
            out_process[size] = p
            out_message[size] = m
            out_send[m] = size
            size += 1
            continue
        if out_process[out_send[m]] == p:
            continue  # a copy that a process sends to itself orders nothing
        copy = start[m]
        length = start[m + 1] - copy
        while length > 1:  # the destinations of a message are sorted; see also `trace.quick`
            half = length // 2
            copy += half if out_column[copy + half] <= p else 0
            length -= half
        if out_arrival[copy] == NEVER:
            counts[1, p] += 1
            out_arrival[copy] = counts[1, p]
            if what == RECEIVE:
                out_received[copy] = time[event]
        if what == DELIVER:
            counts[0, p] += 1
            out_rank[copy] = counts[0, p]
            out_delivery[copy] = size
            out_delivered[copy] = time[event]
            out_deliveries[m] += 1
            out_process[size] = p
            out_message[size] = -1 - m
            out_reached[size] = counts[0, p]
            out_arrived[size] = counts[1, p]
            size += 1
    return size
