"""Groups of servers that split and dissolve: levels come and go."""

from collections.abc import Callable
from math import inf
from typing import Any

import msgspec
import pytest

from antecede.errors import Misuse
from antecede.fuzzing import judge
from antecede.groups.packets import Data, Report
from antecede.message import Message
from antecede.order import Event, Order
from antecede.overlays.daisy.items import Change, Ready, Reshape, decode_items, unpack
from antecede.overlays.daisy.plan import plan
from antecede.protocols import find
from antecede.simulate import make_scenario
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import RESHAPE
from tests.overlays.daisy_lab import Copy, Lab, carried
from tests.overlays.test_daisy_options import make

ONE_OF_TWO_DIES = make_scenario(
    {
        "protocol": "daisy",
        "processes": 8,
        "seed": 23,
        "messages": 10,
        "workload": {"kind": "multicast", "size": 1},
        "network": {
            "delay": "exponential:0.0352",
            "partitions": [
                {"start_s": 0.066, "end_s": 0.809, "sides": [[3], [1, 2, 4, 5]]},
                {"start_s": 0.613, "end_s": 2.593, "sides": [[3], [1, 2, 4, 5]]},
            ],
        },
        "crashes": [{"process": 2, "time_s": 1.924}],
        "options": {
            "sizes": [2],
            "tick_s": 0.1,
            "suspect_after_s": 0.6,
            "flush_timeout_s": 0.3,
            "forget_after_s": 6.0,
            "merge_below": 3,
            "split_servers_above": 3,
        },
        "patience_s": 44.583,
    }
)
"""The servers of four groups split when 3 is away; what is for it is with 2 alone, which dies."""

LIMITS = {"split_servers_above": 4, "merge_servers_below": 2}


def levels(lab: Lab) -> int:
    """How many levels there are, of groups of two or more."""
    return max(
        depth + 1
        for process, order in enumerate(lab.orders)
        if process not in lab.dead
        for depth, layer in enumerate(order.layers())
        if layer.view is not None and len(layer.view.members) > 1
    )


def everybody_talks(lab: Lab, rounds: int, size: int) -> None:
    for turn in range(rounds):
        if turn % size not in lab.dead:
            lab.send(turn % size, (turn * 5 + 3) % size, (turn * 7 + 1) % size)
        lab.run(0.1)


def a_level_comes_and_goes(order: type[Order]) -> Lab:
    """Six groups are too many under one group of servers. When all but five processes have died,
    the groups merge until one is left, without servers."""
    lab = Lab(order, size=12, sizes=[2], split_above=6, merge_below=3, **LIMITS)
    everybody_talks(lab, 40, 12)
    assert levels(lab) == 3
    lab.crash(*range(5, 12))
    everybody_talks(lab, 600, 12)
    lab.run(30.0)
    return lab


def a_server_dies_with_what_is_in_its_group_of_servers(order: type[Order]) -> Lab:
    """Ten groups, five to a group of servers, which is one too many. 8 serves 9, which does not get
    what 1 sends to it; a later message of 1 is for 19, and passes the top. Then 8 dies."""
    lab = Lab(order, size=20, sizes=[2, 5], quorum="survivors", **LIMITS)
    first = lab.send(1, 9)
    lab.send(1, 19)

    def lose(copy: Copy) -> bool:
        return copy[:2] == (8, 9) and copy[2].packet is not None and bool(carried(copy[2]))

    lab.lose = lose
    lab.run(4.0)
    lab.crash(8)
    lab.lose = lambda copy: False
    lab.run(60.0)
    assert lab.told(Event.SPLIT)
    assert first.sender not in lab.dead
    return lab


def a_member_is_dead(order: type[Order]) -> Lab:
    """What is for 13 is kept for 30 s. The group of servers does not wait for that."""
    lab = Lab(order, size=18, sizes=[3], **LIMITS)
    lab.crash(13)
    lab.send(1, 4, 13)
    lab.run(5.0)
    lab.send(4, 16)
    lab.run(2.0)
    assert levels(lab) == 3 or lab.faults()
    return lab


def says(copy: Copy, group: int, word: type[object]) -> bool:
    """Whether a packet brings such a word into a group."""
    packet = copy[2].packet
    if packet is None or packet.group != group or not isinstance(packet.body, Data):
        return False
    return any(isinstance(item, word) for item in decode_items(packet.body.payload))


def a_server_dies_when_its_group_gives_way(order: type[Order]) -> Lab:
    """Nine groups of three, four under 0 and five under 12, which is one too many. When 15 hears
    that, it has sent up what 16 has for 1 and then for 19, which answers to 1. 19 is the first to
    hear that all servers have the former; 12, which is to send it on to 0, hears it a second
    later. As soon as the others know what comes in the place of their group, 12 dies."""
    lab = Lab(order, size=27, sizes=[3, 4], quorum="majority", **LIMITS)
    servers, has_come, deaf_until, dies_at = 10, False, 0.0, inf

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        if packet is None or packet.group != servers:
            return False
        is_freeze = copy[:2] == (12, 15) and isinstance(packet.body, Data) and not has_come
        is_report = copy[1] == 12 and isinstance(packet.body, Report) and lab.now < deaf_until
        return is_freeze or is_report

    def before(copy: Copy) -> None:
        nonlocal dies_at
        if copy[0] == 12 and says(copy, servers, Reshape):
            dies_at = min(dies_at, lab.now + 0.015)

    def answer(process: int, message: Message) -> None:
        if process == 19:
            lab.send(19, 1)

    lab.lose, lab.before, lab.answer = lose, before, answer
    lab.send(13, 22)
    while not lab.orders[12].layers()[1].memory.frozen:
        lab.run(0.005)
    question = lab.send(16, 1)
    lab.send(16, 19)
    deaf_until = lab.now + 1.0
    while question not in lab.orders[12].layers()[1].memory.kept:
        lab.run(0.005)
    has_come = True
    while lab.now < dies_at:
        lab.run(0.005)
    lab.crash(12)
    return lab.run(60.0)


def two_speak_for_a_group(order: type[Order]) -> list[list[bytes]]:
    """Thirteen groups of three under 0, 12 and 24, which has five, one too many. It has not heard
    that all are ready when they do not hear it any more: its own group goes on with 25, the other
    servers with 27. When 27 tells 0 and 12 what comes in the place of the servers, so does 24,
    which has just heard the last of them. 0 gets the one first, 12 the other. What do they know?"""
    lab = Lab(order, size=39, sizes=[3, 4], quorum="majority", **LIMITS)
    home, servers, top = 8, 15, 16
    last: list[Copy] = []
    cut_at, told_at = inf, inf

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        if packet is None:
            return lab.now > cut_at and 24 in copy[:2]
        if packet.group in (home, servers) and 24 in copy[:2]:
            if copy[:2] == (36, 24) and says(copy, servers, Ready):
                last[:] = last or [copy]
                return True
            return lab.now > cut_at + (0.0 if copy[0] == 24 else 1.9)
        is_late = told_at < lab.now + 1e-6 and lab.now < told_at + 0.6
        return is_late and packet.group == top and copy[:2] in ((24, 12), (27, 0))

    def before(copy: Copy) -> None:
        nonlocal told_at
        if copy[0] == 27 and says(copy, top, Reshape) and told_at == inf:
            told_at = lab.now
            lab.arrive(last[0], lab.now + 0.001)

    lab.lose, lab.before = lose, before
    lab.send(13, 22)
    lab.send(25, 31)
    while not last:
        lab.run(0.005)
    cut_at = lab.now
    while told_at == inf:
        lab.run(0.005)
    lab.run(3.0)
    known = [layer.memory.changes for one in (0, 12) for layer in lab.orders[one].layers()[2:]]
    assert all(isinstance(unpack(changes[-1]), Reshape) for changes in known)
    return known if known[0] != known[1] else []


def faults(schedule: Callable[[type[Order]], Lab]) -> Callable[[type[Order]], object]:
    return lambda order: schedule(order).faults()


def a_lone_group_grows_when_one_has_died(order: type[Order]) -> bool:
    """Nothing is for 6, which is waited for as long as it takes. Is the group not split?"""
    lab = Lab(
        order,
        size=7,
        groups=[[0, 1, 2, 3, 6]],
        latecomers=[4, 5],
        quorum="majority",
        split_above=5,
        split_servers_above=6,
        merge_servers_below=2,
    )
    lab.run(3.0)
    lab.crash(6)
    lab.send(0, 1)
    lab.run(10.0)
    lab.join(4)
    lab.run(5.0)
    lab.join(5)
    lab.run(30.0)
    return not lab.told(Event.SPLIT)


def servers_are_frozen(order: type[Order]) -> bool:
    """1 sends to 4 while the servers of both are frozen (G1). Does it go up all the same?"""
    lab = Lab(order, quorum="majority", split_servers_above=3)
    for process in (0, 3, 6):
        lab.orders[process].layers()[1].memory.frozen = True
    lab.send(1, 4)
    lab.run(1.0)
    return bool(lab.delivered[4])


SCHEDULES: dict[str, Callable[[type[Order]], object]] = {
    "leaves-before-it-is-drained": faults(a_server_dies_with_what_is_in_its_group_of_servers),
    "waits-for-who-is-away": faults(a_member_is_dead),
    "who-is-alone-holds-it-for-all": lambda order: judge(ONE_OF_TWO_DIES, order).failure,
    "whoever-served-speaks": two_speak_for_a_group,
    "leaves-what-has-not-risen": faults(a_server_dies_when_its_group_gives_way),
    "a-lone-group-waits-for-who-waits": a_lone_group_grows_when_one_has_died,
    "sends-into-a-frozen-group": servers_are_frozen,
}


def test_a_level_comes_and_goes() -> None:
    lab = a_level_comes_and_goes(find("daisy"))
    assert lab.faults() == []
    assert levels(lab) == 1
    assert not lab.told(Event.GAP)
    for process in range(5):
        assert not any(layer.memory.kept for layer in lab.orders[process].layers())


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_schedules_pass(name: str) -> None:
    assert not SCHEDULES[name](find("daisy"))


@pytest.mark.parametrize("rule", RESHAPE, ids=lambda rule: rule.name)
def test_they_fail_without_the_rule(rule: Mutant) -> None:
    assert SCHEDULES[rule.name](mutated("daisy", rule))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"split_servers_above": 2}, "split_servers_above=2: .* make it 3 or more"),
        ({"merge_servers_below": 1}, "merge_servers_below=1: no group is smaller"),
        ({"split_servers_above": 4, "merge_servers_below": 3}, "make it 2 or less"),
    ],
)
def test_limits_that_cannot_work_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(Misuse, match=words):
        make(**options)


def test_newcomers_follow_those_whom_they_talk_with_when_groups_split() -> None:
    first = plan(8, (4,), (), (6, 7), ((1,), (0, 3)))
    change = Change(1, 9, (0,), ((10, (0, 2)), (11, (1, 3))))
    split = first.changed(change.parent, change.gone, change.made)
    assert split.leaf(6).index == 11
    assert split.leaf(7).index == 10
    assert split.nodes[9].children == (10, 11)


def test_a_group_whose_making_is_not_known_yet_is_below_none() -> None:
    """Changes are heard in any order: one may name a group that an earlier one makes."""
    first = plan(8, (4,), (), (), ())
    top = first.nodes[first.leaf(0).parent or 0]
    known = msgspec.structs.replace(first, nodes={top.index: top, 0: first.nodes[0]})
    assert known.child_of(top, 0) == 0
    assert known.child_of(top, 7) is None
