"""Bins for histograms: counts in fine buckets, gathered into bins that a reader can see."""

import math
from bisect import bisect_right
from collections.abc import Sequence

from antecede.report.charts.scales import Scale, linear, logarithmic

Bucket = tuple[float, float, int]
"""How many values lie from the first number up to the second, excluded. Zeros are in (0, 0)."""
Bin = tuple[float, float, float]

MOST_BINS = 40
LOG_BINS = 8
"""So many in a factor of ten."""
UNLIKE = 12.0
"""Distributions whose reaches differ by more than this are shown on a logarithmic axis."""
TAIL = 0.002
"""This share of the values of any distribution may lie beyond the right edge."""


def are_whole(spreads: Sequence[Sequence[Bucket]]) -> bool:
    """Whether the buckets are those of whole numbers."""
    return all(
        float(low).is_integer() and float(high).is_integer()
        for buckets in spreads
        for low, high, _ in buckets
    )


def choose_edges(spreads: Sequence[Sequence[Bucket]], *, whole: bool) -> tuple[list[float], bool]:
    """Borders of bins from zero to where all but the tails end, and whether they are logarithmic.
    Where values are whole numbers, so are the borders."""
    reaches = [_reach(buckets) for buckets in spreads]
    end = max(reaches)
    starts = [reach for reach in reaches if reach > 0]
    if starts and end / min(starts) > UNLIKE:
        return _grow(
            min(_lowest(buckets) for buckets in spreads if _reach(buckets)), end, whole
        ), True
    step = linear([0.0, end], MOST_BINS).ticks[1]
    if whole:
        step = max(1.0, float(round(step)))
    count = max(1, math.ceil(end / step - 1e-9))
    return [float(f"{place * step:.12g}") for place in range(count + 1)], False


def edge_scale(edges: Sequence[float], *, log: bool, ticks: int) -> Scale:
    """The axis for these bins. On a logarithmic one, the first bin is that of zeros."""
    if not log:
        scale = linear(edges, ticks)
        inside = tuple(tick for tick in scale.ticks if tick <= edges[-1] * (1 + 1e-9))
        return Scale(edges[0], edges[-1], inside)
    scale = logarithmic(edges[1:])
    inside = tuple(tick for tick in scale.ticks if edges[1] <= tick <= edges[-1])
    return Scale(edges[1], edges[-1], (0.0, *inside), log=True, zero=True)


def rebin(buckets: Sequence[Bucket], edges: Sequence[float]) -> list[Bin]:
    """The counts between the edges. A bucket that crosses an edge is shared out as if its values
    were spread evenly; what lies beyond the last edge is left out."""
    counts = [0.0] * (len(edges) - 1)
    for low, high, number in buckets:
        first = bisect_right(edges, low * (1 + 1e-9)) - 1
        if first >= len(counts):
            continue
        if high <= edges[first + 1] * (1 + 1e-9):
            counts[first] += number
            continue
        for place in range(first, len(counts)):
            inside = min(high, edges[place + 1]) - max(low, edges[place])
            if inside <= 0:
                break
            counts[place] += number * inside / (high - low)
    return list(zip(edges, edges[1:], counts, strict=False))


def without_zeros(buckets: Sequence[Bucket]) -> tuple[list[Bucket], float]:
    """The buckets but for that of zeros, and the share of the zeros."""
    rest = [bucket for bucket in buckets if bucket[1] > 0]
    total = sum(number for _, _, number in buckets)
    return rest, 1 - sum(number for _, _, number in rest) / total if total else 0.0


def mean_of(buckets: Sequence[Bucket], *, whole: bool) -> float:
    """The mean of the values, taken to lie in the middle of their buckets: a bucket from 3 to 4
    holds threes where values are whole numbers."""
    total = sum(number for _, _, number in buckets)
    summed = 0.0
    for low, high, number in buckets:
        last = max(low, high - 1) if whole else high
        summed += (low + last) / 2 * number
    return summed / total if total else 0.0


def share_beyond(buckets: Sequence[Bucket], end: float) -> float:
    total = sum(number for _, _, number in buckets)
    beyond = sum(number for low, _, number in buckets if low >= end)
    return beyond / total if total else 0.0


def _reach(buckets: Sequence[Bucket]) -> float:
    """Where all but the tail ends."""
    total = sum(number for _, _, number in buckets)
    seen = 0
    for low, high, number in sorted(buckets):
        seen += number
        if seen >= total * (1 - TAIL):
            return max(high, low)
    return 0.0


def _lowest(buckets: Sequence[Bucket]) -> float:
    """Where the distribution begins, zeros and the lower tail left out."""
    total = sum(number for _, _, number in buckets)
    seen = 0
    for low, _, number in sorted(buckets):
        seen += number
        if low > 0 and seen >= total * TAIL:
            return low
    return 1.0


def _grow(start: float, end: float, whole: bool) -> list[float]:
    edges = [0.0]
    power = math.floor(math.log10(start) * LOG_BINS + 1e-9)
    while edges[-1] < end:
        edge = 10.0 ** (power / LOG_BINS)
        edge = float(round(edge)) if whole else float(f"{edge:.3g}")
        power += 1
        if edge > edges[-1]:
            edges.append(edge)
    return edges if len(edges) > 2 else [0.0, edges[-1], edges[-1] * 2]
