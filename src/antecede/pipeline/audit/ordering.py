"""Rows in any order, put in order and written once, so that a run can be read in windows.

By position, buckets of rows one behind the other are the run. Where positions are missing, rows are
first exchanged by process; one task merges the processes (`antecede.pipeline.audit.merge`), which
gives every row its position, and the rows are exchanged again.
"""

import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.pipeline.audit.diagnosis import explain_no_order, name_rule
from antecede.pipeline.audit.exchange import (
    ROW,
    Dealt,
    Share,
    Surveyed,
    borders_of,
    by_name,
    by_position,
    exchange,
    in_order_of_position,
    in_tasks,
    read_bucket,
    read_share,
    share_out,
    survey,
    write_sorted,
)
from antecede.pipeline.audit.job import Job
from antecede.pipeline.audit.merge import ORDER, Sorted, Stuck, merge
from antecede.pipeline.audit.runs import RunRows
from antecede.trace.events import NULL
from antecede.trace.names import Names, filled
from antecede.trace.reader import read_tables


def put_in_order(job: Job, run: RunRows, folder: Path) -> list[str]:
    """The run in files, in the order of positions, which all rows have in the end."""
    job.tell("order")
    shares = share_out(job, run)
    found = survey(job, shares)
    buckets = job.limits.windows or max(job.cores, -(-found.rows // job.limits.window_rows))
    if not found.unplaced:
        return _by_position(job, shares, found, buckets, folder)
    if found.homeless:
        raise name_rule(job, run, folder)
    names = _names(job, shares)
    arranged = _by_process(job, shares, names, buckets, folder)
    if found.unplaced < found.rows:
        given = _by_position(job, shares, found, buckets, folder / "given")
        arranged = Sorted(arranged.files, arranged.names, tuple(given))
    order = str(folder / "order.parquet")
    (stuck,) = in_tasks(job, [arranged], partial(merge, out=order))
    if stuck:
        raise explain_no_order(job, run, folder, stuck, _is_cycle(job, arranged, stuck, order))
    borders = np.arange(1, buckets) * found.rows // buckets
    read = partial(_read_placed, order, names)
    choose = partial(by_position, borders)
    dealt = exchange(job, arranged.files, read, choose, folder / "dealt", buckets)
    for left in (folder / "sorted", folder / "given"):
        shutil.rmtree(left, ignore_errors=True)
    return in_order_of_position(job, dealt, folder / "ordered")


def _by_position(
    job: Job, shares: Sequence[Share], found: Surveyed, buckets: int, folder: Path
) -> list[str]:
    borders = borders_of(found.sample, buckets)
    choose = partial(by_position, borders)
    dealt = exchange(job, shares, read_share, choose, folder / "dealt", len(borders) + 1)
    return in_order_of_position(job, dealt, folder / "ordered")


def _by_process(
    job: Job, shares: Sequence[Share], names: tuple[str, ...], buckets: int, folder: Path
) -> Sorted:
    choose = partial(by_name, "process", buckets)
    dealt = exchange(job, shares, read_share, choose, folder / "dealt", buckets)
    (folder / "sorted").mkdir()
    task = partial(_sort_by_process, dealt, names, str(folder / "sorted"))
    files = in_tasks(job, range(buckets), task)
    shutil.rmtree(dealt.folder)
    return Sorted(tuple(file for file in files if file), names)


def _sort_by_process(dealt: Dealt, names: tuple[str, ...], folder: str, bucket: int) -> str | None:
    table = read_bucket(dealt, bucket)
    process = Names(names).codes(table["process"])
    seq, row = (filled(table[name], pa.int64(), NULL) for name in ("seq", ROW))
    order = np.lexsort((row, seq, process))
    return write_sorted(table, order, Path(folder) / f"{bucket:06}.parquet")


def _names(job: Job, shares: Sequence[Share]) -> tuple[str, ...]:
    """The names of the processes in the order in which the local reader comes across them, so that
    they take turns in the same order."""
    found = in_tasks(job, shares, _names_in)
    return tuple(dict.fromkeys(name for names in found for name in names))


def _names_in(share: Share) -> list[str]:
    names = Names()
    for file, group, _ in share.groups:
        only = ("process", "sender", "destinations")
        for table in read_tables(Path(file), False, [group], only):
            for column in (table["process"], table["sender"]):
                names.codes(column)
            if not pa.types.is_null(table["destinations"].type):
                names.codes(pa.compute.list_flatten(table["destinations"]))
    return names.names


def _is_cycle(job: Job, arranged: Sorted, stuck: Sequence[Stuck], order: str) -> list[Stuck]:
    """Who is stuck even if no position is given; nobody, if it is the positions that contradict
    the rest."""
    if not arranged.positions and all(one.waits_for_message for one in stuck):
        return list(stuck)
    without = Sorted(arranged.files, arranged.names)
    (cyclic,) = in_tasks(job, [without], partial(merge, out=order))
    return list(cyclic)


def _read_placed(order: str, names: tuple[str, ...], file: str) -> Iterator[pa.Table]:
    """The rows of a sorted file with the positions that the merge gave to them."""
    parquet = pq.ParquetFile(file)
    process = Names(names).codes(parquet.read(columns=["process"])["process"])
    mine = np.zeros(len(names), bool)
    mine[process] = True
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    start = 0
    for batch in pq.ParquetFile(order).iter_batches(columns=ORDER.names):
        code = batch.column(0).to_numpy()
        place = np.flatnonzero(mine[code])
        parts.append((code[place], start + place))
        start += len(code)
    code, place = (np.concatenate(column) for column in zip(*parts, strict=True))
    position = place[np.argsort(code, kind="stable")]
    done = 0
    for batch in parquet.iter_batches():
        table = pa.Table.from_batches([batch])
        at = table.column_names.index("position")
        values = pa.array(position[done : done + len(table)])
        done += len(table)
        yield table.set_column(at, "position", values)
