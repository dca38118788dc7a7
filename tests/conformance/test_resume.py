"""A snapshot is the whole of an order: what goes on from it goes on the same."""

from random import Random
from typing import Any

import msgspec

from antecede.order import Order
from tests.conformance.monitors import Recorder
from tests.conformance.network import Network
from tests.conformance.traffic import layouts

SEEDS = 4


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
        assert fresh.snapshot() == snapshot, "a restored order has another snapshot"
        fresh.state = backwards(fresh.state)
        fresh.resume()
        assert fresh.snapshot() == snapshot, "the order of a dict reaches the snapshot"
        return fresh


def test_a_resumed_order_continues_identically(order: type[Order]) -> None:
    for layout in layouts(4, order.traits.addressing):
        for seed in range(SEEDS):
            logs = []
            for restarts in (None, Restarts(seed)):
                network = Network(order, layout, seed, monitors=[Recorder], on_restart=restarts)
                network.play(14)
                network.drain()
                [recorder] = network.monitors
                assert isinstance(recorder, Recorder)
                logs.append(recorder.log)
            unbroken, resumed = logs
            for place, (expected, found) in enumerate(zip(unbroken, resumed, strict=True)):
                assert found == expected, f"{layout.name}, seed {seed}: event {place} differs"


def test_looking_changes_nothing(order: type[Order]) -> None:
    for layout in layouts(4, order.traits.addressing):
        network = Network(order, layout, 1)
        network.play(12)
        for there in network.orders:
            before = there.snapshot()
            held = there.held()
            assert there.held() == held
            assert there.size().held == len(held)
            assert there.size().bytes == len(before)
            assert there.entries() == there.size().entries
            assert there.snapshot() == before
