"""What is held is explained truthfully, and a prompt order holds nothing without need."""

import pytest

from antecede.message import Message, MessageId
from antecede.order import Order, Scope
from antecede.protocols import find, names
from tests.conformance.monitors import Explained, Prompt, locate
from tests.conformance.network import Flight, Network
from tests.conformance.protocols import those
from tests.conformance.traffic import Layout, layouts
from tests.conformance.truth import Fact

SEEDS = 12


@pytest.mark.parametrize("size", [3, 4])
def test_what_is_held_waits_for_what_is_missing(order: type[Order], size: int) -> None:
    for layout in layouts(size, order.traits.addressing):
        for seed in range(SEEDS):
            network = Network(order, layout, seed, monitors=[Explained])
            network.play(16)
            network.drain()


@pytest.mark.parametrize("protocol", those(lambda traits: traits.prompt))
@pytest.mark.parametrize("size", [3, 4])
def test_a_prompt_order_holds_nothing_without_need(order: type[Order], size: int) -> None:
    for layout in layouts(size, order.traits.addressing):
        for seed in range(SEEDS):
            network = Network(order, layout, seed, monitors=[Prompt])
            network.play(16)
            network.drain()


NAMELESS: dict[str, set[Scope]] = {
    "blocks-fast": {Scope.BLOCK},
    "blocks-relative": {Scope.BLOCK},
    "blocks-slow": {Scope.BLOCK},
    "none": set(),
    "pairs": {Scope.TIME},
    "piggyback": set(),
}
"""The protocols whose reasons name no packets, and how these count: blocks, a clock, or nothing,
because nothing is held. `Explained` is their test."""


@pytest.mark.parametrize("protocol", NAMELESS)
def test_only_these_protocols_name_no_packets(protocol: str) -> None:
    order = find(protocol)
    scopes: set[Scope] = set()
    for layout in layouts(4, order.traits.addressing):
        for seed in range(SEEDS):
            network = Network(order, layout, seed)
            network.play(12)
            for there in network.orders:
                scopes |= {awaited.scope for held in there.held() for awaited in held.awaited}
    assert scopes == NAMELESS[protocol]


@pytest.mark.parametrize("protocol", [name for name in names() if name not in NAMELESS])
def test_what_is_awaited_is_enough(order: type[Order]) -> None:
    """Hand over what a message is said to wait for, and what that waits for, and nothing else: it
    is delivered."""
    delivered = 0
    for layout in layouts(4, order.traits.addressing):
        for seed in range(SEEDS):
            delivered += _hand_over_what_is_awaited(order, layout, seed)
    assert delivered > SEEDS


def _hand_over_what_is_awaited(order: type[Order], layout: Layout, seed: int) -> int:
    """How many held messages are delivered by it."""
    delivered = 0
    network = Network(order, layout, seed)
    network.play(12)
    for process, there in enumerate(network.orders):
        for entry in there.held():
            fact = network.truth.by_id[entry.message]
            if not network.truth.lacks(process, fact):
                continue  # freed together with another one
            while network.truth.lacks(process, fact):
                flight = _awaited_flight(network, process, entry.message)
                if flight is None:
                    break
                network.arrive(flight.packet.source, process, flight)
            else:
                delivered += 1
    return delivered


def _awaited_flight(network: Network, process: int, target: MessageId) -> Flight | None:
    """A packet under way that the message waits for, directly or through held ones; None where it
    waits for a packet without message that has arrived: what such a one waits for is not shown."""
    reasons = {entry.message: entry.awaited for entry in network.orders[process].held()}
    asked = [target]
    is_all_shown = True
    for message in asked:
        for awaited in reasons[message]:
            found = locate(network, process, awaited)
            if not found:
                network.fail(f"{message} waits for {awaited.sentence()}, which does not exist")
            for each in found:
                meant = _message(each)
                for flight in network.in_flight(process):
                    if flight is each or (meant and flight.packet.message == meant):
                        return flight
                is_all_shown &= meant is not None
                if meant and meant.id in reasons and meant.id not in asked:
                    asked.append(meant.id)
    if is_all_shown:
        network.fail(f"process {process} holds {target}; all that it waits for has been there")
    return None


def _message(found: Fact | Flight) -> Message | None:
    return found.packet.message if isinstance(found, Flight) else found.message
