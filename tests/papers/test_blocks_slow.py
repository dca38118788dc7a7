"""Section 5.3: the slow protocol, and what its text leaves open."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.order import Awaited, Scope
from tests.papers.blocks import (
    CYCLE,
    GroupNetwork,
    nulls,
    planted,
    random_run,
    readings,
    sent,
    stamps,
)
from tests.papers.harness import early, undelivered

PAIR = [{0, 1}]
TRIO = [{0, 1, 2}]
OVERLAP = [{0, 1}, {0, 1, 2}]
LAYOUTS = [TRIO, OVERLAP, CYCLE, [{0, 1, 2}, {0, 1, 2}], [{0, 1}, {1, 2}, {2, 0}]]
seeds = st.integers(0, 10_000)


def test_5_3_a_message_carries_one_integer() -> None:
    history = random_run("blocks-slow", CYCLE, 30, 1)
    assert {stamp.entries() for stamp in stamps(history).values()} == {1}


def test_5_3_the_next_block_is_delivered_at_once() -> None:
    """Numbered B_min + 1: no completion needed, so a first message costs no null."""
    network = GroupNetwork("blocks-slow", TRIO)
    message = network.to(0, 0)
    network.bring(message, 1, 2)
    assert network.history.deliveries(1) == network.history.deliveries(2) == ["0:1"]
    assert network.outcome() == (0, 0)
    assert nulls(network.history) == 0


def test_5_3_a_later_block_waits_for_completion() -> None:
    """Number B_min + 5 is not delivered before block B_min + 4 is complete, although everything
    that precedes it is delivered."""
    network = GroupNetwork("blocks-slow", TRIO)
    for _ in range(5):
        network.to(0, 0)
    for _ in range(5):
        network.next(0, 1)
    assert network.history.deliveries(1) == ["0:1"]
    for number in range(2, 6):
        network.next(0, 2)
        answer = network.to(2, 0)
        network.bring(answer, 1)
        assert stamps(network.history)[answer].number == number
        assert f"0:{number}" in network.history.deliveries(1)
    assert network.outcome() == (0, 0)


def test_5_3_explains_what_is_held() -> None:
    network = GroupNetwork("blocks-slow", TRIO)
    network.to(0, 0)
    second = network.to(0, 0)
    network.next(0, 1)
    network.bring(second, 1)
    [held] = network.orders[1].held()
    assert held.message == second
    assert held.awaited == (Awaited(2, 1, Scope.BLOCK, 0),)
    assert held.awaited[0].sentence() == "what process 2 sends in group 0 with numbers up to 1"


def test_figure_4_delivers_all_blocks_that_one_packet_completes() -> None:
    """B_min moves by several blocks at once; everything up to B_min + 1 is delivered, in order."""
    network = _two_blocks_at_once("blocks-slow")
    assert network.history.deliveries(2) == ["0:1", "0:2", "0:3"]
    assert network.outcome() == (0, 0)


def test_figure_4_with_b_min_updated_at_every_mark_blocks() -> None:
    """As the text above the figure says: then only number B_min + 1 is ever delivered."""
    network = _two_blocks_at_once(planted("blocks-slow", "next-block-only"))
    network.settle()
    assert network.held(2) == ["0:2", "0:3"]


def _two_blocks_at_once(protocol: Any) -> GroupNetwork:
    network = GroupNetwork(protocol, TRIO)
    for _ in range(3):
        network.bring(network.to(0, 0), 1, 2)
    assert network.held(2) == ["0:2", "0:3"]
    network.wake(1)
    network.next(1, 2)  # a null numbered 3
    return network


def test_5_3_needs_one_counter_for_all_groups() -> None:
    """0 asks in group 1, 2 answers in group 0: both have number 1 there, and 1 gets the answer."""
    for protocol, violations in readings("blocks-slow", "counter-of-the-group"):
        network = GroupNetwork(protocol, [{0, 1, 2}, {0, 1, 2}])
        question = network.to(0, 1)
        network.bring(question, 2)
        answer = network.to(2, 0)
        network.bring(answer, 1)
        assert network.outcome() == (violations, 0)


@pytest.mark.parametrize("groups", LAYOUTS)
@pytest.mark.parametrize("total", [False, True])
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_5_3_safety_and_liveness(groups: Any, total: bool, seed: int) -> None:
    history = random_run("blocks-slow", groups, 20, seed, total=total)
    assert not early(history)
    assert not undelivered(history)


@pytest.mark.parametrize("groups", LAYOUTS)
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_a_total_order_for_all_groups(groups: Any, seed: int) -> None:
    """By block, and by sender within a block, at the sender as well."""
    history = random_run("blocks-slow", groups, 20, seed, total=True)
    carried = stamps(history)
    place = {str(m.id): (carried[m.id].number, m.id.sender) for m in sent(history)}
    for process in range(max(map(max, groups)) + 1):
        delivered = [place[message] for message in history.deliveries(process)]
        assert delivered == sorted(delivered)


def test_without_total_concurrent_messages_are_delivered_in_either_order() -> None:
    network = GroupNetwork("blocks-slow", PAIR)
    network.to(0, 0)
    network.to(1, 0)
    network.settle()
    assert network.history.deliveries(0) == ["0:1", "1:1"]
    assert network.history.deliveries(1) == ["1:1", "0:1"]


def test_nulls_are_asked_for_where_the_number_is_unknown() -> None:
    """Process 1 holds number 3 of group 0 and lacks news of 2 in group 1, whose other member has
    never heard of such numbers: its own null tells it, and the answer is one round away."""
    network = GroupNetwork("blocks-slow", [{0, 1}, {1, 2}])
    for _ in range(3):
        network.to(0, 0)
    network.next(0, 1)
    network.next(0, 1)
    network.next(0, 1)
    assert network.held(1) == ["0:2", "0:3"]
    network.wake(1)
    network.next(1, 2)
    assert network.held(1) == ["0:2", "0:3"]
    network.wake(2)
    network.next(2, 1)
    assert network.held(1) == []
    assert network.outcome() == (0, 0)


def test_asking_only_where_something_is_known_blocks() -> None:
    network = GroupNetwork(planted("blocks-slow", "other-groups-not-asked"), [{0, 1}, {1, 2}])
    network.to(0, 0)
    network.to(0, 0)
    assert network.outcome() == (0, 1)


@pytest.mark.parametrize("groups", LAYOUTS)
@settings(max_examples=15, deadline=None)
@given(seed=seeds)
def test_nulls_are_numbered_no_higher_than_messages(groups: Any, seed: int) -> None:
    """So they come to an end: nothing is owed for a null."""
    history = random_run("blocks-slow", groups, 12, seed)
    highest = max(stamp.number for stamp in stamps(history).values())
    assert max(flight.packet.stamp.number for flight in history.flights) == highest
