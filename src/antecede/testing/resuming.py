"""A snapshot is the whole of an order: what goes on from it goes on the same."""

from random import Random
from typing import Any

import msgspec

from antecede.order import Order
from antecede.testing.monitors import log_of
from antecede.testing.network import Failure, Network
from antecede.testing.traffic import layouts

SEEDS = 3


def backwards(value: Any) -> Any:
    """An equal value whose dicts have been filled the other way round."""
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [backwards(item) for item in value]
    if isinstance(value, msgspec.Struct):
        fields = {field: backwards(getattr(value, field)) for field in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    return value


class Restarts:
    """Sometimes replaces an order by a fresh one that resumes from its snapshot."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def __call__(self, order: Order) -> Order:
        if self._random.random() < 0.6:
            return order
        snapshot = order.snapshot()
        fresh = type(order)(order.process, order.membership, order.options)
        fresh.restore(snapshot)
        if fresh.snapshot() != snapshot:
            raise Failure("a restored order has another snapshot")
        fresh.state = backwards(fresh.state)
        fresh.resume()
        if fresh.snapshot() != snapshot:
            raise Failure("the order of a dict reaches the snapshot")
        return fresh


def resumes_identically(order: type[Order]) -> None:
    """One that goes on from snapshots does what one without a break does."""
    for layout in layouts(4, order.traits.addressing):
        for seed in range(SEEDS):
            unbroken = log_of(Network(order, layout, seed), 14)
            resumed = log_of(Network(order, layout, seed, on_restart=Restarts(seed)), 14)
            for place, (expected, found) in enumerate(zip(unbroken, resumed, strict=True)):
                if found != expected:
                    raise Failure(
                        f"{layout.name}, seed {seed}: after a restart event {place} differs: "
                        f"{found} instead of {expected}"
                    )


def looking_changes_nothing(order: type[Order]) -> None:
    """`held`, `size`, `entries` and `snapshot` agree, and leave the state alone."""
    for layout in layouts(4, order.traits.addressing):
        network = Network(order, layout, 1)
        network.play(12)
        for there in network.orders:
            before, held, size = there.snapshot(), there.held(), there.size()
            seen = (there.held(), size.held, size.bytes, size.entries, there.snapshot())
            if seen != (held, len(held), len(before), there.entries(), before):
                network.fail(f"looking at process {there.process} changes what is seen")
