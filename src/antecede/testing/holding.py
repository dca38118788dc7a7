"""What is held is explained truthfully, and a prompt order holds nothing without need."""

from antecede.message import Message, MessageId
from antecede.order import Order, Scope
from antecede.testing.monitors import Explained, Prompt, locate
from antecede.testing.network import Failure, Flight, Monitor, Network
from antecede.testing.traffic import layouts
from antecede.testing.truth import Fact

SEEDS = 8
NAMELESS = (Scope.BLOCK, Scope.TIME, Scope.REPORT)
"""Reasons that name no packets, but a block, a clock or a report of others: `Explained` holds them
to the truth."""


def explains_what_it_holds(order: type[Order]) -> None:
    """What is held waits for what is missing, and says all of it."""
    _watch(order, Explained)


def holds_nothing_without_need(order: type[Order]) -> None:
    """One that calls itself prompt delivers as soon as the predecessors are."""
    if order.traits.prompt:
        _watch(order, Prompt)


def _watch(order: type[Order], monitor: type[Monitor]) -> None:
    for size in (3, 4):
        for layout in layouts(size, order.traits.addressing):
            for seed in range(SEEDS):
                network = Network(order, layout, seed, monitors=[monitor])
                network.play(16)
                network.drain()


def what_is_awaited_is_enough(order: type[Order]) -> None:
    """Hand over what a message is said to wait for, and what that waits for, and nothing else: it
    is delivered. Of an order whose reasons name packets."""
    held = delivered = 0
    for layout in layouts(4, order.traits.addressing):
        for seed in range(SEEDS):
            network = Network(order, layout, seed)
            network.play(12)
            held += _names_packets(network)
            delivered += _hand_over_what_is_awaited(network)
    if held and delivered <= SEEDS:
        raise Failure(f"of {held} held messages {delivered} are delivered by what they wait for")


def _names_packets(network: Network) -> int:
    """How many messages are held for reasons that name packets."""
    entries = [entry for order in network.orders for entry in order.held()]
    return sum(all(each.scope not in NAMELESS for each in entry.awaited) for entry in entries)


def _hand_over_what_is_awaited(network: Network) -> int:
    """How many held messages are delivered by it."""
    delivered = 0
    for process, there in enumerate(network.orders):
        for entry in there.held():
            fact = network.truth.by_id[entry.message]
            if not network.truth.lacks(process, fact):
                continue  # freed together with another one
            if any(each.scope in NAMELESS for each in entry.awaited):
                continue
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
