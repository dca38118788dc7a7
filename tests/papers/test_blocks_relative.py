"""Section 5.5: the relative protocol, as printed and repaired."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.errors import MalformedStamp
from antecede.order import Awaited, Scope
from tests.mutants import Mutant
from tests.papers.blocks import CYCLE, GroupNetwork, nulls, planted, random_run, readings, stamps
from tests.papers.harness import early, late, undelivered

TRIO = [{0, 1, 2}]
OVERLAP = [{0, 1, 2}, {0, 1}]
TWINS = [{0, 1, 2}, {0, 1, 2}]
LAYOUTS = [OVERLAP, TWINS, CYCLE, [{0, 1}, {1, 2}, {2, 3}, {3, 0}], [{0, 1, 2, 3}, {0, 1, 2}]]
seeds = st.integers(0, 10_000)

LAST_BLOCK_ONLY = Mutant(
    name="last-block-only",
    old="in pending[: bisect_left(pending, (number + 1,))]:",
    new="in pending[bisect_left(pending, (number,)) : bisect_left(pending, (number + 1,))]:",
)


def test_figure_5_send() -> None:
    network = GroupNetwork("blocks-relative", OVERLAP)
    first, second, other = network.to(0, 0), network.to(0, 0), network.to(0, 1)
    carried = stamps(network.history)
    assert (carried[first].number, carried[first].ldv, carried[first].gbn) == (1, (0, 0, 0), ())
    assert (carried[second].number, carried[second].ldv) == (2, (1, 0, 0))
    assert (carried[other].number, carried[other].ldv) == (1, (0, 0)), "counters are per group"
    assert carried[other].gbn == ((0, 2),), "the other group's number, and not the own one's"


def test_figure_6_receive_marks_the_matrix_before_delivery() -> None:
    network = GroupNetwork("blocks-relative", TRIO)
    network.bring(network.to(0, 0), 1)
    network.bring(network.to(1, 0), 2)
    assert network.held(2) == ["1:1"]
    assert network.state(2).matrices[0].others == {0: 0, 1: 2}
    assert network.state(2).ldv[0] == {0: 0, 1: 0, 2: 0}


def test_figure_7_delivers_again_and_again() -> None:
    network = GroupNetwork("blocks-relative", [range(4)])
    for sender in (0, 1, 2):
        network.bring(network.to(sender, 0), *range(sender + 1, 3))
    network.next(2, 3)
    network.next(1, 3)
    assert network.history.deliveries(3) == []
    network.next(0, 3)
    assert network.history.deliveries(3) == ["0:1", "1:1", "2:1"]


def test_figure_7_compares_the_wrong_way() -> None:
    """Question and answer: by the figure the answer is delivered first."""
    for protocol, violations in readings("blocks-relative", "figure-7"):
        network = GroupNetwork(protocol, TRIO)
        network.bring(network.to(0, 0), 1)
        network.bring(network.to(1, 0), 2)
        network.settle()
        assert len(early(network.history)) == violations


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_c01_as_early_as_possible_in_one_group(seed: int) -> None:
    history = random_run("blocks-relative", [range(4)], 25, seed)
    assert not early(history)
    assert not undelivered(history)
    assert not late(history)


def test_c02_the_blocks_of_another_group_come_first() -> None:
    network = GroupNetwork("blocks-relative", OVERLAP)
    network.bring(network.to(2, 0), 1)
    answer = network.to(1, 1)
    assert stamps(network.history)[answer].gbn == ((0, 1),)
    network.bring(answer, 0)
    [held] = network.orders[0].held()
    assert held.awaited == (Awaited(1, 1, Scope.BLOCK, 0), Awaited(2, 1, Scope.BLOCK, 0))
    network.next(2, 0)
    assert network.history.deliveries(0) == ["2:1"]
    [held] = network.orders[0].held()
    assert held.awaited == (Awaited(1, 1, Scope.BLOCK, 0),), "block 1 is not complete"
    network.wake(1)
    network.next(1, 0)
    assert network.history.deliveries(0) == ["2:1", "1:1"]


def test_gbn_as_printed_goes_backwards() -> None:
    """1 delivers numbers 1 and 2 of process 2, then number 1 of process 0, and forgets the 2."""
    for gbn, violations in [("printed", 1), ("maximum", 0)]:
        network = GroupNetwork("blocks-relative", OVERLAP, gbn=gbn)
        first, second = network.to(2, 0), network.to(2, 0)
        third = network.to(0, 0)
        network.bring(first, 0)
        network.bring(first, 1)
        network.bring(second, 1)
        network.wake(1)  # the nulls that complete block 1 at process 0
        network.next(1, 0)
        network.bring(third, 1)
        fourth = network.to(1, 1)
        network.bring(fourth, 0)
        assert ("1:1" in network.history.deliveries(0)) == bool(violations)
        assert network.outcome() == (violations, 0)


def test_c02_means_all_blocks_up_to_the_number() -> None:
    """Group 0 is everybody, group 1 lacks process 3. At process 0 block 2 of group 1 is delivered
    and block 1 is not: 1:2 waits for group 0, where process 3 is silent."""
    for protocol, violations in readings("blocks-relative", LAST_BLOCK_ONLY):
        network = GroupNetwork(protocol, [{0, 1, 2, 3}, {0, 1, 2}])
        for sender, group in [(1, 0), (1, 1), (2, 1), (2, 1)]:
            network.to(sender, group)
        for source, to in [(1, 0), (1, 0), (2, 0), (2, 0), (1, 2), (1, 2), (1, 3), (2, 1), (2, 1)]:
            network.next(source, to)
        assert network.held(0) == network.held(2) == ["1:2"]
        for process, to in [(0, 2), (3, 2), (1, 0)]:
            network.wake(process)
            network.next(process, to)
        assert (network.held(0), network.held(2)) == (["1:2"], [])
        last = network.to(2, 0)
        network.bring(last, 0)
        assert ("2:3" in network.history.deliveries(0)) == bool(violations)
        assert network.outcome() == (violations, 0)


def test_c02_as_printed_deadlocks() -> None:
    """Two groups of the same members; 0 sends in the first and the second, 1 the other way round.
    Process 2 holds 0:2 for the block of 1:2, and 1:2 for the block of 0:2."""
    for c02, missing in [("printed", 2), ("predecessors", 0)]:
        network = GroupNetwork("blocks-relative", TWINS, c02=c02)
        network.to(0, 0)
        network.to(0, 1)
        network.to(1, 1)
        network.to(1, 0)
        for source in (0, 0, 1, 1):
            network.next(source, 2)
        assert network.held(2) == (["0:2", "1:2"] if missing else [])
        network.settle()
        assert len([place for place in undelivered(network.history) if place[0] == 2]) == missing


def test_nulls_as_ordinary_messages_deadlock() -> None:
    """A null that its sender notes in its vector is waited for, and never delivered."""
    for protocol, blocks in readings("blocks-relative", "null-is-a-message"):
        network = GroupNetwork(protocol, OVERLAP)
        network.bring(network.to(0, 0), 1)
        network.wake(1)
        network.to(1, 0)
        network.settle()
        assert len(undelivered(network.history)) == 2 * blocks
        assert not early(network.history)


def test_nulls_that_set_the_vector_at_receipt_promise_too_much() -> None:
    """1 answers the first message of 0 with a null; then 0's second message claims that it follows
    a message of 1, and 1 knows better."""
    network = GroupNetwork(planted("blocks-relative", "null-is-delivered"), OVERLAP)
    network.bring(network.to(0, 0), 1)
    network.wake(1)
    network.next(1, 0)
    second = network.to(0, 0)
    assert stamps(network.history)[second].ldv == (1, 1, 0)
    with pytest.raises(MalformedStamp, match="not there yet"):
        network.bring(second, 1)


def test_nulls_that_set_the_vector_at_receipt_break_order() -> None:
    """0 holds three messages of group 0 for block 1 of group 1. The null of 2 makes its message
    look delivered, and the answer to it overtakes it."""
    for protocol, violations in readings("blocks-relative", "null-is-delivered"):
        network = GroupNetwork(protocol, OVERLAP)
        network.bring(network.to(0, 1), 1)
        network.bring(network.to(1, 0), 2, 0)
        network.bring(network.to(2, 0), 1, 0)
        network.bring(network.to(1, 0), 2, 0)
        assert network.held(0) == ["1:1", "1:2", "2:1"]
        for process in (2, 1):
            network.wake(process)
            network.next(process, 0)
        assert network.held(0) == []
        assert len(early(network.history)) == violations


def test_one_round_of_nulls_is_enough() -> None:
    """And none at all where only one member leads out of a group."""
    network = GroupNetwork("blocks-relative", [{0, 1, 2}, {2, 3, 4}])
    for sender, group in [(0, 0), (2, 1), (3, 1), (2, 0), (1, 0)]:
        network.to(sender, group)
        network.settle()
    assert network.outcome() == (0, 0)
    assert nulls(network.history) == 0
    network = GroupNetwork("blocks-relative", OVERLAP)
    network.to(2, 0)
    assert network.outcome() == (0, 0)
    assert nulls(network.history) == 2, "from 0 to 1 and from 1 to 0; 2 has sent the number itself"


@pytest.mark.parametrize("groups", LAYOUTS)
@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_5_5_safety_and_liveness(groups: Any, seed: int) -> None:
    history = random_run("blocks-relative", groups, 25, seed)
    assert not early(history)
    assert not undelivered(history)
