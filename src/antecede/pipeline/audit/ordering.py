"""Rows in any order, put in order and written once, so that a run can be read in windows.

By position, buckets of rows one behind the other are the run. Where positions are missing, what
says who waits for whom is first exchanged by process; one task merges the processes
(`antecede.pipeline.audit.merge`), which gives every row its position, and then whole rows are
exchanged by position.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from antecede.files import path_of, remove_tree
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
from antecede.pipeline.audit.merge import FOUND, NEEDED, Sorted, merge
from antecede.pipeline.audit.runs import RunRows
from antecede.trace.events import NULL
from antecede.trace.extension import Stuck
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
        arranged = replace(arranged, positions=tuple(given))
    order = str(folder / "order")
    (stuck,) = in_tasks(job, [arranged], partial(merge, out=order))
    if stuck:
        raise explain_no_order(job, run, folder, stuck, _is_cycle(job, arranged, stuck, order))
    borders = np.arange(1, buckets) * found.rows // buckets
    for left in (folder / "sorted", folder / "given"):
        remove_tree(left)
    read, choose = partial(_read_placed, order), partial(by_position, borders)
    dealt = exchange(job, shares, read, choose, folder / "dealt", buckets)
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
    read, choose = partial(read_share, only=NEEDED), partial(by_name, "process", buckets)
    dealt = exchange(job, shares, read, choose, folder / "dealt", buckets)
    (folder / "sorted").mkdir()
    task = partial(_sort_by_process, dealt, names, str(folder / "sorted"))
    files = in_tasks(job, range(buckets), task)
    remove_tree(path_of(dealt.folder))
    return Sorted(tuple(file for file in files if file), names, job.source.rows)


def _sort_by_process(dealt: Dealt, names: tuple[str, ...], folder: str, bucket: int) -> str | None:
    table = read_bucket(dealt, bucket)
    process = Names(names).codes(table["process"])
    seq, row = (filled(table[name], pa.int64(), NULL) for name in ("seq", ROW))
    order = np.lexsort((row, seq, process))
    return write_sorted(table, order, path_of(folder) / f"{bucket:06}.parquet")


def _names(job: Job, shares: Sequence[Share]) -> tuple[str, ...]:
    """The names of the processes in the order in which the local reader comes across them, so that
    they take turns in the same order."""
    found = in_tasks(job, shares, _names_in)
    return tuple(dict.fromkeys(name for names in found for name in names))


def _names_in(share: Share) -> list[str]:
    names = Names()
    for file, group, _ in share.groups:
        only = ("process", "sender", "destinations")
        for table in read_tables(path_of(file), False, [group], only):
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
    (cyclic,) = in_tasks(job, [replace(arranged, positions=())], partial(merge, out=order))
    return list(cyclic)


def _read_placed(order: str, share: Share) -> Iterator[pa.Table]:
    """The rows of a share with the positions that the merge gave to them."""
    position = np.memmap(order, FOUND, "r")
    for table in read_share(share):
        at = table.column_names.index("position")
        yield table.set_column(
            at, "position", pa.array(position[filled(table[ROW], pa.int64(), 0)])
        )
