"""Raynal, Schiper, Toueg: the causal ordering abstraction and a simple way to implement it."""

import pytest

from antecede.message import MessageId
from antecede.order import Awaited, Held, Scope
from antecede.orders.matrix import Matrix, Sent
from tests.papers.harness import Network, early, late, run, team, traffic, undelivered


def rows(network: Network, process: int) -> list[tuple[int, ...]]:
    """SENT at a process."""
    order = network.orders[process]
    assert isinstance(order, Matrix)
    return order.state.sent


def test_the_protocol_unicast() -> None:
    """The triangle: 0 tells 2, then 1; 1 tells 2, whose copy arrives first and waits."""
    network = Network(team("matrix", 3))
    slow = network.send(0, 2)
    network.bring(network.send(0, 1), 1)
    quick = network.send(1, 2)
    network.bring(quick, 2)
    assert network.history.deliveries(2) == []
    assert network.orders[2].held() == [Held(quick, (Awaited(0, 1, Scope.HERE),))]
    network.bring(slow, 2)
    assert network.history.deliveries(2) == ["0:1", "1:1"]
    assert network.orders[2].held() == []


def test_sent_counts_what_is_known_to_be_sent() -> None:
    network = Network(team("matrix", 3))
    network.send(0, 2)
    network.bring(network.send(0, 1), 1)
    assert rows(network, 1) == [(0, 1, 1), (0, 0, 0), (0, 0, 0)]
    network.send(1, 2)
    assert rows(network, 1) == [(0, 1, 1), (0, 0, 1), (0, 0, 0)]
    network.settle()
    assert rows(network, 2) == rows(network, 1)


def test_two_messages_on_one_channel_keep_their_order() -> None:
    network = Network(team("matrix", 2))
    first, second = network.send(0, 1), network.send(0, 1)
    network.bring(second, 1)
    assert network.history.deliveries(1) == []
    network.bring(first, 1)
    assert network.history.deliveries(1) == ["0:1", "0:2"]


def test_multicast_tells_every_destination_of_the_other_copies() -> None:
    """All copies carry the same stamp, and an answer cannot overtake the copy to the third."""
    network = Network(team("matrix", 3))
    question = network.send(0, 1, 2)
    stamps = {flight.packet.stamp for flight in network.history.flights}
    assert stamps == {Sent(((0, 1, 1), (0, 0, 0), (0, 0, 0)))}
    network.bring(question, 1)
    network.bring(network.send(1, 2), 2)
    assert network.history.deliveries(2) == []
    network.bring(question, 2)
    assert network.history.deliveries(2) == ["0:1", "1:1"]


def test_a_message_to_oneself_blocks_nobody() -> None:
    """Counted in SENT, it would be awaited by its own sender for ever."""
    network = Network(team("matrix", 2))
    network.send(0, 0, 1)
    network.settle()
    network.send(1, 0)
    network.settle()
    assert network.history.deliveries(0) == ["0:1", "1:1"]
    assert undelivered(network.history) == []


def test_unchanged_rows_are_shared() -> None:
    network = Network(team("matrix", 4))
    network.bring(network.send(0, 1), 1)
    network.bring(network.send(1, 2), 2)
    assert rows(network, 2)[0] is rows(network, 0)[0]
    assert rows(network, 2)[1] is rows(network, 1)[1]


@pytest.mark.parametrize("size", [2, 5, 9])
def test_a_stamp_has_n_squared_entries(size: int) -> None:
    orders = team("matrix", size)
    history = run(orders, traffic(size, 20, seed=size), seed=size)
    assert {flight.packet.stamp.entries() for flight in history.flights} == {size**2}
    assert {order.entries() for order in orders} == {size**2 + size}


@pytest.mark.parametrize("fanout", [1, None])
def test_safe_live_and_prompt(fanout: int | None) -> None:
    for seed in range(60):
        program = traffic(4, 15, seed, fanout)
        history = run(team("matrix", 4), program, seed, duplicate=0.1)
        assert early(history) == []
        assert undelivered(history) == []
        assert late(history) == []


def test_the_column_of_a_process_equals_its_deliveries() -> None:
    """The invariant: nothing that a process knows to be sent to it is undelivered there."""
    for seed in range(20):
        orders = team("matrix", 4)
        run(orders, traffic(4, 25, seed), seed)
        for order in orders:
            assert isinstance(order, Matrix)
            column = [row[order.process] for row in order.state.sent]
            assert column == order.state.delivered


def test_a_held_message_names_all_that_it_waits_for() -> None:
    network = Network(team("matrix", 3))
    network.send(0, 2)
    network.send(0, 2)
    network.bring(network.send(0, 1), 1)
    network.bring(network.send(1, 2), 2)
    awaited = (Awaited(0, 2, Scope.HERE),)
    assert network.orders[2].held() == [Held(MessageId(1, 1), awaited)]
