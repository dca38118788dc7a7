"""Members and groups that are away for long: what was for them is let go, and they are told."""

from collections.abc import Callable

import pytest

from antecede.fuzzing import judge
from antecede.order import Event, Order
from antecede.protocols import find
from antecede.simulate import make_scenario
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import CLOCKS, TOLD
from tests.overlays.daisy_lab import Lab

FORGET_AFTER_S = 5.0
AHEAD_S = 1_000_000.0
"""A machine was started eleven days before the others."""
FIRST, NEXT = (0, 3, 6), (1, 4, 7)
FOUND_BY_CHANCE = {
    "protocol": "daisy",
    "processes": 9,
    "messages": 56,
    "rate": 0.403,
    "workload": {"kind": "multicast", "size": 1, "cascade": 0.208},
    "network": {
        "delay": "exponential:0.1",
        "partitions": [
            {"start_s": 1.827, "end_s": 4.951, "sides": [[1, 2, 3]], "packets": "lost"},
            {"start_s": 4.046, "end_s": 14.509, "sides": [[0, 1, 2, 3, 6]]},
        ],
    },
    "clocks": [0.0, AHEAD_S],
    "options": {"forget_after_s": 42.682},
    "patience_s": 85.364,
}
"""1 comes among the servers, and is handed since when others have been away."""


def _cut_off(lab: Lab, processes: set[int]) -> None:
    lab.lose = lambda copy: (copy[0] in processes) != (copy[1] in processes)


def _heal(lab: Lab) -> None:
    lab.lose = lambda copy: False


def _gaps(lab: Lab) -> list[tuple[int, str]]:
    found = [(process, note) for _, process, note in lab.notices if note.event is Event.GAP]
    return [(process, note.where) for process, note in found]


def _back_in_time(local: str) -> Lab:
    lab = Lab(quorum="majority", forget_after_s=FORGET_AFTER_S, local=local)
    _cut_off(lab, {2})
    lab.send(1, 2)
    lab.run(FORGET_AFTER_S)
    _heal(lab)
    return lab.run()


def _back_too_late(lab: Lab, away: set[int], to: int) -> Lab:
    """m1 is let go while they are away. So is m2, since nobody knows that they could be reached
    again; but that wakes them, and m3 arrives."""
    _cut_off(lab, away)
    lab.send(1, to)
    lab.run(4 * FORGET_AFTER_S)
    _heal(lab)
    lab.send(1, to)
    lab.run(FORGET_AFTER_S)
    lab.send(1, to)
    return lab.run()


def _missed(to: int) -> list[str]:
    return [
        f"{to} delivers 1:3 before 1:1",
        f"{to} delivers 1:3 before 1:2",
        f"1:1 is missing at [{to}]",
        f"1:2 is missing at [{to}]",
    ]


@pytest.mark.parametrize("local", ["broadcast", "server", "recipients"])
def test_who_is_back_in_time_has_missed_nothing(local: str) -> None:
    lab = _back_in_time(local)
    assert lab.faults() == lab.kept() == []
    assert _gaps(lab) == []


@pytest.mark.parametrize("local", ["broadcast", "server", "recipients"])
def test_a_member_that_is_back_too_late_is_told(local: str) -> None:
    lab = Lab(quorum="majority", forget_after_s=FORGET_AFTER_S, local=local)
    _back_too_late(lab, {2}, to=2)
    assert lab.faults() == _missed(2)
    assert lab.kept() == []
    assert _gaps(lab) == [(2, "group 0")]


def test_who_has_missed_nothing_is_not_told() -> None:
    """What is let go is for others."""
    lab = Lab(quorum="majority", forget_after_s=FORGET_AFTER_S)
    _back_too_late(lab, {2, 4}, to=4)
    lab.send(2, 4)
    lab.run()
    assert [process for process, _ in _gaps(lab)] == [4]


def test_a_group_that_is_back_too_late_is_told() -> None:
    lab = Lab(quorum="majority", forget_after_s=FORGET_AFTER_S)
    _back_too_late(lab, {6, 7, 8}, to=7)
    assert lab.faults() == _missed(7)
    assert lab.kept() == []
    assert set(_gaps(lab)) == {(6, "servers 3")}  # for itself, and when its group hears it


def test_it_is_told_though_the_group_has_given_way_to_another() -> None:
    groups = [[0, 1, 2], [3, 4, 5], [6, 7]]
    lab = Lab(
        size=8, groups=groups, quorum="majority", forget_after_s=FORGET_AFTER_S, merge_below=3
    )
    _back_too_late(lab, {2}, to=2)
    assert lab.told(Event.MERGE)
    assert [process for process, _ in _gaps(lab)] == [2]


@pytest.mark.parametrize("rule", TOLD, ids=lambda rule: rule.name)
def test_nobody_is_told_without_the_rule(rule: Mutant) -> None:
    order = mutated("daisy", rule)
    lab = Lab(order, quorum="majority", forget_after_s=FORGET_AFTER_S)
    _back_too_late(lab, {2}, to=2)
    assert lab.faults()
    assert _gaps(lab) == []


def test_of_two_parts_that_both_go_on_neither_takes_note_of_the_other() -> None:
    """`survivors` is not for networks that are cut; but nobody takes the others for liars."""
    lab = Lab(find("daisy"), size=4, groups=[[0, 1, 2, 3]], quorum="survivors")
    _cut_off(lab, {3})
    lab.send(0, 3)
    lab.send(3, 0)
    lab.run(10.0)
    _heal(lab)
    views = {notice.members for notice in lab.told(Event.VIEW) if notice.number == 2}
    assert views == {0b0111, 0b1000}
    first, second = lab.send(0, 1), lab.send(3, 3)
    lab.run(5.0)
    assert first in lab.delivered[1]
    assert second in lab.delivered[3]


def _all_servers_replaced(order: type[Order] | None, *ahead: int) -> Lab:
    """1 sends to a group that is away. One after the other the servers die, and hand over to the
    next ones since when it has been away. The clocks of some are far ahead."""
    lab = Lab(order, size=12, quorum="majority", forget_after_s=30.0)
    for process in ahead:
        lab.ahead[process] = AHEAD_S
    _cut_off(lab, {9, 10, 11})
    lab.send(1, 10)
    for server in FIRST:
        lab.run(5.0)
        lab.crash(server)
        lab.send(2, 5, 8)
    return lab.run(5.0)


def _forgotten_at_once(order: type[Order] | None) -> list[str]:
    """What is missing, though the group is back in time."""
    lab = _all_servers_replaced(order, *NEXT)
    _heal(lab)
    return lab.run().faults()


def _never_forgotten(order: type[Order] | None) -> list[str]:
    """What is kept for the group, which never comes back."""
    return _all_servers_replaced(order, *FIRST).run(300.0).kept()


@pytest.mark.parametrize("rule", CLOCKS, ids=lambda rule: rule.name)
@pytest.mark.parametrize("wrong", [_forgotten_at_once, _never_forgotten])
def test_how_long_one_has_been_away_outlives_a_clock(
    wrong: Callable[[type[Order] | None], list[str]], rule: Mutant
) -> None:
    assert wrong(None) == []
    assert wrong(mutated("daisy", rule))


@pytest.mark.parametrize("rule", CLOCKS, ids=lambda rule: rule.name)
def test_clocks_that_chance_has_found(rule: Mutant) -> None:
    scenario = make_scenario(FOUND_BY_CHANCE)
    assert judge(scenario).failure is None
    assert judge(scenario, mutated("daisy", rule)).failure is not None
