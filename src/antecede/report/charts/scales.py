"""From values to places: linear and logarithmic scales with round ticks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

ROUND_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
LOG_RATIO = 40.0
"""Values that span more than this are shown on a logarithmic scale."""
MOST_NAMED = 7
"""Up to so many distinct values of the horizontal axis are its ticks."""
ZERO_GAP = 20.0
"""How far below the smallest positive tick of a logarithmic scale zero stands."""


@dataclass(frozen=True)
class Scale:
    """Places the values from `low` to `high` between `start` and `end`. On a logarithmic scale zero
    may stand apart at the start, below everything else."""

    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False
    zero: bool = False
    start: float = 0.0
    end: float = 1.0

    def between(self, start: float, end: float) -> "Scale":
        return replace(self, start=start, end=end)

    def __call__(self, value: float) -> float:
        start = self.start
        if self.log:
            if value <= 0:
                return start
            if self.zero:
                start += math.copysign(ZERO_GAP, self.end - start)
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return start + share * (self.end - start)


def linear(values: Sequence[float], count: int = 5, *, from_zero: bool = True) -> Scale:
    """A linear scale whose first and last ticks enclose the values."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high <= low:
        low, high = (low - 0.5, high + 0.5) if low else (0.0, 1.0)
    step = _round_step((high - low) / max(count, 1))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(_clean(index * step) for index in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def tight(values: Sequence[float], count: int = 5) -> Scale:
    """A linear scale from zero that ends where the values do: for bars with a number at the end."""
    scale = linear(values, count)
    high = max(values, default=0.0)
    if high <= 0:
        return scale
    return Scale(scale.low, high, tuple(tick for tick in scale.ticks if tick <= high * 1.0001))


def logarithmic(values: Sequence[float]) -> Scale:
    """A logarithmic scale; zeros among the values stand apart."""
    positive = [value for value in values if value > 0]
    if not positive:
        return linear(values)
    lowest, highest = math.log10(min(positive)), math.log10(max(positive))
    factors = (1, 2, 5) if highest - lowest < 2 else (1,)
    candidates = [
        _clean(factor * 10.0**power)
        for power in range(math.floor(lowest) - 1, math.ceil(highest) + 2)
        for factor in factors
    ]
    low = max(tick for tick in candidates if tick <= min(positive) * (1 + 1e-9))
    high = min(tick for tick in candidates if tick >= max(positive) * (1 - 1e-9) and tick > low)
    ticks = [tick for tick in candidates if low <= tick <= high]
    every = math.ceil(len(ticks) / 8)
    kept = tuple(ticks[::every])
    zero = len(positive) < len(values)
    return Scale(low, high, (0.0, *kept) if zero else kept, log=True, zero=zero)


def fitting(values: Sequence[float], count: int = 5) -> Scale:
    """Logarithmic where the positive values span more than `LOG_RATIO`, linear from zero
    otherwise."""
    positive = [value for value in values if value > 0]
    if positive and min(values) >= 0 and max(positive) / min(positive) > LOG_RATIO:
        return logarithmic(values)
    return linear(values, count)


def named(values: Sequence[float]) -> Scale:
    """For the values of a grid: its ticks are the values themselves where these are few. It is
    logarithmic where they grow by factors rather than by steps."""
    distinct = sorted(set(values))
    if len(distinct) < 2:
        return linear(distinct, from_zero=False)
    low, high = distinct[0], distinct[-1]
    by_factors = low > 0 and high / low >= 8
    if len(distinct) > MOST_NAMED:
        return logarithmic(distinct) if by_factors else linear(distinct, from_zero=False)
    return Scale(low, high, tuple(distinct), log=by_factors)


def _round_step(at_least: float) -> float:
    power = 10.0 ** math.floor(math.log10(at_least))
    return next(factor * power for factor in ROUND_STEPS if factor * power >= at_least * 0.999999)


def _clean(value: float) -> float:
    """Without the noise of floating-point multiplication, so that equal ticks look equal."""
    return float(f"{value:.12g}")
