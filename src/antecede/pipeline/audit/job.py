"""What a verification on Spark works with, and how it is cut."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

from antecede.pipeline.audit.source import Source, read_events
from antecede.pipeline.audit.store import PIECE
from antecede.pipeline.audit.windows import SHARD

Spec = TypeVar("Spec")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Limits:
    """How work is cut. The defaults suit workers with 2 GiB."""

    run_rows: int = 4_000_000
    """Runs of more rows than this are cut into windows."""
    window_rows: int = 2_000_000
    """Rows of a window, where a task takes them as they stand in the files,"""
    reach: int = 500_000
    """and of what it reads before and behind it."""
    window_copies: int = 1_000_000
    """Windows are not made smaller than this for the sake of using all workers."""
    piece: int = PIECE
    """How many copies a task takes at a time."""
    shard: int = SHARD
    """Destinations from which on they are dealt out to several tasks."""
    windows: int | None = None
    """Their number, if it is not to be chosen,"""
    lead: int | None = None
    """and their lead."""


@dataclass(frozen=True)
class Job:
    """What a verification works with."""

    spark: SparkSession
    source: Source
    layer: int
    work: Path
    limits: Limits = field(default_factory=Limits)
    findings: Path | None = None
    """Where all findings are to be kept."""
    tell: Callable[[str], None] = lambda _: None
    """Is told what is being done."""

    @cached_property
    def events(self) -> DataFrame:
        """All rows, for those who need SQL to understand them."""
        return read_events(self.spark, self.source)

    @property
    def cores(self) -> int:
        """How many tasks run at a time."""
        return self.spark.sparkContext.defaultParallelism

    def each(self, specs: Sequence[Spec], task: Callable[[Spec], Result]) -> list[Result]:
        """One task for each of these, in their order."""
        if not specs:
            return []
        context = self.spark.sparkContext
        results: list[Result] = context.parallelize(specs, len(specs)).map(task).collect()
        return results
