"""Safety and liveness under random traffic, within what a protocol declares."""

import pytest

from antecede.order import Order
from tests.conformance.network import Network
from tests.conformance.traffic import layouts

SEEDS = 12
MANY = 70  # so that sets of processes need more than 64 bits


@pytest.mark.parametrize("size", range(2, 7))
def test_every_message_is_delivered_once_and_in_order(order: type[Order], size: int) -> None:
    for layout in layouts(size, order.traits.addressing):
        for seed in range(SEEDS):
            network = Network(order, layout, seed)
            network.play(4 * size)
            network.drain()


def test_more_processes_than_a_word_has_bits(order: type[Order]) -> None:
    for layout in layouts(MANY, order.traits.addressing)[-1:]:
        network = Network(order, layout, 0)
        network.play(20)
        network.drain()


def test_a_burst_that_arrives_in_disorder(order: type[Order]) -> None:
    """Everything is sent before anything arrives, then once more on top of it."""
    for layout in layouts(4, order.traits.addressing):
        network = Network(order, layout, 0)
        for _ in range(2):
            for sender in layout.senders() * 3:
                network.send(sender)
            network.drain()
