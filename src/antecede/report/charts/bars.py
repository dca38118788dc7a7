"""Horizontal bars that are stacked from parts, in groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from antecede.report.charts.axes import Axis
from antecede.report.charts.canvas import WIDE, label, sheet, shortened, text_width
from antecede.report.charts.looks import Series
from antecede.report.charts.scales import tight
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import Unit

BAR = 18.0
STEP = 26.0
HEADING = 26.0
BOTTOM = 42.0
HATCHED = {2: "M-1 1L1 -1M0 6L6 0M5 7L7 5", 3: "M0 0L6 6M0 6L6 0"}
"""The parts that have a hatching, besides their colour."""


@dataclass(frozen=True)
class Bar:
    """A series in a group; one value for each part."""

    series: Series
    group: str
    values: tuple[float, ...]


def draw_bars(
    bars: Sequence[Bar], parts: Sequence[str], title: str, x: tuple[str, Unit], width: int
) -> Markup:
    """Bars under the headings of their groups. The n-th part has the class `part-n` and, laid over
    its colour, its hatching."""
    hatch = f"hatch-{crc32(f'{title} {width}'.encode()):08x}"  # a chart must not use another's
    totals = [sum(bar.values) for bar in bars]
    unit = x[1].fitted(max(totals, default=0.0))
    names = max((text_width(bar.series.name) for bar in bars), default=0.0)
    left = min(names, 170.0 if width == WIDE else 104.0) + 10
    ends = max((text_width(unit.quantity(total)) for total in totals), default=0.0)
    axis = Axis(
        x[0], tight(totals, 5 if width == WIDE else 3).between(left, width - ends - 14), unit
    )
    groups = list(dict.fromkeys(bar.group for bar in bars))
    headed = len(groups) > 1
    key, top = _key(parts, width, hatch)
    drawn, y = [], top + 10
    for group in groups:
        if headed:
            drawn.append(label(group, 2, y + 14, "heading"))
            y += HEADING
        for bar in (bar for bar in bars if bar.group == group):
            drawn.append(_draw_bar(bar, parts, axis, y, hatch))
            y += STEP
        y += 6 if headed else 0
    height = y + BOTTOM
    return sheet(width, height, title, _hatchings(hatch), key, _grid(axis, top, y), *drawn)


def _draw_bar(bar: Bar, parts: Sequence[str], axis: Axis, y: float, hatch: str) -> Markup:
    left = axis.scale.start
    shown = [label(shortened(bar.series.name, left - 8), left - 8, y + 13, "name", "end")]
    reached = 0.0
    for place, (part, value) in enumerate(zip(parts, bar.values, strict=True)):
        start, end = axis.scale(reached), axis.scale(reached + value)
        reached += value
        if end - start < 0.05:
            continue
        title = f"{bar.series.name}, {part}: {axis.unit.quantity(value)}"
        if bar.group:
            title = f"{bar.group}, {title}"
        shown.append(
            tag(
                "g",
                tag("title", title),
                _draw_part(place, start, y, end - start, BAR, hatch),
            )
        )
    shown.append(label(axis.unit.quantity(reached), axis.scale(reached) + 6, y + 13, "value"))
    return tag("g", *shown, class_=f"series {bar.series.look} plain", data_series=bar.series.switch)


def _draw_part(place: int, x: float, y: float, width: float, height: float, hatch: str) -> Markup:
    colour = tag("rect", x=x, y=y, width=width, height=height, class_=f"part part-{place}")
    if place not in HATCHED:
        return colour
    fill = f"url(#{hatch}-{place})"
    return join(colour, tag("rect", x=x, y=y, width=width, height=height, fill=fill))


def _grid(axis: Axis, top: float, bottom: float) -> Markup:
    left = axis.scale.start
    parts = []
    for x, text in axis.ticks():
        parts.append(tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid"))
        parts.append(label(text, x, bottom + 16, anchor="middle"))
    parts.append(tag("line", x1=left, x2=left, y1=top, y2=bottom, class_="base"))
    middle = (axis.scale.start + axis.scale.end) / 2
    parts.append(label(axis.heading, middle, bottom + 35, "title", "middle"))
    return join(*parts)


def _key(parts: Sequence[str], width: int, hatch: str) -> tuple[Markup, float]:
    """What the parts look like, and where the key ends."""
    drawn, x, y = [], 2.0, 4.0
    for place, part in enumerate(parts):
        needed = text_width(part) + 42
        if x > 2 and x + needed > width:
            x, y = 2.0, y + 20
        drawn.append(_draw_part(place, x, y, 18, 12, hatch))
        drawn.append(label(part, x + 24, y + 10.5, "name"))
        x += needed
    return join(*drawn), y + 18


def _hatchings(hatch: str) -> Markup:
    patterns = [
        tag(
            "pattern",
            tag("path", d=path, class_="hatch"),
            id=f"{hatch}-{place}",
            width=6,
            height=6,
            patternUnits="userSpaceOnUse",
        )
        for place, path in HATCHED.items()
    ]
    return tag("defs", *patterns)
