"""Rows of a run exchanged between tasks: each task deals out some row groups to buckets on disk,
then each task takes one bucket. By position, to put a run in order; by process or by sender, to
have in one place whatever a rule is about."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.errors import BadFile, BadInput
from antecede.files import aside, path_of, remove_tree
from antecede.pipeline.audit.job import Job
from antecede.pipeline.audit.runs import RunRows, groups_of
from antecede.trace.events import NULL, Integers
from antecede.trace.loader import STAMPS
from antecede.trace.names import Names, filled
from antecede.trace.reader import read_tables
from antecede.trace.schema import SCHEMA, STRING_COLUMNS

ROW: Final = "row"
"""The number of a row over all files of the trace."""
_CODED: Final = pa.dictionary(pa.int32(), pa.string())
ROWS: Final = pa.schema(
    [
        field.with_type(_CODED) if field.name in STRING_COLUMNS else field
        for field in SCHEMA
        if field.name not in STAMPS
    ]
).append(pa.field(ROW, pa.int64()))
GROUP: Final = 65_536
SAMPLE: Final = 1000


@dataclass(frozen=True)
class Share:
    """The row groups that a task deals out: file, number there, and the first row over all."""

    index: int
    run: str
    groups: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Dealt:
    """Rows in buckets."""

    folder: str
    buckets: int


@dataclass(frozen=True)
class Surveyed:
    rows: int
    unplaced: int
    """How many rows have no position,"""
    homeless: int
    """and how many have no process."""
    sample: tuple[int, ...]
    """Some of the positions, evenly chosen."""


def share_out(job: Job, run: RunRows) -> list[Share]:
    """The row groups of a run, some to a task."""
    first_row = {file.path: file.first_row for file in job.source.files}
    rows_of = {file.path: file.groups for file in job.source.files}
    shares: list[list[tuple[str, int, int]]] = []
    filled_rows = 0
    for file, chosen in groups_of([run], job.source.files):
        for group, before in chosen:
            if not shares or filled_rows >= job.limits.window_rows:
                shares.append([])
                filled_rows = 0
            shares[-1].append((file, group, first_row[file] + before))
            filled_rows += rows_of[file][group]
    return [Share(index, run.name, tuple(share)) for index, share in enumerate(shares)]


def survey(job: Job, shares: Sequence[Share]) -> Surveyed:
    """What is known of positions and processes."""
    parts = in_tasks(job, shares, _survey)
    sample = np.sort(np.concatenate([np.array(part.sample, np.int64) for part in parts]))
    return Surveyed(
        sum(part.rows for part in parts),
        sum(part.unplaced for part in parts),
        sum(part.homeless for part in parts),
        tuple(sample.tolist()),
    )


def _survey(share: Share) -> Surveyed:
    found, homeless = [np.empty(0, np.int64)], 0
    for table in read_share(share, ("process", "position")):
        found.append(filled(table["position"], pa.int64(), NULL))
        homeless += table["process"].null_count
    position = np.concatenate(found)
    known = np.sort(position[position != NULL])
    places = np.linspace(0, len(known) - 1, min(SAMPLE, len(known))).astype(np.int64)
    unplaced = len(position) - len(known)
    return Surveyed(len(position), unplaced, homeless, tuple(known[places].tolist()))


def exchange(
    job: Job,
    shares: Sequence[Any],
    read: Callable[[Any], Iterator[pa.Table]],
    choose: Callable[[pa.Table], Integers],
    folder: Path,
    buckets: int,
) -> Dealt:
    """Deal out the rows that tasks read to the buckets that are chosen for them."""
    for bucket in range(buckets):
        (folder / str(bucket)).mkdir(parents=True)
    dealt = Dealt(str(folder), buckets)
    in_tasks(job, list(enumerate(shares)), partial(_deal, read, choose, dealt))
    return dealt


def _deal(
    read: Callable[[Any], Iterator[pa.Table]],
    choose: Callable[[pa.Table], Integers],
    dealt: Dealt,
    share: tuple[int, Any],
) -> None:
    for part, table in enumerate(read(share[1])):
        bucket = choose(table)
        order = np.argsort(bucket, kind="stable")
        ends = np.cumsum(np.bincount(bucket, minlength=dealt.buckets)).tolist()
        moved = table.take(pa.array(order))
        start = 0
        for index, end in enumerate(ends):
            if end > start:
                name = f"{share[0]:06}-{part:06}.parquet"
                _write(path_of(dealt.folder) / str(index) / name, moved.slice(start, end - start))
            start = end


def read_share(share: Share, only: Sequence[str] = ROWS.names) -> Iterator[pa.Table]:
    """The rows of a run in some row groups, in one and the same schema; columns that are left out
    are null."""
    for file, chosen in groupby(share.groups, key=itemgetter(0)):
        groups = list(chosen)
        # Opened once: a footer is as long as the file has row groups.
        tables = read_tables(path_of(file), False, [group for _, group, _ in groups], only)
        for (_, _, first_row), table in zip(groups, tables, strict=True):
            rows = pa.array(np.arange(first_row, first_row + len(table)))
            numbered = table.append_column(ROW, rows)
            mine = pc.equal(numbered["run"].cast(pa.string()), pa.scalar(share.run, pa.string()))
            if not pc.all(pc.fill_null(mine, False)).as_py():
                numbered = numbered.filter(pc.fill_null(mine, False))
            try:
                yield normal(numbered)
            except UnicodeDecodeError as error:
                raise BadFile(file, [f"a string is no UTF-8 text: {error}"]) from error


def normal(table: pa.Table) -> pa.Table:
    """The same rows in our schema, with nulls where there is no column."""
    columns = []
    for field in ROWS:
        if field.name not in table.column_names or pa.types.is_null(table[field.name].type):
            columns.append(pa.nulls(len(table), field.type))
            continue
        column = table[field.name]
        if field.type == _CODED and column.type != _CODED:
            column = column.cast(pa.string()).dictionary_encode()
        columns.append(column.cast(field.type, safe=False))
    return pa.table(columns, schema=ROWS).combine_chunks()


def by_name(column: str, buckets: int, table: pa.Table) -> Integers:
    """A bucket for every name; null goes to the first."""
    names = Names()
    codes = names.codes(table[column])
    return np.array([*(crc32(name.encode()) % buckets for name in names.names), 0])[codes]


def by_position(borders: Integers, table: pa.Table) -> Integers:
    """A bucket for every stretch of positions."""
    return borders.searchsorted(filled(table["position"], pa.int64(), NULL), side="right")


def read_bucket(dealt: Dealt, bucket: int) -> pa.Table:
    """All rows of a bucket, in the order of the trace."""
    files = sorted((path_of(dealt.folder) / str(bucket)).glob("*.parquet"))
    tables = [pq.read_table(file, read_dictionary=list(STRING_COLUMNS)) for file in files]
    return pa.concat_tables([ROWS.empty_table(), *(normal(table) for table in tables)])


def in_order_of_position(job: Job, dealt: Dealt, folder: Path) -> list[str]:
    """Put buckets of positions in order; gives the files of those that are not empty."""
    folder.mkdir()
    task = partial(_sort_by_position, dealt, str(folder))
    files = in_tasks(job, range(dealt.buckets), task)
    remove_tree(path_of(dealt.folder))
    return [file for file in files if file]


def _sort_by_position(dealt: Dealt, folder: str, bucket: int) -> str | None:
    table = read_bucket(dealt, bucket)
    position, row = (filled(table[name], pa.int64(), NULL) for name in ("position", ROW))
    return write_sorted(
        table, np.lexsort((row, position)), path_of(folder) / f"{bucket:06}.parquet"
    )


def write_sorted(table: pa.Table, order: Integers, file: Path) -> str | None:
    """Write rows in another order; nothing if there are none."""
    if not len(table):
        return None
    _write(file, table.take(pa.array(order)))
    return str(file)


def _write(file: Path, table: pa.Table) -> None:
    """Under another name first, for a task may be tried twice."""
    texts = [name for name in STRING_COLUMNS if name in table.column_names]
    with aside(file) as partial_file:
        pq.write_table(
            table,
            partial_file,
            row_group_size=GROUP,
            compression="lz4",
            use_dictionary=[*texts, "destinations.list.element"],
        )


def in_tasks(job: Job, specs: Sequence[Any], task: Callable[[Any], Any]) -> list[Any]:
    """One task for each of these; raises the first error that the trace itself is to blame for."""
    results = job.each(list(specs), partial(_blaming, task))
    for result in results:
        if isinstance(result, BadInput):
            raise result
    return results


def _blaming(task: Callable[[Any], Any], spec: Any) -> Any:
    try:
        return task(spec)
    except BadInput as error:
        return error


def borders_of(sample: Sequence[int], buckets: int) -> npt.NDArray[np.int64]:
    """Where buckets of about the same size begin, but for the first."""
    if not sample:
        return np.empty(0, np.int64)
    places = np.arange(1, buckets) * len(sample) // buckets
    return np.unique(np.array(sample, np.int64)[places])
