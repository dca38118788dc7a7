"""The daisy when servers lose each other, behind cuts that end or for good.

Each schedule passes with all rules, and fails without the one that it is named after."""

from collections.abc import Callable
from typing import Any

import pytest

from antecede.fuzzing import judge
from antecede.order import Event, Order
from antecede.overlays.daisy.items import Batch, decode_items
from antecede.simulate import make_scenario
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import FENCE as RULES
from tests.overlays.daisy_lab import Copy, Lab, carried


def cut(start_s: float, end_s: float, *sides: list[int], packets: str = "lost") -> dict[str, Any]:
    return {"start_s": start_s, "end_s": end_s, "sides": list(sides), "packets": packets}


def scenario(*cuts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Nine processes in three groups, unless told otherwise."""
    network = {"delay": "exponential:0.05", "partitions": list(cuts), **fields.pop("network", {})}
    workload = {"kind": "multicast", "size": 2, **fields.pop("workload", {})}
    usual = {"protocol": "daisy", "processes": 9, "rate": 0.5, "messages": 40, "patience_s": 120}
    return {**usual, "network": network, "workload": workload, **fields}


TWO_CUTS = scenario(cut(0.8, 4.8, [1, 2]), cut(4.4, 10.4, [0, 3, 6, 7]), seed=6)
ONE_CUT = scenario(
    cut(1.5, 9.0, [1, 2, 4, 5]),
    rate=3,
    messages=60,
    workload={"cascade": 0.3},
    network={"delay": "exponential:0.1", "loss": 0.3},
    seed=11,
)
THREE_LEVELS = scenario(
    cut(0.911, 6.408, [1, 2, 3, 12]),
    cut(5.908, 12.471, [0, 1, 2, 3, 6, 15]),
    processes=18,
    options={"sizes": [3, 3]},
    rate=0.5904171412223017,
    messages=53,
    seed=3,
)
ROLLING = scenario(
    cut(1.009, 4.541, [4, 5, 6]),
    cut(4.043, 10.679, [0, 4], packets="held"),
    cut(10.399, 16.509, [1, 9]),
    cut(15.912, 22.677, [0, 4, 5, 8, 9]),
    processes=10,
    options={"sizes": [3]},
    rate=0.5057090506925307,
    messages=47,
    workload={"size": 1, "cascade": 0.3},
    seed=24,
)
ONE_LINK = scenario(cut(1.0, 1000.0, [3], [6]), rate=3, messages=30)
TWO_SERVERS_DIE = scenario(
    crashes=[{"process": 0, "time_s": 0.865}, {"process": 6, "time_s": 0.865}],
    options={"forward": "delivered", "quorum": "survivors"},
    rate=5,
    messages=20,
    workload={"cascade": 0.5},
    network={"delay": "exponential:0.08", "loss": 0.2},
    seed=87,
)


def brings_a_batch(copy: Copy) -> bool:
    """Whether a packet carries what a group brings into a group of servers that is founded anew."""
    packet = copy[2].packet
    payload = getattr(packet.body, "payload", b"") if packet is not None else b""
    items = decode_items(payload) if payload else ()
    return any(isinstance(item, Batch) for item in items)


def founders_leave(order: type[Order] | None, *founders: int) -> Lab:
    """3 sends to 9, and then to 9 and 11. The group of 9 gets neither when all servers die; that of
    11 has the second. These crash when they are about to bring what the group of 3 keeps."""
    lab = Lab(order, size=15, sizes=[5], quorum="majority")
    first, second = lab.send(3, 9), lab.send(3, 9, 11)
    lab.lose = lambda copy: 5 not in lab.dead and bool(carried(copy[2], 1))
    while second not in lab.delivered[11]:
        lab.run(0.01)
    lab.crash(0, 5, 10)

    def before(copy: Copy) -> None:
        if copy[0] == 1 and brings_a_batch(copy):
            lab.crash(*founders)

    lab.before = before
    lab.run(20.0)
    lab.send(8, 14)
    lab.run(100.0)
    assert first not in lab.delivered[11]
    return lab


def a_founder_dies(order: type[Order] | None) -> list[str]:
    return founders_leave(order, 1).faults()


def a_founding_group_dies(order: type[Order] | None) -> list[str]:
    """Its messages are lost, and that is told; all else goes on."""
    lab = founders_leave(order, 1, 2, 3)
    assert lab.told(Event.GAP) or lab.faults()
    return [fault for fault in lab.faults() if fault.startswith("8:1")]


def drawn(fields: dict[str, Any]) -> Callable[[type[Order] | None], Any]:
    return lambda order: judge(make_scenario(fields), order).failure


SCHEDULES: dict[str, Callable[[type[Order] | None], Any]] = {
    "founded-by-most": drawn(TWO_CUTS),
    "speaks-for-a-group-that-goes-on": drawn(ROLLING),
    "the-fence-waits-for-batches": drawn(THREE_LEVELS),
    "the-batch-dies-with-its-founder": a_founder_dies,
    "waits-for-a-batch-for-ever": a_founding_group_dies,
    "two-servers-leave-and-nobody-asks": drawn(TWO_SERVERS_DIE),
}


@pytest.mark.parametrize("fields", [ONE_CUT, ONE_LINK], ids=["one cut", "one link"])
def test_whatever_is_cut_everything_is_delivered_in_order(fields: dict[str, Any]) -> None:
    assert judge(make_scenario(fields)).failure is None


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    assert not SCHEDULES[rule.name](None)
    assert SCHEDULES[rule.name](mutated("daisy", rule))
