"""From Arrow tables to runs of integer columns.

Strings stay dictionary codes all the way: a name is looked up once per row group that uses it,
never once per row.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from antecede.errors import BadFile, BadTrace
from antecede.trace import schema
from antecede.trace.events import NULL, Codes, Events, Integers, Run, Sources, offsets_of
from antecede.trace.rules import NOT_NULL, check_run


class Loader:
    """Collects row groups, then splits them into runs, each checked against the rules."""

    def __init__(self) -> None:
        self._runs = _Names()
        self._processes = _Names()
        self._kinds = _Names(schema.KINDS)
        self._layers = _Names(schema.LAYERS)
        self._groups: list[dict[str, npt.NDArray[Any]]] = []
        self._files: list[str] = []
        self._first_rows: list[int] = []
        self._rows = 0

    def add(self, file: str, table: pa.Table) -> None:
        """A row group of a file; those of one file come one after the other."""
        if file not in self._files[-1:]:
            self._files.append(file)
            self._first_rows.append(self._rows)
        try:
            self._groups.append(self._columns(table))
        except UnicodeDecodeError as error:
            raise BadFile(file, [f"a string is no UTF-8 text: {error}"]) from error
        self._rows += len(table)

    def _columns(self, table: pa.Table) -> dict[str, npt.NDArray[Any]]:
        """The columns of `Events` as far as they are known now, and two that lead to the rest: the
        run, and the length of the list of destinations."""
        layer = self._layers.codes(_column(table, "layer", pa.string()))
        time = _column(table, "time", pa.float64())
        destinations = _destinations(table)
        return {
            "run": self._runs.codes(table["run"]),
            "layer": np.where(layer < 0, np.int32(schema.APP), layer),
            "process": self._processes.codes(table["process"]),
            "kind": self._kinds.codes(table["kind"]),
            "sender": self._processes.codes(table["sender"]),
            "time": _filled(time, pa.float64(), np.nan),
            "row": np.arange(self._rows, self._rows + len(table)),
            "message": np.full(len(table), -1),
            "listed": _filled(pc.list_value_length(destinations), pa.int64(), NULL),
            "destination": self._processes.codes(pc.list_flatten(destinations)),
            **{
                name: _filled(_column(table, name, pa.int64()), pa.int64(), NULL)
                for name in ("seq", "number", "position", "stamp_entries", "stamp_bytes")
            },
        }

    def runs(self) -> list[Run]:
        """Every run, checked and in a linear extension of happened-before."""
        if not self._groups:
            return []
        columns = {
            name: np.concatenate([group[name] for group in self._groups])
            for name in self._groups[0]
        }
        self._groups.clear()
        sources = Sources(self._files, self._first_rows)
        run, listed = columns.pop("run"), columns.pop("listed")
        if (run < 0).any():
            place = sources.place(int(np.argmax(run < 0)))
            raise BadTrace(NOT_NULL, place, "column 'run' is null")
        unaddressed = np.flatnonzero((columns["kind"] == schema.SEND) & (listed == NULL))
        events = Events(destination_start=offsets_of(np.maximum(listed, 0)), **columns)
        by_run = np.argsort(run, kind="stable")
        ends = np.cumsum(np.bincount(run, minlength=len(self._runs.names)))
        checked = []
        for name, chosen in zip(self._runs.names, np.split(by_run, ends)[:-1], strict=True):
            if len(chosen):  # a dictionary may hold names that no row uses
                loaded = self._compact(name, events.take(chosen), sources)
                checked.append(
                    check_run(loaded, self._kinds.names, self._layers.names, unaddressed)
                )
        return checked

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


class _Names:
    """Names and their codes, counted in the order in which they appear."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.names = list(known)
        self._codes = {name: code for code, name in enumerate(self.names)}

    def codes(self, column: pa.Array | pa.ChunkedArray) -> Codes:
        """A column of strings as codes, -1 for null."""
        if pa.types.is_null(column.type):
            return np.full(len(column), -1, np.int32)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        return np.concatenate([np.empty(0, np.int32), *map(self._chunk_codes, chunks)])

    def _chunk_codes(self, chunk: pa.Array) -> Codes:
        if not pa.types.is_dictionary(chunk.type):
            chunk = chunk.dictionary_encode()
        codes = [self._code(name) for name in chunk.dictionary.to_pylist()]
        codes.append(-1)  # index -1 finds it, and that is what null becomes
        indices: Integers = _filled(chunk.indices, pa.int64(), -1)
        return np.array(codes, np.int32)[indices]

    def _code(self, name: str | None) -> int:
        if name is None:
            return -1
        code = self._codes.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code


def _column(table: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    """A column that the file may have left out."""
    return table[name] if name in table.column_names else pa.nulls(len(table), kind)


def _destinations(table: pa.Table) -> pa.ChunkedArray:
    column = table["destinations"]
    if pa.types.is_null(column.type):
        return column.cast(schema.SCHEMA.field("destinations").type)
    return column


def _filled(column: pa.Array | pa.ChunkedArray, kind: pa.DataType, null: float) -> npt.NDArray[Any]:
    """Values of whatever width as the widest, with `null` in place of nulls. An unsigned number
    beyond the signed ones turns negative, which no rule lets pass."""
    filled: npt.NDArray[Any] = pc.fill_null(column.cast(kind, safe=False), null).to_numpy()
    return filled
