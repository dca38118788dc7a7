"""The tables of a campaign without Spark, from the same results: for campaigns so small that
starting Spark would take longer than they do. A test holds them to those that Spark makes."""

from collections.abc import Iterable, Iterator
from functools import reduce
from math import sqrt
from operator import add
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.campaigns.folder import Folder
from antecede.campaigns.plan import Plan
from antecede.campaigns.runs import OK, read_result
from antecede.campaigns.student import half_width
from antecede.campaigns.tables import HISTOGRAMS, RUNS, SETTING, SKIPPED, SUMMARY, Table
from antecede.errors import BrokenInvariant

Row = dict[str, Any]


def write_tables(plan: Plan, folder: Folder) -> None:
    """All tables, under the names that they have until they are complete."""
    aside = folder.tables_aside
    runs = list(_runs(plan, folder))
    _save(aside, RUNS, runs)
    _save(aside, SUMMARY, _summary(runs))
    _save(aside, HISTOGRAMS, _histograms(plan, folder))
    _save(
        aside,
        SKIPPED,
        ({**msgspec.structs.asdict(cell.setting), "reason": cell.reason} for cell in plan.skipped),
    )


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


def _save(aside: Path, table: Table, rows: Iterable[Row]) -> None:
    place = aside / table.name
    place.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(list(rows), table.schema), place / "table.parquet")


def _runs(plan: Plan, folder: Folder) -> Iterator[Row]:
    for planned in plan.runs:
        known = {
            **msgspec.structs.asdict(planned.setting),
            **{name: getattr(planned, name) for name in ("run", "seed", "scenario", "promised")},
            **_result(folder, planned.run),
        }
        yield {name: known.get(name) for name in RUNS.schema.names}


def _result(folder: Folder, run: str) -> Row:
    result = read_result(folder, run)
    if result is None:
        raise BrokenInvariant(f"run {run} has no result in {folder.results}")
    return result


def _histograms(plan: Plan, folder: Folder) -> Iterator[Row]:
    for planned in plan.distinct():
        found = _result(folder, planned.run).get("histograms", {})
        for measure, buckets in found.items():
            for low, high, count in zip(*buckets, strict=True):
                values = (planned.run, measure, low, high, count)
                yield dict(zip(HISTOGRAMS.schema.names, values, strict=True))


def _summary(runs: list[Row]) -> Iterator[Row]:
    """Every measure of every setting over its seeds, in the order of the table on Spark."""
    settings: dict[tuple[Any, ...], list[Row]] = {}
    names = [column.name for column in SETTING]
    for row in runs:
        if row["status"] == OK:
            settings.setdefault(tuple(row[name] for name in names), []).append(row)
    for setting in sorted(settings):
        for measure in sorted(RUNS.measures):
            values = [row[measure] for row in settings[setting] if row[measure] is not None]
            if values:
                yield {
                    **dict(zip(names, setting, strict=True)),
                    "measure": measure,
                    **_spread(sorted(map(float, values))),
                }


def _spread(values: list[float]) -> Row:
    """Summed up in the order of their size, as on Spark."""
    n = len(values)
    mean = _total(values) / n
    row: Row = {"n": n, "mean": mean, "min": values[0], "max": values[-1]}
    if n > 1:
        row["sd"] = sqrt(_total((value - mean) ** 2 for value in values) / (n - 1))
        half = half_width(n - 1) * row["sd"] / sqrt(n)
        row |= {"low": mean - half, "high": mean + half}
    return row


def _total(values: Iterable[float]) -> float:
    """One by one, as Spark does it; newer Pythons' `sum` makes up for what rounding loses."""
    return reduce(add, values, 0.0)
