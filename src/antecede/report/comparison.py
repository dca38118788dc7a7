"""All protocols in one table for each environment, with a small bar in every cell."""

from typing import NamedTuple

from antecede.report.charts.canvas import Estimate
from antecede.report.charts.looks import Series
from antecede.report.figure import Numbers, render_numbers, with_interval
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import BYTES, ELEMENTS, PLAIN, SECONDS, Unit
from antecede.report.results import Facet, Results, Setting

BAR = 64


class Aspect(NamedTuple):
    column: str
    heading: str
    unit: Unit


STAMP = Aspect("stamp_bytes_mean", "stamp", BYTES)
DELAY = Aspect("delay_s_mean", "delay", SECONDS)
ASPECTS = (
    Aspect("stamp_entries_mean", "stamp", ELEMENTS),
    STAMP,
    Aspect("stamp_bytes_p99", "stamp p99", BYTES),
    Aspect("ordering_bytes_per_message", "all ordering", BYTES),
    Aspect("control_per_message", "extra packets", PLAIN),
    Aspect("hops_per_message", "hops", PLAIN),
    DELAY,
    Aspect("hold_s_mean", "held", SECONDS),
    Aspect("unnecessary_s_mean", "held needlessly", SECONDS),
    Aspect("queue_max", "longest queue", PLAIN),
    Aspect("state_bytes_mean", "state", BYTES),
)


def comparisons(results: Results) -> Markup | None:
    """A table for each environment. Where there are several, each is behind a line to open."""
    tables = {facet: table for facet in results.drawn if (table := comparison(results, facet))}
    if len(tables) < 2:
        return next(iter(tables.values()), None)
    return join(
        *(
            tag(
                "details",
                tag("summary", results.name(facet)),
                table,
                open="" if place == 0 else None,
                class_="one-of-many",
            )
            for place, (facet, table) in enumerate(tables.items())
        )
    )


def overview(results: Results) -> Markup:
    """Stamps and delays in all environments, a row each."""
    parts = []
    for aspect in (STAMP, DELAY):
        found = {
            facet: {
                setting.variant: estimate
                for setting in results.settings_in(facet)  # from small to large: the last one stays
                if (estimate := results.estimate(setting, aspect.column))
            }
            for facet in results.facets
        }
        means = [estimate.mean for row in found.values() for estimate in row.values()]
        unit = aspect.unit.fitted(max(means, default=0.0))
        rows = [
            (
                results.name(facet),
                *(with_interval(row.get(variant), unit) for variant in results.series),
            )
            for facet, row in found.items()
        ]
        caption = f"{aspect.heading}, {unit.name}"
        table = render_numbers(Numbers(("environments", *results.series), rows), caption)
        summary = tag("summary", caption.capitalize())
        parts.append(tag("details", summary, table, class_="one-of-many"))
    return join(*parts)


def comparison(results: Results, facet: Facet) -> Markup | None:
    """The table at the largest size that has results. Its headings sort it."""
    sizes = [s.processes for s in results.settings_in(facet) if results.summary.get(s)]
    if not sizes:
        return None
    size = max(sizes)
    settings = [s for s in results.settings_in(facet) if s.processes == size]
    columns = [
        (aspect, values)
        for aspect in ASPECTS
        if any((values := _values(results, settings, aspect)).values())
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
    body = [_row(results.series[setting.variant], row) for setting, row in cells.items()]
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


def _values(
    results: Results, settings: list[Setting], aspect: Aspect
) -> dict[Setting, Estimate | None]:
    """Nothing where all are zero: such a column would say nothing."""
    values = {setting: results.estimate(setting, aspect.column) for setting in settings}
    return values if any(each and each.mean for each in values.values()) else {}


def _sorter(heading: str) -> Markup:
    return tag("button", heading, type="button")


def _row(series: Series, cells: list[Markup]) -> Markup:
    name = tag("th", series.sample(), tag("span", series.name), scope="row", data_sort=series.name)
    return tag("tr", name, *cells, data_series=series.switch)


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
