"""Optimisation 3 (section 3.4): in local groups messages go through the server, point to point; it
saves packets and integers, costs a hop, and keeps the order when servers die."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.groups.packets import Decide, Heard, Join
from antecede.groups.streams import Streams
from antecede.message import Message, MessageId, process_set
from antecede.order import Event, Order
from antecede.protocols import find
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import STAR as STAR_RULES
from tests.overlays.daisy_lab import DELAY_S, Copy, Lab, carried, cost_of
from tests.overlays.test_daisy_random import crashing, draw, judge, returning, three_levels
from tests.overlays.test_daisy_scenarios import (
    UNCHANGING,
    Scenario,
    a_flush_delivers_what_only_one_member_has,
)

STAR: dict[str, Any] = {"local": "server"}
SEEDS = 12
PLAIN = [one for one in UNCHANGING if one is not a_flush_delivers_what_only_one_member_has]
"""What has not reached the server, nobody has."""


@pytest.mark.parametrize("scenario", PLAIN, ids=lambda one: one.__name__)
def test_the_scenarios_of_the_daisy_pass(scenario: Scenario) -> None:
    lab = scenario(find("daisy"), **STAR)
    assert lab.faults() == lab.kept() == []


def test_it_saves_packets_and_integers_and_costs_a_hop() -> None:
    """To one of eight in the group: two packets of two integers instead of seven of nine."""
    broadcast, star = cost_of(2), cost_of(2, **STAR)
    assert broadcast[:2] == (7, 7 * 9)
    assert star[:2] == (2, 2 * 2)
    assert (broadcast[2], star[2]) == pytest.approx((DELAY_S, 2 * DELAY_S))


def test_it_saves_packets_between_groups() -> None:
    """To one elsewhere: to the server, to the other server, to the recipient."""
    packets, integers, _ = cost_of(9, **STAR)
    assert packets == 3
    broadcast = cost_of(9)
    assert (broadcast[0], broadcast[1] > 10 * integers) == (7 + 1 + 7, True)


def test_the_server_carries_the_load() -> None:
    load = {}
    for local in ("broadcast", "server"):
        lab = Lab(size=16, groups=[list(range(8)), list(range(8, 16))], local=local)
        sent: list[int] = []
        lab.before = (
            lambda copy, sent=sent: sent.extend(  # type: ignore[misc]
                copy[:1] * bool(carried(copy[2]))
            )
        )
        for sender in range(1, 8):
            lab.send(sender, 1 + sender % 7)
        lab.run()
        load[local] = sent.count(0)
    assert load == {"broadcast": 0, "server": 7}


def server_dies_with_half_reached(order: type[Order]) -> Lab:
    """0 has told 3 of a message, and not 2, when it dies; its sender dies with it."""
    lab = Lab(order, size=8, groups=[[0, 1, 2, 3], [4, 5, 6, 7]], **STAR)
    lab.lose = lambda copy: copy[:2] == (0, 2)
    first = lab.send(1, 2, 3)
    lab.run(0.05)
    assert first in lab.delivered[3]
    lab.crash(0, 1)
    return lab.run()


def server_dies_between_question_and_answer(order: type[Order]) -> Lab:
    """The question came from above and has not reached 3; the answer to it is with 1."""
    lab = Lab(order, size=8, groups=[[0, 1, 2, 3], [4, 5, 6, 7]], **STAR)
    lab.lose = lambda copy: copy[:2] == (0, 3)

    def answer(process: int, message: Message) -> None:
        if process == 2 and message.id.sender == 5:
            lab.send(2, 1, 3)

    lab.answer = answer
    lab.send(5, 2, 3)
    lab.run(0.4)
    assert MessageId(2, 1) in lab.delivered[1]
    lab.crash(0, 2)
    lab.lose = lambda copy: copy[0] == 4 and lab.now < 6.0 and bool(carried(copy[2]))
    return lab.run()


def its_own_message_is_not_told_twice(order: type[Order]) -> Lab:
    """The server dies when it has told all of a message: the next one tells it again."""
    lab = Lab(order, size=8, groups=[[0, 1, 2, 3], [4, 5, 6, 7]], **STAR)
    first = lab.send(1, 2, 3, 6)
    lab.run(0.05)
    assert first in lab.delivered[3]
    lab.crash(0)
    return lab.run()


def a_member_is_suspected_wrongly(order: type[Order]) -> Lab:
    """3 is not heard for a while, and has to get what was sent meanwhile."""
    lab = Lab(order, size=8, groups=[[0, 1, 2, 3], [4, 5, 6, 7]], quorum="majority", **STAR)
    lab.lose = lambda copy: 3 in copy[:2] and lab.now < 5.0
    lab.send(3, 1, 6)
    lab.send(1, 2, 3)
    lab.run(4.0)
    lab.send(2, 1, 3)
    return lab.run()


def a_member_is_back_before_its_server(order: type[Order]) -> Lab:
    """6 and 7 were cut off, and 6 knows that the servers went on without it when 7 sends m1. Then 8
    is back in the group, but not heard to have m1; then 6 is back among the servers."""
    lab = Lab(order, quorum="majority", **STAR)
    lab.lose = lambda copy: (copy[0] in (6, 7)) != (copy[1] in (6, 7))
    lab.send(7, 8)
    lab.send(0, 7)
    lab.run(4.0)

    def lose(copy: Copy) -> bool:
        body = copy[2].packet.body if copy[2].packet else None
        if 8 in copy[:2] and lab.now < 5.0:
            return True
        if copy[:2] == (8, 6):
            return isinstance(body, Heard) and lab.now < 9.0
        return copy[0] == 6 and isinstance(body, Join) and lab.now < 7.0

    lab.lose = lose
    lab.send(6, 1)
    lab.run(0.8)
    lab.send(7, 1, 8)
    lab.run(3.0)
    lab.send(7, 1)
    return lab.run()


def a_server_is_back_before_a_sender(order: type[Order]) -> Lab:
    """4 sends m1 to 1, m2 to 1 and the server, 0, while 4 and 0 are cut off. 0 is back first."""
    lab = Lab(order, size=8, groups=[[0, 1, 2, 3, 4], [5, 6, 7]], quorum="majority", **STAR)
    lab.lose = lambda copy: (copy[0] in (0, 4)) != (copy[1] in (0, 4))
    lab.send(4, 1)
    lab.send(4, 0, 1)
    lab.send(1, 2)
    lab.run(5.0)
    lab.lose = lambda copy: 4 in copy[:2] and lab.now < 9.0
    return lab.run()


def no_servers_are_left(order: type[Order]) -> Lab:
    """Two groups lose their majority for good, and the third its server: the next one goes on."""
    groups = [[0, 1], [2, 3], [4, 5, 6]]
    options = {"quorum": "majority", "forget_after_s": 5.0, **STAR}
    lab = Lab(order, size=7, groups=groups, **options)
    lab.crash(0, 2, 4)
    lab.send(5, 6)
    return lab.run(30.0)


def a_server_dies_alone(order: type[Order] | None) -> list[int]:
    """0 tells 7 something, which is lost on its way, and then 1 and 7: the second is with 1. Whose
    messages may be lost, as it is told."""
    lab = Lab(order, **STAR)
    lab.lose = lambda copy: copy[1] in (3, 6)
    lab.send(0, 7)
    lab.send(0, 1, 7)
    lab.run(0.1)
    lab.crash(0)
    lab.lose = lambda copy: False
    assert lab.run().faults() == ["7 delivers 0:2 before 0:1"]
    return [notice.members for notice in lab.told(Event.GAP)]


def named(lab: Lab, *processes: int) -> bool:
    """Whether one gap has named all of these."""
    these = process_set(processes)
    return any(notice.members & these == these for notice in lab.told(Event.GAP))


def send_two(lab: Lab, sender: int, to: int, server: int) -> None:
    """Two messages, the first of which is lost on its way from the server."""
    lab.lose = lambda copy: copy[:2] == (server, to)
    lab.send(sender, to)
    lab.run(2.5 * DELAY_S)
    lab.lose = lambda copy: False
    lab.send(sender, to)
    lab.run(2.5 * DELAY_S)


def a_member_dies_before_it_hands_over(order: type[Order] | None) -> bool:
    """2 sends two messages to 1. The first is lost on its way from 0, which dies when the second is
    there. So does 2, when 1 waits for what it keeps. Whether a gap has named both."""
    lab = Lab(order, **STAR)
    send_two(lab, 2, 1, server=0)
    lab.crash(0)
    lab.lose = lambda copy: copy[:2] == (2, 1) and bool(carried(copy[2]))
    while not lab.orders[1].layers()[0].is_server:
        lab.run(DELAY_S)
    assert not lab.delivered[1]
    lab.crash(2)
    lab.lose = lambda copy: False
    assert lab.run().faults() == ["1 delivers 2:2 before 2:1"]
    return named(lab, 0, 2)


def a_newcomer_serves_and_dies(order: type[Order] | None) -> bool:
    """2 and 3 come, and 2 serves when 0 and 1 have died. It sends two messages to 3, the first of
    which is lost, and dies. Whether a gap has named it."""
    lab = Lab(order, size=4, groups=[[0, 1]], latecomers=[2, 3], **STAR)
    for newcomer in (2, 3):
        lab.run(2.0)
        lab.join(newcomer)
    lab.run(2.0)
    lab.crash(0, 1)
    lab.send(3, 2)
    lab.run(20.0)
    send_two(lab, 2, 3, server=2)
    lab.crash(2)
    lab.send(3, 2)
    assert lab.run().faults() == ["3 delivers 2:2 before 2:1"]
    return named(lab, 2)


def dies_with_three_on_the_way(order: type[Order] | None, *lacking: tuple[int, ...]) -> Lab:
    """6 serves and sends three messages to 1, the third to 7 as well, and dies when that is there.
    Which servers each of the three does not reach."""
    lab = Lab(order, **STAR)
    lab.run(0.5)

    def lose(to: tuple[int, ...]) -> Callable[[Copy], bool]:
        return lambda copy: copy[0] == 6 and copy[1] in to and bool(carried(copy[2]))

    for out_of_reach, destinations in zip(lacking, ((1,), (1,), (1, 7)), strict=True):
        lab.lose = lose(out_of_reach)
        lab.send(6, *destinations)
    lab.run(1.1 * DELAY_S)
    assert lab.delivered[7] == [MessageId(6, 3)]
    lab.crash(6)
    lab.lose = lambda copy: False
    return lab


def servers_have_pieces() -> Lab:
    """0 has the second of the three, and 3 what precedes it."""
    return dies_with_three_on_the_way(None, (0,), (3,), (0, 3)).run()


def one_of_the_servers_is_late(order: type[Order] | None) -> bool:
    """3 alone has the second of the three, and nobody the first, so that 3 cannot deliver it. The
    servers go on without 6, and 3 hears of that a second later. Whether the gap is told before 3
    has dropped that message."""
    lab = dies_with_three_on_the_way(order, (0, 3), (0,), (0, 3))
    deaf_until = 0.0

    def lose(copy: Copy) -> bool:
        nonlocal deaf_until
        packet = copy[2].packet
        if copy[:2] == (0, 3) and packet and isinstance(packet.body, Decide) and not deaf_until:
            deaf_until = lab.now + 1.0
        return copy[1] == 3 and lab.now < deaf_until

    lab.lose = lose
    lab.run()
    assert deaf_until
    assert not lab.kept()
    assert lab.faults() == ["1 delivers 6:3 before 6:1", "1 delivers 6:3 before 6:2"]
    (gap_at,) = (at for at, _, notice in lab.notices if notice.event is Event.GAP)
    late = (at for at, who, told in lab.notices if who == 3 and told.event is Event.VIEW)
    return gap_at < next(at for at in late if at > deaf_until)


def test_servers_put_together_what_they_have() -> None:
    """Else the third comes to 1 without the second."""
    lab = servers_have_pieces()
    assert lab.faults() == lab.kept() == []


def test_else_what_came_after_a_gap_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Streams, "beyond_gaps", lambda streams: ())
    assert servers_have_pieces().faults() == ["1 delivers 6:3 before 6:2"]


TELLS: dict[str, Callable[[type[Order] | None], bool]] = {
    "a-server-dies-in-silence": lambda order: a_server_dies_alone(order) == [1],
    "names-nobody-who-dies-later": a_member_dies_before_it_hands_over,
    "names-no-newcomer": a_newcomer_serves_and_dies,
    "a-gap-is-told-too-soon": lambda order: not one_of_the_servers_is_late(order),
}
"""What is lost, and has to be told: whether it is."""


@pytest.mark.parametrize("name", TELLS)
def test_what_is_lost_is_told(name: str) -> None:
    """And not before nobody has the message any more."""
    assert TELLS[name](None)


NEEDS = {
    "waits-for-servers-that-never-come": no_servers_are_left,
    "hands-nothing-over": server_dies_with_half_reached,
    "waits-for-no-server": server_dies_between_question_and_answer,
    "told-twice": its_own_message_is_not_told_twice,
    "not-told-again": a_member_is_suspected_wrongly,
    "leaves-behind-what-it-put-in-order": a_server_is_back_before_a_sender,
    "holds-back-what-is-in-order": a_member_is_back_before_its_server,
}


@pytest.mark.parametrize("name", NEEDS)
def test_the_schedules_pass(name: str) -> None:
    lab = NEEDS[name](find("daisy"))
    assert lab.faults() == lab.kept() == []


@pytest.mark.parametrize("rule", STAR_RULES, ids=lambda rule: rule.name)
def test_they_fail_without_the_rule(rule: Mutant) -> None:
    order = mutated("daisy", rule)
    if rule.name in TELLS:
        assert not TELLS[rule.name](order)
        return
    lab = NEEDS[rule.name](order)
    assert lab.faults() or lab.kept()


@pytest.mark.parametrize("other", [{"split_above": 4}, {"pack_s": 0.1}, {"forward": "received"}])
def test_what_does_not_go_with_it_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(Misuse, match="local=server"):
        Lab(**STAR, **other)


@pytest.mark.parametrize("trouble", [crashing, three_levels, returning])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_survivors_get_everything_in_order(trouble: Any, seed: int) -> None:
    random = Random(f"star {trouble.__name__} {seed}")
    data = draw(random, seed)
    trouble(random, data)
    data["options"] = {**data.get("options", {}), **STAR}
    assert judge(data) == []
