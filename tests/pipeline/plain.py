"""Jobs whose tasks run one after the other in this process: no Spark, no seconds."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from pyspark.sql import SparkSession

from antecede.pipeline.audit.job import Job, Limits, look_at


class PlainJob(Job):
    """Everything, for no task knows of Spark."""

    @property
    def cores(self) -> int:
        return 1

    def each(self, specs: Sequence[Any], task: Callable[[Any], Any]) -> list[Any]:
        return [task(spec) for spec in specs]


def plain_job(
    trace: Path, work: Path, limits: Limits, tell: Callable[[str], None] = lambda _: None
) -> PlainJob:
    work.mkdir(exist_ok=True)
    return PlainJob(cast(SparkSession, None), look_at(trace), 0, work, limits, tell=tell)
