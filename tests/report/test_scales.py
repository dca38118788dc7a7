"""Ticks are round and enclose the values; places and values belong together."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.report.charts.canvas import spread_out
from antecede.report.charts.scales import Scale, fitting, linear, logarithmic, named, tight

VALUES = st.lists(st.just(0.0) | st.floats(1e-9, 1e9), min_size=1, max_size=12)


def test_ticks_are_round() -> None:
    assert linear([3.0, 97.0]).ticks == (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)
    assert linear([0.0, 0.3]).ticks == (0.0, 0.1, 0.2, 0.3)
    assert linear([52.0, 58.0], 3, from_zero=False).ticks == (52.0, 54.0, 56.0, 58.0)
    assert logarithmic([3.0, 4000.0]).ticks == (1.0, 10.0, 100.0, 1000.0, 10000.0)
    assert logarithmic([3.0, 40.0]).ticks == (2.0, 5.0, 10.0, 20.0, 50.0)


@given(VALUES)
def test_every_scale_encloses_its_values(values: list[float]) -> None:
    for scale in (linear(values), tight(values), logarithmic(values), fitting(values)):
        placed = scale.between(100.0, 500.0)
        for value in values:
            assert 100 - 1e-6 <= placed(value) <= 500 + 1e-6
        assert list(scale.ticks) == sorted(set(scale.ticks))
        assert 1 <= len(scale.ticks) <= 12


@given(VALUES)
def test_larger_values_stand_further(values: list[float]) -> None:
    ordered = sorted(values)
    for scale in (linear(values), logarithmic(values)):
        places = [scale.between(0.0, 100.0)(value) for value in ordered]
        assert all(a <= b + 1e-9 for a, b in pairwise(places))


def test_zero_stands_apart_on_a_logarithmic_scale() -> None:
    scale = logarithmic([0.0, 1.0, 100.0]).between(300.0, 0.0)
    assert scale.ticks[0] == 0
    assert scale(0.0) == 300
    assert scale(1.0) == 280
    assert scale(10.0) == 140
    assert scale(100.0) == 0


def test_the_range_decides_between_linear_and_logarithmic() -> None:
    assert not fitting([1.0, 40.0]).log
    assert fitting([1.0, 41.0]).log
    assert not fitting([0.0, 0.0]).log
    assert not fitting([-1.0, 1000.0]).log


def test_the_values_of_a_grid_are_its_ticks() -> None:
    assert named([8, 4, 16, 4]) == Scale(4, 16, (4, 8, 16))
    assert named([4, 8, 16, 32]).log
    assert len(named(range(1, 50)).ticks) <= 8
    assert named([7]).between(0.0, 10.0)(7) == 5


@given(st.lists(st.floats(0, 100), max_size=8))
def test_names_keep_apart_and_inside(wanted: list[float]) -> None:
    places = spread_out(wanted, 10.0, 0.0, 100.0)
    ordered = sorted(places)
    assert all(b - a >= 10 - 1e-6 for a, b in pairwise(ordered))
    assert all(-1e-6 <= place <= 100 + 1e-6 for place in places)
    if all(abs(a - b) >= 10 for i, a in enumerate(wanted) for b in wanted[:i]):
        assert places == pytest.approx(wanted)


def test_names_that_crowd_each_other_share_the_shift() -> None:
    assert spread_out([50.0, 50.0, 50.0], 10.0, 0.0, 100.0) == [40.0, 50.0, 60.0]
    assert math.isclose(spread_out([0.0, 0.0], 10.0, 0.0, 100.0)[1], 10.0)
