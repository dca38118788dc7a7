"""A campaign without Spark, one run after the other in this process: the same tables.

For campaigns so small that starting Spark would take longer than they do, and for tests.
"""

import json
from collections.abc import Iterator
from importlib.metadata import version
from math import sqrt
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.campaigns.file import Campaign
from antecede.campaigns.folder import Folder, write
from antecede.campaigns.plan import Plan
from antecede.campaigns.runs import OK, execute, read_result
from antecede.campaigns.student import half_width
from antecede.campaigns.tables import HISTOGRAMS, RUNS, SETTING, SKIPPED, SUMMARY, Table
from antecede.errors import BrokenInvariant, CannotWrite

COSTS = ("simulate_cpu_s", "verify_cpu_s", "measure_cpu_s")
Row = dict[str, Any]


def run_here(campaign: Campaign, plan: Plan, text: str, out: Path) -> Row:
    """Do what is left of the campaign in the folder, and say how it went."""
    folder = Folder(out)
    with folder.locked():
        write(folder.file, text)
        for planned in plan.distinct():
            outcome = execute(planned, folder=str(out), keep_trace=False)
            if outcome.cannot_write is not None:
                raise CannotWrite(*outcome.cannot_write)
        runs = list(_runs(plan, folder))
        _save(out, RUNS, [{name: row.get(name) for name in RUNS.schema.names} for row in runs])
        _save(out, SUMMARY, list(_summary(runs)))
        _save(out, HISTOGRAMS, list(_histograms(plan, folder)))
        skipped = [
            {**msgspec.structs.asdict(cell.setting), "reason": cell.reason} for cell in plan.skipped
        ]
        _save(out, SKIPPED, skipped)
        about = _about(campaign, runs)
        write(folder.about, json.dumps(about, indent=2) + "\n")
    return about


def _save(out: Path, table: Table, rows: list[Row]) -> None:
    place = out / table.name
    place.mkdir(exist_ok=True)
    for old in place.glob("*.parquet"):
        old.unlink()
    pq.write_table(pa.Table.from_pylist(rows, table.schema), place / "table.parquet")


def _runs(plan: Plan, folder: Folder) -> Iterator[Row]:
    for planned in plan.runs:
        yield {
            **msgspec.structs.asdict(planned.setting),
            **{name: getattr(planned, name) for name in ("run", "seed", "scenario", "promised")},
            **_result(folder, planned.run),
        }


def _result(folder: Folder, run: str) -> Row:
    result = read_result(folder, run)
    if result is None:
        raise BrokenInvariant(f"run {run} has no result in {folder.results}")
    return result


def _histograms(plan: Plan, folder: Folder) -> Iterator[Row]:
    for planned in plan.distinct():
        found = _result(folder, planned.run).get("histograms", {})
        for measure, (lows, highs, counts) in found.items():
            for low, high, count in zip(lows, highs, counts, strict=True):
                yield {
                    "run": planned.run,
                    "measure": measure,
                    "low": low,
                    "high": high,
                    "count": count,
                }


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
    mean = sum(values) / n
    row: Row = {"n": n, "mean": mean, "min": values[0], "max": values[-1]}
    if n > 1:
        row["sd"] = sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
        half = half_width(n - 1) * row["sd"] / sqrt(n)
        row |= {"low": mean - half, "high": mean + half}
    return row


def _about(campaign: Campaign, runs: list[Row]) -> Row:
    """As much of `campaign.json` as tells how it went. It has no fingerprint: a campaign on Spark
    in this folder would make its tables anew."""
    return {
        "name": campaign.name,
        "question": campaign.question,
        "version": version("antecede"),
        "runs": len(runs),
        "failed": sum(row["status"] != OK for row in runs),
        "broken": sum(bool(row.get("violations") and row["promised"]) for row in runs),
        "events": sum(row.get("events") or 0 for row in runs),
        **{cost: sum(row.get(cost) or 0.0 for row in runs) for cost in COSTS},
    }
