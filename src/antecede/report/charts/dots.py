"""One value for each series: a dot with its confidence interval, one row each."""

from collections.abc import Sequence

from antecede.report.charts.axes import Axis
from antecede.report.charts.canvas import WIDE, Estimate, label, sheet, shortened, text_width
from antecede.report.charts.looks import Series
from antecede.report.charts.scales import fitting
from antecede.report.markup import Markup, tag
from antecede.report.numbers import Unit, count

STEP = 26.0
TOP = 12.0
BOTTOM = 42.0


def draw_dots(
    rows: Sequence[tuple[Series, Estimate]], title: str, x: tuple[str, Unit], width: int
) -> Markup:
    values = [max(v, 0.0) for _, e in rows for v in (e.mean, e.low, e.high)]
    unit = x[1].fitted(max(values, default=0.0))
    names = max((text_width(series.name) for series, _ in rows), default=0.0)
    left = min(names, 170.0 if width == WIDE else 104.0) + 12
    ends = max((text_width(unit.number(estimate.mean)) for _, estimate in rows), default=0.0)
    scale = fitting(values, 5 if width == WIDE else 3).between(left, width - ends - 24)
    axis = Axis(x[0], scale, unit)
    bottom = TOP + STEP * len(rows)
    drawn = []
    for tick, text in axis.ticks():
        drawn.append(tag("line", x1=tick, x2=tick, y1=TOP - 6, y2=bottom, class_="grid"))
        drawn.append(label(text, tick, bottom + 16, anchor="middle"))
    middle = (scale.start + scale.end) / 2
    drawn.append(label(axis.heading, middle, bottom + 35, "title", "middle"))
    for place, (series, estimate) in enumerate(rows):
        drawn.append(_draw_row(series, estimate, axis, TOP + STEP * (place + 0.5)))
    return sheet(width, bottom + BOTTOM, title, *drawn)


def _draw_row(series: Series, estimate: Estimate, axis: Axis, y: float) -> Markup:
    left, unit = axis.scale.start, axis.unit
    low, at, high = (axis.scale(max(v, 0.0)) for v in (estimate.low, estimate.mean, estimate.high))
    title = f"{series.name}: {unit.quantity(estimate.mean)}"
    if estimate.runs > 1:
        title += f" ({unit.number(estimate.low)} to {unit.number(estimate.high)})"
    return tag(
        "g",
        label(shortened(series.name, left - 10), left - 10, y + 4, "name", "end"),
        tag("line", x1=left, x2=at, y1=y, y2=y, class_="stem"),
        tag("line", x1=low, x2=high, y1=y, y2=y, class_="whisker"),
        series.marker(at, y, title=f"{title}, {count(estimate.runs, 'run')}"),
        label(unit.number(estimate.mean), max(at, high) + 10, y + 4, "value"),
        class_=f"series {series.look}",
        data_series=series.switch,
    )
