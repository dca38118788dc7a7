"""Optimisation 3 of the paper (section 3.4): in a local group, messages go to the server alone, and
from the server to those in the group whom they are for.

A point to point channel needs one integer, not a vector, and a message to few takes few packets.
What a process delivers comes from its server in one stream, in the order in which the server had
it, and that is causal: whoever depends on a message has had it from the server. The price is a hop
more, a server that handles everything, and fewer copies to survive a crash.

A process keeps what it has sent and what it has delivered until the server says that all have it.
When the server fails, each member hands all that it keeps to the next one (`Batch`). The new server
waits for all of these, and for what the group of servers keeps for its group; it begins with all of
that in the order of Lamport time, and members drop what they have had. What only the old server and
others that died had is lost: where more than the server died, that is told as a gap.
"""

from collections.abc import Iterable

from antecede import groups
from antecede.message import members, process_set
from antecede.order import Event, Notice
from antecede.overlays._daisy_ahead import Running
from antecede.overlays._daisy_items import (
    Ahead,
    Batch,
    Carry,
    Item,
    Kept,
    Memory,
    Release,
    carries,
    carry,
    causal,
    decode_items,
    encode_items,
)
from antecede.overlays._daisy_layer import Layer
from antecede.snapshot import thaw


class Star(Running):
    """A process in its groups, as far as the local one goes through its server."""

    def _is_star(self, layer: Layer) -> bool:
        return self.options.local == "server" and not layer.node.level

    # Messages.

    def _pass(self, layer: Layer, item: Carry | Ahead, now: float) -> None:
        if self._is_star(layer) and isinstance(item, Carry):
            self._hand_in(layer, item, now)
        else:
            super()._pass(layer, item, now)

    def _hand_in(self, layer: Layer, item: Carry, now: float) -> None:
        """To the server, which may be this process."""
        view = layer.view
        if view is not None and layer.is_server:
            if layer.state.gathering or layer.member.state.suspended:
                self._note(layer, item)
                layer.state.gathering = True
            else:
                self._sequence(layer, item, now)
        elif not layer.has_passed(item.id):
            self._note(layer, item)
            if view is not None:
                self._tell(layer, view.members[0].process, (item,), now)

    def _note(self, layer: Layer, item: Carry) -> Kept:
        memory = layer.memory
        if item.id not in memory.kept:
            memory.places += 1
            memory.kept[item.id] = Kept(item.message, item.clock, memory.places)
        return memory.kept[item.id]

    def _sequence(self, layer: Layer, item: Carry, now: float) -> None:
        """At the server: this is the next message of the group."""
        message, memory, view = item.message, layer.memory, layer.view
        if layer.has_passed(message.id) or view is None:
            return
        memory.seen[message.id.sender] = message.id.number
        kept = self._note(layer, item)
        self._deliver(kept)
        others = ~(1 << self.process | 1 << message.id.sender)
        layer.state.told[message.id] = {
            process: self._tell(layer, process, (item,), now)
            for process in members(message.destinations & view.processes & others)
        }
        self._send_on(layer, kept, now)

    def _tell(self, layer: Layer, process: int, items: Iterable[Item], now: float) -> int:
        """The number that this has among what the process was told."""
        self._do(layer, layer.member.tell(process, encode_items(tuple(items)), now))
        return layer.acknowledged(process)[1]

    def _on_told(self, layer: Layer, sender: groups.MemberId, payload: bytes, now: float) -> None:
        view, items = layer.view, decode_items(payload)
        if view is None:
            return
        if layer.is_server:
            if any(isinstance(item, Batch) for item in items):
                layer.state.awaiting.discard(sender.process)
            for item in carries(items):
                self._hand_in(layer, item, now)
                if layer.has_passed(item.id) and item.id not in layer.memory.kept:
                    layer.tell(Release((item.id,)), now, self.options.tidy_s)  # it was away
        elif view.members[0] == sender:
            for item in carries(items):
                self._deliver(self._note(layer, item))

    def _may_go_on(self, layer: Layer, kept: Kept) -> bool:
        """What the server has put in order goes on at once."""
        if self._is_star(layer):
            return layer.has_passed(kept.message.id)
        return super()._may_go_on(layer, kept)

    def _look_at_star(self, now: float) -> None:
        """At the server, after every input: who has what it was told, and is all here?"""
        layer = self._layers[0] if self._layers else None
        if layer is None or not self._is_star(layer) or not layer.is_server:
            return
        self._merge_if_ready(layer, now)
        for message, numbers in list(layer.state.told.items()):
            missing = [who for who, number in numbers.items() if not layer.has_got(who, number)]
            if not missing:
                del layer.state.told[message]
                kept = layer.memory.kept.get(message)
                if kept is not None:
                    kept.stable = True
                    self._check_done(layer, kept, now)

    def _check_done(self, layer: Layer, kept: Kept, now: float) -> None:
        """The server alone knows, and tells all."""
        message = kept.message
        if not self._is_star(layer):
            super()._check_done(layer, kept, now)
        elif layer.is_server and self._is_done(layer, kept):
            if not layer.node.contains(message):
                super()._check_done(layer, kept, now)
            elif not layer.is_told(Release((message.id,))):
                layer.tell(Release((message.id,)), now, self.options.tidy_s)

    # Views.

    def _star_view(self, layer: Layer, event: groups.ViewInstalled, now: float) -> None:
        """In a new view of a local group."""
        view, state = event.view, layer.state
        if not self._is_star(layer):
            return
        is_other = state.led_by != view.members[0] and view.number > 1
        state.led_by = view.members[0]
        if layer.is_server:
            if is_other:
                self._gather(layer, view)
            state.awaiting &= {member.process for member in view.members}
            for member in event.joined:
                self._tell_again(layer, member.process, now)
        elif is_other:
            kept = [carry(kept.message, kept.clock) for kept in layer.in_order()]
            self._tell(layer, view.members[0].process, (Batch(), *kept), now)

    def _gather(self, layer: Layer, view: groups.View) -> None:
        """This process is the server from now on."""
        state, memory = layer.state, layer.memory
        state.gathering = True
        state.told = {}
        state.awaiting = {member.process for member in view.members if member != view.members[0]}
        memory.seen = {}
        gone = layer.node.processes & ~view.processes & ~process_set(self.options.latecomers)
        if gone.bit_count() > 1:
            self._effects.append(Notice(Event.GAP, layer.node.name, members=gone))

    def _tell_again(self, layer: Layer, process: int, now: float) -> None:
        """What is kept for one that is back."""
        if layer.state.gathering or process == self.process:
            return
        for kept in layer.in_order():
            message = kept.message
            if message.destinations >> process & 1 and message.id.sender != process:
                item = carry(message, kept.clock)
                told = layer.state.told.setdefault(message.id, {})
                told[process] = self._tell(layer, process, (item,), now)
                kept.stable = False

    def _merge_if_ready(self, layer: Layer, now: float) -> None:
        """Begin as the server, with all that is kept anywhere."""
        state, memory = layer.state, layer.memory
        if not state.gathering or state.awaiting or layer.member.state.suspended:
            return
        if layer.node.parent is not None:
            above = self._above(layer)
            if above is None or above.memory.batches or above.is_merging():
                return
        state.gathering = False
        memory.kept, kept = {}, memory.kept
        for item in sorted((carry(one.message, one.clock) for one in kept.values()), key=causal):
            if layer.has_passed(item.id):
                memory.kept[item.id] = kept[item.id]
            else:
                self._sequence(layer, item, now)
        self._reconcile(layer, now)

    def _absorb_alone(self, layer: Layer, content: bytes) -> None:
        """Back in the group: what was sent from here or delivered here is the process' own; all
        else comes from the server. One that has served brings along all that it had put in order:
        what it has delivered may come after something that only it and others that are away had."""
        state, own = layer.state, layer.memory
        state.memory = memory = thaw(content, Memory)
        memory.kept = {
            id_: kept
            for id_, kept in own.kept.items()
            if own.seen
            or id_.sender == self.process
            or kept.message.destinations >> self.process & 1
        }
        memory.seen, memory.places = {}, own.places
        state.sent, state.unstable, state.reported, state.told = {}, {}, set(), {}
