"""The tables of a campaign as pages ask for them: means over seeds with their intervals, and
differences and ratios of runs that saw the same traffic."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import floor, log10, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from antecede.campaigns.steady import Verdict
from antecede.campaigns.student import half_width
from antecede.report.charts.canvas import Estimate
from antecede.report.figure import UNSTEADY
from antecede.report.results import Results, is_unsteady, natural, read_results
from bench.docs import markdown

NOTHING = "–"
UNSETTLED = "not all runs were steady, so that nothing is concluded"
SIGNIFICANT = 3
MOST_DIGITS = 4


class Reading:
    """What a campaign has found."""

    def __init__(self, folder: Path) -> None:
        self.results: Results = read_results(folder)

    @cached_property
    def sizes(self) -> list[int]:
        return sorted({setting.processes for setting in self.results.settings})

    @cached_property
    def workloads(self) -> list[str]:
        """In the order of the file."""
        return list(dict.fromkeys(row["workload"] for row in self._rows))

    def variants(self, protocol: str) -> list[str]:
        """Of a protocol, small numbers first."""
        found = self.results.protocols.items()
        return sorted((name for name, owner in found if owner == protocol), key=_by_option)

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.results.runs.to_pylist()
        return rows

    @cached_property
    def _runs(self) -> dict[tuple[str, str, int], dict[int, dict[str, Any]]]:
        """By variant, workload and number of processes: the runs, by seed."""
        found: dict[tuple[str, str, int], dict[int, dict[str, Any]]] = {}
        for row in self._rows:
            setting = (row["variant"], row["workload"], row["processes"])
            found.setdefault(setting, {})[row["seed"]] = row
        return found

    def mean(self, variant: str, workload: str, size: int, measure: str) -> Estimate | None:
        return self.derived(variant, workload, size, lambda row: _number(row, measure))

    def derived(
        self,
        variant: str,
        workload: str,
        size: int,
        value: Callable[[dict[str, Any]], float | None],
    ) -> Estimate | None:
        """Of something that is made of several columns of a run."""
        runs = [_Row(row) for row in self._runs.get((variant, workload, size), {}).values()]
        found = estimate(found for row in runs if (found := value(row)) is not None)
        return self._marked(found, [(variant, workload, size)], *runs)

    def _marked(
        self,
        found: Estimate | None,
        settings: Sequence[tuple[str, str, int]],
        *rows: "_Row",
    ) -> Estimate | None:
        """Unsteady, where one of the columns that it was made of is in one of the settings."""
        measures = {name for row in rows for name in row.read}
        unsteady = any(
            is_unsteady(self._steadiness[setting], measure)
            for setting in settings
            for measure in measures
        )
        return replace(found, is_unsteady=True) if found and unsteady else found

    @cached_property
    def _steadiness(self) -> dict[tuple[str, str, int], Mapping[str, Verdict]]:
        return {
            (setting.variant, setting.facet.workload, setting.processes): found
            for setting, found in self.results.steadiness.items()
        }

    def lengths(self) -> str:
        """How long the runs were, and what of it was cut off, for people."""
        lines = []
        for workload in self.workloads:
            rows = [row for row in self._rows if row["workload"] == workload]
            counts = {
                size: {
                    (row["messages"], row["warm_up"]) for row in rows if row["processes"] == size
                }
                for size in self.sizes
            }
            told = [_length(size, found) for size, found in counts.items() if found]
            lines.append(f"{workload}: {', '.join(told)}")
        return "; ".join(lines)

    def compared(
        self,
        variant: str,
        base: str,
        workload: str,
        size: int,
        value: Callable[[dict[str, Any], dict[str, Any]], float | None],
    ) -> Estimate | None:
        """Of something that is made of two runs with the same seed, and so of the same traffic."""
        mine = self._runs.get((variant, workload, size), {})
        theirs = self._runs.get((base, workload, size), {})
        pairs = [(_Row(mine[seed]), _Row(theirs[seed])) for seed in sorted({*mine} & {*theirs})]
        found = estimate(found for pair in pairs if (found := value(*pair)) is not None)
        settings = [(name, workload, size) for name in (variant, base)]
        return self._marked(found, settings, *(row for pair in pairs for row in pair))

    def ratio(
        self, variant: str, base: str, workload: str, size: int, measure: str
    ) -> Estimate | None:
        def value(mine: dict[str, Any], theirs: dict[str, Any]) -> float | None:
            upper, lower = _number(mine, measure), _number(theirs, measure)
            return upper / lower if upper is not None and lower else None

        return self.compared(variant, base, workload, size, value)

    def ratio_of_workloads(
        self, variant: str, workload: str, base: str, size: int, measure: str
    ) -> float:
        """Of the means under two workloads; 0 where one is missing."""
        upper = self.mean(variant, workload, size, measure)
        lower = self.mean(variant, base, size, measure)
        return upper.mean / lower.mean if upper and lower and lower.mean else 0.0

    def field(self, name: str) -> Any:
        """A field of the scenarios, which is the same in all of them."""
        (value,) = {json.loads(row["scenario"])[name] for row in self._rows}
        return value

    def difference(
        self, variant: str, base: str, workload: str, size: int, measure: str
    ) -> Estimate | None:
        def value(mine: dict[str, Any], theirs: dict[str, Any]) -> float | None:
            one, other = _number(mine, measure), _number(theirs, measure)
            return None if one is None or other is None else one - other

        return self.compared(variant, base, workload, size, value)


class _Row(dict[str, Any]):
    """The columns of a run; it notes which of them are read."""

    def __init__(self, row: dict[str, Any]) -> None:
        super().__init__(row)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)


def _length(size: int, found: set[tuple[int, int]]) -> str:
    """`n = 8: 1,600 messages, 400 of them warm-up`."""

    def span(values: Iterable[int]) -> str:
        low, high = min(values), max(values)
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"

    messages, cut = ({pair[place] for pair in found} for place in (0, 1))
    warm_up = f", {span(cut)} of them warm-up" if any(cut) else ""
    return f"n = {size}: {span(messages)} messages{warm_up}"


def estimate(values: Iterable[float]) -> Estimate | None:
    """The mean, with its 95 % confidence interval by Student's t."""
    found = list(values)
    if not found:
        return None
    mean = fmean(found)
    if len(found) == 1:
        return Estimate(mean, mean, mean, 1)
    half = half_width(len(found) - 1) * stdev(found) / sqrt(len(found))
    return Estimate(mean, mean - half, mean + half, len(found))


def _number(row: dict[str, Any], measure: str) -> float | None:
    value = row[measure]
    return None if value is None else float(value)


def _by_option(variant: str) -> tuple[bool, list[tuple[int, float, str]]]:
    """Squares of the number of processes come last."""
    return variant.endswith("^2"), natural(variant)


# For people.


def number(value: float) -> str:
    """Three significant digits."""
    if value == 0:
        return "0"
    if abs(value) >= 10**SIGNIFICANT:
        return f"{value:,.0f}"
    digits = max(0, SIGNIFICANT - 1 - floor(log10(abs(value))))
    return f"{value:.{min(digits, MOST_DIGITS)}f}"


def with_interval(found: Estimate | None, factor: float = 1.0) -> str:
    """A mean with half the width of its interval, as exact as that allows."""
    if found is None:
        return NOTHING
    mean, half = found.mean * factor, (found.high - found.low) / 2 * factor
    mark = f" {UNSTEADY}" if found.is_unsteady else ""
    if abs(half) <= abs(mean) * 1e-9 or found.runs == 1:
        return number(mean) + mark
    digits = min(MOST_DIGITS, max(0, 1 - floor(log10(half))))
    if abs(mean) >= 10**SIGNIFICANT:
        digits = 0
    return f"{mean:,.{digits}f} ± {half:,.{digits}f}{mark}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n" + markdown(columns, rows)


def listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def holds(is_so: bool) -> str:
    return "holds here" if is_so else "does not hold here"


def is_less(one: Estimate | None, other: Estimate | None) -> bool:
    """By more than chance: the intervals do not meet. Never so for what is not steady."""
    return is_steady(one, other) and one.high < other.low  # type: ignore[union-attr]


def is_steady(*found: Estimate | None) -> bool:
    """Whether all are there and steady, so that something may be concluded from them."""
    return all(each is not None and not each.is_unsteady for each in found)


def increasing(differences: Iterable[Estimate | None]) -> str:
    """Whether something grows by all these differences, in words."""
    found = list(differences)
    if any(each is not None and each.is_unsteady for each in found):
        return "is not decided: not all runs were steady"
    if all(each is not None and each.low > 0 for each in found):
        return holds(True)
    if any(each is not None and each.high < 0 for each in found):
        return holds(False)
    return "is not decided beyond chance"
