"""What becomes of messages that go straight to their recipients (`_daisy_direct`) when the view of
their group changes.

All members hand what they have to the server (`Hand`), which waits for all of these, and, if it is
a new one, for what the group of servers keeps for its group. It drops what nobody can have
delivered because something before it is lost, and broadcasts the rest in the order of Lamport time
(`Merged`); with this an *epoch* begins, whose matrix counts from zero. Nobody sends before all have
it: what is sent in an epoch is kept by members that will hand it over. Where more than `copies`
members have left since the last epoch began, nobody knows what is lost: then all that is left is
delivered, and that is told as a gap.
"""

from collections.abc import Iterable

from antecede import groups
from antecede.groups.packets import NO_BALLOT
from antecede.message import process_set
from antecede.order import Event, Notice
from antecede.overlays._daisy_direct import Directly
from antecede.overlays._daisy_epoch import first_of, sort_out
from antecede.overlays._daisy_items import (
    Copy,
    Hand,
    Item,
    Merged,
    carries,
    carry,
    causal,
    decode_items,
    encode_items,
    pack,
    unpack,
)
from antecede.overlays._daisy_layer import Layer


class HandingOver(Directly):
    """A process in its groups, as far as epochs of the local one begin and end."""

    def _look_at_direct(self, now: float) -> bool:
        """What can be done now; whether anything follows from it."""
        layer = self._layers[0] if self._layers else None
        if layer is not None and self._is_direct(layer):
            self._merge(layer, now)
            if self._is_running(layer):
                self._count_copies(layer, now)
                while (key := self._free(layer)) is not None:
                    self._take_waiting(layer, key, now)
                self._say_settled(layer, now)
                self._empty_outbox(layer, now)
        return bool(self._agenda)

    def _direct_view(self, layer: Layer, event: groups.ViewInstalled, now: float) -> None:
        """In a new view of a local group: all members hand over what they have."""
        if not self._is_direct(layer):
            return
        view, state = event.view, layer.state
        straight = state.straight
        straight.is_open = straight.is_sorted = False
        straight.hands, straight.early, straight.merged_in = {}, [], None
        is_other = state.led_by != view.members[0]
        state.led_by = view.members[0]
        if view.number == 1:  # all founders know that there is nothing
            straight.epoch = first_of(1, (member.process for member in view.members))
            straight.is_open = True
            return
        state.gathering, state.unstable = True, {}
        for kept in layer.memory.kept.values():
            kept.stable = False
        hand = encode_items(self._hand(layer, view.number))
        if not layer.is_server:
            self._do(layer, layer.member.tell(view.members[0].process, hand, now))
            return
        straight.hands[self.process] = hand
        if is_other:
            straight.takes_over = True
            state.sent, layer.memory.seen = {}, {}

    def _hand(self, layer: Layer, view: int) -> tuple[Item, ...]:
        """All that this process brings along."""
        epoch = layer.state.straight.epoch
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
        return (Hand(view, epoch.view, len(firm), safe), *firm, *loose)

    def _merge(self, layer: Layer, now: float) -> None:
        """At the server: begin the epoch, when all is here that comes before it."""
        view, state, straight = layer.view, layer.state, layer.state.straight
        member = layer.member.state
        is_calm = member.promised == NO_BALLOT and not member.suspended and not member.queue
        if view is None or not layer.is_server or not state.gathering or not is_calm:
            return
        if straight.merged_in is not None or len(straight.hands) < len(view.members):
            return
        if not straight.is_sorted:
            self._sort_out(layer)
        if straight.takes_over and layer.node.parent is not None:
            above = self._above(layer)
            if above is None or above.memory.batches or above.is_merging():
                return
        straight.takes_over = False
        kept = [carry(one.message, one.clock) for one in layer.memory.kept.values()]
        items = {item.id: item for item in (*kept, *carries(map(unpack, state.outbox)))}
        state.outbox = []
        ended = straight.epoch.view
        safe = tuple(sorted(layer.memory.ended.get(ended, {}).items()))
        merged = Merged(view.number, ended, safe)
        payload = encode_items((merged, *sorted(items.values(), key=causal)))
        self._do(layer, layer.member.send(payload, now))

    def _is_gathered(self, layer: Layer) -> bool:
        """Whether what the members have of the last epoch is known here."""
        return not layer.state.gathering or layer.state.straight.is_sorted or self._is_star(layer)

    def _sort_out(self, layer: Layer) -> None:
        straight, memory = layer.state.straight, layer.memory
        epoch, straight.is_sorted = straight.epoch, True
        hands: list[tuple[Hand, list[Item]]] = []
        here = 0
        safe = memory.ended.setdefault(epoch.view, {})
        for who, payload in sorted(straight.hands.items()):
            hand, *items = decode_items(payload)
            if isinstance(hand, Hand):
                hands.append((hand, items))
                if hand.epoch == epoch.view:
                    here |= 1 << who
                    for entry, number in hand.safe:
                        safe[entry] = max(safe.get(entry, 0), number)
        gone = process_set(epoch.members) & ~here
        if straight.is_back:  # nobody who was in the last epoch is left
            gone = layer.node.processes & ~process_set(straight.hands)
        is_gap = gone.bit_count() > self.options.copies or straight.is_back
        if is_gap:
            self._effects.append(Notice(Event.GAP, layer.node.name, members=gone))
        memory.kept = {}
        for item in sort_out(hands, memory.ended, is_gap):
            self._note(layer, item)

    def _on_merged(self, layer: Layer, message: groups.GroupMessage, now: float) -> None:
        """Here is all that was handed over: the epoch begins."""
        merged, *items = decode_items(message.payload)
        view, state, memory = layer.view, layer.state, layer.memory
        if not self._is_direct(layer) or view is None:
            return
        if not isinstance(merged, Merged) or merged.view != view.number:
            return  # of a view before: this one has begun, and all hand over again
        memory.kept = {}
        memory.ended = memory.ended if memory.away else {}
        memory.ended[merged.ended] = dict(merged.safe)
        state.unstable[message.id] = [item.id for item in carries(items)]
        for item in carries(items):
            self._note_passed(layer, item)
            self._deliver(self._note(layer, item))
        straight = state.straight
        straight.epoch = first_of(view.number, (member.process for member in view.members))
        straight.merged_in, straight.is_back = message.id, False
        early, straight.early = straight.early, []
        for entry, payload in early:
            self._on_told(layer, groups.MemberId(entry, 0), payload, now)

    def _on_stable(self, layer: Layer, stable: Iterable[groups.GroupMessageId], now: float) -> None:
        super()._on_stable(layer, stable, now)
        straight = layer.state.straight
        if straight.merged_in is not None and straight.merged_in in stable:
            straight.merged_in, straight.is_open = None, True
            layer.state.gathering = False
            self._reconcile(layer, now)

    def _absorb_alone(self, layer: Layer, content: bytes) -> None:
        """Back in the group: this process hands over what it has. What it was to send down as the
        server, another sends."""
        own, straight = layer.memory.kept, layer.state.straight
        super()._absorb_alone(layer, content)
        if self._is_direct(layer):
            layer.memory.kept, straight.is_back = own, True
            outbox = carries(map(unpack, layer.state.outbox))
            layer.state.outbox = [pack(item) for item in outbox if item.sender == self.process]
            layer.state.resend = []
