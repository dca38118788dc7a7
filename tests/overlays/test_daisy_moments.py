"""Rules of the daisy at the moment at which each matters: a part of it is brought there by hand,
with changes, words and losses that can happen, and has to come to the right conclusion.

Each schedule passes with all rules, and fails without the one that it is named after."""

from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from antecede.groups import GroupMessage, GroupMessageId, MemberId
from antecede.groups.packets import Data, Prepare, Promise, Welcome
from antecede.message import MessageId, process_set
from antecede.order import Effect, Event, Order, Packet, Transmit
from antecede.overlays.daisy.items import (
    Batch,
    Bind,
    Change,
    Forget,
    Freeze,
    Group,
    Item,
    Missed,
    Proposal,
    Ready,
    Reshape,
    decode_items,
    encode_items,
    pack,
    process_key,
    shorter,
)
from antecede.overlays.daisy.stamp import DaisyStamp, Found, Lost, Moved, Seek, Talk
from antecede.protocols import find
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import MOMENTS
from tests.overlays.daisy_lab import SERVERS, Copy, Lab

NEW = 1 << 26
"""The number of a group that is made by a change."""
CHANGING: dict[str, Any] = {"quorum": "majority", "merge_below": 2}
"""Groups may merge, though none is so small that it has to."""


# What a schedule does by hand.


def body(copy: Copy) -> object:
    """What a packet of a group says."""
    return None if copy[2].packet is None else copy[2].packet.body


def said(copy: Copy, group: int | None = None) -> tuple[Item, ...]:
    """The words in a packet (of this group)."""
    packet = copy[2].packet
    if packet is None or not isinstance(packet.body, Data) or group not in (None, packet.group):
        return ()
    return decode_items(packet.body.payload)


def perform(lab: Lab, process: int, effects: list[Effect]) -> list[Effect]:
    lab._perform(process, effects)
    return effects


def say(lab: Lab, process: int, level: int, *words: Item) -> None:
    """In a group that a process is in, by its level."""
    order = lab.orders[process]
    layer = order.layers()[level]
    order.core.send_words(layer, words, lab.now)
    perform(lab, process, order._settle(lab.now))


def tell(lab: Lab, source: int, process: int, talk: Talk) -> list[Talk]:
    """Outside of the groups. What is the answer?"""
    packet = Packet(source, None, DaisyStamp(None, talk, busy=True))
    return talks(perform(lab, process, lab.orders[process].receive(packet, lab.now)))


def talks(effects: list[Effect]) -> list[Talk]:
    stamps = [one.packet.stamp for one in effects if isinstance(one, Transmit)]
    return [one.talk for one in stamps if isinstance(one, DaisyStamp) and one.talk is not None]


def merge(lab: Lab, *gone: int, server: int = 0) -> int:
    """The server of the servers proposes that these groups merge. The number of the next one."""
    order = lab.orders[server]
    layer = order.layers()[1]
    inside = [one for index in gone for one in inside_of(lab, index)]
    number = order.core.new_number()
    change = Change(1, layer.node.index, gone, ((number, tuple(inside)),))
    order._consent.propose(layer, change, lab.now)
    perform(lab, server, order._settle(lab.now))
    return int(number)


def inside_of(lab: Lab, group: int) -> list[int]:
    """Who is in a local group, the one who serves first."""
    living = [one for who, one in enumerate(lab.orders) if who not in lab.dead and one.layers()]
    here = [one.layers()[0] for one in living if one.layers()[0].node.index == group]
    (served,) = [layer for layer in here if layer.is_server]
    return [member.process for member in served.view.members]


def until(lab: Lab, is_so: Callable[[], object], for_s: float = 20.0) -> None:
    end = lab.now + for_s
    while not is_so():
        assert lab.now < end
        lab.run(0.005)


def home(lab: Lab, process: int) -> int:
    return int(lab.orders[process].layers()[0].node.index)


def is_in(lab: Lab, process: int) -> bool:
    """Whether it is in its local group."""
    return bool(lab.orders[process].layers()[0].is_in)


def gaps(lab: Lab, process: int) -> list[tuple[int, tuple[MessageId, ...]]]:
    """Whom and what a process has told to be missing."""
    found = [(who, notice) for _, who, notice in lab.notices if notice.event is Event.GAP]
    return [(notice.members, notice.messages) for who, notice in found if who == process]


# Servers.


def one_founds_servers_who_has_not_heard_of_a_merge(order: type[Order]) -> set[int]:
    """0 and 3 have merged their groups. 6, who does not know, founds the servers with 0, and gets
    its batch. For which groups of those two does it wait?"""
    lab = Lab(order, **CHANGING)
    merge(lab, 0, 1)
    lab.run(5.0)
    assert home(lab, 3) == home(lab, 0) > SERVERS
    other = Lab(order, **CHANGING).orders[6]
    one = lab.orders[0]
    for each in (one, other):
        layer = each.layers()[1]
        layer.memory.missing_batches = {0, 1, 2}
        layer.memory.changes = []  # as of servers that have just been founded anew
        layer.state.founding.owed_batches = {0}
    sent: list[tuple[Item, ...]] = []
    lab.before = lambda copy: sent.append(said(copy, SERVERS))
    one._arrivals.bring_batches(lab.now)
    perform(lab, 0, one._settle(lab.now))
    (payload,) = {items for items in sent if any(isinstance(item, Batch) for item in items)}
    message = GroupMessage(MemberId(0, 0), 1, 1, (1, 0, 0), 0, encode_items(payload))
    other._arrivals.on_deliver(other.layers()[1], message, 0.0)
    awaited: set[int] = other.layers()[1].memory.missing_batches
    return awaited & {0, 1}


def two_look_for_a_later_epoch(order: type[Order]) -> bool:
    """9 and 12 have died. 10 and 13, who serve their groups then, are bound to a later epoch, and
    ask one after the other. Do the servers who are left not found one with both?"""
    lab = Lab(order, size=15, quorum="majority")
    lab.lose = lambda copy: {10, 11, 13, 14} & {*copy[:2]} != set()
    lab.crash(9, 12)
    lab.send(1, 4)
    lab.send(1, 10)
    lab.run(6.0)
    servers = lab.orders[0].layers()[1]
    assert servers.view.processes == process_set((0, 3, 6))
    later, answers = 7 << 16, list[Talk]()
    for _ in range(5):
        for source, group in ((10, 3), (13, 4)):
            answers += tell(lab, source, 0, Seek(group, later, servers.node.index))
            lab.run(0.05)
    return not any(isinstance(one, Found) and one.epoch > later for one in answers)


def one_is_bound_to_a_later_epoch(order: type[Order]) -> bool:
    """1 brings home that its group is bound to a later epoch of the servers. Is 0 still in the
    earlier one?"""
    lab, later = Lab(order, quorum="majority"), 7 << 16
    lab.send(1, 4)
    lab.run(0.2)
    say(lab, 1, 0, Bind(SERVERS, later))
    lab.run(2.0)
    assert lab.orders[0].core.earliest_epoch(SERVERS) == later
    return any(layer.state.epoch < later for layer in lab.orders[0].layers()[1:])


def one_knows_of_a_group_that_never_was(order: type[Order]) -> str:
    """3 says what a group has missed that a split was to make, and did not. The others have never
    heard of it."""
    lab = Lab(order, **CHANGING)
    split = Change(1, SERVERS, (1,), ((NEW, (3,)), (NEW + 1, (4, 5))))
    lab.orders[3]._changes.history.learn([pack(split)])
    say(lab, 3, 1, Missed(NEW + 1, ((1, 1),)))
    try:
        lab.run(5.0)
    except KeyError as error:
        return f"somebody wants to call {error}"
    return ""


def servers_are_founded_without_a_group(order: type[Order]) -> bool:
    """5 is away from its group, and all of 6's group die, with all other servers. Is 5 not named,
    who may be the only one with something?"""
    lab = Lab(order, quorum="survivors")
    lab.crash(5)
    lab.send(3, 4)
    lab.send(0, 5)
    lab.run(5.0)
    lab.crash(0, 3, 6, 7, 8)
    lab.send(1, 4)
    lab.run(20.0)
    told = [one.members for one in lab.told(Event.GAP)]
    assert any(one & process_set((6, 7, 8)) for one in told)
    return not any(one >> 5 & 1 for one in told)


def the_last_senior_one_was_of_the_other_group(order: type[Order]) -> bool:
    """0 has died, and four groups have become two. So 6 was the senior server when 1, who serves
    the first group, was cut off with that and died, too. 6 goes on alone; does 2, who has never
    been among the servers, found them as well?"""
    lab = Lab(order, size=12, **CHANGING, forget_after_s=20.0)
    lab.crash(0)
    lab.send(1, 4)
    lab.run(8.0)
    merge(lab, 2, 3, server=3)
    lab.run(3.0)
    merge(lab, 0, 1, server=3)
    lab.run(3.0)
    assert [one.process for one in lab.orders[6].layers()[1].view.members] == [6, 1]
    lab.crash(1)
    lab.lose = lambda copy: (copy[0] < 6) != (copy[1] < 6)
    for _ in range(10):
        lab.send(2, 4, 7)
        lab.send(7, 2)
        lab.run(4.0)
    servers = [lab.orders[one].layers()[1] for one in (6, 2)]
    assert not servers[0].is_lost
    return not servers[1].is_lost


def two_merged_groups_of_which_the_second_has_the_lower_number(order: type[Order]) -> bool:
    """Of four groups two and two have merged. The first is the one of 0, the senior server: will it
    do, where the other is lost for good?"""
    one = Lab(order, size=12, **CHANGING).orders[0]
    changes = [
        Change(1, 4, (2, 3), ((NEW, (6, 7, 8, 9, 10, 11)),)),
        Change(2, 4, (0, 1), ((NEW + 2, (0, 1, 2, 3, 4, 5)),)),
    ]
    one._changes.history.learn(map(pack, changes))
    servers = one.layers()[1]
    assert {*servers.node.children} == {NEW, NEW + 2}
    return not one._search._are_most(servers, {NEW + 2})


def a_group_came_about_in_two_ways(order: type[Order]) -> bool:
    """The last group below some servers was made by a merge, and has come from below those. Has it
    brought its batch when these have, or when the groups before it have?"""
    core = Lab(order, size=12, sizes=[3, 2], merge_below=2, merge_servers_below=2).orders[0].core
    everybody = shorter(process_set(range(6)))
    below, top = (
        Group(NEW, 0, (0,), everybody),
        Group(6, 2, (0, 6), shorter(process_set(range(12)))),
    )
    merged = Change(1, 4, (0, 1), ((NEW, tuple(range(6))),))
    core.state.changes = [pack(merged), pack(Reshape(4, top, (), (below,)))]
    return not (core.is_covered(NEW, {4}) and core.is_covered(NEW, {0, 1}))


def one_who_is_lost_is_asked(order: type[Order]) -> bool:
    """1 knows that its group has merged, though no group that it is in remembers that. One who
    looks for servers asks it: is it not told?"""
    lab = Lab(order, **CHANGING)
    change = pack(Change(1, SERVERS, (1, 2), ((NEW, (3, 4, 5, 6, 7, 8)),)))
    lab.orders[1].core.state.changes = [change]
    lab.orders[1]._changes.history.replan_all()
    answers = tell(lab, 5, 1, Seek(1, 0, SERVERS))
    return not any(isinstance(one, Moved) and change in one.changes for one in answers)


END = Reshape(
    4,
    Group(6, 2, (0, 6), shorter(process_set(range(12)))),
    (),
    tuple(
        Group(one, 0, (3 * one,), shorter(process_set(range(3 * one, 3 * one + 3))))
        for one in (0, 1)
    ),
)
"""The servers 4 dissolve, over the groups 0 and 1; 0 and 6 are the servers above."""


def looking_anew(order: type[Order]) -> Lab:
    """The servers at the top have decided that the servers 4 end, as 0 alone has heard: 6 was cut
    off from them. Then both have left that epoch and look for each other."""
    lab = Lab(order, size=12, sizes=[3, 2], merge_servers_below=2, **CHANGING)
    change, one = pack(END), lab.orders[0]
    one.layers()[2].memory.changes.append(change)
    one._changes.history.learn([change])
    for who in (0, 6):
        its = lab.orders[who]
        its._search._leave(its.layers()[2], 7 << 16, lab.now)
        perform(lab, who, its._settle(lab.now))
    return lab


def tops(lab: Lab) -> list[Any]:
    return [lab.orders[who].layers()[-1] for who in (0, 6)]


def are_founded(lab: Lab) -> bool:
    return all(top.node.index == 6 and not top.is_lost and top.has_begun for top in tops(lab))


def one_knows_that_its_servers_are_to_end(order: type[Order]) -> bool:
    """3 is among these servers, but not above them. Are those above never founded anew?"""
    lab = looking_anew(order)
    lab.run(10.0)
    return not are_founded(lab)


def servers_end_that_know_it(order: type[Order]) -> bool:
    """0's servers have heard that they end: 3 may have left them, and speaks for its group. Does 0
    still speak for both?"""
    lab = looking_anew(order)
    lab.orders[0].layers()[1].memory.changes.append(pack(END))
    return any(isinstance(one, Lost) and one.node == 4 for one in tell(lab, 6, 0, Seek(5, 0, 6)))


def founders_of_servers_know_different_things(order: type[Order]) -> bool:
    """What is told outside of the groups is lost, and 3 is not ready. Do the founders not agree on
    which groups are below them?"""
    lab = looking_anew(order)
    lab.lose = lambda copy: (
        isinstance(copy[2].talk, Moved)
        or (copy[0] == 3 and any(isinstance(item, Ready) for item in said(copy, 4)))
    )
    until(lab, lambda: are_founded(lab))
    one, other = tops(lab)
    return bool(one.node.children != other.node.children)


def servers_to_end_bring_one_batch(order: type[Order]) -> bool:
    """Is a gap told, as if the group of 3 had brought nothing?"""
    lab = looking_anew(order)
    lab.run(10.0)
    return bool(lab.told(Event.GAP))


# Local groups.


def a_newcomer_asks_a_group_that_has_not_begun(order: type[Order]) -> bool:
    lab = Lab(order, size=10, groups=[[0, 1, 2], [3, 4, 5], [6, 7, 8]], latecomers=[9], **CHANGING)
    for one in (0, 1, 2):
        lab.orders[one].layers()[0].memory.missing_batches = {1}
    lab.join(9)
    lab.run(3.0)
    view = lab.orders[0].layers()[0].view
    return bool(view.processes >> 9 & 1)


def one_that_came_late_is_away_in_a_merge(order: type[Order]) -> list[str]:
    """9 is cut off when its group merges with another: it founds nothing. What is sent to it then
    reaches it when it is back."""
    groups = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    lab = Lab(order, size=10, groups=groups, latecomers=[9], **CHANGING)
    lab.join(9)
    lab.run(2.0)
    assert home(lab, 9) == 0
    lab.lose = lambda copy: 9 in copy[:2]
    lab.send(0, 1)
    lab.send(0, 9)
    lab.run(5.0)
    merge(lab, 0, 1)
    lab.run(5.0)
    assert home(lab, 0) > SERVERS
    lab.send(4, 9)
    lab.run(2.0)
    lab.lose = lambda copy: False
    lab.send(4, 1)
    return lab.run(20.0).faults()


def a_group_has_had_what_comes_by(order: type[Order]) -> list[str]:
    """The group of 3 has had what 1 sends, and has let go of it. Do the servers keep it?"""
    lab = Lab(order, quorum="majority")
    for one in (3, 4, 5):
        lab.orders[one].layers()[0].memory.passed[1] = 1
    lab.send(1, 4)
    return lab.run(20.0).kept()


def a_group_merges_before_it_is_told(order: type[Order]) -> bool:
    """6's group has missed something, as all servers know, and merges with that of 3. Is the next
    one not told?"""
    lab, missed = Lab(order, **CHANGING), MessageId(0, 1)
    for one in (0, 3, 6):
        lab.orders[one].layers()[1].memory.missed = {2: {missed}}
    merge(lab, 1, 2)
    lab.run(10.0)
    assert home(lab, 3) == home(lab, 6) > SERVERS
    return not any(missed in named for one in (3, 4, 5, 6, 7, 8) for _, named in gaps(lab, one))


def one_is_away_when_its_group_is_told(order: type[Order]) -> bool:
    """0's group is cut off for so long that what is for 1 and 2 is let go, and 2 by itself for
    somewhat longer. Is 2 not told by name?"""
    limits: dict[str, Any] = {
        "forget_after_s": 8.0,
        "suspect_after_s": 0.5,
        "flush_timeout_s": 0.25,
    }
    lab = Lab(order, quorum="majority", **limits)
    is_back = False

    def lose(copy: Copy) -> bool:
        is_cut = (copy[0] < 3) != (copy[1] < 3) and not is_back
        return is_cut or 2 in copy[:2]

    lab.lose = lose
    lab.send(0, 1, 2)
    missed = lab.send(4, 1, 2)
    lab.run(14.0)
    is_back = True
    until(lab, lambda: any(missed in named for _, named in gaps(lab, 0)))
    lab.run(1.0)
    lab.lose = lambda copy: False
    lab.send(0, 1)
    lab.run(10.0)
    return not any(missed in named for _, named in gaps(lab, 2))


def servers_know_what_one_has_missed(order: type[Order]) -> tuple[Lab, MessageId]:
    """8 has missed something, as the servers know, and its group does not. It is left out and comes
    back."""
    lab, missed = Lab(order, **CHANGING), MessageId(0, 1)
    for one in (0, 3, 6):
        lab.orders[one].layers()[1].memory.missed_beside = {process_key(8): {missed}}
    lab.lose = lambda copy: 8 in copy[:2]
    lab.send(6, 7, 8)
    lab.run(4.0)
    assert 8 not in inside_of(lab, 2)
    lab.lose = lambda copy: False
    lab.send(7, 8)
    lab.run(20.0)
    assert 8 in inside_of(lab, 2)
    return lab, missed


def one_is_back_that_has_missed_something(order: type[Order]) -> bool:
    """Is it not told by name?"""
    lab, missed = servers_know_what_one_has_missed(order)
    return not any(missed in named for _, named in gaps(lab, 8))


def one_has_been_told_what_it_missed(order: type[Order]) -> list[object]:
    """Who remembers it still?"""
    lab, _ = servers_know_what_one_has_missed(order)
    memories = [layer.memory for one in lab.orders for layer in one.layers()]
    return [memory for memory in memories if memory.missed_beside or memory.missed]


def a_group_begins_with_one_that_has_missed_something(order: type[Order]) -> bool:
    """8 has missed something from 0, as the servers know, and its group does not. That is merged
    with the one of 3, and begins with something later from 0. Is 8 not told by name?"""
    lab = Lab(order, **CHANGING)
    missed = lab.send(0, 4)
    lab.run(5.0)
    for one in (0, 3, 6):
        lab.orders[one].layers()[1].memory.missed_beside = {process_key(8): {missed}}
    merge(lab, 1, 2)
    later = lab.send(0, 8)
    lab.run(10.0)
    assert home(lab, 8) > SERVERS
    assert later in lab.delivered[8]
    return not any(missed in named for _, named in gaps(lab, 8))


def one_is_there_before_all_batches_are(order: type[Order]) -> bool:
    """7 alone knows what 8 has missed when their group is merged; the batch of 4 is late. Is 8 not
    told by name when it has come?"""
    lab, missed = Lab(order, **CHANGING), MessageId(0, 1)
    merge(lab, 1, 2)

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        is_new = packet is not None and packet.group > SERVERS
        return is_new and copy[0] == 4 and lab.now < 1.5

    lab.lose = lose
    while home(lab, 7) < SERVERS:
        lab.orders[7].layers()[0].memory.missed = {8: {missed}}
        lab.run(0.005)
    lab.run(10.0)
    return not any(missed in named for _, named in gaps(lab, 8))


def servers_come_that_do_not_know(order: type[Order]) -> bool:
    """The group of 8 knows what 11 has missed, and 8 dies. Do other groups not know it then?"""
    lab, missed = Lab(order, size=12, sizes=[4], **CHANGING), MessageId(0, 1)
    lab.crash(11)
    lab.send(8, 9, 11)
    lab.run(4.0)
    for one in (8, 9, 10):
        lab.orders[one].layers()[0].memory.missed = {11: {missed}}
    lab.crash(8)
    lab.send(9, 10, 0)
    lab.run(20.0)
    assert lab.orders[9].layers()[1].is_in
    return missed not in lab.orders[1].layers()[0].memory.missed_beside.get(process_key(11), set())


def one_lacks_a_batch_and_is_cut_off(order: type[Order]) -> list[str]:
    """Two groups merge. 5 does not get what 4 brings, and has put aside what 0 brings, which is for
    5 alone. All others have begun when 5 is cut off; it comes back."""
    lab, sent = Lab(order, **CHANGING), list[MessageId]()

    def lose(copy: Copy) -> bool:
        return copy[:2] == (4, 5) and any(isinstance(item, Batch) for item in said(copy))

    def before(copy: Copy) -> None:
        if copy[0] == 0 and not sent and Ready() in said(copy, 0):
            sent.append(lab.send(0, 5))

    lab.lose, lab.before = lose, before
    merge(lab, 0, 1)
    lab.run(1.0)
    assert lab.orders[0].layers()[0].has_passed(sent[0])
    assert not lab.orders[5].layers()[0].has_passed(sent[0])
    lab.lose = lambda copy: 5 in copy[:2]
    lab.run(6.0)
    lab.lose = lambda copy: False
    lab.send(0, 1)
    return lab.run(10.0).faults()


def one_has_not_heard_that_the_others_are_ready(order: type[Order]) -> bool:
    """0 and 1 leave a group that gives way, bring nothing into the next one, and die. 2 has not
    heard that 1 is ready, but it was in the group to the end as well. Is a gap told?"""
    lab = Lab(order, **CHANGING, forget_after_s=15.0)

    def lose(copy: Copy) -> bool:
        is_late = copy[:2] == (1, 2) and Ready() in said(copy, 0)
        items = said(copy)
        return is_late or (copy[0] in {0, 1} and any(isinstance(item, Batch) for item in items))

    lab.lose = lose
    number = merge(lab, 0, 1)
    until(lab, lambda: home(lab, 0) == home(lab, 1) == number)
    lab.run(1.0)
    lab.crash(0, 1)
    lab.lose = lambda copy: False
    lab.send(2, 4, 7)
    lab.run(40.0)
    assert lab.faults() == []
    return bool(lab.told(Event.GAP))


def a_merge_of_which_one_does_not_hear(lab: Lab, *gone: int) -> int:
    """Two groups merge. 3 knows that both servers have heard of it; then nobody of the group of 0
    hears any more of the others. The number of the next group, in which these are."""
    told_at = inf

    def lose(copy: Copy) -> bool:
        answers = [item.node for item in said(copy, 2) if isinstance(item, Proposal)]
        is_early = 0 in answers and not all(is_in(lab, one) for one in range(len(lab.orders)))
        is_across = copy[0] in {3, 4, 5} and copy[1] not in {3, 4, 5}
        return is_early or (is_across and lab.now > told_at)

    def before(copy: Copy) -> None:
        nonlocal told_at
        if copy[:2] == (0, 3) and any(isinstance(item, Change) for item in said(copy, 2)):
            told_at = min(told_at, lab.now)

    lab.lose, lab.before = lose, before
    number = merge(lab, *gone)
    until(lab, lambda: home(lab, 5) == number)
    lab.run(1.0)
    assert [home(lab, one) for one in (0, 1, 2)] == [0, 0, 0]
    return number


def those_who_belong_there_sleep(order: type[Order]) -> list[str]:
    """0 dies, whose group sleeps and does not know that it has merged with that of 3. Those who
    wait in the next one are too few."""
    lab = Lab(order, size=6, **CHANGING)
    a_merge_of_which_one_does_not_hear(lab, 0, 1)
    lab.crash(0)
    until(lab, lambda: lab.orders[3].layers()[0].is_lost)
    lab.lose = lambda copy: False
    lab.send(4, 1)
    return lab.run(30.0).faults()


def one_belongs_there_who_founds_nothing(order: type[Order]) -> bool:
    """6 is let into a group that has agreed to a merge. All others of it die before they hear that
    it has come about. Does 6 stay there alone?"""
    groups = [[0, 1, 2], [3, 4, 5]]
    lab = Lab(order, size=7, groups=groups, latecomers=[6], talks_with=[[0]], **CHANGING)
    lab.join(6)
    number = a_merge_of_which_one_does_not_hear(lab, 1, 0)
    assert home(lab, 6) == 0
    lab.crash(0, 1, 2)
    lab.lose = lambda copy: False
    lab.run(20.0)
    return home(lab, 6) != number or not is_in(lab, 6)


# Groups of servers that come and go.


def a_server_dies_when_servers_are_frozen(order: type[Order]) -> bool:
    """Four groups are one too many. 9 does not say that it is ready, and 6 dies. In the next view
    the servers go on: does what 1 sends take long?"""
    lab = Lab(order, size=12, quorum="majority", split_servers_above=3)
    lab.orders[9].layers()[0].memory.missing_batches = {10}  # its group has not begun
    lab.send(1, 4)
    until(lab, lambda: lab.orders[0].layers()[1].memory.frozen)
    lab.crash(6)
    until(lab, lambda: not lab.orders[0].layers()[1].view.processes >> 6 & 1)
    sent, sent_at = lab.send(1, 4), lab.now
    lab.run(30.0)
    return lab.delivered_at[4, sent] > sent_at + 1.0


def servers_have_been_held_up(order: type[Order]) -> bool:
    """The same where the second group has lost its majority with something that is for it. When
    the servers have gone on, does what 1 sends take long?"""
    lab = Lab(order, size=12, quorum="majority", split_servers_above=3)
    lab.send(0, 4)
    lab.crash(4, 5)
    until(lab, lambda: lab.orders[0].layers()[1].memory.frozen)
    until(lab, lambda: not lab.orders[0].layers()[1].memory.frozen)
    lab.run(0.5)
    sent, sent_at = lab.send(1, 7), lab.now
    lab.run(30.0)
    return lab.delivered_at[7, sent] > sent_at + 1.0


def frozen_servers(order: type[Order], freezes: int, frozen_in: int) -> tuple[Lab, list[Item]]:
    """Four servers are frozen, and all but 3 are ready. What do they say about their end?"""
    lab, ends = Lab(order, size=12, quorum="majority", split_servers_above=3), list[Item]()
    layer = lab.orders[0].layers()[1]
    moving = layer.state.moving
    layer.memory.frozen, moving.ready = True, {0, 6, 9}
    moving.freezes, moving.frozen_in, moving.ready_in = freezes, frozen_in, (1, freezes)
    lab.before = lambda copy: ends.extend(
        item for item in said(copy, 4) if isinstance(item, Reshape)
    )
    return lab, ends


def the_next_view_is_not_told_yet(order: type[Order]) -> bool:
    """All are ready, as was said in the view before. Is that the end?"""
    lab, ends = frozen_servers(order, 1, frozen_in=1)
    say(lab, 3, 1, Ready(1))
    lab.run(0.05)
    assert ends
    lab, ends = frozen_servers(order, 1, frozen_in=0)
    say(lab, 3, 1, Ready(1))
    lab.run(0.05)
    return bool(ends)


def one_was_ready_before(order: type[Order]) -> bool:
    """The servers have frozen for the second time when 3 says that it was ready for the first. It
    may have sent something since. Is that the end?"""
    lab, ends = frozen_servers(order, 2, frozen_in=1)
    say(lab, 3, 1, Ready(1))
    lab.run(0.05)
    is_wrong = bool(ends)
    say(lab, 3, 1, Ready(2))
    lab.run(0.05)
    assert ends
    return is_wrong


THREE_LEVELS: dict[str, Any] = {"size": 18, "sizes": [3, 3], **CHANGING}
"""Two groups of servers, 6 with 0, 3 and 6, and 7 with 9, 12 and 15; above them 0 and 9."""


def a_group_is_forgotten_by_servers_that_are_frozen(order: type[Order]) -> bool:
    """All of 6's group have died. Their servers are about to end when they forget it: is what is
    for it let go above?"""
    lab = Lab(order, **THREE_LEVELS, split_servers_above=6, merge_servers_below=2)
    lab.crash(6, 7, 8)
    sent = lab.send(10, 7)
    lab.run(5.0)
    top = lab.orders[9].layers()[2]
    assert sent in top.memory.kept
    say(lab, 0, 1, Freeze(1))
    lab.run(0.5)
    say(lab, 0, 1, Forget(2))
    lab.run(1.0)
    assert 2 in lab.orders[0].layers()[1].memory.forgotten
    return sent not in top.memory.kept


def all_agree_when_the_servers_above_are_lost(order: type[Order]) -> bool:
    """9 and 0 do not hear each other when two groups below the former agree to merge. Then they do.
    Do the groups not merge?"""
    lab = Lab(order, **THREE_LEVELS)
    lab.lose = lambda copy: {*copy[:2]} == {0, 9}
    lab.send(10, 1)
    lab.run(5.0)
    assert lab.orders[9].layers()[2].is_lost
    number = merge(lab, 4, 5, server=9)
    lab.run(3.0)
    assert home(lab, 12) == 4
    lab.lose = lambda copy: False
    lab.run(20.0)
    return home(lab, 12) != number


def end_of_servers(lab: Lab) -> Reshape:
    """The group of servers with 0, 3 and 6 gives way to the one above it."""
    order = lab.orders[0]
    end: Reshape = order._levels._compose(*order.layers()[1:3])
    assert (end.gone, end.made) == (6, ())
    return end


def those_above_were_told_a_moment_ago(order: type[Order]) -> bool:
    """A merge is due below servers whose end those above have been told, though they do not act on
    it yet. Is it proposed?"""
    are_proposed = []
    for is_told in (False, True):
        lab = Lab(order, **THREE_LEVELS, split_servers_above=6, merge_servers_below=2)
        one = lab.orders[0]
        _, servers, top = one.layers()
        if is_told:
            top.memory.pending_changes[GroupMessageId(MemberId(0, 0), 1)] = pack(
                end_of_servers(lab)
            )
        servers.memory.rolls = {0: (0, 1, 2), 1: (3,), 2: (6, 7, 8)}
        one._changes.decide(servers, lab.now)
        are_proposed.append(bool(servers.state.moving.proposed))
    assert are_proposed[0]
    return are_proposed[1]


def servers_end_when_a_group_has_agreed(order: type[Order]) -> list[str]:
    """3's group has agreed to a merge, and 6's has not been asked yet, when those above know that
    their servers end. What 4 sends to 7 arrives in the end."""
    lab = Lab(order, **THREE_LEVELS, split_servers_above=6, merge_servers_below=2)
    lab.lose = lambda copy: any(isinstance(item, Proposal) for item in said(copy, 2))
    merge(lab, 1, 2)
    until(lab, lambda: lab.orders[3].layers()[0].memory.agreed_to)
    say(lab, 0, 2, end_of_servers(lab))
    lab.run(1.0)
    lab.lose = lambda copy: False
    lab.send(4, 7)
    return lab.run(2.0).faults()


def one_is_let_in_when_another_has_not_come(order: type[Order]) -> list[str]:
    """4 is let into a view that 3 has agreed to, but never hears of; so 3 lacks what came before.
    When 3 is back, it is 4 that tells it what it missed."""
    lab = Lab(order, size=5, groups=[[0, 1, 2, 3, 4]], quorum="majority")
    lab.lose = lambda copy: 4 in copy[:2]
    lab.send(0, 1)
    lab.run(8.0)
    lab.send(1, 2)
    lab.run(0.05)
    lab.lose = lambda copy: 3 in copy[:2] and not isinstance(body(copy), Prepare | Promise)
    lab.send(0, 3)
    lab.run(7.0)
    lab.lose = lambda copy: copy[0] != 4 and copy[1] == 3 and isinstance(body(copy), Welcome)
    lab.send(0, 1)
    return lab.run().faults()


SCHEDULES: dict[str, Callable[[type[Order]], object]] = {
    "founders-say-nothing-of-changes": one_founds_servers_who_has_not_heard_of_a_merge,
    "founds-with-one-alone": two_look_for_a_later_epoch,
    "stays-in-an-earlier-epoch": one_is_bound_to_a_later_epoch,
    "calls-groups-that-never-were": one_knows_of_a_group_that_never_was,
    "names-groups-alone": servers_are_founded_without_a_group,
    "goes-by-its-own-views-alone": the_last_senior_one_was_of_the_other_group,
    "the-first-group-by-its-number": two_merged_groups_of_which_the_second_has_the_lower_number,
    "brought-in-one-way-alone": a_group_came_about_in_two_ways,
    "tells-only-what-its-groups-remember": one_who_is_lost_is_asked,
    "speaks-for-groups-to-come": one_knows_that_its_servers_are_to_end,
    "speaks-for-itself-alone": one_knows_that_its_servers_are_to_end,
    "speaks-for-servers-that-know-their-end": servers_end_that_know_it,
    "founders-forget-what-servers-decided": founders_of_servers_know_different_things,
    "one-batch-is-for-one-group": servers_to_end_bring_one_batch,
    "lets-newcomers-in-before-it-begins": a_newcomer_asks_a_group_that_has_not_begun,
    "merges-without-followers": one_that_came_late_is_away_in_a_merge,
    "keeps-what-a-group-has-let-go": a_group_has_had_what_comes_by,
    "relabelled-in-silence": a_group_merges_before_it_is_told,
    "told-to-those-who-are-there": one_is_away_when_its_group_is_told,
    "servers-keep-to-themselves-who-lacks-it": one_is_back_that_has_missed_something,
    "forgets-before-it-is-told": one_is_there_before_all_batches_are,
    "brings-no-word-of-who-lacks-it": a_group_begins_with_one_that_has_missed_something,
    "new-servers-keep-to-themselves-who-lacks-it": servers_come_that_do_not_know,
    "remembers-what-a-member-has-been-told": one_has_been_told_what_it_missed,
    "stable-before-all-have-merged": one_lacks_a_batch_and_is_cut_off,
    "waits-for-who-has-left": one_has_not_heard_that_the_others_are_ready,
    "founders-stay-where-they-are": those_who_belong_there_sleep,
    "tells-founders-alone": one_belongs_there_who_founds_nothing,
    "frozen-from-view-to-view": a_server_dies_when_servers_are_frozen,
    "freezes-again-at-once": servers_have_been_held_up,
    "ends-in-a-view-that-is-not-told": the_next_view_is_not_told_yet,
    "ready-since-it-froze-before": one_was_ready_before,
    "done-though-it-gives-way": a_group_is_forgotten_by_servers_that_are_frozen,
    "held-up-for-ever": all_agree_when_the_servers_above_are_lost,
    "changes-below-what-is-about-to-end": those_above_were_told_a_moment_ago,
    "frees-nobody-when-servers-end": servers_end_when_a_group_has_agreed,
    "what-was-handed-over-is-with-all": one_is_let_in_when_another_has_not_come,
}


@pytest.mark.parametrize("rule", MOMENTS, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    assert not SCHEDULES[rule.name](find("daisy"))
    assert SCHEDULES[rule.name](mutated("daisy", rule))
