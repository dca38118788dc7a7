"""A trace a stretch at a time, in the order of its files, with as little work as possible: columns
of numbers and of dictionary codes just as they come out of the file.

For readers in a hurry, who take the usual trace (every run in one piece, positions throughout) in
one go. They are told `Unusual` about everything else, be it allowed or broken; then
`antecede.trace.reader` has the time to put it in order or to say what is wrong with it.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.errors import BadInput
from antecede.files import path_of
from antecede.trace import schema
from antecede.trace.batch import NUMBERS, TEXTS, Batch, Coded, Unusual, coded, fixed
from antecede.trace.events import NULL
from antecede.trace.names import filled
from antecede.trace.reader import (
    HIVE_NULL,
    count_rows,
    find_files,
    open_checked,
    run_from_path,
    unreadable,
)

LARGE_GROUP: Final = 1_000_000
"""Row groups of more rows are read in parts,"""
PART: Final = 500_000
"""each of so many."""
EXACT: Final = 64
"""Statistics may cut a longer text short."""


def read_batches(path: str | os.PathLike[str], *, times: bool) -> Iterator[Batch]:
    """The rows of a trace in the order of its files; while one batch is looked at, the next is
    read."""
    batches = _read_files(path_of(path), times)
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
            yield from _read_group(parquet, file, group, times)


def read_run(file: Path, groups: Sequence[int], run: str, *, times: bool) -> Iterator[Batch]:
    """The rows of one run in some row groups of a file, however many other runs there are."""
    parquet = open_checked(file)
    for group in groups:
        try:
            yield from _read_group(parquet, file, group, times, run)
        except (pa.ArrowException, OSError) as error:
            raise unreadable(file, error) from error
        except UnicodeDecodeError as error:
            raise Unusual(str(error)) from error


def _read_group(
    parquet: pq.ParquetFile, file: Path, group: int, times: bool, run: str | None = None
) -> Iterator[Batch]:
    """The rows of a row group by their runs, or those of one run."""
    present = parquet.schema_arrow.names
    constant = {name: constant_of(parquet, group, name) for name in ("run", "layer")}
    if "run" not in present:
        named = run_from_path(file)
        constant["run"] = None if named == HIVE_NULL else named
    if "layer" not in present:
        constant["layer"] = schema.LAYERS[schema.APP]
    wanted = [*TEXTS, *NUMBERS, "destinations", *(["time"] if times else [])]
    wanted += [name for name, text in constant.items() if text is None]
    columns = [name for name in wanted if name in present]
    rows = 0
    for whole in _read_tables(parquet, group, columns):
        first_row, rows = rows, rows + len(whole)
        table = whole if run is None or constant["run"] is not None else _of_run(whole, run)
        if not len(table):
            continue
        batch = replace(
            batch_of_table(table, constant["layer"], times=times),
            file=file,
            group=group,
            first_row=first_row,
            expected=parquet.metadata.num_rows,
        )
        if run is not None:
            yield replace(batch, run=run)
        else:
            yield from _by_run(batch, table, constant["run"])


def _of_run(table: pa.Table, run: str) -> pa.Table:
    mine = pc.equal(table["run"].cast(pa.string()), pa.scalar(run, pa.string()))
    return table.filter(pc.fill_null(mine, False))


def read_again(file: Path, group: int, names: Sequence[str]) -> pa.Table:
    """Some columns of a row group, as far as they are there."""
    parquet = open_checked(file)
    found = [name for name in names if name in parquet.schema_arrow.names]
    return parquet.read_row_group(group, columns=found, use_threads=False)


def begins_with_receptions(path: str | os.PathLike[str]) -> bool:
    """Whether there are receptions among the first rows of a trace. A damaged one says no."""
    word = schema.KINDS[schema.RECEIVE]
    try:
        first = next(file for file in find_files(path_of(path)) if count_rows(file))
        kinds = read_again(first, 0, ["kind"])["kind"]
        return bool(pc.any(pc.equal(kinds.cast(pa.string()), word)).as_py())
    except (StopIteration, BadInput, pa.ArrowException, OSError):
        return False


def _read_tables(parquet: pq.ParquetFile, group: int, columns: list[str]) -> Iterator[pa.Table]:
    """These columns of a row group, in parts if it is large."""
    if parquet.metadata.row_group(group).num_rows <= LARGE_GROUP:
        # Threads cost a quarter more than they do, and there is one already that reads ahead.
        yield parquet.read_row_group(group, columns=columns, use_threads=False)
        return
    for part in parquet.iter_batches(PART, [group], columns=columns, use_threads=False):
        yield pa.Table.from_batches([part])


def constant_of(parquet: pq.ParquetFile, group: int, name: str) -> str | None:
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


def batch_of_table(table: pa.Table, layer: str | None = None, *, times: bool = True) -> Batch:
    """The rows of a table, as if they were all of the same run, and of this layer if it is
    given."""
    lists = _single(table["destinations"])
    if pa.types.is_null(lists.type):
        raise Unusual("there are no destinations")
    bits = lists.buffers()[0] if lists.null_count else None
    time = np.full(len(table) if times else 0, np.nan)
    if "time" in table.column_names:
        time = filled(_single(table["time"]), pa.float64(), np.nan)
    columns: dict[str, Any] = {name: _coded(_single(table[name])) for name in TEXTS}
    for name in NUMBERS:
        if name not in table.column_names:
            raise Unusual(f"there is no column '{name}'")
        columns[name] = fixed(filled(_single(table[name]), pa.int64(), NULL))
    return Batch(
        file=Path(),
        group=0,
        first_row=0,
        expected=len(table),
        run="",
        layer=_coded(_single(table["layer"])) if layer is None else _one_word(layer),
        **columns,
        time=fixed(time),
        listed=fixed(np.empty(0, np.uint8) if bits is None else np.frombuffer(bits, np.uint8)),
        first_bit=lists.offset,
        destination_start=fixed(filled(lists.offsets, pa.int32(), 0)),
        destination=_coded(lists.values),
    )


def _by_run(batch: Batch, table: pa.Table, run: str | None) -> Iterator[Batch]:
    """The rows of a batch by their runs."""
    if run is not None:
        yield replace(batch, run=run)
        return
    if "run" not in table.column_names:
        raise Unusual("column 'run' is null")
    runs = _coded(_single(table["run"]))
    changes = np.flatnonzero(np.diff(runs.indices)) + 1
    for first, stop in pairwise([0, *changes.tolist(), len(batch)]):
        name = [*runs.words, None][runs.indices[first]]
        if name is None:
            raise Unusual("column 'run' is null")
        yield batch.part(name, first, stop)


def _single(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _one_word(word: str) -> Coded:
    return coded(np.zeros(1), [word])


def _coded(column: pa.Array) -> Coded:
    if pa.types.is_null(column.type):
        raise Unusual("a column has no type")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    words = column.dictionary.to_pylist()
    indices = filled(column.indices, pa.int32(), len(words))
    return Coded(fixed(indices).view(np.uint32), words)
