"""What is held is explained truthfully, and a prompt order holds nothing without need."""

import pytest

from antecede.message import Message, MessageId
from antecede.order import Order, Scope
from tests.conformance.monitors import Explained, Prompt, locate
from tests.conformance.network import Flight, Network
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


@pytest.mark.parametrize("size", [3, 4])
def test_a_prompt_order_holds_nothing_without_need(order: type[Order], size: int) -> None:
    for layout in layouts(size, order.traits.addressing):
        for seed in range(SEEDS):
            network = Network(order, layout, seed, monitors=[Prompt])
            network.play(16)
            network.drain()


def test_what_is_awaited_is_enough(order: type[Order]) -> None:
    """Hand over what a message is said to wait for, and what that waits for, and nothing else: it
    is delivered. (A clock and a block name no packets; `Explained` is their test.)"""
    for layout in layouts(4, order.traits.addressing):
        for seed in range(SEEDS):
            _hand_over_what_is_awaited(order, layout, seed)


def _hand_over_what_is_awaited(order: type[Order], layout: Layout, seed: int) -> None:
    network = Network(order, layout, seed)
    network.play(12)
    for process, there in enumerate(network.orders):
        for entry in there.held():
            fact = network.truth.by_id[entry.message]
            while network.truth.lacks(process, fact):
                flight = _awaited_flight(network, process, entry.message)
                if flight is None:
                    return
                network.arrive(flight.packet.source, process, flight)


def _awaited_flight(network: Network, process: int, target: MessageId) -> Flight | None:
    """A packet under way that the message waits for, directly or through held ones; None where
    what it waits for is not named by packets."""
    reasons = {entry.message: entry.awaited for entry in network.orders[process].held()}
    asked = [target]
    for message in asked:
        for awaited in reasons[message]:
            if awaited.scope in (Scope.TIME, Scope.BLOCK):
                return None
            found = locate(network, process, awaited)
            if found is None:
                network.fail(f"{message} waits for {awaited.sentence()}, which does not exist")
            meant = _message(found)
            for flight in network.in_flight(process):
                if flight is found or (meant and flight.packet.message == meant):
                    return flight
            if meant is None:
                return None  # what a packet without message waits for is not shown
            if meant.id in reasons and meant.id not in asked:
                asked.append(meant.id)
    return network.fail(f"process {process} holds {target}; all that it waits for has been there")


def _message(found: Fact | Flight) -> Message | None:
    return found.packet.message if isinstance(found, Flight) else found.message
