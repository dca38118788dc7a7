"""Safety and liveness under random traffic, within what a protocol declares."""

from antecede.order import Order, Stamp
from antecede.testing.network import Failure, Network
from antecede.testing.traffic import layouts

SIZES = range(2, 7)
SEEDS = 6
MANY = 70
"""So that sets of processes need more than 64 bits."""


def delivers_once_and_in_order(order: type[Order]) -> None:
    """Every message is delivered to all whom it is addressed to, once and in order."""
    for size in SIZES:
        for layout in layouts(size, order.traits.addressing):
            for seed in range(SEEDS):
                network = Network(order, layout, seed)
                network.play(4 * size)
                network.drain()


def copes_with_many_processes(order: type[Order]) -> None:
    """With more processes than a word has bits, too."""
    for layout in layouts(MANY, order.traits.addressing)[-1:]:
        network = Network(order, layout, 0)
        network.play(20)
        network.drain()


def copes_with_bursts(order: type[Order]) -> None:
    """Everything is sent before anything arrives, then once more on top of it."""
    for layout in layouts(4, order.traits.addressing):
        network = Network(order, layout, 0)
        for _ in range(2):
            for sender in layout.senders() * 3:
                network.send(sender)
            network.drain()


def drops_duplicates(order: type[Order]) -> None:
    """A packet that arrives again, be it still held or long delivered, has no effect and changes
    nothing."""
    for chance in (0.2, 0.6):
        for layout in layouts(4, order.traits.addressing):
            for seed in range(SEEDS // 2):
                network = Network(order, layout, seed, duplicates=chance)
                network.play(12)
                network.drain()


def takes_runs_as_their_messages(order: type[Order]) -> None:
    """Where stamps tell those that follow them, messages that arrive together have the effects that
    they have one by one, and lead to the same state."""
    if order.stamp_type.successor is Stamp.successor:
        return
    runs = 0
    for layout in layouts(4, order.traits.addressing):
        for seed in range(SEEDS):
            network = Network(order, layout, seed, in_runs=True)
            for _ in range(8):
                sender = network.random.choice(layout.senders())
                for _ in range(network.random.randint(1, 4)):
                    network.send(sender)
                network.play(1)
            network.drain()
            runs += network.runs
    if not runs:
        raise Failure(f"{order.name} takes no runs, though its stamps tell those that follow them")
