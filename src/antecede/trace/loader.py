"""From Arrow tables to runs of integer columns.

Strings stay dictionary codes all the way: a name is looked up once per row group that uses it,
never once per row.
"""

from collections.abc import Container, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from antecede.errors import BadFile, BadTrace
from antecede.trace import schema
from antecede.trace.events import NULL, Codes, Events, Integers, Run, Sources, offsets_of
from antecede.trace.names import Names, filled
from antecede.trace.rules import NOT_NULL, check_run

STAMPS: Final = ("stamp_entries", "stamp_bytes")

Unchecked = tuple[Run, list[str], list[str], Integers]
"""A run, the names of the kinds and of the layers that were found, and the rows of sends without a
list of destinations."""


class Loader:
    """Collects row groups, then splits them into runs, each checked against the rules. Without
    `stamps` those columns read as null, which saves a fifth of the time and memory. `rows` is how
    many rows to expect."""

    def __init__(self, *, stamps: bool = True, rows: int = 0) -> None:
        self._stamps = stamps
        self._expected = rows
        self._runs = Names()
        self._processes = Names()
        self._kinds = Names(schema.KINDS)
        self._layers = Names(schema.LAYERS)
        self._columns: dict[str, _Growing] = {}
        self._files: list[str] = []
        self._first_rows: list[int] = []
        self._skipped: list[int] = []
        self._rows = 0

    def add(self, file: str, table: pa.Table, skipped: int = 0) -> None:
        """A row group of a file; those of one file come one after the other. `skipped` is how many
        rows of the file that stand before it were left out."""
        if file not in self._files[-1:] or skipped != self._skipped[-1]:
            self._files.append(file)
            self._first_rows.append(self._rows)
            self._skipped.append(skipped)
        try:
            for name, values in self._convert(table).items():
                if name not in self._columns:
                    self._columns[name] = _Growing(values.dtype, self._expected)
                self._columns[name].add(values)
        except UnicodeDecodeError as error:
            raise BadFile(file, [f"a string is no UTF-8 text: {error}"]) from error
        self._rows += len(table)

    def _convert(self, table: pa.Table) -> dict[str, npt.NDArray[Any]]:
        """The columns of `Events` as far as they are known now, and two that lead to the rest: the
        run, and the length of the list of destinations, -1 if there is none."""
        destinations = _destinations(table)
        return {
            "run": self._runs.codes(table["run"]),
            "layer": self._layers.words(_column(table, "layer", pa.string()), schema.APP),
            "process": self._processes.codes(table["process"]),
            "kind": self._kinds.words(table["kind"], -1),
            "sender": self._processes.codes(table["sender"]),
            "time": filled(_column(table, "time", pa.float64()), pa.float64(), np.nan),
            "listed": filled(pc.list_value_length(destinations), pa.int32(), -1),
            "destination": self._processes.codes(pc.list_flatten(destinations)),
            **{
                name: filled(_column(table, name, pa.int64()), pa.int64(), NULL)
                for name in ("seq", "number", "position", *(STAMPS if self._stamps else ()))
            },
        }

    def runs(self, only: Container[str] | None = None) -> list[Run]:
        """Every run, or those that are wanted, checked and in a linear extension of
        happened-before."""
        return [check_run(*unchecked) for unchecked in self.unchecked(only)]

    def unchecked(self, only: Container[str] | None = None) -> list[Unchecked]:
        """The same runs before any rule: as `check_run` wants them."""
        if not self._rows:
            return []
        columns = {name: column.values() for name, column in self._columns.items()}
        self._columns.clear()
        columns["row"] = np.arange(self._rows)
        columns["message"] = np.broadcast_to(np.int32(-1), self._rows)
        for name in STAMPS:
            columns.setdefault(name, np.broadcast_to(np.int64(NULL), self._rows))
        sources = Sources(self._files, self._first_rows, self._skipped)
        run, listed = columns.pop("run"), columns.pop("listed")
        if (run < 0).any():
            place = sources.place(int(np.argmax(run < 0)))
            raise BadTrace(NOT_NULL, place, "column 'run' is null")
        unaddressed = np.flatnonzero((columns["kind"] == schema.SEND) & (listed < 0))
        events = Events(destination_start=offsets_of(np.maximum(listed, 0)), **columns)
        found: list[Unchecked] = []
        for code, chosen in _split(run):
            if only is not None and self._runs.names[code] not in only:
                continue
            taken = events if chosen is None else events.take(chosen)
            loaded = self._compact(self._runs.names[code], taken, sources)
            found.append((loaded, self._kinds.names, self._layers.names, unaddressed))
        return found

    def _compact(self, name: str, events: Events, sources: Sources) -> Run:
        """A run whose processes are only its own, still in the order in which names appeared."""
        mentioned = np.zeros(len(self._processes.names) + 1, bool)
        for column in (events.process, events.sender, events.destination):
            mentioned[column] = True
        mentioned[-1] = False  # which is where null, -1, ended up
        codes = (np.cumsum(mentioned) - 1).astype(np.int32)
        codes[-1] = -1
        return Run(
            name,
            [self._processes.names[code] for code in np.flatnonzero(mentioned)],
            events.with_names(codes),
            sources,
        )


def _column(table: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    """A column that the file may have left out."""
    return table[name] if name in table.column_names else pa.nulls(len(table), kind)


def _destinations(table: pa.Table) -> pa.ChunkedArray:
    column = table["destinations"]
    if pa.types.is_null(column.type):
        return column.cast(schema.SCHEMA.field("destinations").type)
    return column


def _split(run: Codes) -> Iterator[tuple[int, Integers | None]]:
    """Every run and its rows; no list of rows where they are all there are."""
    if (run == run[0]).all():
        yield int(run[0]), None
        return
    by_run = np.argsort(run, kind="stable")
    ends = np.cumsum(np.bincount(run))
    for code, chosen in enumerate(np.split(by_run, ends)[:-1]):
        if len(chosen):  # a dictionary may hold names that no row uses
            yield code, chosen


class _Growing:
    """A column to which row groups are added. Fresh memory is the dearest part of loading a trace,
    so there is room from the start for as much as is expected."""

    def __init__(self, kind: np.dtype[Any], expected: int) -> None:
        self._room = np.empty(expected, kind)
        self._size = 0

    def add(self, values: npt.NDArray[Any]) -> None:
        end = self._size + len(values)
        if end > len(self._room):
            larger = np.empty(max(end, 2 * self._size), self._room.dtype)
            larger[: self._size] = self._room[: self._size]
            self._room = larger
        self._room[self._size : end] = values
        self._size = end

    def values(self) -> npt.NDArray[Any]:
        return self._room[: self._size]
