"""Taking in a run as it is read: some rows at a time, each held to the rules and joined before the
next, so that no row is in memory longer than it takes to look at it.

What is kept of a run is what the kernel needs: some tens of bytes a delivery. Rows have to come in
the order of their positions; everything else is refused, be it allowed or broken.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from antecede.compiled import loop_for
from antecede.trace import rows
from antecede.trace.batch import Batch, Coded, Unusual
from antecede.trace.events import NULL, Integers
from antecede.trace.joined import Joined, Prepared
from antecede.trace.names import Names
from antecede.trace.schema import APP, KINDS, LAYERS

NARROW: Final = int(np.iinfo(np.uint16).max)
"""Processes up to which a code has two bytes: fresh memory costs as much as the work."""

_Table = dict[str, Any]

_MESSAGE: Final[_Table] = {
    "own_delivered": np.bool_,
    "start": np.int64,
    **dict.fromkeys(("send", "deliveries"), np.int32),
}
_EVENT: Final[_Table] = {"at": np.uint16, "message": np.int32, "event_row": np.int32}
_COPY: Final[_Table] = {
    "column": np.uint16,
    **dict.fromkeys(("rank", "delivery", "arrival", "arrived"), np.int32),
    **dict.fromkeys(("delivered", "received"), np.float64),
}
_ROW: Final[_Table] = {"crossing": np.int32}
_PROCESS: Final = ("at", "column")
_TIMES: Final = ("arrival", "arrived", "delivered", "received")
_JOINS: Final = ("send", "deliveries", "at", "message", "delivery")


class TimesNeeded(Exception):
    """There are receptions, so that delays can be told apart, but the times have not been read."""


class Intake:
    """One run, or a stretch of one, taken in batch by batch for the sake of one layer, or of none:
    then it is only held to the rules.

    `steps` is about how long the whole trace is. `timed` asks for receptions and times, `located`
    for the row of every event, `numbered` for the message of every row, in whichever layer. A
    stretch that is not `whole` may begin anywhere in a run. `ordered` says that local order and
    positions have been looked at; `by_row`, that rows shall be ranks.
    """

    def __init__(
        self,
        layer: int | None,
        steps: int,
        *,
        timed: bool,
        whole: bool = True,
        located: bool = False,
        numbered: bool = False,
        by_row: bool = False,
        ordered: bool = False,
    ) -> None:
        self.timed = timed
        self._whole = whole
        self._numbered = numbered
        self._order = 0 if ordered else rows.ORDER
        self._count_sends: Callable[..., None] = loop_for(rows.count_sends, steps)
        self._message_of_row = np.zeros(0, np.int32)
        self.names = Names()
        self.next_seq, self.first_seq = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.crashed = np.zeros(0, bool)
        self._position, self._row = np.array([NULL]), np.zeros(1, np.int64)
        todo = rows.JOIN | timed * rows.TIMED | by_row * rows.BY_ROW
        unused = [name for name in _TIMES if not timed]
        unused += [] if located else ["event_row"]
        unused += ["crossing"] if whole else []
        checked = [*unused, *_TIMES, *_JOINS, "event_row"]
        self.layers = [
            _Layer(code, todo, unused, steps) if code == layer else _Layer(code, 0, checked, steps)
            for code in range(len(LAYERS))
        ]
        self.wanted = self.layers[APP if layer is None else layer]

    @property
    def processes(self) -> Sequence[str]:
        return self.names.names

    @property
    def rows(self) -> int:
        """How many there were."""
        return int(self._row[0])

    @property
    def message_of_row(self) -> npt.NDArray[np.int32]:
        """The message of every row, if that was asked for."""
        return self._message_of_row

    def mark(self, *, crossing: bool) -> None:
        """From the next row on, put down what is about messages sent before, or do not."""
        for layer in self.layers:
            layer.progress[0]["marking"] = crossing
            layer.progress[0]["border"] = layer.count("messages")

    def add(self, batch: Batch) -> None:
        """The rows that come next. Refuses what breaks a rule or is out of order."""
        layer_code, kind_code = (
            known_codes(LAYERS, batch.layer, APP),
            known_codes(KINDS, batch.kind, len(KINDS)),
        )
        beyond = layer_code >= len(LAYERS)
        if beyond.any() and beyond[batch.layer.indices].any():
            raise Unusual("a layer is unknown")
        entered = [
            self.names.enter(column.words)
            for column in (batch.process, batch.sender, batch.destination)
        ]
        size = len(self.processes)
        code = np.dtype(np.uint16 if size <= NARROW else np.uint32)
        # Null is the largest code, which no process has.
        process, sender, destination = (np.array([*codes, -1]).astype(code) for codes in entered)
        taken = rows.Rows(
            *(batch.layer.indices, layer_code, batch.process.indices, process),
            *(batch.kind.indices, kind_code, batch.sender.indices, sender),
            *(batch.seq, batch.number, batch.position, batch.time),
            *(batch.listed, batch.first_bit),
            *(batch.destination_start, batch.destination.indices, destination),
        )
        fresh = 0 if self._whole else rows.UNSEEN
        self.next_seq = _wider(self.next_seq, size, fresh)
        self.first_seq = _wider(self.first_seq, size, fresh)
        self.crashed = _wider(self.crashed, size, False)
        if self._numbered:
            more_rows = np.full(len(batch), -1, np.int32)
            self._message_of_row = np.concatenate([self._message_of_row, more_rows])
        self._row[0] += len(batch)
        common = (self.next_seq, self.first_seq, self.crashed, self._position, self._row)
        sends = np.zeros(size, np.int64)
        self._count_sends(taken, sends)
        more = _More(size, code, batch, sends, fresh)
        order = self._order
        for layer in self.layers:
            if layer.code in layer_code:
                layer.take(taken, (*common, self._message_of_row), order, more)
                order = 0

    def joined(self) -> Joined:
        """The wanted layer for the kernel. Nothing can be added any more."""
        return self.wanted.joined(len(self.processes), timed=self.timed)


class _More:
    """What a batch brings at most."""

    def __init__(
        self, processes: int, code: np.dtype[Any], batch: Batch, sends: Integers, fresh: int
    ) -> None:
        self.processes = processes
        self.code = code
        """The type of their codes."""
        self.fresh = fresh
        self.rows = len(batch)
        self.sends = sends
        self.copies = int(batch.destination_start[-1] - batch.destination_start[0])
        self.expected = batch.expected / max(self.rows, 1)
        """How many times as much may come in all."""


class _Layer:
    """The messages, copies and events of one layer of a run so far."""

    def __init__(self, code: int, todo: int, unused: Sequence[str], steps: int) -> None:
        self.code = code
        self._take: Callable[..., int] = loop_for(rows.take, steps)
        self._todo = todo
        self._unused = frozenset(unused)
        self.sent, self.base = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.progress = np.zeros(1, rows.PROGRESS)
        self._first, self._message_of = np.zeros(1, np.int64), np.zeros(0, np.uint32)
        self._handed_over = np.zeros((2, 0), np.int64)
        self.columns: dict[str, npt.NDArray[Any]] = {
            name: np.zeros(1 if name == "start" else 0, kind)
            for name, kind in {**_MESSAGE, **_EVENT, **_COPY, **_ROW}.items()
        }

    def count(self, what: str) -> int:
        return int(self.progress[0][what])

    def take(
        self, taken: rows.Rows, common: tuple[npt.NDArray[Any], ...], order: int, more: _More
    ) -> None:
        """The rows of a batch that are of this layer."""
        self._make_room(more)
        record = rows.Record(
            *(*common, self.sent, self.base, self._first, self._message_of),
            *(self._handed_over, self.progress, *self.columns.values()),
        )
        outcome = self._take(taken, record, self.code, self._todo | order)
        if outcome == rows.TIMES_NEEDED:
            raise TimesNeeded
        if outcome == rows.REFUSED:
            raise Unusual("a row breaks a rule, or is out of order")

    def _make_room(self, more: _More) -> None:
        self._handed_over = _wider(self._handed_over, more.processes, 0)
        self.sent = _wider(self.sent, more.processes, more.fresh)
        self.base = _wider(self.base, more.processes, 1)
        sends = int(more.sends.sum())
        for name in _PROCESS:
            self.columns[name] = self.columns[name].astype(more.code, copy=False)
        for names, used, brought in (
            (_MESSAGE, self.count("messages") + 1, sends),  # `start` is one longer
            (_EVENT, self.count("events"), more.rows),
            (_COPY, self.count("copies"), more.copies),
            (_ROW, self.count("crossings"), more.rows),
        ):
            for name in names:
                column = self.columns[name]
                if used + brought > len(column) and name not in self._unused:
                    room = max(used + int(brought * more.expected), 2 * used, used + brought)
                    larger = np.empty(room, column.dtype)
                    larger[: len(column[:used])] = column[:used]
                    self.columns[name] = larger
        self._make_room_for_numbers(self._known() + more.sends, more.expected)

    def _known(self) -> Integers:
        """How many messages of every process are known."""
        return np.where(self.sent == rows.UNSEEN, 0, self.sent - self.base + 1)

    def _make_room_for_numbers(self, needed: Integers, expected: float) -> None:
        """Room for so many messages of every process, with some to spare."""
        had = np.zeros(len(needed), np.int64)
        had[: len(self._first) - 1] = np.diff(self._first)
        if (needed <= had).all():
            return
        old_first, old = self._first, self._message_of
        # At the beginning of a run, all that is expected; later on, twice as much at a time.
        spare = 2 if len(old) else max(2, math.ceil(1.25 * expected))
        self._first = np.concatenate([[0], np.cumsum(needed * spare + 16)])
        self._message_of = np.empty(self._first[-1], np.uint32)
        for process, count in enumerate(self._known().tolist()):
            if count:
                place, old_place = self._first[process], old_first[process]
                self._message_of[place : place + count] = old[old_place : old_place + count]

    def authors(self) -> tuple[Integers, Integers]:
        """Of every message its sender and its number."""
        messages = self.count("messages")
        senders, numbers = np.empty(messages, np.int64), np.empty(messages, np.int64)
        for sender, count in enumerate(self._known().tolist()):
            first = int(self._first[sender]) if count else 0
            own = self._message_of[first : first + count]
            senders[own] = sender
            numbers[own] = np.arange(self.base[sender], self.base[sender] + count)
        return senders, numbers

    def find(self, sender: Integers, number: Integers) -> Integers:
        """Which messages these are, -1 if they are not known."""
        found = np.full(len(sender), -1)
        known = (number >= self.base[sender]) & (number <= self.sent[sender])
        sender, number = sender[known], number[known]
        found[known] = self._message_of[self._first[sender] + number - self.base[sender]]
        return found

    def joined(self, processes: int, *, timed: bool) -> Joined:
        """All of it for the kernel; times and arrivals as far as they were kept."""
        messages, copies, events = (self.count(what) for what in ("messages", "copies", "events"))
        columns = {
            **{name: self.columns[name][:messages] for name in _MESSAGE},
            **{name: self.columns[name][:events] for name in _EVENT},
            **{name: self.columns[name][:copies] for name in _COPY},
            "start": self.columns["start"][: messages + 1],
        }
        if not timed:
            unknown = np.broadcast_to(np.nan, copies)
            columns |= {"delivered": unknown, "received": unknown, "arrival": columns["rank"]}
        prepared = Prepared(
            *(columns["at"], columns["message"], columns["start"], columns["column"]),
            *(columns["rank"], np.empty(0, np.int32), columns["deliveries"]),
            np.arange(processes, dtype=np.int32),
        )
        return Joined(
            *(prepared, columns["send"], self.authors()[1], columns["event_row"]),
            *(columns["delivery"], columns["delivered"], columns["received"]),
            *(columns["arrival"], columns["arrived"]),
        )


def known_codes(known: Sequence[str], column: Coded, null: int) -> npt.NDArray[np.uint8]:
    """Codes of words of which few are known: their place among these, or one beyond."""
    places = {word: place for place, word in enumerate(known)}
    codes = [null if word is None else places.get(word, len(known)) for word in column.words]
    return np.array([*codes, null], np.uint8)


def _wider(values: npt.NDArray[Any], size: int, fresh: int) -> npt.NDArray[Any]:
    """The same, with room for processes that are new."""
    missing = size - values.shape[-1]
    if not missing:
        return values
    more = np.full((*values.shape[:-1], missing), fresh, values.dtype)
    return np.concatenate([values, more], axis=-1)
