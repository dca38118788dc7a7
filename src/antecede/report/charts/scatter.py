"""Points that weigh one thing against another, with names, and the front that nobody beats."""

from collections.abc import Sequence
from dataclasses import dataclass

from antecede.report.charts.axes import Axis, Frame, draw_axes, frame
from antecede.report.charts.canvas import TEXT_HEIGHT, WIDE, Estimate, label, sheet, text_width
from antecede.report.charts.looks import Series
from antecede.report.charts.scales import fitting, linear
from antecede.report.markup import Markup, tag
from antecede.report.numbers import Unit, count

CLOSE = 0.4
"""Values that all exceed this share of the largest get an axis that need not start at 0."""
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Spot:
    """A series measured in two ways; less is better in both."""

    series: Series
    across: Estimate
    up: Estimate


def draw_scatter(
    spots: Sequence[Spot],
    front: Sequence[Spot],
    title: str,
    x: tuple[str, Unit],
    y: tuple[str, Unit],
    width: int,
) -> Markup:
    """The points, with a stepped line through those of the front."""
    height = 400 if width == WIDE else 320
    xs, ys = [_mean(spot.across) for spot in spots], [_mean(spot.up) for spot in spots]
    across = Axis(x[0], fitting(xs, 6 if width == WIDE else 3), x[1].fitted(max(xs)))
    close = min(ys) > CLOSE * max(ys)
    up = Axis(y[0], linear(ys, from_zero=False) if close else fitting(ys), y[1].fitted(max(ys)))
    area = frame(across, up, width, height, 22.0)
    places = [area.point(_mean(s.across), _mean(s.up)) for s in spots]
    names = place_names([s.series.name for s in spots], places, area)
    drawn = [
        _draw_spot(spot, place, name, area)
        for spot, place, name in zip(spots, places, names, strict=True)
    ]
    return sheet(width, height, title, draw_axes(area), _draw_front(front, area), *drawn)


def unbeaten(spots: Sequence[Spot]) -> list[Spot]:
    """Those that no other equals in both ways and beats in one, from left to right."""
    front: list[Spot] = []
    for spot in sorted(spots, key=lambda s: (s.across.mean, s.up.mean)):
        if not front or spot.up.mean < front[-1].up.mean:
            front.append(spot)
    return front


def place_names(
    names: Sequence[str], places: Sequence[tuple[float, float]], area: Frame
) -> list[tuple[float, float, str]]:
    """Where each name stands: to the right of its point if that is free, or else to another side;
    where all sides are taken, on the one with the least overlap."""
    taken: list[Box] = [(x - 7, y - 7, x + 7, y + 7) for x, y in places]
    chosen = []
    for name, (x, y) in zip(names, places, strict=True):
        wide = text_width(name)
        candidates = [
            (x + 11, y + 4, "start"),
            (x, y - 11, "middle"),
            (x, y + 20, "middle"),
            (x - 11, y + 4, "end"),
            *((x + 11, y + shift, "start") for shift in (-9, 17, -22, 30)),
            *((x - 11, y + shift, "end") for shift in (-9, 17, -22, 30)),
        ]
        boxes = [_box(at, base, anchor, wide) for at, base, anchor in candidates]
        costs = [
            _outside(box, area) + sum(_overlap(box, other) for other in taken) for box in boxes
        ]
        best = costs.index(min(costs))
        taken.append(boxes[best])
        chosen.append(candidates[best])
    return chosen


def _draw_spot(
    spot: Spot, place: tuple[float, float], name: tuple[float, float, str], area: Frame
) -> Markup:
    x, y = area.across.unit, area.up.unit
    title = (
        f"{spot.series.name}: {x.quantity(spot.across.mean)}, {y.quantity(spot.up.mean)}, "
        f"{count(spot.across.runs, 'run')}"
    )
    at, base, anchor = name
    middle = base - 4
    leader = None
    if abs(middle - place[1]) > 18 and anchor != "middle":
        way = f"M{place[0]:.1f} {place[1]:.1f}L{at:.1f} {middle:.1f}"
        leader = tag("path", d=way, class_="leader")
    return tag(
        "g",
        leader,
        spot.series.marker(*place, title=title),
        label(spot.series.name, at, base, "name", anchor),
        class_=f"series {spot.series.look}",
        data_series=spot.series.switch,
    )


def _draw_front(front: Sequence[Spot], area: Frame) -> Markup | None:
    """Steps through the unbeaten points: whatever lies above and to the right of it is beaten."""
    points = [area.point(_mean(s.across), _mean(s.up)) for s in front]
    if len(points) < 2:
        return None
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    path += "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])
    return tag("path", d=path, class_="front")


def _mean(estimate: Estimate) -> float:
    return max(estimate.mean, 0.0)


def _box(x: float, base: float, anchor: str, wide: float) -> Box:
    left = {"start": x, "middle": x - wide / 2, "end": x - wide}[anchor]
    return (left, base - TEXT_HEIGHT + 1, left + wide, base + 3)


def _overlap(one: Box, other: Box) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    up = min(one[3], other[3]) - max(one[1], other[1])
    return max(across, 0.0) * max(up, 0.0)


def _outside(box: Box, area: Frame) -> float:
    """Leaving the area is worse than any overlap."""
    beyond = (area.left - 20 - box[0], box[2] - area.right - 20, area.top - 8 - box[1])
    return 1000 * sum(max(each, 0.0) for each in (*beyond, box[3] - area.bottom))
