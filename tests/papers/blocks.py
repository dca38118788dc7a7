"""What the tests of the Causal Blocks protocols share: groups, nulls, and the planted readings."""

from collections.abc import Iterable, Sequence
from typing import Any

from antecede.message import Membership, Message, MessageId, members, process_set
from antecede.order import Order
from antecede.protocols import find, parse_options
from tests.mutants import Mutant, mutants_of, mutated
from tests.papers.harness import History, Network, early, run, traffic, undelivered

PROTOCOLS = ["blocks-slow", "blocks-fast", "blocks-relative"]
Groups = Sequence[Iterable[int]]

CYCLE = [{0, 1, 2, 3}, {2, 3, 4, 5}, {4, 5, 6, 7}, {0, 1, 6, 7}]
"""The four groups of section 5.2, with processes counted from 0."""


def membership_of(groups: Groups) -> Membership:
    sets = tuple(process_set(group) for group in groups)
    return Membership(max(bits.bit_length() for bits in sets), sets)


def orders_of(protocol: str | type[Order], groups: Groups, **options: Any) -> list[Order]:
    """The protocol at every process; a class stands for itself."""
    order = find(protocol) if isinstance(protocol, str) else protocol
    parsed = parse_options(order.name, options) if isinstance(protocol, str) else None
    membership = membership_of(groups)
    return [order(process, membership, parsed) for process in range(membership.size)]


def planted(protocol: str, mutant: str | Mutant) -> type[Order]:
    """A protocol with one reading of the text that is known to be wrong."""
    if isinstance(mutant, str):
        [mutant] = [known for known in mutants_of(protocol) if known.name == mutant]
    return mutated(protocol, mutant)


def readings(protocol: str, mutant: str | Mutant) -> list[tuple[str | type[Order], int]]:
    """A wrong reading of the text and the right one, with the violations that each must show."""
    return [(planted(protocol, mutant), 1), (protocol, 0)]


class GroupNetwork(Network):
    """A network by hand whose messages go to groups."""

    def __init__(self, protocol: str | type[Order], groups: Groups, **options: Any) -> None:
        super().__init__(orders_of(protocol, groups, **options))

    def to(self, sender: int, group: int) -> MessageId:
        """A process sends to a group."""
        everybody = self.orders[sender].membership.group(group)
        return self.send(sender, *members(everybody), group=group)

    def next(self, source: int, *to: int) -> None:
        """The oldest packet from a process, be it null, arrives at each of these."""
        for process in to:
            self.arrive(self.find(process, source))

    def state(self, process: int) -> Any:
        return self.orders[process].state

    def outcome(self) -> tuple[int, int]:
        """After everything has arrived: (early deliveries, missing deliveries)."""
        self.settle()
        return len(early(self.history)), len(undelivered(self.history))

    def held(self, process: int) -> list[str]:
        return [str(entry.message) for entry in self.orders[process].held()]


def random_run(
    protocol: str | type[Order], groups: Groups, messages: int, seed: int, **options: Any
) -> History:
    """Random traffic to the sender's groups on FIFO channels, to the end."""
    orders = orders_of(protocol, groups, **options)
    membership = orders[0].membership
    program = traffic(membership.size, messages, seed, groups=membership.groups)
    return run(orders, program, seed, fifo=True)


def stamps(history: History) -> dict[MessageId, Any]:
    """The stamp of every message that was transmitted."""
    return {
        flight.packet.message.id: flight.packet.stamp
        for flight in history.flights
        if flight.packet.message is not None
    }


def nulls(history: History) -> int:
    """How many null messages were transmitted, one for each destination."""
    return sum(flight.packet.message is None for flight in history.flights)


def sent(history: History) -> list[Message]:
    return [event.message for event in history.events if event.kind == "send"]
