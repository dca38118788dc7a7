"""Servers that take over, on two levels and three: what they have, what comes from above and what
comes from below keep their order. Each schedule passes, and fails without the rule that it is
about."""

from collections.abc import Callable
from typing import Any

import pytest

from antecede.message import MessageId
from antecede.order import Event, Order
from antecede.overlays.daisy import search
from antecede.overlays.daisy.layer import Layer
from antecede.overlays.daisy.stamp import DaisyStamp, Found
from antecede.protocols import find
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import LEVELS
from tests.overlays.daisy_lab import Copy, Lab, carried

LEFT, RIGHT, TOP = 4, 5, 6
"""The groups of servers over 0 to 3, over 4 to 7, and above both."""


def eight(order: type[Order], **options: Any) -> Lab:
    """Groups of two: 0, 2, 4 and 6 serve them, 0 and 4 serve the servers."""
    return Lab(order, size=8, sizes=[2, 2], **options)


def is_in(stamp: DaisyStamp, group: int) -> bool:
    return stamp.packet is not None and stamp.packet.group == group


def all_servers_in_the_middle_die(order: type[Order]) -> Lab:
    """1 sends m1 to 7 and then m2 to 5 and 7; 6 has passed on neither when it dies with 4. Group 2
    keeps m2 alone; m1 is with the servers at the top."""
    lab = eight(order)
    lab.lose = lambda copy: copy[:2] == (6, 7)
    lab.send(1, 7)
    second = lab.send(1, 5, 7)
    lab.run(1.0)
    assert lab.delivered[5] == [second]
    lab.crash(4, 6)
    return lab.run()


def a_server_dies_with_what_came_from_below(order: type[Order]) -> Lab:
    """1 sends m1 to 3 and then m2 to 3 and 5. 0 has sent on both, but what it says to the servers
    beside it is lost; then 2 serves, to whom m2 would come from above, and m1 from 1."""
    lab = eight(order, forward="delivered")
    lab.lose = lambda copy: copy[:2] == (0, 2)
    lab.send(1, 3)
    lab.send(1, 3, 5)
    lab.run(1.0)
    lab.crash(0)
    lab.lose = lambda copy: copy[0] == 1 and bool(carried(copy[2], LEFT)) and lab.now < 5.0
    return lab.run()


def a_server_dies_with_what_came_from_above(order: type[Order]) -> Lab:
    """5 sends m1 to 3 and then m2 to 1, which answers 3. 0 has brought both; but what 0 says to the
    servers beside it is lost. Then the answer would come to 2 from 1, and m1 from the top."""
    lab = eight(order, forward="delivered")
    lab.lose = lambda copy: copy[:2] == (0, 2)

    lab.let_answer(1, 3)
    lab.send(5, 3)
    lab.send(5, 1)
    lab.run(1.0)
    lab.crash(0)
    lab.lose = lambda copy: copy[1] == 2 and is_in(copy[2], TOP) and lab.now < 5.0
    return lab.run()


def a_message_ahead_is_stable_before_its_past(order: type[Order]) -> Lab:
    """1 sends m1 and m2 to 5. The server gets m2 first, and the servers beside it have it when m1
    comes; at the top m1 has to come first."""
    lab = eight(order, forward="received")
    first = MessageId(1, 1)
    lab.lose = lambda copy: copy[:2] == (1, 0) and carried(copy[2]) == [first] and lab.now < 1.0
    lab.send(1, 5)
    lab.send(1, 5)
    return lab.run()


def a_new_server_has_what_is_not_stable(order: type[Order]) -> Lab:
    """0 is dead. What 2 has sent is not stable when 1 serves the group, for 1 does not hear that 2
    is there, too; then 2 sends again."""
    lab = Lab(order, forward="delivered")

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        is_report = packet is not None and packet.view > 1 and not hasattr(packet.body, "payload")
        return copy[:2] == (2, 1) and is_report

    lab.lose = lose
    lab.crash(0)
    lab.send(4, 8)
    lab.send(2, 7)
    while [layer.is_in for layer in lab.orders[1].layers()] != [True, True]:
        lab.run(0.05)
    lab.send(2, 7)
    return lab.run()


def a_member_that_returns_is_refused(order: type[Order]) -> Lab:
    """1 is cut off, and stops; what it sends then waits. It is let in again, but never hears of
    that, and is left out once more: in its third life it still has the message."""
    lab = Lab(order, quorum="majority")
    lab.lose = lambda copy: 1 in copy[:2] and lab.now < 3.0
    lab.send(0, 1, 2)
    lab.send(1, 2)
    lab.run(2.9)
    lab.send(1, 2, 7)
    lab.run(0.1)

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        return packet is not None and type(packet.body).__name__ == "Welcome" and lab.now < 8.0

    lab.lose = lose
    lab.send(0, 2)
    lab.run()
    assert max(layer.state.incarnation for layer in lab.orders[1].layers()) > 1
    return lab


def a_sender_returns_after_its_message_has_gone_ahead(order: type[Order]) -> Lab:
    """1 sends m1 to 3 and then m2 to 3 and 7. Only m2 reaches the server, which sends it on; then
    nobody hears 1 for a while. m2 must not come back to 3 before 1 does, with m1."""
    groups = [[0, 1, 2, 3], [4, 5], [6, 7, 8]]
    lab = Lab(order, groups=groups, quorum="majority", forward="received")
    second = MessageId(1, 2)

    def lose(copy: Copy) -> bool:
        gets_through = copy[:2] == (1, 0) and carried(copy[2]) == [second] and not lab.now
        return 1 in copy[:2] and lab.now < 6.0 and not gets_through

    lab.lose = lose
    lab.send(1, 3)
    lab.send(1, 3, 7)
    lab.run(0.3)
    assert lab.delivered[7] == [second]
    return lab.run()


def an_answer_comes_with_its_question(order: type[Order]) -> Lab:
    """0 tells 1 something, which is lost, and asks 4, which answers 1. Then 0 is away: what it told
    may come from itself, and the answer, from the servers, must not come before it."""
    lab = Lab(order, quorum="majority", forward="delivered")
    lab.lose = lambda copy: 0 in copy[:2] and bool({1, 2} & set(copy[:2]))

    lab.let_answer(4, 1)
    lab.send(0, 1)
    lab.send(0, 4)
    lab.run(0.5)
    assert lab.delivered[4]
    lab.lose = lambda copy: 0 in copy[:2] and lab.now < 8.0
    return lab.run()


def a_member_of_a_star_returns(order: type[Order]) -> Lab:
    """3 has sent a message and got one; it is away when the server says that all have them."""
    lab = Lab(order, size=8, groups=[[0, 1, 2, 3], [4, 5, 6, 7]], quorum="majority", local="server")
    lab.lose = lambda copy: 3 in copy[:2] and 0.03 < lab.now < 6.0
    lab.send(3, 1)
    lab.send(1, 3)
    lab.run(4.0)
    lab.send(1, 2)
    return lab.run()


def the_server_of_a_star_returns(order: type[Order]) -> Lab:
    """0 is suspected wrongly when it has told 2 of a message, and not 3."""
    lab = Lab(order, size=8, groups=[[0, 1, 2, 3], [4, 5, 6, 7]], quorum="majority", local="server")
    lab.lose = lambda copy: copy[:2] == (0, 3)
    lab.send(1, 2, 3, 6)
    lab.send(5, 0, 2, 3)
    lab.run(0.05)
    lab.lose = lambda copy: 0 in copy[:2] and lab.now < 8.0
    lab.run(0.15)
    lab.send(0, 3, 6)
    lab.send(2, 0, 3)
    lab.run(5.0)
    lab.send(3, 0, 5)
    return lab.run()


NEEDS: dict[str, Callable[[type[Order]], Lab]] = {
    "begins-without-the-servers-above": all_servers_in_the_middle_die,
    "rises-before-all-have-it": a_server_dies_with_what_came_from_below,
    "sinks-before-all-have-it": a_server_dies_with_what_came_from_above,
    "called-stable-before-its-past": a_message_ahead_is_stable_before_its_past,
    "takes-over-only-what-is-stable": a_new_server_has_what_is_not_stable,
    "not-awaited-from-who-is-away": a_sender_returns_after_its_message_has_gone_ahead,
    "comes-before-what-is-awaited": an_answer_comes_with_its_question,
    "not-told-what-was-released": a_member_of_a_star_returns,
    "refused-and-empty-handed": a_member_that_returns_is_refused,
}


@pytest.mark.parametrize("name", NEEDS)
def test_the_schedules_pass(name: str) -> None:
    lab = NEEDS[name](find("daisy"))
    assert lab.faults() == lab.kept() == []


@pytest.mark.parametrize("rule", LEVELS, ids=lambda rule: rule.name)
def test_they_fail_without_the_rule(rule: Mutant) -> None:
    lab = NEEDS[rule.name](mutated("daisy", rule))
    assert lab.faults() or lab.kept()


def test_the_server_of_a_star_returns() -> None:
    lab = the_server_of_a_star_returns(find("daisy"))
    assert lab.faults() == lab.kept() == []
    assert lab.told(Event.STOPPED)


@pytest.mark.parametrize("forward", ["stable", "delivered", "received"])
def test_what_a_server_has_taken_along_is_told(forward: str) -> None:
    """0 sends m1 to 1, which is lost, then m2 to 4, which answers 1; then 0 dies with m1. If all in
    its group had to have m2 first, it has not left."""
    lab = Lab(forward=forward)
    lab.lose = lambda copy: copy[0] == 0 and copy[1] in (1, 2)

    lab.let_answer(4, 1)
    first, second = lab.send(0, 1), lab.send(0, 4)
    lab.run(0.3)
    lab.crash(0)
    lab.run()
    if forward == "stable":
        assert lab.delivered[4] == []
        assert lab.faults() == []
        assert lab.told(Event.GAP) == []
    else:
        assert lab.delivered[4] == [second]
        assert lab.faults() == [f"1 delivers 4:1 before {first}"]
        assert [(gap.members, gap.messages) for gap in lab.told(Event.GAP)] == [(1, (first,))]


def a_founder_misses_the_call() -> Lab:
    """All servers die, and 1, 4 and 7 look for each other. 7 does not hear that 1 founds the group
    with it, but is told by 4 who is in it. It has a message of its own, and group 1 a later one."""
    lab = Lab()
    lab.lose = lambda copy: copy[0] in (3, 6) and bool(carried(copy[2], 3))
    lab.send(7, 1)
    lab.send(7, 1, 4)
    lab.run(1.0)
    lab.crash(0, 3, 6)

    def lose(copy: Copy) -> bool:
        return copy[:2] == (1, 7) and isinstance(copy[2].talk, Found) and lab.now < 20.0

    lab.lose = lose
    return lab.run()


def test_who_is_named_as_a_founder_founds() -> None:
    lab = a_founder_misses_the_call()
    assert lab.faults() == lab.kept() == []
    incarnations = [layer.state.incarnation for layer in lab.orders[7].layers()]
    assert incarnations == [0, 0]


def test_else_it_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def naive(layer: Layer, view: Any) -> Found:
        processes = tuple(member.process for member in view.members)
        return Found(layer.node.index, layer.state.epoch, processes, again=False)

    monkeypatch.setattr(search, "_found", naive)
    incarnations = [
        layer.state.incarnation for layer in a_founder_misses_the_call().orders[7].layers()
    ]
    assert incarnations != [0, 0]
