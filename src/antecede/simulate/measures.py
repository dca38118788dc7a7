"""Mean, percentile and maximum of millions of values in bounded memory."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

EXACT_LIMIT = 1 << 17
"""Up to so many values the percentile is exact."""

_BINS_PER_OCTAVE = 128
_SMALLEST = 2.0**-40
_OCTAVES = 80
_BINS = _BINS_PER_OCTAVE * _OCTAVES + 2


class Spread(NamedTuple):
    """How values are spread. All are zero where there are none."""

    mean: float = 0.0
    p99: float = 0.0
    maximum: float = 0.0


class Distribution:
    """Values that are not negative. The mean and the maximum are exact. The 99th percentile (the
    smallest value that 99 % of the values do not exceed) is exact up to `EXACT_LIMIT` values;
    beyond that the values are counted in bins 0.54 % wide, and it is too large by one bin at most.
    """

    def __init__(self) -> None:
        self._sum = 0.0
        self._count = 0
        self._maximum = 0.0
        self._kept: list[npt.NDArray[np.float64]] = []
        self._bins: npt.NDArray[np.int64] | None = None

    def add(self, values: npt.NDArray[np.float64]) -> None:
        if not len(values):
            return
        self._sum += float(values.sum())
        self._count += len(values)
        self._maximum = max(self._maximum, float(values.max()))
        if self._bins is None:
            self._kept.append(values)
            if self._count > EXACT_LIMIT:
                self._bins = _count_in_bins(np.concatenate(self._kept))
                self._kept = []
        else:
            self._bins += _count_in_bins(values)

    def spread(self) -> Spread:
        if not self._count:
            return Spread()
        rank = -(-99 * self._count // 100)
        if self._bins is None:
            p99 = float(np.partition(np.concatenate(self._kept), rank - 1)[rank - 1])
        else:
            index = int(np.searchsorted(np.cumsum(self._bins), rank))
            p99 = _SMALLEST * 2.0 ** ((index - 1) / _BINS_PER_OCTAVE) if index else 0.0
        return Spread(self._sum / self._count, min(p99, self._maximum), self._maximum)


def _count_in_bins(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Bin 0 holds zeros, bin i the values up to the i-th power of the width of a bin."""
    positive = np.maximum(values, _SMALLEST)
    bins = np.ceil(np.log2(positive / _SMALLEST) * _BINS_PER_OCTAVE).astype(np.int64) + 1
    bins = np.where(values > 0, np.minimum(bins, _BINS - 1), 0)
    return np.bincount(bins, minlength=_BINS)
