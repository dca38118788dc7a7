"""What an importer gives, and its way into a trace.

Besides the columns of the format a trace made from a log has some that other readers ignore: the
log's name for the message (`message`), its text (`text`) and where that stands (`place`), and the
local events of the process right before and after the row (`before`, `after`).
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.errors import BadFile, BadTrace, Misuse
from antecede.files import (
    aside,
    folder_aside,
    name_aside,
    path_of,
    refuse_existing,
    remove_tree,
)
from antecede.trace import JOIN, KINDS, SCHEMA, Assumed, Run, encode_assumed, trace_from_tables
from antecede.trace.assumed import SOURCE_KEY
from antecede.trace.reader import read_metadata
from antecede.trace.schema import CLOCK_KEY, EXTRA, METADATA_PREFIX, UNIX, VERSION, VERSION_KEY
from antecede.trace.writer import GROUP_ROWS

NO_ADDRESSES: Final = Assumed(
    "addresses",
    "the log does not say whom messages are addressed to, so each counts as addressed to those who "
    "delivered it",
    "a message that somebody never got is invisible, and so is what overtook it",
)


LONGEST_NAME: Final = 255
"""Bytes in the name of a file."""


@dataclass(frozen=True, eq=False)
class Imported:
    """The runs found in a log, as tables of trace rows, and what had to be assumed."""

    source: str
    tables: Sequence[pa.Table]
    assumed: Sequence[Assumed] = ()
    is_absolute: bool = False
    """Whether times count from 1970."""

    def runs(self) -> list[Run]:
        """The runs, checked, each in an order that respects happened-before."""
        checked: list[Run] = []
        for table in self.tables:
            try:
                checked += trace_from_tables([table], self.source).runs
            except BadTrace as error:
                raise BadFile(self.source, [_with_place(error, self.source, table)]) from error
        return checked


def _with_place(error: BadTrace, source: str, table: pa.Table) -> str:
    """The error with places in the log in place of rows of the trace made from it."""
    text = str(error)
    before, found, after = text.partition("row ")
    told = before
    while found:
        number, of, rest = after.partition(f" of {source}")
        known = of and number.isdecimal()
        told += table["place"][int(number)].as_py() if known else found + number + of
        before, found, after = rest.partition("row ")
        told += before
    return told


def write_imported(
    imported: Imported, out: str | os.PathLike[str], *, force: bool = False
) -> list[Run]:
    """Write the runs to a file or, if there are several, to a folder of files, which replaces that
    of an earlier import; all or nothing."""
    runs = imported.runs()
    if not runs:
        raise BadFile(imported.source, ["there is no event in it"])
    target = path_of(out)
    notes = {SOURCE_KEY: imported.source, **encode_assumed(imported.assumed)}
    if imported.is_absolute:
        notes[CLOCK_KEY] = UNIX
    if len(runs) == 1:
        refuse_existing(target, force)
        _write(runs[0], imported.tables[0], target, notes)
        return runs
    if target.exists() and not target.is_dir():
        raise Misuse(f"{target} is a file; {len(runs)} runs need a folder")
    names = [_file_name(run.name, imported.source) for run in runs]
    refuse_folder(target, force)
    with folder_aside(target) as folder:
        for run, table, name in zip(runs, imported.tables, names, strict=True):
            _write(run, table, folder / name, notes)
    return runs


def remove_imported(path: Path) -> None:
    """Remove what an earlier import wrote there, if there is something."""
    if path.is_dir():
        refuse_folder(path, force=True)
        remove_tree(path)
    else:
        path.unlink(missing_ok=True)


def refuse_folder(folder: Path, force: bool) -> None:
    """Raise an error if a folder may not be replaced: nothing but imported traces goes."""
    inside = list(folder.iterdir()) if folder.exists() else []
    if inside and not force:
        raise Misuse(f"{folder} exists already; use --force to replace it")
    for file in inside:
        if file.suffix != ".parquet" or SOURCE_KEY not in read_metadata(file):
            raise Misuse(
                f"{file} is no imported trace, and {folder} would be replaced with all that is in "
                f"it; name another folder"
            )


def _file_name(run: str, source: str) -> str:
    """A name that no reader of folders passes over, as they do with dots and underscores."""
    name = quote(run, safe="")
    name = (f"%{ord(name[0]):02X}{name[1:]}" if name[:1] in {".", "_"} else name) + ".parquet"
    # While it is written, the name has a little more.
    if len(os.fsencode(name_aside(Path(name)).name)) > LONGEST_NAME:
        told = f"the run '{run[:40]}...' has a name of {len(run):,} characters, too long for a file"
        fix = "--column run=FIELD names another column, --column run= takes all rows as one run"
        raise BadFile(source, [f"{told}; {fix}"])
    return name


def _write(run: Run, table: pa.Table, path: Path, notes: dict[str, str]) -> None:
    """One run, in the order that was found, all or nothing."""
    ordered = table.take(pa.array(run.events.row))
    ordered = ordered.append_column("position", pa.array(np.arange(len(ordered))))
    for name in ("stamp_entries", "stamp_bytes"):
        ordered = ordered.append_column(name, pa.nulls(len(ordered), pa.int32()))
    metadata = {METADATA_PREFIX + key: text for key, text in notes.items()}
    kept = [name for name in EXTRA.names if ordered[name].null_count < len(ordered)]
    ordered = ordered.select([*SCHEMA.names, *kept])
    with (
        aside(path) as partial,
        pq.ParquetWriter(
            partial,
            ordered.schema,
            compression="zstd",
            write_page_checksum=True,
            # Without it every reader sees plain strings, whatever the buffers looked like here.
            store_schema=False,
        ) as writer,
    ):
        writer.write_table(ordered, row_group_size=GROUP_ROWS)
        writer.add_key_value_metadata(metadata | {VERSION_KEY: VERSION})


class Rows:
    """Collects the rows of one run; `seq` counts itself."""

    _NAMES: Final = (
        *("process", "seq", "kind", "sender", "number", "destinations", "time", "layer"),
        *EXTRA.names,
    )

    def __init__(self, run: str) -> None:
        self._run = run
        self._columns: dict[str, list[Any]] = {name: [] for name in self._NAMES}
        self._counts: dict[str, int] = {}
        self._last: dict[str, int] = {}
        """Of every process its last row,"""
        self._early: dict[str, list[dict[str, Any]]] = {}
        """and what it did before its first."""

    def __len__(self) -> int:
        return len(self._columns["process"])

    def add(
        self,
        place: str,
        process: str,
        kind: int,
        message: tuple[str, int] | None = None,
        destinations: list[str] | None = None,
        *,
        time: float | None = None,
        layer: str | None = None,
        name: str | None = None,
        text: str | None = None,
    ) -> None:
        """A row; `name` is the log's own of the message."""
        seq = self._counts.get(process, 0)
        self._counts[process] = seq + 1
        self._last[process] = len(self)
        sender, number = message or (None, None)
        early = self._early.pop(process, None)
        values = (
            *(process, seq, KINDS[kind], sender, number, destinations, time, layer),
            *(name, text, place, early, None),
        )
        for column, value in zip(self._columns.values(), values, strict=True):
            column.append(value)

    def local(self, place: str, process: str, text: str | None, time: float | None) -> None:
        """An event that concerns nobody else."""
        told = {"text": text, "time": time, "place": place}
        if process in self._last:
            after, row = self._columns["after"], self._last[process]
            after[row] = after[row] or []
            after[row].append(told)
        else:
            self._early.setdefault(process, []).append(told)

    def table(self) -> pa.Table:
        """The rows as a trace. A process with nothing but local events begins with a join, so that
        there is a row that has them."""
        for process, early in list(self._early.items()):
            self.add(early[0]["place"], process, JOIN)
        columns: dict[str, pa.Array] = {
            "run": pa.array([self._run]).take(pa.array(np.zeros(len(self), np.int32)))
        }
        for field in (*SCHEMA, *EXTRA):
            if field.name in self._columns:
                columns[field.name] = pa.array(self._columns[field.name], field.type)
        return pa.table(columns)
