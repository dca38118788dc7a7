"""Verifying a whole trace on Spark: small runs as they are, huge ones in parts."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from antecede.errors import BadFile, BadInput
from antecede.pipeline.audit.census import find_runs
from antecede.pipeline.audit.huge import verify_huge
from antecede.pipeline.audit.job import Job, Limits
from antecede.pipeline.audit.runs import Lot, RunRows, pack, verify_lot
from antecede.pipeline.audit.source import Source, look_at
from antecede.pipeline.cluster import reach
from antecede.verify.check import layer_code
from antecede.verify.output import Output, output_folder
from antecede.verify.verdict import Verdict

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
    if reach.is_remote(spark):  # whose executors have working directories of their own
        path, out = Path(path).absolute(), out and Path(out).absolute()
    source = look_at(path)
    with output_folder(out, force=force) as output, _blaming_files(source):
        reach.check_files(spark, [file.path for file in source.files], "move the trace there")
        reach.check_folder(spark, output.work, "name a folder there with --out")
        verdict = _verify(spark, source, code, output, limits or Limits(), tell)
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
    results = iter(job.each(lots, partial(_lot_task, layer)))
    verdict = Verdict()
    for index, part in enumerate(parts):
        found = next(results) if isinstance(part, Lot) else verify_huge(job, part, index)
        if isinstance(found, BadInput):
            raise found
        verdict += found
    return verdict


def _lot_task(layer: int, spec: tuple[Lot, str | None]) -> Verdict | BadInput:
    lot, findings = spec
    return verify_lot(lot, layer, findings)


def _cut(job: Job, runs: Sequence[RunRows]) -> list[Lot | RunRows]:
    """Huge runs, and lots of small ones, in the order of the runs."""
    small = sum(run.rows for run in runs if run.rows <= job.limits.run_rows)
    share = small // (4 * job.cores) + 1
    lot, most = (min(job.limits.run_rows, max(rows, SMALLEST_LOT)) for rows in (share, 4 * share))
    parts: list[Lot | RunRows] = []
    waiting: list[RunRows] = []
    for run in [*runs, None]:
        if run is not None and run.rows <= job.limits.run_rows:
            waiting.append(run)
            continue
        parts += pack(waiting, job.source.files, lot, most)
        waiting = []
        if run is not None:
            parts.append(run)
    return parts


@contextmanager
def _blaming_files(source: Source) -> Iterator[None]:
    """An error about a file that Spark cannot read becomes ours."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        text = str(error)
        damaged = re.search(r"FAILED_READ_FILE|parquet|Parquet", text)
        for file in source.files if damaged else ():
            if file.path in unquote(text):
                raise BadFile(
                    file.path, [f"this is no Parquet file, or a damaged one: {_reason(text)}"]
                ) from error
        raise


def _reason(text: str) -> str:
    """The last cause that Java names."""
    causes = re.findall(r"Caused by: [\w.$]+: (.+)", text)
    return str(causes[-1] if causes else text.strip().partition("\n")[0])
