"""What can happen to a group, by name."""

import msgspec
import pytest

from tests.groups.checker import Checker
from tests.groups.lab import Action, History, Lab, Schedule
from tests.groups.named import DUEL, QUIET, TALK, traffic

NETWORKS = {
    "calm": {},
    "lossy": {"loss": 0.3, "duplication": 0.2},
    "reordering": {"delay_s": 0.05, "tail": 0.2, "duplication": 0.3},
}


@pytest.fixture(params=NETWORKS)
def network(request: pytest.FixtureRequest) -> Schedule:
    return msgspec.structs.replace(QUIET, **NETWORKS[request.param])


def run(network: Schedule, *actions: Action, **changes: object) -> History:
    """A run that is right in every respect, for a closer look."""
    schedule = msgspec.structs.replace(network, actions=actions, **changes)
    history = Lab(schedule).run()
    assert Checker(history, schedule.quorum).findings() == []
    return history


def views_of(history: History, life: tuple[int, int]) -> list[tuple[tuple[int, int], ...]]:
    return [event.members for event in history.lives[life] if event.kind == "view"]


def kinds(history: History, life: tuple[int, int]) -> list[str]:
    return [event.kind for event in history.lives[life]]


def delivered(history: History, life: tuple[int, int]) -> set[int]:
    return {event.message for event in history.lives[life] if event.kind == "deliver"}


def test_sender_dies_in_the_middle_of_a_multicast(network: Schedule) -> None:
    """Whoever got the last message of the dead shares it: all survivors or none deliver it."""
    history = run(
        network,
        Action(0.9, "crash-on", 1, mask=0b0100, name="Data"),
        Action(1.0, "send", 1),
        *traffic(0, 2),
    )
    assert len({1 in delivered(history, (process, 0)) for process in (0, 2, 3)}) == 1
    assert views_of(history, (0, 0))[-1] == ((0, 0), (2, 0), (3, 0))


def test_what_one_survivor_has_all_deliver() -> None:
    history = run(
        QUIET, Action(0.9, "crash-on", 1, mask=0b0100, name="Data"), Action(1.0, "send", 1)
    )
    assert all(delivered(history, (process, 0)) == {1} for process in (0, 2, 3))


@pytest.mark.parametrize("kind", ["Prepare", "Accept", "Decide"])
@pytest.mark.parametrize("reached", [0b0000, 0b0010, 0b0100, 0b0110])
def test_coordinator_dies_in_the_middle_of_a_flush(
    network: Schedule, kind: str, reached: int
) -> None:
    history = run(
        network,
        *traffic(1, 2),
        Action(1.0, "crash", 3),
        Action(1.0, "crash-on", 0, mask=reached, name=kind),
        Action(6.0, "restart", 3),
        founders=5,
    )
    if (0, 0) not in history.alive:
        assert {life for life, _ in history.alive} == {1, 2, 3, 4}


def test_join_during_a_flush(network: Schedule) -> None:
    history = run(network, *traffic(0, 1), Action(1.0, "crash", 2), Action(2.25, "restart", 4))
    assert {process for process, _ in history.alive} == {0, 1, 3, 4}


def test_joiner_is_given_the_state_and_goes_on_from_there(network: Schedule) -> None:
    history = run(network, *traffic(0, 1, 2), Action(2.0, "restart", 4))
    newcomer = max(life for life in history.alive if life[0] == 4)
    first_view = next(event for event in history.lives[newcomer] if event.kind == "view")
    assert first_view.messages
    assert history.states[newcomer] == history.states[0, 0]


def test_newcomers_wait_while_a_group_is_full_and_who_was_there_does_not(network: Schedule) -> None:
    """Of two newcomers there is room for one; 2 is excluded, and back in a full group; 1 leaves."""
    history = run(
        network,
        *traffic(0, 3),
        *(Action(1.0, "restart", 4), Action(1.0, "restart", 5)),
        *(Action(3.0, "mute", 2), Action(6.0, "unmute", 2), Action(14.0, "leave", 1)),
        processes=6,
        most=5,
    )
    views = views_of(history, (0, 0))
    assert max(map(len, views)) == 6  # 2 has left room for the other newcomer
    there = [{process for process, _ in view} for view in views]
    first = next(view for view in there if view & {4, 5})
    assert first != {0, 1, 2, 3, 4, 5}
    assert {process for process, _ in history.alive} == {0, 2, 3, 4, 5}


def test_newcomers_wait_for_room_no_longer_than_is_said() -> None:
    news = (Action(1.0, "restart", 4), Action(1.0, "restart", 5))
    history = run(QUIET, *traffic(0, 3), *news, processes=6, most=5, room_after_s=5.0)
    assert [*map(len, views_of(history, (0, 0)))][-2:] == [5, 6]


def test_sponsor_dies_before_the_newcomer_is_in() -> None:
    history = run(
        QUIET,
        *traffic(1, 2),
        Action(1.0, "crash-on", 0, mask=0, name="Welcome"),
        Action(1.0, "restart", 4),
    )
    assert history.alive == ((1, 0), (2, 0), (3, 0), (4, 0))


def test_false_suspicion_excludes_a_live_member_which_rejoins(network: Schedule) -> None:
    history = run(network, *traffic(0, 1, 2), Action(1.0, "mute", 2), Action(3.5, "unmute", 2))
    assert kinds(history, (2, 0))[-1] == "stopped"
    assert (2, 1) in history.lives
    assert {process for process, _ in history.alive} == {0, 1, 2, 3}


def test_excluded_member_knows_which_of_its_messages_are_lost() -> None:
    history = run(
        QUIET,
        Action(0.5, "send", 2),
        Action(1.0, "mute", 2),
        Action(1.1, "send", 2),
        Action(1.2, "send", 2),
        Action(3.5, "unmute", 2),
    )
    end = history.lives[2, 0][-1]
    assert (end.detail, end.messages) == ("excluded", (2, 3))
    assert delivered(history, (0, 0)) == {1}


def test_partition_stops_the_minority_which_rejoins_when_it_heals(network: Schedule) -> None:
    history = run(
        network,
        *traffic(0, 1, 2, 3, 4, end=5.0),
        Action(1.0, "part", mask=0b10001),
        Action(5.0, "heal"),
        founders=5,
    )
    for process in (0, 4):
        assert "suspended" in kinds(history, (process, 0))
        assert kinds(history, (process, 0))[-1] == "stopped"
    assert {process for process, _ in history.alive} == {0, 1, 2, 3, 4}


def test_partition_without_a_majority_anywhere_goes_on_when_it_heals(network: Schedule) -> None:
    """Nobody was left behind: all return in the life they had."""
    history = run(
        network,
        *traffic(0, 1, 2, 3, 4, end=4.0),
        Action(1.0, "part", mask=0b00011),
        Action(1.0, "part", mask=0b01100),
        Action(4.0, "heal"),
        founders=5,
    )
    assert history.alive == tuple((process, 0) for process in range(5))
    assert all("suspended" in kinds(history, life) for life in history.alive)


def test_half_of_a_view_goes_on_with_its_most_senior_member() -> None:
    history = run(
        QUIET, *traffic(0, 1, 2, 3), Action(1.0, "part", mask=0b0011), Action(4.5, "heal")
    )
    assert kinds(history, (2, 0))[-1] == kinds(history, (3, 0))[-1] == "stopped"
    assert (0, 0) in history.alive
    assert (1, 0) in history.alive


def test_leave_while_sending(network: Schedule) -> None:
    """Everything that the leaver sent is delivered before it goes."""
    burst = [Action(1.0 + turn / 1000, "send", 2) for turn in range(30)]
    history = run(network, *traffic(0), *burst, Action(1.1, "leave", 2))
    end = history.lives[2, 0][-1]
    assert (end.kind, end.detail, end.messages) == ("stopped", "left", ())
    sent = {message for message, sent in history.sent.items() if sent.sender == (2, 0)}
    assert len(sent) == 30
    assert sent <= delivered(history, (0, 0))


def test_coordinator_leaves(network: Schedule) -> None:
    history = run(network, *traffic(0, 1), Action(5.0, "leave", 0))
    assert history.lives[0, 0][-1].detail == "left"
    assert views_of(history, (1, 0))[-1][0] == (1, 0)


def test_last_member_leaves() -> None:
    actions = [Action(1.0 + process / 10, "leave", process) for process in range(4)]
    history = run(QUIET, Action(0.5, "send", 0), *actions)
    assert history.alive == ()
    assert all(events[-1].detail == "left" for events in history.lives.values())


def test_return_under_a_new_incarnation(network: Schedule) -> None:
    """Also before anybody has noticed that the old one is gone."""
    history = run(
        network,
        *traffic(0, 1, 2),
        Action(1.0, "crash", 2),
        Action(1.1, "restart", 2),
        Action(3.0, "crash", 1),
        Action(6.0, "restart", 1),
    )
    assert {process for process, _ in history.alive} == {0, 1, 2, 3}
    assert (2, 0) not in history.alive


def test_two_coordinators_at_once(network: Schedule) -> None:
    """0 is not heard and 1 takes over, while 0 leads a flush of its own because 3 has died."""
    history = run(
        network,
        *traffic(1, 2),
        Action(1.0, "crash", 3),
        Action(1.05, "mute", 0),
        Action(2.5, "unmute", 0),
        founders=5,
    )
    assert len(history.alive) == 4


def test_two_coordinators_want_the_same_third_member() -> None:
    history = Lab(DUEL).run()
    assert Checker(history).findings() == []
    assert views_of(history, (2, 0))[1] == ((1, 0), (2, 0))


def test_majority_lost_stops_the_rest_which_says_so(network: Schedule) -> None:
    history = run(
        network,
        *traffic(0, 1, 2, 3),
        Action(2.0, "crash", 0),
        Action(2.0, "crash", 1),
        Action(2.0, "crash", 2),
    )
    assert history.alive == ((3, 0),)
    assert kinds(history, (3, 0))[-1] in {"suspended", "send"}
    assert history.suspended[3, 0]


def test_survivors_go_on_to_the_last_where_networks_do_not_partition() -> None:
    history = run(
        QUIET,
        *traffic(0, 1, 2, 3),
        Action(2.0, "crash", 0),
        Action(2.0, "crash", 1),
        Action(2.0, "crash", 2),
        quorum="survivors",
    )
    assert views_of(history, (3, 0))[-1] == ((3, 0),)


def test_late_member_gets_the_messages_before_the_view_from_another() -> None:
    """2 has promised, and misses the proposal and the decision; a message only 1 had is in the cut.
    It comes along in the life it has."""
    history = run(
        QUIET,
        Action(0.9, "crash-on", 3, mask=0b0010, name="Data"),
        Action(1.0, "send", 3),
        Action(1.0, "deaf-on", 2, name="Accept", seconds=1.1),
    )
    assert history.alive == ((0, 0), (1, 0), (2, 0))
    assert delivered(history, (2, 0)) == {1}


def test_unreleased_messages_are_handed_to_newcomers(network: Schedule) -> None:
    history = run(network, *traffic(0, 1, 2), Action(2.0, "restart", 4), retains=True)
    newcomer = max(life for life in history.alive if life[0] == 4)
    assert "handed" in kinds(history, newcomer)


def test_members_tell_each_other_alone_through_changes_of_views(network: Schedule) -> None:
    history = run(network, *TALK.actions)
    assert kinds(history, (1, 0)).count("told") == 60


def test_reply_from_within_a_delivery(network: Schedule) -> None:
    questions = [Action(0.5 + turn / 10, "send", 0, name="1") for turn in range(20)]
    history = run(network, *questions, Action(1.5, "crash", 0))
    assert any(sent.sender == (1, 0) for sent in history.sent.values())
