"""A run of one layer, its deliveries joined with their sends: plain columns of integers and times.

What `antecede.trace.intake` makes of rows, and all that whoever judges a run reads.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

NEVER: Final = int(np.iinfo(np.int32).max)
"""The rank of a copy that is never delivered."""

Column = np.ndarray[Any, Any]
Integers = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Times = npt.NDArray[np.float64]


class Prepared(NamedTuple):
    """What the kernel reads. Events are the sends and the deliveries at others than the sender, in
    a linear extension of happened-before; messages are counted from 0 in the order of their sends.
    A *copy* is a message and one destination other than its sender."""

    process: Column
    """Where each event happened."""
    message: Column
    """m for the send of message m, -1 - m for a delivery of it."""
    start: Column
    """The copies of message m are those from `start[m]` to `start[m + 1]`."""
    column: Column
    """The destination of each copy: a process, or its column in a shard."""
    rank: Column
    """The rank of its delivery there, from 1, or `NEVER`."""
    floor: Column
    """The rank that its destination had reached when it was sent. Empty if every delivery reaches
    the next rank, so that the kernel can count."""
    deliveries: Column
    """How many deliveries of each message are among the events."""
    column_of: Column
    """For every process the column that it has, or -1."""

    @property
    def width(self) -> int:
        return int(self.column_of.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False)
class Joined:
    """A run of one layer, joined: for the kernel, for the delays and for the witnesses."""

    prepared: Prepared
    send: Column
    """Of each message: which event of `prepared` its send is,"""
    number: Column
    """and its number among those of its sender."""
    row: Column
    """Of each event the row that it was made of; empty if nobody asked for it."""
    delivery: Column
    """Of each copy: which event of `prepared` its delivery is, -1 if there is none."""
    delivered: Column
    """When that was."""
    received: Column
    """When the network handed it over; not a number if that was not recorded."""
    arrival: Column
    """The rank of its arrival: of its first reception, or of its delivery if that came first."""
    arrived: Column
    """The rank of arrival that its destination had reached when it was sent."""

    def by_arrival(self) -> Prepared:
        """The same for the kernel with ranks of arrival."""
        return self.prepared._replace(rank=self.arrival, floor=self.arrived)

    @property
    def receptions_known(self) -> bool:
        return not bool(np.isnan(self.received).all())

    def sender(self, message: int) -> int:
        """Which process sent a message."""
        return int(self.prepared.process[self.send[message]])

    def message_of(self, copies: Offsets) -> Offsets:
        """The messages of these copies."""
        found: Offsets = np.searchsorted(self.prepared.start, copies, side="right") - 1
        return found
