"""Rules of the daisy that matter so seldom that a thousand runs, drawn at random, do not show it:
processes are brought by hand to the moment at which they do.

Each schedule says what is wrong: nothing with all rules, and something without the one that it is
named after."""

from collections.abc import Callable
from typing import Any

import pytest

from antecede.groups import GroupMessageId
from antecede.groups.packets import Join
from antecede.message import Message, MessageId
from antecede.order import Event, Order, Packet, Transmit
from antecede.overlays.daisy.items import (
    Above,
    Batch,
    Bind,
    Change,
    Missed,
    Ready,
    Reshape,
    process_key,
    unpack,
)
from antecede.overlays.daisy.stamp import DaisyStamp, Found, Left, Seek
from antecede.protocols import find
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import SELDOM
from tests.overlays.daisy_lab import SERVERS, Copy, Lab
from tests.overlays.test_daisy_cuts import is_told, let_go
from tests.overlays.test_daisy_moments import (
    CHANGING,
    gaps,
    home,
    inside_of,
    merge,
    perform,
    said,
    say,
    until,
)
from tests.overlays.test_daisy_one_by_one import EPOCH, ended

FOUR = 4
"""The group of servers over four local groups."""
SOON: dict[str, Any] = {"quorum": "majority", "suspect_after_s": 0.5}
"""Who is silent is missed soon."""


class TwoOfFour:
    """The groups of 0 and 3 merge, and there are two others. One of the two moves late: its members
    do not hear that all are ready. `unheard`: those whom the other servers do not hear. They leave
    them out; then these know it, and nobody hears that they ask to be let in again."""

    def __init__(self, order: type[Order], late: int) -> None:
        self.lab = Lab(order, size=12, **CHANGING)
        self.late = {late}
        self.unheard = set[int]()
        self.lab.lose = self._is_lost
        self.number = merge(self.lab, 0, 1)

    def _is_lost(self, copy: Copy) -> bool:
        packet = copy[2].packet
        if packet is None or packet.group != FOUR:
            return packet is not None and packet.group in self.late and Ready() in said(copy)
        is_among_them = isinstance(packet.body, Join) or self.serves(copy[0])
        return copy[0] in self.unheard and is_among_them

    def serves(self, process: int) -> bool:
        """Whether it is among the servers, as 9 knows, who always is."""
        return bool(self.lab.orders[9].layers()[1].here >> process & 1)

    def leave_out(self, process: int) -> None:
        """The servers go on without a process, and it knows that."""
        self.unheard.add(process)
        until(self.lab, lambda: not self.lab.orders[process].layers()[1].is_in)
        assert not self.serves(process)

    def send_both(self, first: int, second: int) -> None:
        """7 sends m1 and m2 to these. The server of the second has m2 for its group, which is about
        to move."""
        self.lab.send(7, first)
        self.send_second(7, second)

    def send_second(self, sender: int, second: int) -> None:
        self.lab.send(sender, second)
        one = self.lab.orders[inside_of(self.lab, home(self.lab, second))[0]]
        until(self.lab, lambda: len(one.layers()[0].unsent()) == 1)

    def end(self, server: int) -> list[str]:
        """The late group moves, with its server; then the servers hear all."""
        assert home(self.lab, server) != self.number
        self.late.clear()
        until(self.lab, lambda: home(self.lab, server) == self.number)
        assert not self.serves(server)
        self.lab.run(0.1)
        self.unheard.clear()
        return self.lab.run(60.0).faults()


def one_is_back_among_the_servers_when_its_group_has_moved(order: type[Order]) -> list[str]:
    """The group of 3 has moved, and 3 has left the servers. 7 sends m1 to 4 and then m2 to 1, for
    whom 0 has it; then 0 is left out, moves, and is let in again. All that the next group hears of
    m1, it hears from 0, which has brought m2."""
    merging = TwoOfFour(order, late=0)
    until(merging.lab, lambda: not merging.serves(3))
    merging.send_both(4, 1)
    merging.leave_out(0)
    return merging.end(0)


def both_servers_are_left_out_in_a_merge(order: type[Order]) -> list[str]:
    """0 has moved with its group when it is left out. 7 sends m1 to 1 and then m2 to 4, for whom 3
    has it; then 3 is left out, too, and moves. The next group has m2, and lacks m1 until 0 is let
    in again."""
    merging = TwoOfFour(order, late=1)
    until(merging.lab, lambda: home(merging.lab, 0) == merging.number)
    merging.lab.run(0.1)
    merging.leave_out(0)
    merging.send_both(1, 4)
    merging.leave_out(3)
    return merging.end(3)


def all_servers_die_in_a_merge(order: type[Order], sender: int) -> list[str]:
    """`sender` sends m1 to 4 and m2 to 1, for whom 0 has it. The other servers leave 3 out, which
    does not know it, and 0. They die, as do 7 and 8, and then the two groups move. 1 answers to m2.
    Of 7, 3 alone has m1; of 10, which lives, its own group."""
    merging, is_cut = TwoOfFour(order, late=0), False
    lab, is_lost = merging.lab, merging.lab.lose
    merging.late.add(1)

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        is_among_servers = packet is not None and packet.group == FOUR
        return is_lost(copy) or (is_cut and is_among_servers and 3 in copy[:2])

    def gives_way(process: int) -> bool:
        core = lab.orders[process].core
        return bool(core.gives_way(core.local))

    lab.lose = lose
    until(lab, lambda: gives_way(0) and gives_way(3))
    is_cut = sender == 10
    first, above = lab.send(sender, 4), lab.orders[3].layers()[1]
    until(lab, lambda: is_cut or first in above.memory.kept)
    is_cut = True
    merging.send_second(sender, 1)
    merging.leave_out(0)
    lab.crash(6, 7, 8, 9)
    lab.let_answer(1, 4)
    merging.late.clear()
    lab.run(90.0)
    assert home(lab, 1) == home(lab, 4) == merging.number
    assert lab.delivered[1]
    return lab.faults()


def servers_die_before_a_merged_group_has_begun(order: type[Order]) -> list[str]:
    """1 sends something to 10, whose group does not get it, and then to 7, which answers to 10. The
    group of 1 is merged with that of 3, and all other servers die before they bring what they have
    for it. In the next servers the answer must not come before what precedes it."""
    lab, is_late = Lab(order, size=12, **CHANGING), False

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        return copy[1] == 9 and packet is not None and packet.group == 4 and not is_late

    def before(copy: Copy) -> None:
        nonlocal is_late
        if copy[0] == 0 and any(isinstance(one, Batch) and one.above for one in said(copy)):
            lab.crash(0, 6, 9)
            is_late = True

    def answer(process: int, message: Message) -> None:
        if process == 7 and message.id.sender == 1:
            lab.send(7, 10)

    lab.lose, lab.before, lab.answer = lose, before, answer
    lab.send(1, 10)
    lab.send(1, 7)
    until(lab, lambda: lab.delivered[7])
    number = merge(lab, 0, 1)
    until(lab, lambda: is_late)
    lab.run(30.0)
    assert home(lab, 1) == home(lab, 3) == number
    assert len(lab.delivered[10]) == 2
    return lab.faults()


def a_group_that_has_not_begun_is_without_servers(order: type[Order]) -> bool:
    """A group is merged with another, and two others with all servers die before it has got what
    these have for it. Does its server say again and again that there are none?"""
    lab, is_late, times = Lab(order, size=12, **CHANGING), False, 0

    def before(copy: Copy) -> None:
        nonlocal is_late, times
        if copy[0] == 0 and any(isinstance(one, Batch) and one.above for one in said(copy)):
            lab.crash(0, 6, 7, 8, 9)
            is_late = True
        times += is_late and any(isinstance(one, Above) for one in said(copy))

    lab.before = before
    lab.send(1, 7)
    until(lab, lambda: lab.delivered[7])
    number = merge(lab, 0, 1)
    lab.run(60.0)
    assert home(lab, 1) == home(lab, 3) == number
    assert times
    return times > 100


def one_of_two_groups_is_bound_to_a_later_epoch(order: type[Order]) -> bool:
    """Two groups have agreed to merge when 3 tells its own that this is bound to a later epoch of
    the servers; nobody else hears that 3 looks for it. Is 0, who serves the next group, still in
    the earlier one?"""
    lab, later, is_decided = Lab(order, **CHANGING), 7 << 16, False

    def before(copy: Copy) -> None:
        nonlocal is_decided
        if copy[:2] == (0, 3):
            is_decided |= any(isinstance(one, Change) for one in said(copy, SERVERS))

    lab.before = before
    lab.lose = lambda copy: copy[0] == 3 and isinstance(copy[2].talk, Seek)
    number = merge(lab, 0, 1)
    until(lab, lambda: is_decided)
    say(lab, 3, 0, Bind(SERVERS, later))
    until(lab, lambda: home(lab, 0) == home(lab, 4) == number)
    lab.crash(3)
    lab.run(5.0)
    assert lab.orders[4].core.earliest_epoch(SERVERS) == later
    return any(layer.state.epoch < later for layer in lab.orders[0].layers()[1:])


def a_word_on_what_a_group_has_missed_is_late(order: type[Order]) -> list[int]:
    """9 says what the second group has missed. The others hear it when that has been split. Which
    of the two next groups is not told?"""
    groups = [[0, 1, 2], [3, 4, 5, 6, 7, 8], [9, 10, 11]]
    lab, missed = Lab(order, size=12, groups=groups, quorum="majority", split_above=6), (1, 1)
    lab.lose = lambda copy: any(isinstance(one, Missed) for one in said(copy, SERVERS))
    one = lab.orders[0]
    servers, first, second = one.layers()[1], one.core.new_number(), one.core.new_number()
    split = Change(1, servers.node.index, (1,), ((first, (3, 4, 5)), (second, (6, 7, 8))))
    one._consent.propose(servers, split, lab.now)
    say(lab, 9, 1, Missed(1, (missed,)))
    perform(lab, 0, one._settle(lab.now))
    until(lab, lambda: (home(lab, 3), home(lab, 6)) == (first, second))
    lab.lose = lambda copy: False
    lab.run(5.0)
    return [who for who in (3, 6) if (0, (MessageId(*missed),)) not in gaps(lab, who)]


def servers_are_founded_that_do_not_know(order: type[Order]) -> bool:
    """The group of 9 knows what 11 has missed, and all servers die. Do the next ones not know?"""
    lab, missed = Lab(order, size=12, sizes=[4], **CHANGING), MessageId(0, 1)
    lab.crash(11)
    lab.send(8, 9, 11)
    lab.run(4.0)
    for one in (8, 9, 10):
        lab.orders[one].layers()[0].memory.missed = {11: {missed}}
    lab.crash(0, 4, 8)
    lab.send(9, 10, 1)
    lab.run(20.0)
    servers = lab.orders[1].layers()[1]
    assert servers.state.epoch
    assert not servers.is_lost
    return missed not in servers.memory.missed_beside.get(process_key(11), set())


def one_that_is_awaited_is_forgotten(order: type[Order]) -> list[str]:
    """4 has answered what 0 sent early, and 0 dies. Its group forgets it between two looks at what
    waits for it. Does the answer go on?"""
    lab = Lab(order, quorum="majority", forward="delivered", forget_after_s=5.0, tidy_s=0.01)
    lab.lose = lambda copy: 0 in copy[:2] and bool({1, 2} & {*copy[:2]})

    lab.let_answer(4, 1)
    lab.send(0, 1)
    lab.send(0, 4)
    lab.run(0.5)
    assert lab.delivered[4]
    lab.crash(0)
    lab.run(2.0)
    lab.send(2, 0, 1)
    lab.run(60.0)
    return [fault for fault in lab.faults() if "missing" in fault]


def servers_are_founded_without_a_group(order: type[Order], who: int, away_s: float = 0.0) -> bool:
    """1 and 2 are cut off, and go on without 0. It gets something for them from 8, and 4 answers to
    what 8 sends next. Then 8 dies with its group and all servers but 0, which comes home, at once
    or when the next servers are there. These have the answer alone. Is one whom it is for not told
    what precedes it, with what is delivered after that?"""
    lab, is_cut = Lab(order, quorum="majority", forget_after_s=5.0), True
    apart = {1, 2}
    lab.lose = lambda copy: is_cut and ({*copy[:2]} & apart) not in (set(), {*copy[:2]})
    lab.let_answer(4, 0, 2)
    at_home = [lab.orders[one].layers()[0] for one in (0, 1)]
    lab.send(0, 1)
    lab.send(1, 2)
    until(lab, lambda: at_home[0].is_lost and at_home[1].is_server)
    first = lab.send(8, 0, 2)
    lab.send(8, 4)
    until(lab, lambda: lab.delivered[4])
    lab.run(0.5)
    lab.crash(3, 6, 7, 8)
    apart = {0}
    lab.run(away_s)
    is_cut = False
    lab.run(5.0)
    lab.send(5, 0, 1, 2)
    lab.run(90.0)
    assert MessageId(4, 1) in lab.delivered[2]
    assert all(first not in lab.delivered[one] for one in (0, 2))
    return not any(first in names for _, names in gaps(lab, who))


def merged_groups_knew_more(order: type[Order]) -> bool:
    """The group of 0 knows what 11 has missed, and is merged with that of 3. Do the servers not
    hear of it?"""
    lab, missed = Lab(order, size=12, **CHANGING), MessageId(1, 1)
    lab.crash(11)
    lab.send(9, 10, 4)
    lab.run(4.0)
    for one in (0, 1, 2):
        lab.orders[one].layers()[0].memory.missed_beside = {process_key(11): {missed}}
    merge(lab, 0, 1)
    lab.run(10.0)
    assert home(lab, 0) == home(lab, 3)
    return missed not in lab.orders[6].layers()[1].memory.missed_beside.get(process_key(11), set())


def a_new_server_hears_what_others_missed(order: type[Order]) -> bool:
    """The servers know what the group of 9 has missed, and 0 dies. Does its group not hear it from
    the next server?"""
    lab, missed = Lab(order, size=12, quorum="majority"), MessageId(4, 1)
    lab.crash(9, 10, 11)
    lab.send(1, 4)
    lab.run(4.0)
    for one in (3, 6):
        lab.orders[one].layers()[1].memory.missed = {3: {missed}}
    lab.crash(0)
    lab.send(1, 4)
    lab.run(10.0)
    return missed not in lab.orders[2].layers()[0].memory.missed_beside.get(3, set())


def one_is_back_that_knows_what_others_missed(order: type[Order], place: int) -> bool:
    """A group goes on without 0, its server: a local one or, of three levels, the one above. 0
    knows what another group has missed, as the servers have let it go. Is that one not told?"""
    size, sizes = ((9, [3]), (12, [2, 3]))[place]
    lab, is_cut, missed = Lab(order, size, sizes=sizes, quorum="majority"), True, MessageId(1, 1)
    layer, above = lab.orders[0].layers()[place : place + 2]
    others = [member.process for member in layer.view.members[1:]]
    lab.lose = lambda copy: is_cut and 0 in copy[:2] and not {*others}.isdisjoint(copy[:2])
    lab.send(1, *others)
    lab.send(others[0], others[1])
    heir = lab.orders[others[0]].layers()[place]
    until(lab, lambda: layer.is_lost and heir.is_server)
    until(lab, lambda: lab.orders[others[0]].layers()[place + 1].is_in)
    above.memory.missed = {max(above.node.children): {missed}}
    is_cut = False
    lab.run(20.0)
    return not any(missed in notice.messages for notice in lab.told(Event.GAP))


def one_is_back_when_others_have_been_told(order: type[Order]) -> object:
    """All in the group of 1 know what that of 6 has missed. 1 is cut off, and 6 is told. Does the
    word come back with 1?"""
    lab, is_cut, missed = Lab(order, quorum="majority"), True, MessageId(3, 1)
    at_home = [lab.orders[one].layers()[0] for one in (0, 1, 2)]
    lab.lose = lambda copy: is_cut and 1 in copy[:2]
    for layer in at_home:
        layer.memory.missed_beside = {2: {missed}}
    lab.send(0, 2)
    until(lab, lambda: not at_home[0].here >> 1 & 1)
    for layer in at_home[::2]:
        layer.memory.missed_beside = {}
    is_cut = False
    lab.send(0, 1, 2)
    lab.run(20.0)
    assert at_home[0].here >> 1 & 1
    return lab.told(Event.GAP)


def servers_are_founded_that_have_ended(order: type[Order]) -> list[str]:
    """Servers are split, and only 0 hears that all know. The others die, and the next ones found
    the servers anew behind a cut, without the group of 0. Does that hear of them again?"""
    lab = Lab(order, size=12, split_servers_above=3, forget_after_s=5.0, **SOON)
    told, is_cut = set[int](), True

    def lose(copy: Copy) -> bool:
        packet = copy[2].packet
        if packet is None or packet.group != FOUR or not copy[1]:
            return False
        is_known = len(told) == len({3, 6, 9})
        told.update([copy[1]] if any(isinstance(one, Reshape) for one in said(copy)) else ())
        return is_known

    lab.lose = lose
    servers = [lab.orders[one].layers()[1] for one in (0, 3, 6, 9)]
    lab.send(1, 4)
    until(lab, lambda: servers[0].state.moving.ended_by)
    assert not any(one.state.moving.ended_by for one in servers[1:])
    lab.crash(3, 6, 9)
    lab.lose = lambda copy: is_cut and (copy[0] < 3) != (copy[1] < 3)
    lab.send(4, 7)
    lab.run(20.0)
    assert lab.orders[4].layers()[1].memory.founded_without == {0}
    is_cut = False
    lab.send(1, 4)
    lab.send(4, 1)
    lab.run(60.0)
    return [*lab.faults(), *lab.kept()]


def one_alone_knows_that_servers_have_ended(order: type[Order]) -> bool:
    """1 hears that the servers have ended, and its group does not. Servers that are founded anew
    with that group must not hear it from 1: the group may never know."""
    lab = Lab(order, quorum="majority", split_servers_above=3)
    one, change = lab.orders[1], unpack(ended())
    assert isinstance(change, Reshape)
    local = one.layers()[0]
    one._changes.on_reshape(local, change, 0, GroupMessageId(local.member.core.me, 1))
    assert local.memory.bound[SERVERS] > EPOCH
    stamp = DaisyStamp(None, Found(SERVERS, EPOCH, (0, 3, 6), again=True), busy=True)
    effects = one.receive(Packet(3, None, stamp), lab.now)
    talks = [effect.packet.stamp.talk for effect in effects if isinstance(effect, Transmit)]
    return any(isinstance(talk, Left) for talk in talks)


SCHEDULES: dict[str, Callable[[type[Order]], object]] = {
    "merges-out-of-step": one_is_back_among_the_servers_when_its_group_has_moved,
    "from-above-is-not-last": both_servers_are_left_out_in_a_merge,
    "leaves-the-servers-with-its-own-alone": lambda order: all_servers_die_in_a_merge(order, 7),
    "begins-before-its-servers": lambda order: all_servers_die_in_a_merge(order, 10),
    "batch-drops-what-was-put-aside": servers_die_before_a_merged_group_has_begun,
    "says-at-every-tick-that-there-are-none": a_group_that_has_not_begun_is_without_servers,
    "bound-not-brought": one_of_two_groups_is_bound_to_a_later_epoch,
    "one-heir-is-told": a_word_on_what_a_group_has_missed_is_late,
    "forgets-groups-beside-in-batches": lambda order: not is_told(let_go(order, 0)),
    "forgets-members-beside-in-batches": servers_are_founded_that_do_not_know,
    "departed-is-not-had": one_that_is_awaited_is_forgotten,
    "forgets-what-its-group-has-not": lambda order: servers_are_founded_without_a_group(order, 0),
    "keeps-that-to-itself": lambda order: servers_are_founded_without_a_group(order, 2),
    "forgets-it-among-the-next-servers": lambda order: servers_are_founded_without_a_group(
        order, 0, away_s=8.0
    ),
    "comes-home-and-is-silent": lambda order: any(
        one_is_back_that_knows_what_others_missed(order, place) for place in (0, 1)
    ),
    "keeps-that-from-the-servers": lambda order: any(
        one_is_back_that_knows_what_others_missed(order, place) for place in (0, 1)
    ),
    "comes-home-with-old-news": one_is_back_when_others_have_been_told,
    "keeps-to-itself-what-merged-groups-knew": merged_groups_knew_more,
    "new-servers-keep-to-themselves-who-has-missed-it": a_new_server_hears_what_others_missed,
    "lets-servers-call-that-it-has-left": servers_are_founded_that_have_ended,
    "answers-though-not-all-know": one_alone_knows_that_servers_have_ended,
}


@pytest.mark.parametrize("rule", SELDOM, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    assert not SCHEDULES[rule.name](find("daisy"))
    assert SCHEDULES[rule.name](mutated("daisy", rule))
