"""Members and groups that are away for long: what was for them is let go, and they are told."""

import pytest

from antecede.order import Event
from antecede.protocols import find
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import TOLD
from tests.overlays.daisy_lab import Lab

FORGET_AFTER_S = 5.0


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
