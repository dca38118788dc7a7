"""A figure: a picture that can be drawn at two widths, and the numbers behind it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from antecede.report.charts.canvas import NARROW, WIDE, Estimate
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import Fitted, count, uncertain

Cell = str | Markup
UNSTEADY = "†"


@dataclass(frozen=True)
class Numbers:
    """A table of text; the first `words` columns are names, the others numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    words: int = 1


@dataclass(frozen=True)
class Figure:
    name: str
    """For links and file names: letters, digits and hyphens."""
    title: str
    facet: str
    """The environments it shows, where the campaign has several."""
    note: str
    draw: Callable[[int], Markup]
    numbers: Numbers

    @property
    def full_title(self) -> str:
        return f"{self.title} ({self.facet})" if self.facet else self.title


def render(figure: Figure, *, title: str | None = None, heading: str = "h3") -> Markup:
    """The figure for the page. Only one of the two pictures ever shows."""
    return tag(
        "figure",
        tag(
            "figcaption",
            tag(heading, figure.title if title is None else title),
            tag("p", figure.note) if figure.note else None,
        ),
        tag("div", figure.draw(WIDE), class_="wide"),
        tag("div", figure.draw(NARROW), class_="narrow"),
        tag(
            "details",
            tag("summary", f"The numbers ({count(len(figure.numbers.rows), 'row')})"),
            render_numbers(figure.numbers, figure.full_title),
        ),
        id=figure.name,
        class_="figure",
    )


def render_numbers(numbers: Numbers, caption: str, *, kind: str = "numbers") -> Markup:
    """The table, in a box that scrolls by itself where it is too wide, by keyboard, too."""
    head = [
        tag("th", column, scope="col", class_=None if place < numbers.words else "number")
        for place, column in enumerate(numbers.columns)
    ]
    body = [
        tag("tr", *(_cell(cell, place, numbers.words) for place, cell in enumerate(row)))
        for row in numbers.rows
    ]
    table = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", *head)),
        tag("tbody", join(*body)),
        class_=kind,
    )
    return tag(
        "div", table, class_="scroll", tabindex=0, role="region", aria_label=f"Table: {caption}"
    )


def _cell(cell: Cell, place: int, words: int) -> Markup:
    if place == 0:
        return tag("th", cell, scope="row")
    return tag("td", cell, class_=None if place < words else "number")


def with_interval(estimate: Estimate | None, unit: Fitted) -> str:
    """A mean and half the width of its interval, where that says anything, and a mark where it is
    no steady state."""
    if estimate is None:
        return "–"
    half = (estimate.high - estimate.low) / 2
    mark = f" {UNSTEADY}" if estimate.is_unsteady else ""
    if not half > 0:
        return unit.number(estimate.mean) + mark
    return " ± ".join(uncertain(estimate.mean * unit.factor, half * unit.factor)) + mark
