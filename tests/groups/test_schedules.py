"""Random schedules: faults of every kind, judged by the checker."""

import re
from typing import Any

import msgspec
import pytest

from antecede.groups import GroupMember, MemberId, founding_view
from antecede.message import process_set
from tests.groups.__main__ import INTRODUCTION, PAGE, row
from tests.groups.checker import Checker
from tests.groups.lab import Action, Event, History, Lab, Process, Schedule
from tests.groups.mutants import MUTANTS
from tests.groups.named import LEAVERS_LEARN, QUIET, SCHEDULES
from tests.groups.planted import Mutant, planted
from tests.groups.schedules import draw, judge, shrink, try_out


@pytest.mark.parametrize("seed", range(60))
def test_random_schedule(seed: int) -> None:
    assert judge(draw(seed)) == []


@pytest.mark.parametrize("seed", [*range(10), 215, 229, 284, 339, 373])
def test_members_that_do_not_trust_each_other(seed: int) -> None:
    """As live groups are: decisions count by the words of a quorum. The last of these got stuck, or
    left somebody behind, with rules that were a little different."""
    schedule = msgspec.structs.replace(draw(seed), trusts=False, quorum="majority")
    assert judge(schedule) == []


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule_by_name(name: str) -> None:
    assert judge(SCHEDULES[name]) == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_rule_is_needed(mutant: Mutant) -> None:
    """A schedule breaks the group without the rule, in the way that it should, and not with it."""
    findings = try_out(mutant.schedule, planted(mutant)).findings
    assert [finding for finding in findings if re.search(mutant.expects, finding)]
    assert judge(mutant.schedule) == []


@pytest.mark.parametrize("rule", ["takes along", "delivers between", "proposes anew"])
def test_counterexample_shrinks(rule: str) -> None:
    """From dozens of actions to a handful, within a few dozen attempts."""
    mutant = next(mutant for mutant in MUTANTS if mutant.name.startswith(rule))
    groups = planted(mutant)
    schedule = draw(mutant.seed)
    small = shrink(schedule, lambda candidate: bool(judge(candidate, groups)), attempts=60)
    assert judge(small, groups) != []
    assert len(small.actions) <= 4 < len(schedule.actions)


def test_the_page_has_every_rule() -> None:
    """With a line that is made again."""
    page = PAGE.read_text("utf-8")
    assert page.startswith(INTRODUCTION), "run `python -m tests.groups --table`"
    lines = page.removeprefix(INTRODUCTION).splitlines()
    names = [line.split(" | ")[0].removeprefix("| ") for line in lines]
    assert names == [mutant.name for mutant in MUTANTS], "run `python -m tests.groups --table`"
    assert row(MUTANTS[0]) in page, "run `python -m tests.groups --table`"


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
        ("unstable", "never calls message 1 stable"),
        ("stable twice", "calls message 1 stable twice"),
        ("stable early", "calls message 1 stable before it delivers it"),
        ("stable in disorder", "calls message 2 stable, and not 1, which precedes it"),
        ("stable elsewhere", "calls message 1 stable, and (1, 0) never delivers it"),
        ("suspended", "delivers message 1 while it is suspended"),
        ("leaves", "asked to leave, and never ends"),
        ("channels", "keeps channels to 2 members that are gone"),
        ("decisions", "remembers 9 decisions"),
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
        case "unstable" | "stable twice" | "stable early" | "stable in disorder":
            spoil_stability(events, kind)
        case "stable elsewhere":
            events.remove(first)
        case "suspended":
            events.insert(events.index(first), Event("suspended", first.at, first.order))
        case "leaves":
            events.append(Event("leave", first.at, first.order))
        case "channels":
            history.remembered[1, 0] = (2, 0)
        case "decisions":
            history.remembered[1, 0] = (0, 9)
        case _:
            history.buffered[1, 0] = 3
    return history


def spoil_stability(events: list[Event], kind: str) -> None:
    calls = [event for event in events if event.kind == "stable"]
    one, two = calls
    match kind:
        case "unstable":
            events.remove(one)
        case "stable twice":
            events.append(one)
        case "stable early":
            events.remove(one)
            events.insert(1, one)
        case _:
            events.remove(one)
            events.append(one)
    assert (one.messages, two.messages) == ((1,), (2,))


CRASH: Schedule = msgspec.structs.replace(
    QUIET, actions=(Action(0.5, "send", 3, mask=0b1101), Action(2.0, "crash", 3))
)
"""A message to some, whose sender dies later."""


def test_checker_compares_all_members_of_a_view() -> None:
    """Also two between whom there is one that the message does not concern."""
    history = Lab(CRASH).run()
    assert Checker(history).findings() == []
    events = history.lives[2, 0]
    events.remove(next(event for event in events if event.kind == "deliver"))
    expected = "(0, 0) and (2, 0) both leave view 1, but only (0, 0) delivered message 1 in it"
    assert expected in Checker(history).findings()


def test_checker_asks_those_who_were_told_that_they_are_out() -> None:
    """Who is left waits for a quorum of the old view, and is one of the next: 3 and 4 knew it."""
    history = Lab(LEAVERS_LEARN).run()
    for life in ((1, 0), (2, 0)):
        history.lives[life] = [event for event in history.lives[life] if event.view < 2]
        history.suspended[life] = True
    findings = Checker(history).findings()
    assert any(finding.startswith("(1, 0) stays in views [1]") for finding in findings)


def test_random_schedules_seldom_lose_the_quorum() -> None:
    """Where too few are left, little is asked of them: so there must not be many such runs."""
    lost = [seed for seed in range(60) if not Checker(Lab(draw(seed)).run()).goes_on]
    assert len(lost) <= 8
