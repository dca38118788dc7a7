"""Optimisation 2 (section 3.4): in local groups messages go to their recipients alone, under a
matrix, and are delivered when enough others have them; it saves packets, costs integers and the
wait, and survives as many crashes as there are copies."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from antecede.errors import MalformedStamp, Misuse
from antecede.groups.packets import Decide, Tell
from antecede.message import Message, MessageId
from antecede.order import Awaited, Event, Order, Packet, Scope
from antecede.overlays.daisy.items import HandedOver, Item, Merged, decode_items, encode_items
from antecede.overlays.daisy.matrix import decode_matrix, encode_matrix, integers_in
from antecede.overlays.daisy.stamp import DaisyStamp
from antecede.protocols import find
from bench.daisy import Setting, measure
from bench.daisy_options import COLUMNS, INTRODUCTION, PAGE, TRAFFIC, WAYS, row
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import DIRECT as RULES
from tests.overlays.daisy_lab import DELAY_S, SERVERS, Copy, Lab, carried
from tests.overlays.test_daisy_random import (
    crashing,
    draw,
    four_levels,
    judge,
    partitioned,
    returning,
    story,
    three_levels,
)
from tests.overlays.test_daisy_scenarios import UNCHANGING, Scenario

SEEDS = 30
TWO = [[0, 1, 2, 3], [4, 5, 6, 7]]


def lab_of(order: type[Order] | None = None, copies: int = 1, **options: Any) -> Lab:
    """Two groups of four; 0 and 4 serve at first."""
    options = {"size": 8, "groups": TWO, "local": "recipients", "copies": copies, **options}
    return Lab(order, **options)


def items_of(copy: Copy) -> tuple[Item, ...]:
    packet = copy[2].packet
    payload = getattr(packet.body, "payload", b"") if packet else b""
    return decode_items(payload) if payload else ()


def among_servers(copy: Copy) -> bool:
    packet = copy[2].packet
    return packet is not None and packet.group == SERVERS


def answering(lab: Lab, answers: dict[tuple[int, MessageId], tuple[int, ...]]) -> None:
    """Who answers which message, and to whom."""

    def answer(process: int, message: Message) -> None:
        if to := answers.get((process, message.id)):
            lab.send(process, *to)

    lab.answer = answer


@pytest.mark.parametrize("copies", [0, 1, 2])
@pytest.mark.parametrize("scenario", UNCHANGING, ids=lambda one: one.__name__)
def test_the_scenarios_of_the_daisy_pass(scenario: Scenario, copies: int) -> None:
    if copies > 1 and "only_one_member_has" in scenario.__name__:
        return  # nobody delivers what only one other has
    lab = scenario(find("daisy"), local="recipients", copies=copies)
    assert lab.faults() == lab.kept() == []


# The rules.


def a_message_comes_after_one_that_depends_on_it(order: type[Order]) -> Lab:
    """1 to 3 and to 2, which answers to 3; the first is late. Copies have nothing to do with it."""
    lab = lab_of(order, copies=0)
    lab.lose = lambda copy: copy[:2] == (1, 3) and lab.now < 0.5
    answering(lab, {(2, MessageId(1, 2)): (3,)})
    lab.send(1, 3)
    lab.send(1, 2)
    return lab.run()


def a_recipient_dies_with_the_only_copies(order: type[Order]) -> Lab:
    """2 has a message for 3, too, which has not got it. It may not act on it: when it dies with the
    sender, nobody else has it."""
    lab = lab_of(order, copies=2)
    lab.lose = lambda copy: copy[0] == 1 and copy[1] in (0, 3)
    answering(lab, {(2, MessageId(1, 1)): (7,), (7, MessageId(2, 1)): (3,)})
    lab.send(1, 2, 3)
    lab.run(0.5)
    lab.crash(1, 2)
    return lab.run()


def an_earlier_message_dies_with_its_sender(order: type[Order]) -> Lab:
    """1 to 3 is lost; 1 to 2 is there, but may not be delivered before the other has copies."""
    lab = lab_of(order)
    lab.lose = lambda copy: copy[:2] == (1, 3)
    answering(lab, {(2, MessageId(1, 2)): (3,)})
    lab.send(1, 3)
    lab.send(1, 2)
    lab.run(0.1)
    lab.crash(1)
    return lab.run()


def a_sender_dies_with_one_recipient_reached(order: type[Order]) -> Lab:
    lab = lab_of(order)
    lab.lose = lambda copy: copy[0] == 1 and copy[1] != 2
    first = lab.send(1, 2, 3)
    lab.run(0.05)
    assert first in lab.delivered[2]
    lab.crash(1)
    return lab.run()


def those_die_who_knew_that_it_was_safe(order: type[Order]) -> Lab:
    """3 has the message, but no word of it. 2 had, and has acted on it: an answer comes from the
    other group."""
    lab = lab_of(order, copies=2)

    def lose(copy: Copy) -> bool:
        return copy[:2] == (1, 3) and not carried(copy[2])

    lab.lose = lose
    answering(lab, {(2, MessageId(1, 1)): (7,)})
    lab.send(1, 2, 3)
    lab.run(0.5)
    assert MessageId(2, 1) in lab.delivered[7]
    assert not lab.delivered[3]
    lab.crash(1, 2)
    lab.send(7, 3)
    return lab.run()


def the_past_is_with_others(order: type[Order]) -> Lab:
    """3 has neither the question, which 2 keeps, nor the answer, which 0 keeps and 2."""
    lab = lab_of(order)
    lab.lose = lambda copy: copy[1] == 3 and copy[0] in (1, 2)
    answering(lab, {(2, MessageId(1, 1)): (0, 3)})
    lab.send(1, 2, 3)
    lab.run(0.5)
    assert MessageId(2, 1) in lab.delivered[0]
    lab.crash(1)
    return lab.run()


def a_server_dies_between_question_and_answer(order: type[Order]) -> Lab:
    """The question came from another group and has not reached 3; the answer to it is with 1."""
    lab = lab_of(order)
    lab.lose = lambda copy: copy[:2] == (0, 3)
    answering(lab, {(2, MessageId(5, 1)): (1, 3)})
    lab.send(5, 2, 3)
    lab.run(0.6)
    assert MessageId(2, 1) in lab.delivered[1]
    lab.crash(0, 2)
    lab.lose = lambda copy: copy[0] == 4 and lab.now < 6.0 and bool(carried(copy[2]))
    return lab.run()


def some_begin_before_all_can(order: type[Order]) -> Lab:
    """8 joins. Of what begins the new view only 1 has word, beside the server; it may not send
    before 2 and 3 have, too, who would forget what they get when 0 and 1 die."""
    lab = lab_of(order, copies=2, size=9, latecomers=[8])

    def lose(copy: Copy) -> bool:
        return copy[1] != 1 and any(isinstance(item, Merged) for item in items_of(copy))

    lab.lose = lose
    lab.join(8)
    lab.run(1.0)
    answering(lab, {(7, MessageId(1, 2)): (2,)})
    lab.send(1, 2)
    lab.send(1, 7)
    lab.run(0.5)
    lab.crash(0, 1)
    lab.lose = lambda copy: False
    return lab.run()


def one_that_waits_is_suspected_wrongly(order: type[Order]) -> Lab:
    """3 has an answer, and lacks the question. The others let the answer go, since it is with 3,
    and then go on without 3 for a while."""
    lab = lab_of(order, quorum="majority")
    lab.lose = lambda copy: copy[:2] == (1, 3)
    answering(lab, {(2, MessageId(1, 1)): (3,)})
    lab.send(1, 2, 3)
    lab.run(0.9)
    assert not lab.delivered[3]
    lab.lose = lambda copy: copy[:2] == (1, 3) or (3 in copy[:2] and lab.now < 6.0)
    lab.run(5.0)
    lab.lose = lambda copy: False
    lab.run()
    assert lab.told(Event.STOPPED)
    return lab


def one_answers_a_flush_and_sends_before_it_ends(order: type[Order]) -> Lab:
    """The others are in the next view when 2 sends, and take nothing of the last one any more,
    though they acknowledge it."""
    lab = lab_of(order)

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        return copy[1] == 2 and packet is not None and isinstance(packet.body, Decide)

    lab.lose = lose
    lab.crash(3)
    lab.send(1, 2, 3)
    while not any(process == 1 and notice.number == 2 for _, process, notice in lab.notices):
        lab.run(0.01)
    lab.send(2, 1)
    lab.run(0.5)
    lab.lose = lambda copy: False
    return lab.run()


def those_die_who_knew_that_all_had_it(order: type[Order]) -> Lab:
    """1 sends to 7, and then to 0 and 2. 2 has a copy of the first, which it lets go when the
    server says so; of the second it does not know that it is safe. 0 knows it, and answers."""
    lab = lab_of(order, copies=2)
    lab.lose = lambda copy: copy[:2] == (1, 2) and not carried(copy[2])
    answering(lab, {(0, MessageId(1, 2)): (7,)})
    lab.send(1, 7)
    lab.send(1, 0, 2)
    lab.run(1.5)
    assert not lab.delivered[2]
    lab.crash(0, 1)
    lab.send(7, 2)
    return lab.run()


def one_waits_when_the_others_let_go(order: type[Order]) -> Lab:
    """3 has an answer, as all have whom it is for, and lacks the question."""
    lab = lab_of(order)
    lab.lose = lambda copy: copy[:2] == (1, 3) and lab.now < 1.5
    answering(lab, {(2, MessageId(1, 1)): (3, 7)})
    lab.send(1, 2, 3)
    return lab.run()


def a_server_has_one_before_it_is_back_and_one_after(order: type[Order]) -> Lab:
    """The servers have left out 0. Of two messages of 1 it has the first before they let it in
    again, and nobody has said by then that all have it."""
    lab = Lab(order, local="recipients", quorum="majority", tidy_s=5.0)
    lab.lose = lambda copy: among_servers(copy) and 0 in copy[:2]
    lab.send(2, 4)
    lab.run(10.0)
    lab.lose = lambda copy: False
    while lab.orders[0].layers()[-1].is_in:
        lab.run(DELAY_S)
    lab.send(1, 4)
    lab.run(2.0)
    lab.send(1, 4)
    return lab.run()


def one_at_rest_is_left_out(order: type[Order]) -> Lab:
    """Nobody is heard by 3, which is at rest and does not miss them; nor is it heard."""
    lab = lab_of(order, quorum="majority")
    lab.lose = lambda copy: 3 in copy[:2] and lab.now < 5.0
    lab.send(1, 2, 3)
    return lab.run()


NEEDS = {
    "released-is-not-safe": those_die_who_knew_that_all_had_it,
    "keeps-what-is-let-go": one_waits_when_the_others_let_go,
    "no-matrix": a_message_comes_after_one_that_depends_on_it,
    "no-copies-awaited": a_recipient_dies_with_the_only_copies,
    "safe-by-itself": an_earlier_message_dies_with_its_sender,
    "above-a-hole": an_earlier_message_dies_with_its_sender,
    "nothing-handed-over": a_sender_dies_with_one_recipient_reached,
    "only-what-was-delivered": those_die_who_knew_that_it_was_safe,
    "merged-as-it-comes": the_past_is_with_others,
    "merges-without-the-servers": a_server_dies_between_question_and_answer,
    "begins-alone": some_begin_before_all_can,
    "goes-on-by-halves": a_server_has_one_before_it_is_back_and_one_after,
    "comes-back-without": one_that_waits_is_suspected_wrongly,
}


SCHEDULES = [
    *dict.fromkeys(NEEDS.values()),
    one_answers_a_flush_and_sends_before_it_ends,
    one_at_rest_is_left_out,
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: one.__name__)
def test_the_schedules_pass(schedule: Scenario) -> None:
    lab = schedule(find("daisy"))
    assert lab.faults() == lab.kept() == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_they_fail_without_the_rule(rule: Mutant) -> None:
    lab = NEEDS[rule.name](mutated("daisy", rule))
    assert lab.faults() or lab.kept()


# Copies.


def test_delivery_waits_for_copies() -> None:
    """0 has to have it as well; as long as it has not, 2 says what it waits for."""
    lab = lab_of(copies=3)
    lab.lose = lambda copy: copy[:2] == (1, 0) and lab.now < 1.0
    first = lab.send(1, 2)
    lab.run(0.9)
    assert lab.delivered[2] == []
    (held,) = lab.orders[2].held()
    assert (held.message, held.awaited) == (first, (Awaited(1, 1, Scope.HOP),))
    assert lab.run().faults() == lab.kept() == []
    assert lab.delivered[2] == [first]
    assert lab.orders[2].held() == []


def test_what_waits_for_another_says_so() -> None:
    lab = lab_of(copies=0)
    lab.lose = lambda copy: copy[:2] == (1, 3) and lab.now < 0.5
    answering(lab, {(2, MessageId(1, 2)): (3,)})
    lab.send(1, 3)
    lab.send(1, 2)
    lab.run(0.2)
    (held,) = lab.orders[3].held()
    assert held.awaited == (Awaited(1, 1, Scope.HERE),)


def lost_with(copies: int, *victims: int) -> Lab:
    """1 to 3, which does not get it, and to 2 (and 0); 2 answers to 3 by way of the other group.
    Then these die."""
    lab = lab_of(copies=copies)
    answering(lab, {(2, MessageId(1, 1)): (7,), (7, MessageId(2, 1)): (3,)})
    lab.lose = lambda copy: copy[:2] == (1, 3)
    lab.send(1, *(0, 2, 3)[2 - copies :])
    lab.run(0.5)
    assert MessageId(2, 1) in lab.delivered[7]
    lab.crash(*victims)
    lab.lose = lambda copy: False
    return lab.run()


@pytest.mark.parametrize(("copies", "victims"), [(1, [1]), (1, [2]), (2, [1, 2]), (2, [0, 1])])
def test_as_many_crashes_as_copies_do_no_harm(copies: int, victims: list[int]) -> None:
    lab = lost_with(copies, *victims)
    assert lab.faults() == lab.kept() == []
    assert not lab.told(Event.GAP)


def test_one_more_leaves_a_gap_that_is_told() -> None:
    lab = lost_with(1, 1, 2)
    assert lab.faults() == ["3 delivers 7:1 before 1:1"]
    assert [notice.members for notice in lab.told(Event.GAP)] == [0b110]


def test_a_server_dies_with_what_it_did_not_send_on() -> None:
    lab = lab_of()
    lab.before = lambda copy: lab.crash(0) if copy[0] == 0 and carried(copy[2], 2) else None
    lab.send(1, 2, 6)
    lab.send(1, 3, 7)
    assert lab.run().faults() == lab.kept() == []


@pytest.mark.parametrize("local", ["broadcast", "recipients"])
@pytest.mark.parametrize("forward", ["stable", "delivered"])
def test_two_servers_die_with_the_past_of_what_one_has_sent_on(local: str, forward: str) -> None:
    """Of the servers, 0 and 3 alone have a message of 1; 3 sends on the answer of 0, unless it
    waits for 6. The next server after 3 is back before the one after 0."""
    lab = Lab(local=local, forward=forward)

    def lose(copy: Copy) -> bool:
        held_up = 1 if lab.dead else 6
        return among_servers(copy) and held_up in copy[:2] and lab.now < 6.0

    lab.lose = lose
    answering(lab, {(0, MessageId(1, 1)): (1, 4, 7)})
    lab.send(1, 0, 7)
    lab.run(0.3)
    lab.crash(0, 3)
    lab.run()
    assert lab.faults() == lab.kept() == []


def test_hands_go_to_the_server_in_every_view() -> None:
    lab = lab_of()
    hands: list[tuple[int, int]] = []

    def before(copy: Copy) -> None:
        if any(isinstance(item, HandedOver) for item in items_of(copy)):
            hands.append(copy[:2])

    lab.before = before
    lab.crash(3)
    lab.send(1, 2, 3)
    lab.run()
    assert sorted(hands) == [(1, 0), (2, 0)]


# What it says, and what it does not take.


def test_a_matrix_arrives_as_it_was_sent() -> None:
    integers = (0, 1, 127, 128, 300, 2**40, 5, 0, 16384)
    assert decode_matrix(encode_matrix(integers)) == integers
    assert integers_in(encode_matrix(integers)) == 9


@pytest.mark.parametrize("broken", [b"", b"\x01\x02", b"\x01\x02\x03\x80", b"\xff" * 12 + b"\x01"])
def test_a_broken_matrix_is_refused(broken: bytes) -> None:
    with pytest.raises(MalformedStamp, match="matrix"):
        decode_matrix(broken)


def test_a_matrix_of_another_size_is_refused() -> None:
    lab = lab_of()
    caught: list[DaisyStamp] = []
    lab.before = lambda copy: caught.extend(copy[2:] if carried(copy[2]) else ())
    lab.send(1, 2)
    packet = caught[0].packet
    assert packet is not None
    assert isinstance(packet.body, Tell)
    (item,) = decode_items(packet.body.payload)
    smaller = encode_items((replace(item, matrix=bytes(9)),))
    broken = replace(packet, body=replace(packet.body, payload=smaller))
    with pytest.raises(MalformedStamp, match="matrix"):
        lab.orders[2].receive(Packet(1, None, replace(caught[0], packet=broken)))


@pytest.mark.parametrize("other", [{"split_above": 4}, {"pack_s": 0.1}, {"forward": "received"}])
def test_what_does_not_go_with_it_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(Misuse, match="local=recipients"):
        Lab(local="recipients", **other)


# By chance.


@pytest.mark.parametrize("trouble", [crashing, three_levels, four_levels, returning, partitioned])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_survivors_get_everything_in_order(trouble: Any, seed: int) -> None:
    random = Random(f"direct {trouble.__name__} {seed}")
    data = draw(random, seed)
    trouble(random, data)
    copies = 3 if trouble is partitioned else random.randint(0, 3)  # of three others at most
    chosen = {"local": "recipients", "copies": copies}
    data["options"] = {**data.get("options", {}), **chosen}
    assert judge(data) == []


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_gap_without_more_crashes_than_copies(seed: int) -> None:
    random = Random(f"copies {seed}")
    data = draw(random, seed)
    crashing(random, data)
    data["options"] |= {"local": "recipients", "copies": len(data["crashes"])}
    log, _ = story(data)
    assert log.verdict(is_gap_told=False) == []


def test_the_page_of_prices_has_a_row_for_every_way() -> None:
    page = PAGE.read_text("utf-8")
    assert page.startswith(INTRODUCTION), "run `python -m bench.daisy_options`"
    for name in WAYS:
        rows = page.count(f"| {name} |")
        assert rows == len(TRAFFIC) + (name != "none"), "run `python -m bench.daisy_options`"


def test_prices_are_measured_where_everything_arrives() -> None:
    ways = {name: measure(Setting((4, 2), 1, 8), **options) for name, options in WAYS.items()}
    assert all(len(row(name, result)) == len(COLUMNS) for name, result in ways.items())
    assert not any(result.violations or result.undelivered for result in ways.values())
    assert "0 undelivered" in row("lost", replace(ways["none"], violations=1))[0]
    assert ways["2: `local=recipients`, `copies=1`"].data < ways["none"].data
