"""The kernel over a log that comes in pieces, in flat memory.

The log is a table of *copies*: a message and one destination other than its sender, with the
positions of its send, its arrival and its delivery, in the order of the sends. That is all the
kernel needs to know: where a copy is delivered is an event of its own, at the position of the
delivery. Positions serve as ranks, for at one process they grow with every delivery.

Between two pieces a stream keeps what is in flight: the rows of the messages that are yet to be
delivered, and these deliveries. It may start anywhere in the log, as if nothing had been sent
before.
"""

from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from antecede.compiled import loop_for
from antecede.verify.kernel import NEVER, scan

NONE: Final = int(np.iinfo(np.int64).min)
"""In a column of positions: this never happened."""
NO_PREDECESSOR: Final = 0
FARTHEST_NARROW: Final = NEVER - 2
"""Positions that lie farther apart than this need cells of 64 bits."""

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
    positions, processes, times = (np.empty(0, kind) for kind in (np.int64, np.int32, np.float64))
    return Copies(positions, processes, positions, processes, positions, positions, times, times)


@dataclass(frozen=True, eq=False)
class Last:
    """For each copy the last predecessor of its message at its destination that was still under way
    when the message was sent: the rank that its delivery (or arrival) has in the stream,
    `NO_PREDECESSOR` or `NEVER`, and when that was."""

    rank: Positions
    time_s: Times

    def overruled_by(self, other: Self) -> Self:
        """The later one of two, copy by copy."""
        later = other.rank > self.rank
        return type(self)(
            np.where(later, other.rank, self.rank), np.where(later, other.time_s, self.time_s)
        )


class Scale:
    """Positions as ranks of a stream: from 1 on, and never the number that means `NEVER`."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        self.cells = np.dtype(np.int32 if last - first < FARTHEST_NARROW else np.int64)
        self.infinity = int(np.iinfo(self.cells).max)

    def ranks(self, positions: Positions) -> Positions:
        ranks = positions - self._first + 1
        if self.cells.itemsize == 8:
            ranks += ranks >= NEVER
        return np.where(positions == NONE, NEVER, ranks)

    def is_later(self, rank: Positions, than: Positions) -> Flags:
        """Whether the first rank lies behind the second; `NEVER` lies behind all."""
        later: Flags = (than != NEVER) & ((rank == NEVER) | (rank > than))
        return later


class Pass:
    """One pass of the kernel, piece by piece."""

    def __init__(self, processes: int, width: int, scale: Scale) -> None:
        pool = max(4, processes)
        self._scale = scale
        self._rows = np.zeros((processes + pool, width), scale.cells)
        self._free = np.arange(processes, processes + pool, dtype=np.int32)
        self._spare = pool
        self._row_of = np.empty(0, np.int32)
        self._zeros = np.zeros(width, np.int64)
        # No process has a column of its own here: what it has reached is known from positions.
        self._nowhere = np.full(processes, -1, np.int32)

    def feed(
        self,
        process: Integers,
        message: Integers,
        start: Positions,
        column: Integers,
        rank: npt.NDArray[np.signedinteger[Any]],
        left: Integers,
    ) -> npt.NDArray[np.signedinteger[Any]]:
        """The ranks of the last predecessors. The first messages are those kept before."""
        row_of = np.full(len(left), -1, np.int32)
        row_of[: len(self._row_of)] = self._row_of
        last = np.zeros(len(rank), self._scale.cells)
        progress = np.array([0, self._spare, 0], np.int64)
        loop = loop_for(scan, len(process) * (self._rows.shape[1] + 10))
        while True:
            loop(
                process,
                message,
                np.empty(len(process), np.int32),
                start,
                column,
                rank.astype(self._scale.cells),
                self._nowhere,
                *(self._rows, self._zeros, self._zeros.copy(), row_of, left, self._free),
                *(last, np.empty(0, np.int32), progress, self._scale.infinity),
            )
            if progress[0] == len(process):
                self._spare = int(progress[1])
                self._row_of = row_of
                return last
            # Every row is in use: as many again.
            more = np.arange(len(self._rows), 2 * len(self._rows), dtype=np.int32)
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._free = np.concatenate([more, np.empty(len(self._free), np.int32)])
            progress[1] = len(more)

    def keep(self, messages: Flags) -> None:
        """Forget the other messages, all of which have been delivered."""
        self._row_of = self._row_of[messages]


class Stream:
    """Feed it the copies in the order of their sends, the copies of one message together.

    `columns` gives every process its column, or -1: copies to these are not looked at. `arrivals`
    asks for the predecessor that arrived last, too.
    """

    def __init__(self, columns: Integers, scale: Scale, *, arrivals: bool) -> None:
        width = int(columns.max(initial=-1)) + 1
        self._columns = columns
        self._scale = scale
        self._deliveries = Pass(len(columns), width, scale)
        self._arrivals = Pass(len(columns), width, scale) if arrivals else None
        self._under_way = no_copies()
        self._in_flight = np.empty(0, np.int64)
        self._left = np.empty(0, np.int32)

    def feed(
        self, copies: Copies, stop: int | None, enters: Flags | None = None
    ) -> tuple[Last, Last | None, Positions]:
        """The last predecessors by delivery and by arrival, for the copies that have a column, and
        which these are. `stop` is the position where the next piece starts, None after the last.
        Only copies that enter count as predecessors."""
        heads = np.flatnonzero(np.diff(copies.send, prepend=NONE))
        sends = copies.send[heads]
        kept = len(self._in_flight)
        message = np.cumsum(np.diff(copies.send, prepend=NONE) != 0) - 1 + kept
        delivered = copies.delivery != NONE
        left = np.bincount(message[delivered] - kept, minlength=len(sends))
        self._left = np.concatenate([self._left, left.astype(np.int32)])
        self._in_flight = np.concatenate([self._in_flight, sends])
        under_way = self._under_way.join(copies)
        process, events = self._events(copies.sender[heads], kept, under_way, stop)
        watched = np.flatnonzero(self._columns[copies.destination] >= 0)
        start = np.concatenate(
            [np.zeros(kept, np.int64), watched.searchsorted(np.append(heads, len(copies)))]
        )
        column = self._columns[copies.destination[watched]]
        entering = None if enters is None else enters[watched]

        def search(of: Pass, happened: Positions, known: Positions, time: Times) -> Last:
            rank = self._scale.ranks(happened[watched])
            if entering is not None:
                rank = np.where(entering, rank, NO_PREDECESSOR)
            last = of.feed(process, events, start, column, rank, self._left.copy())
            return self._timed(last.astype(np.int64), copies.send[watched], known, time)

        by_delivery = search(
            self._deliveries, copies.delivery, under_way.delivery, under_way.delivered
        )
        by_arrival = None
        if self._arrivals:
            by_arrival = search(
                self._arrivals, copies.arrival, under_way.arrival, under_way.arrived
            )
        self._keep(events, under_way, stop)
        return by_delivery, by_arrival, watched

    def _events(
        self, senders: Integers, kept: int, under_way: Copies, stop: int | None
    ) -> tuple[Integers, Integers]:
        """Process and message of the sends and of the deliveries before `stop`, as the kernel wants
        them. Nobody sends after the last piece, so its deliveries need not go further."""
        end = int(self._in_flight[-1]) if stop is None and len(self._in_flight) else stop
        due = under_way.delivery != NONE
        if end is not None:
            due &= under_way.delivery < end
        of = self._in_flight.searchsorted(under_way.send[due])
        sends = np.arange(kept, len(self._in_flight))
        position = np.concatenate([self._in_flight[kept:], under_way.delivery[due]])
        order = np.argsort(position)
        process = np.concatenate([senders, under_way.destination[due]])[order]
        message = np.concatenate([sends, -1 - of])[order]
        return process.astype(np.int32), message.astype(np.int32)

    def _timed(self, last: Positions, send: Positions, known: Positions, time: Times) -> Last:
        """The ranks found, without those that were reached before the send, and their times."""
        ranks = self._scale.ranks(known)
        sent = self._scale.ranks(send)
        last[(last != NEVER) & (last < sent)] = NO_PREDECESSOR
        time_s = np.where(last == NEVER, np.inf, -np.inf)
        found = np.flatnonzero((last != NEVER) & (last != NO_PREDECESSOR))
        if len(found):
            order = np.argsort(ranks)
            place = order[ranks[order].searchsorted(last[found])]
            # A predecessor of which nobody knows the time kept nobody waiting.
            time_s[found] = np.where(np.isnan(time[place]), -np.inf, time[place])
        return Last(last, time_s)

    def _keep(self, events: Integers, under_way: Copies, stop: int | None) -> None:
        done = np.bincount(-1 - events[events < 0], minlength=len(self._left))
        self._left = (self._left - done).astype(np.int32)
        in_flight = self._left > 0
        for of in (self._deliveries, self._arrivals):
            if of:
                of.keep(in_flight)
        self._left = self._left[in_flight]
        self._in_flight = self._in_flight[in_flight]
        if stop is not None:
            later = (under_way.delivery >= stop) | (under_way.arrival >= stop)
            self._under_way = under_way.take(later)
