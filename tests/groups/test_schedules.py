"""Random schedules: faults of every kind, judged by the checker."""

from typing import Any

import msgspec
import pytest

from antecede.groups import GroupMember, MemberId, founding_view
from antecede.message import process_set
from tests.groups.checker import Checker
from tests.groups.lab import Action, History, Lab, Process, Schedule
from tests.groups.planted import MUTANTS, Mutant, planted
from tests.groups.schedules import draw, judge, shrink
from tests.groups.test_scenarios import QUIET


@pytest.mark.parametrize("seed", range(60))
def test_random_schedule(seed: int) -> None:
    assert judge(draw(seed)) == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_rule_is_needed(mutant: Mutant) -> None:
    """A random schedule breaks the group without the rule, and not with it."""
    schedule = draw(mutant.seed)
    assert judge(schedule, planted(mutant)) != []
    assert judge(schedule) == []


@pytest.mark.parametrize("rule", ["the cut ignores", "delivers between", "proposes anew"])
def test_counterexample_shrinks(rule: str) -> None:
    """From dozens of actions to a handful, within a few dozen attempts."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name.startswith(rule))
    groups = planted(mutant)
    schedule = draw(mutant.seed)
    small = shrink(schedule, lambda candidate: bool(judge(candidate, groups)), attempts=60)
    assert judge(small, groups) != []
    assert len(small.actions) <= 4 < len(schedule.actions)


def test_seed_explains_a_run() -> None:
    assert draw(7) == draw(7)
    assert Lab(draw(7)).run() == Lab(draw(7)).run()


class ForgetfulLab(Lab):
    """After every input each member is replaced by one made from its snapshot."""

    def _carry_out(self, process: Process, effects: list[Any]) -> None:
        old = process.member
        founding = None
        if process.incarnation == 0 and process.index < self.schedule.founders:
            founding = founding_view(tuple(range(self.schedule.founders)))
        contacts = 0 if founding else process_set(range(self.schedule.processes))
        process.member = GroupMember(
            self.config, MemberId(*process.life), founding=founding, contacts=contacts
        )
        process.member.restore(old.snapshot())
        super()._carry_out(process, effects)


@pytest.mark.parametrize("seed", [4, 5, 13])
def test_snapshots_resume(seed: int) -> None:
    schedule = draw(seed)
    assert ForgetfulLab(schedule).run() == Lab(schedule).run()


class WatchedLab(Lab):
    """Notes the largest buffer of any member."""

    largest = 0

    def _carry_out(self, process: Process, effects: list[Any]) -> None:
        self.largest = max(self.largest, process.member.buffered())
        super()._carry_out(process, effects)


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_buffers_stay_small_under_steady_traffic(loss: float) -> None:
    """Four times as long: the buffers do not grow with it."""

    def largest(seconds: int) -> int:
        actions = tuple(Action(turn / 20, "send", turn % 4) for turn in range(1, 20 * seconds))
        lab = WatchedLab(msgspec.structs.replace(QUIET, actions=actions, loss=loss))
        history = lab.run()
        assert Checker(history).findings() == []
        return lab.largest

    assert largest(48) <= 2 * largest(12)


SMALL: Schedule = msgspec.structs.replace(
    QUIET,
    founders=2,
    processes=2,
    actions=(Action(0.5, "send", 0), Action(0.9, "send", 1)),
)
"""A right history of two members, to be spoiled."""


def test_checker_accepts_the_right_history() -> None:
    assert Checker(Lab(SMALL).run()).findings() == []


@pytest.mark.parametrize(
    ("kind", "finding"),
    [
        ("twice", "delivers message 1 twice"),
        ("missing", "never delivers message 1"),
        ("order", "without 1, which precedes it"),
        ("view", "installs view 1 as"),
        ("silent", "has lost the quorum and does not say so"),
        ("buffer", "still buffers 3"),
    ],
)
def test_checker_sees_a_spoiled_history(kind: str, finding: str) -> None:
    history = spoiled(kind)
    assert any(finding in found for found in Checker(history).findings())


def spoiled(kind: str) -> History:
    history = Lab(SMALL).run()
    events = history.lives[1, 0]
    first = next(event for event in events if event.kind == "deliver")
    match kind:
        case "twice":
            events.append(first)
        case "missing":
            events.remove(first)
        case "order":
            events.remove(first)
            events.append(first)
        case "view":
            place = next(place for place, event in enumerate(events) if event.kind == "view")
            events[place] = msgspec.structs.replace(events[place], members=((1, 0),))
        case "silent":
            history.alive = ((1, 0),)
        case _:
            history.buffered[1, 0] = 3
    return history
