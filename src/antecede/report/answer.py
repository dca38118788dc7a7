"""The answer that the page begins with: who is smallest, who is fastest, and by how much.

Only variants that promised causal order and kept it are compared, each environment at its largest
size, and only measures that were steady. Two are told apart where their intervals do not touch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from antecede.report.charts.canvas import Estimate
from antecede.report.figure import UNSTEADY, render, with_interval
from antecede.report.figures import space_against_delay
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import BYTES, SECONDS, Unit, brief, count
from antecede.report.results import Facet, Results

MOST_NAMED = 4
"""So many names stand in a sentence; of more it says how many they are."""


class Asked(NamedTuple):
    """A measure of which less is better, in words."""

    column: str
    least: str
    unit: Unit


BYTES_ON_A_MESSAGE = Asked("stamp_bytes_mean", "The fewest bytes on a message", BYTES)
DELAY = Asked("delay_s_mean", "The shortest delay from send to delivery", SECONDS)
MEMORY = Asked("state_bytes_mean", "The least memory of a process", BYTES)
ASKED = (BYTES_ON_A_MESSAGE, DELAY, MEMORY)


class Found(NamedTuple):
    """What came out in one environment."""

    facet: Facet
    processes: int
    best: tuple[str, ...]
    """All that cannot be told from the least."""
    least: Estimate
    worst: str
    """The one with the most of those that are steady,"""
    most: Estimate
    is_of_all: bool
    """which are all, or not."""
    are_alike: bool
    """Whether all of them are among the best."""

    @property
    def factor(self) -> float | None:
        """How many times the most is the least; None where that is nothing."""
        return self.most.mean / self.least.mean if self.least.mean > 0 else None


def answer_section(results: Results) -> Markup | None:
    """Three sentences, what they leave out, and one chart; nothing where nothing is compared."""
    if len(results.ordered) < 2:
        return None
    sentences = [_sentence(results, asked) for asked in ASKED]
    said = [tag("li", sentence) for sentence in sentences if sentence]
    if not said:
        return None
    remark = " ".join(_left_out(results))
    charts = (space_against_delay(results, facet) for facet in results.drawn)
    chart = next((chart for chart in charts if chart), None)
    return join(
        tag("ul", *said, class_="answers"),
        tag("p", remark, class_="note") if remark else None,
        render(replace(chart, name="answer-chart"), title=chart.full_title) if chart else None,
    )


def compare(results: Results, facet: Facet, asked: Asked) -> Found | None:
    """The least and the most of a measure in one environment, at the largest size at which two or
    more can be compared and are steady; nothing where one that is not steady may have less."""
    by_size: dict[int, dict[str, Estimate]] = {}
    rivals: dict[int, list[Estimate]] = {}
    for setting in results.settings_in(facet):
        estimate = results.estimate(setting, asked.column)
        if estimate and setting.variant in results.ordered:
            if estimate.is_unsteady:
                rivals.setdefault(setting.processes, []).append(estimate)
            else:
                by_size.setdefault(setting.processes, {})[setting.variant] = estimate
    sizes = [size for size, values in by_size.items() if len(values) > 1]
    if not sizes:
        return None
    values = by_size[max(sizes)]
    ranked = sorted(values, key=lambda name: (values[name].mean, name))
    least, most = values[ranked[0]], values[ranked[-1]]
    others = rivals.get(max(sizes), [])
    if any(rival.low <= least.high for rival in others):
        return None  # one that is not steady may be the least
    best = tuple(name for name in ranked if values[name].low <= least.high)
    are_alike = len(best) == len(ranked)
    return Found(facet, max(sizes), best, least, ranked[-1], most, not others, are_alike)


def _sentence(results: Results, asked: Asked) -> str | None:
    found = [each for facet in results.facets if (each := compare(results, facet, asked))]
    if not found:
        is_measured = any(results.estimate(s, asked.column) for s in results.settings)
        unsteady = f"nothing is concluded, for those with the least were not steady ({UNSTEADY})"
        return f"{asked.least}: {unsteady}." if is_measured else None
    winners = list(dict.fromkeys(each.best for each in found))
    if all(each.are_alike for each in found):
        where = _everywhere(results, found)
        return f"{asked.least}: those compared do not differ by more than chance{where}."
    if len(winners) == 1:
        who = f"{_named(found[0].best)}{_everywhere(results, found)}"
        return f"{asked.least}: {who}, {_by(found, asked)}."
    places = [
        f"{_named(best)} in {_places(results, [e for e in found if e.best == best], len(found))}"
        for best in sorted(winners, key=lambda best: -sum(each.best == best for each in found))
    ]
    where = "; ".join(places)
    return f"{asked.least}: that depends on the environments: {where}; {_by(found, asked)}."


def _everywhere(results: Results, found: Sequence[Found]) -> str:
    if len(results.facets) == 1:
        return ""
    if len(found) < len(results.facets):
        return f" in the {count(len(found), 'environment')} that can be compared"
    return " in both environments" if len(found) == 2 else f" in all {len(found)} environments"


def _places(results: Results, found: Sequence[Found], of: int) -> str:
    if len(found) == 1:
        return f"“{results.name(found[0].facet)}”"
    return f"{len(found)} of {of} environments"


def _named(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{len(names)} variants alike ({', '.join(names[:MOST_NAMED])}, …)"
    *others, last = names
    return f"{', '.join(others)} and {last} alike" if others else last


def _by(found: Sequence[Found], asked: Asked) -> str:
    """By how much, with intervals, where the difference is largest."""
    factors = sorted(each.factor for each in found if each.factor)
    widest = max(found, key=lambda each: each.factor or 0.0)
    unit = asked.unit.fitted(widest.most.mean)
    least, most = (
        f"{with_interval(estimate, unit)} {unit.name}" for estimate in (widest.least, widest.most)
    )
    steady = "" if all(each.is_of_all for each in found) else " of those that are steady"
    size = f"with {count(widest.processes, 'process', 'processes')}"
    figures = f"{least} against {most} of {widest.worst}, which has the most{steady}, {size}"
    if not factors:
        return figures
    if len(factors) == 1 or brief(factors[0]) == brief(factors[-1]):
        return f"{figures}: {brief(factors[-1])} times as much"
    times = f"{brief(factors[0])} to {brief(factors[-1])} times as much"
    return f"{figures}; over the environments, the most is {times}"


def _left_out(results: Results) -> Iterator[str]:
    """What the sentences do not speak of."""
    loose = sorted(set(results.series) - results.ordered)
    if loose:
        names = ", ".join(loose)
        yield f"Not compared, because they promise no causal order or did not keep it: {names}."
    unsteady = {
        setting
        for setting in results.settings
        for asked in ASKED
        if (estimate := results.estimate(setting, asked.column)) and estimate.is_unsteady
    }
    if unsteady:
        yield (
            f"Left out as not steady ({UNSTEADY}): measures of "
            f"{count(len(unsteady), 'setting')} of {len(results.settings)}."
        )
    if results.skipped:
        yield f"{count(len(results.skipped), 'setting')} cannot be run; the last section says why."
