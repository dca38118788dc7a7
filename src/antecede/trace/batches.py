"""A trace a stretch at a time, in the order of its files, with as little work as possible: columns
of numbers and of dictionary codes just as they come out of the file.

For readers in a hurry, who take the usual trace (every run in one piece, positions throughout) in
one go. They are told `Unusual` about everything else, be it allowed or broken; then
`antecede.trace.reader` has the time to put it in order or to say what is wrong with it.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.errors import BadInput
from antecede.trace import schema
from antecede.trace.events import NULL, Codes, Integers
from antecede.trace.loader import filled
from antecede.trace.reader import HIVE_NULL, find_files, open_checked, run_from_path

LARGE_GROUP: Final = 1_000_000
"""Row groups of more rows are read in parts,"""
PART: Final = 500_000
"""each of so many."""
EXACT: Final = 64
"""Statistics may cut a longer text short."""


class Unusual(Exception):
    """A trace that cannot be taken in one go."""


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of texts: `words[indices[i]]`, or null where the index is -1. A single index stands
    for all rows."""

    indices: Codes
    words: Sequence[str | None]

    def part(self, first: int, stop: int) -> "Coded":
        """Some of the rows, with no words but theirs."""
        if len(self.indices) == 1:
            return self
        return Coded(self.indices[first:stop], self._used(self.indices[first:stop]))

    def used_by(self, first: int, stop: int) -> "Coded":
        """All rows, with no words but those of some."""
        return Coded(self.indices, self._used(self.indices[first:stop]))

    def _used(self, indices: Codes) -> Sequence[str | None]:
        used = np.zeros(len(self.words) + 1, bool)
        used[indices] = True
        return [word if used[at] else None for at, word in enumerate(self.words)]


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of one run, one behind the other."""

    file: Path
    group: int
    """The row group that they are from,"""
    first_row: int
    """and how many rows of it stand before them."""
    expected: int
    """How many rows of the same run the file may have in all: a hint."""
    run: str
    layer: Coded
    process: Coded
    kind: Coded
    sender: Coded
    seq: Integers
    number: Integers
    position: Integers
    time: npt.NDArray[np.float64]
    """Empty if nobody asked for it."""
    listed: npt.NDArray[np.uint8]
    """A bit for each row that has a list of destinations, from bit `first_bit` on; empty if all
    have one."""
    first_bit: int
    destination_start: Codes
    destination: Coded

    def __len__(self) -> int:
        return len(self.seq)

    def part(self, run: str, first: int, stop: int) -> "Batch":
        """Those of the rows that belong to a run."""
        start = self.destination_start[first : stop + 1]
        return replace(
            self,
            first_row=self.first_row + first,
            expected=stop - first,
            run=run,
            **{name: getattr(self, name).part(first, stop) for name in ("layer", *_TEXTS)},
            **{name: getattr(self, name)[first:stop] for name in (*_NUMBERS, "time")},
            first_bit=self.first_bit + first,
            destination_start=start,
            destination=self.destination.used_by(int(start[0]), int(start[-1])),
        )


_TEXTS: Final = ("process", "kind", "sender")
_NUMBERS: Final = ("seq", "number", "position")


def read_batches(path: str | os.PathLike[str], *, times: bool) -> Iterator[Batch]:
    """The rows of a trace in the order of its files; while one batch is looked at, the next is
    read."""
    batches = _read_files(Path(path), times)
    with ThreadPoolExecutor(1) as ahead:
        following = ahead.submit(next, batches, None)
        while True:
            try:
                batch = following.result()
            except (BadInput, pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise Unusual(str(error)) from error
            if batch is None:
                return
            following = ahead.submit(next, batches, None)
            yield batch


def _read_files(root: Path, times: bool) -> Iterator[Batch]:
    for file in find_files(root):
        parquet = open_checked(file)
        if "position" not in parquet.schema_arrow.names:
            raise Unusual("there are no positions")
        for group in range(parquet.num_row_groups):
            constant = {name: _constant(parquet, group, name) for name in ("run", "layer")}
            if "run" not in parquet.schema_arrow.names:
                run = run_from_path(file)
                constant["run"] = None if run == HIVE_NULL else run
            if "layer" not in parquet.schema_arrow.names:
                constant["layer"] = schema.LAYERS[schema.APP]
            wanted = [*_TEXTS, *_NUMBERS, "destinations", *(["time"] if times else [])]
            wanted += [name for name, text in constant.items() if text is None]
            columns = [name for name in wanted if name in parquet.schema_arrow.names]
            rows = 0
            for table in _read_group(parquet, group, columns):
                if len(table):
                    batch = _convert(file, group, table, times, constant["layer"])
                    batch = replace(batch, first_row=rows)
                    rows += len(table)
                    expected = parquet.metadata.num_rows
                    yield from _by_run(batch, table, constant["run"], expected)


def read_again(file: Path, group: int, names: Sequence[str]) -> pa.Table:
    """Some columns of a row group, as far as they are there."""
    parquet = open_checked(file)
    found = [name for name in names if name in parquet.schema_arrow.names]
    return parquet.read_row_group(group, columns=found, use_threads=False)


def _read_group(parquet: pq.ParquetFile, group: int, columns: list[str]) -> Iterator[pa.Table]:
    """These columns of a row group, in parts if it is large."""
    if parquet.metadata.row_group(group).num_rows <= LARGE_GROUP:
        # Threads cost a quarter more than they do, and there is one already that reads ahead.
        yield parquet.read_row_group(group, columns=columns, use_threads=False)
        return
    for part in parquet.iter_batches(PART, [group], columns=columns, use_threads=False):
        yield pa.Table.from_batches([part])


def _constant(parquet: pq.ParquetFile, group: int, name: str) -> str | None:
    """The text that stands in every row of a group, if the statistics say so."""
    columns = parquet.metadata.row_group(group)
    for index in range(columns.num_columns):
        column = columns.column(index)
        if column.path_in_schema != name:
            continue
        found = column.statistics
        if found is None or not found.has_min_max or not found.has_null_count:
            return None
        is_exact = isinstance(found.min, str) and len(found.min.encode()) < EXACT
        is_constant = found.null_count == 0 and found.min == found.max
        return found.min if is_exact and is_constant else None
    return None


def _convert(file: Path, group: int, table: pa.Table, times: bool, layer: str | None) -> Batch:
    """The rows of a table, as if they were all of the same run."""
    lists = _single(table["destinations"])
    if pa.types.is_null(lists.type):
        raise Unusual("there are no destinations")
    bits = lists.buffers()[0] if lists.null_count else None
    time = np.full(len(table) if times else 0, np.nan)
    if "time" in table.column_names:
        time = filled(_single(table["time"]), pa.float64(), np.nan)
    columns: dict[str, Any] = {name: _coded(_single(table[name])) for name in _TEXTS}
    for name in _NUMBERS:
        columns[name] = _fixed(filled(_single(table[name]), pa.int64(), NULL))
    return Batch(
        file=file,
        group=group,
        first_row=0,
        expected=len(table),
        run="",
        layer=_coded(_single(table["layer"])) if layer is None else _one_word(layer),
        **columns,
        time=_fixed(time),
        listed=_fixed(np.empty(0, np.uint8) if bits is None else np.frombuffer(bits, np.uint8)),
        first_bit=lists.offset,
        destination_start=_fixed(filled(lists.offsets, pa.int32(), 0)),
        destination=_coded(lists.values),
    )


def _by_run(batch: Batch, table: pa.Table, run: str | None, expected: int) -> Iterator[Batch]:
    """The rows of a batch by their runs."""
    if run is not None:
        yield replace(batch, run=run, expected=expected)
        return
    if "run" not in table.column_names:
        raise Unusual("column 'run' is null")
    runs = _coded(_single(table["run"]))
    changes = np.flatnonzero(np.diff(runs.indices)) + 1
    for first, stop in pairwise([0, *changes.tolist(), len(batch)]):
        name = runs.words[runs.indices[first]] if runs.indices[first] >= 0 else None
        if name is None:
            raise Unusual("column 'run' is null")
        yield batch.part(name, first, stop)


def _single(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _one_word(word: str) -> Coded:
    return Coded(_fixed(np.zeros(1, np.int32)), [word])


def _coded(column: pa.Array) -> Coded:
    if pa.types.is_null(column.type):
        raise Unusual("a column has no type")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    indices = filled(column.indices, pa.int32(), -1)
    return Coded(_fixed(indices), column.dictionary.to_pylist())


def _fixed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Columns that lie in Arrow's memory cannot be written to. All others pretend the same, for a
    loop is compiled anew for every other kind of array."""
    values = values.view()
    values.flags.writeable = False
    return values
