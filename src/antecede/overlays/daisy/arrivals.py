"""What a process does with what its groups deliver: messages, batches, and word of all kinds.

Each item of a payload goes to the part that answers it, in the order in which the group delivers.
A group that is founded anew puts items aside until it has the batches that it waits for (`batches`;
F1, C5), but for the words that must not wait (F5). This process brings the batches that it owes as
soon as its groups are bound (F2), first upwards, then downwards.
"""

from collections.abc import Iterable

from antecede import groups
from antecede.message import set_from_bytes
from antecede.overlays.daisy.absence import Absence
from antecede.overlays.daisy.ahead import RunningAhead
from antecede.overlays.daisy.batches import (
    Arrival,
    batch,
    batch_from_above,
    gather,
    note_lacking,
    take_aside,
)
from antecede.overlays.daisy.changes import Changes
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.fence import Fencing
from antecede.overlays.daisy.items import (
    Above,
    Ahead,
    Batch,
    Bind,
    Carry,
    Change,
    Done,
    Forget,
    Freeze,
    Holds,
    Item,
    Merged,
    Missed,
    Proposal,
    Ready,
    Release,
    Reshape,
    Retract,
    Roll,
    Undelivered,
    UnknownAbove,
    Void,
    decode_items,
)
from antecede.overlays.daisy.layer import ABOVE, TAKING_BATCHES, Layer
from antecede.overlays.daisy.records import NEVER, Servers
from antecede.overlays.daisy.relay import Relay
from antecede.overlays.daisy.undelivered import note

_AT_ONCE = Bind | Forget | Above | Reshape | Undelivered
"""The words that do not wait for batches: `Bind` must not (F5), the others need not."""


class Arrivals(Part):
    """Takes what the groups of this process deliver, and brings batches into groups that are
    founded anew."""

    def __init__(
        self,
        core: Core,
        relay: Relay,
        ahead: RunningAhead,
        absence: Absence,
        changes: Changes,
        fencing: Fencing,
    ) -> None:
        super().__init__(core)
        self.relay = relay
        self.ahead = ahead
        self.absence = absence
        self.changes = changes
        self.fencing = fencing

    def on_deliver(self, layer: Layer, message: groups.GroupMessage, now: float) -> None:
        """A group has delivered a payload."""
        sender = message.sender.process
        items = decode_items(message.payload)
        arrivals = [(sender, message.id, item) for item in items]
        whose = self.core.stands_for(layer, sender)
        if items and isinstance(items[0], Merged):
            self.relay.transport(layer).on_merged(layer, message, now)
        elif layer.memory.missing_batches:
            self._note_groups(layer, items)
            left = self._take_at_once(layer, arrivals, now)
            gather(layer, left, whose, self.core.present(layer), now)
            self.take_batches(layer, now)
        else:
            self._take(layer, arrivals, now)

    def _note_groups(self, layer: Layer, items: Iterable[Item]) -> None:
        """Note which groups bring their batch into this group of servers (F3). They may have given
        way to others since it was founded."""
        memory = layer.memory
        for item in items:
            if isinstance(item, Batch) and item.of is not None:
                self.changes.history.learn(item.changes)
                memory.brought.add(item.of)
                here = [who for who in memory.missing_batches if who >= 0]
                memory.missing_batches -= {
                    who for who in here if self.core.is_covered(who, memory.brought)
                }

    def take_batches(self, layer: Layer, now: float) -> None:
        """Begin, when all batches are here or given up: first these, then what came since."""
        if layer.memory.passed_below and not layer.memory.missing_batches:
            self._await_those_behind(layer)
        if not layer.memory.missing_batches:
            if layer.node.level:
                self.changes.go_by_batches(layer, now)
            self._tell_gap(layer)
            self.absence.tell_missed(layer, now)
            batches, others = take_aside(layer)
            layer.state.founding.last_batch_place = TAKING_BATCHES
            self._take(layer, batches, now)
            layer.state.founding.last_batch_place = layer.memory.places
            self.relay.forwarding.tell_lost(layer)
            layer.memory.lacking = {}
            self.absence.hand_down_missed(layer, now)
            above = self.core.above(layer)
            if above is not None and layer.is_server:
                self.absence.pass_on_missed(above, {}, now)
            self.relay.reconcile(layer, now)
            self._take(layer, others, now)

    def _await_those_behind(self, layer: Layer) -> None:
        """Wait for another batch of each group that lacks what others have had of a process of its
        own."""
        nodes = self.core.plan.nodes
        had = [one for one in layer.memory.passed_below if one in nodes]
        behind = note_lacking(layer, {one: nodes[one].processes for one in had})
        layer.memory.missing_batches |= behind
        layer.memory.brought -= behind
        layer.state.founding.owed_batches |= behind & {self.core.stands_for(layer, self.process)}

    def _take_at_once(self, layer: Layer, arrivals: list[Arrival], now: float) -> list[Arrival]:
        """Take the words that do not wait for batches, and return what is left."""
        for sender, within, item in arrivals:
            if isinstance(item, Bind):
                self.fencing.on_bind(layer, item, within)
            elif isinstance(item, Forget):
                self._forget(layer, item, now)
            elif isinstance(item, Above):
                self._note_above(layer, item, now)
            elif isinstance(item, Reshape):
                self.changes.on_reshape(layer, item, sender, within)
            elif isinstance(item, Undelivered):
                note(layer, item)
        return [one for one in arrivals if not isinstance(one[2], _AT_ONCE)]

    def _take(self, layer: Layer, arrivals: Iterable[Arrival], now: float) -> None:
        """Hand each item to the part that answers it. `Ready` comes last, since it may be the end
        of the group."""
        for sender, within, item in sorted(arrivals, key=lambda one: isinstance(one[2], Ready)):
            if layer not in self.core.layers:
                return
            match item:
                case Carry():
                    self.relay.arrive(layer, item, within, now)
                    self.ahead.take_early(layer, within, now)
                case Ahead():
                    self.ahead.on_ahead(layer, item, within, now)
                case Retract(ids):
                    self.ahead.on_retract(layer, ids)
                case Done(node, ids):
                    self.relay.on_done(layer, node, ids, now)
                case Holds(node, ids):
                    self.relay.on_holds(layer, node, ids, now)
                case UnknownAbove(ids):
                    self.relay.on_unknown_above(layer, ids, now)
                case Release(ids):
                    self.relay.on_release(layer, ids, now)
                case Forget():
                    self._forget(layer, item, now)
                case Missed(who, ids, beside=False):
                    for heir in self.changes.history.heirs(who) if layer.node.level else [who]:
                        self.absence.on_missed(layer, heir, ids, now)
                case Missed():
                    self.absence.on_missed_beside(layer, item, now)
                case Bind():
                    self.fencing.on_bind(layer, item, within)
                case Above():
                    self._note_above(layer, item, now)
                case Roll(node, processes, load):
                    layer.memory.rolls[node], layer.memory.loads[node] = processes, load
                    self.changes.decide(layer, now)
                case Proposal():
                    self.changes.consent.on_proposal(layer, item, within, now)
                case Void():
                    self.changes.consent.on_void(layer, item, now)
                    self.changes.decide(layer, now)
                case Change():
                    self.changes.on_change(layer, item, within, now)
                case Reshape():
                    self.changes.on_reshape(layer, item, sender, within)
                case Undelivered():
                    note(layer, item)
                case Freeze():
                    self.changes.levels.on_freeze(layer, item, now)
                case Ready(number):
                    if number == layer.state.moving.freezes:
                        layer.state.moving.ready.add(sender)
                    self.changes.move_if_ready(layer, now)

    def _note_above(self, layer: Layer, word: Above, now: float) -> None:
        memory = layer.memory
        if word.processes:
            processes = set_from_bytes(word.processes)
            layer.state.above = Servers(word.epoch, processes, word.first)
        if word.processes and word.begun:
            memory.without_servers_since = NEVER
        elif not word.processes and memory.without_servers_since == NEVER:
            memory.without_servers_since = now

    def _forget(self, layer: Layer, word: Forget, now: float) -> None:
        self.absence.on_forget(layer, word, now)
        above = self.core.above(layer)
        if above is not None:  # what it was waited for, it has not brought
            self.relay.forwarding.tell_lost(above)

    def _tell_gap(self, layer: Layer) -> None:
        """A group of servers goes on without what only these groups had, and those who are away
        from the others: one of them may have served with these until now."""
        view, node = layer.view, layer.node
        if view is not None and node.level:
            present = self.core.present(layer)
            silent = [one for one in node.children if not self._is_heard(layer, one, present)]
            is_one_line = self.options.quorum is groups.Quorum.MAJORITY
            if self.core.reshapes and is_one_line and layer.state.epoch:
                layer.memory.founded_without.update(silent)
            lost = sum(self.core.plan.nodes[child].processes for child in silent)
            if lost:
                self.core.tell_gap(layer, lost | layer.state.founding.absent)

    def _is_heard(self, layer: Layer, group: int, present: set[int | None]) -> bool:
        """Whether a group below is here, or another that is here has brought its batch with that of
        the servers over both: these are to end, and have not yet."""
        here = {one for one in present if one is not None}
        brought = layer.memory.brought
        return group in here or any(
            self.core.is_covered(group, {both}) and self.core.is_covered(one, {both})
            for both in brought
            for one in here
        )

    def _is_awaited(self, layer: Layer, below: Layer, now: float) -> bool:
        """Whether a process may yet bring what its own group lacks, and others have had."""
        if not layer.memory.lacking:
            return False
        return self.relay.forwarding.is_awaited_below(layer, below, now)

    def bring_batches(self, now: float) -> None:
        """Bring the batches that this process owes. From below, when nothing is missing from
        further below; from above, when nothing is missing from further above. So all is gathered
        upwards first, then put in order downwards. The batch from above comes last, for the groups
        before may have had more from there in the meantime."""
        for layer in self.core.layers:
            owes = layer.state.founding.owed_batches
            if not owes or layer.member.state.leaving:  # the next server brings them (F3)
                continue
            below, above = self.core.below(layer), self.core.above(layer)
            is_gathered = below is None or (
                below.memory.missing_batches <= {ABOVE}
                and self.relay.transport(below).is_gathered(below)
            )
            own = owes - {ABOVE}
            is_awaited = below is not None and self._is_awaited(layer, below, now)
            if own and is_gathered and not is_awaited and self.fencing.bind_below(layer, now):
                owes -= own
                absent = self.core.absent_below(layer)
                self.core.queue(layer, layer.bring(batch(layer, below, absent), now))
            if ABOVE not in owes or not layer.is_server or above is None or above.is_lost:
                continue
            is_last = layer.memory.missing_batches <= {ABOVE}
            if is_last and above.has_begun:
                owes.discard(ABOVE)
                self.core.queue(layer, layer.bring(batch_from_above(layer, above), now))
