"""Buckets of histograms: the same borders in every run, so that counts of runs add up.

Zeros have a bucket of their own. Sizes are counted one by one up to `EXACT`, delays from a
microsecond on; above that a bucket is a fixed fraction of an octave wide.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

EXACT: Final = 64
SIZES_PER_OCTAVE: Final = 16
DELAYS_PER_OCTAVE: Final = 8
SMALLEST_S: Final = 2.0**-20


class Histogram(NamedTuple):
    """Buckets that are not empty, in order."""

    low: list[float]
    high: list[float]
    counts: list[int]


def count_sizes(values: Values) -> Histogram:
    """Of whole numbers that are not negative."""
    edges = np.concatenate(
        [np.arange(EXACT), np.ceil(_octaves(EXACT, float(values.max(initial=0)), SIZES_PER_OCTAVE))]
    )
    return _count(values, edges)


def count_delays(values: Values) -> Histogram:
    """Of seconds. What is shorter than the smallest bucket, but not zero, goes into that."""
    edges = _octaves(SMALLEST_S, float(values.max(initial=0)), DELAYS_PER_OCTAVE)
    zeros = int(np.count_nonzero(values <= 0))
    found = _count(np.maximum(values[values > 0], SMALLEST_S), edges)
    if not zeros:
        return found
    return Histogram([0.0, *found.low], [0.0, *found.high], [zeros, *found.counts])


def _octaves(first: float, last: float, per_octave: int) -> Values:
    """Borders from the first on, until one is beyond the last."""
    octaves = np.log2(max(last, first) / first)
    steps = np.arange(int(octaves * per_octave) + 3)
    edges: Values = first * 2.0 ** (steps / per_octave)
    return edges


def _count(values: Values, edges: Values) -> Histogram:
    counts = np.bincount(np.searchsorted(edges, values, side="right") - 1, minlength=1)
    used = np.flatnonzero(counts)
    return Histogram(edges[used].tolist(), edges[used + 1].tolist(), counts[used].tolist())
