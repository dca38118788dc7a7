"""A run of any kind, prepared by SQL: its rules checked, its copies joined and written in the order
of their sends. Slow, but it puts up with rows in any order, and knows what is wrong with a run."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from antecede.errors import BrokenInvariant
from antecede.pipeline.audit import relations
from antecede.pipeline.audit.job import Job
from antecede.pipeline.audit.placing import place_events
from antecede.pipeline.audit.rules import Suspect, first_error
from antecede.pipeline.audit.runs import RunRows
from antecede.pipeline.audit.source import ROW
from antecede.pipeline.audit.store import Log
from antecede.trace.schema import CRASH, DELIVER, LAYERS, SEND

FILE_COPIES: Final = 4_000_000


def prepare_by_sql(job: Job, run: RunRows, folder: Path) -> Log:
    """Prepare a run, or raise an error about the first rule that it breaks."""
    events = job.events.where(F.col("run") == run.name)
    job.tell("names")
    processes = _names(job, events)
    codes = relations.number_names(job.spark, processes)
    coded = relations.encode(events, codes)
    job.tell("rules")
    (seen,) = relations.profile(events).collect()
    placed, alone = seen.unplaced == 0, seen.broken > 0
    suspect = Suspect(run.name, events, coded, processes, job.source.sources, alone, placed)
    if alone or _breaks_order(coded, placed=placed):
        raise _named(suspect)
    if not placed:
        job.tell("order")
        coded = place_events(job, suspect, folder, some_known=seen.unplaced < run.rows)
    counts = _count(coded)
    job.tell("copies")
    copies = _write_copies(job, coded, codes, counts, str(folder / "copies"))
    if copies.where("broken").limit(1).count():
        raise _named(suspect)
    return Log(
        processes,
        counts.of(job.layer, SEND),
        counts.of(job.layer, DELIVER),
        *(counts.first, counts.last, counts.crashed),
        str(folder / "copies"),
    )


def _named(suspect: Suspect) -> Exception:
    """What is wrong with a run of which it is known that something is."""
    return first_error(suspect) or BrokenInvariant(f"run '{suspect.name}' breaks a rule unknown")


def _names(job: Job, events: DataFrame) -> list[str]:
    """The names of the processes in the order in which the local reader comes across them: by row
    group, by column, by row."""
    starts = [
        start
        for file in job.source.files
        for start in accumulate(file.groups[:-1], initial=file.first_row)
    ]
    found: dict[str, tuple[int, int, int, int]] = {}
    for row in relations.names(events).collect():
        group = bisect_right(starts, row.first[ROW])
        place = (group, row.tag, row.first[ROW], row.first["at"])
        found[row.name] = min(place, found.get(row.name, place))
    return sorted(found, key=lambda name: found[name])


def _breaks_order(coded: DataFrame, *, placed: bool) -> bool:
    check = relations.breaks_local_order(coded, placed=placed)
    if placed:
        check = check.unionByName(relations.repeated_positions(coded))
    return any(row.broken for row in check.collect())


@dataclass(frozen=True)
class Counts:
    events: dict[tuple[int, int], int]
    """By layer and kind."""
    first: int
    last: int
    """The first and the last position."""
    crashed: tuple[int, ...]
    """Which processes crashed."""

    def of(self, layer: int, kind: int) -> int:
        return self.events.get((layer, kind), 0)


def _count(coded: DataFrame) -> Counts:
    rows = (
        coded.groupBy("layer", "kind")
        .agg(
            F.count("*").alias("events"),
            F.min("position").alias("first"),
            F.max("position").alias("last"),
        )
        .collect()
    )
    crashed: list[Any] = []
    if any(row.kind == CRASH for row in rows):
        crashed = coded.where(F.col("kind") == CRASH).select("process").distinct().collect()
    return Counts(
        {(row.layer, row.kind): row.events for row in rows},
        min(row.first for row in rows),
        max(row["last"] for row in rows),
        tuple(sorted(row.process for row in crashed)),
    )


def _write_copies(
    job: Job, coded: DataFrame, codes: DataFrame, counts: Counts, folder: str
) -> DataFrame:
    """Join the copies and write them in the order of their sends."""
    expected = sum(counts.of(layer, DELIVER) for layer in range(len(LAYERS)))
    files = max(job.cores, expected // FILE_COPIES)
    bucket = F.lit(0)
    sends = coded.where((F.col("kind") == SEND) & (F.col("layer") == job.layer))
    shares = [(index + 1) / files for index in range(files - 1)]
    if shares:
        cut = sends.agg(F.percentile_approx("position", shares, 1000).alias("cut")).collect()[0].cut
        for border in sorted(set(cut or ())):
            bucket = bucket + F.coalesce((F.col("send") >= border).cast("int"), F.lit(0))
    (
        relations.join_copies(coded, codes, job.layer)
        .repartitionById(files, bucket)
        .sortWithinPartitions("send", "destination")
        .write.option("parquet.block.size", 32 * 2**20)
        .parquet(folder)
    )
    return job.spark.read.parquet(folder)
