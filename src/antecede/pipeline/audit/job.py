"""What a verification on Spark works with, and how it is cut: files, looked at on the driver, whose
rows are never there, and tasks."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from pyspark.sql import SparkSession

from antecede.files import path_of
from antecede.pipeline.connect import is_connect, parallelism
from antecede.pipeline.spread import spread
from antecede.trace.events import Sources
from antecede.trace.reader import HIVE_NULL, find_files, open_checked, run_from_path
from antecede.trace.schema import APP, ORDERED
from antecede.verify.passes import SHARD

Spec = TypeVar("Spec")
Result = TypeVar("Result")


@dataclass(frozen=True)
class File:
    """A file of a trace."""

    path: str
    first_row: int
    """The number of its first row over all files."""
    groups: tuple[int, ...]
    """How many rows its row groups have."""
    run: str | None
    """The run that the name of its folder gives, if it has no such column."""

    @property
    def rows(self) -> int:
        return sum(self.groups)


@dataclass(frozen=True)
class Source:
    """The files of a trace, all of which have passed the check of their columns."""

    root: str
    files: Sequence[File]
    is_scoped: bool = False
    """Whether messages say what they are ordered with respect to."""

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def sources(self) -> Sources:
        return Sources([file.path for file in self.files], [file.first_row for file in self.files])


def look_at(path: str | os.PathLike[str]) -> Source:
    """Find the files of a trace and read their footers."""
    files: list[File] = []
    first_row, is_scoped = 0, False
    for file in find_files(path_of(path)):
        parquet = open_checked(file)
        metadata = parquet.metadata
        groups = tuple(metadata.row_group(g).num_rows for g in range(metadata.num_row_groups))
        is_scoped |= ORDERED in parquet.schema_arrow.names
        run = None if "run" in parquet.schema_arrow.names else run_from_path(file)
        run = None if run == HIVE_NULL else run
        files.append(File(str(file), first_row, groups, run))
        first_row += sum(groups)
    return Source(str(path), files, is_scoped)


@dataclass(frozen=True)
class Limits:
    """How work is cut. The defaults suit workers with 2 GiB."""

    run_rows: int = 4_000_000
    """Runs of more rows than this are cut into windows."""
    window_rows: int = 2_000_000
    """Rows of a window, where a task takes them as they stand in the files,"""
    reach: int = 500_000
    """and of what it reads before and behind it."""
    shard: int = SHARD
    """Destinations from which on they are dealt out to several tasks, where long flights are."""
    windows: int | None = None
    """Their number, if it is not to be chosen."""


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

    @property
    def is_scoped(self) -> bool:
        """Whether less than causal order is asked for."""
        return self.layer == APP and self.source.is_scoped

    @property
    def cores(self) -> int:
        """How many tasks run at a time."""
        return parallelism(self.spark)

    def each(self, specs: Sequence[Spec], task: Callable[[Spec], Result]) -> list[Result]:
        """One task for each of these, in their order."""
        if not specs:
            return []
        if is_connect(self.spark):
            numbered = spread(
                self.spark, [*enumerate(specs)], partial(_numbered, task), slices=len(specs)
            )
            return [result for _, result in sorted(numbered, key=itemgetter(0))]
        context = self.spark.sparkContext
        results: list[Result] = context.parallelize(specs, len(specs)).map(task).collect()
        return results


def _numbered(task: Callable[[Spec], Result], spec: tuple[int, Spec]) -> tuple[int, Result]:
    return spec[0], task(spec[1])
