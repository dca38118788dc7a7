"""All protocols in one table for each surrounding, with a small bar in every cell."""

from typing import NamedTuple

from antecede.report.charts.canvas import Estimate
from antecede.report.charts.looks import Series
from antecede.report.figure import with_interval
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import BYTES, ELEMENTS, PLAIN, SECONDS, Unit
from antecede.report.results import Facet, Results, Setting

BAR = 64


class Aspect(NamedTuple):
    column: str
    heading: str
    unit: Unit


ASPECTS = (
    Aspect("stamp_entries_mean", "stamp", ELEMENTS),
    Aspect("stamp_bytes_mean", "stamp", BYTES),
    Aspect("stamp_bytes_p99", "stamp, 99th percentile", BYTES),
    Aspect("ordering_bytes_per_message", "all ordering", BYTES),
    Aspect("control_per_message", "extra packets", PLAIN),
    Aspect("hops_per_message", "hops", PLAIN),
    Aspect("delay_s_mean", "delay", SECONDS),
    Aspect("hold_s_mean", "held", SECONDS),
    Aspect("unnecessary_s_mean", "held needlessly", SECONDS),
    Aspect("queue_max", "longest queue", PLAIN),
    Aspect("state_bytes_mean", "state", BYTES),
)


def comparison(results: Results, facet: Facet) -> Markup | None:
    """The table at the largest size that has results. Its headings sort it."""
    sizes = [s.processes for s in results.summary if s.facet == facet]
    if not sizes:
        return None
    size = max(sizes)
    settings = [s for s in results.settings if s.facet == facet and s.processes == size]
    columns = [
        (aspect, values)
        for aspect in ASPECTS
        if any((values := {s: results.estimate(s, aspect.column) for s in settings}).values())
    ]
    name = results.name(facet)
    caption = f"{name}, {size} processes" if name else f"{size} processes"
    head = [tag("th", _sorter("protocol"), scope="col", aria_sort="none")]
    cells: dict[Setting, list[Markup]] = {setting: [] for setting in settings}
    for aspect, values in columns:
        largest = max(estimate.mean for estimate in values.values() if estimate)
        unit = aspect.unit.fitted(largest)
        heading = f"{aspect.heading}, {unit.name}" if unit.name else aspect.heading
        head.append(tag("th", _sorter(heading), scope="col", class_="number", aria_sort="none"))
        for setting, estimate in values.items():
            cells[setting].append(_cell(estimate, largest, with_interval(estimate, unit)))
    body = [
        tag("tr", _row_head(series), *row, data_series=series.switch)
        for setting, row in cells.items()
        if (series := results.series[setting.variant])
    ]
    table = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *head)),
        tag("tbody", join(*body)),
        class_="comparison sortable",
    )
    return tag(
        "div", table, class_="scroll", tabindex=0, role="region", aria_label=f"Table: {caption}"
    )


def _sorter(heading: str) -> Markup:
    return tag("button", heading, type="button")


def _row_head(series: Series) -> Markup:
    return tag("th", series.sample(), tag("span", series.name), scope="row", data_sort=series.name)


def _cell(estimate: Estimate | None, largest: float, text: str) -> Markup:
    if estimate is None:
        return tag("td", text, class_="number")
    wide = BAR * max(estimate.mean, 0.0) / largest if largest > 0 else 0.0
    bar = tag(
        "svg",
        tag("rect", width=wide, height=4, rx=2, class_="cell-bar"),
        viewBox=f"0 0 {BAR} 4",
        width=BAR,
        height=4,
        aria_hidden="true",
    )
    mean, _, half = text.partition(" ± ")
    interval = tag("small", f"± {half}") if half else None
    return tag(
        "td", tag("span", mean), interval, bar, class_="number", data_sort=repr(estimate.mean)
    )
