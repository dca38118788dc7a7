"""One huge run. Most take the fast lane (`lane`). The others are prepared, by SQL
where need be: their copies are written in the order of their sends; then tasks judge windows of
these, with an eye to stragglers, and the driver adds up.

The driver sees names, counts and findings, never events.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from antecede.pipeline.audit import relations
from antecede.pipeline.audit.culprits import Culprit, find_culprits
from antecede.pipeline.audit.flow import NONE, Positions
from antecede.pipeline.audit.job import Job
from antecede.pipeline.audit.lane import take_lane
from antecede.pipeline.audit.preparing import prepare_by_sql
from antecede.pipeline.audit.runs import RunRows
from antecede.pipeline.audit.store import Log, Store, open_store
from antecede.pipeline.audit.windows import (
    Findings,
    Plan,
    check_stragglers,
    check_window,
    choose_lead,
)
from antecede.verify.findings import Naming
from antecede.verify.verdict import Verdict, Witness


def verify_huge(job: Job, run: RunRows, index: int) -> Verdict:
    """The verdict on one run."""
    folder = job.work / f"run-{index}"
    folder.mkdir()
    found = take_lane(job, run, index, folder)
    if isinstance(found, Verdict):
        return found
    log = found or prepare_by_sql(job, run, folder)
    return _verify_log(job, run.name, log, index, folder)


def _verify_log(job: Job, run: str, log: Log, index: int, folder: Path) -> Verdict:
    """The verdict on a run that has been prepared."""
    copies = job.spark.read.parquet(log.folder)
    at = {row.destination: row for row in relations.summary(copies).collect()}
    store = open_store(log.folder)
    last_at = np.full(len(log.processes), NONE)
    for destination, row in at.items():
        last_at[destination] = NONE if row["last"] is None else row["last"]
    job.tell("stragglers")
    timed = any(row.timed for row in at.values())
    plan = _plan(job, store, copies, log, last_at, timed)
    naming = Naming(run, log.processes)
    findings = _judge(job, store, plan, last_at, folder, index, naming)
    job.tell("witnesses")
    return Verdict(
        runs=1,
        messages=log.messages,
        deliveries=log.deliveries,
        violations=findings.violations,
        undelivered=sum(row.undelivered for row in at.values()),
        undelivered_at_crashed=sum(at[p].undelivered for p in log.crashed if p in at),
        witnesses=_witnesses(job, run, store, copies, log.processes, findings),
        delays=findings.delays,
    )


def _plan(
    job: Job, store: Store, copies: DataFrame, log: Log, last_at: Positions, timed: bool
) -> Plan:
    limits = job.limits
    shards = -(-len(log.processes) // limits.shard)
    enough = max(1, len(store) // limits.window_copies)
    windows = limits.windows or min(enough, 2 * job.cores)
    places = [(p, int(last)) for p, last in enumerate(last_at) if last != NONE]
    last = job.spark.createDataFrame(places, "destination int, last bigint")
    classes = relations.flight_lengths(copies, last).collect()
    histogram = {row.longest: row.copies for row in classes}
    lead = limits.lead
    if lead is None:
        lead = choose_lead(histogram, windows, log.last - log.first)
    late = _late(classes, lead) if windows > 1 else []
    return Plan(
        processes=len(log.processes),
        first=log.first,
        last=log.last,
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
        shards = max(plan.shards, min(job.cores, plan.processes))
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
