"""What excuses an undelivered copy or an early delivery, copy by copy.

Four things do. A *cut*: cuts that last for ever part the process from the sender and from all who
have delivered the message, as far as they live, and no chain of links that work in both directions
leads around them. A *loss*: an application has crashed, and so has a router that may have had the
only copy of what it sent. That copy is excused, and so is what has arrived where it is missing: a
message may wait for more than what precedes it. A *stop*: a group has lost its majority for good,
says so, and the copy has no other way; or nobody is left in a group who could let one in that asks
for it (or nobody whom that one can reach), and it says so. That is judged from the views that were
told, who lives and which cuts last, not from the mere word of who has stopped. One cut link between
two servers is no such excuse where another member can serve in the place of one of them. A *gap*:
it was told that a message is lost, its sender is dead, and none of the survivors had it when that
was told: what is told of a message that somebody has excuses nothing, even if that one lets it go
later. That is looked up: the run is repeated with a mark in every message, and the marks are sought
in the states of the survivors. Nothing of the protocol takes part in the last two.

A protocol may say for how long messages are kept for one that is away (`forget_after_s`). Where
faults, and the time that it takes to be back, have lasted for longer than that, two gaps excuse
though somebody has the message: one that names the message, for the process that told it and those
behind it; and one that names processes which are gone on without, for messages that these alone
have and others lack. A group that has lost its majority for good is such a fault, for the gaps that
name one of its members or a message. Such copies are counted apart (`Excuses.let_go`).
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property, reduce
from hashlib import blake2b
from math import inf
from operator import and_, or_
from typing import NamedTuple

from antecede.message import MessageId, ProcessSet, members, process_set
from antecede.order import Event, Notice
from antecede.simulate.notices import Chronicle
from antecede.simulate.reach import lasting_cuts, parts, reach, united
from antecede.simulate.scenario import Scenario

MARK_BYTES = 12
BACK_SILENCES = 4
"""How many times as long as a silence that is taken for a crash it takes to be back, unless the
options say more (`silences_back`)."""

SERVERS = "servers"
"""How the names of groups begin whose members serve groups of their own: who has stopped there goes
on at home."""

_FEWEST_TO_SWAP = 3
"""So many members a local group has at least if another one is to serve because of a cut link."""

Telling = tuple[Notice, int]
"""A notice of a gap, and the process that told it if it speaks of that process alone; else -1."""
States = Mapping[int, bytes]
"""By survivor, its state at the time when a gap was told."""


class Left(NamedTuple):
    """A message that was not delivered everywhere."""

    message: MessageId
    unreceived: ProcessSet
    """Who lives and has not received it."""
    held: ProcessSet
    """Who lives, has received it and holds it."""
    delivered: ProcessSet
    """Who may have delivered it, the dead included."""


def mark(message: MessageId) -> bytes:
    """The bytes by which a message is found wherever it is."""
    return blake2b(b"%d:%d" % message, digest_size=MARK_BYTES).digest()


def _number(where: str) -> int:
    """The number of a group, which its name ends with."""
    return int(where.rsplit(maxsplit=1)[-1])


def telling(process: int, notice: Notice) -> Telling:
    """A notice of a gap as it counts: one that several give is told once."""
    return notice, -1 if notice.members else process


class Excuses:
    """What a run excuses.

    `dead`, `over_s`: who has crashed, and when the run was over. `states` repeats the run with a
    mark in every message, and gives the states of the survivors at each telling of a gap. `left`:
    the messages that were not delivered everywhere.
    """

    def __init__(
        self,
        scenario: Scenario,
        chronicle: Chronicle,
        dead: ProcessSet,
        over_s: float,
        states: Callable[[], Mapping[Telling, States]],
        left: Iterable[Left] = (),
    ) -> None:
        self._chronicle = chronicle
        self._living = (1 << len(scenario.process_names)) - 1 & ~dead
        self._cuts = lasting_cuts(scenario, over_s)
        self._states = states
        order = scenario.order(0, scenario.membership, scenario.order_options)
        self._lost_with = order.lost_with(dead)
        self._lacking = 0
        """Who lives and lacks a message that may be lost with its sender."""
        for one in left if self._lost_with else ():
            if self._lost_with >> one.message.sender & 1:
                self._lacking |= (one.unreceived | one.held) & self._living
        limit_s = getattr(scenario.order_options, "forget_after_s", inf)
        self._are_faults_long = _outlasts(scenario, limit_s)
        self._is_run_long = over_s > limit_s
        self._is_one_line = getattr(scenario.order_options, "quorum", "") == "majority"
        local = getattr(scenario.order_options, "local", "")
        self._replaces_servers = self._is_one_line and local == "broadcast"
        self._lets_back = not scenario.traits.takes_back  # what is agreed void stays void

    def cut_off(self, message: MessageId, delivered: ProcessSet, process: int) -> bool:
        """Whether no chain of links that work in both directions leads to the process from the
        sender of the message, nor from any of those who have delivered it: cuts that last for ever
        are in the way."""
        sources = (delivered | 1 << message.sender) & self._living
        return bool(sources) and not any(
            part & sources and part >> process & 1 for part in self._joined
        )

    def stop(self, message: MessageId, delivered: ProcessSet, process: int) -> bool:
        """Whether the message cannot reach the process from its sender, nor from any of those who
        have delivered it, because groups have stopped that cannot go on."""
        if not self.stopped:
            return False
        sources = (delivered | 1 << message.sender) & self._living & ~self._out_of()
        return not any(part & sources and part >> process & 1 for part in self._connected)

    def loss(self, message: MessageId, process: int, *, has_come: bool) -> bool:
        """Whether the message may be lost with its sender, or has come and may wait for such."""
        if self._lost_with >> message.sender & 1:
            return True
        return bool(has_come and self._lacking >> process & 1)

    def outside(self, process: int, others: ProcessSet) -> bool:
        """Whether a process that is never let in has said so, and all it asked are dead, cut off
        from it for good, or outside like it (`others`); or the group has lost its majority for
        good, and nobody has gone on from there to another. Who looks for servers, and lives, can
        found them with others who do, unless most groups are lost, or it is shut out."""
        asked = self._chronicle.asked.get(process)
        if asked is None:
            return False
        where = self._chronicle.asked_at[process]
        if where.startswith(SERVERS):
            return self._are_most_lost(process, asked) or self._is_shut_out(process, where)
        last = self._final_views[where].members if where in self._final_views else 0
        is_lost = 2 * (last & self._living).bit_count() < last.bit_count()
        if is_lost and not self._gone_from(where) & self._living:
            return True
        return not asked & self._living & reach(process, self._cuts) & ~others

    def _are_most_lost(self, process: int, asked: ProcessSet) -> bool:
        """Whether half of the groups in which these live, or more, cannot go on, or cannot be
        reached; of groups, and of what they were made of. For survivors, all others."""
        concerned, reached = asked | 1 << process, reach(process, self._cuts)
        homes = self._homes.items()
        groups = {where: those for where, those in homes if those & concerned}
        groups = {where: those for where, those in groups.items() if not self._gone_from(where)}
        alive = [where for where in groups if self._quorum(where, 0, 1 << process) & reached]
        if not self._is_one_line:
            return len(alive) < 2
        here = sum(self._weight(groups[where]) for where in alive)
        whole = sum(map(self._weight, groups.values()))
        return not (2 * len(alive) > len(groups) and 2 * here > whole)

    def _is_shut_out(self, process: int, where: str) -> bool:
        """Whether its links to the servers that go on are cut for good, nobody among these hands
        anything on, and no other member can serve in the place of it or of one of them."""
        if where not in self._views:
            return False
        those = self._views[where].members & self._living | 1 << process
        is_alone = 1 << process in parts(those, self._cuts) and those != 1 << process
        return is_alone and not any(self._can_give_way(one) for one in members(those))

    def _are_most_lost_below(self, where: str, halted: ProcessSet) -> bool:
        """Whether that is so of the groups that these servers serve, and of all that were made of
        these; or of the groups of servers below them."""
        servers = self._groups[where]
        below = [one for one in united(self._homes.values()) if one & servers]
        if all(self._are_most_lost(who, sum(below)) for who in members(servers & self._living)):
            return True
        under = [one for one in self._lowest if one != where and self._groups[one] & servers]
        if where in self._lowest or not under:
            return False
        return 2 * sum(bool(self._quorum(one, halted)) for one in under) <= len(under)

    @cached_property
    def _lowest(self) -> list[str]:
        """The groups of servers that serve local groups alone, as far as that shows: somebody was
        in no other group of servers. Those that have given way do not count."""
        servers = {one: those for one, those in self._groups.items() if one.startswith(SERVERS)}
        lowest = []
        for where, those in servers.items():
            others = reduce(or_, (servers[one] for one in servers if one != where), 0)
            if those & ~others and not self._gone_from(where):
                lowest.append(where)
        return lowest

    def _weight(self, processes: ProcessSet) -> Fraction:
        """How many of the local groups that there were at first these processes make up. It is
        exact, since half of the groups are not most of them."""
        founding = self._chronicle.founding.items()
        first = [view.members for where, view in founding if not where.startswith(SERVERS)]
        shares = (Fraction((those & processes).bit_count(), those.bit_count()) for those in first)
        return sum(shares, Fraction(0))

    @cached_property
    def _groups(self) -> dict[str, ProcessSet]:
        """By group that there was, all who have been in it."""
        groups = {where: view.members for where, view in self._chronicle.founding.items()}
        for notice in self._chronicle.notices:
            if notice.event is Event.VIEW:
                groups[notice.where] = groups.get(notice.where, 0) | notice.members
        return groups

    @cached_property
    def _homes(self) -> dict[str, ProcessSet]:
        """By local group that there was, all who have been in it."""
        groups = self._groups.items()
        return {where: those for where, those in groups if not where.startswith(SERVERS)}

    @cached_property
    def stopped(self) -> ProcessSet:
        """Who has stopped, and cannot go on: in a group that has lost its majority (`halted`), or
        outside of one that has nobody left who would let it in."""
        asking = process_set(self._chronicle.asked)
        found = self.halted
        for process in members(asking & self._living):
            found |= self.outside(process, asking | self.halted) << process
        return found

    @cached_property
    def halted(self) -> ProcessSet:
        """Who has stopped in a group that has lost its majority, or is cut off from it. One that
        can reach all who go on without it has to find its way back, where it is let in; but not to
        those who have left that group for another and have stopped there themselves."""
        found, known = 0, -1
        while found != known:
            known = found
            for process, where in self._chronicle.stops:
                bit = 1 << process & self._living
                quorum = self._quorum(where, known, bit)
                near = quorum & ~bit & ~(self._gone_from(where) & known)
                is_met = not quorum & ~bit & ~reach(process, self._cuts)
                is_near = bool(near) and (is_met or self._has_substitute(where, quorum | bit))
                if not (is_near if self._lets_back else quorum & bit):
                    found |= bit
        return found

    def _gone_from(self, where: str) -> ProcessSet:
        """Who has told that this group has given way to others."""
        return self._movers(lambda notice: where in notice.where.split(" and "))

    def _movers(self, counts: Callable[[Notice], bool]) -> ProcessSet:
        """Who has told that a group has given way, in a notice that counts."""
        told = [
            seen.processes
            for notice, seen in self._chronicle.notices.items()
            if notice.event in (Event.SPLIT, Event.MERGE) and counts(notice)
        ]
        return reduce(or_, told, 0)

    def _is_long(self, concerned: ProcessSet = -1) -> bool:
        """Whether faults lasted for longer than messages are kept: those of the network, or that a
        group to which one of these belongs has lost its majority for good."""
        return self._are_faults_long or bool(self._is_run_long and self.halted & concerned)

    @cached_property
    def _views(self) -> dict[str, Notice]:
        """By group, the view that was installed last by somebody who lives: where all are dead who
        knew of a later one, the others are where they were."""
        return self._chronicle.last_views(inf, self._living)

    @cached_property
    def _views_by_side(self) -> list[tuple[ProcessSet, dict[str, Notice]]]:
        """The same by each side of the cuts that last: what the others have agreed on since is
        never heard of there."""
        return [(side, self._chronicle.last_views(inf, side)) for side in self._joined]

    @cached_property
    def _final_views(self) -> dict[str, Notice]:
        """By group, the view that was installed last by anybody, where views form one line: those
        who decided a view are bound to it, whoever of them has died. Servers may begin anew."""
        if not self._is_one_line:
            return {}
        last = self._chronicle.last_views(inf)
        return {where: view for where, view in last.items() if not where.startswith(SERVERS)}

    def _quorum(self, where: str, halted: ProcessSet, near: ProcessSet = -1) -> ProcessSet:
        """Those of the last view of a group who are most of it and hear each other, if any, and
        have at least half of a later one, if others have seen one. Where cuts that last part those
        who live, each side has a last view of its own; only sides with some of those `near` count.
        """
        if self._has_substitute(where, self._views[where].members if where in self._views else 0):
            return self._views[where].members
        for side, views in self._views_by_side:
            if side & near and where in views:
                found = self._quorum_of(views[where], side, halted)
                if found:
                    return found
        return 0

    def _quorum_of(self, view: Notice, side: ProcessSet, halted: ProcessSet) -> ProcessSet:
        """The same of a view, among those of a side. Who served there for a group that has given
        way since, and has halted in the next one, speaks for nobody: it has left, and does not come
        back; nor does who served for a group that has another server since, if most groups are
        lost: else all of them, or most, found their servers anew."""
        there, where = view.members & side, view.where
        if where.startswith(SERVERS):
            there &= ~(halted & self._moved_since(view))
            replaced = self._replaced_since(view)
            if replaced & there and self._are_most_lost_below(where, halted):
                there &= ~replaced
        final = self._final_views.get(where, view).members
        for part in parts(there, self._cuts):
            is_most = 2 * part.bit_count() > view.members.bit_count()
            if is_most and 2 * (part & final).bit_count() >= final.bit_count():
                return part
        return 0

    def _has_substitute(self, where: str, pair: ProcessSet) -> bool:
        """Whether two servers, all that are left of a group, live and have lost nothing but the
        link between them, while another member can serve in the place of one of them."""
        is_pair = where.startswith(SERVERS) and pair.bit_count() == 2 and not pair & ~self._living
        if not is_pair or len(parts(pair, self._cuts)) < 2:
            return False
        homes = reduce(or_, (self._beside(one) for one in members(pair)))
        reached = reduce(and_, (reach(one, self._cuts) for one in members(homes)), -1)
        is_only = not self._living & ~pair & ~reached
        return is_only and any(self._can_give_way(one) for one in members(pair))

    def _can_give_way(self, process: int) -> bool:
        """Whether a server can leave its local group and another member serve: three live there."""
        beside = self._beside(process) if self._replaces_servers else 0
        return beside.bit_count() >= _FEWEST_TO_SWAP

    def _beside(self, process: int) -> ProcessSet:
        """Those of the last view of its local group who live."""
        homes = [view for where, view in self._views.items() if where in self._homes]
        views = [view.members for view in homes if view.members >> process & 1]
        return views[-1] & self._living if views else 0

    def _moved_since(self, view: Notice) -> ProcessSet:
        """Who has told that a group gave way after this view was installed, be it in the same
        moment: notices are in the order in which they were told first."""
        later = set(self._later_than(view))
        return self._movers(lambda notice: notice in later)

    def _later_than(self, view: Notice) -> list[Notice]:
        """The notices that were told first after this one."""
        told = list(self._chronicle.notices)
        return told[told.index(view) + 1 :] if view in self._chronicle.notices else told

    def _replaced_since(self, view: Notice) -> ProcessSet:
        """Who was replaced as a server since this view, or before it and has come home since: the
        local group has told of another one, and has not given way. Where views do not form one
        line, several may serve, and nobody counts."""
        later = self._later_than(view) if self._is_one_line else []
        told = list(self._chronicle.notices) if later else []
        last = {
            notice.where: notice
            for notice in told
            if notice.event is Event.SERVER and notice.where in self._homes
        }
        found = 0
        for where, server in last.items():
            if not self._gone_from(where):
                known = -1 if server in later else self._seen_by(where, later)
                found |= self._homes[where] & ~server.members & known
        return found

    def _seen_by(self, where: str, notices: Iterable[Notice]) -> ProcessSet:
        """Who has installed one of these views of a group."""
        views = [one for one in notices if one.event is Event.VIEW and one.where == where]
        return reduce(or_, (self._chronicle.notices[view].processes for view in views), 0)

    def _out_of(self, where: str = "") -> ProcessSet:
        """Who has stopped and takes no part in a group, or (without `where`) in any local one. Who
        has stopped among servers alone goes on with those of its own group."""
        if where.startswith(SERVERS):
            return self.stopped
        chronicle = self._chronicle
        told = (*chronicle.stops, *((who, chronicle.asked_at[who]) for who in chronicle.asked))
        return self.stopped & process_set(who for who, at in told if not at.startswith(SERVERS))

    @cached_property
    def _connected(self) -> list[ProcessSet]:
        """The parts of the system that are joined by groups which can go on, and by links: two
        epochs of a group may live on both sides of a cut that lasts."""
        joined = [
            everybody & part & ~self._out_of(where)
            for where, everybody in self._groups.items()
            if self._quorum(where, self.halted) & ~self._gone_from(where)
            for part in self._joined
        ]
        return united(joined)

    @cached_property
    def _joined(self) -> list[ProcessSet]:
        """The parts of those who live that are joined by links which are not cut for good."""
        return parts(self._living, self._cuts)

    def gap(self, message: MessageId, process: int) -> bool:
        """Whether it was told that the message may be lost for this process, and it was."""
        return self._holders(message, process) is not None

    def let_go(self, message: MessageId, process: int) -> bool:
        """Whether a gap excuses it though somebody had the message: it was let go after
        `forget_after_s`."""
        return bool(self._holders(message, process))

    def _holders(self, message: MessageId, process: int) -> ProcessSet | None:
        """Who had the message when the gap was told that excuses it; None if none does. A gap that
        nobody could have filled comes before one that was let be. Where no fault was long, one that
        lives has its own messages, or has let go of them too soon."""
        found: ProcessSet | None = None
        if self._living >> message.sender & 1 and not self._is_long():
            return found
        if not any(notice.event is Event.GAP for notice in self._chronicle.notices):
            return found
        content = mark(message)
        for (notice, teller), states in self._told.items():
            is_named = message in notice.messages
            if notice.members:
                is_told = is_named or bool(notice.members >> message.sender & 1)
                is_outside = not notice.members >> process & 1
                gone = notice.members if is_outside and self._is_long(notice.members) else 0
            else:
                is_told = is_named or not notice.messages
                is_behind = is_named and self._is_behind(teller, notice, process)
                gone = -1 if is_behind and self._is_long() else 0
            holders = process_set(who for who, state in states.items() if content in state)
            if is_told and not holders & ~gone:
                if not holders:
                    return holders
                found = holders
        return found

    def _is_behind(self, teller: int, notice: Notice, process: int) -> bool:
        """Whether a process may have missed what the teller of a gap has missed in a group. It is
        the teller; or it was not in that group itself at the time, and the teller had not stopped
        in it, nor below it: who has stopped speaks for nobody."""
        if teller == process:
            return True
        told_s = self._chronicle.notices[notice].last_s
        last = self._chronicle.last_views(told_s)
        here = last[notice.where].members if notice.where in last else 0
        if here >> process & 1 and not self._serves_instead(teller, process, last[notice.where]):
            return False
        stopped = self._chronicle.stopped_in(teller, told_s)
        return all(self._is_above(one, notice.where) for one in stopped)

    def _serves_instead(self, one: int, process: int, view: Notice) -> bool:
        """Whether one that is in this view of servers, as is another of its local group, is the
        only one of the two that serves there: the other had left when it was let in, and never
        hears of that."""
        homes = self._homes.values()
        are_together = any(home >> one & home >> process & 1 for home in homes)
        is_for = are_together and view.where.startswith(SERVERS) and view.members >> one & 1
        return bool(is_for) and not self._chronicle.has_come(process, view)

    def _is_above(self, one: str, other: str) -> bool:
        """Whether one group is above another, of those that there are at the start: these are
        numbered level by level."""
        founding = self._chronicle.founding
        return one in founding and other in founding and _number(one) > _number(other)

    @cached_property
    def _told(self) -> Mapping[Telling, States]:
        """By telling of a gap, the states of the survivors: the run is repeated once."""
        return self._states()


def _outlasts(scenario: Scenario, limit_s: float) -> bool:
    """Whether faults lasted for longer than this in one go, with the time that it takes to be back:
    who is away is missed after a silence, and is back, or replaced, after some times that."""
    options = scenario.order_options
    silence_s = getattr(options, "suspect_after_s", 0.0)
    back_s = (1 + getattr(options, "silences_back", BACK_SILENCES)) * silence_s
    spans = [(cut.start_s, cut.end_s + back_s) for cut in scenario.network.partitions]
    spans += [(crash.time_s, crash.time_s + back_s) for crash in scenario.crashes]
    first_s, last_s = inf, -inf
    for start_s, end_s in sorted(spans):
        if start_s > last_s:
            first_s = start_s
        last_s = max(last_s, end_s)
        if last_s - first_s - silence_s > limit_s:
            return True
    return False
