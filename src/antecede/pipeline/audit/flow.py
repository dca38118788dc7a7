"""A log that comes in pieces: from copies to the events that the kernel reads.

The log is a table of *copies*: a message and one destination other than its sender, with the
positions of its send, its arrival and its delivery, in the order of the sends. That is all the
kernel needs to know: where a copy is delivered is an event of its own, at the position of the
delivery. Between two pieces a flow keeps what is in flight. It may start anywhere in the log, as if
nothing had been sent before.
"""

from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

NONE: Final = int(np.iinfo(np.int64).min)
"""In a column of positions: this never happened."""

Integers = npt.NDArray[np.int32]
Positions = npt.NDArray[np.int64]
Times = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Copies:
    """Copies as parallel columns. A time that is not a number is unknown; `received` is that of the
    reception if it came before the delivery."""

    send: Positions
    sender: Integers
    number: Positions
    destination: Integers
    delivery: Positions
    arrival: Positions
    delivered: Times
    received: Times

    def __len__(self) -> int:
        return len(self.send)

    def take(self, chosen: Any) -> Self:
        return type(self)(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def join(self, other: Self) -> Self:
        """These and others behind them."""
        return type(self)(
            *(
                np.concatenate([getattr(self, field.name), getattr(other, field.name)])
                for field in fields(self)
            )
        )

    @property
    def arrived(self) -> Times:
        """When each arrived: a reception that nobody recorded took place at the delivery."""
        return np.where(np.isnan(self.received), self.delivered, self.received)


def no_copies() -> Copies:
    positions = np.empty(0, np.int64)
    processes = np.empty(0, np.int32)
    times = np.empty(0, np.float64)
    return Copies(positions, processes, positions, processes, positions, positions, times, times)


@dataclass(frozen=True, eq=False)
class Step:
    """A piece of the log as the kernel wants it. Its messages are those in flight and then the new
    ones."""

    process: Integers
    message: Integers
    """m for the send of message m, -1 - m for a delivery of it."""
    heads: Positions
    """The first copy of each new message."""
    kept: int
    """How many messages were in flight."""
    left: Integers
    """How many deliveries of each message are to come."""
    number: Positions
    """The number of each message in the whole log, from 0."""
    under_way: Copies
    """The copies of this piece, and those of earlier ones that have not been delivered before."""

    def offsets(self, copy_of_entry: Positions, copies: int) -> Positions:
        """Where the entries of each message start, given the copies (in order) that they are of."""
        new = copy_of_entry.searchsorted(np.append(self.heads, copies))
        return np.concatenate([np.zeros(self.kept, np.int64), new])


class Flow:
    """Makes events out of copies, piece by piece, and keeps what is in flight."""

    def __init__(self) -> None:
        self._under_way = no_copies()
        self._in_flight = np.empty(0, np.int64)
        self._number = np.empty(0, np.int64)
        self._left = np.empty(0, np.int32)
        self._messages = 0

    def take(self, copies: Copies, stop: int | None) -> Step:
        """The events up to the position `stop`, where the next piece starts; None after the last,
        whose deliveries matter only as long as somebody sends."""
        is_head = np.diff(copies.send, prepend=NONE) != 0
        heads = np.flatnonzero(is_head)
        kept = len(self._in_flight)
        delivered = copies.delivery != NONE
        left = np.bincount((np.cumsum(is_head) - 1)[delivered], minlength=len(heads))
        self._left = np.concatenate([self._left, left.astype(np.int32)])
        self._in_flight = np.concatenate([self._in_flight, copies.send[heads]])
        numbers = np.arange(self._messages, self._messages + len(heads))
        self._number = np.concatenate([self._number, numbers])
        self._messages += len(heads)
        under_way = self._under_way.join(copies)
        end = int(copies.send[-1]) if stop is None else stop
        due = (under_way.delivery != NONE) & (under_way.delivery < end)
        of = self._in_flight.searchsorted(under_way.send[due])
        order = np.argsort(np.concatenate([copies.send[heads], under_way.delivery[due]]))
        process = np.concatenate([copies.sender[heads], under_way.destination[due]])[order]
        message = np.concatenate([np.arange(kept, kept + len(heads)), -1 - of])[order]
        return Step(
            process.astype(np.int32),
            message.astype(np.int32),
            heads,
            kept,
            self._left,
            self._number,
            under_way,
        )

    def keep(self, step: Step, stop: int | None) -> Flags:
        """Forget what has been delivered; which messages are still in flight."""
        done = np.bincount(-1 - step.message[step.message < 0], minlength=len(step.left))
        left = (step.left - done).astype(np.int32)
        in_flight: Flags = left > 0
        self._left = left[in_flight]
        self._in_flight = self._in_flight[in_flight]
        self._number = self._number[in_flight]
        if stop is not None:
            later = (step.under_way.delivery >= stop) | (step.under_way.arrival >= stop)
            self._under_way = step.under_way.take(later)
        return in_flight
