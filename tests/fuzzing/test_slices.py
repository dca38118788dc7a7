"""Which seeds are run: each protocol its share, none twice."""

from antecede.fuzzing import draw, judge
from antecede.fuzzing.slices import Slice, plan, run_slice
from antecede.orders.none import Unordered
from antecede.orders.vector import Vector

TWO = ("fifo", "vector")


def test_protocols_take_turns() -> None:
    assert plan(TWO, 1, 5, [], size=2) == [
        Slice("fifo", 1, 2),
        Slice("vector", 1, 2),
        Slice("fifo", 3, 1),
    ]


def test_what_is_done_is_left_out() -> None:
    done = [Slice("fifo", 2, 2), Slice("vector", 1, 4), Slice("matrix", 1, 9), Slice("fifo", 6, 1)]
    assert plan(TWO, 1, 14, done, size=10) == [
        Slice("fifo", 1, 1),
        Slice("fifo", 4, 2),
        Slice("vector", 5, 3),
        Slice("fifo", 7, 1),
    ]
    assert plan(TWO, 1, 8, [Slice("fifo", 0, 9), Slice("vector", 1, 4)]) == []


def test_seeds_count_from_the_first() -> None:
    assert plan(["fifo"], 100, 3, [Slice("fifo", 1, 9)]) == [Slice("fifo", 100, 3)]


class Careless(Unordered):
    """Says that it keeps causal order, and does not."""

    traits = Vector.traits


def test_a_slice_is_its_runs() -> None:
    done = run_slice(Slice("vector", 3, 6), Careless)
    outcomes = {seed: judge(draw("vector", seed), Careless) for seed in range(3, 9)}
    assert done.events == sum(outcome.events for outcome in outcomes.values())
    assert done.messages == sum(outcome.messages for outcome in outcomes.values())
    assert done.deliveries == sum(outcome.deliveries for outcome in outcomes.values())
    failed = [seed for seed, outcome in outcomes.items() if outcome.failure]
    assert [found.seed for found in done.found] == failed != []
    assert {found.kind for found in done.found} == {"early"}
