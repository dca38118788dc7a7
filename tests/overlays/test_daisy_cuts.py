"""The daisy when servers lose each other, behind cuts that end or for good.

Each schedule passes with all rules, and fails without the one that it is named after."""

from collections.abc import Callable
from typing import Any

import pytest

from antecede.fuzzing import judge
from antecede.message import MessageId, ProcessSet
from antecede.order import Event, Order
from antecede.overlays.daisy.items import Batch, decode_items
from antecede.simulate import make_scenario, simulate
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import FENCE as RULES
from tests.overlays.daisy_lab import Copy, Lab, carried


def cut(start_s: float, end_s: float, *sides: list[int], packets: str = "lost") -> dict[str, Any]:
    return {"start_s": start_s, "end_s": end_s, "sides": list(sides), "packets": packets}


def scenario(*cuts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Nine processes in three groups, unless told otherwise."""
    network = {"delay": "exponential:0.05", "partitions": list(cuts), **fields.pop("network", {})}
    workload = {"kind": "multicast", "size": 2, **fields.pop("workload", {})}
    workload = {name: value for name, value in workload.items() if value is not None}
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
ONE_LINK = scenario(cut(1.0, 1000.0, [3], [6]))
ONE_LINK_AT_THE_TOP = scenario(
    cut(1.0, 1000.0, [0], [6]), processes=12, rate=0.4, options={"sizes": [3, 2]}
)
"""Of the only two servers at the top. Each is in a local group of three."""
ONE_IS_ALONE_BELOW_THE_TOP = scenario(
    cut(1.0, 1000.0, [0], [4]),
    crashes=[{"process": process, "time_s": 0.5} for process in (7, 8)],
    options={"groups": [[0, 1], [2, 3], [4, 5, 6], [7, 8]], "sizes": [2, 2]},
)
"""The same, but 0 cannot let 1 serve, its only neighbour, and no server stands beside 4."""
FOUNDED_IN_A_TICK = scenario(
    cut(1.783, 5.784, [0, 1, 3, 4, 5, 7, 8], packets="held"),
    cut(7.86, 16.132, [2, 5, 6, 7, 8]),
    cut(17.515, 24.212, [1, 5, 6]),
    crashes=[{"process": 0, "time_s": 1.615}],
    options={
        "sizes": [2, 2],
        "local": "recipients",
        "copies": 9,
        "tick_s": 0.3,
        "forget_after_s": 52.429,
    },
    rate=0.134,
    messages=35,
    workload={"kind": "unicast", "size": None},
    network={"delay": "exponential:0.0594"},
    seed=750000390,
)
"""A server founds a group anew while others of its groups, above that, are still to be woken."""
TWO_SERVERS_DIE = scenario(
    crashes=[{"process": 0, "time_s": 0.865}, {"process": 6, "time_s": 0.865}],
    options={"forward": "delivered", "quorum": "survivors"},
    rate=5,
    messages=20,
    workload={"cascade": 0.5},
    network={"delay": "exponential:0.08", "loss": 0.2},
    seed=87,
)
A_NEWCOMER_IS_CUT_OFF = scenario(
    cut(3.233, 8.574, [2, 4]),
    cut(7.678, 17.279, [0, 1, 2, 3, 4, 5, 7]),
    processes=8,
    joins=[{"process": 4, "time_s": 2.847}],
    options={"sizes": [2, 2], "forget_after_s": 44.046},
    rate=0.227,
    messages=36,
    workload={"size": 4, "cascade": 0.217},
    network={"delay": "exponential:0.0229", "loss": 0.0636},
    seed=3,
)
A_SERVER_ALONE = scenario(
    cut(0.695, 13.195, [1, 2, 3, 4, 5, 9]),
    processes=12,
    options={
        "sizes": [3, 2],
        "local": "recipients",
        "copies": 12,
        "forget_after_s": 6.981,
        "tidy_s": 0.0112,
    },
    rate=0.163,
    messages=36,
    workload={"size": 1},
    network={"delay": "exponential:0.0887"},
    seed=710000630,
)

HELD_BACK = scenario(
    cut(3.347, 8.4, [0, 6]),
    cut(7.681, 16.718, [2, 4, 5, 6]),
    processes=10,
    options={
        "sizes": [3],
        "forward": "delivered",
        "pack_s": 0.044,
        "tidy_s": 0.601,
        "tick_s": 0.3,
        "forget_after_s": 43.371,
    },
    rate=0.275,
    messages=52,
    workload={"size": 3, "cascade": 0.189},
    network={"delay": "exponential:0.0163", "loss": 0.0602},
    seed=28,
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


def founded_when_a_group_is_back(order: type[Order] | None) -> Lab:
    """What is for a group that is away is let go. When it is back, two of three servers die; the
    third founds the group anew with the next ones, and with the server of the group that was away.
    """
    lab = Lab(order, size=12, quorum="majority", forget_after_s=15.0)
    away = {6, 7, 8}
    lab.lose = lambda copy: (copy[0] in away) != (copy[1] in away)
    lab.send(1, 7)
    lab.run(30.0)
    lab.crash(0, 3)
    lab.lose = lambda copy: False
    lab.send(2, 10)
    lab.send(8, 10)
    return lab.run(60.0)


def back_in_silence(order: type[Order] | None) -> bool:
    lab = founded_when_a_group_is_back(order)
    assert lab.faults() == ["1:1 is missing at [7]"]
    return not any(MessageId(1, 1) in gap.messages for gap in lab.told(Event.GAP))


def founded_without_one_that_is_back(order: type[Order] | None) -> bool:
    """A group is away. When it is back, and is not in yet, the server of the servers dies: nobody
    is left out of those that are founded then."""
    lab = Lab(order, quorum="majority", forget_after_s=5.0)
    away = {3, 4, 5}
    lab.lose = lambda copy: (copy[0] in away) != (copy[1] in away)
    lab.send(1, 7)
    lab.run(5.0)
    lab.lose = lambda copy: False
    lab.run(1.0)
    lab.crash(0)
    lab.send(2, 8)
    lab.send(8, 1)
    lab.run(60.0)
    return any(gap.members for gap in lab.told(Event.GAP))


def has_stopped_among_servers_that_were(order: type[Order] | None) -> bool:
    """3 is cut off from the servers with its group. Those are founded anew, and 3 hears of that,
    but nobody hears 3; then its group goes on without it. Has it stopped there to the end?"""
    lab = Lab(order, quorum="majority")
    away = {3, 4, 5}
    lab.lose = lambda copy: (copy[0] in away) != (copy[1] in away)
    lab.send(3, 0)
    lab.run(12.0)
    lab.crash(0, 6)
    lab.send(1, 7)
    lab.run(20.0)
    lab.lose = lambda copy: copy[0] in away and copy[1] not in away
    lab.run(6.0)
    away = {3}
    lab.lose = lambda copy: (copy[0] in away) != (copy[1] in away)
    lab.send(4, 1)
    lab.run(12.0)
    lab.lose = lambda copy: False
    lab.send(4, 3)
    lab.run(40.0)
    told = [note for _, process, note in lab.notices if (process, note.where) == (3, "servers 3")]
    stops = [note.event for note in told if note.event in (Event.STOPPED, Event.RESUMED)]
    return stops[-1] is Event.STOPPED


def the_server_of_the_servers_is_lost_at_home(order: type[Order] | None) -> list[str]:
    """All of one group die, and all of another but 0, which decides nothing any more. What is for
    the first one is let go all the same."""
    lab = Lab(order, size=12, quorum="majority", forget_after_s=5.0)
    lab.run(1.0)
    lab.crash(1, 2, 6, 7, 8)
    lab.send(4, 7)
    return lab.run(60.0).kept()


def last_view(lab: Lab, process: int, where: str) -> ProcessSet:
    told = [note for _, one, note in lab.notices if (one, note.where) == (process, where)]
    return [note.members for note in told if note.event is Event.VIEW][-1]


def nobody_calls_a_group_that_was_forgotten(order: type[Order] | None) -> bool:
    """5 and a group are away, each by itself. That group is forgotten since something is kept for
    5; it has missed nothing itself. When all can be reached again, is it called?"""
    lab = Lab(order, quorum="majority", forget_after_s=5.0)
    parts = {5: 1, 6: 2, 7: 2, 8: 2}
    lab.lose = lambda copy: parts.get(copy[0]) != parts.get(copy[1])
    lab.send(0, 5)
    lab.send(0, 4)
    lab.run(30.0)
    lab.lose = lambda copy: False
    lab.run(100.0)
    return not last_view(lab, 0, "servers 3") >> 6 & 1


def nobody_calls_one_that_has_missed_nothing(order: type[Order] | None) -> bool:
    """2 is cut off for a while, when nothing is for it. Is it called when it can be reached?"""
    lab = Lab(order, quorum="majority", forget_after_s=5.0)
    away = {2}
    lab.lose = lambda copy: (copy[0] in away) != (copy[1] in away)
    lab.send(0, 1)
    lab.send(1, 0)
    lab.run(10.0)
    lab.lose = lambda copy: False
    lab.send(0, 1)
    lab.run(30.0)
    return not last_view(lab, 0, "group 0") >> 2 & 1


def nobody_is_left(order: type[Order] | None) -> bool:
    """A newcomer asks a group to be let in of which nobody lives."""
    lab = Lab(order, size=10, latecomers=[9])
    lab.crash(0, 1, 2)
    lab.join(9)
    lab.run(60.0)
    return not any(notice.members == 0b111 for notice in lab.told(Event.STOPPED))


def all_whom_one_knows_die(order: type[Order] | None) -> list[str]:
    """1 is cut off when it is with 0 alone. 0 goes on with 2 and 3, and dies; these know 1, which
    does not know that they are back."""
    lab = Lab(order, size=8, groups=[[0, 1, 2, 3], [4, 5, 6, 7]], quorum="majority")
    away = {2, 3}
    lab.lose = lambda copy: (copy[0] in away) != (copy[1] in away)
    lab.send(0, 1)
    lab.run(10.0)
    away = {1}
    lab.send(0, 2)
    lab.run(10.0)
    lab.crash(0)
    away = set()
    lab.send(1, 3)
    lab.send(2, 1)
    return lab.run(60.0).faults()


def those_who_stay_do_not_hear_of_it(order: type[Order] | None) -> list[str]:
    """0, 1 and 2 go on without 3 and 4; 0 is cut off before it can say that this is decided. It
    tells 3 and 4, and dies. When these are back, they have long left, and 1 and 2 are too few."""
    lab = Lab(order, size=5, groups=[[0, 1, 2, 3, 4]], quorum="majority")
    away = {3, 4}
    lab.lose = lambda copy: (copy[0] in away) != (copy[1] in away)
    lab.send(0, 1)
    while any(lab.orders[one].layers()[0].member.state.accepted is None for one in (1, 2)):
        lab.run(0.001)
    away = {1, 2}
    lab.send(0, 3)
    while not all(lab.orders[one].layers()[0].member.is_left_out for one in (3, 4)):
        lab.run(0.01)
    lab.crash(0)
    while any(lab.orders[one].layers()[0].is_in for one in (3, 4)):
        lab.run(0.1)
    away = set()
    lab.send(1, 3)
    lab.send(4, 2)
    return lab.run(30.0).faults()


def a_server_that_was_is_back_first(order: type[Order] | None) -> bool:
    """3 has something for 5 when it is cut off from its group, and both from all others, until that
    has been let go; then 3 hears the other servers again, and later 4, which serves the group."""
    lab = Lab(order, quorum="majority", forget_after_s=8.0)
    lost = lab.send(1, 5)
    while lost not in lab.orders[3].layers()[1].memory.kept:
        lab.run(0.01)
    sides = {3: 1, 4: 2, 5: 2}
    lab.lose = lambda copy: sides.get(copy[0], 0) != sides.get(copy[1], 0)
    lab.send(3, 8)
    lab.send(4, 5)
    lab.run(20.0)
    for healed in ((3,), (4, 5)):
        for process in healed:
            del sides[process]
        lab.send(1, 6)
        lab.run(15.0)
    assert lab.faults() == ["1:1 is missing at [5]"]
    gaps = [(who, one) for _, who, one in lab.notices if one.event is Event.GAP]
    return not any(who in (4, 5) and lost in one.messages for who, one in gaps)


def a_founder_that_its_group_has_replaced(order: type[Order] | None) -> list[str]:
    """3 is cut off when its own group sleeps, and does not notice that this goes on with 4. What 4
    sends to 1 stays among the servers, which die, and in its group, which is cut off in turn; a
    later message has come to 8. Now 3 is there to found the servers anew with 1 and 7."""
    lab = Lab(order, quorum="majority", forget_after_s=120.0)
    sides: dict[int, int] = {}
    is_busy_below = False

    def lose(copy: Copy) -> bool:
        is_cut = sides.get(copy[0], 0) != sides.get(copy[1], 0)
        return is_cut or (is_busy_below and bool(carried(copy[2], 0)))

    lab.lose = lose
    first = lab.send(1, 8)
    while first not in lab.orders[3].layers()[1].memory.kept:
        lab.run(0.01)
    sides[3] = 1
    lab.send(4, 5)
    lab.run(8.0)
    is_busy_below = True
    lab.send(4, 1)
    later = lab.send(4, 1, 8)
    while later not in lab.delivered[8]:
        lab.run(0.01)
    lab.crash(0, 6)
    is_busy_below = False
    sides |= {4: 2, 5: 2}
    lab.run(20.0)
    del sides[3]
    lab.run(10.0)
    sides.clear()
    return lab.run(60.0).faults()


def half_of_the_groups_are_left(order: type[Order] | None) -> list[str]:
    """Of two groups under one of servers, the second loses its majority for good, and the first its
    server. What is from or for the first gets through again."""
    groups = [[0, 1, 2], [3, 4], [5, 6, 7], [8, 9]]
    options = {"sizes": [2, 2], "quorum": "majority", "forget_after_s": 5.0, "tick_s": 0.3}
    lab = Lab(order, size=10, groups=groups, **options)
    lab.crash(0, 3)
    lab.run(30.0)
    lab.send(1, 6)
    lab.send(6, 2)
    return lab.run(30.0).faults()


def nobody_is_above(order: type[Order] | None) -> list[str]:
    """Two of four groups lose their majority for good, the others their servers. These found their
    own group of servers anew, but never the one above."""
    lab = Lab(order, size=12, sizes=[3, 2], quorum="majority", forget_after_s=5.0, tick_s=0.3)
    lab.crash(0, 1, 3, 4, 6, 9)
    lab.run(30.0)
    lab.send(7, 10)
    lab.send(10, 8)
    return lab.run(30.0).faults()


def let_go(order: type[Order] | None, *dead: int) -> Lab:
    """What 1 sends to a group that is away is let go, and nothing is sent any more. When that group
    can be reached again, these crash."""
    lab = Lab(order, size=6, quorum="majority", forget_after_s=5.0)
    lab.lose = lambda copy: (copy[0] < 3) != (copy[1] < 3)
    lab.send(1, 4)
    lab.run(20.0)
    lab.crash(*dead)
    lab.lose = lambda copy: False
    lab.send(1, 2)
    return lab.run(60.0)


def is_told(lab: Lab) -> bool:
    assert lab.faults() == ["1:1 is missing at [4]"]
    return any(MessageId(1, 1) in gap.messages for gap in lab.told(Event.GAP))


def remembered(order: type[Order] | None) -> list[Any]:
    """What groups still remember of what others have missed, and have been told."""
    layers = [layer for one in let_go(order).orders for layer in one.layers()]
    return [layer for layer in layers if layer.memory.missed_beside or layer.memory.missed]


def drawn(fields: dict[str, Any]) -> Callable[[type[Order] | None], Any]:
    return lambda order: judge(make_scenario(fields), order).failure


def undelivered(fields: dict[str, Any]) -> Callable[[type[Order] | None], Any]:
    return lambda order: simulate(make_scenario(fields), order_type=order).undelivered


ALL_IT_KNEW_ARE_DEAD = scenario(
    cut(1.0, 32.0, [0, 1, 2]),
    processes=12,
    crashes=[
        {"process": server, "time_s": time_s} for server, time_s in ((3, 6), (6, 14), (9, 22))
    ],
    options={"sizes": [3], "tick_s": 0.3, "forget_after_s": 120.0},
    rate=0.1,
    messages=60,
    patience_s=40,
    seed=3,
)
A_SPLIT_THAT_NEVER_WAS = scenario(
    cut(1.141, 3.678, [0, 9, 10], packets="held"),
    processes=11,
    joins=[
        {"process": process, "time_s": at} for process, at in ((3, 0.369), (7, 5.856), (10, 0.202))
    ],
    options={
        "sizes": [3],
        "tick_s": 0.3,
        "tidy_s": 0.759,
        "pack_s": 0.0189,
        "split_above": 4,
        "merge_below": 3,
        "split_rate": 13.589,
        "load_window_s": 1.071,
        "forget_after_s": 39.919,
    },
    network={"delay": "exponential:0.1"},
    workload={"size": 3},
    rate=0.169,
    messages=28,
    seed=800000130,
)

MERGED_WITH_ONE_THAT_IS_STUCK = scenario(
    processes=6,
    crashes=[{"process": 0, "time_s": 1.07}],
    options={"sizes": [2], "merge_below": 3, "tick_s": 0.3},
    rate=0.3,
    messages=20,
    patience_s=60,
    seed=400,
)
"""0 decides on a merge of its group with another, and dies. 1 has no majority, and does not know;
the others of the merged group have none without it."""
FROZEN_WITHOUT_ONE = scenario(
    processes=8,
    crashes=[{"process": 6, "time_s": 0.99}],
    options={"sizes": [2], "split_servers_above": 3, "forget_after_s": 5.0, "tick_s": 0.3},
    rate=0.3,
    messages=20,
    patience_s=60,
    seed=924,
)
"""The servers are to be split, and nothing goes through them, when a group loses its majority. They
keep nothing for it."""
A_SERVER_THAT_WAS_IS_BACK_HOME = scenario(
    cut(2.921, 10.274, [0, 4, 5, 8]),
    cut(9.847, 20.868, [4, 5, 6, 7, 8]),
    options={"sizes": [3], "tidy_s": 0.0187, "forget_after_s": 3.69},
    rate=0.126,
    messages=26,
    network={"delay": "exponential:0.119", "loss": 0.0996},
    seed=49,
)
"""One that its group has replaced has messages from the other servers. When it is back, its group
is with new servers, who do not have what precedes these."""
A_GROUP_THAT_NEVER_WAS_HAS_MISSED_SOMETHING = scenario(
    cut(2.136, 5.409, [0, 2, 3], packets="held"),
    cut(6.501, 25.85, [0, 3, 5]),
    processes=6,
    crashes=[{"process": 2, "time_s": 12.3, "back_s": 18.185}],
    options={
        "sizes": [2, 2],
        "merge_below": 3,
        "split_above": 3,
        "tick_s": 0.3,
        "forget_after_s": 3.0,
    },
    network={"delay": "exponential:0.03"},
    rate=0.1,
    messages=10,
    patience_s=90,
    seed=467,
)
A_MERGE_THAT_NEW_SERVERS_DO_NOT_KNOW_OF = scenario(
    cut(1.104, 11.788, [0, 3, 4]),
    cut(11.441, 13.536, [2], packets="held"),
    cut(11.043, 27.758, [4]),
    processes=7,
    crashes=[{"process": 6, "time_s": 4.616}],
    options={
        "sizes": [2],
        "merge_below": 3,
        "tick_s": 0.3,
        "tidy_s": 0.02,
        "forget_after_s": 8.0,
    },
    network={"delay": "exponential:0.01"},
    workload={"cascade": 0.3},
    rate=0.2,
    messages=30,
    patience_s=90,
    seed=3,
)
"""The groups of 0 and 2 merge, as 0 and 4 know. 2 and 5, the server after 4, found the servers anew
without 0, and are about to merge their groups."""
NO_SERVERS_ARE_LEFT = scenario(
    crashes=[{"process": server, "time_s": 1.11} for server in (0, 5)],
    processes=7,
    options={
        "groups": [[0, 1, 2, 3, 4], [5, 6]],
        "split_above": 4,
        "forget_after_s": 5.0,
        "tick_s": 0.3,
    },
    rate=0.3,
    messages=20,
    patience_s=60,
    seed=668,
)
"""A group is split when most groups lose their majority. What is left of it begins all the same."""

A_SERVER_LEAVES_BY_A_MERGE = scenario(
    cut(1.76, 20.984, [0]),
    cut(0.146, 10.45, [0, 3, 1]),
    processes=6,
    crashes=[{"process": 2, "time_s": 3.568}, {"process": 1, "time_s": 9.964}],
    options={"sizes": [2], "merge_below": 3, "tick_s": 0.3, "forget_after_s": 50.838},
    network={"delay": "exponential:0.0253"},
    workload={"cascade": 0.0687},
    rate=2.86,
    messages=30,
    patience_s=80.838,
    seed=1300002576,
)
"""The groups of 2 and of 4 merge, and 2 dies, which alone goes on of its group: 4 has what it has
sent among the servers, for 3, and leaves these."""
COMES_BACK_WITH_A_SERVER = scenario(
    cut(1.455, 9.935, [1, 2, 3, 6, 9]),
    processes=12,
    options={"sizes": [3, 2], "forward": "delivered", "tick_s": 0.3, "forget_after_s": 39.935},
    network={"delay": "exponential:0.057"},
    workload={"cascade": 0.37},
    rate=0.225,
    messages=30,
    seed=418877,
)
"""All servers are replaced at home, and bring along what has come to them from other groups. The
next ones have it then, but not what precedes it among the servers."""
MERGED_WHEN_ONE_IS_BACK = scenario(
    cut(3.482, 12.614, [1, 4, 5, 6]),
    processes=7,
    options={
        "sizes": [2],
        "merge_below": 3,
        "tick_s": 0.3,
        "tidy_s": 0.645,
        "forget_after_s": 5.268,
    },
    network={"delay": "exponential:0.0871"},
    rate=0.125,
    messages=15,
    patience_s=40,
    seed=1200005464,
)
"""0 is away when a message for it is let go; its group is merged when it is back, and waits for
what the servers have for it."""
LEFT_OUT_OF_A_MERGED_GROUP = scenario(
    cut(0.579, 6.96, [0, 2, 5, 6, 11, 13, 14, 17, 18]),
    cut(6.253, 13.882, [3, 4, 7, 10, 12, 14, 17, 18]),
    processes=19,
    joins=[
        {"process": process, "time_s": at} for process, at in ((9, 2.541), (10, 6.733), (18, 9.465))
    ],
    crashes=[{"process": 6, "time_s": 13.803}],
    options={
        "sizes": [2, 2, 2],
        "split_above": 4,
        "merge_below": 3,
        "split_servers_above": 4,
        "merge_servers_below": 2,
        "tick_s": 0.3,
        "tidy_s": 0.0482,
        "pack_s": 0.214,
        "forget_after_s": 3.54,
    },
    network={"delay": "exponential:0.0407"},
    workload={"size": 1, "cascade": 0.355},
    rate=0.119,
    messages=44,
    patience_s=45,
    seed=1200004229,
)
"""12 has let go what 13 has missed. 13 is in the merged group before 12, which knows of it."""

SCHEDULES: dict[str, Callable[[type[Order] | None], Any]] = {
    "founded-by-most": drawn(TWO_CUTS),
    "nobody-hands-on": drawn(ONE_LINK),
    "servers-of-servers-go-on-serving": undelivered(ONE_LINK_AT_THE_TOP),
    "hands-on-only-among-servers": drawn(ONE_IS_ALONE_BELOW_THE_TOP),
    "hears-those-at-home-as-others": drawn(ONE_IS_ALONE_BELOW_THE_TOP),
    "asks-those-it-knew-for-ever": drawn(ALL_IT_KNEW_ARE_DEAD),
    "the-fence-waits-for-batches": drawn(THREE_LEVELS),
    "the-batch-dies-with-its-founder": a_founder_dies,
    "waits-for-a-batch-for-ever": a_founding_group_dies,
    "is-called-once": lambda order: not is_told(let_go(order)),
    "what-was-let-go-dies-with-the-servers": lambda order: not is_told(let_go(order, 0)),
    "remembers-what-has-been-told": remembered,
    "newcomers-are-not-missed": drawn(A_NEWCOMER_IS_CUT_OFF),
    "waits-for-those-above-for-ever": nobody_is_above,
    "half-of-the-groups-are-none": half_of_the_groups_are_left,
    "brings-its-batch-unbound": a_founder_that_its_group_has_replaced,
    "strangers-are-not-asked": all_whom_one_knows_die,
    "strangers-are-not-believed": all_whom_one_knows_die,
    "leaves-with-what-it-knows": those_who_stay_do_not_hear_of_it,
    "forgets-though-lost-at-home": drawn(A_SERVER_ALONE),
    "speaks-for-a-group-that-goes-on": drawn(A_SERVER_ALONE),
    "founds-anew-in-silence": back_in_silence,
    "says-that-it-is-in": founded_without_one_that_is_back,
    "the-senior-alone-forgets": the_server_of_the_servers_is_lost_at_home,
    "calls-only-for-what-is-kept": nobody_calls_one_that_has_missed_nothing,
    "forgotten-for-good": nobody_calls_a_group_that_was_forgotten,
    "has-stopped-for-ever": has_stopped_among_servers_that_were,
    "has-stopped-where-it-never-comes-back": has_stopped_among_servers_that_were,
    "asks-in-silence": nobody_is_left,
}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(ONE_CUT, id="one cut"),
        pytest.param(ROLLING, id="rolling cuts"),
        pytest.param(FOUNDED_IN_A_TICK, id="founded in a tick"),
        pytest.param(TWO_SERVERS_DIE, id="two servers die"),
        pytest.param(HELD_BACK, id="held back"),
        pytest.param(A_SERVER_THAT_WAS_IS_BACK_HOME, id="back home"),
        pytest.param(A_SPLIT_THAT_NEVER_WAS, id="a split that never was"),
        pytest.param(
            A_GROUP_THAT_NEVER_WAS_HAS_MISSED_SOMETHING, id="such a group has missed something"
        ),
        pytest.param(COMES_BACK_WITH_A_SERVER, id="comes back with a server"),
        pytest.param(MERGED_WHEN_ONE_IS_BACK, id="merged when one is back"),
        pytest.param(LEFT_OUT_OF_A_MERGED_GROUP, id="left out of a merged group"),
        pytest.param(MERGED_WITH_ONE_THAT_IS_STUCK, id="merged with one that is stuck"),
        pytest.param(NO_SERVERS_ARE_LEFT, id="no servers are left"),
        pytest.param(
            A_MERGE_THAT_NEW_SERVERS_DO_NOT_KNOW_OF, id="a merge that new servers do not know of"
        ),
        pytest.param(A_SERVER_LEAVES_BY_A_MERGE, id="a server leaves by a merge"),
        pytest.param(FROZEN_WITHOUT_ONE, id="frozen without one"),
        pytest.param(A_GROUP_THAT_NEVER_WAS_HAS_MISSED_SOMETHING, id="a group that never was"),
    ],
)
def test_whatever_is_cut_everything_is_delivered_in_order(fields: dict[str, Any]) -> None:
    assert judge(make_scenario(fields)).failure is None


def test_a_server_that_was_is_back_first_and_the_next_one_is_told() -> None:
    assert not a_server_that_was_is_back_first(None)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    assert not SCHEDULES[rule.name](None)
    assert SCHEDULES[rule.name](mutated("daisy", rule))
