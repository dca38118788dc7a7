"""Verifying a whole trace on Spark: small runs as they are, huge ones in windows.

The driver sees names, counts and findings, never rows.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from antecede.errors import BadInput
from antecede.files import give_name, path_of
from antecede.pipeline.audit.boundaries import Agreed, Settled, agree, check_size, settle
from antecede.pipeline.audit.culprits import find_culprits
from antecede.pipeline.audit.diagnosis import name_rule
from antecede.pipeline.audit.flights import judge_log
from antecede.pipeline.audit.job import Job, Limits, Source, look_at
from antecede.pipeline.audit.log import Log, Part
from antecede.pipeline.audit.ordering import put_in_order
from antecede.pipeline.audit.runs import (
    Lot,
    RunRows,
    find_runs,
    groups_of,
    pack,
    verify_lot,
)
from antecede.pipeline.audit.windows import NONE, Layout, Window, are_addressed, judge_window
from antecede.pipeline.cluster import preflight
from antecede.trace.events import Integers
from antecede.verify.check import layer_code
from antecede.verify.delays import Delays
from antecede.verify.output import Output, output_folder
from antecede.verify.told import tell_verdict
from antecede.verify.verdict import WITNESS_LIMIT, Verdict, Witness

SMALLEST_LOT: Final = 20_000
"""Rows; less is not worth a task."""


def verify_on_spark(
    spark: SparkSession,
    path: str | os.PathLike[str],
    layer: str = "app",
    *,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    limits: Limits | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Verdict:
    """The verdict on all runs of a trace in one layer, the same as the local engine's. The folder
    `out`, if there is to be one, gets the verdict and all findings; on a cluster it must be
    where all workers can reach it. `tell` is told what is being done."""
    code = layer_code(layer)
    if preflight.is_remote(spark):  # whose executors have working directories of their own
        path, out = path_of(path).absolute(), out and path_of(out).absolute()
    source = look_at(path)
    with output_folder(out, force=force, shared=preflight.is_remote(spark)) as output:
        preflight.check_files(spark, [file.path for file in source.files], "move the trace there")
        preflight.check_folder(spark, output.work, "name a folder there with --out")
        verdict = _verify(spark, source, code, output, limits or Limits(), tell)
        verdict = tell_verdict(path, verdict, layer)
        if out is not None:
            output.write(verdict)
    return verdict


def _verify(
    spark: SparkSession,
    source: Source,
    layer: int,
    output: Output,
    limits: Limits,
    tell: Callable[[str], None],
) -> Verdict:
    if not source.rows:
        return Verdict()
    job = Job(spark, source, layer, output.work, limits, output.findings, tell)
    tell("runs")
    parts = _cut(job, find_runs(job))
    tell("small runs")
    lots = [
        (part, str(output.findings / f"{index}.parquet") if output.findings else None)
        for index, part in enumerate(parts)
        if isinstance(part, Lot)
    ]
    results = iter(job.each(lots, partial(_lot_task, layer, job.is_scoped)))
    verdict = Verdict()
    for index, part in enumerate(parts):
        found = next(results) if isinstance(part, Lot) else verify_huge(job, part, index)
        if isinstance(found, BadInput):
            raise found
        verdict += found
    return verdict


def _lot_task(layer: int, is_scoped: bool, spec: tuple[Lot, str | None]) -> Verdict | BadInput:
    return verify_lot(layer, is_scoped, *spec)


def _cut(job: Job, runs: Sequence[RunRows]) -> list[Lot | RunRows]:
    """Huge runs, and lots of small ones, in the order of the runs. None is huge that is judged by
    less than causal order: see `verify_lot`."""
    huge = {run for run in runs if run.rows > job.limits.run_rows and not job.is_scoped}
    small = sum(run.rows for run in runs if run not in huge)
    share = small // (4 * job.cores) + 1
    lot, most = (min(job.limits.run_rows, max(rows, SMALLEST_LOT)) for rows in (share, 4 * share))
    parts: list[Lot | RunRows] = []
    waiting: list[RunRows] = []
    for run in [*runs, None]:
        if run is not None and run not in huge:
            waiting.append(run)
            continue
        parts += pack(waiting, job.source.files, lot, most)
        waiting = []
        if run is not None:
            parts.append(run)
    return parts


def verify_huge(job: Job, run: RunRows, index: int) -> Verdict:
    """The verdict on one run: in windows as it stands or, if it is not in order, once it is."""
    folder = job.work / f"run-{index}"
    folder.mkdir()
    found = _in_windows(job, run, index, _groups_of_run(job, run), folder)
    if found is not None:
        return found
    ordered = put_in_order(job, run, folder)
    again = folder / "again"
    again.mkdir()
    found = _in_windows(job, run, index, _groups_of_files(ordered), again)
    if found is None:
        raise name_rule(job, run, folder)
    return found


def _groups_of_run(job: Job, run: RunRows) -> list[tuple[str, int, int]]:
    """The row groups that a run has rows in: file, number there and how many rows."""
    rows_of = {file.path: file.groups for file in job.source.files}
    return [
        (file, group, rows_of[file][group])
        for file, chosen in groups_of([run], job.source.files)
        for group, _ in chosen
        if rows_of[file][group]
    ]


def _groups_of_files(files: Sequence[str]) -> list[tuple[str, int, int]]:
    groups = []
    for file in files:
        metadata = pq.read_metadata(file)
        groups += [
            (file, group, metadata.row_group(group).num_rows)
            for group in range(metadata.num_row_groups)
        ]
    return groups


def lay_out(job: Job, run: str, groups: Sequence[tuple[str, int, int]]) -> Layout | None:
    """The windows of a run: whole row groups, unless these are too large for a worker."""
    limits = job.limits
    sizes = [rows for _, _, rows in groups]
    if max(sizes) > 2 * limits.window_rows:
        return None
    windows = limits.windows or -(-sum(sizes) // limits.window_rows // job.cores) * job.cores
    starts = np.array([0, *accumulate(sizes)])
    cuts = starts.searchsorted(np.arange(1, windows) * sum(sizes) / windows)
    borders = sorted({0, *cuts.tolist(), len(groups)})
    return Layout(run, tuple(groups), tuple(borders), job.layer, limits.reach)


def _in_windows(
    job: Job, run: RunRows, index: int, groups: Sequence[tuple[str, int, int]], folder: Path
) -> Verdict | None:
    """The verdict on a run whose rows stand in order; nothing if they do not, or break a rule."""
    layout = lay_out(job, run.name, groups)
    if layout is None:
        return None
    job.tell("windows")
    keep = job.findings is not None
    windows: list[Window] = []
    for found in job.each(range(layout.windows), partial(judge_window, layout, str(folder), keep)):
        if isinstance(found, BadInput):
            raise found
        if found is None:
            return None
        windows.append(found)
    agreed = agree(windows)
    if agreed is None:
        return None
    check_size(run.name, agreed)
    settled = Settled()
    if any(border.open or border.crossing for border in agreed.borders):
        (settled,) = job.each([agreed], partial(_settle, job.layer, str(folder)))
    addressed = job.each(settled.doubtful, partial(are_addressed, layout, agreed.processes))
    if settled.broken or not all(addressed):
        return None
    if settled.long_flights or any(one.undelivered is None for one in windows):
        return _judge_from_end_to_end(job, index, layout, agreed, windows, folder)
    if job.findings:
        for file in sorted(folder.glob("findings-*.parquet")):
            give_name(file, job.findings / f"{index}-{file.name.removeprefix('findings-')}")
    told = sorted((told for one in windows for told in one.witnesses), key=lambda told: told[0])
    witnesses = tuple(witness for _, witness in told[:WITNESS_LIMIT])
    delays = sum((one.delays for one in windows), Delays())
    violations = sum(one.violations for one in windows)
    return _verdict(agreed, windows, violations, agreed.undelivered, witnesses, delays)


def _settle(layer: int, folder: str, agreed: Agreed) -> Settled:
    return settle(agreed, layer, folder)


def _judge_from_end_to_end(
    job: Job,
    index: int,
    layout: Layout,
    agreed: Agreed,
    windows: Sequence[Window],
    folder: Path,
) -> Verdict:
    job.tell("long flights")
    parts = tuple(Part(one.window, one.stop, one.first, one.last) for one in windows)
    log = Log(layout, agreed.processes, parts, str(folder))
    shards = -(-len(agreed.processes) // job.limits.shard)
    keep = f"{job.findings / str(index)}-" if job.findings else None
    parts_found = job.each(range(shards), partial(judge_log, log, shards, keep))
    found = sum(parts_found[1:], parts_found[0])
    job.tell("witnesses")
    paths = job.each([found.early], partial(find_culprits, log))[0] if found.early else []
    names = agreed.processes
    witnesses = []
    for early, path in zip(found.early, paths, strict=True):
        told = tuple(f"{names[sender]}:{number}" for sender, number in path)
        time = None if np.isnan(early.delivered_s) else early.delivered_s
        process = names[early.destination]
        witnesses.append(Witness(layout.run, process, told[0], told[-1], told, time))
    return _verdict(
        agreed, windows, found.violations, found.undelivered, tuple(witnesses), found.delays
    )


def _verdict(
    agreed: Agreed,
    windows: Sequence[Window],
    violations: int,
    undelivered: Integers,
    witnesses: tuple[Witness, ...],
    delays: Delays,
) -> Verdict:
    deliveries = sum(one.deliveries for one in windows)
    return Verdict(
        runs=1,
        messages=sum(one.messages for one in windows),
        deliveries=deliveries,
        violations=violations,
        undelivered=int(undelivered.sum()),
        undelivered_at_crashed=int(undelivered[list(agreed.crashed)].sum()),
        witnesses=witnesses,
        delays=delays,
        own_only=deliveries if (agreed.last_delivery == NONE).all() else 0,
    )
