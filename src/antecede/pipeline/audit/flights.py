"""Long flights: a run that windows could not judge by themselves, gone over from end to end.

Whatever flies for longer than tasks look, or is lost at a process that lives on, may matter at any
distance. So one task takes the windows one behind the other and carries along what is in flight;
where there are very many processes, each of several tasks takes some of the destinations. This is
the kernel over a log that comes in pieces, in flat memory.

Positions serve as ranks, for at one process they grow with every delivery. Between two pieces a
pass keeps the rows of the messages that are yet to be delivered.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from antecede.files import path_of
from antecede.pipeline.audit.log import (
    Copies,
    Flags,
    Flow,
    Integers,
    Log,
    Positions,
    Step,
    Times,
    forget_copies,
)
from antecede.pipeline.audit.windows import NONE
from antecede.trace.joined import NEVER, Prepared
from antecede.verify.delays import Delays, split_times
from antecede.verify.findings import FindingsWriter, Naming
from antecede.verify.passes import empty_cells, scan_to_the_end
from antecede.verify.verdict import WITNESS_LIMIT

BEYOND: Final = int(np.iinfo(np.int64).max)
"""The position of what never comes."""
NO_PREDECESSOR: Final = 0
FARTHEST_NARROW: Final = NEVER - 2
"""Positions that lie farther apart than this need cells of 64 bits."""


@dataclass(frozen=True, eq=False)
class Last:
    """For each copy the last predecessor of its message at its destination that was still under way
    when the message was sent: the position of its delivery (or arrival), and when that was. `NONE`
    if there is none, `BEYOND` if it never came."""

    position: Positions
    time_s: Times


class Scale:
    """Positions as ranks of a stream: from 1 on, and never the number that means `NEVER`."""

    def __init__(self, first: int, last: int) -> None:
        self._first = first
        narrow = last - first < FARTHEST_NARROW
        self.cells: np.dtype[Any] = np.dtype(np.int32 if narrow else np.int64)
        self.infinity = int(np.iinfo(np.int32 if narrow else np.int64).max)

    def ranks(self, positions: Positions) -> Positions:
        ranks = positions - self._first + 1
        ranks += ranks >= NEVER
        return np.where(positions == NONE, NEVER, ranks)

    def positions(self, ranks: Positions) -> Positions:
        positions = ranks - (ranks > NEVER) - 1 + self._first
        positions[ranks == NO_PREDECESSOR] = NONE
        positions[ranks == NEVER] = BEYOND
        return positions


class Pass:
    """One pass of the kernel, piece by piece."""

    def __init__(self, processes: int, width: int, scale: Scale) -> None:
        self._scale = scale
        self._cells = empty_cells(processes, width, scale.cells)
        # No process has a column of its own here: what it has reached is known from positions.
        self._nowhere = np.full(processes, -1, np.int32)

    def feed(
        self, step: Step, start: Positions, column: Integers, rank: Positions
    ) -> npt.NDArray[np.signedinteger[Any]]:
        """The ranks of the last predecessors of the entries: those of message m begin at
        `start[m]`, each with its column and its rank."""
        row_of = np.full(len(step.left), -1, np.int32)
        row_of[: len(self._cells.row_of)] = self._cells.row_of
        log = Prepared(
            *(step.process, step.message, start, column, rank.astype(self._scale.cells)),
            *(np.empty(0, np.int32), step.left, self._nowhere),
        )
        state = self._cells._replace(
            row_of=row_of, left=step.left.copy(), last=np.zeros(len(rank), self._scale.cells)
        )
        state.progress[0] = 0
        self._cells = scan_to_the_end(log, state, self._scale.infinity)
        return self._cells.last

    def keep(self, messages: Flags) -> None:
        """Forget the other messages, all of which have been delivered."""
        self._cells = self._cells._replace(row_of=self._cells.row_of[messages])


class Stream:
    """Feed it the copies in the order of their sends, the copies of one message together.

    `columns` gives every process its column, or -1: copies to these are not looked at. `arrivals`
    asks for the predecessor that arrived last, too.
    """

    def __init__(self, columns: Integers, scale: Scale, *, arrivals: bool) -> None:
        width = int(columns.max(initial=-1)) + 1
        self._columns = columns
        self._scale = scale
        self._flow = Flow()
        self._deliveries = Pass(len(columns), width, scale)
        self._arrivals = Pass(len(columns), width, scale) if arrivals else None

    def feed(
        self, copies: Copies, stop: int | None, enters: Flags | None = None
    ) -> tuple[Last, Last | None, Positions]:
        """The last predecessors by delivery and by arrival, for the copies that have a column, and
        which these are. `stop` is the position where the next piece starts, None after the last.
        Only copies that enter count as predecessors."""
        step = self._flow.take(copies, stop)
        watched = np.flatnonzero(self._columns[copies.destination] >= 0)
        start = step.offsets(watched, len(copies))
        column = self._columns[copies.destination[watched]]

        def search(of: Pass, happened: Positions, known: Positions, time: Times) -> Last:
            rank = self._scale.ranks(happened[watched])
            if enters is not None:
                rank = np.where(enters[watched], rank, NO_PREDECESSOR)
            last = of.feed(step, start, column, rank)
            return self._timed(last.astype(np.int64), copies.send[watched], known, time)

        known = step.under_way
        by_delivery = search(self._deliveries, copies.delivery, known.delivery, known.delivered)
        by_arrival = None
        if self._arrivals:
            by_arrival = search(self._arrivals, copies.arrival, known.arrival, known.arrived)
        in_flight = self._flow.keep(step, stop)
        for of in (self._deliveries, self._arrivals):
            if of:
                of.keep(in_flight)
        return by_delivery, by_arrival, watched

    def _timed(self, last: Positions, send: Positions, known: Positions, time: Times) -> Last:
        """What was found, without what had been reached before the send, and its times."""
        position = self._scale.positions(last)
        position[position < send] = NONE
        time_s = np.where(position == BEYOND, np.inf, -np.inf)
        found = np.flatnonzero((position != BEYOND) & (position != NONE))
        if len(found):
            order = np.argsort(known)
            place = order[known[order].searchsorted(position[found])]
            # A predecessor of which nobody knows the time kept nobody waiting.
            time_s[found] = np.where(np.isnan(time[place]), -np.inf, time[place])
        return Last(position, time_s)


@dataclass(frozen=True)
class Early:
    """A delivery that came too early, and when."""

    delivery: int
    send: int
    destination: int
    delivered_s: float


@dataclass(frozen=True, eq=False)
class Findings:
    """What a task gives back; they add up."""

    undelivered: Positions
    """By process."""
    violations: int = 0
    delays: Delays = field(default_factory=Delays)
    early: tuple[Early, ...] = ()
    """The first of them by delivery."""

    def __add__(self, other: "Findings") -> "Findings":
        early = sorted((*self.early, *other.early), key=lambda found: found.delivery)
        return Findings(
            self.undelivered + other.undelivered,
            self.violations + other.violations,
            self.delays + other.delays,
            tuple(early[:WITNESS_LIMIT]),
        )


def judge_log(log: Log, shards: int, keep: str | None, shard: int) -> Findings:
    """The findings about the copies to some of the destinations. All of them go to a file that
    `keep` begins the name of, if they are to be kept."""
    size = len(log.processes)
    mine = np.arange(size) % shards == shard
    columns = np.where(mine, np.cumsum(mine) - 1, -1).astype(np.int32)
    stream = Stream(columns, Scale(log.first, log.last), arrivals=True)
    found = Findings(np.zeros(size, np.int64))
    naming = Naming(log.layout.run, log.processes)
    with FindingsWriter(path_of(f"{keep}{shard}.parquet")) as writer:
        for piece in log.read(log.first, None):
            by_delivery, by_arrival, watched = stream.feed(piece.copies, piece.stop)
            copies = piece.copies.take(watched)
            lost = copies.delivery == NONE
            early = copies.take(~lost & (by_delivery.position > copies.delivery))
            found += Findings(
                np.bincount(copies.destination[lost], minlength=size),
                len(early),
                _delays(copies, by_delivery, by_arrival),
                _first_early(early),
            )
            if keep and len(early):
                writer.add(
                    naming.table(early.destination, early.sender, early.number, early.delivered)
                )
    forget_copies()
    return found


def _delays(copies: Copies, by_delivery: Last, by_arrival: Last | None) -> Delays:
    if by_arrival is None:
        return Delays()
    times = (copies.received, copies.delivered)
    return split_times(*times, by_arrival.time_s, by_delivery.time_s).total()


def _first_early(early: Copies) -> tuple[Early, ...]:
    order = np.argsort(early.delivery, kind="stable")[:WITNESS_LIMIT]
    columns = (early.delivery, early.send, early.destination, early.delivered)
    return tuple(
        Early(*row) for row in zip(*(column[order].tolist() for column in columns), strict=True)
    )
