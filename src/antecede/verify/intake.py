"""Taking in a trace as it is read: row group by row group, each one decoded, held to the rules and
joined before the next, so that no row is in memory longer than it takes to look at it.

What is kept of a run is what the kernel needs: some tens of bytes a delivery. Only usual traces
pass (`antecede.trace.batches`); all others have to go the long way, which knows what is wrong.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from antecede.compiled import loop_for
from antecede.trace.batches import Batch, Coded, Unusual
from antecede.trace.events import NULL
from antecede.trace.loader import Names
from antecede.trace.schema import APP, KINDS, LAYERS
from antecede.verify import rows
from antecede.verify.prepare import Integers, Joined, Prepared

MOST_PROCESSES: Final = int(np.iinfo(np.uint16).max)


class TimesNeeded(Exception):
    """There are receptions, so that delays can be told apart, but the times have not been read."""


class Source(NamedTuple):
    """Some rows of a row group, and the events that were made of them."""

    file: Path
    group: int
    first_row: int
    rows: int
    first_event: int
    events: int


class TakenRun:
    """One run of a trace, taken in batch by batch for the sake of one layer. `steps` is about how
    long the whole trace is."""

    def __init__(self, name: str, layer: int, steps: int, *, timed: bool) -> None:
        self.name = name
        self.timed = timed
        self._check_rows = loop_for(rows.check_rows, steps)
        self._names = Names()
        self._before = NULL
        self._next_seq = np.zeros(0, np.int64)
        self._crashed = np.zeros(0, bool)
        todo = rows.JOIN_TIMED if timed else rows.JOIN
        self._layers = [_Layer(code, rows.CHECK, steps) for code in range(len(LAYERS))]
        self._layers[layer] = _Layer(layer, todo, steps)
        self._wanted = self._layers[layer]
        self._sources: list[Source] = []

    @property
    def processes(self) -> Sequence[str]:
        return self._names.names

    @property
    def crashed(self) -> npt.NDArray[np.bool_]:
        """Whether each process crashed, in whichever layer."""
        return self._crashed

    @property
    def deliveries(self) -> int:
        return int(self._wanted.totals[rows.DELIVERIES])

    def add(self, batch: Batch) -> None:
        """The rows that come next. Refuses what breaks a rule or is out of order."""
        first_event = int(self._wanted.totals[rows.EVENTS])
        layers, kinds = _known(LAYERS, batch.layer, APP), _known(KINDS, batch.kind, -1)
        if (layers >= len(LAYERS)).any() and (layers[batch.layer.indices] >= len(LAYERS)).any():
            raise Unusual("a layer is unknown")
        process, sender, destination = (
            np.array([*self._names.enter(column.words), -1], np.int32)
            for column in (batch.process, batch.sender, batch.destination)
        )
        if len(self.processes) > MOST_PROCESSES:
            raise Unusual("there are very many processes")
        more = _More(len(self.processes), batch)
        self._next_seq = _wider(self._next_seq, more.processes)
        self._crashed = _wider(self._crashed, more.processes)
        accepted, self._before = self._check_rows(
            batch.kind.indices,
            kinds,
            batch.process.indices,
            process,
            batch.seq,
            batch.position,
            self._next_seq,
            self._crashed,
            more.sends,
            self._before,
        )
        if not accepted:
            raise Unusual("a row breaks a rule, or is out of order")
        columns = (
            *(batch.layer.indices, layers, batch.kind.indices, kinds),
            *(batch.process.indices, process, batch.sender.indices, sender),
            *(batch.number, batch.time, batch.listed, batch.first_bit),
            *(batch.destination_start, batch.destination.indices, destination),
        )
        for layer in self._layers:
            if layer.code in layers:
                layer.take(columns, more)
        events = int(self._wanted.totals[rows.EVENTS]) - first_event
        source = Source(batch.file, batch.group, batch.first_row, len(batch), first_event, events)
        self._sources.append(source)

    def joined(self) -> Joined:
        """The wanted layer for the kernel. Nothing can be added any more."""
        return self._wanted.joined(len(self.processes))

    def message_name(self, joined: Joined, message: int) -> str:
        """A message as people write it."""
        sender = int(joined.prepared.process[joined.send[message]])
        return f"{self.processes[sender]}:{self._wanted.number(sender, message)}"

    def source(self, event: int) -> Source:
        """Where an event of the wanted layer is from."""
        after = bisect_right(self._sources, event, key=lambda source: source.first_event)
        return self._sources[after - 1]


class _More:
    """What a batch brings at most."""

    def __init__(self, processes: int, batch: Batch) -> None:
        self.processes = processes
        self.sends = np.zeros(processes, np.int64)
        self.rows = len(batch)
        self.copies = int(batch.destination_start[-1] - batch.destination_start[0])
        self.expected = batch.expected / self.rows
        """How many times as much may come in all."""


_MESSAGE: Final = {"start": np.int64, "send": np.int32, "deliveries": np.int32, "own": np.bool_}
# Fresh memory costs as much as the work, so processes are two bytes.
_EVENT: Final = {"at": np.uint16, "message": np.int32, "arrived": np.int32}
_COPY: Final = {
    "column": np.uint16,
    **dict.fromkeys(("rank", "arrival", "delivery"), np.int32),
    **dict.fromkeys(("delivered", "received"), np.float64),
}
_UNUSED: Final = {
    rows.CHECK: ("send", "deliveries", "delivery", *_EVENT, "arrival", "delivered", "received"),
    rows.JOIN: ("arrived", "arrival", "delivered", "received"),
    rows.JOIN_TIMED: (),
}


_PREPARED: Final = ("message", "start", "column", "rank", "deliveries")
_JOINED: Final = ("send", "delivery", "delivered", "received", "arrival", "arrived")


class _Layer:
    """The messages, copies and events of one layer of a run so far."""

    def __init__(self, code: int, todo: int, steps: int) -> None:
        self.code = code
        self._take_rows: Callable[..., int] = loop_for(rows.take_rows, steps)
        self.totals = np.zeros(rows.TOTALS, np.int64)
        self._todo = todo
        self._handed_over = np.zeros((2, 0), np.int32)
        self._sent = np.zeros(0, np.int64)
        self._first = np.zeros(1, np.int64)
        self._message_of = np.zeros(0, np.int32)
        self._columns: dict[str, npt.NDArray[Any]] = {
            name: np.zeros(1 if name == "start" else 0, kind)
            for name, kind in {**_MESSAGE, **_EVENT, **_COPY}.items()
        }

    def take(self, columns: tuple[Any, ...], more: _More) -> None:
        """The rows of a batch that are of this layer."""
        self._make_room(more)
        outcome = self._take_rows(
            *(self.code, *columns, self._todo),
            *(self._handed_over, self._sent, self._first, self._message_of, self.totals),
            *self._columns.values(),
        )
        if outcome == rows.TIMES_NEEDED:
            raise TimesNeeded
        if outcome == rows.REFUSED:
            raise Unusual("a row breaks a rule, or is out of order")

    def _make_room(self, more: _More) -> None:
        self._handed_over = _wider(self._handed_over, more.processes)
        self._sent = _wider(self._sent, more.processes)
        sends = int(more.sends.sum())
        for names, total, brought in (
            (_MESSAGE, rows.MESSAGES, sends),
            (_EVENT, rows.EVENTS, more.rows),
            (_COPY, rows.COPIES, more.copies),
        ):
            used = int(self.totals[total]) + (names is _MESSAGE)  # `start` is one longer
            for name in names:
                column = self._columns[name]
                if used + brought > len(column) and name not in _UNUSED[self._todo]:
                    room = max(used + int(brought * more.expected), 2 * used, used + brought)
                    larger = np.empty(room, column.dtype)
                    larger[: len(column[:used])] = column[:used]
                    self._columns[name] = larger
        self._make_room_for_numbers(self._sent + more.sends, more.expected)

    def _make_room_for_numbers(self, needed: npt.NDArray[np.int64], expected: float) -> None:
        """Room for so many messages of every process, with some to spare."""
        had = np.zeros(len(needed), np.int64)
        had[: len(self._first) - 1] = np.diff(self._first)
        if (needed <= had).all():
            return
        old_first, old = self._first, self._message_of
        # At the beginning of a run, all that is expected; later on, twice as much at a time.
        spare = 2 if len(old) else max(2, math.ceil(1.25 * expected))
        self._first = np.concatenate([[0], np.cumsum(needed * spare + 16)])
        self._message_of = np.empty(self._first[-1], np.int32)
        for process, count in enumerate(self._sent.tolist()):
            if count:
                place, old_place = self._first[process], old_first[process]
                self._message_of[place : place + count] = old[old_place : old_place + count]

    def number(self, sender: int, message: int) -> int:
        """The number that a message has among those of its sender."""
        first = self._first[sender]
        own = self._message_of[first : first + self._sent[sender]]
        return int(np.searchsorted(own, message)) + 1

    def joined(self, processes: int) -> Joined:
        """All of it for the kernel; times and arrivals as far as they were kept."""
        messages, copies, events = (
            int(self.totals[total]) for total in (rows.MESSAGES, rows.COPIES, rows.EVENTS)
        )
        columns = {
            **{name: self._columns[name][:messages] for name in _MESSAGE},
            **{name: self._columns[name][:events] for name in _EVENT},
            **{name: self._columns[name][:copies] for name in _COPY},
            "start": self._columns["start"][: messages + 1],
        }
        if self._todo != rows.JOIN_TIMED:
            unknown = np.broadcast_to(np.nan, copies)
            columns |= {"delivered": unknown, "received": unknown}
            columns["arrival"] = columns["rank"]
        prepared = Prepared(
            process=columns["at"],
            reached=np.empty(0, np.int32),
            column_of=np.arange(processes, dtype=np.int32),
            **{name: columns[name] for name in _PREPARED},
        )
        no_origin = np.empty(0, np.int64)
        return Joined(prepared, origin=no_origin, **{name: columns[name] for name in _JOINED})


def _known(known: Sequence[str], column: Coded, null: int) -> Integers:
    """Codes of words of which few are known: their place among these, or one beyond."""
    places = {word: place for place, word in enumerate(known)}
    codes = [null if word is None else places.get(word, len(known)) for word in column.words]
    return np.array([*codes, null], np.int32)


def _wider(values: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """The same, with zeros for processes that are new."""
    missing = size - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)]) if missing else values
