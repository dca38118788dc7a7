"""A group must not stand still: the cases in which it once did, by name."""

import msgspec
import pytest

from antecede.groups import Deliver, Resumed, Suspended, View, ViewInstalled
from antecede.groups.identities import MemberId
from antecede.groups.packets import Data, Decide, Decision
from tests.groups.lab import Action, History
from tests.groups.named import (
    ALL_LEAVE,
    DECIDED_BUT_LACKS,
    EXCLUDED_LEARN,
    LEAVERS_LEARN,
    QUIET,
    traffic,
)
from tests.groups.test_member import founder, packet_from
from tests.groups.test_scenarios import delivered, kinds, run, views_of

FIVE = msgspec.structs.replace(QUIET, founders=5)


def overdue(history: History, lives: list[tuple[int, int]], sent_by: float, by: float) -> list[int]:
    """What these members sent up to one time and one of them had not delivered at another."""
    sent = {
        event.message
        for life in lives
        for event in history.lives[life]
        if event.kind == "send" and event.at <= sent_by
    }
    late: set[int] = set()
    for life in lives:
        events = history.lives[life]
        late |= sent - {
            event.message for event in events if event.kind == "deliver" and event.at < by
        }
    return sorted(late)


def test_who_lacks_messages_of_a_decision_hands_it_on() -> None:
    history = run(DECIDED_BUT_LACKS, *DECIDED_BUT_LACKS.actions)
    assert history.alive == ((1, 0), (2, 0), (3, 0))
    assert views_of(history, (1, 0))[1] == ((0, 0), (1, 0), (2, 0), (3, 0))
    assert len(delivered(history, (1, 0))) == 6


@pytest.mark.parametrize("seconds", [0.9, 0.95, 1.02, 1.05, 1.1])
@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_who_missed_the_proposal_for_a_while_does_not_stop_the_others(
    seconds: float, loss: float
) -> None:
    actions = [
        msgspec.structs.replace(action, seconds=seconds) if action.kind == "deaf-on" else action
        for action in DECIDED_BUT_LACKS.actions
    ]
    history = run(FIVE, *actions, loss=loss)
    assert {process for process, _ in history.alive} >= {2, 3}


def test_decision_that_only_reaches_those_who_leave() -> None:
    history = run(LEAVERS_LEARN, *LEAVERS_LEARN.actions)
    assert history.alive == ((1, 0), (2, 0))
    assert all(history.lives[life, 0][-1].detail == "left" for life in (3, 4))
    assert views_of(history, (1, 0))[1] == ((0, 0), (1, 0), (2, 0))
    assert overdue(history, [(1, 0), (2, 0)], 6.0, 7.0) == []


def test_decision_that_only_reaches_those_who_are_excluded() -> None:
    history = run(EXCLUDED_LEARN, *EXCLUDED_LEARN.actions)
    assert {process for process, _ in history.alive} == {1, 2, 3, 4}
    assert views_of(history, (1, 0))[1] == ((0, 0), (1, 0), (2, 0))
    assert kinds(history, (3, 0))[-1] == kinds(history, (4, 0))[-1] == "stopped"


@pytest.mark.parametrize("victim", [0, 2, 4])
def test_member_that_hears_nobody_does_not_stop_the_others(victim: int) -> None:
    """It is heard, so nobody suspects it by its silence."""
    others = [process for process in range(5) if process != victim]
    history = run(
        FIVE,
        *traffic(*others, end=10.0),
        Action(1.0, "deafen", victim),
        Action(11.0, "undeafen", victim),
    )
    lives = [(process, 0) for process in others]
    assert set(lives) <= set(history.alive)
    assert overdue(history, lives, 7.0, 10.0) == []
    assert all(overdue(history, lives, at, at + 5.0) == [] for at in (1.0, 2.0, 3.0, 4.0, 5.0))


def test_deaf_member_does_not_hold_up_the_others_with_flushes_of_its_own() -> None:
    """It suspects everybody; soon it hears again, and nobody was asked to stop in between."""
    history = run(
        FIVE,
        *traffic(0, 1, 2, 3, end=8.0),
        Action(1.0, "deafen", 4),
        Action(2.9, "undeafen", 4),
    )
    lives = [(process, 0) for process in range(4)]
    assert all(overdue(history, lives, at / 4, at / 4 + 3.0) == [] for at in range(4, 20))


@pytest.mark.parametrize("kind", ["mute-link", "cut-link"])
@pytest.mark.parametrize(("source", "target"), [(0, 3), (3, 0), (0, 1), (1, 3)])
def test_link_that_carries_nothing(kind: str, source: int, target: int) -> None:
    """Others hand on what it does not carry: nobody is excluded, and nothing waits."""
    history = run(
        FIVE,
        *traffic(0, 1, 2, 3, 4, end=10.0),
        Action(1.0, kind, source, mask=1 << target),
        Action(11.0, "heal"),
    )
    lives = [(process, 0) for process in range(5)]
    assert set(lives) == set(history.alive)
    assert overdue(history, lives, 6.0, 10.0) == []


@pytest.mark.parametrize("seed", range(20))
def test_all_leave_at_once(seed: int) -> None:
    history = run(ALL_LEAVE, *ALL_LEAVE.actions, seed=seed)
    assert history.alive == ()
    assert all(events[-1].kind == "stopped" for events in history.lives.values())


def end_of_the_last(*actions: Action) -> tuple[str, tuple[int, ...]]:
    """How the last one of four ends that leaves when the others are dead."""
    dead = [Action(1.0, "crash", process) for process in (0, 1, 2)]
    history = run(QUIET, *actions, *dead, Action(4.0, "leave", 3))
    assert "suspended" in kinds(history, (3, 0))
    end = history.lives[3, 0][-1]
    assert end.kind == "stopped"
    return end.detail, end.messages


def test_leave_of_a_suspended_member_ends() -> None:
    assert end_of_the_last(Action(0.3, "send", 3))[0] == "left"


def test_leave_of_a_suspended_member_says_what_is_in_doubt() -> None:
    """Its last message has reached nobody who could say so."""
    detail, lost = end_of_the_last(Action(0.3, "send", 3), Action(1.1, "send", 3))
    assert detail == "doubt"
    assert lost == (2,)


@pytest.mark.parametrize("crosses", [False, True], ids=["goes on", "goes on in the next view"])
def test_resumed_comes_before_what_is_delivered_after_a_suspension(crosses: bool) -> None:
    member = founder(2)
    member.receive(packet_from(1, Data(1, (0, 1, 0), b"", b"one")), 0.01)
    suspended = [effect for effect in member.wake(5.0) if isinstance(effect, Suspended)]
    assert len(suspended) == 1
    effects = member.receive(packet_from(1, Data(1, (0, 2, 0), b"", b"two")), 5.01)
    if crosses:
        view = View(2, (MemberId(1, 0), MemberId(2, 0)))
        effects += member.receive(packet_from(1, Decide(Decision(view, (0, 2, 0)))), 5.02)
    effects += [] if crosses else member.wake(5.1)
    seen = [type(e) for e in effects if isinstance(e, Resumed | Deliver | ViewInstalled)]
    assert seen == [Resumed, Deliver, *([ViewInstalled] if crosses else [])]
