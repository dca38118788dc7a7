"""A huge run as a log that comes in pieces, window by window, in flat memory.

The log is a table of *copies*: a message and one destination other than its sender, with the
positions of its send, its arrival and its delivery, in the order of the sends. That is all the
kernel needs to know: where a copy is delivered is an event of its own, at the position of the
delivery. Between two pieces a flow keeps what is in flight. It may start anywhere in the log, as if
nothing had been sent before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.files import path_of
from antecede.pipeline.audit.boundaries import FATES
from antecede.pipeline.audit.windows import NONE, Layout, Stretch
from antecede.trace.joined import NEVER

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


class Part(NamedTuple):
    """A window: its number, the row group behind its tail, its first and its last row."""

    window: int
    stop: int
    first: int
    last: int


class Piece(NamedTuple):
    copies: Copies
    stop: int | None
    """Where the next piece starts; None if there is no other."""


@dataclass(frozen=True)
class Log:
    """A run in windows, in whose folder are the fates of copies that flew beyond these."""

    layout: Layout
    processes: tuple[str, ...]
    parts: tuple[Part, ...]
    folder: str

    @property
    def first(self) -> int:
        return self.parts[0].first

    @property
    def last(self) -> int:
        return self.parts[-1].last

    def read(self, first: int, stop: int | None) -> Iterator[Piece]:
        """The copies of the messages sent from `first` up to `stop`, in pieces."""
        chosen = [
            part
            for part in self.parts
            if part.last >= first and (stop is None or part.first < stop)
        ]
        held: Copies | None = None
        for part in chosen:
            copies = _read_copies(self, part)
            wanted = copies.send >= first
            if stop is not None:
                wanted &= copies.send < stop
            if not wanted.any():
                continue
            if held is not None:
                yield Piece(held, part.first)
            held = copies if wanted.all() else copies.take(wanted)
        if held is not None:
            yield Piece(held, None)


def forget_copies() -> None:
    """Workers go on to other things."""
    _read_copies.cache_clear()


@lru_cache(maxsize=2)
def _read_copies(log: Log, part: Part) -> Copies:
    """The copies of the messages sent in a window, with what is known of their fate from
    elsewhere. Paths of witnesses mostly stay in a window or two: these are kept."""
    layout, size = log.layout, len(log.processes)
    first, stop = layout.borders[part.window : part.window + 2]
    stretch = Stretch(layout, by_row=True)
    stretch.mark(begin=True)
    stretch.add(batch for _, batch in layout.read(first, stop))
    stretch.mark(begin=False)
    stretch.add(batch for _, batch in layout.read(stop, part.stop))
    stretch.complete()
    joined, own = stretch.joined, stretch.own_copies(layout.judged)
    prepared = joined.prepared
    code_of = {name: code for code, name in enumerate(log.processes)}
    codes = np.array([code_of[name] for name in stretch.intake.processes], np.int32)
    message = np.repeat(np.arange(len(joined.send)), np.diff(prepared.start))[own]
    send = joined.send[message]

    def position(row: Integers) -> Positions:
        found = np.full(len(row), NONE)
        found[row != NEVER] = stretch.position[row[row != NEVER] - 1]
        return found

    copies = Copies(
        stretch.position[joined.row[send]],
        codes[prepared.process[send]],
        joined.number[message],
        codes[prepared.column[own]],
        position(prepared.rank[own]),
        position(joined.arrival[own]),
        joined.delivered[own].copy(),
        joined.received[own].copy(),
    )
    fates = path_of(log.folder) / f"fates-{part.window}.parquet"
    if fates.exists():
        apply_fates(copies, pq.read_table(fates, schema=FATES), size)
    return copies


def apply_fates(copies: Copies, fates: pa.Table, processes: int) -> None:
    """Enter what happened to some of the copies later."""
    column: dict[str, npt.NDArray[Any]] = {name: fates[name].to_numpy() for name in FATES.names}
    keys = _keys(copies.sender, copies.number, copies.destination, processes)
    order = np.argsort(keys)
    wanted = _keys(column["sender"], column["number"], column["destination"], processes)
    copy = order[keys[order].searchsorted(wanted)]
    late = column["delivery"] != NONE
    copies.delivery[copy[late]] = column["delivery"][late]
    copies.delivered[copy[late]] = column["delivered"][late]
    new = copies.arrival[copy] == NONE
    is_received = column["reception"] != NONE
    is_received &= ~late | (column["reception"] < column["delivery"])
    arrival = np.where(is_received, column["reception"], column["delivery"])
    copies.arrival[copy[new]] = arrival[new]
    copies.received[copy[new & is_received]] = column["received"][new & is_received]


def _keys(sender: Integers, number: Positions, destination: Integers, processes: int) -> Positions:
    keys: Positions = (number * processes + sender) * processes + destination
    return keys
