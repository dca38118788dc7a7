"""What a process does when local groups are split and merged (`splits` says how that works).

It tells the servers how large its group is; at the server of the servers, it proposes what is due;
and it moves from a group that gives way to the one in its place, with all that the old one had (C3
to C5). Here it also hears of groups of servers that give way; `levels` does the rest.
"""

from collections.abc import Iterable

from antecede import groups
from antecede.message import ProcessSet, members, process_set, set_from_bytes, set_to_bytes
from antecede.overlays.daisy.absence import Absence
from antecede.overlays.daisy.batches import listed
from antecede.overlays.daisy.consent import Consent, is_asking
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.history import History
from antecede.overlays.daisy.items import (
    Batch,
    Change,
    Ready,
    Reshape,
    carries,
    carry,
    pack,
    succession,
    unpack,
)
from antecede.overlays.daisy.layer import Layer, founding_anew, joining, last_view_key
from antecede.overlays.daisy.levels import Levels
from antecede.overlays.daisy.load import QUIET, measure
from antecede.overlays.daisy.records import Legacy, Servers
from antecede.overlays.daisy.relay import Relay
from antecede.overlays.daisy.splits import due_change, is_under, make_roll
from antecede.overlays.daisy.stamp import Brought, Moved, Wanted


class Changes(Part):
    """Decides on splits and merges, hears of them, and moves from a group that gives way to the one
    in its place."""

    def __init__(
        self, core: Core, relay: Relay, absence: Absence, levels: Levels, consent: Consent
    ) -> None:
        super().__init__(core)
        self.relay = relay
        self.absence = absence
        self.levels = levels
        self.consent = consent
        self.history = History(core)

    def call_roll(self, layer: Layer, now: float) -> None:
        """Tell the servers who is in the local group and how much it carries, if that is news."""
        if not self.core.evolves:
            return
        lower = layer if not layer.node.level else self.core.below(layer)
        above = None if lower is None or lower.node.level else self.core.above(lower)
        if lower is None or above is None or not lower.is_server:
            return
        view = lower.view
        if view is not None and not self.core.is_start:
            processes = tuple(member.process for member in view.members)
            node, memory, load = lower.node.index, above.memory, measure(lower, now)
            known, known_load = memory.rolls.get(node, ()), memory.loads.get(node, QUIET)
            if set(known) != set(processes) or known_load != load:
                word = make_roll(node, processes, self.core.state.talk, load)
                above.tell_once(word, now)

    def decide(self, layer: Layer, now: float) -> None:
        """At the server of the servers, propose the change that is due, one at a time (C1)."""
        memory = layer.memory
        is_under_way = memory.missing_batches or memory.pending_changes or memory.frozen
        is_partial = not memory.founded_without.isdisjoint(layer.node.children)
        if layer.view is None or not layer.is_server or is_under_way or is_partial:
            return
        if layer.member.queued():
            return
        is_first = self.levels.is_too_large(layer) and not memory.away
        if is_first or is_asking(layer) or not self.core.stays(layer):
            return
        present = [self.core.stands_for(layer, member.process) for member in layer.view.members]
        rolls = {child: memory.rolls[child] for child in present if child in memory.rolls}
        version = 1 + sum(is_under(stored, layer.node.index) for stored in self.core.state.changes)
        first = self.core.new_number(is_taken=False)
        change = due_change(layer.node.index, version, first, rolls, memory.loads, self.options)
        if change is not None:
            self.core.state.groups_numbered += 1
            self.consent.propose(layer, change, now)

    def on_change(
        self, layer: Layer, change: Change, within: groups.GroupMessageId, now: float
    ) -> None:
        """A change has come about. Those that decide on it act on it when all of them have it:
        servers, or the members of a lone group that is split. Whoever acts leaves the group, and
        might otherwise be the only one that has it."""
        if layer.node.level or change.raised:
            layer.memory.pending_changes[within] = pack(change)
        else:
            self._act_on_change(layer, change, now)

    def on_reshape(
        self,
        layer: Layer,
        change: Reshape,
        sender: int,
        within: groups.GroupMessageId,
    ) -> None:
        """A group of servers gives way, as is said in that group, in the one above it, or in one
        below."""
        node, above = layer.node.index, change.above
        if node == change.gone or (above is not None and node == above.index):
            if self.levels.may_say(layer, change, sender):
                layer.memory.pending_changes[within] = pack(change)
        else:
            self.history.learn([pack(change)])
            if any(group.index == node for group in change.below):
                self.levels.follow(layer, change, within)
            elif pack(change) not in layer.memory.changes:
                layer.memory.changes.append(pack(change))

    def on_stable(self, layer: Layer, stable: Iterable[groups.GroupMessageId], now: float) -> None:
        for within in stable:
            stored = layer.memory.pending_changes.pop(within, None)
            change = None if stored is None else unpack(stored)
            if isinstance(change, Change):
                self._act_on_change(layer, change, now)
            elif isinstance(change, Reshape):
                self._act_on_reshape(layer, change, now)

    def _act_on_reshape(self, layer: Layer, change: Reshape, now: float) -> None:
        """Act on it when all members of the group that ends, or of the one above it, know."""
        stored, is_end = pack(change), layer.node.index == change.gone
        if stored in layer.memory.changes or not (is_end or change.gone in layer.node.children):
            return
        layer.memory.changes.append(stored)
        self.history.learn([stored])
        if is_end:
            self.levels.end(layer, stored, now)
            return
        self._carry_over(layer, change, now)
        below = self.core.below(layer)
        if below is not None:
            self.levels.advance(below, now)

    def tell_servers(self, layer: Layer, now: float) -> None:
        """As a new server, say what its group remembers: those who are here may not know."""
        below = self.core.below(layer)
        news = [] if below is None else below.memory.changes
        known, here = layer.memory.changes, layer.node.index
        words = [unpack(one) for one in news if one not in known and is_under(one, here)]
        if words:
            self.core.send_words(layer, words, now)

    def announce(self, layer: Layer, now: float) -> None:
        """Tell the group below if it gives way, and all that has changed before: it may be merged
        with a group that was made then. A new server may be the first in its group to hear it."""
        below = self.core.below(layer)
        if below is not None:
            self._give_notice(below, now)

    def _give_notice(self, below: Layer, now: float) -> None:
        """Tell a group that it gives way, if it does and has not been told (C4)."""
        node, known = below.node.index, below.memory.changes
        news = [unpack(one) for one in self.core.state.changes if one not in known]
        is_over = any(isinstance(change, Change) and node in change.gone for change in news)
        for change in news if is_over else ():
            self.core.send_word(below, change, now)

    def _act_on_change(self, layer: Layer, change: Change, now: float) -> None:
        """Act on a change. Among servers: change the plan, and let the groups that give way hear of
        it. In a local group: give way."""
        stored = pack(change)
        parent = self.core.plan.nodes.get(change.parent)
        is_here = parent is not None and set(change.gone) <= set(parent.children)
        is_known = stored in self.core.state.changes
        if stored in layer.memory.changes or (layer.node.level and not (is_here or is_known)):
            return
        layer.memory.changes.append(stored)
        self.history.learn([stored])
        if layer.node.level:
            self.consent.drop_decided(layer, stored)
            self._carry_over(layer, change, now)
            self.announce(layer, now)
        else:
            self.give_way(layer, now)

    def give_way(self, layer: Layer, now: float) -> None:
        """Send nothing more in a local group that gives way to another, and say so (C4)."""
        for stored in layer.memory.changes:
            change = unpack(stored)
            is_end = isinstance(change, Change) and layer.node.index in change.gone
            if is_end and not layer.state.moving.gives_way_by:
                layer.state.moving.gives_way_by = stored
                self.core.send_word(layer, Ready(), now)

    def _carry_over(self, layer: Layer, change: Change | Reshape, now: float) -> None:
        """Note for new groups what those before them were done with, and have missed."""
        gone, made = succession(change)
        for kept in layer.memory.kept.values():
            self.relay.carry_over(kept, change)
        layer.memory.carry_over(gone, made)
        for index in gone:
            layer.memory.rolls.pop(index, None)
            layer.memory.loads.pop(index, None)
            layer.memory.away.pop(index, None)
        if layer.view is not None:
            self.absence.note_away(layer, layer.view, now)
        self.absence.tell_missed(layer, now)

    def move_if_ready(self, layer: Layer, now: float) -> None:
        """Move, when all members of the group have sent all that they send in it."""
        view = layer.view
        if not layer.state.moving.gives_way_by or view is None:
            return
        if {member.process for member in view.members} <= layer.state.moving.ready:
            self._move(now, is_last=True)

    def go_by_batches(self, layer: Layer, now: float) -> None:
        """Go by what the groups below remember, which their batches have brought along. One may
        have gone on although it has given way: it hears of that from its server alone."""
        if layer.view is None:
            return
        remembered = [one for each in self.core.layers for one in each.memory.changes]
        self.history.go_by(remembered, layer.view.processes)
        memory, children = layer.memory, {*layer.node.children}
        memory.away = {who: since for who, since in memory.away.items() if who in children}
        memory.forgotten &= children
        self.absence.note_away(layer, layer.view, now)
        self.announce(layer, now)  # the others may know of its end (C4)

    def moved_from(self, node: int) -> Moved:
        """The answer to one who asks for a group that has given way."""
        changes, legacy = self.core.changes(), self.core.state.legacies.get(node)
        if legacy is None:
            return Moved(node, changes)
        return Moved(node, changes, legacy.view, set_to_bytes(legacy.members))

    def on_moved(self, word: Moved, now: float) -> None:
        """Others have gone on: the local group is no more, or it is beside other groups than
        before. Among servers, those that knew may have died."""
        for change in self.history.learn(word.changes):
            above = change.above.index if isinstance(change, Reshape) and change.above else -1
            parent = change.parent if isinstance(change, Change) else above
            for layer in self.core.layers:
                if layer.node.index == parent:
                    layer.memory.changes.append(pack(change))
                    self._carry_over(layer, change, now)
        local = self.core.local
        if local is None or not self.core.gives_way(local):
            return
        view = 0 if local.view is None or word.node != local.node.index else local.view.number
        if 0 < view <= word.view:
            is_among = bool(set_from_bytes(word.members) >> self.process & 1)
            self._move(now, is_last=is_among)
        elif not local.is_lost:  # it gives way as one; whoever sleeps looks around
            self._give_notice(local, now)
            local.rest.look_around(now)

    def on_wanted(self, source: int, word: Wanted) -> None:
        """Bring what a group had in whose last view this process was: one begins in its place (C5).
        It takes all messages, whomever they are for: what is left out would count as had after a
        later one."""
        legacy = self.core.state.legacies.get(word.node)
        if legacy is not None:
            followers, messages = set_to_bytes(legacy.followers), tuple(legacy.messages)
            brought = Brought(word.node, followers, messages, legacy.missed)
            self.absence.search.say(brought, 1 << source)

    def on_brought(self, word: Brought, now: float) -> None:
        """Take what a group had that gave way to the local one, if this waits for that (C5)."""
        local = self.core.local
        if local is None or local.is_lost:
            return
        if last_view_key(word.node) not in local.memory.missing_batches:
            return
        away = set_from_bytes(word.followers) & local.node.processes & ~local.here
        head = Batch(missed=word.missed, away=tuple(members(away)), was_in=word.node)
        messages = carries(map(unpack, word.messages))
        self.core.queue(local, local.bring((head, *messages), now))

    def move_if_lost(self, now: float) -> None:
        """Follow a group that has given way, as this process knows, and has lost it (C4)."""
        local = self.core.local
        if local is not None and local.is_lost and self.core.gives_way(local):
            self._move(now)

    def _move(self, now: float, *, is_last: bool = False) -> None:
        """Move from a group that has given way to the one in its place. Who leaves the servers by
        this brings along what they have from or for the groups that do: all of one may have died,
        or all servers.
        `is_last`: whether this process leaves the last view of the group, the members of which have
        all that is stable."""
        old, node = self.core.layers[0], self.core.plan.leaf(self.process)
        if self.process in node.founders:
            whose = {founder: founder for founder in node.founders}
            gone = self.history.gives_way_to(node.index)
            new = founding_anew(self.process, node, self.options, 0, node.founders, whose, gone)
            new.memory.inherit(old.memory)
            new.state.sleep.patient_until = now + 3 * self.options.suspect_after_s
            for who in members(_followers(old) & node.processes & ~process_set(node.founders)):
                new.memory.away[who] = now
        else:
            has_been_in = int(old.is_in or old.state.incarnation > 0)  # it is no newcomer
            new = joining(self.process, node, self.options, has_been_in, 0, node.contacts)
            new.state.memory = old.memory
        if is_last and old.view is not None:
            new.state.founding.was_in = old.node.index
            self._keep_legacy(old, old.view, now)
        new.state.predecessors = old.node.processes
        new.state.out.resend = old.all_messages()
        if self.process not in node.founders:
            new.state.out.resend = old.to_bring(new.state.out.resend)
        new.state.memory.changes = self.history.lineage(node.index, old.memory.changes)
        new.state.above = old.state.above
        above = self.core.above(old)
        is_server = self.process in node.founders[:1]
        if above is not None and above.view is not None:
            above.state.out.reported_done.clear()  # that was the old group's word
            above.state.out.reported_held.clear()
            new.state.above = Servers(above.state.epoch, *_who_is_in(above.view))
            if self.process in node.founders and not is_server:  # it leaves the servers
                new.state.out.resend += _kept_of(above, node.processes)
        self.core.replace(old, new, now, is_server and above is not None)
        if is_server and above is not None:  # batches may be missing of which it brings more now
            above.state.founding.owed_batches |= self.relay.among_servers.owed(above)

    def _keep_legacy(self, old: Layer, view: groups.View, now: float) -> None:
        """Keep what the group had (`Legacy`): the group in its place may be founded by processes
        that were not in its last view."""
        legacies, since_s = self.core.state.legacies, now - self.options.forget_after_s
        for node in [node for node, legacy in legacies.items() if legacy.since < since_s]:
            del legacies[node]
        everybody, messages = _followers(old), old.all_messages()
        missed = listed(old.memory.missed)
        legacy = Legacy(now, view.number, view.processes, everybody, messages, missed)
        legacies[old.node.index] = legacy


def _who_is_in(view: groups.View) -> tuple[ProcessSet, int]:
    """The members of a view, and the most senior one."""
    return view.processes, view.members[0].process


def _kept_of(layer: Layer, processes: ProcessSet) -> list[bytes]:
    """What a group keeps that is from any of these or for one of them, as it is stored."""
    return [
        pack(carry(kept.message, kept.clock))
        for kept in layer.in_order()
        if (1 << kept.message.id.sender | kept.message.destinations) & processes
    ]


def _followers(layer: Layer) -> ProcessSet:
    """Who comes along when a group gives way: all who are in it, and who may come back."""
    return layer.here | process_set(layer.memory.away)
