"""Optimisation 3 of the paper (section 3.4): in a local group, messages go to the server alone, and
from the server to those in the group whom they are for.

A point to point channel needs one integer, not a vector, and a message to few takes few packets.
What a process delivers comes from its server in one stream, in the order in which the server had
it. That order is causal: a process that depends on a message has had it from the server. The price
is one hop more, a server that handles everything, and fewer copies to survive a crash.

A process keeps what it has sent and what it has delivered until the server says that all have it.
When the server fails, each member hands all that it keeps to the next one (`Batch`). The new server
waits for all of these, and for what the group of servers keeps for its group. It begins with all of
that in the order of Lamport time, and members drop what they have had. What only the old server and
others that died had is lost, its own messages at least: that is told as a gap. The servers are
waited for as long as there are any, and for twice `forget_after_s` where there are none; and until
all of them are in their present view, for one that is not may have what it is about to drop.
"""

from antecede import groups
from antecede.message import MessageId, members, process_set
from antecede.overlays.daisy.items import (
    Ahead,
    Batch,
    Carry,
    Release,
    carries,
    carry,
    causal,
    decode_items,
    plain,
)
from antecede.overlays.daisy.layer import Layer
from antecede.overlays.daisy.local import PointToPoint
from antecede.overlays.daisy.records import Kept


class ThroughServer(PointToPoint):
    """Messages go to the server, and from there to the members that they are for."""

    # Messages.

    def send(self, layer: Layer, item: Carry | Ahead, now: float) -> None:
        self._hand_in(layer, plain(item), now)

    def _hand_in(self, layer: Layer, item: Carry, now: float) -> None:
        """To the server, which may be this process."""
        view = layer.view
        if view is not None and layer.is_server:
            if layer.state.handover.gathering or layer.member.is_suspended:
                self.note(layer, item)
                layer.state.handover.gathering = True
            else:
                self._sequence(layer, item, now)
        elif not layer.has_passed(item.id):
            self.note(layer, item)
            if view is not None:
                self.tell(layer, view.members[0].process, (item,), now)

    def _sequence(self, layer: Layer, item: Carry, now: float) -> None:
        """At the server: this is the next message of the group."""
        message, memory, view = item.message, layer.memory, layer.view
        if layer.has_passed(message.id) or view is None:
            return
        memory.passed[message.id.sender] = message.id.number
        kept = self.note(layer, item)
        self.relay.deliver(kept)
        others = ~(1 << self.process | 1 << message.id.sender)
        layer.state.handover.told[message.id] = {
            process: self.tell(layer, process, (item,), now)
            for process in members(message.destinations & view.processes & others)
        }
        self.relay.send_on(layer, kept, now)

    def on_told(self, layer: Layer, sender: groups.MemberId, payload: bytes, now: float) -> None:
        view, items = layer.view, decode_items(payload)
        if view is None:
            return
        if layer.is_server:
            if any(isinstance(item, Batch) for item in items):
                layer.state.handover.awaiting.discard(sender.process)
            for item in carries(items):
                self._hand_in(layer, item, now)
                if layer.has_passed(item.id) and item.id not in layer.memory.kept:
                    layer.tell(Release((item.id,)), now)  # it was away
        elif view.members[0] == sender:
            for item in carries(items):
                self.relay.deliver(self.note(layer, item))

    def may_go_on(self, layer: Layer, kept: Kept) -> bool:
        """What the server has put in order goes on at once."""
        return layer.has_passed(kept.message.id)

    def go_on(self, layer: Layer, now: float) -> None:
        """At the server: who has what it was told, and is all here?"""
        if not layer.is_server:
            return
        self._merge_if_ready(layer, now)
        for message, numbers in list(layer.state.handover.told.items()):
            if all(layer.has_received(who, number) for who, number in numbers.items()):
                del layer.state.handover.told[message]
                kept = layer.memory.kept.get(message)
                if kept is not None:
                    kept.stable = True
                    self.relay.check_done(layer, kept, now)

    def knows_done(self, layer: Layer) -> bool:
        """The server alone knows, and tells all."""
        return layer.is_server

    def let_go(self, layer: Layer, message: MessageId, now: float) -> None:
        layer.tell_once(Release((message,)), now)

    # Views.

    def on_view(self, layer: Layer, event: groups.ViewInstalled, now: float) -> None:
        """The next server is handed what the others keep, and what the last server had told them
        out of turn: they may be the only ones to have it."""
        view, handover = event.view, layer.state.handover
        is_other = handover.led_by != view.members[0] and view.number > 1
        handover.led_by = view.members[0]
        for payload in event.overheard if is_other else ():
            for item in carries(decode_items(payload)):
                self.note(layer, item)
        if layer.is_server:
            if is_other:
                self._gather(layer, view)
            left = handover.awaiting - {member.process for member in view.members}
            handover.awaiting -= left
            handover.gone |= process_set(left)  # what they had to hand over may be lost with them
            for member in event.joined:
                self._tell_again(layer, member.process, now)
        elif is_other:
            kept = [carry(kept.message, kept.clock) for kept in layer.in_order()]
            self.tell(layer, view.members[0].process, (Batch(), *kept), now)

    def _gather(self, layer: Layer, view: groups.View) -> None:
        """This process is the server from now on."""
        handover = layer.state.handover
        handover.gathering, handover.told = True, {}
        handover.awaiting = {member.process for member in view.members[1:]}
        layer.memory.passed = {}
        to_come = process_set({*self.options.latecomers} - layer.memory.arrived_latecomers)
        gone = layer.node.processes & ~view.processes & ~to_come
        handover.gone = gone

    def _tell_again(self, layer: Layer, process: int, now: float) -> None:
        """What is kept for one that is back."""
        if layer.state.handover.gathering or process == self.process:
            return
        for kept in layer.in_order():
            message = kept.message
            if message.destinations >> process & 1 and message.id.sender != process:
                item = carry(message, kept.clock)
                told = layer.state.handover.told.setdefault(message.id, {})
                told[process] = self.tell(layer, process, (item,), now)
                kept.stable = False

    def _may_yet_lose(self, layer: Layer) -> bool:
        """Whether one of the servers may yet lose, with their last view, what a server that is gone
        has sent there: it has not come to the present view, unless these servers have stopped."""
        above = self.core.above(layer)
        return above is not None and not (above.is_lost or above.member.are_all_present)

    def _merge_if_ready(self, layer: Layer, now: float) -> None:
        """Begin as the server, with all that is kept anywhere."""
        handover, memory = layer.state.handover, layer.memory
        if not handover.gathering or handover.awaiting or layer.member.is_suspended:
            return
        if self.awaits_servers(layer, now):
            return
        if handover.gone and self._may_yet_lose(layer):
            return
        handover.gathering = False
        gone, handover.gone = handover.gone, 0
        if gone:  # not before: somebody may still have what they sent, and lose it with the view
            self.core.tell_gap(layer, gone)
        memory.kept, kept = {}, memory.kept
        for item in sorted((carry(one.message, one.clock) for one in kept.values()), key=causal):
            if layer.has_passed(item.id):
                memory.kept[item.id] = kept[item.id]
            else:
                self._sequence(layer, item, now)
        self.relay.reconcile(layer, now)
