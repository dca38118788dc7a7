"""Lines over a numeric axis, each with its confidence band."""

from collections.abc import Sequence
from dataclasses import dataclass

from antecede.report.charts.axes import Axis, Frame, draw_axes, frame
from antecede.report.charts.canvas import (
    TEXT_HEIGHT,
    WIDE,
    Estimate,
    label,
    sheet,
    shortened,
    spread_out,
    text_width,
)
from antecede.report.charts.looks import Series
from antecede.report.charts.scales import fitting, named
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import Unit, count

MOST_LABEL = 150.0
MOST_OPAQUE = 0.18


@dataclass(frozen=True)
class Line:
    series: Series
    points: Sequence[tuple[float, Estimate]]


def draw_lines(
    lines: Sequence[Line], title: str, x: tuple[str, Unit], y: tuple[str, Unit], width: int
) -> Markup:
    """The lines, named at their ends where there is room for it."""
    height = 380.0 if width == WIDE else 280.0
    xs = [at for line in lines for at, _ in line.points]
    values = [bound for line in lines for _, e in line.points for bound in (e.mean, e.low, e.high)]
    across = Axis(x[0], named(xs), x[1].fitted(max(xs, default=0.0)), plain=True)
    up = Axis(y[0], fitting([max(v, 0.0) for v in values]), y[1].fitted(max(values, default=0.0)))
    widest = max((text_width(line.series.name) for line in lines), default=0.0)
    right = min(widest, MOST_LABEL) + 26 if width == WIDE else 16.0
    area = frame(across, up, width, height, right)
    drawn = [_draw_bands(lines, area), *(_draw_line(line, area) for line in lines)]
    if width == WIDE:
        return sheet(width, height, title, draw_axes(area), *drawn, _name_ends(lines, area))
    key, bottom = _draw_key(lines, width, height + 8)
    return sheet(width, bottom, title, draw_axes(area), *drawn, key)


def _draw_bands(lines: Sequence[Line], area: Frame) -> Markup:
    """The confidence intervals, under all lines; the more there are, the fainter each."""
    faint = min(MOST_OPAQUE, 2.5 * MOST_OPAQUE / max(len(lines), 1))
    parts = []
    for line in lines:
        ordered = sorted(line.points, key=lambda point: point[0])
        over = [area.point(x, estimate.high) for x, estimate in ordered]
        under = [area.point(x, max(estimate.low, 0.0)) for x, estimate in ordered]
        if len(ordered) == 1:
            (x, high), (_, low) = over[0], under[0]
            band = tag("line", x1=x, x2=x, y1=high, y2=low, class_="whisker")
        else:
            around = _corners([*over, *reversed(under)])
            band = tag("path", d=f"M{around}Z", class_="band", fill_opacity=faint)
        look, switch = f"series {line.series.look}", line.series.switch
        parts.append(tag("g", band, class_=look, data_series=switch))
    return join(*parts)


def _draw_line(line: Line, area: Frame) -> Markup:
    ordered = sorted(line.points, key=lambda point: point[0])
    middle = [area.point(x, estimate.mean) for x, estimate in ordered]
    stroke = tag("path", d=f"M{_corners(middle)}", class_="line", stroke_dasharray=line.series.dash)
    markers = [
        line.series.marker(*place, title=f"{line.series.name}, {_sentence(area, x, estimate)}")
        for place, (x, estimate) in zip(middle, ordered, strict=True)
    ]
    return tag(
        "g",
        stroke if len(ordered) > 1 else None,
        *markers,
        class_=f"series {line.series.look}",
        data_series=line.series.switch,
    )


def _sentence(area: Frame, x: float, estimate: Estimate) -> str:
    unit = area.up.unit
    text = f"{area.across.unit.quantity(x)}: {unit.quantity(estimate.mean)}"
    if estimate.runs > 1:
        text += f" ({unit.number(estimate.low)} to {unit.number(estimate.high)})"
    return f"{text}, {count(estimate.runs, 'run')}"


def _name_ends(lines: Sequence[Line], area: Frame) -> Markup:
    """Names at the right, each beside the end of its line; those of lines that end before the
    others stand where these end."""
    last = max((x for line in lines for x, _ in line.points), default=0.0)
    ends = [max((x, estimate.mean) for x, estimate in line.points) for line in lines]
    full = [place for place, (x, _) in enumerate(ends) if x == last]
    heights = spread_out(
        [area.point(*ends[place])[1] for place in full],
        TEXT_HEIGHT + 2,
        area.top + 4,
        area.bottom - 2,
    )
    beside = dict(zip(full, heights, strict=True))
    parts = []
    for place, (line, end) in enumerate(zip(lines, ends, strict=True)):
        x, y = area.point(*end)
        text = shortened(line.series.name, MOST_LABEL)
        if place in beside:
            way = _corners([(x + 7, y), (area.right + 4, beside[place])])
            leader = tag("path", d=f"M{way}", class_="leader") if abs(beside[place] - y) > 3 else ""
            name = join(leader, label(text, area.right + 7, beside[place] + 4, "name"))
        else:
            name = label(text, x + 9, y - 7, "name")
        look, switch = f"series {line.series.look}", line.series.switch
        parts.append(tag("g", name, class_=look, data_series=switch))
    return join(*parts)


def _draw_key(lines: Sequence[Line], width: int, top: float) -> tuple[Markup, float]:
    """Samples and names under the chart, as many in a row as fit; and where the key ends."""
    parts, x, y = [], 4.0, top
    for line in lines:
        text = shortened(line.series.name, width - 50)
        needed = text_width(text) + 48
        if x > 4 and x + needed > width:
            x, y = 4.0, y + 20
        name = label(text, x + 33, y + 4, "name")
        parts.append(
            tag(
                "g",
                line.series.draw_sample(x, y),
                name,
                class_="series",
                data_series=line.series.switch,
            )
        )
        x += needed
    return join(*parts), y + 14


def _corners(points: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
