"""How a series looks: colour, marker and dash, so that no two are told apart by colour alone.

Colours are classes (`look-0` to `look-7`); the style sheet gives them their values for light and
dark. They can be told apart with every kind of colour blindness; markers and dashes differ besides.
"""

import math
from dataclasses import dataclass

from antecede.report.markup import Markup, tag

COLOURS = 8
DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4")
MARKER_RADIUS = 4.5


@dataclass(frozen=True)
class Series:
    """A name and its place among the series of the page, which fixes its look."""

    name: str
    place: int
    switched: bool = False
    """Whether the reader can hide it, in all charts at once."""

    @property
    def switch(self) -> int | None:
        return self.place if self.switched else None

    @property
    def look(self) -> str:
        return f"look-{self.place % COLOURS}"

    @property
    def dash(self) -> str | None:
        return DASHES[(self.place + self.place // COLOURS) % len(DASHES)] or None

    def marker(self, x: float, y: float, *, title: str | None = None) -> Markup:
        """The marker at a point; `title` shows under the pointer."""
        shape = _SHAPES[(self.place + self.place // COLOURS * 3) % len(_SHAPES)]
        label = tag("title", title) if title is not None else None
        return tag("path", label, d=_path(shape, x, y), class_="marker")

    def sample(self) -> Markup:
        """A piece of the line with its marker, for a key."""
        return tag(
            "svg",
            self.draw_sample(0, 8),
            class_="sample",
            viewBox="0 0 28 16",
            width=28,
            height=16,
            aria_hidden="true",
        )

    def draw_sample(self, x: float, y: float) -> Markup:
        line = tag(
            "line", x1=x + 1, y1=y, x2=x + 27, y2=y, class_="line", stroke_dasharray=self.dash
        )
        return tag("g", line, self.marker(x + 14, y), class_=self.look)


def _regular(corners: int, turn: float, radius: float = 1.0) -> tuple[tuple[float, float], ...]:
    angles = [turn + 2 * math.pi * corner / corners for corner in range(corners)]
    return tuple((radius * math.cos(angle), radius * math.sin(angle)) for angle in angles)


def _cross(turn: float) -> tuple[tuple[float, float], ...]:
    arm, half = 1.15, 0.36
    corner = [(half, -half), (arm, -half), (arm, half)]
    return tuple(
        (
            x * math.cos(turn + quarter) - y * math.sin(turn + quarter),
            x * math.sin(turn + quarter) + y * math.cos(turn + quarter),
        )
        for quarter in (0.0, math.pi / 2, math.pi, 3 * math.pi / 2)
        for x, y in corner
    )


_UP = -math.pi / 2
_SHAPES = (
    (),  # a circle
    _regular(4, math.pi / 4, 1.2),
    _regular(3, _UP, 1.3),
    _regular(4, 0.0, 1.3),
    _cross(math.pi / 4),
    _regular(3, -_UP, 1.3),
    _cross(0.0),
    _regular(6, 0.0, 1.15),
    _regular(5, _UP, 1.2),
)


def _path(shape: tuple[tuple[float, float], ...], x: float, y: float) -> str:
    if not shape:
        across = 2 * MARKER_RADIUS
        arc = f"a{MARKER_RADIUS} {MARKER_RADIUS} 0 1 0"
        return f"M{x - MARKER_RADIUS:.1f} {y:.1f}{arc} {across} 0{arc} {-across} 0Z"
    corners = (f"{x + MARKER_RADIUS * dx:.1f} {y + MARKER_RADIUS * dy:.1f}" for dx, dy in shape)
    return f"M{'L'.join(corners)}Z"
