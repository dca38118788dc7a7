"""Sanchez and Alvarez, section 3: the algorithm, sentence by sentence."""

from typing import Any

import pytest

from antecede.errors import MalformedStamp, Misuse
from antecede.message import MessageId
from antecede.order import Awaited, Order, Packet, Scope
from antecede.orders.bounded import Constraints
from tests.papers.harness import Flight, Network, run, team, traffic

Triple = tuple[int, int, int]


def network(size: int, k: Any = None) -> Network:
    return Network(team("bounded", size, k=k))


def matrix(order: Order) -> set[Triple]:
    """The non-zero entries of M, as (i, j, M[i, j])."""
    return {(i, j, count) for j, column in enumerate(order.state.M) for i, count in column.items()}


def carried(net: Network, to: int, message: MessageId) -> set[Triple]:
    """The constraints on the copy of a message that is on its way to a process."""
    return set(net.find(to, message.sender, message).packet.stamp.triples)


def extra_messages(net: Network) -> list[Flight]:
    return [flight for flight in net.history.flights if flight.packet.message is None]


def test_at_first_all_is_zero() -> None:
    order = team("bounded", 3)[0]
    assert matrix(order) == set()
    assert order.state.DELIV == [0, 0, 0]


def test_the_matrix_is_attached_and_then_incremented() -> None:
    net = network(2)
    assert carried(net, 1, net.send(0, 1)) == set()
    assert matrix(net.orders[0]) == {(0, 1, 1)}
    assert carried(net, 1, net.send(0, 1)) == {(0, 1, 1)}
    assert matrix(net.orders[0]) == {(0, 1, 2)}


def test_the_receiver_waits_for_its_own_column_alone() -> None:
    net = network(3)
    net.send(0, 2)
    first, second = net.send(0, 1), net.send(0, 1)
    assert carried(net, 1, second) == {(0, 1, 1), (0, 2, 1)}
    net.bring(second, 1)
    assert net.history.deliveries(1) == []
    net.bring(first, 1)
    assert net.history.deliveries(1) == ["0:2", "0:3"]
    assert net.orders[1].state.DELIV == [2, 0, 0]


def test_a_delivery_takes_the_maximum_of_the_matrices() -> None:
    net = network(4)
    net.send(0, 3)
    net.send(0, 3)
    to_one = net.send(0, 1)
    net.send(1, 3)
    net.bring(to_one, 1)
    assert matrix(net.orders[1]) == {(0, 3, 2), (1, 3, 1)}


def test_the_constraints_that_do_not_hold_explain_what_is_held() -> None:
    """Φ: at P_j, DELIV[i] must reach M[i, j], for every i."""
    net = network(3)
    net.send(0, 2)
    net.send(0, 2)
    net.bring(net.send(0, 1), 1)
    third = net.send(1, 2)
    net.bring(third, 2)
    (held,) = net.orders[2].held()
    assert held.message == third
    assert held.awaited == (Awaited(0, 2, Scope.HERE),)  # φ_02: DELIV[0] ≥ 2
    net.bring(MessageId(0, 1), 2)
    assert net.orders[2].held() == [held]
    net.bring(MessageId(0, 2), 2)
    assert net.orders[2].held() == []


def test_the_column_of_a_process_at_itself_is_always_zero() -> None:
    for seed in range(5):
        orders = team("bounded", 4)
        run(orders, traffic(4, 40, seed), seed)
        for order in orders:
            assert order.state.M[order.process] == {}


def test_a_send_clears_the_column_of_its_destination_but_for_itself() -> None:
    net = network(4)
    net.send(0, 3)
    net.send(0, 2)
    net.bring(net.send(0, 1), 1)
    assert matrix(net.orders[1]) == {(0, 2, 1), (0, 3, 1)}
    assert carried(net, 3, net.send(1, 3)) == {(0, 2, 1), (0, 3, 1)}
    assert matrix(net.orders[1]) == {(0, 2, 1), (1, 3, 1)}


def too_many() -> Network:
    """Process 0 knows three packets; a delivery brings it two more (n = 4, k = 5)."""
    net = network(4, k=5)
    for destination in (1, 2, 3):
        net.send(0, destination)
    net.send(1, 2)
    net.send(1, 3)
    net.bring(net.send(1, 0), 0)
    return net


def test_too_many_entries_make_an_extra_message_to_the_fullest_column() -> None:
    net = too_many()
    (extra,) = extra_messages(net)
    assert (extra.packet.source, extra.to) == (0, 2)  # column 3 has two entries as well
    assert set(extra.packet.stamp.triples) == {(0, 2, 1), (1, 2, 1)}  # that column alone
    assert matrix(net.orders[0]) == {(0, 1, 1), (0, 2, 2), (0, 3, 1), (1, 3, 1)}


def test_an_extra_message_waits_for_its_column_and_takes_a_number() -> None:
    net = too_many()
    (extra,) = extra_messages(net)
    net.arrive(extra)
    assert net.orders[2].state.DELIV == [0, 0, 0, 0]
    assert net.orders[2].held() == []  # it brings nothing that an application could miss
    net.bring(MessageId(0, 2), 2)
    assert net.orders[2].state.DELIV == [1, 0, 0, 0]
    net.bring(MessageId(1, 1), 2)
    assert net.orders[2].state.DELIV == [2, 1, 0, 0]


def test_what_follows_an_extra_message_waits_for_it() -> None:
    """The new constraints are stronger than the application's messages ask for."""
    net = too_many()
    (extra,) = extra_messages(net)
    late = net.send(0, 2)
    for message in (MessageId(0, 2), MessageId(1, 1), late):
        net.bring(message, 2)
    (held,) = net.orders[2].held()
    assert held.awaited == (Awaited(0, 2, Scope.HERE),)
    net.arrive(extra)
    assert net.history.deliveries(2) == ["0:2", "1:1", "0:4"]


def test_an_extra_message_brings_no_knowledge() -> None:
    net = too_many()
    net.bring(MessageId(0, 2), 2)
    net.bring(MessageId(1, 1), 2)
    before = matrix(net.orders[2])
    net.arrive(extra_messages(net)[0])
    assert matrix(net.orders[2]) == before


def test_a_send_can_be_one_too_many() -> None:
    net = network(4, k=4)
    net.send(1, 2)
    net.send(1, 3)
    net.bring(net.send(1, 0), 0)
    net.send(3, 2)
    net.bring(net.send(3, 0), 0)
    assert matrix(net.orders[0]) == {(1, 2, 1), (3, 2, 1), (1, 3, 1)}
    assert extra_messages(net) == []
    net.send(0, 1)
    (extra,) = extra_messages(net)
    assert extra.to == 2
    assert matrix(net.orders[0]) == {(0, 1, 1), (0, 2, 1), (1, 3, 1)}


@pytest.mark.parametrize("k", [3, 17, 0, [4, 4, 4], [4, 4, 4, 3]])
def test_k_is_between_n_and_n_squared(k: Any) -> None:
    with pytest.raises(Misuse, match="k "):
        team("bounded", 4, k=k)


def test_each_process_may_have_its_own_k() -> None:
    orders = team("bounded", 4, k=[4, 5, 8, 16])
    assert [order.entries_bound() for order in orders] == [3, 4, 7, 15]
    assert [order.entries_bound() for order in team("bounded", 4)] == [7] * 4


@pytest.mark.parametrize(
    ("triples", "has_message", "field"),
    [
        (((0, 3, 1),), True, r"triples\[0\]"),  # no such process
        (((3, 1, 1),), True, r"triples\[0\]"),
        (((1, 1, 1),), True, r"triples\[0\]"),  # to itself
        (((0, 1, 0),), True, r"triples\[0\]"),  # a zero
        (((2, 0, 1),), True, r"triples\[0\]"),  # the sender's own column
        (((0, 2, 1), (0, 1, 1)), True, r"triples\[1\]"),  # out of order
        (((0, 1, 1), (0, 1, 1)), True, r"triples\[1\]"),  # twice
        (((1, 2, 1),), True, r"triples\[0\]"),  # more than this process has sent
        (((0, 2, 1),), False, r"triples\[0\]"),  # an extra message with another's column
    ],
)
def test_a_malformed_stamp_is_refused_and_changes_nothing(
    triples: tuple[Triple, ...], has_message: bool, field: str
) -> None:
    net = network(3)
    packet = net.find(1, 0, net.send(0, 1)).packet
    order = net.orders[1]
    before = order.snapshot()
    message = packet.message if has_message else None
    with pytest.raises(MalformedStamp, match=field):
        order.receive(Packet(0, message, Constraints(triples)))
    with pytest.raises(MalformedStamp, match="source"):
        order.receive(Packet(1, None, Constraints(())))
    assert order.snapshot() == before
