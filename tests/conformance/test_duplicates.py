"""A packet that arrives again changes nothing."""

import pytest

from antecede.order import Order
from tests.conformance.network import Network
from tests.conformance.traffic import layouts

SEEDS = 6


@pytest.mark.parametrize("chance", [0.2, 0.6])
def test_a_duplicate_is_dropped(order: type[Order], chance: float) -> None:
    """The network looks at effects and state when a packet arrives again, be it still held or long
    delivered."""
    for layout in layouts(4, order.traits.addressing):
        for seed in range(SEEDS):
            network = Network(order, layout, seed, duplicates=chance)
            network.play(12)
            network.drain()
