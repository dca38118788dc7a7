"""Section 5.2: overlapping groups, their cycles, and groups that change."""

from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from antecede.errors import MalformedStamp, Misuse
from antecede.message import Membership, members, process_set
from antecede.order import Deliver, Order, Packet, Transmit
from antecede.protocols import create
from tests.papers.blocks import CYCLE, PROTOCOLS, GroupNetwork, membership_of, orders_of, planted
from tests.papers.harness import Network, early, undelivered

seeds = st.integers(0, 10_000)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_5_2_the_cycle(protocol: str) -> None:
    """m1 in g1, m2 in g2, m3 in g3, m4 in g4, each sent upon the one before; p2 is in g1 and g4 and
    gets m4 first. (Processes and groups count from 0 here.)"""
    network = _around_the_cycle(protocol)
    assert network.history.deliveries(1) == []
    assert network.outcome() == (0, 0)
    assert network.history.deliveries(1) == ["0:1", "6:1"]


@pytest.mark.parametrize(
    ("protocol", "mutant"),
    [
        ("blocks-fast", "strangers-not-merged"),
        ("blocks-relative", "foreign-groups-not-merged"),
        ("blocks-slow", "counter-of-the-group"),
    ],
)
def test_5_2_information_on_the_own_groups_is_not_enough(protocol: str, mutant: str) -> None:
    network = _around_the_cycle(planted(protocol, mutant))
    network.settle()
    assert [violation.process for violation in early(network.history)] == [1]


@pytest.mark.parametrize(("carry", "violations"), [("own", 1), ("all", 0)])
def test_5_2_vectors_of_the_own_groups_are_not_enough_either(carry: str, violations: int) -> None:
    network = _around_the_cycle("vector", carry=carry)
    assert network.outcome() == (violations, 0)


def _around_the_cycle(protocol: str | type[Order], **options: Any) -> GroupNetwork:
    """Whatever process 0 sends to process 1 is on its way for long."""
    network = GroupNetwork(protocol, CYCLE, **options)
    for sender, group in [(0, 0), (2, 1), (5, 2), (6, 3)]:
        network.to(sender, group)
        while True:
            flights = [f for f in network.in_flight if (f.packet.source, f.to) != (0, 1)]
            if flights:
                network.arrive(flights[0])
            elif network.wakes:
                network.wake(network.wakes[0])
            else:
                break
    return network


FIRST = Membership(6, tuple(map(process_set, [{0, 1, 2}, {2, 3}, {3, 4, 0}])))
SECOND = Membership(6, tuple(map(process_set, [{0, 1, 2, 5}, set(), {3, 4, 0}, {1, 4, 5}])))
THIRD = Membership(7, tuple(map(process_set, [{0, 5, 6}, {2, 3}, {3, 4, 0}, {1, 4, 5}, {1, 6}])))


def _traffic(network: Network, membership: Membership, chance: Random, messages: int) -> None:
    """Random sends and arrivals on FIFO channels, with something left in flight at the end."""
    for _ in range(messages):
        while network.in_flight and chance.random() < 0.7:
            flight = chance.choice(network.in_flight)
            network.arrive(network.find(flight.to, flight.packet.source))
        if network.wakes and chance.random() < 0.2:
            network.wake(chance.choice(network.wakes))
        groups = [index for index, group in enumerate(membership.groups) if group]
        group = chance.choice(groups)
        sender = chance.choice(list(members(membership.group(group))))
        network.send(sender, *members(membership.group(group)), group=group)


def _changing(
    protocol: str, memberships: Sequence[Membership], seed: int, **options: Any
) -> Network:
    chance = Random(seed)
    network = Network([create(protocol, p, memberships[0], **options) for p in range(6)])
    for membership in memberships:
        network.orders = [
            *network.orders,
            *(
                create(protocol, process, membership, **options)
                for process in range(len(network.orders), membership.size)
            ),
        ]
        network._numbers += [0] * (membership.size - len(network._numbers))
        for process, order in enumerate(network.orders):
            network._apply(process, order.regroup(membership))  # type: ignore[attr-defined]
        _traffic(network, membership, chance, 15)
        network.settle()
    return network


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=15, deadline=None)
@given(seed=seeds)
def test_groups_change_at_a_flush(protocol: str, seed: int) -> None:
    """Members join and leave, a group is given up and formed again, a process is new."""
    network = _changing(protocol, [FIRST, SECOND, THIRD, Membership(7, FIRST.groups)], seed)
    assert not early(network.history)
    assert not undelivered(network.history)
    assert not any(order.held() for order in network.orders)


def test_a_total_order_survives_a_change() -> None:
    for seed in range(20):
        history = _changing("blocks-slow", [FIRST, SECOND, THIRD], seed, total=True).history
        assert not undelivered(history)
        assert not early(history)
        orders = [history.deliveries(process) for process in range(7)]
        for one, other in combinations(orders, 2):
            assert [m for m in one if m in other] == [m for m in other if m in one]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_change_is_refused_while_something_is_held(protocol: str) -> None:
    """And nothing is changed then."""
    network = GroupNetwork(protocol, [{0, 1, 2}])
    network.bring(network.to(0, 0), 1)
    network.bring(network.to(1, 0), 2)
    order: Any = network.orders[2]
    before = order.snapshot()
    with pytest.raises(Misuse, match="only at a flush; still held: 1:1"):
        order.regroup(membership_of([{0, 1, 2}, {0, 2}]))
    assert order.snapshot() == before
    network.settle()
    order.regroup(membership_of([{0, 1, 2}, {0, 2}]))
    with pytest.raises(Misuse, match="not one of the 2 processes"):
        order.regroup(Membership(2))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_change_before_the_flush_strands_messages(protocol: str) -> None:
    """Why nothing may be under way: a message to the old members finds a group of others."""
    network = GroupNetwork(protocol, [{0, 1}, {0, 1, 2}])
    message = network.to(0, 0)
    for order in network.orders:
        order.regroup(membership_of([{0, 1, 2}, {0, 1, 2}]))  # type: ignore[attr-defined]
    with pytest.raises(MalformedStamp, match="'destinations' are not the members of group 0"):
        network.bring(message, 1)


def test_a_change_starts_the_blocks_of_its_group_afresh() -> None:
    """Otherwise a joining member waits for packets that were sent before it came."""
    network = GroupNetwork("blocks-slow", [{0, 1}, {2}])
    for _ in range(3):
        network.to(0, 0)
        network.to(1, 0)
    network.settle()
    for order in network.orders:
        order.regroup(membership_of([{0, 1, 2}, {2}]))  # type: ignore[attr-defined]
    assert network.state(0).matrices[0].others == {1: 0, 2: 0}
    assert network.state(0).counter == 3
    network.to(0, 0)
    assert network.outcome() == (0, 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_wrong_stamps_are_refused_by_name(protocol: str) -> None:
    sender, receiver = orders_of(protocol, [{0, 1}, {1, 2}])[:2]
    network = Network([sender, receiver])
    network.send(0, 0, 1, group=0)
    [flight] = network.in_flight
    packet: Packet[Any] = flight.packet
    stamp = packet.stamp
    values = {name: getattr(stamp, name) for name in stamp.__struct_fields__}
    wrong: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "blocks-slow": [("number", {"number": 0}), ("group", {"group": 0})],
        "blocks-fast": [
            ("number", {"number": 0}),
            ("known", {"known": b"\x10", "gldv": (1,)}),
            ("gldv", {"gldv": (1,)}),
            ("gldv", {"known": b"\x01", "gldv": (0,)}),
            ("gldv", {"number": 9, "known": b"\x02", "gldv": (4,)}),
        ],
        "blocks-relative": [
            ("number", {"number": 0}),
            ("ldv", {"ldv": (0,)}),
            ("ldv", {"number": 9, "ldv": (0, 4)}),
            ("gbn", {"gbn": ((0, 1),)}),
            ("gbn", {"gbn": ((2, 1),)}),
            ("gbn", {"gbn": ((1, 0),)}),
            ("gbn", {"gbn": ((1, 1), (1, 2))}),
            ("group", {"group": 0}),
        ],
    }
    before = receiver.snapshot()
    for field, change in wrong[protocol]:
        damaged = Packet(0, packet.message, type(stamp)(**(values | change)))
        with pytest.raises(MalformedStamp) as refused:
            receiver.receive(damaged)
        assert refused.value.field == field
        assert receiver.snapshot() == before
    assert isinstance(receiver.receive(packet)[0], Deliver)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_wrong_nulls_are_refused_by_name(protocol: str) -> None:
    orders = orders_of(protocol, [{0, 1}, {0, 1}, {1, 2}, {0, 3}, {1, 3}])
    null = _some_null(orders)
    receiver = orders[1]
    stamp = null.stamp
    values = {name: getattr(stamp, name) for name in stamp.__struct_fields__}
    wrong: dict[str, list[tuple[str, int, dict[str, Any]]]] = {
        "blocks-slow": [("group", 0, {"group": 3}), ("group", 0, {"group": 2})],
        "blocks-fast": [("gldv", 0, {"known": b"\x01", "gldv": (1,)})],
        "blocks-relative": [("group", 0, {"group": 7}), ("ldv", 0, {"ldv": (1, 1), "group": 0})],
    }
    for field, source, change in [*wrong[protocol], ("source", 1, {}), ("source", 4, {})]:
        with pytest.raises(MalformedStamp) as refused:
            receiver.receive(Packet(source, None, type(stamp)(**(values | change))))
        assert refused.value.field == field


def _some_null(orders: list[Order]) -> Packet[Any]:
    network = GroupNetwork(type(orders[0]), [set(members(g)) for g in orders[0].membership.groups])
    for _ in range(3):
        network.to(0, 3)
    network.to(3, 4)
    network.settle()
    return next(f.packet for f in network.history.flights if f.packet.message is None)


def test_transmissions_never_include_the_sender() -> None:
    """A null to a group is a null to its other members."""
    for protocol in PROTOCOLS:
        orders = orders_of(protocol, CYCLE)
        network = GroupNetwork(type(orders[0]), CYCLE)
        network.to(2, 1)
        network.settle()
        effects = [effect for order in network.orders for effect in order.wake(0.0)]
        assert not [effect for effect in effects if isinstance(effect, Transmit)], "nothing is owed"
        assert all(flight.packet.source != flight.to for flight in network.history.flights)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_held_identity_with_another_number_is_refused(protocol: str) -> None:
    """A broken peer repeats a message under a new block number; what is held stays as it is."""
    network = GroupNetwork(protocol, [{0, 1, 2}])
    network.bring(network.to(2, 0), 0)
    message = network.to(0, 0)
    if protocol == "blocks-slow":
        message = network.to(0, 0)
        network.next(0, 1)
    network.next(0, 1)
    assert str(message) in network.held(1)
    [packet, *_] = [
        flight.packet
        for flight in network.history.flights
        if flight.packet.message is not None and flight.packet.message.id == message
    ]
    stamp = structs.replace(packet.stamp, number=packet.stamp.number + 1)
    before = network.orders[1].snapshot()
    with pytest.raises(MalformedStamp, match="held already"):
        network.orders[1].receive(Packet(0, packet.message, stamp))
    assert network.orders[1].snapshot() == before
    assert network.outcome() == (0, 0)
