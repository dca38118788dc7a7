"""One huge run: SQL prepares it, tasks judge windows of it, the driver adds up.

The driver sees names, counts and findings, never events.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from antecede.errors import BrokenInvariant
from antecede.pipeline import relations
from antecede.pipeline.culprits import Culprit, find_culprits
from antecede.pipeline.findings import Naming
from antecede.pipeline.flow import NONE, Positions
from antecede.pipeline.job import Job
from antecede.pipeline.placing import place_events
from antecede.pipeline.rules import Suspect, first_error
from antecede.pipeline.runs import RunRows
from antecede.pipeline.source import ROW
from antecede.pipeline.store import Store, open_store
from antecede.pipeline.windows import (
    Findings,
    Plan,
    check_stragglers,
    check_window,
    choose_lead,
)
from antecede.trace.schema import CRASH, DELIVER, LAYERS, SEND
from antecede.verify.verdict import Verdict, Witness

FILE_COPIES: Final = 4_000_000


def verify_huge(job: Job, run: RunRows, index: int) -> Verdict:
    """The verdict on one run."""
    folder = job.work / f"run-{index}"
    folder.mkdir()
    events = job.events.where(F.col("run") == run.name)
    job.tell("names")
    processes = _names(job, events)
    codes = relations.number_names(job.spark, processes)
    coded = relations.encode(events, codes)
    placed = run.unplaced == 0
    alone = run.broken > 0
    suspect = Suspect(run.name, events, coded, processes, job.source.sources, alone, placed)
    job.tell("rules")
    if alone or _breaks_order(coded, placed=placed):
        raise _named(suspect)
    if not placed:
        job.tell("order")
        coded = place_events(job, suspect, run, folder)
    counts = _count(coded)
    job.tell("copies")
    copies = _write_copies(job, coded, codes, counts, str(folder / "copies"))
    at = {row.destination: row for row in relations.summary(copies).collect()}
    if any(row.broken for row in at.values()):
        raise _named(suspect)
    store = open_store(str(folder / "copies"))
    last_at = np.full(len(processes), NONE)
    for destination, row in at.items():
        last_at[destination] = NONE if row["last"] is None else row["last"]
    job.tell("windows")
    timed = any(row.timed for row in at.values())
    plan = _plan(job, store, copies, len(processes), last_at, counts, timed)
    naming = Naming(run.name, processes)
    findings = _judge(job, store, plan, last_at, folder, index, naming)
    job.tell("witnesses")
    crashed = counts.crashed
    return Verdict(
        runs=1,
        messages=counts.of(job.layer, SEND),
        deliveries=counts.of(job.layer, DELIVER),
        violations=findings.violations,
        undelivered=sum(row.undelivered for row in at.values()),
        undelivered_at_crashed=sum(at[p].undelivered for p in crashed if p in at),
        witnesses=_witnesses(job, run.name, store, copies, processes, findings),
        delays=findings.delays,
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
    files = max(job.spark.sparkContext.defaultParallelism, expected // FILE_COPIES)
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


def _plan(
    job: Job,
    store: Store,
    copies: DataFrame,
    processes: int,
    last_at: Positions,
    counts: Counts,
    timed: bool,
) -> Plan:
    limits = job.limits
    shards = -(-processes // limits.shard)
    enough = max(1, len(store) // limits.window_copies)
    windows = limits.windows or min(enough, 2 * job.spark.sparkContext.defaultParallelism)
    places = [(p, int(last)) for p, last in enumerate(last_at) if last != NONE]
    last = job.spark.createDataFrame(places, "destination int, last bigint")
    classes = relations.flight_lengths(copies, last).collect()
    histogram = {row.longest: row.copies for row in classes}
    lead = limits.lead
    if lead is None:
        lead = choose_lead(histogram, windows, counts.last - counts.first)
    late = _late(classes, lead) if windows > 1 else []
    return Plan(
        processes=processes,
        first=counts.first,
        last=counts.last,
        lead=lead,
        arrivals=timed,
        borders=tuple(store.borders(windows)),
        shards=shards,
        stragglers_from=min((row.first for row in late), default=None),
        stragglers_to=max((row.until for row in late), default=None),
        piece=limits.piece,
    )


def _late(classes: Sequence[Row], lead: int) -> list[Row]:
    """The classes of copies that may fly for longer than the lead."""
    return [row for row in classes if row.longest > lead]


def _judge(
    job: Job,
    store: Store,
    plan: Plan,
    last_at: Positions,
    folder: Path,
    index: int,
    naming: Naming,
) -> Findings:
    late: list[str] = []
    if plan.stragglers_from is not None:
        shards = max(plan.shards, min(job.spark.sparkContext.defaultParallelism, plan.processes))
        late = [str(folder / f"late-{shard}.parquet") for shard in range(shards)]
        job.each(list(enumerate(late)), partial(_stragglers_task, store, plan, last_at, shards))
    parts = [
        (window, shard, str(job.findings / f"{index}-{window}-{shard}.parquet"))
        if job.findings
        else (window, shard, None)
        for window in range(len(plan.windows()))
        for shard in range(plan.shards)
    ]
    task = partial(_window_task, store, plan, late, naming)
    return sum(job.each(parts, task), Findings())


def _stragglers_task(
    store: Store, plan: Plan, last_at: Positions, shards: int, spec: tuple[int, str]
) -> None:
    check_stragglers(store, plan, spec[0], shards, last_at, spec[1])


def _window_task(
    store: Store,
    plan: Plan,
    late: Sequence[str],
    naming: Naming,
    spec: tuple[int, int, str | None],
) -> Findings:
    window, shard, out = spec
    return check_window(store, plan, window, shard, late, (out, naming) if out else None)


def _witnesses(
    job: Job,
    run: str,
    store: Store,
    copies: DataFrame,
    processes: Sequence[str],
    findings: Findings,
) -> tuple[Witness, ...]:
    early = findings.early
    if not early:
        return ()
    lowest: dict[int, int] = {}
    for one in early:
        lowest[one.destination] = min(one.delivery, lowest.get(one.destination, one.delivery))
    lowest_at = job.spark.createDataFrame(list(lowest.items()), "destination int, lowest bigint")
    later = F.coalesce(F.col("delivery") > F.col("lowest"), F.lit(True))
    candidates = copies.join(F.broadcast(lowest_at), "destination").where(later)
    first = candidates.agg(F.min("send").alias("first")).collect()[0].first
    (culprits,) = job.each([tuple(early)], partial(_culprits_task, store, len(processes), first))

    def name(message: tuple[int, int]) -> str:
        return f"{processes[message[0]]}:{message[1]}"

    return tuple(
        Witness(
            run,
            processes[culprit.early.destination],
            name(culprit.path[0]),
            name(culprit.path[-1]),
            tuple(name(message) for message in culprit.path),
            None if np.isnan(culprit.delivered) else culprit.delivered,
        )
        for culprit in culprits
    )


def _culprits_task(store: Store, processes: int, first: int, early: Sequence[Any]) -> list[Culprit]:
    return find_culprits(store, processes, early, first)
