"""The memory of an order is bounded where its traits say so."""

from antecede.message import Membership
from antecede.order import Order
from antecede.testing.monitors import Bounded
from antecede.testing.network import Failure, Network
from antecede.testing.traffic import layouts

SEEDS = 6
RESTS = 15


def computes_its_bound(order: type[Order]) -> None:
    """Whoever promises a bound can say what it is, and nobody else does."""
    bound = order(0, Membership(4)).entries_bound()
    if (bound is not None) != bool(order.traits.state_bound):
        raise Failure(
            f"entries_bound() is {bound}, and the traits' state_bound {order.traits.state_bound!r}"
        )


def keeps_to_its_bound(order: type[Order]) -> None:
    """After every event."""
    for size in (2, 5) if order.traits.state_bound else ():
        for layout in layouts(size, order.traits.addressing):
            for seed in range(SEEDS):
                network = Network(order, layout, seed, monitors=[Bounded])
                network.play(20)
                network.drain()


def does_not_grow(order: type[Order]) -> None:
    """A bounded state does not grow with the run, by the largest that is seen at rest: one that
    kept a little of every message would double. (Numbers above 255 take a byte more; hence the
    half.)"""
    if not order.traits.state_bound:
        return
    layout = layouts(3, order.traits.addressing)[-1]
    network = Network(order, layout, 0, over_wire=False)
    sizes = []
    for _ in range(2 * RESTS):
        network.play(100)
        network.drain()
        sizes.append(sum(there.size().bytes for there in network.orders))
        if any(there.held() for there in network.orders):
            network.fail("at rest, but something is held")
    early, late = max(sizes[:RESTS]), max(sizes[RESTS:])
    if late > 1.5 * early:
        raise Failure(f"the state grows from {early} to {late} bytes")
