"""The memory of an order is bounded where its paper says so."""

import pytest

from antecede.message import Membership
from antecede.order import Order
from tests.conformance.monitors import Bounded
from tests.conformance.network import Network
from tests.conformance.protocols import those
from tests.conformance.traffic import layouts

SEEDS = 6
RESTS = 15


def test_a_promised_bound_is_computed(order: type[Order]) -> None:
    bound = order(0, Membership(4)).entries_bound()
    assert (bound is not None) == bool(order.traits.state_bound)


BOUNDED = those(lambda traits: traits.state_bound)


@pytest.mark.parametrize("protocol", BOUNDED)
@pytest.mark.parametrize("size", [2, 5])
def test_entries_keep_to_the_bound(order: type[Order], size: int) -> None:
    for layout in layouts(size, order.traits.addressing):
        for seed in range(SEEDS):
            network = Network(order, layout, seed, monitors=[Bounded])
            network.play(20)
            network.drain()


@pytest.mark.parametrize("protocol", BOUNDED)
def test_a_bounded_state_does_not_grow_with_the_run(order: type[Order]) -> None:
    """The largest that is seen at rest: a state that kept a little of every message would double.
    (Numbers above 255 take a byte more; hence the half.)"""
    layout = layouts(3, order.traits.addressing)[-1]
    network = Network(order, layout, 0, over_wire=False)
    sizes = []
    for _ in range(2 * RESTS):
        network.play(100)
        network.drain()
        sizes.append(sum(there.size().bytes for there in network.orders))
        assert not any(there.held() for there in network.orders)
    early, late = max(sizes[:RESTS]), max(sizes[RESTS:])
    assert late <= 1.5 * early, f"the state grows from {early} to {late} bytes"
