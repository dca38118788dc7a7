"""The tables of a campaign as pages ask for them: means over seeds with their intervals, and
differences and ratios of runs that saw the same traffic."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import floor, log10, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from antecede.campaigns.student import half_width
from antecede.report.charts.canvas import Estimate
from antecede.report.results import Results, natural, read_results
from bench.docs import markdown

NOTHING = "–"
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
        runs = self._runs.get((variant, workload, size), {})
        return estimate(found for row in runs.values() if (found := value(row)) is not None)

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
        pairs = [(mine[seed], theirs[seed]) for seed in sorted({*mine} & {*theirs})]
        return estimate(found for pair in pairs if (found := value(*pair)) is not None)

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
    if abs(half) <= abs(mean) * 1e-9 or found.runs == 1:
        return number(mean)
    digits = min(MOST_DIGITS, max(0, 1 - floor(log10(half))))
    if abs(mean) >= 10**SIGNIFICANT:
        digits = 0
    return f"{mean:,.{digits}f} ± {half:,.{digits}f}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n" + markdown(columns, rows)


def listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def holds(is_so: bool) -> str:
    return "holds here" if is_so else "does not hold here"


def is_less(one: Estimate | None, other: Estimate | None) -> bool:
    """By more than chance: the intervals do not meet."""
    return one is not None and other is not None and one.high < other.low


def increasing(differences: Iterable[Estimate | None]) -> str:
    """Whether something grows by all these differences, in words."""
    found = list(differences)
    if all(each is not None and each.low > 0 for each in found):
        return holds(True)
    if any(each is not None and each.high < 0 for each in found):
        return holds(False)
    return "is not decided beyond chance"
