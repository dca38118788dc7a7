"""Kshemkalyani, Singhal: necessary and sufficient conditions on information for causal message
ordering. What a stamp carries is compared with the two Propagation Constraints themselves."""

import pytest

from antecede.message import Message, MessageId, members, process_set
from antecede.order import Awaited, Held
from antecede.orders.optimal import Entries, Optimal
from antecede.wire import decode_stamp, encode_stamp
from tests.papers.harness import Flight, History, Network, early, late, run, team, traffic
from tests.papers.harness import undelivered as undelivered_in

Fact = tuple[MessageId, int]
"""(M, d): d is a destination of M."""


def stamp_to(network: Network, message: MessageId, destination: int) -> tuple[object, ...]:
    stamp = network.find(destination, message.sender, message).packet.stamp
    assert isinstance(stamp, Entries)
    return stamp.log


def log(network: Network, process: int) -> dict[int, dict[int, int]]:
    order = network.orders[process]
    assert isinstance(order, Optimal)
    return order.state.log


def test_nothing_known_nothing_carried() -> None:
    network = Network(team("optimal", 3))
    assert stamp_to(network, network.send(0, 1), 1) == ()


def test_constraint_i_delivery_ends_a_dependency() -> None:
    """Who learns that 0:1 has been delivered at 1 forgets that it was sent there; the empty entry
    remains as the latest of process 0."""
    network = Network(team("optimal", 3))
    network.bring(network.send(0, 1), 1)
    answer = network.send(1, 0)
    assert stamp_to(network, answer, 0) == ((0, 1, ()),)
    network.bring(answer, 0)
    assert log(network, 0) == {0: {1: 0}, 1: {1: 0}}
    assert stamp_to(network, network.send(0, 2), 2) == ((1, 1, ()),)


def test_constraint_ii_a_later_message_takes_over() -> None:
    """0:2 to 1 waits there for 0:1; from then on only 0:2 need be known."""
    network = Network(team("optimal", 3))
    network.send(0, 1)
    second = network.send(0, 1)
    assert stamp_to(network, second, 1) == ((0, 1, (1,)),)
    assert log(network, 0) == {0: {2: process_set([1])}}
    assert stamp_to(network, network.send(0, 2), 2) == ((0, 2, (1,)),)


def test_each_copy_is_pruned_for_its_destination() -> None:
    """0:1 went to 1, 2 and 3. Of the next message to 1 and 2 each copy tells its receiver to wait
    for 0:1 and leaves the other to the message itself; that 3 is a destination both must tell."""
    network = Network(team("optimal", 4))
    network.send(0, 1, 2, 3)
    second = network.send(0, 1, 2)
    assert stamp_to(network, second, 1) == ((0, 1, (1, 3)),)
    assert stamp_to(network, second, 2) == ((0, 1, (2, 3)),)
    assert log(network, 0) == {0: {1: process_set([3]), 2: process_set([1, 2])}}


def test_equal_copies_are_one_transmission() -> None:
    network = Network(team("optimal", 4))
    network.send(0, 1)
    effects = network.orders[0].send(Message(MessageId(0, 2), process_set([1, 2, 3])))
    assert [list(members(effect.to)) for effect in effects] == [[2, 3], [1]]  # type: ignore[union-attr]


def test_implicit_tracking_a_missing_entry_is_settled() -> None:
    """1 holds an entry for 0:1 to 2; a later message of 0 comes without it: 2 has delivered it."""
    network = Network(team("optimal", 3))
    first = network.send(0, 1, 2)
    network.bring(first, 1)
    assert log(network, 1) == {0: {1: process_set([2])}}
    network.bring(first, 2)
    network.bring(network.send(2, 0), 0)
    later = network.send(0, 1)
    network.bring(later, 1)
    assert log(network, 1)[0] == {2: 0}


def test_a_settled_entry_does_not_come_back() -> None:
    """The reverse: 3 knows that 2 has delivered 0:1 and takes nothing else over from an old log. As
    that log does not name 1, both destinations are settled."""
    network = Network(team("optimal", 4))
    first = network.send(0, 1, 2)
    network.bring(first, 1)
    old = network.send(1, 3)  # knows that 0:1 is on its way to 2
    network.bring(first, 2)
    network.bring(network.send(2, 0), 0)
    network.bring(network.send(0, 3), 3)
    assert log(network, 3)[0] == {1: process_set([1]), 2: 0}
    network.bring(old, 3)
    assert log(network, 3)[0] == {2: 0}


def test_the_delivery_condition_waits_for_what_names_the_receiver() -> None:
    network = Network(team("optimal", 3))
    slow = network.send(0, 2)
    network.bring(network.send(0, 1), 1)
    quick = network.send(1, 2)
    network.bring(quick, 2)
    assert network.orders[2].held() == [Held(quick, (Awaited(0, 1),))]
    network.bring(slow, 2)
    assert network.history.deliveries(2) == ["0:1", "1:1"]


def required(history: History) -> dict[MessageId, set[Fact]]:
    """By the definition, for each send, the facts in its past for which neither Propagation
    Constraint has been falsified in that past."""
    past: dict[int, set[tuple[str, MessageId, int]]] = {}
    sent: dict[MessageId, set[tuple[str, MessageId, int]]] = {}
    followers: dict[MessageId, set[MessageId]] = {}
    destinations: dict[MessageId, set[int]] = {}
    found = {}
    for event in history.events:
        identity = event.message.id
        here = past.setdefault(event.process, set())
        if event.kind == "send":
            known = {message for kind, message, _ in here if kind == "send"}
            destinations[identity] = set(members(event.message.destinations)) - {identity.sender}
            found[identity] = {
                (message, process)
                for message in known
                for process in destinations[message]
                if ("deliver", message, process) not in here
                and not any(process in destinations[m] for m in followers[message] & known)
            }
            for message in known:
                followers[message].add(identity)
            followers[identity] = set()
            here.add(("send", identity, event.process))
            sent[identity] = set(here)
        elif event.kind == "deliver" and event.process != identity.sender:
            here |= sent[identity] | {("deliver", identity, event.process)}
    return found


def carried(flight: Flight) -> set[Fact]:
    stamp = flight.packet.stamp
    return {
        (MessageId(sender, clock), process)
        for sender, clock, dests in stamp.log
        for process in (
            members(int.from_bytes(dests, "little")) if isinstance(dests, bytes) else dests
        )
    }


@pytest.mark.parametrize("fanout", [1, None])
def test_a_stamp_carries_what_is_necessary_and_nothing_else(fanout: int | None) -> None:
    """Every copy carries exactly the facts that the constraints require, without those about the
    message's other destinations, for which the message itself is the later one."""
    facts = 0
    for seed in range(40):
        history = run(team("optimal", 4), traffic(4, 14, seed, fanout), seed)
        needed = required(history)
        for flight in history.flights:
            message = flight.packet.message
            assert message is not None
            elsewhere = set(members(message.destinations)) - {flight.to}
            expected = {fact for fact in needed[message.id] if fact[1] not in elsewhere}
            assert carried(flight) == expected
            facts += len(expected)
    assert facts > 500


@pytest.mark.parametrize("fanout", [1, None])
def test_safe_live_and_prompt(fanout: int | None) -> None:
    for seed in range(60):
        history = run(team("optimal", 4), traffic(4, 15, seed, fanout), seed, duplicate=0.1)
        assert early(history) == []
        assert undelivered_in(history) == []
        assert late(history) == []


def test_a_destination_is_named_once_per_sender() -> None:
    """The invariant behind the bound of 3n² integers."""
    for seed in range(20):
        orders = team("optimal", 5)
        run(orders, traffic(5, 30, seed), seed)
        for order in orders:
            assert isinstance(order, Optimal)
            for clocks in order.state.log.values():
                sets = list(clocks.values())
                union = 0
                for dests in sets:
                    assert not union & dests
                    union |= dests


def mean_entries(protocol: str, size: int, fanout: int) -> float:
    history = run(team(protocol, size), traffic(size, 10 * size, 1, fanout), seed=1)
    sizes: list[int] = [flight.packet.stamp.entries() for flight in history.flights]
    return sum(sizes) / len(sizes)


def test_smaller_than_the_matrix() -> None:
    """By an order of magnitude and more as processes are added, for broadcast: about two integers
    a process against n²."""
    assert mean_entries("optimal", 16, fanout=1) < mean_entries("matrix", 16, fanout=1)
    assert mean_entries("optimal", 16, fanout=15) < mean_entries("matrix", 16, fanout=15) / 4


@pytest.mark.parametrize("dests", [[], [3], [0, 1, 2, 3, 4], [130, 131], range(0, 200, 2)])
def test_sets_travel_in_the_shorter_form(dests: list[int]) -> None:
    orders = team("optimal", 256)
    network = Network(orders)
    network.send(255, *(dests or [7]))
    stamp = network.find(9, message=network.send(255, 9)).packet.stamp
    assert decode_stamp(encode_stamp(stamp), Entries) == stamp
    as_list = sum(1 if process < 128 else 2 for process in dests)
    assert len(encode_stamp(stamp)) <= 12 + min(as_list, 33)
