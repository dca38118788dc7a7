"""Measures in bounded memory."""

import numpy as np
import pytest

from antecede.simulate.measures import EXACT_LIMIT, Distribution, Spread


def measured(values: np.ndarray, blocks: int) -> Spread:
    distribution = Distribution()
    for block in np.array_split(values, blocks):
        distribution.add(block)
    return distribution.spread()


def test_nothing_is_all_zero() -> None:
    assert measured(np.array([]), 1) == Spread(0.0, 0.0, 0.0)


def test_few_values_are_exact() -> None:
    values = np.random.default_rng(1).permutation(np.arange(1.0, 1001.0))
    assert measured(values, 7) == Spread(500.5, 990.0, 1000.0)
    assert measured(np.array([3.0]), 1) == Spread(3.0, 3.0, 3.0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_many_values_are_exact_to_a_bin(scale: float) -> None:
    values = np.random.default_rng(1).exponential(scale, 2 * EXACT_LIMIT)
    spread = measured(values, 9)
    exact = np.sort(values)[-(-99 * len(values) // 100) - 1]
    assert spread.mean == pytest.approx(values.mean())
    assert spread.maximum == values.max()
    assert exact <= spread.p99 <= exact * 2 ** (1 / 128)


def test_many_zeros() -> None:
    values = np.zeros(2 * EXACT_LIMIT)
    values[:10] = 5.0
    assert measured(values, 2) == Spread(50 / len(values), 0.0, 5.0)
