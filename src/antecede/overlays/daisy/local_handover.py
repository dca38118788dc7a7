"""What becomes of messages that go straight to their recipients (`local_recipients`) when the view
of their group changes.

All members hand what they have to the server (`HandedOver`). It waits for all of these and, if it
is a new server, for what the group of servers keeps for its group. It drops what nobody can have
delivered because something before it is lost, and broadcasts the rest in the order of Lamport time
(`Merged`). With this an *epoch* begins, whose matrix counts from zero.

Nobody sends before all members have it: what is sent in an epoch is kept by members that will hand
it over. If more than `copies` members have left since the last epoch began, nobody knows what is
lost: then all that is left is delivered, and a gap is told.
"""

from collections.abc import Iterable

from antecede import groups
from antecede.message import MessageId, process_set
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.epochs import first_of, sort_out
from antecede.overlays.daisy.items import (
    Copy,
    HandedOver,
    Item,
    Merged,
    carries,
    carry,
    causal,
    decode_items,
    encode_items,
    unpack,
)
from antecede.overlays.daisy.layer import Layer
from antecede.overlays.daisy.local import PointToPoint
from antecede.overlays.daisy.relay import Relay


class HandingOver(Part):
    """Ends and begins the epochs of a local group."""

    def __init__(self, core: Core, relay: Relay, group: PointToPoint) -> None:
        super().__init__(core)
        self.relay = relay
        self._group = group

    def on_view(self, layer: Layer, event: groups.ViewInstalled, now: float) -> None:
        """In a new view all members hand over what they have."""
        view, state = event.view, layer.state
        epochs = state.epochs
        epochs.is_open = epochs.is_sorted = False
        epochs.hands, epochs.told_early, epochs.merged_in = {}, [], None
        is_other = state.handover.led_by != view.members[0]
        state.handover.led_by = view.members[0]
        if view.number == 1:  # all founders know that there is nothing
            epochs.epoch = first_of(1, (member.process for member in view.members))
            epochs.is_open = True
            return
        state.handover.gathering, state.unstable = True, {}
        for kept in layer.memory.kept.values():
            kept.stable = False
        hand = encode_items(self._hand(layer, view.number))
        if not layer.is_server:
            self.core.queue(layer, layer.member.tell(view.members[0].process, hand, now))
            return
        epochs.hands[self.process] = hand
        if is_other:
            epochs.takes_over = True
            state.out.last_sent, layer.memory.passed = {}, {}

    def _hand(self, layer: Layer, view: int) -> tuple[Item, ...]:
        """All that this process brings along."""
        epoch = layer.state.epochs.epoch
        firm: list[Item] = []
        loose: list[Item] = []
        for kept in layer.in_order():
            item, key = carry(kept.message, kept.clock), epoch.placed.get(kept.message.id)
            if key is None:
                firm.append(item)
            else:
                to = epoch.recipients(kept.message, key[0], layer.node.processes)
                is_firm = key[0] == self.process or to >> self.process & 1
                (firm if is_firm else loose).append(Copy(*key, item))
        others = [key for key in sorted(epoch.waiting) if key[0] != self.process]
        loose += [Copy(*key, epoch.direct(key).carry) for key in others]
        safe = tuple(sorted(epoch.safe.items()))
        return (HandedOver(view, epoch.view, len(firm), safe), *firm, *loose)

    def merge(self, layer: Layer, now: float) -> None:
        """At the server: begin the epoch, when all is here that comes before it."""
        view, state, epochs = layer.view, layer.state, layer.state.epochs
        is_calm = layer.member.is_calm and not layer.member.queued()
        if view is None or not layer.is_server or not state.handover.gathering or not is_calm:
            return
        if epochs.merged_in is not None or len(epochs.hands) < len(view.members):
            return
        if not epochs.is_sorted:
            self._sort_out(layer)
        if epochs.takes_over and self._group.awaits_servers(layer, now):
            return
        epochs.takes_over = False
        kept = [carry(one.message, one.clock) for one in layer.memory.kept.values()]
        items = {item.id: item for item in (*kept, *carries(map(unpack, state.out.outbox)))}
        state.out.outbox = []
        ended = epochs.epoch.view
        safe = tuple(sorted(layer.memory.safe_at_end.get(ended, {}).items()))
        merged = Merged(view.number, ended, safe)
        payload = encode_items((merged, *sorted(items.values(), key=causal)))
        self.core.queue(layer, layer.member.send(payload, now))

    def _sort_out(self, layer: Layer) -> None:
        epochs, memory = layer.state.epochs, layer.memory
        epoch, epochs.is_sorted = epochs.epoch, True
        hands: list[tuple[HandedOver, list[Item]]] = []
        here = 0
        safe = memory.safe_at_end.setdefault(epoch.view, {})
        for who, payload in sorted(epochs.hands.items()):
            hand, *items = decode_items(payload)
            if isinstance(hand, HandedOver):
                hands.append((hand, items))
                if hand.epoch == epoch.view:
                    here |= 1 << who
                    for entry, number in hand.safe:
                        safe[entry] = max(safe.get(entry, 0), number)
        gone = process_set(epoch.members) & ~here
        if epochs.is_back:  # nobody who was in the last epoch is left
            gone = layer.node.processes & ~process_set(epochs.hands)
        is_gap = gone.bit_count() > self.options.copies or epochs.is_back
        if is_gap:
            self.core.tell_gap(layer, gone)
        memory.kept = {}
        for item in sort_out(hands, memory.safe_at_end, is_gap):
            self._group.note(layer, item)

    def on_merged(
        self, layer: Layer, message: groups.GroupMessage, now: float
    ) -> list[tuple[int, bytes]]:
        """Here is all that was handed over: the epoch begins. What was told before that is
        returned."""
        merged, *items = decode_items(message.payload)
        view, state, memory = layer.view, layer.state, layer.memory
        if view is None or not isinstance(merged, Merged) or merged.view != view.number:
            return []  # of a view before: this one has begun, and all hand over again
        self._tell_lost(layer, {item.id for item in carries(items)})
        memory.kept, memory.strays = {}, {}
        memory.safe_at_end = memory.safe_at_end if memory.away else {}
        memory.safe_at_end[merged.ended] = dict(merged.safe)
        state.unstable[message.id] = [item.id for item in carries(items)]
        for item in carries(items):
            layer.note_passed(item.id)
            self.relay.forwarding.note_stray(layer, item.id, now)
            self.relay.deliver(self._group.note(layer, item))
        epochs = state.epochs
        epochs.epoch = first_of(view.number, (member.process for member in view.members))
        epochs.merged_in, epochs.is_back = message.id, False
        early, epochs.told_early = epochs.told_early, []
        return early

    def _tell_lost(self, layer: Layer, merged: set[MessageId]) -> None:
        """Of a process that comes back the others do not remember for ever what was safe when it
        left. What it had and had not delivered is lost to it if it does not get that now."""
        epochs = layer.state.epochs
        came = [epochs.epoch.direct(key).carry for key in epochs.epoch.waiting]
        here = [item for item in came if item.message.destinations >> self.process & 1]
        lost = sorted(item.id for item in here if item.id not in merged)
        if lost and epochs.is_back:
            self.core.tell_gap(layer, messages=tuple(lost))

    def on_stable(self, layer: Layer, stable: Iterable[groups.GroupMessageId], now: float) -> None:
        epochs = layer.state.epochs
        if epochs.merged_in is not None and epochs.merged_in in stable:
            epochs.merged_in, epochs.is_open = None, True
            layer.state.handover.gathering = False
            self.relay.reconcile(layer, now)
