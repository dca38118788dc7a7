"""Rodrigues and Verissimo, section 4.2: where the text as printed goes wrong, and the repairs."""

from typing import Any

import pytest

from antecede.message import Membership, Message, MessageId, ProcessSet
from antecede.order import Awaited, Deliver, Effect, Order, Packet, Transmit
from antecede.orders._counting import Condition
from antecede.orders.histories import Entry, Histories, HistoriesOptions, Timestamp
from tests.mutants import mutants_of, mutated
from tests.papers.harness import Early, Network, early, run, team, traffic, undelivered


def planted(name: str, size: int) -> list[Order]:
    """The protocol with one of its planted bugs."""
    (mutant,) = [mutant for mutant in mutants_of("histories") if mutant.name == name]
    order = mutated("histories", mutant)
    return [order(process, Membership(size)) for process in range(size)]


def crossing(orders: list[Order]) -> Network:
    """0 sends a; 1 sends b to 0; 0 sends c, which cites a; c reaches 1 before a."""
    net = Network(orders)
    a = net.send(0, 1)
    net.send(1, 0)
    c = net.send(0, 1)
    net.bring(c, 1)
    net.bring(a, 1)
    return net


def test_is_in_as_printed_lets_c_overtake_a() -> None:
    printed = crossing(planted("is-in-as-printed", 2))
    assert printed.history.deliveries(1) == ["0:2"]  # b stands for a, which is taken for delivered
    (overtaken,) = early(printed.history)
    assert overtaken == Early(1, MessageId(0, 1), MessageId(0, 2))


def test_is_in_of_one_sender_keeps_c_waiting() -> None:
    repaired = crossing(team("histories", 2))
    assert repaired.history.deliveries(1) == ["0:1", "0:2"]
    assert early(repaired.history) == []


def answered(orders: list[Order]) -> Network:
    """0 sends to itself and to 1; 1 answers."""
    net = Network(orders)
    net.bring(net.send(0, 0, 1), 1)
    net.bring(net.send(1, 0), 0)
    return net


class Unrecorded(Histories):
    """R4 with "D_q" taken for the destination's: a sender's own D does not learn of its sends."""

    def check(self, packet: Packet[Any], message: Message) -> None:
        """It would refuse an answer to what, by D, was never sent."""

    def _add_to_causal(self, sender: int, number: int, destinations: ProcessSet) -> Entry:
        entries = self.state.H.setdefault(sender, {})
        return entries.setdefault(number, Entry(destinations, 0))

    def _add_to_delivered(self, message: MessageId) -> Condition:
        if message.sender == self.process:
            return self._condition(message)
        return super()._add_to_delivered(message)


def test_an_own_send_that_is_not_in_d_is_awaited_for_ever() -> None:
    options = HistoriesOptions(rules="R1-R5")
    net = answered([Unrecorded(process, Membership(2), options) for process in range(2)])
    net.settle()
    assert [held.awaited for held in net.orders[0].held()] == [(Awaited(0, 1),)]


def test_an_own_send_that_is_not_in_d_is_awaited_for_ever_after_a_detour() -> None:
    """With R6 to R8: 2 cannot know that 0 has been told."""
    net = Network([Unrecorded(process, Membership(4)) for process in range(4)])
    net.bring(net.send(0, 0, 1, 3), 1)
    net.bring(net.send(1, 2), 2)
    net.bring(net.send(2, 0), 0)
    net.settle()
    assert [held.awaited for held in net.orders[0].held()] == [(Awaited(0, 1),)]


@pytest.mark.parametrize("rules", ["R1-R4", "R1-R5", "R1-R8"])
def test_an_own_send_is_in_d_at_once(rules: str) -> None:
    net = answered(team("histories", 2, rules=rules))
    assert net.history.deliveries(0) == ["0:1", "1:1"]


class Travelling(Histories):
    """The copy to oneself goes through the network; footnote 2 delivers it without delay."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        effects = super().send(message, now)
        own = [effect for effect in effects if isinstance(effect, Deliver)]
        copies = [
            Transmit(Packet(self.process, effect.message, Timestamp((), ())), 1 << self.process)
            for effect in own
        ]
        return [effect for effect in effects if effect not in own] + copies

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        if packet.source == self.process:
            return [Deliver(packet.message)]  # type: ignore[arg-type]
        return super().receive(packet, now)


def test_own_copies_that_travel_are_delivered_in_the_wrong_order() -> None:
    net = Network([Travelling(process, Membership(2)) for process in range(2)])
    first, second = net.send(0, 0, 1), net.send(0, 0, 1)
    net.bring(second, 0)
    net.bring(first, 0)
    assert net.history.deliveries(0) == ["0:2", "0:1"]


def test_own_copies_are_delivered_as_they_are_sent() -> None:
    net = Network(team("histories", 2))
    net.send(0, 0, 1)
    net.send(0, 0, 1)
    assert net.history.deliveries(0) == ["0:1", "0:2"]


def alternating(union: str, rounds: int) -> list[int]:
    """0 sends to 1 and to 2 in turn and 2 answers: the sizes of H at the three processes."""
    net = Network(team("histories", 3, union=union))
    for _ in range(rounds):
        net.bring(net.send(0, 1), 1)
        net.bring(net.send(0, 2), 2)
        net.bring(net.send(2, 0), 0)
    return [order.entries() for order in net.orders]


@pytest.mark.parametrize("rounds", [10, 50, 200])
def test_the_union_as_printed_lets_the_history_grow_for_ever(rounds: int) -> None:
    assert alternating("arrived", rounds)[2] == rounds + 1


def test_the_union_over_all_of_the_history_bounds_it() -> None:
    sizes = alternating("all", 10)
    assert sizes == alternating("all", 50) == alternating("all", 200) == [2, 1, 2]


@pytest.mark.parametrize("fanout", [1, None])
@pytest.mark.parametrize("carbon_copies", [False, True])
def test_the_history_never_exceeds_its_bound(carbon_copies: bool, fanout: int | None) -> None:
    """(n-1)² identifiers, after every event."""

    class Watched(Histories):
        def send(self, message: Message, now: float = 0.0) -> list[Effect]:
            effects = super().send(message, now)
            assert self.entries() <= (self.membership.size - 1) ** 2
            return effects

        def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
            effects = super().receive(packet, now)
            assert self.entries() <= (self.membership.size - 1) ** 2
            return effects

    options = HistoriesOptions(carbon_copies=carbon_copies)
    for size in (2, 3, 4, 6):
        for seed in range(5):
            orders = [Watched(process, Membership(size), options) for process in range(size)]
            history = run(orders, traffic(size, 60, seed, fanout), seed)
            assert early(history) == []
            assert undelivered(history) == []


def test_the_bound_is_reached() -> None:
    """With three processes, at 0: 0 to 1, 0 to 2, 1 to 2 and 2 to 1."""
    net = Network(team("histories", 3))
    net.send(0, 1)
    net.send(0, 2)
    for sender, other in ((1, 2), (2, 1)):
        net.send(sender, other)
        net.bring(net.send(sender, 0), 0)
    assert net.orders[0].entries() == net.orders[0].entries_bound() == 4
