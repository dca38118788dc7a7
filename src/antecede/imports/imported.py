"""What an importer gives, and its way into a trace."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from antecede.errors import BadFile, BadTrace, CannotWrite, Misuse
from antecede.message import process_set
from antecede.trace import DELIVER, KINDS, RECEIVE, SEND, Run, TraceWriter, trace_from_tables


@dataclass(frozen=True, eq=False)
class Imported:
    """The runs found in a file, as tables of trace rows, and what the file could not show."""

    source: str
    tables: Sequence[pa.Table]
    lines: Sequence[Sequence[int]]
    """For every table the line of the file that each of its rows came from, counted from 1."""
    warnings: Sequence[str] = ()

    def runs(self) -> list[Run]:
        """The runs, checked, each in an order that respects happened-before."""
        checked: list[Run] = []
        for table, lines in zip(self.tables, self.lines, strict=True):
            try:
                checked += trace_from_tables([table], self.source).runs
            except BadTrace as error:
                raise BadFile(self.source, [_with_line(error, self.source, lines)]) from error
        return checked


def _with_line(error: BadTrace, source: str, lines: Sequence[int]) -> str:
    """The error with lines of the file in place of rows of the trace made from it."""
    text = str(error)
    before, found, after = text.partition("row ")
    told = before
    while found:
        number, of, rest = after.partition(f" of {source}")
        told += f"line {lines[int(number)]}" if of and number.isdecimal() else found + number + of
        before, found, after = rest.partition("row ")
        told += before
    return told


def write_imported(
    imported: Imported, out: str | os.PathLike[str], *, force: bool = False
) -> list[Run]:
    """Write the runs to a file or, if there are several, to a folder of files; all are checked
    before the first is written."""
    runs = imported.runs()
    if not runs:
        raise BadFile(imported.source, ["there is no event in it"])
    target = Path(out)
    notes = {"imported": imported.source, "warnings": " ".join(imported.warnings)}
    if len(runs) == 1:
        _write(runs[0], target, notes, force)
        return runs
    if target.exists() and not target.is_dir():
        raise Misuse(f"{target} is a file; {len(runs)} runs need a folder")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(str(target), error.strerror or str(error)) from error
    for run in runs:
        _write(run, target / f"{quote(run.name, safe='')}.parquet", notes, force)
    return runs


def _write(run: Run, path: Path, notes: dict[str, str], force: bool) -> None:
    events = run.events
    start = events.destination_start
    columns = (events.kind, events.process, events.sender, events.number, events.time, events.layer)
    with TraceWriter(path, run.name, run.processes, notes, force=force) as writer:
        for event, (kind, process, sender, number, time, layer) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            if kind == SEND:
                to = process_set(events.destination[start[event] : start[event + 1]].tolist())
                writer.send(process, number, time, to, layer=layer)
            elif kind == DELIVER:
                writer.deliver(process, sender, number, time, layer)
            elif kind == RECEIVE:
                writer.receive(process, sender, number, time, layer)
            else:
                writer.membership(kind, process, time, layer)


class Rows:
    """Collects the rows of one run; `seq` counts itself."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._columns: dict[str, list[object]] = {
            name: [] for name in ("process", "seq", "kind", "sender", "number", "time", "layer")
        }
        self._destinations: list[list[str] | None] = []
        self._counts: dict[str, int] = {}
        self.lines: list[int] = []

    def __len__(self) -> int:
        return len(self.lines)

    def add(
        self,
        line: int,
        process: str,
        kind: int,
        message: tuple[str, int] | None = None,
        destinations: list[str] | None = None,
        time: float | None = None,
        layer: str | None = None,
    ) -> None:
        seq = self._counts.get(process, 0)
        self._counts[process] = seq + 1
        sender, number = message or (None, None)
        values = (process, seq, KINDS[kind], sender, number, time, layer)
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)
        self._destinations.append(destinations)
        self.lines.append(line)

    def table(self) -> pa.Table:
        """The rows as a trace; lists of destinations, often the same, are stored as codes."""
        columns: dict[str, pa.Array] = {
            "run": pa.array([self._run]).take(pa.array(np.zeros(len(self), np.int32))),
            "process": pa.array(self._columns["process"], pa.string()),
            "seq": pa.array(self._columns["seq"], pa.int64()),
            "kind": pa.array(self._columns["kind"], pa.string()),
            "sender": pa.array(self._columns["sender"], pa.string()),
            "number": pa.array(self._columns["number"], pa.int64()),
            "time": pa.array(self._columns["time"], pa.float64()),
            "layer": pa.array(self._columns["layer"], pa.string()),
            "destinations": pa.array(self._destinations, pa.list_(pa.string())),
        }
        return pa.table(columns)
