"""What a process does when local groups are split and merged: see `splits` for how."""

from collections.abc import Iterable

from antecede import groups
from antecede.message import members, process_set
from antecede.order import Event, Notice
from antecede.overlays.daisy.absence import Absence
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.items import Change, Ready, pack, unpack
from antecede.overlays.daisy.layer import Layer, founding_anew, joining
from antecede.overlays.daisy.records import Servers
from antecede.overlays.daisy.relay import Relay
from antecede.overlays.daisy.splits import decide, is_under, roll


class Changes(Part):
    """A process in its groups, as far as these give way to others."""

    def __init__(self, core: Core, relay: Relay, absence: Absence) -> None:
        super().__init__(core)
        self.relay = relay
        self.absence = absence

    def call_roll(self, layer: Layer, now: float) -> None:
        """The servers have to know how large the groups are."""
        is_evolving = self.options.split_above or self.options.merge_below
        lower = layer if not layer.node.level else self.core.below(layer)
        above = None if lower is None or lower.node.level else self.core.above(lower)
        if not is_evolving or lower is None or above is None or not lower.is_server:
            return
        view = lower.view
        if view is not None and not self.core.is_start:
            processes = tuple(member.process for member in view.members)
            word = roll(lower.node.index, processes, self.core.state.talk)
            known = above.memory.rolls.get(lower.node.index, ())
            if set(known) != set(word.processes) and not above.is_told(word):
                above.tell(word, now, self.options.tidy_s)

    def decide(self, layer: Layer, now: float) -> None:
        """The server of the servers decides, one change after the other."""
        options, memory = self.options, layer.memory
        is_under_way = memory.batches or layer.member.queued() or memory.pending
        if layer.view is None or not layer.is_server or is_under_way:
            return
        rolls = {
            child: memory.rolls[child]
            for child in (self.core.whom(layer, m.process) for m in layer.view.members)
            if child in memory.rolls
        }
        # A group of servers that was founded anew remembers no changes; its numbers are not free.
        version = 1 + sum(is_under(stored, layer.node.index) for stored in self.core.state.changes)
        change = decide(layer.node.index, version, rolls, options.split_above, options.merge_below)
        if change is not None and change.version > layer.state.moving.decided:
            layer.state.moving.decided = change.version
            self.core.do(layer, layer.send_word(change, now))

    def hear(self, layer: Layer, change: Change, within: groups.GroupMessageId, now: float) -> None:
        """Servers act on a change when all of them have it: whoever acts leaves his group, and may
        be the only one who has it otherwise."""
        if layer.node.level:
            layer.memory.pending[within] = pack(change)
        else:
            self._on_change(layer, change, now)

    def apply(self, layer: Layer, stable: Iterable[groups.GroupMessageId], now: float) -> None:
        for within in stable:
            stored = layer.memory.pending.pop(within, None)
            change = None if stored is None else unpack(stored)
            if isinstance(change, Change):
                self._on_change(layer, change, now)

    def announce(self, layer: Layer, now: float) -> None:
        """Tell the group below if it gives way, and all that has changed before: it may be merged
        with a group that was made then. A new server may be the first in its group to hear it."""
        below = self.core.below(layer)
        if below is None or not below.is_server:
            return
        changes = [
            change for change in map(unpack, self.core.state.changes) if isinstance(change, Change)
        ]
        ends = [change for change in changes if below.node.index in change.gone]
        if any(pack(change) not in below.memory.changes for change in ends):
            for change in changes:
                self.core.do(below, below.send_word(change, now))

    def _on_change(self, layer: Layer, change: Change, now: float) -> None:
        """Among servers: from now on the plan is another, and the groups that give way hear of it.
        In a local group: it gives way as soon as nothing is under way in it."""
        stored = pack(change)
        is_here = set(change.gone) <= set(self.core.plan.nodes[change.parent].children)
        is_known = stored in self.core.state.changes
        if stored in layer.memory.changes or (layer.node.level and not (is_here or is_known)):
            return
        layer.memory.changes.append(stored)
        self.learn([stored])
        if layer.node.level:
            self._relabel(layer, change, now)
            self.announce(layer, now)
        else:
            self.give_way(layer, now)

    def give_way(self, layer: Layer, now: float) -> None:
        """Send nothing more in a group that gives way to another, and say so."""
        for stored in layer.memory.changes:
            change = unpack(stored)
            is_end = isinstance(change, Change) and layer.node.index in change.gone
            if is_end and not layer.state.moving.change:
                layer.state.moving.change = stored
                self.core.do(layer, layer.send_word(Ready(), now))

    def _relabel(self, layer: Layer, change: Change, now: float) -> None:
        """What the old groups were done with, so are the new ones."""
        for kept in layer.memory.kept.values():
            self.relay.carry_over(kept, change)
        for index in change.gone:
            layer.memory.rolls.pop(index, None)
            layer.memory.away.pop(index, None)
        if layer.view is not None:
            self.absence.note(layer, layer.view, now)

    def move_if_ready(self, layer: Layer, now: float) -> None:
        """When all who are in the group have sent all that they send in it."""
        view = layer.view
        if not layer.state.moving.change or view is None:
            return
        if {member.process for member in view.members} <= layer.state.moving.ready:
            self._move(now)

    def learn(self, changes: Iterable[bytes]) -> list[Change]:
        """Take note of the changes that are news."""
        news = []
        for stored in changes:
            if stored in self.core.state.changes:
                continue
            change = self.replan(stored)
            if change is None:
                continue
            self.core.state.changes.append(stored)
            for layer in self.core.layers:
                layer.node = self.core.plan.nodes[layer.node.index]
            event = Event.SPLIT if len(change.made) > 1 else Event.MERGE
            where = " and ".join(self.core.plan.nodes[index].name for index in change.gone)
            self.core.emit(Notice(event, where, change.version))
            news.append(change)
        return news

    def on_moved(self, changes: Iterable[bytes], now: float) -> None:
        """Others have gone on: the local group is no more, or is next to others than before. Among
        servers, those who knew may have died."""
        for change in self.learn(changes):
            for layer in self.core.layers:
                if layer.node.index == change.parent:
                    layer.memory.changes.append(pack(change))
                    self._relabel(layer, change, now)
        gone = {index for indices in self.gone() for index in indices}
        if self.core.layers and self.core.layers[0].node.index in gone:
            self._move(now)

    def replan(self, stored: bytes) -> Change | None:
        change = unpack(stored)
        if not isinstance(change, Change) or not set(change.gone) <= self.core.plan.nodes.keys():
            return None
        self.core.plan = self.core.plan.changed(change.parent, change.gone, change.made)
        return change

    def _move(self, now: float) -> None:
        """From a group that has given way to the one in its place."""
        old, node = self.core.layers[0], self.core.plan.leaf(self.process)
        if self.process in node.founders:
            whose = {founder: founder for founder in node.founders}
            new = founding_anew(self.process, node, self.options, 0, node.founders, whose)
            new.memory.bound = dict(old.memory.bound)
            new.state.sleep.patient_until = now + 3 * self.options.suspect_after_s
            for who in members(old.followers() & node.processes & ~process_set(node.founders)):
                new.memory.away[who] = now
        else:
            contacts = node.processes
            new = joining(self.process, node, self.options, 0, 0, contacts)
            new.state.memory = old.memory
        new.state.out.resend = old.everything()
        new.state.memory.changes = list(old.memory.changes)
        new.state.memory.missed = old.memory.missed
        new.state.above = old.state.above
        above = self.core.above(old)
        if above is not None and above.view is not None:
            above.state.out.reported.clear()  # that was the old group's word
            new.state.above = Servers(above.state.epoch, above.view.processes)
        is_server = self.process in node.founders[:1]
        self.core.replace(old, new, now, is_server and above is not None)

    def gone(self) -> list[tuple[int, ...]]:
        """The local groups that have given way to others."""
        changes = map(unpack, self.core.state.changes)
        return [change.gone for change in changes if isinstance(change, Change)]
