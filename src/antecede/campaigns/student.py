"""Student's distribution: how far a mean of few values may be from the truth."""

from functools import cache
from math import atan, cos, pi, sin, sqrt, tan
from typing import Final

CONFIDENCE: Final = 0.95


def coverage(t: float, freedom: int) -> float:
    """The probability that a value with so many degrees of freedom lies between -t and t.

    For whole numbers this is a finite sum: Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = atan(t / sqrt(freedom))
    square = cos(angle) ** 2
    is_odd = freedom % 2 == 1
    term = cos(angle) if is_odd else 1.0
    total = 0.0 if freedom == 1 else term
    for step in range(2 + is_odd, freedom - 1, 2):
        term *= square * (step - 1) / step
        total += term
    if is_odd:
        return (angle + sin(angle) * total) * 2 / pi
    return sin(angle) * total


@cache
def half_width(freedom: int) -> float:
    """The t for which coverage is `CONFIDENCE`, by halving the angle's interval."""
    low, high = 0.0, pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if coverage(sqrt(freedom) * tan(middle), freedom) < CONFIDENCE:
            low = middle
        else:
            high = middle
    return sqrt(freedom) * tan(low)
