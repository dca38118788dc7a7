"""Optimisation 1 of the paper (section 3.4): a server sends a message on as soon as it has received
it, though what precedes it in its group is still on its way.

Done naively that breaks the order: the message would overtake those that it depends on. So its
sender lists those before it that go beyond the group as well (`Ahead`): of each process in the
group the last one, as far as the group still keeps it. The servers put a message aside until those
have come by. Whatever else it depends on is for its own group alone, or came from the servers.

All that is listed comes from the server that sent the message ahead, in one stream; so all servers
agree on what is aside. They drop a message that is aside when that server leaves, since the next
one sends on what the group has delivered. They also drop it when it is lost in its own group,
together with what precedes it there (`Retract`). If they have taken it by then, its group goes on
without what is lost. That gap, which takes several crashes at once, is the price, besides the list.
"""

from antecede import groups
from antecede.groups.packets import Data as GroupData
from antecede.message import MessageId, process_set
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.forwarding import missing_before
from antecede.overlays.daisy.items import (
    Ahead,
    Carry,
    Ids,
    Retract,
    decode_items,
    message_ids,
    pack,
)
from antecede.overlays.daisy.layer import Layer
from antecede.overlays.daisy.records import CameAhead
from antecede.overlays.daisy.relay import Relay


class RunningAhead(Part):
    """Sends messages on before their own group has delivered them, and keeps them aside among the
    servers until what they list has come by."""

    def __init__(self, core: Core, relay: Relay) -> None:
        super().__init__(core)
        self.relay = relay

    def issued(self, item: Carry) -> Carry | Ahead:
        """An own message, with what it comes after if it may be sent on ahead."""
        layer = self.core.layers[0]
        beyond = ~layer.node.processes
        if not item.message.destinations & beyond:
            return item
        number, self.core.state.last_beyond = self.core.state.last_beyond, item.number
        memory = layer.memory
        if not self.core.runs_ahead or not layer.is_in:
            return item
        if memory.missing_batches or memory.strays:  # it has to wait for more than what is listed
            return item
        last: dict[int, int] = {}
        for id_, kept in layer.memory.kept.items():
            if kept.message.destinations & beyond and layer.node.processes >> id_.sender & 1:
                last[id_.sender] = max(last.get(id_.sender, 0), id_.number)
        if number > layer.memory.passed.get(self.process, 0):  # it waits to be issued
            last[self.process] = number
        return Ahead(item, tuple(sorted(last.items())))

    # The server of the group that a message belongs to.

    def run_ahead(self, packet: groups.Packet, now: float) -> None:
        """Send on what has come and is not delivered."""
        if not isinstance(packet.body, GroupData):
            return
        layer = self.core.local
        if layer is None or layer.config.group != packet.group or not layer.is_server:
            return
        above, view = self.core.above(layer), layer.view
        if above is None or not above.has_begun:
            return
        is_calm = layer.member.is_calm and not layer.state.moving.gives_way_by
        if not is_calm or layer.memory.missing_batches:
            return
        if view is None or packet.view != view.number:
            return
        for item in decode_items(packet.body.payload):
            if isinstance(item, Ahead) and self._may_run(layer, above, item.carry.id):
                above.state.sent_ahead.add(item.carry.id)
                self.core.send_word(above, item, now)

    def _may_run(self, layer: Layer, above: Layer, message: MessageId) -> bool:
        is_ahead = message in above.state.sent_ahead
        return not is_ahead and not layer.has_passed(message) and above.is_new(message)

    def catch_up(self, now: float) -> None:
        """What was sent on ahead has been delivered here. Usually the servers have taken it by now;
        otherwise it is sent on in its turn."""
        layer = self.core.local
        above = None if layer is None else self.core.above(layer)
        if layer is None or above is None:
            return
        if layer.has_unstable_batches():  # these go first
            return
        was_ahead = bool(above.state.sent_ahead)
        for message in sorted(above.state.sent_ahead):
            if layer.has_passed(message):
                above.state.sent_ahead.discard(message)
                kept = layer.memory.kept.get(message)
                if kept is not None and self.relay.forwarding.may_rise(layer, above, kept):
                    self.relay.pass_if_new(above, kept, now)
        if was_ahead and not above.state.sent_ahead:
            self.relay.reconcile(layer, now)  # what came from above meanwhile

    def settle_early(self, layer: Layer, event: groups.ViewInstalled, now: float) -> None:
        """In a new view: of who has left the servers, nothing is aside; what the group has lost is
        not ahead of anything."""
        early = layer.memory.came_ahead
        for message in [m for m in early if early[m].within.sender not in event.view.members]:
            del early[message]
        above = None if layer.node.level else self.core.above(layer)
        if above is None:
            return
        sent = above.state.sent_ahead
        lost = sorted(message for message in sent if not layer.has_passed(message))
        if lost:
            above.state.sent_ahead.difference_update(lost)
            self.core.send_word(above, Retract(tuple(lost)), now)
        survivors = [message for message in lost if above.has_passed(message)]
        if survivors:
            departed = process_set(member.process for member in event.departed)
            names = missing_before(layer, survivors)
            above.state.told_lost |= {name.sender: name.number for name in names}
            self.core.tell_gap(layer, departed, names)

    # The servers.

    def on_ahead(
        self, layer: Layer, item: Ahead, within: groups.GroupMessageId, now: float
    ) -> None:
        """In its own group a message comes in its turn anyway."""
        if not layer.node.level:
            self.relay.arrive(layer, item.carry, within, now)
        elif not layer.has_passed(item.carry.id):
            layer.memory.came_ahead[item.carry.id] = CameAhead(pack(item), within)
            self.take_early(layer, within, now)

    def take_early(self, layer: Layer, within: groups.GroupMessageId, now: float) -> None:
        """Take what waits for nothing any more since this came. Only when this is stable, too, may
        it be called so: what it had waited for goes on before it."""
        early = layer.memory.came_ahead
        while early:
            free = [message for message in sorted(early) if self._is_free(layer, early[message])]
            if not free:
                return
            for message in free:
                one = early.pop(message)
                is_one_stream = one.within.sender == within.sender
                came_in = within if is_one_stream else one.within
                self.relay.arrive(layer, one.item.carry, came_in, now)

    def _is_free(self, layer: Layer, one: CameAhead) -> bool:
        item = one.item
        is_known = layer.has_passed(item.carry.id)
        return is_known or all(layer.has_passed(MessageId(*id_)) for id_ in item.after)

    def on_retract(self, layer: Layer, ids: Ids) -> None:
        for message in message_ids(ids):
            layer.memory.came_ahead.pop(message, None)
