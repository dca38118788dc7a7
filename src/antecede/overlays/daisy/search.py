"""How servers find each other when the group above does not answer, and found it anew (F1, F4, F8).

A new server asks those that were in the group above to let it in. If nobody does, all of them may
have died at once. Then it asks around in the groups beside its own (`Seek`). A process that is in
the group above says who else is (`Found`). One that looks for it, too, says so (`Lost`). All others
look whether their own server lives.

If nobody that is in is found for a while, the searching server whose group has the lowest number
founds the group anew, with all that look for it, in a new epoch. `batches` says what they begin
with.

Processes also call others here: members that are away, and groups that have no server above.
"""

from math import inf

from antecede.groups import Quorum, View
from antecede.message import ProcessSet, members, process_set, set_to_bytes
from antecede.order import Event, Notice, Packet, Transmit
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.items import Above, Reshape, unpack
from antecede.overlays.daisy.layer import ABOVE, LEFT, Layer, founding_anew, joining, last_view_key
from antecede.overlays.daisy.options import SPELL
from antecede.overlays.daisy.plan import Node
from antecede.overlays.daisy.records import NEVER, Servers
from antecede.overlays.daisy.stamp import (
    DaisyStamp,
    Found,
    Left,
    Lost,
    Moved,
    Poke,
    Seek,
    Talk,
    Wanted,
)

_FOUNDERS = 1 << 16
"""An epoch has its founder in the bits below this: if two are founded at once, one is the later."""

_IN_VAIN = 5
"""After how many times `suspect_after_s` a process says that nobody lets it in, or a server tells
its group that there are no others."""

_COUPLE = 2
"""The members of a group that is too small for its server to leave it."""


class Search(Part):
    """Looks for the servers of groups of this process, answers others that look, and founds groups
    of servers anew."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._patience_s = core.options.suspect_after_s

    def say(self, talk: Talk, to: ProcessSet) -> None:
        """Send talk outside of the groups. It may be lost; whatever matters is repeated."""
        to &= ~(1 << self.process)
        if to:
            stamp = DaisyStamp(None, talk, busy=True)
            self.core.emit(Transmit(Packet(self.process, None, stamp), to))

    def tell_changes(self, node: Node, to: ProcessSet) -> None:
        """Tell how groups have changed to those that are asked: they may not know yet of the groups
        that this process speaks of."""
        changes = self.core.changes()
        if changes:
            self.say(Moved(node.index, changes), to)

    def call(self, layer: Layer, who: int) -> None:
        """Wake a member that is away; or a group that has no server in this one, and say who is in
        it."""
        if not layer.node.level:
            self.tell_changes(layer.node, 1 << who)
            self.say(Poke(layer.node.index), 1 << who)
            return
        child = self.core.plan.nodes[who]
        self.say(Poke(child.index), child.processes)
        if layer.view is not None and layer.state.epoch:
            self.say(_found(layer, layer.view), child.processes)

    def call_through_others(self, layer: Layer, who: int) -> None:
        """Wake a member through other servers, or a group through others of one's own: the links
        that would carry a call may be cut."""
        if layer.node.level:
            home, those = self.core.layers[0].view, self.core.plan.nodes[who].processes
            others = [] if home is None else [one.process for one in home.members]
            others = [process for process in others if process != self.process]
            for process in members(those) if others else ():
                self.say(Poke(who, process), 1 << others[process % len(others)])
            return
        above = self.core.above(layer)
        if above is not None and above.view is not None:
            self.say(Poke(layer.node.index, who), above.view.processes)

    # One that looks for the group above.

    def tick(self, layer: Layer, now: float) -> None:
        """At every tick of a group of servers: look for the others, if this process is not among
        them (or has to go); else see that the others know it."""
        state, bound = layer.state, self.core.earliest_epoch(layer.node.index)
        if state.epoch < bound < LEFT:
            self._leave(layer, bound, now)
            return
        if not layer.is_lost or state.moving.ended_by:
            state.seeking.since = -1.0
            if state.seeking.others_looking:
                state.seeking.others_looking = self._others_looking(layer, now)
            self._remind(layer)
            if not layer.memory.missing_batches:
                self._say_above(layer, now)
            return
        if state.seeking.since < 0:
            state.seeking.since = now
        elif now - state.seeking.since > self._patience_s:
            node = layer.node
            own = self._own(node)
            beside = node.processes & ~own.processes
            self.tell_changes(own, beside)
            self.say(Seek(own.index, state.epoch, node.index), beside)
            self._say_in_vain(layer, beside, now)
            if now - state.seeking.since > _IN_VAIN * self._patience_s:
                self._say_above(layer, now)
            if now - state.seeking.since > 3 * self._patience_s:
                self._found_anew(layer, own, now)

    def _say_in_vain(self, layer: Layer, beside: ProcessSet, now: float) -> None:
        """A server that finds no servers above, although those that are left might have founded
        them by now, says so: most groups beside its own may have died. It says so again, for it may
        come into other groups meanwhile."""
        seeking, forget_s = layer.state.seeking, layer.forget_after_s
        since_s = max(seeking.since + _IN_VAIN * self._patience_s, seeking.said_in_vain_at)
        if not layer.is_in and now - since_s > forget_s:
            seeking.said_in_vain_at = now
            self.core.emit(Notice(Event.STOPPED, layer.node.name, members=beside))

    def _say_above(self, layer: Layer, now: float) -> None:
        """The group below is to know since when there are no servers: the next server goes on from
        there. As long as the group sleeps there is no next one."""
        below, is_found = self.core.below(layer), not layer.is_lost
        if below is None or not below.is_server or self.core.is_home_lost(layer):
            return
        if not is_found and not below.rest.is_awake(now):
            return
        if is_found == (below.memory.without_servers_since != NEVER):
            view = layer.view if is_found else None
            here, first = (0, 0) if view is None else (view.processes, view.members[0].process)
            word = Above(layer.state.epoch, set_to_bytes(here), first)
            below.tell_once(word, now)

    def _lost_since(self, layer: Layer) -> float:
        """Since when the group below is without servers."""
        below, since = self.core.below(layer), layer.state.seeking.since
        alone_since = NEVER if below is None else below.memory.without_servers_since
        return since if alone_since == NEVER else min(since, alone_since)

    def _leave(self, layer: Layer, epoch: int, now: float) -> None:
        """The groups of this process are bound to a later epoch, as others have brought along (F8):
        it looks for that one, or for one that is later still."""
        others = tuple(members((layer.here | layer.node.processes) & ~(1 << self.process)))
        self._adopt(layer, Found(layer.node.index, epoch, others, again=False), now)

    def ask(self, layer: Layer, now: float) -> None:
        """At every tick of a local group that this process wants to be let into: say so, once, if
        nobody has answered for a long time, for all of the group may have died. A suspended process
        asks those that it does not know: all others may have died, and these gone on."""
        seeking, since = layer.state.seeking, layer.state.seeking.since
        if layer.is_in:
            seeking.since = -1.0
            self._fetch_founders(layer)
            if layer.is_lost:
                self.core.queue(layer, layer.member.show(layer.node.processes, now))
        elif since < 0:
            seeking.since = now
        elif now - since > _IN_VAIN * self._patience_s:
            seeking.since = inf
            others = layer.node.processes & ~(1 << self.process)
            self.core.emit(Notice(Event.STOPPED, layer.node.name, members=others))

    def _fetch_founders(self, layer: Layer) -> None:
        """A group cannot begin while some have not come. Those that are missing may be stuck in a
        group that has given way, and others that belong here as well. The change by which this
        group was made may be told although the group is lost: all members of a group that gives way
        know of it."""
        if layer.memory.missing_batches - {ABOVE}:
            word = Moved(layer.node.index, tuple(layer.memory.changes))
            self.say(word, layer.node.processes)
        for who in sorted(layer.memory.missing_batches) if layer.is_server else ():
            if who < ABOVE:
                gone = self.core.plan.nodes[last_view_key(who)]
                self.say(Wanted(gone.index), gone.processes)

    def _own(self, node: Node) -> Node:
        """The group that this process lives in or below, of those below this one. It speaks for the
        servers that it is among until these know that they end, though it knows that this has been
        decided above: the others may not know (F1)."""
        plan, layer = self.core.plan, self.core.layer_of(node.index)
        below = None if layer is None else self.core.below(layer)
        if below is not None and below.node.level and not self.core.is_told_to_end(below):
            return below.node
        child = plan.child_of(node, self.process)
        return plan.nodes[node.index if child is None else child]

    def _others_looking(self, layer: Layer, now: float) -> dict[int, tuple[int, float]]:
        """By group, the server that has said a moment ago that it is looking, too, and when."""
        return {
            child: (process, heard_at)
            for child, (process, heard_at) in sorted(layer.state.seeking.others_looking.items())
            if now - heard_at < self._patience_s
        }

    def _found_anew(self, layer: Layer, own: Node, now: float) -> None:
        """Found the group anew, if enough are looking and none of them has a better claim."""
        fresh = {child: process for child, (process, _) in self._others_looking(layer, now).items()}
        if any(child < own.index for child in fresh) or self.core.is_home_lost(layer):
            return
        if not self._are_enough(layer, {own.index, *fresh}, now):
            return
        self._begin_anew(layer, (self.process, *fresh.values()), now)

    def _begin_anew(self, layer: Layer, founders: tuple[int, ...], now: float) -> None:
        """Found the group with these, in an epoch that is later than all (F2)."""
        node, state = layer.node.index, layer.state
        highest = max(state.epoch, state.seeking.highest_epoch, self.core.earliest_epoch(node))
        epoch = (highest // _FOUNDERS + 1) * _FOUNDERS + self.process
        word = Found(node, epoch, founders, again=True)
        self.say(word, process_set(founders))
        self._adopt(layer, word, now)

    def _are_enough(self, layer: Layer, groups: set[int], now: float) -> bool:
        """Whether these groups may found the group of servers. Only the group of its sender is
        certain to keep a message that is not done everywhere; so it takes all groups (F1). After a
        long time most will do, and tell a gap. With `survivors`, a process that is away is taken
        for dead."""
        if layer.options.quorum is Quorum.SURVIVORS:
            return True
        is_late = now - self._lost_since(layer) > layer.forget_after_s
        here = self._spoken_for(layer, groups)
        return {*layer.node.children} <= here or (is_late and self._are_most(layer, here))

    def _spoken_for(self, layer: Layer, groups: set[int]) -> set[int]:
        """The groups below servers for which these speak: each for itself, and for those that come
        in its place or in the place of which it is."""
        return {child for child in layer.node.children if self.core.is_covered(child, groups)}

    def _are_most(self, layer: Layer, groups: set[int]) -> bool:
        """Whether these are most of the groups below servers. Of two groups the first one will do,
        unless the most senior server of the last view that is known was the other's, which may have
        gone on. Where groups merge, one counts for all that have merged in it."""
        children, merges = set(layer.node.children), self.core.evolves
        weights = {one: self.core.plan.count(one) if merges else 1.0 for one in children}
        more = sum(weights[one] if one in groups else -weights[one] for one in children)
        first = {self._senior_group(layer), min(children, key=self.core.plan.place)} - {None}
        return more > 0 or (more == 0 and len(children) == 2 and first <= groups)

    def _senior_group(self, layer: Layer) -> int | None:
        """The group of the most senior server in the last view, as far as it is known here, or in
        the group below."""
        view, below = layer.view, self.core.below(layer)
        if view is not None:
            return self.core.stands_for(layer, view.members[0].process)
        known, epoch = Servers() if below is None else below.state.above, layer.state.epoch
        founders = layer.node.founders if not epoch else ()  # in its first view
        senior = known.first if known.first >= 0 else next(iter(founders), -1)
        return self.core.stands_for(layer, senior) if known.epoch == epoch and senior >= 0 else None

    def _remind(self, layer: Layer) -> None:
        """As a founder, tell those that have not been heard in the new group again."""
        if not layer.state.epoch:
            return
        view = layer.view
        if view is None or view.number > 1 or not layer.is_server:
            return
        self.say(_found(layer, view), view.processes & ~process_set(layer.member.present()))

    # What others say.

    def on_talk(self, source: int, talk: Talk, now: float) -> None:
        """Another process has said something outside of the groups."""
        match talk:
            case Poke(node, to) if to is not None:
                self.say(Poke(node), 1 << to)
            case Poke(node):
                self._look_around(now)
                self._pass_on_call(source, node, now, SPELL * self._patience_s)
            case Seek():
                self._on_seek(source, talk, now)
            case Lost(node, epoch, above):
                self._on_lost(source, node, above, epoch, now)
            case Found(node):
                layer = self.core.layer_of(node)
                if layer is None:
                    self._answer_those_left(source, node)
                elif layer.is_lost or talk.epoch > layer.state.epoch:
                    self._adopt(layer, talk, now)

    def _look_around(self, now: float) -> None:
        """Look whether all is well in the groups of this process."""
        for layer in self.core.layers:
            layer.rest.look_around(now)

    def _pass_on_call(self, source: int, node: int, now: float, repeated_after_s: float) -> None:
        """This group is called for long, or its server is sought, which does not hear that over a
        link that is cut. If it hears for long what is passed on alone, another has to serve."""
        layer = self.core.layer_of(node)
        if layer is None:
            self._pass_on_from_below(node, now)
            return
        if layer.is_lost or layer.view is None:
            return
        sleep, served = layer.state.sleep, [layer, *self.core.all_below(layer)]
        is_passed_on = any(one.here >> source & 1 for one in served)
        if layer.is_server and not is_passed_on:  # others may be late
            sleep.called_since = max(sleep.called_since, now + repeated_after_s)
        elif now - sleep.called_at > SPELL * self._patience_s:
            sleep.called_since = now
        sleep.called_at = now
        if now - sleep.called_since <= 3 * self._patience_s:
            return
        if layer.is_server:
            self._hand_over(layer, now)
        else:
            self.say(Poke(node), 1 << layer.view.members[0].process)

    def _pass_on_from_below(self, node: int, now: float) -> None:
        """A group above is called for long. Its server may be the only one in it, so those just
        below it hand this on."""
        for top in self.core.layers[-1:]:
            if top.node.parent != node or top.view is None or top.is_server:
                continue
            sleep = top.state.sleep
            if now - sleep.sought_at > SPELL * self._patience_s:
                sleep.sought_since = now
            sleep.sought_at = now
            if now - sleep.sought_since > 3 * self._patience_s:
                sleep.sought_since += self._patience_s
                self.say(Poke(node), 1 << top.view.members[0].process)

    def _hand_over(self, layer: Layer, now: float) -> None:
        """Let another process serve this group, whose links may not be cut: leave the local group,
        and come back as the most junior. Not from a group of two: the other might die just then,
        and nobody be left. Nor if this process has called the group itself, from an epoch that
        waits for it. If a group has not begun for want of what the servers have for it, the next
        server brings that."""
        layer.state.sleep.called_since = now
        above, served = self.core.above(layer), [*self.core.all_below(layer), layer]
        memory = layer.memory if above is None else above.memory
        called = {*memory.missing_batches, *memory.away, *memory.forgotten}
        local = served[0]
        is_large = local.view is not None and len(local.view.members) > _COUPLE
        is_settled = not any(
            one.memory.missing_batches - {ABOVE} or one.state.moving.gives_way_by for one in served
        )
        if layer.node.index in called or not (is_settled and is_large):
            return
        if self.options.reaches_all:
            self.core.queue(local, local.member.leave(now))

    def say_left(self, node: int, to: ProcessSet) -> bool:
        """Tell those who look for a group of servers that the groups of this process have left it;
        whether they have."""
        has_left = self.core.earliest_epoch(node) >= LEFT
        for stored in self.core.state.changes if has_left else ():
            change = unpack(stored)
            if isinstance(change, Reshape) and change.gone == node:
                self.say(Left(node, stored), to)
        return has_left

    def _answer_those_left(self, source: int, node: int) -> None:
        """Tell servers that call, and that this group has left, that they have ended. They were
        founded anew without it, so none of them may know; they look for nobody, and would go on
        for ever beside those in their place. It is certain when all of the group know (G5)."""
        fences = [layer.state.fence for layer in self.core.layers]
        if any(fence.known_to_all.get(node, 0) >= LEFT for fence in fences):
            self.say_left(node, 1 << source)

    def _on_seek(self, source: int, word: Seek, now: float) -> None:
        """A server looks for the servers above: answer it as one of them, or as one that looks."""
        plan, parent = self.core.plan, word.above
        if parent not in plan.nodes:
            return
        own = self._own(plan.nodes[parent])
        self.tell_changes(own, 1 << source)
        self._look_around(now)
        self._pass_on_call(source, own.index, now, repeated_after_s=0.0)
        layer = self.core.layer_of(parent)
        if self.say_left(parent, 1 << source) or layer is None:
            return
        self._note_epoch(layer, word.epoch)
        if layer.is_lost:
            if not self.core.is_home_lost(layer):  # it would speak for a group that goes on
                lost = Lost(own.index, layer.state.seeking.highest_epoch, parent)
                self.say(lost, 1 << source)
        elif layer.view is not None:
            self.say(_found(layer, layer.view), 1 << source)
            if word.epoch > layer.state.epoch and layer.is_server:
                layer.state.seeking.others_looking[word.node] = (source, now)
                self._found_with(layer, layer.view, now)

    def _found_with(self, layer: Layer, view: View, now: float) -> None:
        """Others look for a later epoch (F8): their groups may be bound to that, and it may never
        begin. If all groups are here with them, their servers found one that is later still; most
        are enough if the others have been away for long."""
        speakers = {self.core.stands_for(layer, one.process): one.process for one in view.members}
        looking = self._others_looking(layer, now)
        speakers |= {child: process for child, (process, _) in looking.items()}
        here = self._spoken_for(layer, {child for child in speakers if child is not None})
        missing = {*layer.node.children} - here
        are_late = all(self._is_gone(layer, child, now) for child in missing)
        is_enough = not missing or (are_late and self._are_most(layer, here))
        if is_enough and self.process in speakers.values() and not self.core.is_home_lost(layer):
            others = [one for one in speakers.values() if one != self.process]
            self._begin_anew(layer, (self.process, *others), now)

    def _is_gone(self, layer: Layer, child: int, now: float) -> bool:
        """Whether a group has been away from servers for long."""
        memory, since_s = layer.memory, now - layer.forget_after_s
        return child in memory.forgotten or memory.away.get(child, now) < since_s

    def _note_epoch(self, layer: Layer, epoch: int) -> None:
        """A new epoch has to exceed all that were heard of."""
        seeking, bound = layer.state.seeking, self.core.earliest_epoch(layer.node.index)
        seeking.highest_epoch = max(seeking.highest_epoch, epoch, layer.state.epoch, bound)

    def _on_lost(self, source: int, node: int, parent: int, epoch: int, now: float) -> None:
        """The server of another group is looking, too."""
        layer = self.core.layer_of(parent)
        if layer is not None and not layer.state.moving.ended_by:
            self._note_epoch(layer, epoch)
            layer.state.seeking.others_looking[node] = (source, now)

    def _adopt(self, layer: Layer, word: Found, now: float) -> None:
        """Found the group with the others, or ask those who are in it to be let in (F6)."""
        state, node, options = layer.state, layer.node, layer.options
        self._note_epoch(layer, word.epoch)
        if word.epoch < max(state.epoch, self.core.earliest_epoch(node.index)):
            return
        if word.again and self.process in word.processes:
            if word.epoch == state.epoch:
                return
            whose = self._whose(layer, word.processes)
            new = founding_anew(self.process, node, options, word.epoch, word.processes, whose)
        else:
            contacts = process_set(word.processes) & ~(1 << self.process)
            known, incarnation = 0, state.incarnation
            if word.epoch == state.epoch:
                if layer.view is not None and layer.view.processes & process_set(word.processes):
                    state.seeking.since = now  # they are in, and let this process in again
                    return
                known, incarnation = state.contacts, incarnation + layer.is_in
            if not contacts & ~known:
                return
            contacts |= known
            new = joining(self.process, node, options, incarnation, word.epoch, contacts)
            new.state.seeking.since = now
        new.state.out.resend = layer.all_messages()
        new.memory.inherit(layer.memory)
        new.memory.came_under = layer.memory.came_under
        if self.options.reshapes:
            new.memory.changes = [*layer.memory.changes]
        self.core.replace(layer, new, now)

    def _whose(self, layer: Layer, founders: tuple[int, ...]) -> dict[int, int]:
        """Whose batches the founders bring."""
        whose = {founder: self.core.stands_for(layer, founder) for founder in founders}
        return {founder: group for founder, group in whose.items() if group is not None}


def _found(layer: Layer, view: View) -> Found:
    """Who is in a group of servers. In its first view, these are to found it: a process that joined
    instead would bring no batch."""
    processes = tuple(member.process for member in view.members)
    is_anew = layer.state.epoch > 0 and view.number == 1
    return Found(layer.node.index, layer.state.epoch, processes, is_anew)
