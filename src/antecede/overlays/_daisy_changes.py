"""What a process does when local groups are split and merged: see `_daisy_evolve` for how."""

from collections.abc import Iterable

from antecede import groups
from antecede.message import Message, members, process_set
from antecede.order import Event, Notice
from antecede.overlays._daisy_evolve import decide, is_under, roll
from antecede.overlays._daisy_items import Change, Ready, pack, unpack
from antecede.overlays._daisy_layer import Layer, founding_anew, joining
from antecede.overlays._daisy_views import Views


class Changing(Views):
    """A process in its groups, as far as these give way to others."""

    def _count_talk(self, layer: Layer, message: Message) -> None:
        if self.options.split_above and layer.is_server:
            talk, sender = self.state.talk, message.id.sender
            for to in members(message.destinations & layer.node.processes):
                pair = (min(sender, to), max(sender, to))
                talk[pair] = talk.get(pair, 0) + 1

    def _call_roll(self, layer: Layer, now: float) -> None:
        """The servers have to know how large the groups are."""
        is_evolving = self.options.split_above or self.options.merge_below
        lower = layer if not layer.node.level else self._below(layer)
        above = None if lower is None or lower.node.level else self._above(lower)
        if not is_evolving or lower is None or above is None or not lower.is_server:
            return
        view = lower.view
        if view is not None and not self._is_start:
            processes = tuple(member.process for member in view.members)
            word = roll(lower.node.index, processes, self.state.talk)
            known = above.memory.rolls.get(lower.node.index, ())
            if set(known) != set(word.processes) and not above.is_told(word):
                above.tell(word, now, self.options.tidy_s)

    def _evolve(self, layer: Layer, now: float) -> None:
        """The server of the servers decides, one change after the other."""
        options, memory = self.options, layer.memory
        is_under_way = memory.batches or layer.member.state.queue or memory.pending
        if layer.view is None or not layer.is_server or is_under_way:
            return
        rolls = {
            child: memory.rolls[child]
            for child in (self._plan.child_of(layer.node, m.process) for m in layer.view.members)
            if child in memory.rolls
        }
        # A group of servers that was founded anew remembers no changes; its numbers are not free.
        version = 1 + sum(is_under(stored, layer.node.index) for stored in self.state.changes)
        change = decide(layer.node.index, version, rolls, options.split_above, options.merge_below)
        if change is not None and change.version > layer.state.decided:
            layer.state.decided = change.version
            self._do(layer, layer.send_word(change, now))

    def _hear_change(
        self, layer: Layer, change: Change, within: groups.GroupMessageId, now: float
    ) -> None:
        """Servers act on a change when all of them have it: whoever acts leaves his group, and may
        be the only one who has it otherwise."""
        if layer.node.level:
            layer.memory.pending[within] = pack(change)
        else:
            self._on_change(layer, change, now)

    def _apply_changes(
        self, layer: Layer, stable: Iterable[groups.GroupMessageId], now: float
    ) -> None:
        for within in stable:
            stored = layer.memory.pending.pop(within, None)
            change = None if stored is None else unpack(stored)
            if isinstance(change, Change):
                self._on_change(layer, change, now)

    def _announce_changes(self, layer: Layer, now: float) -> None:
        """Tell the group below if it gives way, and all that has changed before: it may be merged
        with a group that was made then. A new server may be the first in its group to hear it."""
        below = self._below(layer)
        if below is None or not below.is_server:
            return
        changes = [
            change for change in map(unpack, self.state.changes) if isinstance(change, Change)
        ]
        ends = [change for change in changes if below.node.index in change.gone]
        if any(pack(change) not in below.memory.changes for change in ends):
            for change in changes:
                self._do(below, below.send_word(change, now))

    def _on_change(self, layer: Layer, change: Change, now: float) -> None:
        """Among servers: from now on the plan is another, and the groups that give way hear of it.
        In a local group: it gives way as soon as nothing is under way in it."""
        stored = pack(change)
        is_here = set(change.gone) <= set(self._plan.nodes[change.parent].children)
        is_known = stored in self.state.changes
        if stored in layer.memory.changes or (layer.node.level and not (is_here or is_known)):
            return
        layer.memory.changes.append(stored)
        self._learn([stored])
        if layer.node.level:
            self._relabel(layer, change, now)
            self._announce_changes(layer, now)
        else:
            self._give_way(layer, now)

    def _give_way(self, layer: Layer, now: float) -> None:
        """Send nothing more in a group that gives way to another, and say so."""
        for stored in layer.memory.changes:
            change = unpack(stored)
            is_end = isinstance(change, Change) and layer.node.index in change.gone
            if is_end and not layer.state.moving:
                layer.state.moving = stored
                self._do(layer, layer.send_word(Ready(), now))

    def _relabel(self, layer: Layer, change: Change, now: float) -> None:
        """What the old groups were done with, so are the new ones."""
        for kept in layer.memory.kept.values():
            self._carry_over(kept, change)
        for index in change.gone:
            layer.memory.rolls.pop(index, None)
            layer.memory.away.pop(index, None)
        if layer.view is not None:
            self._note_absence(layer, layer.view, now)

    def _move_if_ready(self, layer: Layer, now: float) -> None:
        """When all who are in the group have sent all that they send in it."""
        view = layer.view
        if not layer.state.moving or view is None:
            return
        if {member.process for member in view.members} <= layer.state.ready:
            self._move(now)

    def _learn(self, changes: Iterable[bytes]) -> list[Change]:
        """Take note of the changes that are news."""
        news = []
        for stored in changes:
            if stored in self.state.changes:
                continue
            change = self._replan(stored)
            if change is None:
                continue
            self.state.changes.append(stored)
            for layer in self._layers:
                layer.node = self._plan.nodes[layer.node.index]
            event = Event.SPLIT if len(change.made) > 1 else Event.MERGE
            where = " and ".join(self._plan.nodes[index].name for index in change.gone)
            self._effects.append(Notice(event, where, change.version))
            news.append(change)
        return news

    def _on_moved(self, changes: Iterable[bytes], now: float) -> None:
        """Others have gone on: the local group is no more, or is next to others than before. Among
        servers, those who knew may have died."""
        for change in self._learn(changes):
            for layer in self._layers:
                if layer.node.index == change.parent:
                    layer.memory.changes.append(pack(change))
                    self._relabel(layer, change, now)
        gone = {index for indices in self._gone() for index in indices}
        if self._layers and self._layers[0].node.index in gone:
            self._move(now)

    def _replan(self, stored: bytes) -> Change | None:
        change = unpack(stored)
        if not isinstance(change, Change) or not set(change.gone) <= self._plan.nodes.keys():
            return None
        self._plan = self._plan.changed(change.parent, change.gone, change.made)
        return change

    def _move(self, now: float) -> None:
        """From a group that has given way to the one in its place."""
        old, node = self._layers[0], self._plan.leaf(self.process)
        if self.process in node.founders:
            new = founding_anew(self.process, node, self.options, 0, node.founders)
            new.state.patient_until = now + 3 * self.options.suspect_after_s
            for who in members(old.followers() & node.processes & ~process_set(node.founders)):
                new.memory.away[who] = now
        else:
            contacts = node.processes
            new = joining(self.process, node, self.options, 0, 0, contacts)
            new.state.memory = old.memory
        new.state.resend = old.everything()
        new.state.memory.changes = list(old.memory.changes)
        new.state.memory.missed = old.memory.missed
        new.state.above, new.state.above_epoch = old.state.above, old.state.above_epoch
        above = self._above(old)
        if above is not None and above.view is not None:
            above.state.reported.clear()  # that was the old group's word
            new.state.above, new.state.above_epoch = above.view.processes, above.state.epoch
        is_server = self.process in node.founders[:1]
        self.replace(old, new, now, is_server and above is not None)

    def _gone(self) -> list[tuple[int, ...]]:
        """The local groups that have given way to others."""
        changes = map(unpack, self.state.changes)
        return [change.gone for change in changes if isinstance(change, Change)]
