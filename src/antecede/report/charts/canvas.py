"""The sheet a chart is drawn on."""

from dataclasses import dataclass

from antecede.report.markup import Markup, tag

WIDE = 720
NARROW = 300
"""Every chart can be drawn at both widths: a phone gets a chart made for it, not a shrunken one."""
TEXT_HEIGHT = 12.0
_MEAN_LETTER = 7.0


@dataclass(frozen=True)
class Estimate:
    """A mean, the confidence interval around it, and how many runs it is taken over."""

    mean: float
    low: float
    high: float
    runs: int
    is_unsteady: bool = False
    """Whether its runs still drifted, or were too short to tell: no conclusion is drawn from it."""


def text_width(text: str) -> float:
    """About as wide as the text will be; fonts differ."""
    return _MEAN_LETTER * len(text)


def shortened(text: str, width: float) -> str:
    """Cut so that it fits; whoever shows it gives the whole text elsewhere."""
    most = max(3, int(width / _MEAN_LETTER))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def sheet(width: float, height: float, title: str, *content: str | None) -> Markup:
    """The picture as a whole; screen readers read out its title."""
    return tag(
        "svg",
        *content,
        xmlns="http://www.w3.org/2000/svg",
        class_="chart",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=int(width),
        height=int(height),
        role="img",
        aria_label=title,
    )


def label(text: str, x: float, y: float, kind: str = "tick", anchor: str | None = None) -> Markup:
    return tag("text", text, x=float(x), y=float(y), class_=kind, text_anchor=anchor)


def spread_out(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near to the wanted ones as can be, at least a gap apart and in the same order,
    inside the bounds where there is room. Those that crowd each other share the shift."""
    order = sorted(range(len(wanted)), key=lambda index: (wanted[index], index))
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    crowds: list[list[int]] = []
    starts: list[float] = []
    for index in order:
        crowd = [index]
        start = _settle(crowd, wanted, gap, low, high)
        while crowds and start < starts[-1] + gap * len(crowds[-1]):
            starts.pop()
            crowd = crowds.pop() + crowd
            start = _settle(crowd, wanted, gap, low, high)
        crowds.append(crowd)
        starts.append(start)
    places = [0.0] * len(wanted)
    for crowd, start in zip(crowds, starts, strict=True):
        for rank, index in enumerate(crowd):
            places[index] = start + gap * rank
    return places


def _settle(crowd: list[int], wanted: list[float], gap: float, low: float, high: float) -> float:
    """Where a crowd starts: the shifts of its members cancel out, unless a bound is in the way."""
    start = sum(wanted[index] - gap * rank for rank, index in enumerate(crowd)) / len(crowd)
    return max(min(start, high - gap * (len(crowd) - 1)), low)
