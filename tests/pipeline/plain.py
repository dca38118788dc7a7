"""Jobs whose tasks run one after the other in this process: no Spark, no seconds."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from pyspark.sql import SparkSession

from antecede.pipeline.audit.job import Job, Limits
from antecede.pipeline.audit.source import look_at


class PlainJob(Job):
    """Everything but SQL."""

    @property
    def cores(self) -> int:
        return 1

    def each(self, specs: Sequence[Any], task: Callable[[Any], Any]) -> list[Any]:
        return [task(spec) for spec in specs]


def plain_job(trace: Path, work: Path, limits: Limits, layer: int = 0) -> PlainJob:
    work.mkdir(exist_ok=True)
    return PlainJob(cast(SparkSession, None), look_at(trace), layer, work, limits)
