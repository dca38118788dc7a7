"""Positions for a run that has none, or some: SQL sorts, one task merges
(`antecede.pipeline.audit.merge`), and where there is no order the error says why."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from antecede.errors import BadTrace
from antecede.pipeline.audit.job import Job
from antecede.pipeline.audit.merge import Sorted, Stuck, merge
from antecede.pipeline.audit.rules import Suspect, first_error
from antecede.pipeline.audit.source import ROW
from antecede.trace.extension import LINEAR_EXTENSION, NO_CYCLE
from antecede.trace.schema import KINDS, LAYERS, SEND


def place_events(job: Job, suspect: Suspect, folder: Path, *, some_known: bool) -> DataFrame:
    """The events with positions, where some have none, or all."""
    coded = suspect.coded
    size = len(suspect.processes)
    author = (F.col("layer") * size + F.coalesce("sender", F.lit(0))).cast("bigint")
    (
        coded.select("process", "seq", "kind", author.alias("author"), "number", ROW, "position")
        .repartition(job.cores, "process")
        .sortWithinPartitions("process", "seq")
        .write.option("parquet.block.size", 4 * 2**20)
        .parquet(str(folder / "sorted"))
    )
    given: list[str] = []
    if some_known:
        known = coded.where("position is not null").select("position").orderBy("position")
        known.write.parquet(str(folder / "given"))
        given = [str(file) for file in sorted((folder / "given").glob("*.parquet"))]
    counts = {row.process: row["count"] for row in coded.groupBy("process").count().collect()}
    arranged = _sorted_places(folder / "sorted", size, counts)
    out = str(folder / "placed.parquet")
    (stuck,) = job.each(
        [replace(arranged, positions=tuple(given))], partial(_merge_task, size, out)
    )
    if stuck:
        raise _no_order(job, suspect, arranged, stuck, out)
    placed = job.spark.read.parquet(out)
    return coded.drop("position").join(placed, ROW)


def _merge_task(size: int, out: str, arranged: Sorted) -> list[Stuck]:
    return merge(arranged, len(LAYERS) * size, out)


def _sorted_places(folder: Path, size: int, counts: dict[int, int]) -> Sorted:
    """Where each process's events are: they stand together, in one file."""
    places = [("", 0, 0)] * size
    for file in sorted(folder.glob("*.parquet")):
        start = 0
        metadata = pq.read_metadata(file)
        present: set[int] = set()
        parquet = pq.ParquetFile(file)
        for group in range(metadata.num_row_groups):
            codes = parquet.read_row_group(group, columns=["process"])["process"]
            present.update(codes.unique().to_pylist())
        for process in sorted(present):
            places[process] = (str(file), start, counts[process])
            start += counts[process]
    return Sorted(tuple(place if place[0] else ("", 0, 0) for place in places))


def _no_order(
    job: Job, suspect: Suspect, arranged: Sorted, stuck: Sequence[Stuck], out: str
) -> Exception:
    """Why there is no order: another rule is broken, or there is a cycle, or the positions that are
    given contradict the rest."""
    if found := first_error(suspect):
        return found
    if arranged.positions or any(not one.waits_for_message for one in stuck):
        (cyclic,) = job.each([arranged], partial(_merge_task, len(suspect.processes), out))
        if not cyclic:
            one = min(stuck, key=lambda one: one.row)
            detail = "no order of the events respects the positions that are given"
            name = suspect.processes[one.process]
            return suspect.bad(LINEAR_EXTENSION, name, one.row, detail)
        stuck = cyclic
    return _cycle(suspect, {one.process: one for one in stuck})


def _cycle(suspect: Suspect, stuck: dict[int, Stuck]) -> BadTrace:
    """The error that shows a cycle, as `antecede.trace.extension` tells it."""
    size = len(suspect.processes)
    walk = [min(stuck.values(), key=lambda one: one.row)]
    while (following := stuck[walk[-1].author % size]) not in walk:
        walk.append(following)
    cycle = walk[walk.index(following) :]
    rows = {
        row[ROW]: row
        for row in suspect.coded.where(F.col(ROW).isin([one.row for one in cycle])).collect()
    }

    def send_of(one: Stuck) -> int:
        layer, sender = divmod(one.author, size)
        about = (F.col("kind") == SEND) & (F.col("layer") == layer)
        about &= (F.col("sender") == sender) & (F.col("number") == one.number)
        return int(suspect.coded.where(about).collect()[0].seq)

    steps = []
    for previous, one in zip([cycle[-1], *cycle[:-1]], cycle, strict=True):
        event = rows[one.row]
        sender = suspect.processes[previous.author % size]
        steps.append(
            f"{suspect.processes[one.process]} has the {KINDS[event.kind]} of "
            f"{suspect.message(event)} (seq {event.seq}) before the send of "
            f"{sender}:{previous.number} (seq {send_of(previous)})"
        )
    first = rows[cycle[0].row]
    return suspect.bad_event(NO_CYCLE, first, ", ".join(steps))
