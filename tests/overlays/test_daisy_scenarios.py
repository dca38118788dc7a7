"""What the daisy needs beyond its paper: each schedule passes, and fails without the rule that it
is about."""

from collections.abc import Callable
from typing import Any

import pytest

from antecede.message import Message, MessageId
from antecede.order import Event, Order
from antecede.protocols import find
from tests.mutants import mutated
from tests.mutants.daisy import RULES
from tests.overlays.daisy_lab import SERVERS, Copy, Lab, carried

Scenario = Callable[..., Lab]


def _dies_when(lab: Lab, process: int, group: int, *others: int) -> None:
    """The process (and these others with it) dies as it is about to send a message in a group."""

    def before(copy: Copy) -> None:
        if copy[0] == process and carried(copy[2], group):
            lab.crash(process, *others)

    lab.before = before


def server_dies_before_forwarding(order: type[Order], **options: Any) -> Lab:
    lab = Lab(order, **options)
    _dies_when(lab, 0, SERVERS)
    lab.send(1, 2, 4, 7)
    return lab.run()


def server_dies_with_half_of_the_servers_reached(order: type[Order], **options: Any) -> Lab:
    lab = Lab(order, **options)
    lab.before = lambda copy: (
        lab.crash(0) if copy[:2] == (0, 6) and carried(copy[2], SERVERS) else None
    )
    lab.send(1, 4, 7)
    return lab.run()


def server_dies_with_half_of_its_group_reached(order: type[Order], **options: Any) -> Lab:
    lab = Lab(order, **options)
    lab.before = lambda copy: lab.crash(3) if copy[:2] == (3, 5) and carried(copy[2], 1) else None
    lab.send(1, 4, 5)
    return lab.run()


def server_dies_before_its_group_is_reached(order: type[Order], **options: Any) -> Lab:
    lab = Lab(order, **options)
    _dies_when(lab, 3, 1)
    lab.send(1, 4, 5)
    return lab.run()


def server_dies_when_it_has_forwarded(order: type[Order], **options: Any) -> Lab:
    """All servers have the message, the sender's group does not know it yet."""
    lab = Lab(order, **options)
    first = lab.send(1, 4, 7)
    lab.run(0.35)
    assert first in lab.delivered[4]
    lab.crash(0)
    return lab.run()


def two_servers_die_after_a_question_was_answered(order: type[Order], **options: Any) -> Lab:
    """The question reaches group 1, not the server of group 2; the answer goes to both."""
    lab = Lab(order, **options)
    lab.lose = lambda copy: copy[1] == 6 and copy[0] in (0, 3) and lab.now < 0.6

    lab.let_answer(4, 1, 7)
    lab.send(1, 4, 7)
    lab.run(0.6)
    lab.crash(0, 3)
    lab.lose = lambda copy: copy[0] in (1, 2) and copy[1] == 6 and lab.now < 7
    return lab.run()


def sender_and_server_die_together(order: type[Order], **options: Any) -> Lab:
    lab = Lab(order, **options)
    _dies_when(lab, 0, SERVERS, 1)
    first = lab.send(1, 2, 7)
    lab.run()
    assert first in lab.delivered[2]
    return lab


def all_servers_die(order: type[Order], **options: Any) -> Lab:
    lab = Lab(order, **options)
    _dies_when(lab, 0, SERVERS, 3, 6)
    lab.send(1, 4, 7)
    return lab.run()


def all_servers_die_and_the_past_is_scattered(order: type[Order], **options: Any) -> Lab:
    """1 sends m1 to 7 and then m2 to 4, which sends m3 to 7. Group 1 keeps m2 and m3, group 0 keeps
    m1 and m2; the server of group 2 has relayed none of them. Group 1 is back first."""
    lab = Lab(order, **options)
    lab.lose = lambda copy: copy[0] == 6 and copy[1] in (7, 8)

    lab.let_answer(4, 7)
    lab.send(1, 7)
    lab.send(1, 4)
    lab.run(0.6)
    assert lab.delivered[4]
    lab.crash(0, 3, 6)
    lab.lose = lambda copy: copy[0] == 1 and bool(carried(copy[2], None)) and lab.now < 12
    return lab.run()


def all_servers_and_the_origin_group_die(order: type[Order], **options: Any) -> Lab:
    lab = Lab(order, **options)
    lab.lose = lambda copy: copy[0] == 6 and copy[1] in (7, 8)
    first = lab.send(1, 4, 7)
    lab.run(0.6)
    assert first in lab.delivered[4]
    lab.crash(0, 3, 6, 1, 2)
    lab.lose = lambda copy: False
    return lab.run()


def a_message_for_a_group_without_a_server(order: type[Order], **options: Any) -> Lab:
    """Nobody in group 2 has noticed that its server is dead; the group of servers has."""
    lab = Lab(order, **options)
    lab.crash(6)
    lab.send(1, 4)
    lab.run(4.0)
    lab.send(1, 7)
    return lab.run()


def a_recipient_that_has_crashed(order: type[Order], **options: Any) -> Lab:
    lab = Lab(order, forget_after_s=3.0, **options)
    lab.crash(8)
    lab.send(1, 7, 8)
    return lab.run()


def a_reply_within_the_delivery_races_the_forward(order: type[Order], **options: Any) -> Lab:
    """The server lacks the question when the reply reaches it."""
    lab = Lab(order, **options)
    lab.lose = lambda copy: copy[:2] == (1, 0) and lab.now < 0.3

    lab.let_answer(2, 7)
    lab.send(1, 2, 7)
    return lab.run()


def a_flush_delivers_what_only_one_member_has(order: type[Order], **options: Any) -> Lab:
    lab = Lab(order, **options)
    lab.lose = lambda copy: copy[0] == 1 and copy[1] != 2
    first = lab.send(1, 0, 2, 7)
    lab.run(0.02)
    assert first in lab.delivered[2]
    lab.crash(1)
    return lab.run()


def join_during_a_transfer(order: type[Order], **options: Any) -> Lab:
    lab = Lab(order, size=10, latecomers=[9], **options)
    lab.send(4, 1, 2, 7)
    lab.join(9)
    lab.run(0.05)
    lab.send(1, 2, 5, 8)
    lab.crash(3)
    lab.run(6.0)
    lab.send(5, 9, 1)
    lab.send(9, 1, 5)
    return lab.run()


def false_suspicion_of_a_live_member(order: type[Order], **options: Any) -> Lab:
    """Nobody hears 1 for a while, nor does it hear anybody: the others go on without it. It has
    delivered a message that is kept, since 5 has not had it."""
    lab = Lab(order, **{"quorum": "majority", **options})
    lab.lose = lambda copy: lab.now < 8.0 and copy[1] == 5 and bool(carried(copy[2]))
    first = lab.send(7, 1, 5)
    lab.run(1.0)
    assert lab.delivered[1] == [first]
    known = lab.lose
    lab.lose = lambda copy: known(copy) or (1 in copy[:2] and lab.now < 6.0)
    lab.send(0, 1, 2, 4)
    lab.send(1, 0, 7)
    lab.run(4.0)
    lab.send(2, 1)
    lab.send(7, 1, 5)
    lab.run(4.0)
    lab.send(1, 5)
    lab.run()
    assert lab.told(Event.STOPPED)
    return lab


def a_split_with_messages_in_flight(order: type[Order], **options: Any) -> Lab:
    """0 to 5 are one group too many; some have had a message and others not when it is cut."""
    groups = [[0, 1, 2, 3, 4, 5], [6, 7, 8]]
    lab = Lab(order, groups=groups, split_above=4, **options)
    lab.lose = lambda copy: copy[0] == 1 and copy[1] > 3 and lab.now < 1.0

    def answer(process: int, message: Message) -> None:
        if process == 2 and message.id.sender == 1:
            lab.send(2, 5, 7)

    lab.answer = answer
    for _ in range(3):
        lab.send(1, 2, 5, 7)
        lab.send(7, 0, 4, 5)
        lab.run(0.05)
    lab.run(3.0)
    lab.send(5, 0, 8)
    lab.run()
    assert lab.told(Event.SPLIT)
    return lab


def a_merge_with_messages_in_flight(order: type[Order], **options: Any) -> Lab:
    """2 does not hear what the other servers have: its group is behind the one it is merged with,
    which has had the second message of 7, but not the first, which is for 3 alone."""
    groups = [[0, 1], [2, 3], [4, 5, 6, 7, 8]]
    lab = Lab(order, groups=groups, split_above=5, merge_below=3, tidy_s=1.0, **options)

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        is_report = packet is not None and not hasattr(packet.body, "payload")
        return copy[1] == 2 and is_report and copy[0] not in (2, 3) and lab.now < 4.0

    lab.lose = lose
    lab.send(7, 3)
    lab.send(7, 0, 3, 5)
    lab.send(1, 0, 3, 7)
    lab.run(3.0)
    lab.send(3, 0, 8)
    lab.run()
    assert lab.told(Event.MERGE)
    return lab


def a_merge_of_groups_that_are_out_of_step(order: type[Order], **options: Any) -> Lab:
    """7 sends m1 to 1 and then m2 to 1 and 3. 2 is dead; 3 is handed both when it takes its place
    among the servers, and has m2, while 0 never hears that all have them: 4 dies at once, and 3 is
    not heard. Then the groups of 0 and 3 are merged."""
    groups = [[0, 1], [2, 3], [4, 5, 6, 7, 8]]
    lab = Lab(order, groups=groups, split_above=5, merge_below=2, **options)
    views: list[int] = []

    def view_with_3(copy: Copy) -> int:
        """The view that a packet of the servers speaks of, if 3 is in it."""
        packet = copy[2].packet
        if packet is None or packet.group != SERVERS:
            return 0
        view = lab.orders[copy[0]].layers()[1].view
        return packet.view if view is not None and view.processes >> 3 & 1 else 0

    def before(copy: Copy) -> None:
        if copy[0] == 4 and view_with_3(copy):
            views.append(view_with_3(copy))
            lab.crash(4)

    def lose(copy: Copy) -> bool:
        return copy[:2] == (3, 0) and lab.now < 6.0 and view_with_3(copy) > max(views, default=9)

    lab.before, lab.lose = before, lose
    lab.crash(2)
    lab.send(3, 2)
    lab.send(7, 1)
    lab.send(7, 1, 3)
    lab.run()
    assert views
    assert lab.told(Event.MERGE)
    return lab


def a_change_that_only_its_author_has(order: type[Order], **options: Any) -> Lab:
    """0 decides that two groups are merged, and dies before any other server has heard of it."""
    groups = [[0, 1], [2, 3], [4, 5, 6, 7, 8]]
    lab = Lab(order, groups=groups, split_above=5, merge_below=3, **options)

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        if packet is None or packet.group != SERVERS or lab.now > 6.0:
            return False
        return copy[0] == 0 and hasattr(packet.body, "payload")

    lab.lose = lose
    lab.send(1, 3)
    lab.send(5, 0, 3)
    lab.run(1.0)
    lab.crash(0)
    lab.run(2.0)
    lab.send(3, 1, 8)
    lab.send(7, 1, 2)
    lab.run(8.0)
    lab.send(8, 1, 3)
    lab.send(1, 2, 7)
    lab.run()
    assert lab.told(Event.MERGE)
    return lab


def a_server_dies_in_a_split(order: type[Order], **options: Any) -> Lab:
    lab = Lab(order, groups=[[0, 1, 2, 3, 4, 5], [6, 7, 8]], split_above=4, **options)
    lab.send(1, 2, 5, 7)
    for _ in range(100):
        lab.run(0.01)
        if lab.told(Event.SPLIT):
            break
    lab.crash(0)
    lab.send(7, 1, 5)
    lab.send(3, 1, 8)
    return lab.run()


def a_split_with_two_copies_among_the_servers(order: type[Order], **options: Any) -> Lab:
    """The group of 2 is split while 5 sends m1, which both servers, 2 and now 4, send on. The copy
    of 2 is the first, and does not reach 4 for a while; m2 comes behind that of 4."""
    servers = 2
    lab = Lab(order, size=7, groups=[[0, 1], [2, 3, 4, 5, 6]], split_above=4, **options)
    lab.send(3, 0)
    while not lab.told(Event.SPLIT):
        lab.run(0.01)
    first = lab.send(5, 1)
    by_2: list[Copy] = []

    def before(copy: Copy) -> None:
        if copy[0] == 2 and first in carried(copy[2], servers):
            by_2.append(copy)

    def lose(copy: Copy) -> bool:
        if copy[:2] == (3, 2):
            return lab.now < 1.0  # 4 is to be among the servers by then
        if first not in carried(copy[2], servers):
            return False
        return not by_2 if copy[0] == 4 else copy[1] == 4 and lab.now < 4.0

    lab.before, lab.lose = before, lose
    while not by_2:
        lab.run(0.01)
    lab.send(5, 1)
    return lab.run()


def a_merge_of_all_groups(order: type[Order], **options: Any) -> Lab:
    """What is on its way from one group to the other is within one from then on."""
    lab = Lab(order, size=4, groups=[[0, 1], [2, 3]], merge_below=3, **options)
    lab.send(1, 3)
    lab.run(0.3)
    lab.send(1, 3)
    lab.send(3, 1)
    lab.run()
    assert lab.told(Event.MERGE)
    return lab


def a_member_that_sleeps_while_it_is_left_out(order: type[Order], **options: Any) -> Lab:
    """2 has nothing to do when it is cut off, and does not notice."""
    lab = Lab(order, **options)
    lab.lose = lambda copy: 2 in copy[:2] and lab.now < 5.0
    lab.send(1, 2, 7)
    return lab.run()


SCENARIOS: dict[Scenario, list[str]] = {
    a_split_with_two_copies_among_the_servers: ["the-first-copy-counts"],
    a_merge_of_all_groups: [],
    a_member_that_sleeps_while_it_is_left_out: ["sleepers-are-left-alone"],
    a_split_with_messages_in_flight: [],
    a_merge_with_messages_in_flight: ["no-duplicates-dropped", "rows-of-processes"],
    a_merge_of_groups_that_are_out_of_step: [],
    a_change_that_only_its_author_has: [],
    a_server_dies_in_a_split: ["no-new-server"],
    server_dies_before_forwarding: ["origin-keeps-nothing", "no-new-server"],
    server_dies_with_half_of_the_servers_reached: ["no-new-server"],
    server_dies_with_half_of_its_group_reached: ["no-new-server"],
    server_dies_before_its_group_is_reached: ["no-state-update"],
    server_dies_when_it_has_forwarded: ["rows-of-processes"],
    two_servers_die_after_a_question_was_answered: ["two-servers-leave-and-nobody-asks"],
    sender_and_server_die_together: ["origin-keeps-nothing"],
    all_servers_die: ["never-founded-anew"],
    all_servers_die_and_the_past_is_scattered: ["batches-as-they-come"],
    all_servers_and_the_origin_group_die: ["destination-keeps-nothing"],
    a_message_for_a_group_without_a_server: ["away-is-done", "nobody-poked"],
    a_recipient_that_has_crashed: ["the-dead-are-kept-for"],
    a_reply_within_the_delivery_races_the_forward: ["forwards-on-receipt"],
    a_flush_delivers_what_only_one_member_has: ["naps-while-others-are-busy"],
    join_during_a_transfer: ["no-state-update"],
    false_suspicion_of_a_live_member: [
        "away-at-once-forgotten",
        "no-state-update-of-members",
        "no-duplicates-dropped",
    ],
}
UNCHANGING = [
    one
    for one in SCENARIOS
    if not any(word in one.__name__ for word in ("split", "merge", "change_"))
]
"""Those whose groups neither split nor merge."""
NEEDED = {"two-servers-leave-and-nobody-asks": {"forward": "delivered"}}
"""The options that a rule matters with."""
BY_NAME = {rule.name: rule for rule in RULES}


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_it_passes(scenario: Scenario) -> None:
    lab = scenario(find("daisy"))
    assert lab.faults() == []
    assert lab.kept() == []


@pytest.mark.parametrize(
    ("scenario", "rule"),
    [(scenario, rule) for scenario, rules in SCENARIOS.items() for rule in rules],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_it_fails_without_the_rule(scenario: Scenario, rule: str) -> None:
    order = mutated("daisy", BY_NAME[rule])
    lab = scenario(order, **NEEDED.get(rule, {}))
    assert lab.faults() or lab.kept()


def test_every_rule_has_a_scenario() -> None:
    assert {name for rules in SCENARIOS.values() for name in rules} == set(BY_NAME)


def test_figure_2_does_not_block() -> None:
    """m1 is lost on its way to b, a crashes after m2; c's m3 reaches b, and m1 before it."""
    lab = Lab()
    lab.lose = lambda copy: copy[0] == 0 and copy[1] != 2
    m1, m2 = lab.send(0, 4), lab.send(0, 2)
    lab.run(0.02)
    assert lab.delivered[2] == [m2]
    m3 = lab.send(2, 4)
    lab.crash(0)
    lab.run()
    assert lab.delivered[4] == [m1, m3]
    assert lab.faults() == lab.kept() == []


def test_a_gap_that_cannot_be_avoided_is_told() -> None:
    """m1, for 7 alone, dies with the whole group of its sender and with the servers; what depends
    on it survives in group 1."""
    lab = Lab()
    lab.lose = lambda copy: copy[0] == 6 and copy[1] in (7, 8)
    m1, m2 = lab.send(1, 7), lab.send(1, 4)
    lab.run(0.6)
    assert lab.delivered[4] == [m2]
    m3 = lab.send(4, 7)
    lab.crash(0, 1, 2, 3, 6)
    lab.run()
    assert lab.delivered[7] == [m3]
    assert lab.faults() == [f"7 delivers {m3} before {m1}"]
    told = lab.told(Event.GAP)
    assert told
    assert {notice.members for notice in told} == {0b1001111}


def test_the_lab_can_fail() -> None:
    lab = Lab()
    lab.lose = lambda copy: copy[1] == 7
    lab.send(1, 7)
    assert lab.run(2.0).faults() == ["1:1 is missing at [7]"]
    lab.delivered[7] += [MessageId(1, 1), MessageId(1, 1)]
    assert lab.faults() == ["7 delivers 1:1 twice"]
    lab.delivered[2].append(MessageId(1, 1))
    assert "2 delivers 1:1, which is not for it" in lab.faults()
