"""From the events of a run to what the kernel reads: ranks, and deliveries joined with their sends.

Everything here is a plain column of integers or times, so that whoever has these columns from
elsewhere (a Spark job has) can go to the kernel without a run in memory.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from antecede.compiled import loop_for
from antecede.trace.events import Events
from antecede.trace.schema import DELIVER, RECEIVE, SEND
from antecede.verify.kernel import NEVER, Column

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
    """With a delivery: its rank among the deliveries at its process, from 1. Empty if every event
    of the run is here, so that the kernel can count."""
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


def prepare(events: Events, processes: int) -> Joined:
    """Join the events of one layer of a run, which have passed the rules of the format."""
    kind, process = events.kind, events.process
    sends = np.flatnonzero(kind == SEND)
    addressed = int(events.destination_start[-1])
    steps = len(events) + addressed
    size = len(sends) + int(np.count_nonzero(kind == DELIVER))
    at, message, reached, arrived = (np.zeros(size, np.int32) for _ in range(4))
    send, deliveries = (np.zeros(len(sends), np.int32) for _ in range(2))
    column, rank, arrival, delivery = (
        np.full(addressed, fill, np.int32) for fill in (0, NEVER, NEVER, -1)
    )
    delivered, received = (np.full(addressed, np.nan) for _ in range(2))
    start = np.zeros(len(sends) + 1, np.int64)
    used = loop_for(join, steps)(
        *(kind, process, events.message, events.time),
        *(events.destination_start, events.destination),
        *(np.zeros((2, processes), np.int32), start),
        *(at, message, reached, arrived, send, deliveries),
        *(column, rank, arrival, delivery, delivered, received),
    )
    copies = int(start[-1])
    prepared = Prepared(
        at[:used],
        message[:used],
        reached[:used],
        start,
        column[:copies],
        rank[:copies],
        deliveries,
        np.arange(processes, dtype=np.int32),
    )
    return Joined(
        prepared,
        send,
        sends,
        delivery[:copies],
        delivered[:copies],
        received[:copies],
        arrival[:copies],
        arrived[:used],
    )


def join(
    kind: Column,
    process: Column,
    message: Column,
    time: Column,
    destination_start: Column,
    destination: Column,
    counts: Column,
    start: Column,
    out_process: Column,
    out_message: Column,
    out_reached: Column,
    out_arrived: Column,
    out_send: Column,
    out_deliveries: Column,
    out_column: Column,
    out_rank: Column,
    out_arrival: Column,
    out_delivery: Column,
    out_delivered: Column,
    out_received: Column,
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
