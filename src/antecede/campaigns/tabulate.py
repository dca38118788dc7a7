"""From the results of runs to the tables of a campaign, wherever the runs were done.

Every result is read once, and rows go to the disk in batches. A sum over seeds is made in the order
of the values, so that the same runs always give the same tables.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import reduce
from math import sqrt
from operator import add
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.campaigns.folder import Folder
from antecede.campaigns.plan import Plan, PlannedRun
from antecede.campaigns.runs import OK, read_result
from antecede.campaigns.student import half_width
from antecede.campaigns.tables import HISTOGRAMS, RUNS, SETTING, SKIPPED, SUMMARY, Table
from antecede.errors import BrokenInvariant

Row = dict[str, Any]
BATCH: Final = 2_000
"""Rows that are in memory at once."""


def write_tables(plan: Plan, folder: Folder) -> None:
    """All tables, under the names that they have until they are complete."""
    seen: set[str] = set()
    summary = _Summary()
    with ExitStack() as files:
        runs, histograms, summaries, skipped = (
            files.enter_context(_Writer(folder.tables_aside, table))
            for table in (RUNS, HISTOGRAMS, SUMMARY, SKIPPED)
        )
        for planned in plan.runs:
            result = _result(folder, planned.run)
            known = run_row(planned, result)
            runs.add([known.get(name) for name in RUNS.schema.names])
            summary.add(known)
            if planned.run not in seen:  # settings with different names can be the same
                seen.add(planned.run)
                for measure, buckets in result.get("histograms", {}).items():
                    for low, high, count in zip(*buckets, strict=True):
                        histograms.add((planned.run, measure, low, high, count))
        for spread in summary.rows():
            summaries.add([spread.get(name) for name in SUMMARY.schema.names])
        for cell in plan.skipped:
            about = {**msgspec.structs.asdict(cell.setting), "reason": cell.reason}
            skipped.add([about[name] for name in SKIPPED.schema.names])


def run_row(run: PlannedRun, result: Row) -> Row:
    """What is known of a run before it is done, and what came of it."""
    names = ("run", "seed", "scenario", "promised")
    planned = msgspec.structs.asdict(run.setting) | {name: getattr(run, name) for name in names}
    return planned | result


class _Writer:
    """One table on its way to the disk."""

    def __init__(self, aside: Path, table: Table) -> None:
        place = aside / table.name
        place.mkdir(parents=True)
        self._schema = table.file_schema
        self._file = pq.ParquetWriter(place / "table.parquet", self._schema, compression="zstd")
        self._rows: list[Iterable[Any]] = []

    def add(self, row: Iterable[Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = [pa.array(c, field.type) for c, field in zip(columns, self._schema, strict=True)]
        self._file.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        self._rows.clear()

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._file:
            if self._rows and kind is None:
                self._flush()


PLACES: Final = (
    *("variant", "status", "network", "workload", "processes", "seed", "run"),
    *("delay_s_max", "violations"),
)
"""The columns of `runs` that say which of them are interesting."""


def interesting(runs: Iterable[Row]) -> set[str]:
    """Of each variant the run with the longest delay and the first one with a violation."""
    variants: dict[str, list[Row]] = {}
    for row in runs:
        variants.setdefault(row["variant"], []).append(row)
    found: set[str] = set()
    for mine in variants.values():
        # A run that delivered nothing has no delay.
        found.add(max((row["delay_s_max"] or 0.0, row["run"]) for row in mine)[1])
        place = ("network", "workload", "processes", "seed", "run")
        early = [tuple(row[name] for name in place) for row in mine if row["violations"]]
        found |= {run for *_, run in sorted(early)[:1]}
    return found


def _result(folder: Folder, run: str) -> Row:
    result = read_result(folder, run)
    if result is None:
        raise BrokenInvariant(f"run {run} has no result in {folder.results}")
    return result


class _Summary:
    """Every measure of every setting over its seeds."""

    _NAMES: Final = tuple(column.name for column in SETTING)

    def __init__(self) -> None:
        self._values: dict[tuple[Any, ...], dict[str, list[float]]] = {}

    def add(self, run: Row) -> None:
        if run["status"] != OK:
            return
        values = self._values.setdefault(tuple(run[name] for name in self._NAMES), {})
        for measure in RUNS.measures:
            if run.get(measure) is not None:
                values.setdefault(measure, []).append(float(run[measure]))

    def rows(self) -> Iterator[Row]:
        for setting, measures in sorted(self._values.items()):
            for measure, values in sorted(measures.items()):
                named = dict(zip(self._NAMES, setting, strict=True))
                yield {**named, "measure": measure, **_spread(sorted(values))}


def _spread(values: list[float]) -> Row:
    """Summed up in the order of their size."""
    n = len(values)
    mean = _total(values) / n
    row: Row = {"n": n, "mean": mean, "min": values[0], "max": values[-1]}
    if n > 1:
        row["sd"] = sqrt(_total((value - mean) ** 2 for value in values) / (n - 1))
        half = half_width(n - 1) * row["sd"] / sqrt(n)
        row |= {"low": mean - half, "high": mean + half}
    return row


def _total(values: Iterable[float]) -> float:
    """One by one; newer Pythons' `sum` makes up for what rounding loses."""
    return reduce(add, values, 0.0)
