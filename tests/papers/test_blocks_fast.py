"""Section 5.4: the fast protocol, as printed and repaired."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.message import members, set_from_bytes
from antecede.order import Awaited, Scope
from tests.papers.blocks import CYCLE, GroupNetwork, nulls, planted, random_run, readings, stamps
from tests.papers.harness import early, late, undelivered

TRIO = [{0, 1, 2}]
OVERLAP = [{0, 1, 2}, {0, 1}]
LAYOUTS = [OVERLAP, CYCLE, [{0, 1, 2}, {0, 1, 2}], [{0, 1}, {1, 2}, {2, 3}, {3, 0}]]
seeds = st.integers(0, 10_000)


def _gldv(stamp: Any) -> dict[int, int]:
    return dict(zip(members(set_from_bytes(stamp.known)), stamp.gldv, strict=True))


def test_5_4_the_vector_travels_before_the_own_entry_is_set() -> None:
    network = GroupNetwork("blocks-fast", TRIO)
    first, second = network.to(0, 0), network.to(0, 0)
    carried = stamps(network.history)
    assert _gldv(carried[first]) == {}
    assert (carried[second].number, _gldv(carried[second])) == (2, {0: 1})


def test_5_4_entries_are_added_as_processes_become_known() -> None:
    """Over three groups in a chain: 3 hears of 0, which it shares no group with."""
    network = GroupNetwork("blocks-fast", [{0, 1}, {1, 2}, {2, 3}])
    for sender, group in [(0, 0), (1, 1), (2, 2)]:
        network.bring(network.to(sender, group), sender + 1)
    assert network.state(3).gldv == {0: 1, 1: 2, 2: 3}


@pytest.mark.parametrize("test", ["received", "printed"])
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_5_4_as_early_as_possible_in_one_group(test: str, seed: int) -> None:
    """Nothing is held whose predecessors are delivered, and there are no nulls."""
    history = random_run("blocks-fast", [range(4)], 25, seed, test=test)
    assert not early(history)
    assert not undelivered(history)
    assert not late(history)
    assert nulls(history) == 0


def _one_number_elsewhere(**options: Any) -> GroupNetwork:
    network = GroupNetwork("blocks-fast", OVERLAP, **options)
    network.to(1, 1)
    network.bring(network.to(1, 0), 2)
    return network


def test_5_4_as_printed_waits_for_a_number_used_elsewhere() -> None:
    """Process 1 sends in group 1, then in group 0: process 2 misses number 1, whatever comes."""
    network = _one_number_elsewhere(test="printed")
    assert network.held(2) == ["1:2"]
    assert network.outcome() == (0, 1)
    for _ in range(3):
        network.to(1, 0)
    assert network.outcome() == (0, 4), "more traffic does not help"
    [held, *_] = network.orders[2].held()
    assert held.awaited == (Awaited(1, 1, Scope.BLOCK),)


def test_5_4_repaired_the_sender_itself_shows_what_is_not_addressed_here() -> None:
    network = _one_number_elsewhere()
    assert network.history.deliveries(2) == ["1:2"]
    assert network.outcome() == (0, 0)


def test_5_4_repaired_a_null_tells_the_neighbours_of_other_groups() -> None:
    """0 sends in group 1, 1 passes it on to group 0: process 2 has to know that 0 sent it nothing.
    All that precedes the message is delivered there, so this wait is not forced by causality."""
    network = GroupNetwork("blocks-fast", OVERLAP)
    network.bring(network.to(0, 1), 1)
    network.bring(network.to(1, 0), 2)
    assert network.held(2) == ["1:1"]
    network.wake(0)
    network.next(0, 2)
    assert network.history.deliveries(2) == ["1:1"]
    assert nulls(network.history) == 1
    assert network.outcome() == (0, 0)
    assert late(network.history) == [(2, (1, 1))]


def test_5_4_without_the_null_it_blocks() -> None:
    network = GroupNetwork(planted("blocks-fast", "nobody-told"), OVERLAP)
    network.bring(network.to(0, 1), 1)
    network.bring(network.to(1, 0), 2)
    assert network.outcome() == (0, 1)


def test_5_4_repaired_a_held_message_is_no_delivered_one() -> None:
    """2 has received the message of 1 and the answer of 0, and holds both for that of 3. When it
    comes, the answer must not go first."""
    for protocol, violations in readings("blocks-fast", "received-is-delivered"):
        network = GroupNetwork(protocol, [range(4)])
        network.bring(network.to(3, 0), 0, 1)
        network.bring(network.to(1, 0), 0, 2)
        network.bring(network.to(0, 0), 2)
        assert network.held(2) == ["0:1", "1:1"]
        network.next(3, 2)
        assert network.held(2) == []
        assert len(early(network.history)) == violations


def test_5_4_a_message_of_the_group_spares_the_null() -> None:
    network = GroupNetwork("blocks-fast", OVERLAP)
    network.to(0, 1)
    network.to(0, 0)
    assert network.outcome() == (0, 0)
    assert nulls(network.history) == 0


@pytest.mark.parametrize("groups", LAYOUTS)
@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_5_4_safety_and_liveness(groups: Any, seed: int) -> None:
    history = random_run("blocks-fast", groups, 25, seed)
    assert not early(history)
    assert not undelivered(history)


@pytest.mark.parametrize("groups", LAYOUTS)
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_5_4_as_printed_is_safe_all_the_same(groups: Any, seed: int) -> None:
    assert not early(random_run("blocks-fast", groups, 15, seed, test="printed"))
