"""Rules that are shown one by one, each at the moment at which it matters: in a small lab, or by
the part of a process that keeps it.

Each schedule says what is wrong: nothing with all rules, and something without the one that it is
named after."""

from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from antecede.groups import GroupMessageId
from antecede.groups.packets import Data, Join
from antecede.message import Message, MessageId, process_set
from antecede.order import Event, Notice, Order
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
    carries,
    carry,
    decode_items,
    pack,
    shorter,
    unpack,
)
from antecede.overlays.daisy.stamp import DaisyStamp, Left, Moved, Poke
from antecede.protocols import find
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import ONE_BY_ONE
from tests.overlays.daisy_lab import SERVERS, Copy, Lab, carried
from tests.overlays.test_daisy_cuts import brings_a_batch

EPOCH = 1 << 16
"""The first one that is founded anew, by process 0."""


def words(copy: Copy, group: int | None = None) -> list[Item]:
    """What a packet brings (into this group)."""
    packet = copy[2].packet
    if packet is None or group not in (None, packet.group) or not isinstance(packet.body, Data):
        return []
    return list(decode_items(packet.body.payload))


def part(lab: Lab, *sides: tuple[int, ...]) -> None:
    """Nobody hears those of another side."""
    place = {process: number for number, side in enumerate(sides) for process in side}
    lab.lose = lambda copy: place.get(copy[0], -1) != place.get(copy[1], -1)


def say(lab: Lab, process: int, level: int, item: Item) -> None:
    """A process says something in one of its groups."""
    core = lab.orders[process].core
    core.send_word(core.layers[level], item, lab.now)
    stamp = DaisyStamp(None, Poke(core.layers[0].node.index), busy=True)
    lab.arrive((process, process, stamp), lab.now)
    lab.run(0.0)


# Who may found servers, and come back to them.


def the_first_group_goes_on_beside_the_senior_server(order: type[Order]) -> bool:
    """0 is left out at home for a while, so that 3 is the senior one of two servers when these are
    cut off from each other: it goes on. 1, of the first group, waits for long, and must not go on
    as well."""
    lab = Lab(order, size=6, quorum="majority", forget_after_s=5.0, suspect_after_s=0.5)
    lab.send(1, 2)
    lab.lose = lambda copy: copy[:2] in ((0, 1), (1, 0), (0, 2), (2, 0))
    lab.run(5.0)
    lab.lose = lambda copy: False
    lab.send(1, 0)
    lab.run(5.0)
    assert [one.process for one in lab.orders[3].layers()[1].view.members] == [3, 1]
    part(lab, (0, 1, 2), (3, 4, 5))
    lab.send(1, 4)
    lab.send(4, 1)
    lab.run(15.0)
    return not (lab.orders[1].layers()[1].is_lost or lab.orders[3].layers()[1].is_lost)


def one_is_left_in_a_later_epoch(order: type[Order]) -> list[str]:
    """The second group is bound to an epoch that never began: its server looks for that, and never
    comes back to the servers as they are."""
    lab = Lab(order, quorum="majority", suspect_after_s=0.5)
    say(lab, 3, 0, Bind(SERVERS, EPOCH))
    lab.run(4.0)
    lab.send(1, 4)
    return lab.run(20.0).faults()


def one_that_is_lost_at_home_asks_the_servers(order: type[Order]) -> bool:
    """3 is cut off, and replaced by 4. When the servers can be reached again, but not its own
    group, it must not ask them to let it in: it speaks for no group."""
    lab, asks = Lab(order, quorum="majority", suspect_after_s=0.5), list[Copy]()
    lab.send(4, 5, 7)
    while not lab.orders[3].layers()[1].memory.kept:
        lab.run(0.01)
    part(lab, (3,), (0, 1, 2, 4, 5, 6, 7, 8))
    lab.run(5.0)

    def before(copy: Copy) -> None:
        packet = copy[2].packet
        if copy[0] == 3 and packet and packet.group == SERVERS and isinstance(packet.body, Join):
            asks.append(copy)

    part(lab, (0, 3, 6), (4, 5))
    lab.before = before
    lab.run(10.0)
    assert lab.orders[3].layers()[0].is_lost
    return bool(asks)


# How groups agree.

FOUR = [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12], [13, 14, 15]]
OVER_FOUR = 4
"""The servers over these."""


def four(order: type[Order], **options: Any) -> Lab:
    return Lab(order, size=16, groups=FOUR, quorum="majority", **options)


def merge(first: int, *groups: tuple[int, tuple[int, ...]]) -> Change:
    """Of these groups, each with its members as somebody knows them."""
    gone = tuple(index for index, _ in groups)
    return Change(1, OVER_FOUR, gone, ((first, sum((those for _, those in groups), ())),))


def answers(lab: Lab, heard: list[Proposal]) -> None:
    """Note what groups answer."""

    def before(copy: Copy) -> None:
        asked = [one for one in words(copy, OVER_FOUR) if isinstance(one, Proposal)]
        heard.extend(one for one in asked if one not in heard and one.node is not None)

    lab.before = before


def a_group_agrees_to_two_changes(order: type[Order]) -> bool:
    """The third group is asked to merge with the fourth, which does not hear that, and then with
    the second. It must not agree to both: each may come about, and end it."""
    lab, heard = (
        four(order, merge_below=2),
        list[Proposal](),
    )
    answers(lab, heard)
    lab.lose = lambda copy: 13 in copy[:2]
    say(lab, 0, 1, Proposal(merge(100, (2, (10, 11, 12)), (3, (13, 14, 15)))))
    lab.run(0.5)
    say(lab, 0, 1, Proposal(merge(200, (1, (5, 6, 7, 8, 9)), (2, (10, 11, 12)))))
    lab.run(0.5)
    assert len([one for one in heard if one.node == 2]) == 2
    return all(one.agrees for one in heard if one.node == 2)


def groups_agree_for_those_who_have_died(order: type[Order]) -> list[str]:
    """Two groups of five have two members each by now. A merge that names all ten would leave them
    without a majority for good."""
    lab = four(order, merge_below=2, suspect_after_s=0.5)
    for dead in ((3, 4, 8, 9), (2, 7)):
        lab.send(0, 1, 5)
        lab.send(5, 6)
        lab.crash(*dead)
        lab.run(5.0)
    say(lab, 0, 1, Proposal(merge(100, (0, (0, 1, 2, 3, 4)), (1, (5, 6, 7, 8, 9)))))
    lab.run(5.0)
    lab.send(1, 6)
    lab.send(10, 6)
    return lab.run(20.0).faults()


def a_void_change_is_agreed_to_again_and_again(order: type[Order]) -> bool:
    """A merge names one who is not in the fourth group: this refuses it. The third one, which has
    agreed, hears that it is void and is asked once more, as it had answered late."""
    lab = four(order, merge_below=2)
    said: dict[int, set[str]] = {0: set(), 10: set()}

    def lose(copy: Copy) -> bool:
        """What 10 answers comes late."""
        if copy[:2] not in ((0, 10), (10, 0)):
            return False
        asked = [one for one in words(copy, OVER_FOUR) if isinstance(one, Proposal)]
        is_new = bool(asked) and repr(copy[2].packet) not in said[copy[0]]
        said[copy[0]].update(repr(copy[2].packet) for _ in asked)
        return is_new and copy[0] == 10

    lab.lose = lose
    say(lab, 0, 1, Proposal(merge(100, (2, (10, 11, 12)), (3, (13, 14)))))
    lab.run(20.0)
    return len(said[0]) > 10


def a_group_is_never_asked_to_what_another_has_agreed(order: type[Order]) -> bool:
    """Two small groups are to merge. The server of one dies before it asks its group; the other
    group has agreed, and waits for an answer."""
    lab = four(order, merge_below=4, split_above=7)

    def before(copy: Copy) -> None:
        if copy[0] == 13 and any(isinstance(one, Proposal) for one in words(copy, 3)):
            lab.crash(13)

    lab.before = before
    lab.send(0, 1)
    lab.run(15.0)
    assert 13 in lab.dead
    lab.send(14, 0)
    lab.send(1, 6)
    lab.run(15.0)
    return not lab.told(Event.MERGE)


def has_agreed(order: type[Order]) -> Lab:
    """The third group has agreed to a merge; the fourth does not answer."""
    lab = four(order, merge_below=2, split_servers_above=4)
    lab.lose = lambda copy: copy[0] == 13 and copy[2].packet is not None and bool(words(copy))
    say(lab, 0, 1, Proposal(merge(100, (2, (10, 11, 12)), (3, (13, 14, 15)))))
    lab.run(1.0)
    assert lab.orders[10].layers()[0].memory.agreed_to
    return lab


def is_ready(lab: Lab, process: int) -> bool:
    """The servers freeze. Does one of them say that it sends no more?"""
    said = set[int]()

    def before(copy: Copy) -> None:
        if any(isinstance(one, Ready) for one in words(copy, OVER_FOUR)):
            said.add(copy[0])

    lab.before = before
    say(lab, 0, 1, Freeze(1))
    lab.run(1.0)
    assert 5 in said
    return process in said


def one_is_ready_whose_group_has_agreed(order: type[Order]) -> bool:
    return is_ready(has_agreed(order), 10)


def one_is_ready_who_knows_that_its_group_gives_way(order: type[Order]) -> bool:
    """10 has heard of the merge before its group has."""
    lab = four(order, merge_below=2, split_servers_above=4)
    lab.send(0, 5)
    lab.run(1.0)
    change = merge(100, (2, (10, 11, 12)), (3, (13, 14, 15)))
    lab.orders[10]._changes.history.learn([pack(change)])
    return is_ready(lab, 10)


def servers_freeze_while_a_group_is_asked(order: type[Order]) -> bool:
    """Four groups are one too many. Their servers have asked two of them to merge, one of which
    does not answer. What others send to each other must not wait for that."""
    lab = four(order, merge_below=2, split_servers_above=3)
    change = merge(100, (2, (10, 11, 12)), (3, (13, 14, 15)))
    zero = lab.orders[0]
    zero._consent.propose(zero.core.layers[1], change, 0.0)
    lab.lose = lambda copy: bool(copy[0] == 13 and words(copy, OVER_FOUR))
    lab.send(0, 1)
    lab.run(1.0)
    question = lab.send(1, 6)
    lab.run(1.0)
    return (6, question) not in lab.delivered_at


# What groups remember of how they have changed.


def three_levels(order: type[Order], sizes: list[int], size: int) -> Lab:
    return Lab(order, size=size, sizes=sizes, split_servers_above=4, merge_servers_below=2)


def group(lab: Lab, index: int) -> Group:
    node = lab.orders[0].core.first_plan.nodes[index]
    return Group(index, node.level, node.founders, shorter(node.processes), node.children)


def dissolved(lab: Lab, gone: int, above: int, *below: Group) -> bytes:
    return pack(Reshape(gone, group(lab, above), (), below))


def changes_of_two_levels(lab: Lab) -> list[bytes]:
    """Of eight processes in four groups, below 4 and 5, below 6: the first two groups merge, both
    groups of servers dissolve, and what was merged is merged with the third one."""
    merged = Group(100, 0, (0, 1, 2, 3), (0, 1, 2, 3))
    return [
        pack(Change(1, 4, (0, 1), ((100, (0, 1, 2, 3)),))),
        dissolved(lab, 4, 6, merged),
        dissolved(lab, 5, 6, group(lab, 2), group(lab, 3)),
        pack(Change(1, 6, (100, 2), ((200, (0, 1, 2, 3, 4, 5)),))),
    ]


def what_was_heard_last_is_the_last(order: type[Order]) -> bool:
    """7 hears last of what came first."""
    lab = three_levels(order, [2, 2], 8)
    first, *others = changes_of_two_levels(lab)
    lab.orders[7]._changes.history.learn([*others, first])
    assert len(lab.orders[7].core.state.changes) == 4
    return bool(lab.orders[7].core.plan.leaf(0).index != 200)


def a_newcomer_hears_half_of_what_has_changed(order: type[Order]) -> bool:
    """What the last group remembers, who comes into it is told: it must know of the same groups
    then, and miss no servers that are no more."""
    lab = three_levels(order, [2, 2], 8)
    one, other = lab.orders[0]._changes.history, lab.orders[7]._changes.history
    one.learn(changes_of_two_levels(lab))
    other.learn(one.lineage(200, []))
    known, told = (lab.orders[process].core.plan.nodes[6] for process in (0, 7))
    return set(told.children) != set(known.children)


def what_has_given_way_comes_below_again(order: type[Order]) -> bool:
    """12 has dissolved, and then 8, which was below it. One that hears of this first must not wait
    for 8 below 14."""
    lab = three_levels(order, [2, 2, 2], 16)
    first = dissolved(lab, 12, 14, group(lab, 8), group(lab, 9))
    second = dissolved(lab, 8, 14, group(lab, 0), group(lab, 1))
    lab.orders[15]._changes.history.learn([second, first])
    assert {0, 1, 9, 13} <= {*lab.orders[15].core.plan.nodes[14].children}
    return 8 in set(lab.orders[15].core.plan.nodes[14].children)


def a_change_is_believed_that_no_group_remembers(order: type[Order]) -> bool:
    """0 has heard from servers that were that two groups have merged. Those who are in them do not
    remember it: it never came about."""
    lab = four(order, merge_below=2)
    change = merge(100, (2, (10, 11, 12)), (3, (13, 14, 15)))
    history, core = lab.orders[0]._changes.history, lab.orders[0].core
    history.learn([pack(change)])
    history.go_by([], process_set((10, 13)))
    return bool({2, 3} & core.plan.gone) or core.plan.nodes[4].children != (0, 1, 2, 3)


def the_top_dissolves_over_three_groups(order: type[Order]) -> bool:
    """Where the group at the top gives way, all groups are below one another group."""
    lab = Lab(order, split_servers_above=3)
    zero = lab.orders[0]
    change = zero._levels._compose(zero.core.layers[1], None)
    zero._changes.history.learn([pack(change)])
    nodes = zero.core.plan.nodes
    tops = {change.parent_of(child) for child in range(3)}
    return None in tops or len({nodes[top].parent or change.above.index for top in tops}) > 1


# What is told, and what is brought along.


def what_a_group_has_missed_is_not_told_after_a_merge(order: type[Order]) -> bool:
    """The servers have let go of something that the third group has missed, and that it has not
    been told of when it is merged with another."""
    lab, missed = (
        four(order, merge_below=4),
        MessageId(0, 1),
    )
    for server in (0, 5, 10, 13):
        lab.orders[server].layers()[1].memory.note_missed(2, [missed])
    lab.send(0, 1)
    lab.run(5.0)
    assert lab.told(Event.MERGE)
    return not any(missed in gap.messages for gap in lab.told(Event.GAP))


def brought(layer: Any, *messages: MessageId) -> set[MessageId]:
    """Which of these messages one would bring along who comes back."""
    stored = [pack(carry(Message(one, 1 << 4, -1, b"x"), 1)) for one in messages]
    return {one.id for one in carries(map(unpack, layer.to_bring(stored)))}


def one_brings_what_the_servers_have(order: type[Order]) -> bool:
    """What came to 4 from another group comes to its own from the servers, in order."""
    lab, own, other = Lab(order), MessageId(3, 1), MessageId(0, 1)
    return brought(lab.orders[4].layers()[0], own, other) != {own}


def one_leaves_what_came_before(order: type[Order]) -> bool:
    """Six in a group are split, and its half has not begun when 4 is left out and comes
    back: what it has from 5, who is in the other half, came from the group before."""
    lab = Lab(order, groups=[[0, 1, 2, 3, 4, 5], [6, 7, 8]], split_above=5, quorum="majority")
    lab.lose = lambda copy: any(isinstance(one, Batch) for one in words(copy))
    lab.send(0, 4)
    while len(members_of(lab, 4)) > 3 or not lab.orders[4].layers()[0].memory.missing_batches:
        lab.run(0.01)
    assert 5 not in members_of(lab, 4)
    theirs, others = MessageId(5, 1), MessageId(6, 1)
    return brought(lab.orders[4].layers()[0], theirs, others) != {theirs}


def members_of(lab: Lab, process: int) -> list[int]:
    view = lab.orders[process].layers()[0].view
    return [] if view is None else [member.process for member in view.members]


def one_brings_what_another_group_has_sent_early(order: type[Order]) -> list[str]:
    """0 and 3 serve their groups when they are cut off together. Before they notice, 0 sends
    something to 8 alone, and then to 3 and 8; both reach 3, as one of the servers, but only the
    later one is for its group. The others go on with new servers; then 3 is back, and later 0."""
    lab = Lab(order, quorum="majority", forward="delivered")
    for sender, receiver in ((1, 4), (4, 7), (7, 1)):
        lab.send(sender, receiver)
    lab.run(1.0)
    part(lab, (0, 3), (1, 2, 4, 5, 6, 7, 8))
    lab.send(0, 8)
    lab.send(0, 3, 8)
    lab.send(1, 2)
    lab.send(4, 5)
    lab.run(20.0)
    lab.send(1, 7)
    lab.run(1.0)
    part(lab, (0,), (1, 2, 3, 4, 5, 6, 7, 8))
    lab.run(4.0)
    lab.lose = lambda copy: False
    return lab.run(60.0).faults()


# Groups that die, or are cut off, when others give way.


def a_group_dies_when_its_servers_are_to_dissolve(order: type[Order]) -> list[str]:
    """Six groups of two, three each below 0 and 6, which are few enough to dissolve. 6 has told 0
    so when 10 and 11 die; 0 hears it later, in the next view of 6. Nothing is kept for the dead:
    still, their servers must not wait for them for ever."""
    clock = {"suspect_after_s": 0.5, "forget_after_s": 6.0}
    lab = Lab(order, size=12, sizes=[2, 3], quorum="majority", merge_servers_below=4, **clock)

    def before(copy: Copy) -> None:
        if copy[0] == 6 and reshapes(copy):
            lab.crash(10, 11)

    def reshapes(copy: Copy) -> bool:
        return any(isinstance(one, Reshape) for one in words(copy, 8))

    lab.before = before
    lab.lose = lambda copy: lab.now < 2.0 and copy[0] == 6 and reshapes(copy)
    lab.send(0, 1)
    lab.send(6, 7)
    lab.run(5.0)
    assert 10 in lab.dead
    lab.send(6, 8)
    return lab.run(40.0).faults()


def one_is_lost_with_what_nobody_has_had(order: type[Order]) -> list[str]:
    """Six groups of three, three each below 0 and 9. 9 has told 0 that its group dissolves when 12
    dies; in the next view 15 sends up what 16 has for 10, and is cut off with its group. The others
    dissolve without it. It hears of that, and must not say that all have what it has sent."""
    clock = {"suspect_after_s": 1.0, "forget_after_s": 12.0}
    lab = Lab(order, size=18, sizes=[3, 3], quorum="majority", merge_servers_below=4, **clock)
    lost = {15, 16, 17}
    cut_at, deaf_until = inf, inf

    def before(copy: Copy) -> None:
        if copy[0] == 9 and any(isinstance(one, Reshape) for one in words(copy, 8)):
            lab.crash(12)

    def lose(copy: Copy) -> bool:
        is_sent = copy[0] == 15 and bool(carried(copy[2], 7))
        is_cut = lab.now >= cut_at and (copy[0] in lost) != (copy[1] in lost)
        return is_sent or is_cut or (copy[:2] == (0, 9) and 12 in lab.dead and lab.now < deaf_until)

    lab.before, lab.lose = before, lose
    lab.send(0, 1)
    lab.send(9, 10)
    fifteen = lab.orders[15]
    while fifteen.layers()[1].view.number < 2:
        lab.run(0.01)
    lab.send(16, 10)
    while not fifteen.layers()[1].memory.kept:
        lab.run(0.01)
    cut_at, deaf_until = lab.now, lab.now + 2.0
    lab.run(15.0)
    cut_at = inf
    lab.send(16, 15)
    lab.before = lambda copy: None
    lab.lose = lambda copy: False
    return lab.run(40.0).faults()


def one_says_that_servers_end_that_are_not_frozen(order: type[Order]) -> bool:
    """What 0 has said in an earlier view comes in a later one: it is void."""
    lab = Lab(order, quorum="majority", suspect_after_s=0.5, merge_servers_below=2)
    say(lab, 0, 1, unpack(ended()))
    lab.run(1.0)
    return bool(lab.orders[3].core.state.changes)


def ended() -> bytes:
    """The servers of three groups have given way to two groups of servers."""
    first = 1 << 26
    made = (
        Group(first, 1, (0, 3), shorter(0o77), (0, 1)),
        Group(first + 1, 1, (6,), shorter(0o700), (2,)),
    )
    root = Group(first + 2, 2, (0, 6), shorter(0o777))
    below = tuple(Group(one, 0, (3 * one,), shorter(0o7 << 3 * one)) for one in range(3))
    return pack(Reshape(SERVERS, root, made, below, raised=True))


def _one_has_what_comes_up(order: type[Order]) -> Lab:
    """Among the servers only 0 has what 1 sends to 4."""
    lab = Lab(order, quorum="majority", suspect_after_s=0.5, merge_servers_below=2)
    lab.lose = lambda copy: bool(carried(copy[2], SERVERS))
    lab.send(1, 4)
    while not lab.orders[0].layers()[1].memory.kept:
        lab.run(0.01)
    return lab


def _hear_of_their_end(lab: Lab) -> None:
    for server in (0, 3, 6):
        stamp = DaisyStamp(None, Left(SERVERS, ended()), busy=True)
        lab.arrive((server + 1, server, stamp), lab.now)


def servers_end_before_a_group_has_what_is_for_it(order: type[Order]) -> list[str]:
    """All servers hear that they have ended, as others had decided before these were founded anew.
    0 must not say that 4 has what is for it."""
    lab = _one_has_what_comes_up(order)
    _hear_of_their_end(lab)
    return lab.run(20.0).faults()


def servers_end_without_a_group(order: type[Order]) -> bool:
    """The same, when they have forgotten the group of 4: the groups beside it are to know what it
    lacks."""
    lab, told = _one_has_what_comes_up(order), list[Missed]()
    lab.orders[0].layers()[1].memory.forgotten.add(1)

    def before(copy: Copy) -> None:
        told.extend(one for one in words(copy, 0) if isinstance(one, Missed))

    lab.before = before
    _hear_of_their_end(lab)
    lab.run(0.1)
    return Missed(1, ((1, 1),), beside=True) not in told


def servers_hear_of_a_split(order: type[Order]) -> bool:
    """0 does not act on it before all servers have it."""
    lab = Lab(order, size=12, sizes=[4], quorum="majority", split_above=3)
    first = lab.orders[0]
    servers = first.layers()[1]
    change = Change(1, SERVERS, (0,), ((1 << 26, (0, 1)), ((1 << 26) + 1, (2, 3))))
    within = GroupMessageId(servers.member.core.me, 1)
    first._changes.on_change(servers, change, within, 0.0)
    return bool(first.core.state.changes)


def one_that_does_not_serve_knows_who_has_missed_something(order: type[Order]) -> bool:
    """2 is away. 1, which does not serve, knows that it has missed something: it calls 2 as well,
    for 0 may die while all sleep."""
    lab = Lab(order, quorum="majority", suspect_after_s=0.5)
    lab.send(0, 1)
    part(lab, (0, 1, 3, 4, 5, 6, 7, 8), (2,))
    lab.run(5.0)
    lab.orders[1].layers()[0].memory.missed[2] = {MessageId(3, 1)}
    calls: list[Copy] = []

    def before(copy: Copy) -> None:
        if copy[:2] == (1, 2) and isinstance(copy[2].talk, Poke):
            calls.append(copy)

    lab.before = before
    lab.send(1, 0)
    lab.run(3.0)
    return not calls


def two_of_four_groups_are_left(order: type[Order]) -> bool:
    """They have the first group and the most senior server of the last view, and are not most: the
    others, who may know only earlier views, could be such a half as well."""
    first = Lab(order, size=12, quorum="majority").orders[0]
    servers = first.layers()[1]
    assert first._search._are_most(servers, {0, 1, 2})
    return bool(first._search._are_most(servers, {0, 1}))


def a_batch_is_given_up_while_one_is_away(order: type[Order]) -> bool:
    """The second group brings no batch. 2, which is away from the first one, may have served with
    it: is it not named, too?"""
    lab = Lab(order, quorum="majority")
    first = lab.orders[0]
    servers = first.layers()[1]
    servers.memory.missing_batches.add(1)
    servers.state.founding.absent = process_set((2,))
    first._absence.on_forget(servers, Forget(1, batch=True), lab.now)
    told = [one.members for one in first.core.effects if isinstance(one, Notice)]
    assert len(told) == 1
    return not told[0] >> 2 & 1


def a_group_dies_when_it_is_merged(order: type[Order]) -> list[str]:
    """6 is cut off with its group, and is to get something from 1, which then talks with 4, which
    writes to 6 as well. 0 and 1 die when their group is merged with that of 3: this has left the
    servers, and is the only one who has what 1 had sent."""
    groups = [[0, 1, 2], [3, 4, 5], [6, 7, 8, 9]]
    clock = {"suspect_after_s": 0.5, "forget_after_s": 10.0}
    lab = Lab(order, size=10, groups=groups, quorum="majority", merge_below=3, **clock)
    lab.send(1, 4)
    lab.run(0.5)
    part(lab, (0, 1, 2, 3, 4, 5), (6, 7, 8, 9))
    for sender, to in ((1, 6), (1, 4), (4, 6)):
        lab.send(sender, to)
        lab.run(1.0)

    def before(copy: Copy) -> None:
        packet = copy[2].packet
        if copy[0] < 2 and packet is not None and packet.group >= 1 << 26:
            lab.crash(0, 1)

    lab.before = before
    lab.crash(2)
    lab.run(3.0)
    assert {0, 1} <= lab.dead
    lab.lose = lambda copy: False
    return lab.run(60.0).faults()


def servers_never_hear_of_a_merge(order: type[Order]) -> bool:
    """The last two groups have merged, and the servers who decided that have died: those who are
    there now do not know of it. The next server of the merged group says so."""
    lab = four(order, merge_below=2)
    lab.send(0, 1, 6, 11, 14)
    lab.run(1.0)
    change = pack(merge(100, (2, (10, 11, 12)), (3, (13, 14, 15))))
    for process in range(10, 16):
        stamp = DaisyStamp(None, Moved(2 if process < 13 else 3, (change,)), busy=True)
        lab.arrive((11, process, stamp), lab.now)
    lab.run(5.0)
    lab.crash(10)
    lab.send(11, 12)
    lab.run(10.0)
    return any(change not in lab.orders[server].state.changes for server in (0, 5))


def a_founder_knows_of_a_split_that_never_was(order: type[Order]) -> object:
    """Six groups of two, below three groups of servers, below 0, 4 and 8, who die. 6, one of the
    next, has heard that the first group of servers was split, which never came about: it says that
    half of it is away. 10 is late. Nobody can look for that half."""
    lab = Lab(order, size=12, sizes=[2, 2], split_servers_above=4, suspect_after_s=0.5)
    made = tuple(Group(100 + one, 1, (2 * one,), (2 * one, 2 * one + 1), (one,)) for one in (0, 1))
    split = Reshape(6, group(lab, 9), made, (group(lab, 0), group(lab, 1)))
    lab.send(1, 4, 8)
    lab.run(1.0)
    lab.orders[6]._changes.history.learn([pack(split)])
    lab.crash(0, 4, 8)
    lab.lose = lambda copy: copy[0] == 10 and lab.now < 8.0 and brings_a_batch(copy)
    for sender, to in ((2, 3), (2, 6), (6, 10), (10, 2)):
        lab.send(sender, to)
    try:
        lab.run(30.0)
    except KeyError as group_that_never_was:
        return group_that_never_was
    return lab.faults()


SCHEDULES: dict[str, Callable[[type[Order]], Any]] = {
    "the-first-group-goes-on": the_first_group_goes_on_beside_the_senior_server,
    "leaves-one-in-a-later-epoch": one_is_left_in_a_later_epoch,
    "asks-above-though-lost-at-home": one_that_is_lost_at_home_asks_the_servers,
    "agrees-twice": a_group_agrees_to_two_changes,
    "agrees-for-who-is-not-there": groups_agree_for_those_who_have_died,
    "agrees-again-to-what-is-void": a_void_change_is_agreed_to_again_and_again,
    "nobody-asks-the-others": a_group_is_never_asked_to_what_another_has_agreed,
    "ready-though-it-has-agreed": one_is_ready_whose_group_has_agreed,
    "ready-though-its-group-gives-way": one_is_ready_who_knows_that_its_group_gives_way,
    "freezes-while-it-asks": servers_freeze_while_a_group_is_asked,
    "the-last-that-is-heard-is-the-last": what_was_heard_last_is_the_last,
    "remembers-half-of-its-past": a_newcomer_hears_half_of_what_has_changed,
    "comes-below-again": what_has_given_way_comes_below_again,
    "believes-servers-that-were": a_change_is_believed_that_no_group_remembers,
    "the-top-dissolves": the_top_dissolves_over_three_groups,
    "missed-under-a-name-that-was": what_a_group_has_missed_is_not_told_after_a_merge,
    "brings-what-the-servers-have": one_brings_what_the_servers_have,
    "leaves-what-came-before": one_leaves_what_came_before,
    "rises-though-it-came-down": one_brings_what_another_group_has_sent_early,
    "frozen-for-ever": a_group_dies_when_its_servers_are_to_dissolve,
    "says-what-was-said-in-an-earlier-view": one_says_that_servers_end_that_are_not_frozen,
    "moves-before-all-know": servers_hear_of_a_split,
    "dissolves-in-silence": servers_end_without_a_group,
    "says-what-was-own-though-a-group-lacks-it": servers_end_before_a_group_has_what_is_for_it,
    "only-the-server-calls": one_that_does_not_serve_knows_who_has_missed_something,
    "half-of-the-groups-are-enough": two_of_four_groups_are_left,
    "gives-up-a-batch-and-names-its-group-alone": a_batch_is_given_up_while_one_is_away,
    "leaves-the-servers-empty-handed": a_group_dies_when_it_is_merged,
    "new-servers-keep-changes-to-themselves": servers_never_hear_of_a_merge,
    "misses-groups-that-never-were": a_founder_knows_of_a_split_that_never_was,
}


@pytest.mark.parametrize("rule", ONE_BY_ONE, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    assert not SCHEDULES[rule.name](find("daisy"))
    assert SCHEDULES[rule.name](mutated("daisy", rule))


def test_who_was_lost_to_servers_does_not_know_what_is_theirs_alone() -> None:
    name = "says-what-was-own-though-a-group-lacks-it"
    rule = next(rule for rule in ONE_BY_ONE if rule.name == name)
    assert not one_is_lost_with_what_nobody_has_had(find("daisy"))
    assert one_is_lost_with_what_nobody_has_had(mutated("daisy", rule))
