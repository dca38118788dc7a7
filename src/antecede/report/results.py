"""What a campaign left behind, read for the report: by pyarrow alone, no Spark."""

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.campaigns import tables
from antecede.campaigns.steady import Verdict, series_of, verdicts
from antecede.errors import BadFile
from antecede.report.charts.canvas import Estimate
from antecede.report.charts.looks import Series
from antecede.scaled import scale

Rows = list[dict[str, Any]]
FINISHED = "campaign.json"
"""Written last. Without it the tables may be of different calls, or of another campaign file."""
MOST_DRAWN = 12
"""Environments that get figures of their own; a table has them all."""


class Facet(NamedTuple):
    """The environments that protocols are compared in."""

    network: str
    workload: str


class Setting(NamedTuple):
    """What the runs of one point of a chart share."""

    variant: str
    facet: Facet
    processes: int


@dataclass
class Results:
    """The tables of one campaign, indexed as the report asks for them."""

    folder: Path
    file: str
    """The campaign file as it was run; empty where it is not known."""
    runs: pa.Table
    summary: Mapping[Setting, Mapping[str, Estimate]]
    histograms: pa.Table
    skipped: Rows
    settings: list[Setting]
    options: Mapping[str, Mapping[str, Any]]
    """The options of every variant."""
    protocols: Mapping[str, str]
    """The protocol of every variant."""
    steadiness: Mapping[Setting, Mapping[str, Verdict]] = field(default_factory=dict)
    """Of every setting the series that were watched, and whether they were steady."""
    series: Mapping[str, Series] = field(init=False)

    def __post_init__(self) -> None:
        variants = sorted({setting.variant for setting in self.settings}, key=natural)
        self.series = {
            name: Series(name, place, switched=True) for place, name in enumerate(variants)
        }

    @property
    def title(self) -> str:
        return str(self._about.get("name") or self.folder.resolve().name)

    @property
    def question(self) -> str:
        return str(self._about.get("question") or "")

    @cached_property
    def _about(self) -> dict[str, Any]:
        """What the campaign file says. The report can do without it."""
        try:
            return tomllib.loads(self.file)
        except tomllib.TOMLDecodeError:
            return {}

    @cached_property
    def ordered(self) -> frozenset[str]:
        """The variants that promised causal order in every run and kept it."""
        finished, loose = set(), set()
        for row in self.rows("variant", "status", "promised", "violations"):
            if row["status"] == "ok":
                finished.add(row["variant"])
                if not row["promised"] or row["violations"]:
                    loose.add(row["variant"])
        return frozenset(finished - loose)

    @cached_property
    def facets(self) -> list[Facet]:
        return sorted(self._inside, key=lambda facet: natural(" ".join(facet)))

    @cached_property
    def _inside(self) -> dict[Facet, list[Setting]]:
        found: dict[Facet, list[Setting]] = {}
        for setting in self.settings:
            found.setdefault(setting.facet, []).append(setting)
        return found

    @property
    def drawn(self) -> list[Facet]:
        """Those that get figures of their own."""
        return self.facets[:MOST_DRAWN]

    def settings_in(self, facet: Facet) -> list[Setting]:
        return self._inside[facet]

    def name(self, facet: Facet) -> str:
        """As much of it as tells it from the others; empty where there is no other."""
        parts = [
            part
            for part, all_parts in zip(facet, zip(*self.facets, strict=True), strict=True)
            if len(set(all_parts)) > 1
        ]
        return " · ".join(parts)

    def estimate(self, setting: Setting, measure: str) -> Estimate | None:
        return self.summary.get(setting, {}).get(measure)

    def rows(self, *columns: str) -> Rows:
        rows: Rows = self.runs.select(list(columns)).to_pylist()
        return rows

    def option(self, variant: str, name: str, processes: int) -> float | None:
        """An option as a number, whatever form the campaign file gave it (`2n`, `n^2`)."""
        value = scale(self.options[variant].get(name), processes)
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            return None
        try:
            return float(value)
        except ValueError:
            return None


def read_results(folder: Path) -> Results:
    """The tables in the folder. What is missing or of another version is named."""
    if not folder.is_dir():
        raise BadFile(str(folder), ["no such folder; give the one that `campaign run` wrote"])
    if not (folder / FINISHED).is_file():
        fix = "run `antecede campaign run` to its end (it resumes where it stopped)"
        raise BadFile(str(folder), [f"no finished campaign is there (no {FINISHED}); {fix}"])
    mistakes: list[str] = []
    runs, summary, histograms, skipped = (
        _read(folder, table, mistakes)
        for table in (tables.RUNS, tables.SUMMARY, tables.HISTOGRAMS, tables.SKIPPED)
    )
    if not mistakes and not len(runs) and not len(skipped):
        mistakes.append(f"{tables.RUNS.name}: has no rows: the campaign has not run anything yet")
    if mistakes:
        raise BadFile(str(folder), mistakes)
    planned = _settings(runs)
    steadiness = _steadiness(runs)
    variants = {row["variant"]: row for row in planned.values()}
    return Results(
        folder=folder,
        file=_read_file(folder),
        runs=runs,
        summary=_index(summary, steadiness),
        histograms=histograms,
        skipped=skipped.to_pylist(),
        steadiness=steadiness,
        settings=sorted(planned, key=lambda s: natural(f"{s.facet} {s.variant} {s.processes}")),
        options={variant: _parse(row["options"]) for variant, row in variants.items()},
        protocols={variant: row["protocol"] for variant, row in variants.items()},
    )


def natural(text: str) -> list[tuple[int, float, str]]:
    """A key that puts `k=2` before `k=16`, `k=n` before `k=2n`, and `k=n^2` after both."""
    text = re.sub(r"=(\d*n\^2)", r"=~\1", text)
    pieces = re.split(r"(\d+(?:\.\d+)?)", re.sub(r"=n\b", "=1n", text))
    return [(0, float(p), "") if i % 2 else (1, 0.0, p) for i, p in enumerate(pieces)]


def _read(folder: Path, table: tables.Table, mistakes: list[str]) -> pa.Table:
    files = sorted((folder / table.name).glob("[!._]*.parquet"))
    if not files:
        mistakes.append(
            f"{table.name}/: no Parquet file there; run `antecede campaign run` to its end "
            "(it resumes where it stopped)"
        )
        return table.schema.empty_table()
    read = []
    for file in files:
        try:
            found = pq.read_table(file)
        except (pa.ArrowException, OSError) as error:
            mistakes.append(f"{table.name}/{file.name}: not a readable Parquet file: {error}")
            continue
        wrong = _differences(found.schema, table)
        mistakes.extend(f"{table.name}/{file.name}: {each}" for each in wrong)
        if not wrong:
            read.append(found.select(table.schema.names).cast(table.schema))
    return pa.concat_tables(read) if read else table.schema.empty_table()


def _differences(schema: pa.Schema, table: tables.Table) -> list[str]:
    """How the columns of a file differ from those that this version of Antecede knows."""
    version = (schema.metadata or {}).get(tables.VERSION_KEY.encode(), tables.VERSION.encode())
    if version != tables.VERSION.encode():
        return [f"tables of version {version.decode()}, and this reads {tables.VERSION}"]
    missing = [column.name for column in table.columns if column.name not in schema.names]
    if missing:
        listed = ", ".join(f"`{name}`" for name in missing)
        return [f"written by another version of Antecede: no column {listed}; run it again"]
    return [
        f"written by another version of Antecede: column `{column.name}` is "
        f"{schema.field(column.name).type}, not {column.type}; run it again"
        for column in table.columns
        if schema.field(column.name).type != column.type
    ]


def _settings(runs: pa.Table) -> dict[Setting, dict[str, Any]]:
    """Every setting that was planned, failed ones included, with the columns it shares."""
    names = [column.name for column in tables.SETTING]
    distinct = runs.select(names).group_by(names).aggregate([]).to_pylist()
    return {_setting(row): row for row in distinct}


def _setting(row: dict[str, Any]) -> Setting:
    return Setting(row["variant"], Facet(row["network"], row["workload"]), row["processes"])


def _steadiness(runs: pa.Table) -> dict[Setting, dict[str, Verdict]]:
    rows: dict[Setting, Rows] = {}
    for row in runs.to_pylist():
        rows.setdefault(_setting(row), []).append(row)
    return {setting: verdicts(found) for setting, found in rows.items()}


def is_unsteady(steadiness: Mapping[str, Verdict], measure: str) -> bool:
    """Whether a measure of a setting is made of a series that is not known to be steady."""
    series = series_of(measure)
    found = Verdict.STEADY if series is None else steadiness.get(series, Verdict.STEADY)
    return found is not Verdict.STEADY


def _index(
    summary: pa.Table, steadiness: Mapping[Setting, Mapping[str, Verdict]]
) -> dict[Setting, dict[str, Estimate]]:
    index: dict[Setting, dict[str, Estimate]] = {}
    for row in summary.to_pylist():
        if row["mean"] is None or not math.isfinite(row["mean"]):
            continue
        low = row["mean"] if row["low"] is None else row["low"]
        high = row["mean"] if row["high"] is None else row["high"]
        setting = _setting(row)
        unsteady = is_unsteady(steadiness.get(setting, {}), row["measure"])
        estimate = Estimate(row["mean"], low, high, row["n"], unsteady)
        index.setdefault(setting, {})[row["measure"]] = estimate
    return index


def _parse(options: str) -> dict[str, Any]:
    try:
        parsed = json.loads(options)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _read_file(folder: Path) -> str:
    try:
        return (folder / "campaign.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
