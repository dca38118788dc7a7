"""The daisy when somebody is back: what it brings along, and what it has missed.

Each schedule passes with all rules, and fails without the one that it is named after."""

from collections.abc import Callable
from typing import Any

import pytest

from antecede.message import Message, MessageId
from antecede.order import Event, Order
from antecede.overlays.daisy.stamp import Found
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import BACK as RULES
from tests.overlays.daisy_lab import Copy, Lab, carried
from tests.overlays.test_daisy_cuts import cut, drawn, scenario

Sides = dict[int, int]


def parted(lab: Lab, *sides: tuple[int, ...]) -> Sides:
    """Cut off each of these sides from all others, until its processes are taken out again."""
    of = {process: side for side, those in enumerate(sides, start=1) for process in those}
    lab.lose = lambda copy: of.get(copy[0], 0) != of.get(copy[1], 0)
    return of


def is_named(lab: Lab, message: MessageId) -> bool:
    return any(message in gap.messages for gap in lab.told(Event.GAP))


# What was sent on early.


def strayed(order: type[Order] | None, *to: int, **options: Any) -> tuple[Lab, Sides]:
    """0 and 3 serve their groups when they are cut off together. Before they notice, 0 sends to 3
    and others, and 3 answers 8. The others go on with new servers; then 3 is back."""
    lab = Lab(order, quorum="majority", **{"forward": "delivered", **options})
    for sender, receiver in ((1, 4), (4, 7), (7, 1)):
        lab.send(sender, receiver)
    lab.run(1.0)
    sides = parted(lab, (0, 3))
    lab.answer = lambda process, message: answer_once(lab, process, message)
    lab.send(0, 3, *to)
    lab.send(1, 2)
    lab.send(4, 5)
    lab.run(20.0)
    lab.send(1, 7)
    lab.run(1.0)
    assert lab.delivered[7][-1].sender == 1
    del sides[3]
    return lab, sides


def answer_once(lab: Lab, process: int, message: Message) -> None:
    if process == 3 and message.id.sender == 0:
        lab.send(3, 8)


def one_that_was_cut_off_is_back_before_another(
    order: type[Order] | None, **options: Any
) -> list[str]:
    """The answer comes back before the question, which is for 8, too."""
    lab, sides = strayed(order, 8, **options)
    lab.run(4.0)
    sides.clear()
    return lab.run(60.0).faults()


def one_brings_what_was_cut_off_for_good(order: type[Order] | None) -> list[str]:
    """0 dies, and never brings the question."""
    lab, _ = strayed(order, 8, forget_after_s=10.0)
    lab.crash(0)
    lab.run(60.0)
    assert lab.told(Event.GAP) or lab.faults()
    return lab.faults()


def another_answers_what_one_brings(order: type[Order] | None) -> list[str]:
    """The question is for 5, too, which gets it from 3 and answers 7; it comes late to 4, which
    serves the group, and sends on what it receives."""
    lab, sides = strayed(order, 5, 7, forward="received")
    is_cut, question = lab.lose, MessageId(0, 1)
    healed = lab.now + 4.0

    def lose(copy: Copy) -> bool:
        is_late = copy[:2] == (3, 4) and question in carried(copy[2]) and lab.now < healed
        return is_cut(copy) or is_late

    def answer(process: int, message: Message) -> None:
        if process == 5 and message.id == question:
            lab.send(5, 7)

    lab.lose, lab.answer = lose, answer
    lab.run(6.0)
    sides.clear()
    return lab.run(60.0).faults()


# What has been let go, or counts as had.

BACK_FOR_A_MOMENT = scenario(
    cut(2.278, 10.124, [1, 2, 3, 6]),
    cut(10.565, 23.475, [1, 2, 3, 6]),
    processes=8,
    options={"sizes": [2, 2], "forget_after_s": 3.572, "tick_s": 0.3, "tidy_s": 0.345},
    network={"delay": "exponential:0.0227"},
    workload={"size": 1},
    rate=0.299,
    messages=8,
    patience_s=51,
    seed=104,
)
"""A group has been forgotten, which those above were told. It is let in, and cut off before it gets
what came since: nobody above keeps that."""


BACK_WHEN_NOT_ALL_BATCHES_ARE_THERE = scenario(
    cut(0.759, 8.047, [1, 2, 3, 6, 9, 10, 11]),
    cut(8.991, 11.516, [3, 4, 5, 9]),
    cut(13.835, 16.625, [4, 5, 9]),
    processes=12,
    crashes=[{"process": 6, "time_s": 10.945}],
    options={
        "sizes": [3, 2],
        "local": "recipients",
        "copies": 12,
        "forward": "delivered",
        "forget_after_s": 5.341,
        "tick_s": 0.3,
        "tidy_s": 0.585,
    },
    network={"delay": "exponential:0.0368", "loss": 0.0132, "duplication": 0.0181},
    workload={"cascade": 0.074},
    rate=0.273,
    messages=57,
    patience_s=46,
    seed=8000002403,
)
"""7 founds the servers in the middle anew without the group of 10, and waits for those above. 10
comes meanwhile, with what 11 has sent before something that 7 has brought."""
CUT_OFF_WITH_THOSE_WHO_ARE_MISSING = scenario(
    cut(3.583, 25.383, [0, 1, 2], packets="held"),
    cut(26.229, 38.154, [3, 5, 8], packets="held"),
    cut(8.022, 40.731, [3, 6, 7, 8], packets="held"),
    crashes=[{"process": 2, "time_s": 5.384}],
    options={
        "sizes": [3],
        "local": "recipients",
        "copies": 9,
        "forget_after_s": 4.395,
        "tick_s": 0.3,
        "tidy_s": 0.105,
    },
    network={"delay": "exponential:0.0107", "loss": 0.188},
    workload={"size": 1, "cascade": 0.409},
    rate=0.184,
    messages=46,
    patience_s=68,
    seed=6100004497,
)
"""Servers are founded anew without the group of 7. 3, which its group has replaced, has been cut
off together with that, and has a message of 7 as one of the servers that were."""
WHAT_RAN_AHEAD_OF_SERVERS_THAT_STOPPED = scenario(
    cut(2.837, 13.544, [2, 3, 4], packets="held"),
    cut(1.655, 6.216, [1]),
    processes=5,
    options={
        "sizes": [2],
        "forward": "received",
        "forget_after_s": 3.754,
        "tick_s": 0.3,
        "tidy_s": 0.0423,
    },
    network={"delay": "exponential:0.0748"},
    workload={"cascade": 0.183},
    rate=0.292,
    messages=22,
    patience_s=42,
    seed=4300006293,
)
"""2, which serves its group, is alone in the group of servers, and stops there. Of two messages
that it was to send on meanwhile, the first ran ahead, and the second did not."""
FORGOTTEN_WITH_WHAT_WAS_SENT_ON = scenario(
    cut(2.632, 10.878, [0, 2], packets="held"),
    cut(11.507, 19.448, [2], packets="held"),
    cut(10.753, 15.717, [0, 2], packets="held"),
    processes=5,
    options={
        "sizes": [2],
        "forward": "delivered",
        "forget_after_s": 3.72,
        "tick_s": 0.3,
        "tidy_s": 0.119,
    },
    network={"delay": "exponential:0.0938", "loss": 0.0798},
    workload={"kind": "unicast", "size": None, "cascade": 0.311},
    rate=0.365,
    messages=22,
    patience_s=47,
    seed=8100000121,
)
"""2 serves its group, sends to 3 and then to 0, and is cut off with 0. Its group has forgotten it
when 3 serves there and gets an answer of 0."""


BACK_WHEN_A_FOUNDER_SAYS_THAT_IT_IS_AWAY = scenario(
    cut(3.884, 18.472, [5, 6, 7], packets="held"),
    cut(18.946, 41.703, [0, 1, 2, 3, 4, 6, 8, 9, 10, 11], packets="held"),
    cut(9.605, 17.124, [0, 4, 5, 11], packets="held"),
    processes=12,
    crashes=[
        {"process": 1, "time_s": 5.119},
        {"process": 4, "time_s": 13.934},
        {"process": 8, "time_s": 4.561, "back_s": 5.642},
        {"process": 0, "time_s": 7.793, "back_s": 17.057},
    ],
    options={"sizes": [4], "forward": "received", "forget_after_s": 7.137, "tick_s": 0.3},
    network={"delay": "exponential:0.139", "loss": 0.189},
    workload={"size": 3, "cascade": 0.72},
    rate=0.199,
    messages=45,
    patience_s=68,
    seed=8200000752,
)
"""2 and 9 found the servers anew without the group of 6, and say in their batches that it is away.
6 comes before those are there, and is cut off from its group."""


TOLD_TO_ONE_THAT_IS_LOST_AT_HOME = scenario(
    cut(1.994, 9.366, [0, 1, 2, 4, 8]),
    cut(8.782, 16.36, [0, 3, 4, 7, 8]),
    options={"sizes": [3], "forget_after_s": 5.0, "tidy_s": 0.05},
    network={"delay": "exponential:0.1"},
    workload={"cascade": 0.3},
    rate=0.15,
    messages=26,
    seed=695,
)
"""A group has missed something. 0, which serves it, is told when it is back among the servers, and
has just lost its group; 1 serves that later."""
STOPPED_WHERE_IT_DOES_NOT_COME_BACK = scenario(
    cut(2.266, 7.318, [0, 5, 6, 7, 8]),
    cut(9.32, 14.399, [1, 3, 4, 6, 9]),
    cut(16.253, 25.052, [0, 1, 2, 7]),
    processes=11,
    options={
        "sizes": [2, 2],
        "local": "recipients",
        "copies": 11,
        "forward": "delivered",
        "forget_after_s": 3.045,
        "tick_s": 0.3,
        "tidy_s": 0.373,
    },
    network={"delay": "exponential:0.115"},
    workload={"size": 1, "cascade": 0.0},
    rate=0.0996,
    messages=31,
    patience_s=53,
    seed=8400000270,
)
"""4 serves two groups, and stops in both of those above; the others go on without it. When it is
back in the one, another serves there in the other."""


def given_up(
    order: type[Order] | None, last_to: tuple[int, ...], then_to: tuple[int, ...]
) -> tuple[Lab, MessageId]:
    """0 hears nothing of its own group, and does not know. It sends to 2, which is lost, and then
    to 3 and others; 3 answers 8. 1 serves the group by then, as well, and waits for 0. It goes on
    sending."""
    lab = Lab(order, quorum="majority", forward="delivered", forget_after_s=8.0)
    lab.lose = lambda copy: 0 in copy[:2] and is_at_home(copy)
    lab.send(1, 2, 4)
    lab.run(3.0)
    lost = lab.send(0, 2)
    lab.let_answer(3, 8)
    last = lab.send(0, *last_to)
    for _ in range(10):
        lab.send(1, *then_to)
        lab.run(2.0)
    assert last in lab.delivered[3]
    assert lost not in lab.delivered[2]
    return lab, lost


def one_is_given_up_that_still_serves(order: type[Order] | None) -> bool:
    """It is forgotten, since something is kept for it. Nothing comes down to the group."""
    lab, _ = given_up(order, (3,), (0, 2))
    return not any(gap.members & 1 for gap in lab.told(Event.GAP))


def what_it_sent_last_comes_down(order: type[Order] | None) -> bool:
    """The last is for 2, too, which gets it as soon as nobody waits for 0 any more. Nothing is kept
    for 0, so that it is not forgotten before that."""
    lab, lost = given_up(order, (2, 3), (2,))
    assert MessageId(0, 2) in lab.delivered[2]
    return not is_named(lab, lost)


def others_bring_what_the_forgotten_has_sent(order: type[Order] | None) -> bool:
    """0 hears nothing of its own group when it sends to 1, and then to 1, 4 and 7; only 3 hears of
    that. The others go on without 0 and the group of 3, and have forgotten 0 when 3 is back."""
    lab = Lab(order, quorum="majority", forward="delivered", forget_after_s=8.0)
    lab.lose = lambda copy: 0 in copy[:2] and 3 not in copy[:2]
    lost = lab.send(0, 1)
    early = lab.send(0, 1, 4, 7)
    lab.run(0.5)
    assert early in lab.delivered[4]
    sides = parted(lab, (0,), (3, 4, 5))
    lab.send(1, 2, 0)
    lab.run(25.0)
    assert not is_named(lab, lost)
    assert 0 in lab.orders[1].layers()[0].memory.forgotten
    for process in (3, 4, 5):
        del sides[process]
    lab.run(20.0)
    assert lab.delivered[1] == [early]
    sides.clear()
    lab.run(60.0)
    return not is_named(lab, lost)


def overtaken_in_silence(order: type[Order] | None) -> list[str]:
    """Which of these ends without a word of what is overtaken?"""
    schedules = (what_it_sent_last_comes_down, others_bring_what_the_forgotten_has_sent)
    return [schedule.__name__ for schedule in schedules if schedule(order)]


def founded_without_a_sender(order: type[Order] | None) -> tuple[Lab, Sides]:
    """6 and 3 serve their groups, and are cut off from the others with the group of 3. 6 sends to 1
    and then to 4; 3, which alone has the first as well, dies. 4 sends to 1, by servers that are
    founded anew while 6 is still away."""
    lab = Lab(order, quorum="majority", forward="delivered")
    for sender, receiver in ((1, 4), (4, 7), (7, 1)):
        lab.send(sender, receiver)
    lab.run(1.0)
    sides = parted(lab, (3, 4, 5, 6))
    lab.send(6, 1)
    answered = lab.send(6, 4)
    lab.run(0.5)
    assert answered in lab.delivered[4]
    lab.crash(3)
    lab.send(4, 1)
    for process in (4, 5):
        del sides[process]
    lab.send(7, 8)
    lab.run(15.0)
    return lab, sides


def founded_when_a_sender_is_away(order: type[Order] | None) -> list[str]:
    lab, sides = founded_without_a_sender(order)
    del sides[6]
    lab.run(30.0)
    return lab.faults()


def founded_without_a_sender_that_dies(order: type[Order] | None) -> bool:
    """The same, and 6 dies: it is given up. Whether what only it had is not told by name."""
    lab, _ = founded_without_a_sender(order)
    lab.crash(6)
    assert not is_named(lab, MessageId(6, 1))
    lab.run(45.0)
    assert lab.delivered[1][-1].sender == 4
    return not is_named(lab, MessageId(6, 1))


def founded_by_a_group_that_has_had_nothing(order: type[Order] | None) -> list[str]:
    """0 serves its group, which has not had a single message, and hears nothing of it. It sends to
    1, and to 4, which answers 1; then it is cut off from all, and 6 dies. The next servers have to
    wait until 0 is back with what the answer depends on."""
    lab = Lab(order, quorum="majority", forward="delivered")
    lab.lose = lambda copy: 0 in copy[:2] and is_at_home(copy)
    lab.let_answer(4, 1)
    lab.send(0, 1)
    answered = lab.send(0, 4)
    lab.run(0.5)
    assert answered in lab.delivered[4]
    sides = parted(lab, (0,))
    lab.crash(6)
    lab.run(20.0)
    assert lab.orders[1].layers()[1].state.epoch  # it is one of the next servers
    sides.clear()
    lab.run(60.0)
    return lab.faults()


def servers_die_together_twice(order: type[Order] | None) -> bool:
    """Three of five servers die, and then the two that were left of these. Whether what goes from
    group to group is late."""
    lab = Lab(order, 15, quorum="majority", forward="delivered")
    lab.send(1, 4)
    lab.run(1.0)
    for server in (0, 3, 6):
        lab.crash(server)
    lab.send(1, 4)
    lab.run(20.0)
    for server in (9, 12):
        lab.crash(server)
    last = lab.send(10, 1)
    lab.run(15.0)
    return last not in lab.delivered[1]


def is_at_home(copy: Copy) -> bool:
    """Whether a packet belongs to the first local group."""
    packet = copy[2].packet
    return packet is None or packet.group == 0


def an_epoch_never_begins(order: type[Order] | None) -> list[str]:
    """3 founds the servers anew with 7, when a group is away for too long. 7 never hears of it: it
    finds 0 and 6 again, who go on as before. 1, which serves the group of 0 by now, finds 3."""
    lab = Lab(order, quorum="majority", forget_after_s=6.0)
    sides = parted(lab, (0, 1, 2, 6))

    def before(copy: Copy) -> None:
        talk = copy[2].talk
        if copy[0] == 3 and isinstance(talk, Found) and talk.again and 0 in sides:
            sides.clear()
            sides.update(dict.fromkeys((1, 2, 3), 2))

    lab.before = before
    for _ in range(10):
        for sender, receiver in ((1, 0), (0, 7), (3, 1), (7, 8), (4, 5)):
            lab.send(sender, receiver)
        lab.run(2.0)
    assert set(sides.values()) == {2}
    sides.clear()
    lab.run(30.0)
    last = lab.send(1, 5)
    lab.run(60.0)
    return [fault for fault in lab.faults() if fault.startswith(str(last))]


def a_server_that_was_does_not_know(order: type[Order] | None) -> list[str]:
    """0 hears nothing of its own group, and sleeps. 1 sends to 0 and 2, which sends on to 3; that
    answers 0, which hears of it as one of the servers."""
    lab = Lab(order, quorum="majority")

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        return 0 in copy[:2] and (packet is None or packet.group == 0)

    lab.lose = lose

    def answer(process: int, message: Message) -> None:
        if process in (2, 3):
            lab.send(process, {2: 3, 3: 0}[process])

    lab.answer = answer
    lab.send(1, 0, 2)
    lab.run(10.0)
    lab.lose = lambda copy: False
    return lab.run(60.0).faults()


def founded_without_a_group(order: type[Order] | None) -> bool:
    """1 sends to 5, and then to 2 and 7. The servers die when the second has come, and the first
    has not; new ones go on without the group of 1, which is away for too long."""
    lab = Lab(order, quorum="majority", forget_after_s=8.0)
    lab.lose = lambda copy: copy[0] == 3 and bool(carried(copy[2], 1))
    first, second = lab.send(1, 5), lab.send(1, 2, 7)
    while second not in lab.delivered[7]:
        lab.run(0.01)
    parted(lab, (0, 1, 2))
    lab.crash(3, 6)
    lab.send(4, 8)
    lab.run(40.0)
    lab.lose = lambda copy: False
    lab.send(2, 4)
    lab.run(60.0)
    assert first not in lab.delivered[5]
    return not is_named(lab, first)


def its_group_hears_an_answer_through_others(order: type[Order] | None) -> bool:
    """0 is back among the servers when its group has lost it. 3 sends to it, and 4, who has got
    that, to 0 and 7. The groups of 0 and 7 found servers without the others; so 0 is handed the
    second by its group, when it is back there, and has the first from 3 alone."""
    lab = Lab(order, quorum="majority", forget_after_s=20.0)
    parted(lab, (0, 1, 2))
    lab.send(1, 6)
    lab.run(14.0)
    parted(lab, (1, 2))
    lab.run(3.0)
    first = lab.send(3, 0, 4)
    lab.run(1.0)
    second = lab.send(4, 0, 7)
    lab.run(1.0)
    parted(lab, (1, 2, 7, 8))
    while not lab.told(Event.GAP):
        lab.run(0.1)
    lab.run(0.3)
    parted(lab, (0, 1, 2, 7, 8))
    lab.run(20.0)
    assert lab.delivered[0] == [second]
    return not any(who == 0 and first in gap.messages for _, who, gap in lab.notices)


ANOTHER_BRINGS_WHAT_IS_LATER = scenario(
    cut(1.693, 7.827, [0, 1, 2]),
    cut(7.166, 18.421, [1, 2, 7, 8]),
    cut(18.147, 24.877, [1, 3]),
    crashes=[{"process": 2, "time_s": 14.236}],
    options={
        "sizes": [3],
        "split_above": 4,
        "merge_below": 3,
        "forget_after_s": 6.0,
        "suspect_after_s": 0.6,
        "flush_timeout_s": 0.3,
        "tidy_s": 0.244,
    },
    network={"delay": "exponential:0.0599", "loss": 0.0143},
    workload={"size": 4, "cascade": 0.052},
    rate=0.0999,
    messages=25,
    patience_s=65.184,
    seed=33000001974,
)
"""6, another server that its group has lost, brings a later message of the same sender."""


# Straight to the recipients.


def direct(order: type[Order] | None, **options: Any) -> Lab:
    """One group of four beside another, everything with as many copies as can be."""
    groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
    chosen = {"size": 8, "groups": groups, "local": "recipients", "quorum": "majority", **options}
    return Lab(order, **chosen)


def only_some_had_what_is_let_go(order: type[Order] | None) -> bool:
    """3 is away for too long when 0 sends to it; 1 has the only copy. The state that 3 gets when it
    is back may be that of 2."""
    lab = direct(order, forget_after_s=5.0)
    sides = parted(lab, (3,))
    lab.send(0, 1)
    lab.send(0, 3)
    lab.run(20.0)
    lost = lab.send(1, 3)
    lab.run(5.0)
    sides.clear()
    lab.send(0, 1)
    lab.run(30.0)
    assert lost not in lab.delivered[3]
    told = [one for _, who, one in lab.notices if who == 3 and one.event is Event.GAP]
    return not any(lost in one.messages for one in told)


BACK_WITH_WHAT_ALL_HAVE_BUT_NOBODY_KNOWS = scenario(
    cut(3.232, 9.22, [0, 1, 2, 6], packets="held"),
    cut(9.414, 12.465, [1, 2, 3, 4, 5, 7]),
    cut(13.209, 16.496, [8]),
    crashes=[{"process": 6, "time_s": 12.34}],
    options={
        "sizes": [3],
        "local": "recipients",
        "copies": 9,
        "forget_after_s": 43.0,
        "tick_s": 0.3,
        "tidy_s": 0.0791,
    },
    network={"delay": "exponential:0.0166", "loss": 0.213},
    workload={"kind": "broadcast", "size": None, "cascade": 0.589},
    rate=0.185,
    messages=31,
    patience_s=74,
    seed=4300003016,
)
"""7 and 8 have messages of 6, which says that its group has them, but not yet that they are safe.
7 goes on alone and delivers them; 8 comes back with its copies."""


def one_waits_until_it_is_forgotten(order: type[Order] | None) -> bool:
    """3 has a message, and is cut off before it hears that all have it. A newcomer is let in when 3
    has been forgotten: when 3 is back, nobody knows any more what was safe before that."""
    lab = direct(order, size=9, latecomers=[8], copies=3, forget_after_s=5.0)
    lost = lab.send(1, 2, 3)
    lab.run(0.011)
    sides = parted(lab, (3,))
    lab.send(0, 3)
    lab.run(20.0)
    lab.join(8)
    lab.run(5.0)
    sides.clear()
    lab.send(0, 1)
    lab.run(30.0)
    assert lost not in lab.delivered[3]
    return not is_named(lab, lost)


def two_of_five_are_cut_off(order: type[Order] | None) -> list[str]:
    """As above, in groups of five: of two of these, two members each. What 0 sends to 5 is with 1,
    and the answer to 14 with 6; 5 and 6 are back before 0 and 1."""
    options = {"forward": "delivered", "local": "recipients", "quorum": "majority"}
    lab = Lab(order, size=15, sizes=[5], **options)
    for sender, receiver in ((2, 7), (7, 12), (12, 2)):
        lab.send(sender, receiver)
    lab.run(1.0)
    sides = parted(lab, (0, 1, 5, 6))

    def answer(process: int, message: Message) -> None:
        if process == 5 and message.id.sender == 0:
            lab.send(5, 14)

    lab.answer = answer
    lab.send(0, 5, 14)
    lab.send(2, 3)
    lab.send(7, 8)
    lab.run(20.0)
    later = lab.send(2, 12)
    lab.run(20.0)
    assert later in lab.delivered[12]
    del sides[5], sides[6]
    lab.run(6.0)
    sides.clear()
    return lab.run(60.0).faults()


# Through the server.


def a_server_dies_when_one_of_its_words_is_lost(order: type[Order] | None) -> list[str]:
    """0 sends to 2, and to 1 and 2. 2 has both, but lacks what 0 has told it before; 1 has the
    second. When 0 has died, 2 has the only copy of the first."""
    lab = Lab(order, local="server")
    lab.lose = lambda copy: copy[:2] == (0, 2)
    lab.send(1, 2)
    lab.run(0.015)
    lab.lose = lambda copy: False
    lab.send(0, 2)
    second = lab.send(0, 1, 2)
    lab.run(0.015)
    assert lab.delivered[1] == [second]
    assert not lab.delivered[2]
    lab.crash(0)
    lab.run(60.0)
    assert second in lab.delivered[2]
    return lab.faults()


SCHEDULES: dict[str, Callable[[type[Order] | None], Any]] = {
    "overtakes-what-strayed": one_that_was_cut_off_is_back_before_another,
    "strays-in-a-handover": two_of_five_are_cut_off,
    "waits-for-a-stray-for-ever": one_brings_what_was_cut_off_for_good,
    "runs-ahead-of-a-stray": another_answers_what_one_brings,
    "lets-go-of-what-a-group-lacks": drawn(BACK_FOR_A_MOMENT),
    "sends-down-though-replaced": a_server_that_was_does_not_know,
    "taken-for-had-in-silence": founded_without_a_group,
    "comes-late-in-silence": its_group_hears_an_answer_through_others,
    "counts-as-had-in-silence": drawn(ANOTHER_BRINGS_WHAT_IS_LATER),
    "keeps-to-itself-what-one-missed": only_some_had_what_is_let_go,
    "loses-what-waited-in-silence": one_waits_until_it_is_forgotten,
    "comes-without-its-batch": drawn(BACK_WHEN_NOT_ALL_BATCHES_ARE_THERE),
    "has-brought-its-batch-for-ever": servers_die_together_twice,
    "leaves-out-what-ran-ahead": drawn(WHAT_RAN_AHEAD_OF_SERVERS_THAT_STOPPED),
    "forgotten-in-silence": drawn(FORGOTTEN_WITH_WHAT_WAS_SENT_ON),
    "founds-before-it-is-brought": founded_when_a_sender_is_away,
    "batches-tell-of-nothing-lost": founded_without_a_sender_that_dies,
    "had-nothing-is-not-said": founded_by_a_group_that_has_had_nothing,
    "gives-up-in-silence": one_is_given_up_that_still_serves,
    "overtakes-in-silence": overtaken_in_silence,
    "an-epoch-ends-unsafe": drawn(BACK_WITH_WHAT_ALL_HAVE_BUT_NOBODY_KNOWS),
    "drops-what-came-out-of-turn": a_server_dies_when_one_of_its_words_is_lost,
}


def test_a_group_that_is_back_is_not_away_because_a_founder_says_so() -> None:
    assert drawn(BACK_WHEN_A_FOUNDER_SAYS_THAT_IT_IS_AWAY)(None) is None


@pytest.mark.parametrize(
    "schedule",
    [
        an_epoch_never_begins,
        drawn(TOLD_TO_ONE_THAT_IS_LOST_AT_HOME),
        drawn(STOPPED_WHERE_IT_DOES_NOT_COME_BACK),
        drawn(CUT_OFF_WITH_THOSE_WHO_ARE_MISSING),
    ],
)
def test_others_pass(schedule: Callable[[type[Order] | None], Any]) -> None:
    assert not schedule(None)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    assert not SCHEDULES[rule.name](None)
    assert SCHEDULES[rule.name](mutated("daisy", rule))
