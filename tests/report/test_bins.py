"""Gathering buckets into bins loses no value and moves none."""

from hypothesis import given
from hypothesis import strategies as st

from antecede.report.charts.bins import (
    TAIL,
    Bucket,
    are_whole,
    choose_edges,
    mean_of,
    rebin,
    share_beyond,
)

WHOLE = st.lists(
    st.tuples(st.integers(0, 400), st.integers(1, 50)), min_size=1, unique_by=lambda pair: pair[0]
)


def of_values(*pairs: tuple[int, int]) -> list[Bucket]:
    return [(float(value), value + 1.0, count) for value, count in sorted(pairs)]


def test_whole_numbers_keep_their_bins() -> None:
    buckets = of_values((2, 10), (3, 30), (5, 20))
    edges, log = choose_edges([buckets], whole=True)
    assert not log
    assert edges == [0, 1, 2, 3, 4, 5, 6]
    assert [count for _, _, count in rebin(buckets, edges)] == [0, 0, 10, 30, 0, 20]
    assert mean_of(buckets, whole=True) == (20 + 90 + 100) / 60


@given(WHOLE)
def test_nothing_is_lost_but_the_tail(pairs: list[tuple[int, int]]) -> None:
    buckets = of_values(*pairs)
    edges, _ = choose_edges([buckets], whole=True)
    total = sum(count for _, count in pairs)
    inside = sum(count for _, _, count in rebin(buckets, edges))
    assert abs(inside - total * (1 - share_beyond(buckets, edges[-1]))) < 1e-6
    assert inside >= total * (1 - TAIL) - 1e-6


@given(WHOLE, WHOLE)
def test_unlike_distributions_share_logarithmic_bins(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    both = [of_values(*first), of_values(*((value * 1000 + 900, n) for value, n in second))]
    edges, log = choose_edges(both, whole=True)
    assert edges == sorted(set(edges))
    assert len(edges) < 80
    assert all(edge.is_integer() for edge in edges)
    for buckets in both:
        total = sum(count for _, _, count in buckets)
        assert sum(n for _, _, n in rebin(buckets, edges)) >= total * (1 - TAIL) - 1e-6
    assert log or max(value for value, _ in first) > 60


def test_a_bucket_that_crosses_an_edge_is_shared_out() -> None:
    assert rebin([(0.5, 2.5, 8)], [0.0, 1.0, 2.0, 3.0]) == [(0, 1, 2), (1, 2, 4), (2, 3, 2)]


def test_zeros_have_a_bucket_of_their_own() -> None:
    buckets: list[Bucket] = [(0.0, 0.0, 7), (0.001, 0.0011, 3)]
    assert not are_whole([buckets])
    edges, _ = choose_edges([buckets], whole=False)
    assert rebin(buckets, edges)[0][2] == 7
    assert choose_edges([[(0.0, 0.0, 7)]], whole=True)[0] == [0, 1]
