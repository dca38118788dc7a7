"""Axes: grid lines, ticks, titles, and the area between them."""

from dataclasses import dataclass, replace

from antecede.report.charts.canvas import label, text_width
from antecede.report.charts.scales import Scale
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import Fitted

TOP = 34.0
BOTTOM = 44.0
TICK_GAP = 8.0


@dataclass(frozen=True)
class Axis:
    title: str
    scale: Scale
    unit: Fitted
    plain: bool = False
    """Whether its ticks speak for themselves, so that the title need not say it is logarithmic."""

    @property
    def heading(self) -> str:
        """The title with the unit, where the title does not name it already."""
        unit = self.unit.name
        known = not unit or unit in self.title.lower().split()
        named = self.title if known else f"{self.title}, {unit}"
        return f"{named} (log scale)" if self.scale.log and not self.plain else named

    def ticks(self) -> list[tuple[float, str]]:
        return [(self.scale(tick), self.unit.tick(tick)) for tick in self.scale.ticks]


@dataclass(frozen=True)
class Frame:
    """The area of a chart, with scales that lead into it."""

    left: float
    right: float
    top: float
    bottom: float
    across: Axis
    up: Axis

    def point(self, x: float, y: float) -> tuple[float, float]:
        return self.across.scale(x), self.up.scale(y)


def frame(across: Axis, up: Axis, width: float, height: float, right: float = 16.0) -> Frame:
    """Leaves as much room at the left as the ticks there need, `right` at the right."""
    left = max((text_width(text) for _, text in up.ticks()), default=0.0) + TICK_GAP + 4
    left, end, bottom = max(left, 30.0), width - right, height - BOTTOM
    inset = 14.0 if across.scale.ticks else 0.0
    return Frame(
        left,
        end,
        TOP,
        bottom,
        replace(across, scale=across.scale.between(left + inset, end - inset)),
        replace(up, scale=up.scale.between(bottom, TOP)),
    )


def draw_axes(area: Frame) -> Markup:
    """Grid lines across, a base line, ticks and both titles. The title of the vertical axis stands
    on top of it, where it can be read without turning the head."""
    parts = []
    for y, text in area.up.ticks():
        parts.append(tag("line", x1=area.left, x2=area.right, y1=y, y2=y, class_="grid"))
        parts.append(label(text, area.left - TICK_GAP, y + 4, anchor="end"))
    parts.append(
        tag("line", x1=area.left, x2=area.right, y1=area.bottom, y2=area.bottom, class_="base")
    )
    taken = -1e9
    for x, text in area.across.ticks():
        half = text_width(text) / 2
        parts.append(tag("line", x1=x, x2=x, y1=area.bottom, y2=area.bottom + 4, class_="base"))
        if x - half > taken:
            parts.append(label(text, x, area.bottom + 17, anchor="middle"))
            taken = x + half + 5
    middle = (area.left + area.right) / 2
    parts.append(label(area.across.heading, middle, area.bottom + 36, "title", "middle"))
    parts.append(label(area.up.heading, 2, 14, "title"))
    return join(*parts)
