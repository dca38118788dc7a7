"""Distributions one above the other, on one scale, so that the eye can compare them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from antecede.report.charts.axes import Axis
from antecede.report.charts.canvas import WIDE, label, sheet
from antecede.report.charts.looks import Series
from antecede.report.charts.scales import ZERO_GAP, Scale, linear
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import SHARE, Unit, exact

PANEL = 76.0
HEAD = 24.0
BOTTOM = 42.0
LEFT = 40.0


@dataclass(frozen=True)
class Histogram:
    """How often each bin occurred. A bin reaches from its first to its second number, without the
    second."""

    series: Series
    bins: Sequence[tuple[float, float, float]]
    mean: float
    total: int
    """Of all values, those beyond the last bin included."""
    remark: str = ""

    def shares(self) -> list[tuple[float, float, float]]:
        return [(low, high, number / max(self.total, 1)) for low, high, number in self.bins]


def draw_histograms(
    histograms: Sequence[Histogram],
    title: str,
    x: tuple[str, Unit],
    scaled: Callable[[int], Scale],
    width: int,
    *,
    whole: bool = False,
) -> Markup:
    """A panel for each. `scaled` gives the axis with about so many ticks. Of `whole` numbers, each
    stands under the middle of its column."""
    shift = 0.5 if whole else 0.0
    shares = [share for histogram in histograms for _, _, share in histogram.shares()]
    scale = scaled(8 if width == WIDE else 4).between(LEFT, width - 12)
    unit = x[1].fitted(scale.high)
    axis = Axis(x[0], scale, unit)
    tallest = linear(shares, 2)
    drawn, y = [], 0.0
    for histogram in histograms:
        up = tallest.between(y + HEAD + PANEL, y + HEAD)
        drawn.append(_draw_panel(histogram, axis, up, shift))
        y += HEAD + PANEL
    for tick in scale.ticks:
        place = _place(scale, tick, shift)
        if place <= scale.end + 1:
            drawn.append(label(unit.tick(tick), place, y + 17, anchor="middle"))
    middle = (scale.start + scale.end) / 2
    drawn.append(label(axis.heading, middle, y + 36, "title", "middle"))
    return sheet(width, y + BOTTOM, title, *drawn)


def _draw_panel(histogram: Histogram, axis: Axis, up: Scale, shift: float) -> Markup:
    series, across, percent = histogram.series, axis.scale, SHARE.fitted(1)
    parts: list[Markup] = []
    for tick in up.ticks:
        y = up(tick)
        kind = "grid" if tick else "base"
        parts.append(tag("line", x1=LEFT, x2=across.end, y1=y, y2=y, class_=kind))
        if tick:
            parts.append(label(f"{percent.tick(tick)} %", LEFT - 6, y + 4, anchor="end"))
    for low, high, share in histogram.shares():
        if not share:
            continue
        left, right, top = across(low), across(high), up(share)
        text = axis.unit.number(low)
        if not (shift and high - low <= 1):
            text += f" to {axis.unit.number(high)}"
        title = f"{series.name}, {text} {axis.unit.name}: {exact(share * 100)} %"
        gap = min(1.0, (right - left) / 5)
        parts.append(
            tag(
                "rect",
                tag("title", title),
                x=left + gap,
                y=top,
                width=max(right - left - 2 * gap, 0.5),
                height=max(up.start - top, 0.0),
                class_="column",
            )
        )
    mean = _place(across, histogram.mean, shift)
    parts.append(tag("line", x1=mean, x2=mean, y1=up.end, y2=up.start, class_="mean"))
    name = f"{series.name} · mean {axis.unit.quantity(histogram.mean)}{histogram.remark}"
    parts.append(label(name, LEFT, up.end - 7, "name"))
    return tag("g", join(*parts), class_=f"series {series.look}", data_series=series.switch)


def _place(across: Scale, value: float, shift: float) -> float:
    """Where a value stands. On a logarithmic axis zeros have a column of their own."""
    if across.log and value <= 0:
        return across.start + ZERO_GAP / 2
    return across(value + shift)
