"""What a process does with messages: it delivers them, sends them on from group to group, keeps
them and lets them go.

A message goes on when it has come by in a group and all members have it (`forwarding` says what
else it may wait for). It is kept in a group until all groups are done with it, as word from below
(`Done`, `Holds`) and from above (`Release`, `UnknownAbove`) says: so no crash takes away what is
still needed.

How a message travels inside of a group is a matter of that group: between servers it is broadcast,
in a local group the option `local` decides (`Broadcast`).
"""

from collections.abc import Iterable

from antecede import groups
from antecede.message import MessageId, process_set
from antecede.order import Deliver
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.forwarding import Forwarding
from antecede.overlays.daisy.items import (
    Ahead,
    Carry,
    Change,
    Done,
    Holds,
    Ids,
    Item,
    Missed,
    Release,
    Reshape,
    carry,
    message_ids,
    process_key,
    unpack,
)
from antecede.overlays.daisy.layer import Layer
from antecede.overlays.daisy.local import Broadcast
from antecede.overlays.daisy.records import NEVER, Kept
from antecede.overlays.daisy.splits import count_talk
from antecede.overlays.daisy.undelivered import overtaken


class Relay(Part):
    """Delivers messages, sends them on from group to group, keeps them, and lets them go when all
    groups are done."""

    def __init__(self, core: Core, local: type[Broadcast]) -> None:
        super().__init__(core)
        self.among_servers = Broadcast(core, self)
        """Among servers."""
        self.in_local_group = local(core, self)
        """In the local group."""
        self.forwarding = Forwarding(core)

    def transport(self, layer: Layer) -> Broadcast:
        """How messages travel in this group."""
        return self.among_servers if layer.node.level else self.in_local_group

    # Messages in a group.

    def arrive(self, layer: Layer, item: Carry, within: groups.GroupMessageId, now: float) -> None:
        """A message comes by in a group."""
        message, memory = item.message, layer.memory
        if layer.has_passed(message.id):
            self._arrive_again(layer, message.id, within, now)
            return
        memory.passed[message.id.sender] = message.id.number
        memory.places += 1
        kept = memory.kept[message.id] = Kept(message, item.clock, memory.places)
        awaited = layer.stable_with(within)
        if awaited is None:
            kept.stable = True
        else:
            layer.state.unstable.setdefault(awaited, []).append(message.id)
        if not layer.node.level:
            if layer.view is not None and within.sender != layer.view.members[0]:
                self.forwarding.note_stray(layer, message.id, now)
            count_talk(self.core.state.talk, layer, message)
            self.deliver(kept)
        if self.options.forward != "stable" or kept.stable:
            self.send_on(layer, kept, now)
        below = self.core.below(layer)
        if below is not None and message.id in below.memory.kept:
            self.check_done(below, below.memory.kept[message.id], now)
        elif below is not None and below.is_server:
            self._report_passed(layer, below, kept, now)
        if below is not None and self.forwarding.ends_wait(below, message.id):
            self.reconcile(layer, now)

    def _arrive_again(
        self, layer: Layer, message: MessageId, within: groups.GroupMessageId, now: float
    ) -> None:
        """A message is stable as soon as one of its copies is: what depends on it may have come
        after this copy, and must not be stable before it."""
        kept = layer.memory.kept.get(message)
        if kept is not None and not kept.stable:
            awaited = layer.stable_with(within)
            if awaited is None:
                self.note_stable(layer, message, now)
            else:
                layer.state.unstable.setdefault(awaited, []).append(message)

    def deliver(self, kept: Kept) -> None:
        """Hand a message to the application, if it is for this process and has not been delivered
        before."""
        local = self.core.local
        if local is not None and (local.state.undelivered or local.memory.undelivered):
            late = overtaken(local, kept, self.core.state.delivered)
            if late:
                self.core.tell_gap(local, messages=late)
        message = kept.message
        sender, number = message.id
        self.core.state.clock = max(self.core.state.clock, kept.clock)
        if (
            message.destinations >> self.process & 1
            and sender != self.process
            and number > self.core.state.delivered.get(sender, 0)
        ):
            self.core.state.delivered[sender] = number
            self.core.emit(Deliver(message))

    def on_stable(self, layer: Layer, stable: Iterable[groups.GroupMessageId], now: float) -> None:
        """All members have these group messages."""
        if layer.memory.aside or layer.memory.came_ahead:
            layer.state.founding.stable_aside.update(stable)
        else:
            layer.state.founding.stable_aside.clear()
        layer.state.founding.unstable_batches.difference_update(stable)
        for group_message in stable:
            messages = layer.state.unstable.pop(group_message, [])
            awaited = min(layer.state.founding.unstable_batches, default=None)
            if awaited is not None:
                layer.state.unstable.setdefault(awaited, []).extend(messages)
                continue
            for message in messages:
                self.note_stable(layer, message, now)
        self.transport(layer).on_stable(layer, stable, now)

    def note_stable(self, layer: Layer, message: MessageId, now: float) -> None:
        """All members have this message: it may go on, and the group may be done with it."""
        kept = layer.memory.kept.get(message)
        if kept is None or kept.stable:
            return
        was_merging = layer.has_unstable_batches()
        kept.stable = True
        if was_merging and not layer.has_unstable_batches():
            self.reconcile(layer, now)
        self.send_on(layer, kept, now)
        self.check_done(layer, kept, now)

    # From group to group.

    def send(self, layer: Layer, item: Carry | Ahead, now: float) -> None:
        """Send a message into a group."""
        self.transport(layer).send(layer, item, now)

    def send_on(self, layer: Layer, kept: Kept, now: float) -> None:
        """Into the group above, if the message has destinations beyond this one, and into the group
        below, if it has some there; unless they have had it. What came in batches goes on in their
        order, before anything else.

        From a group of servers that has servers itself, only what all members have goes on. Its
        author there is a server that may die alone, with what came before the message in the group;
        and that would come back from one side, above or below, after the message has come back from
        the other.
        """
        is_between = layer.node.level > 0 and layer.node.parent is not None
        if layer.has_unstable_batches() or (is_between and not kept.stable):
            return
        if self.transport(layer).holds_back(layer, kept):
            return
        message = kept.message
        above, below = self.core.neighbours(layer)
        if (
            above is not None
            and message.destinations & ~layer.node.processes
            and above.is_new(message.id)
            and self.forwarding.may_rise(layer, above, kept)
        ):
            self.pass_if_new(above, kept, now)
        if layer.state.sent_ahead:  # these are still on their way below, and this may be an answer
            return
        if below is None or not below.is_new(message.id):
            return
        if self.forwarding.is_replaced(layer, kept, now):
            layer.state.held_back = True
            return
        if self.forwarding.is_awaited_below(layer, below, now):
            layer.state.held_back = True
            return
        if layer.state.held_back:  # what was awaited has come: the rest goes before this one
            layer.state.held_back = False
            self._send_held_back(layer, kept, now)
        if message.destinations & below.node.processes:
            self.forwarding.go_on_without(layer, below)
            self.pass_if_new(below, kept, now)

    def give_up_strays(self, layer: Layer, now: float) -> None:
        """Their senders have been away for too long to bring them, or what precedes them."""
        above, strays = self.core.above(layer), layer.memory.strays
        since_s = now - self.options.forget_after_s
        late = [] if above is None else [one for one in strays if NEVER != strays[one] < since_s]
        for stray in late:
            strays[stray] = NEVER
        if above is not None and late:
            gone = [one.sender for one in late if not above.has_passed(one)]
            if gone and layer.is_server:
                self.core.tell_gap(above, process_set(gone))
            self.reconcile(layer, now)

    def _send_held_back(self, layer: Layer, before: Kept, now: float) -> None:
        """Send on what came before this message."""
        for kept in layer.in_order():
            if kept.place < before.place and self.transport(layer).may_go_on(layer, kept):
                self.send_on(layer, kept, now)

    def pass_if_new(self, layer: Layer, kept: Kept, now: float) -> None:
        """Send a message of another group into this one, unless it was, or has come by."""
        id_ = kept.message.id
        if layer.is_new(id_) and id_ not in layer.state.sent_ahead:
            self.send(layer, carry(kept.message, kept.clock), now)

    def reconcile(self, layer: Layer, now: float) -> None:
        """Look again at all that is kept: who is there, or who serves, has changed. What is sent on
        when it is delivered goes now, before anything that is delivered from now on."""
        below, above = self.core.below(layer), self.core.above(layer)
        for group, lower in ((layer, below), (above, layer)):
            if group is None or lower is None or not lower.is_server:
                continue
            for kept in group.in_order():
                if self.transport(group).may_go_on(group, kept):
                    self.send_on(group, kept, now)
                self._report_passed(group, lower, kept, now)
            for kept in lower.in_order():
                if self.transport(lower).may_go_on(lower, kept):
                    self.send_on(lower, kept, now)
                self._release_below(group, lower, kept, now)
        self.check_all(layer, now)

    def _release_below(self, group: Layer, lower: Layer, kept: Kept, now: float) -> None:
        """Let go what the servers have had and keep no more. They do not keep what a local group
        had for itself before it was split, and they may have had later messages of the same
        process: that stays until the group is done."""
        message = kept.message
        is_over = group.has_passed(message.id) and message.id not in group.memory.kept
        is_inside = lower.node.contains(message)
        if is_over and not is_inside and (lower.node.level or self.is_done(lower, kept)):
            if message.id in lower.memory.unknown_above:
                return
            lower.tell_once(Release((message.id,)), now)

    def _report_passed(self, group: Layer, lower: Layer, kept: Kept, now: float) -> None:
        """The group below is done with what it has had and keeps no more."""
        message, node = kept.message, lower.node
        if message.destinations & node.processes and lower.has_passed(message.id):
            below = lower.memory.kept.get(message.id)
            if below is None:
                self._report_done(group, lower, message.id, now)
            else:
                self.check_done(lower, below, now)

    # Who is done with a message.

    def is_done(self, layer: Layer, kept: Kept) -> bool:
        """Whether all in the group or below whom the message is for have it. One that was let in
        knows that of what it was handed when all of its view have come there. For a group that was
        forgotten by one that gives way, those above keep it."""
        to, memory = kept.message.destinations, layer.memory
        if not layer.node.level:
            is_with_all = kept.stable and not layer.state.others_may_lack
            return is_with_all and not any(to >> process & 1 for process in memory.away)
        return all(
            child in kept.done_by or (child in memory.forgotten and not memory.frozen)
            for child in layer.node.children
            if to & self.core.plan.nodes[child].processes
        )

    def check_done(self, layer: Layer, kept: Kept, now: float) -> None:
        """If the group is done with a message, tell the group above so, or let the message go where
        nobody above knows of it. If it has it but for those who are away, tell the group above
        that."""
        spreading = self.transport(layer)
        if not spreading.knows_done(layer) or not self.is_done(layer, kept):
            self._report_held(layer, kept, now)
            return
        message, node = kept.message, layer.node
        above = self.core.above(layer)
        if above is not None and layer.is_server:
            if message.destinations & node.processes:
                self._report_done(above, layer, message.id, now)
            self._release_below(above, layer, kept, now)
        if node.contains(message) or message.id in layer.memory.unknown_above:
            spreading.let_go(layer, message.id, now)  # though the servers may keep it, from before

    def check_all(self, layer: Layer, now: float) -> None:
        """Check all that a group keeps: who is away has changed."""
        for kept in layer.in_order():
            self.check_done(layer, kept, now)

    def _report_done(self, above: Layer, layer: Layer, message: MessageId, now: float) -> None:
        """Tell the group above that this one is done with a message, and which of its members lack
        it: all in the group who know that may die."""
        kept, node = above.memory.kept.get(message), layer.node
        reported = above.state.out.reported_done
        if kept is not None and node.index not in kept.done_by and message not in reported:
            reported.add(message)
            for who in self._who_lack(layer, kept):
                above.tell(Missed(process_key(who), (message,)), now)
            above.tell(Done(node.index, (message,)), now)

    def _who_lack(self, layer: Layer, kept: Kept) -> list[int]:
        """Who is away for so long that a local group is done with a message without it."""
        to, memory = kept.message.destinations, layer.memory
        if layer.node.level:
            return []
        missed = {who for who, names in memory.missed.items() if kept.message.id in names}
        return sorted(missed | {who for who in memory.forgotten if to >> who & 1})

    def is_held_below(self, layer: Layer, kept: Kept) -> bool:
        """Whether all groups here or below that the message is for have it: members that are away
        are handed it there. Who is alone in its local group must not die with the only copy."""
        if not layer.node.level:
            is_alone = layer.here == 1 << self.process
            return self.is_done(layer, kept) if is_alone else kept.stable
        to, had = kept.message.destinations, kept.done_by | kept.held_by | layer.memory.forgotten
        nodes = self.core.plan.nodes
        return all(one in had for one in layer.node.children if to & nodes[one].processes)

    def _report_held(self, layer: Layer, kept: Kept, now: float) -> None:
        """Tell the group above, where groups of servers come and go, that this one has a message
        (G3)."""
        id_, node = kept.message.id, layer.node
        above = self.core.above(layer) if self.core.reshapes and layer.is_server else None
        known = None if above is None else above.memory.kept.get(id_)
        if above is None or known is None or id_ in above.state.out.reported_held:
            return
        is_for = kept.message.destinations & node.processes
        if is_for and node.index not in known.held_by and self.is_held_below(layer, kept):
            above.state.out.reported_held.add(id_)
            above.tell(Holds(node.index, (id_,)), now)

    def on_holds(self, layer: Layer, node: int, ids: Ids, now: float) -> None:
        """A group below has these messages."""
        for message in message_ids(ids):
            kept = layer.memory.kept.get(message)
            if kept is not None:
                kept.held_by.add(node)
                self.check_done(layer, kept, now)

    def on_unknown_above(self, layer: Layer, ids: Ids, now: float) -> None:
        """Nobody above knows of these messages any more."""
        layer.memory.unknown_above.update(message_ids(ids))
        self.check_all(layer, now)

    def on_done(self, layer: Layer, node: int, ids: Ids, now: float) -> None:
        """A group below is done, whichever process serves it. If it has given way to others, these
        are done."""
        changes = [unpack(stored) for stored in layer.memory.changes]
        for message in message_ids(ids):
            kept = layer.memory.kept.get(message)
            if kept is not None:
                kept.done_by.add(node)
                for change in changes:
                    self.carry_over(kept, change)
                self.check_done(layer, kept, now)

    def carry_over(self, kept: Kept, change: Item) -> None:
        """What groups that gave way were done with, or had, those in their place are or have."""
        if isinstance(change, Change) and kept.done_by.issuperset(change.gone):
            kept.done_by.update(index for index, _ in change.made)
        elif isinstance(change, Reshape) and change.gone in kept.done_by:
            here = [group for group in change.below if group.founders]  # the rest was forgotten
            kept.done_by.update(group.index for group in change.made or here)
        if isinstance(change, Change) and (kept.done_by | kept.held_by).issuperset(change.gone):
            kept.held_by.update(index for index, _ in change.made)
        elif isinstance(change, Reshape) and change.gone in kept.held_by:
            kept.held_by.update(group.index for group in change.made or change.below)

    def release(self, layer: Layer, message: MessageId, now: float) -> None:
        """Let a message go, here and below: nobody need keep it. It may have been the last of what
        came in batches that was not known to be stable."""
        self.transport(layer).on_let_go(layer, message)
        was_merging = layer.has_unstable_batches()
        kept = layer.memory.kept.pop(message, None)
        layer.memory.unknown_above.discard(message)
        layer.memory.strays.pop(message, None)
        if kept is not None:
            self._note_missed(layer, kept, now)
        layer.state.out.reported_done.discard(message)
        layer.state.out.reported_held.discard(message)
        below = self.core.below(layer)
        if below is not None and below.is_server and message in below.memory.kept:
            below.tell(Release((message,)), now)
        if was_merging and not layer.has_unstable_batches():
            self.reconcile(layer, now)

    def _note_missed(self, layer: Layer, kept: Kept, now: float) -> None:
        """Remember that those that are away have missed this message, if it was for them: they are
        told when they are back. A process may be away for too long, or others may have forgotten it
        before a merge. It may be asleep, and not know that it is out."""
        for who in sorted({*layer.memory.forgotten, *layer.memory.away}):
            is_for = kept.message.destinations & self.core.processes_of(layer, who)
            if is_for and who not in kept.done_by:
                word = Missed(who, (kept.message.id,))
                if not self.transport(layer).reaches_all:
                    layer.tell_once(word, now)  # others may never have had it
                layer.memory.note_missed(who, (kept.message.id,))
                layer.state.sleep.call_at = -1.0
                self.tell_beside(layer, Missed(who, (kept.message.id,), beside=True), now)

    def tell_beside(self, layer: Layer, word: Missed, now: float) -> None:
        """Tell the group below what one beside it has missed: it is to know when it lets go of
        that."""
        below = self.core.below(layer)
        if below is None or not below.is_server:
            return
        if word.ids or word.who in below.memory.missed_beside:
            below.tell(word, now)

    def on_release(self, layer: Layer, ids: Ids, now: float) -> None:
        """Nobody above keeps these any more. Nor do servers, unless a group below was forgotten
        when they said that they are done, and is back since: what that has yet to get stays until
        it is done."""
        for message in message_ids(ids):
            kept = layer.memory.kept.get(message)
            if layer.node.level and kept is not None and not self.is_done(layer, kept):
                layer.memory.unknown_above.add(message)
            else:
                self.release(layer, message, now)
        self.transport(layer).on_release(layer, ids)
