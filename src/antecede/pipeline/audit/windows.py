"""One window of a huge run whose rows stand in order: what its task does, from rows to findings.

A task has a *window* of the rows, its own, whole row groups, and reads some more before (*lead*)
and behind it (*tail*). It feeds them to the one pass, as the local engine does. Everything that
matters for a message sent in the window, and every causal path to it, lies between the first send
that is still in flight and its last delivery. If the rows that the task has read cover that, its
findings stand; whether they do, for all windows, is seen from what they give back
(`antecede.pipeline.audit.boundaries`).
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.errors import BadInput
from antecede.files import aside, path_of
from antecede.trace.batch import Batch, Unusual
from antecede.trace.batches import read_run
from antecede.trace.events import Integers
from antecede.trace.intake import Intake, known_codes
from antecede.trace.joined import NEVER, Joined
from antecede.trace.rows import UNSEEN
from antecede.trace.schema import DELIVER, KINDS
from antecede.verify.audit import Subject, find_witnesses, judge_copies
from antecede.verify.delays import Delays
from antecede.verify.findings import findings_of, write_findings
from antecede.verify.verdict import WITNESS_LIMIT, Witness
from antecede.verify.witness import first_early

NONE: Final = int(np.iinfo(np.int64).min)
"""In a column of positions: this never happened."""
WIDEST: Final = 4096
"""Processes beyond which rows of one cell each do not fit into a worker."""

OPEN: Final = pa.schema(
    [
        ("layer", pa.int16()),
        ("sender", pa.int32()),
        ("number", pa.int64()),
        ("destination", pa.int32()),
        ("send", pa.int64()),
    ]
)
"""Copies sent in a window and not delivered in what its task has read; `send` is a position, and
`NONE` in layers that are not judged."""

OWN: Final = pa.schema([("layer", pa.int16()), ("sender", pa.int32()), ("number", pa.int64())])
"""Messages sent in a window that their sender itself has delivered."""

CROSSING: Final = pa.schema(
    [
        ("layer", pa.int16()),
        ("sender", pa.int32()),
        ("number", pa.int64()),
        ("process", pa.int32()),
        ("kind", pa.int16()),
        ("position", pa.int64()),
        ("time", pa.float64()),
        ("send", pa.int64()),
    ]
)
"""Rows of a window about messages of earlier ones; `send` is `NONE` where that is not known."""

Table = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Layout:
    """A run in row groups, in the order of its rows, and how they are dealt out to tasks."""

    run: str
    groups: tuple[tuple[str, int, int], ...]
    """File, number there and how many rows."""
    borders: tuple[int, ...]
    """The first row group of every window, and the end."""
    judged: int
    """The layer that is asked about."""
    reach: int
    """How many rows a lead or a tail may have; one row group it always may."""

    @property
    def windows(self) -> int:
        return len(self.borders) - 1

    def rows(self, first: int, stop: int) -> int:
        return sum(rows for _, _, rows in self.groups[first:stop])

    def read(self, first: int, stop: int) -> Iterator[tuple[int, Batch]]:
        """The rows of some row groups, each batch with the one that it is from."""
        chosen = list(enumerate(self.groups[first:stop], first))
        for file, of_file in groupby(chosen, key=lambda group: group[1][0]):
            number = {index: group for group, (_, index, _) in of_file}
            for batch in read_run(path_of(file), list(number), self.run, times=True):
                yield number[batch.group], batch


@dataclass(frozen=True, eq=False)
class Window:
    """What a task gives back. Columns go by process or, those of numbers, by layer and process;
    processes are counted as the task came across them. Positions are those of rows."""

    window: int
    stop: int
    """The row group behind its tail."""
    names: tuple[str, ...]
    first_seq: Integers
    next_seq: Integers
    """Of every process that has own rows, else `UNSEEN`."""
    first_number: Integers
    last_number: Integers
    """Of every author of own sends, else `UNSEEN`."""
    first: int
    last: int
    """The first and the last own row,"""
    start: int
    end: int
    """and of all that it has read."""
    crashed: tuple[int, ...]
    messages: int
    deliveries: int
    last_delivery: Integers
    """Of messages of others, in the layer that is judged."""
    open: int
    crossing: int
    """How many rows the files of `OPEN` and `CROSSING` have."""
    undelivered: Integers | None = None
    """Nothing if it was not judged."""
    violations: int = 0
    delays: Delays = field(default_factory=Delays)
    witnesses: tuple[tuple[int, Witness], ...] = ()
    """The first of them, with the positions of the early deliveries."""


def judge_window(layout: Layout, folder: str, keep: bool, window: int) -> Window | BadInput | None:
    """Judge a window; nothing if rows are not in order or something breaks a rule. What is left
    over goes to files in `folder`, as do all findings, if they are to be kept."""
    try:
        stretch = read_stretch(layout, window)
    except BadInput as error:
        return error
    except Unusual:
        return None
    place = path_of(folder)
    opened, crossing = stretch.open_copies(), stretch.crossing_rows()
    _write(place / f"open-{window}.parquet", opened, OPEN)
    _write(place / f"crossing-{window}.parquet", crossing, CROSSING)
    _write(place / f"own-{window}.parquet", stretch.own_deliveries(), OWN)
    judged: dict[str, Any] = {}
    if len(stretch.intake.processes) <= WIDEST:
        judged = _judge(stretch, layout, place / f"findings-{window}.parquet" if keep else None)
    return stretch.digest(window, len(opened["send"]), crossing, judged)


def _judge(stretch: "Stretch", layout: Layout, file: Path | None) -> dict[str, Any]:
    joined, processes = stretch.joined, stretch.intake.processes
    judged = judge_copies(joined, stretch.own_copies(layout.judged))
    subject = Subject(layout.run, processes, joined, 0, stretch.intake.crashed)
    told = first_early(joined, judged.early, WITNESS_LIMIT)
    positions = stretch.position[joined.row[joined.delivery[told]]].tolist()
    if file and len(judged.early):
        write_findings(file, findings_of(subject, judged.early))
    return {
        "undelivered": np.bincount(judged.missing, minlength=len(processes)),
        "violations": len(judged.early),
        "delays": judged.delays,
        "witnesses": tuple(zip(positions, find_witnesses(subject, told), strict=True)),
    }


class _Mark:
    """How far a stretch had come when its own rows began, or ended."""

    def __init__(self, intake: Intake) -> None:
        self.row = intake.rows
        self.next_seq = intake.next_seq.copy()
        self.crashed = intake.crashed.copy()
        self.sent = [layer.sent.copy() for layer in intake.layers]
        self.counts = [
            {name: layer.count(name) for name in ("messages", "events", "deliveries")}
            for layer in intake.layers
        ]


class Stretch:
    """The rows of a window with its lead and its tail, taken in."""

    def __init__(self, layout: Layout, *, by_row: bool = False) -> None:
        self._judged = layout.judged
        steps = sum(rows for _, _, rows in layout.groups)
        self.intake = Intake(
            layout.judged, steps, timed=True, whole=False, located=True, by_row=by_row
        )
        self._batches: list[Batch] = []
        self._first_row: list[int] = []
        self.own: list[_Mark] = []
        self.stop = 0

    def add(self, batches: Iterable[Batch]) -> None:
        for batch in batches:
            self._first_row.append(self.intake.rows)
            self._batches.append(batch)
            self.intake.add(batch)

    def mark(self, *, begin: bool) -> None:
        """Here own rows begin, or end."""
        self.own.append(_Mark(self.intake))
        self.intake.mark(crossing=begin)

    def complete(self) -> None:
        """Nothing is added any more."""
        self.joined: Joined = self.intake.joined()
        self.position: Integers = np.concatenate(
            [np.empty(0, np.int64), *(batch.position for batch in self._batches)]
        )

    def own_copies(self, layer: int) -> slice:
        """The copies of the messages sent in the window."""
        start = self.intake.layers[layer].columns["start"]
        return slice(*(int(start[mark.counts[layer]["messages"]]) for mark in self.own))

    def unknown(self) -> int:
        """How many own rows are about messages that were sent before the lead."""
        crossing = self.crossing_rows(sends=False)
        return sum(
            int(np.count_nonzero(layer.find(*_of_layer(crossing, layer.code)) < 0))
            for layer in self.intake.layers
        )

    def still_open(self) -> int:
        """How many copies may be delivered behind the tail: not those to processes that delivered
        nothing in it and may have crashed."""
        layer = self.intake.wanted
        events = slice(self.own[1].counts[self._judged]["events"], layer.count("events"))
        delivered = layer.columns["message"][events] < 0
        alive = np.zeros(len(self.intake.processes), bool)
        alive[layer.columns["at"][events][delivered]] = True
        own = self.own_copies(self._judged)
        missing = layer.columns["rank"][own] == NEVER
        return int(np.count_nonzero(alive[layer.columns["column"][own][missing]]))

    def open_copies(self) -> Table:
        """Own copies of all layers that have not been delivered."""
        parts: list[list[npt.NDArray[Any]]] = []
        for layer in self.intake.layers:
            own = self.own_copies(layer.code)
            copies = own.start + np.flatnonzero(layer.columns["rank"][own] == NEVER)
            start = layer.columns["start"][: layer.count("messages") + 1]
            message = start.searchsorted(copies, side="right") - 1
            sender, number = (column[message] for column in layer.authors())
            send = np.full(len(copies), NONE)
            if layer is self.intake.wanted:
                send = self.position[self.joined.row[self.joined.send[message]]]
            code = np.full(len(copies), layer.code)
            parts.append([code, sender, number, layer.columns["column"][copies], send])
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return dict(zip(OPEN.names, columns, strict=True))

    def own_deliveries(self) -> Table:
        """Own messages of all layers that their sender has delivered."""
        parts = []
        for layer in self.intake.layers:
            first, stop = (mark.counts[layer.code]["messages"] for mark in self.own)
            chosen = first + np.flatnonzero(layer.columns["own_delivered"][first:stop])
            sender, number = (column[chosen] for column in layer.authors())
            parts.append([np.full(len(chosen), layer.code), sender, number])
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return dict(zip(OWN.names, columns, strict=True))

    def crossing_rows(self, *, sends: bool = True) -> Table:
        """Own rows about messages of earlier windows, with the positions of their sends as far as
        they are known."""
        parts = [_empty(CROSSING)]
        for layer in self.intake.layers:
            rows = layer.columns["crossing"][: layer.count("crossings")]
            found = self._pick(rows)
            found["layer"] = np.full(len(rows), layer.code)
            if sends and layer is self.intake.wanted:
                message = layer.find(found["sender"], found["number"])
                known = np.flatnonzero(message >= 0)
                send = self.joined.row[self.joined.send[message[known]]]
                found["send"][known] = self.position[send]
            parts.append(found)
        return {name: np.concatenate([part[name] for part in parts]) for name in CROSSING.names}

    def _pick(self, rows: Integers) -> Table:
        """Some rows, with the codes that the pass gave to names."""
        found = {**_empty(CROSSING, len(rows)), "send": np.full(len(rows), NONE)}
        batch_of = np.searchsorted(self._first_row, rows, side="right") - 1
        names = self.intake.names
        for index in np.unique(batch_of).tolist():
            mine = batch_of == index
            batch, at = self._batches[index], rows[mine] - self._first_row[index]
            for name, column in (("process", batch.process), ("sender", batch.sender)):
                codes = np.array([*names.enter(column.words), -1])
                found[name][mine] = codes[column.indices[at]]
            found["kind"][mine] = known_codes(KINDS, batch.kind, len(KINDS))[batch.kind.indices[at]]
            for name in ("number", "position", "time"):
                found[name][mine] = getattr(batch, name)[at]
        return found

    def digest(self, window: int, opened: int, crossing: Table, judged: dict[str, Any]) -> Window:
        begin, end = self.own
        intake, size = self.intake, len(self.intake.processes)
        before, after = (_padded(mark.next_seq, size) for mark in (begin, end))
        numbers = [
            tuple(_padded(mark.sent[layer.code], size) for mark in (begin, end))
            for layer in intake.layers
        ]
        first_number = [
            np.where(was == UNSEEN, _padded(layer.base, size), was + 1)
            for layer, (was, _) in zip(intake.layers, numbers, strict=True)
        ]
        first, last, start, stop = self.position[[begin.row, end.row - 1, 0, -1]].tolist()
        was, now = (mark.counts[self._judged] for mark in (begin, end))
        return Window(
            window=window,
            stop=self.stop,
            names=tuple(intake.processes),
            first_seq=np.where(before == UNSEEN, intake.first_seq, before),
            next_seq=after,
            first_number=np.stack(first_number),
            last_number=np.stack([number for _, number in numbers]),
            first=first,
            last=last,
            start=start,
            end=stop,
            crashed=tuple(np.flatnonzero(_padded(end.crashed, size) > 0).tolist()),
            messages=now["messages"] - was["messages"],
            deliveries=now["deliveries"] - was["deliveries"],
            last_delivery=self._last_delivery(crossing),
            open=opened,
            crossing=len(crossing["send"]),
            **judged,
        )

    def _last_delivery(self, crossing: Table) -> Integers:
        joined, judged = self.joined, self._judged
        last = np.full(len(self.intake.processes), NONE)
        events = slice(*(mark.counts[judged]["events"] for mark in self.own))
        delivery = joined.prepared.message[events] < 0
        # Where a process stands several times, the last one stays.
        rows = joined.row[events][delivery]
        last[joined.prepared.process[events][delivery]] = self.position[rows]
        known = (crossing["kind"] == DELIVER) & (crossing["layer"] == judged)
        known &= crossing["process"] != crossing["sender"]
        np.maximum.at(last, crossing["process"][known], crossing["position"][known])
        return last


def read_stretch(layout: Layout, window: int) -> Stretch:
    """What a window needs to be judged. Messages fly for a short while, so one row group on either
    side will mostly do. Where it does not, the task takes more of them as long as that helps, up to
    a limit; what is then still unknown is left to the boundaries."""
    first, stop = layout.borders[window : window + 2]
    start = max(first - 1, 0)
    batches = list(layout.read(start, stop))
    was_unknown = sys.maxsize
    while True:
        stretch = Stretch(layout)
        stretch.add(batch for group, batch in batches if group < first)
        stretch.mark(begin=True)
        stretch.add(batch for group, batch in batches if group >= first)
        stretch.mark(begin=False)
        if stretch.own[0].row == stretch.own[1].row:
            raise Unusual("a window has no rows")
        unknown = stretch.unknown()
        earlier = _earlier(layout, first, start) if 0 < unknown < was_unknown else start
        if earlier == start:
            break
        batches = [*layout.read(earlier, start), *batches]
        start, was_unknown = earlier, unknown
    _add_tail(layout, stretch, stop)
    stretch.complete()
    return stretch


def _add_tail(layout: Layout, stretch: Stretch, stop: int) -> None:
    was_open, end, read = sys.maxsize, min(stop + 1, len(layout.groups)), stop
    while True:
        stretch.add(batch for _, batch in layout.read(read, end))
        stretch.stop = read = end
        still_open = stretch.still_open()
        if not 0 < still_open < was_open:
            return
        was_open = still_open
        farther = min(read + max(read - stop, 1), len(layout.groups))
        if farther == read or layout.rows(stop, farther) > layout.reach:
            return
        end = farther


def are_addressed(layout: Layout, processes: Sequence[str], asked: tuple[int, Table]) -> bool:
    """Whether messages of a window are addressed to the processes of these rows about them."""
    window, rows = asked
    stretch = Stretch(layout)
    stretch.add(batch for _, batch in layout.read(*layout.borders[window : window + 2]))
    code_of = {name: code for code, name in enumerate(stretch.intake.processes)}
    codes = np.array([code_of.get(name, -1) for name in processes])
    for layer in stretch.intake.layers:
        mine = rows["layer"] == layer.code
        message = layer.find(codes[rows["sender"][mine]], rows["number"][mine])
        start, column = layer.columns["start"], layer.columns["column"]
        for m, process in zip(message.tolist(), codes[rows["process"][mine]].tolist(), strict=True):
            if process not in column[start[m] : start[m + 1]]:
                return False
    return True


def _earlier(layout: Layout, own: int, start: int) -> int:
    """The start of a lead of twice as many row groups, if it may be so long."""
    begin = max(start - max(own - start, 1), 0)
    return begin if layout.rows(begin, own) <= layout.reach else start


def _of_layer(crossing: Table, layer: int) -> tuple[Integers, Integers]:
    mine = crossing["layer"] == layer
    return crossing["sender"][mine], crossing["number"][mine]


def _padded(values: npt.NDArray[Any], size: int) -> Integers:
    """By process, for those that came later, too."""
    return np.concatenate([values, np.full(size - len(values), UNSEEN)]).astype(np.int64)


def _empty(schema: pa.Schema, size: int = 0) -> Table:
    return {field.name: np.zeros(size, field.type.to_pandas_dtype()) for field in schema}


def _write(file: Path, table: Table, schema: pa.Schema) -> None:
    """Under another name first, for a task may be tried twice; nothing if there is nothing."""
    if len(table["sender"]):
        columns: Sequence[Any] = [table[name] for name in schema.names]
        with aside(file) as partial:
            pq.write_table(pa.table(columns, schema=schema), partial)
