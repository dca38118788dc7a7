"""Optimisation 2 of the paper (section 3.4): in a local group, a message goes only to the members
it is for, and is delivered when enough others have it.

A message carries a matrix: who has sent whom how many in the present view, as far as its sender
knows (Raynal, Schiper, Toueg). It goes to its recipients in the view, to the server if it is for
other groups as well, and to further members where these are fewer than `copies`. Those keep it, and
so do its sender and all who deliver it, until the sender says that all recipients have it
(`Progress.settled`). From then on it is let go like any other (`relay`).

It is delivered on two conditions. All that its matrix counts for this process has been delivered.
And it and *all that its sender has sent before in this view* are safe: `copies` others have them,
as the sender learns from the channels (`Progress.safe`). What depends on a message then exists only
where no `copies` crashes can take the message away. One of the others is the recipient itself: with
`copies=1` it need not wait for word of its own copy.

A matrix counts from the beginning of an *epoch*; one begins with every view (`local_handover`).
"""

from collections.abc import Iterable

from antecede import groups
from antecede.message import MessageId, members, process_set
from antecede.order import Awaited, Held, Scope, Wake
from antecede.overlays.daisy.core import Core
from antecede.overlays.daisy.epochs import Key, Sent
from antecede.overlays.daisy.items import (
    Ahead,
    Carry,
    Direct,
    HandedOver,
    Ids,
    Progress,
    carries,
    decode_items,
    pack,
    plain,
    unpack,
)
from antecede.overlays.daisy.layer import Layer
from antecede.overlays.daisy.local import PointToPoint
from antecede.overlays.daisy.local_handover import HandingOver
from antecede.overlays.daisy.matrix import encode_matrix
from antecede.overlays.daisy.records import Kept, Memory
from antecede.overlays.daisy.relay import Relay


class ToRecipients(PointToPoint):
    """Messages go straight to the members that they are for."""

    def __init__(self, core: Core, relay: Relay) -> None:
        super().__init__(core, relay)
        self._handing_over = HandingOver(core, relay, self)

    def _is_running(self, layer: Layer) -> bool:
        """Whether all have what comes before the epoch, and it goes on."""
        return layer.state.epochs.is_open and not layer.is_lost

    def go_on(self, layer: Layer, now: float) -> None:
        """Begin an epoch, if all is here; else deliver what can be, and go on."""
        self._handing_over.merge(layer, now)
        if self._is_running(layer):
            self._count_copies(layer, now)
            while (key := self._free(layer)) is not None:
                self._take_waiting(layer, key, now)
            self._say_settled(layer, now)
            self._empty_outbox(layer, now)

    # Sending.

    def send(self, layer: Layer, item: Carry | Ahead, now: float) -> None:
        sent, item = layer.state.out.last_sent, plain(item)
        sent[item.sender] = max(sent.get(item.sender, 0), item.number)
        layer.state.out.outbox.append(pack(item))
        self._empty_outbox(layer, now)

    def _empty_outbox(self, layer: Layer, now: float) -> None:
        if self._is_running(layer):
            outbox, layer.state.out.outbox = layer.state.out.outbox, []
            for item in carries(map(unpack, outbox)):
                self._send_directly(layer, item, now)

    def _send_directly(self, layer: Layer, item: Carry, now: float) -> None:
        epoch, own = layer.state.epochs.epoch, self.process
        to = epoch.recipients(item.message, own, layer.node.processes)
        epoch.count += 1
        safe = epoch.safe.get(own, 0)
        direct = Direct(item, epoch.view, epoch.count, safe, encode_matrix(epoch.sent))
        epoch.note_sent(own, to)
        sent = epoch.on_its_way[epoch.count] = Sent(to & ~(1 << own))
        for process in members(epoch.copied_to(to, own, epoch.copies(self.options.copies))):
            sent.numbers[process] = self.tell(layer, process, (direct,), now)
            epoch.told[process] = safe
        kept = self._keep(layer, (own, direct.number), item)
        layer.note_passed(item.id)
        if to >> own & 1:  # it goes up from here, when it is safe
            epoch.waiting[own, direct.number] = pack(direct)
        else:
            self.relay.deliver(kept)

    def _keep(self, layer: Layer, key: Key, item: Carry) -> Kept:
        layer.state.epochs.epoch.placed[item.id] = key
        return self.note(layer, item)

    # Receiving.

    def on_told(self, layer: Layer, sender: groups.MemberId, payload: bytes, now: float) -> None:
        epochs, number = layer.state.epochs, layer.view_number
        for item in decode_items(payload)[:1]:
            if not isinstance(item, Direct | Progress | HandedOver) or item.view != number:
                continue  # of an earlier view: whoever said it has handed it over
            if isinstance(item, HandedOver):
                epochs.hands[sender.process] = payload
            elif epochs.epoch.view != number:
                epochs.told_early.append((sender.process, payload))
            elif isinstance(item, Progress):
                self._on_word(layer, sender.process, item, now)
            else:
                self._on_direct(layer, sender.process, item)

    def _on_direct(self, layer: Layer, entry: int, item: Direct) -> None:
        epoch, key = layer.state.epochs.epoch, (entry, item.number)
        epoch.safe[entry] = max(epoch.safe.get(entry, 0), item.safe)
        to = epoch.recipients(item.carry.message, entry, layer.node.processes)
        if to >> self.process & 1:
            epoch.waiting[key] = pack(item)
        elif item.number > epoch.settled.get(entry, 0):
            self._keep(layer, key, item.carry)

    def _on_word(self, layer: Layer, entry: int, word: Progress, now: float) -> None:
        epoch = layer.state.epochs.epoch
        epoch.safe[entry] = max(epoch.safe.get(entry, 0), word.safe)
        if word.settled <= epoch.settled.get(entry, 0):
            return
        epoch.settled[entry] = word.settled
        for message, key in list(epoch.placed.items()):
            if key[0] == entry and key[1] <= word.settled and key not in epoch.waiting:
                self._settle_one(layer, message, now)

    def _settle_one(self, layer: Layer, message: MessageId, now: float) -> None:
        """All whom it is for in the view have it."""
        kept = layer.memory.kept.get(message)
        if kept is not None:
            kept.stable = True
            self.relay.send_on(layer, kept, now)
            self.relay.check_done(layer, kept, now)

    # Copies, and delivery.

    def _count_copies(self, layer: Layer, now: float) -> None:
        """See which others have what was sent from here."""
        epoch, own = layer.state.epochs.epoch, self.process
        copies = epoch.copies(self.options.copies)
        before = safe = epoch.safe.get(own, 0)
        while (sent := epoch.on_its_way.get(safe + 1)) and len(_got(layer, sent)) >= copies:
            safe += 1
        epoch.safe[own] = safe
        self._tell_safe(layer, range(before + 1, safe + 1), now)
        while epoch.arrived < safe and _has_all(layer, epoch.on_its_way[epoch.arrived + 1]):
            epoch.arrived += 1
            epoch.keepers |= process_set(epoch.on_its_way.pop(epoch.arrived).numbers)
            if epoch.word_at < 0:
                epoch.word_at = now + self.options.tidy_s
                self.core.emit(Wake(epoch.word_at))

    def _tell_safe(self, layer: Layer, numbers: range, now: float) -> None:
        """Recipients of what waits for this alone have to know."""
        epoch = layer.state.epochs.epoch
        copies = epoch.copies(self.options.copies)
        if not copies or not numbers:
            return
        waiting = 0
        for number in numbers:
            sent = epoch.on_its_way.get(number + (copies == 1))
            for process in members(sent.to if sent else 0):
                waiting |= (epoch.told[process] < number) << process
        word = Progress(epoch.view, numbers[-1], 0)
        for process in members(waiting):
            epoch.told[process] = word.safe
            self.tell(layer, process, (word,), now)

    def _say_settled(self, layer: Layer, now: float) -> None:
        """Tell all who keep messages of this process how many have arrived, of several at once."""
        epoch = layer.state.epochs.epoch
        if 0 <= epoch.word_at <= now:
            word = Progress(epoch.view, epoch.safe.get(self.process, 0), epoch.arrived)
            keepers, epoch.keepers, epoch.word_at = epoch.keepers, 0, -1.0
            for process in members(keepers):
                epoch.told[process] = word.safe
                self.tell(layer, process, (word,), now)
            self._on_word(layer, self.process, word, now)

    def _free(self, layer: Layer) -> Key | None:
        """A message that can be delivered, if there is one. Of each member only the first that
        waits is looked at."""
        epoch, looked_at = layer.state.epochs.epoch, set[int]()
        for key in sorted(epoch.waiting):
            if key[0] not in looked_at:
                looked_at.add(key[0])
                if self._is_safe(layer, key) and epoch.is_next(epoch.direct(key), self.process):
                    return key
        return None

    def _is_safe(self, layer: Layer, key: Key) -> bool:
        epoch, (entry, number) = layer.state.epochs.epoch, key
        copies = epoch.copies(self.options.copies)
        has_one = copies == 1 and entry != self.process
        return not copies or epoch.safe.get(entry, 0) >= number - has_one

    def held(self, layer: Layer) -> list[Held]:
        """What has come and waits for others, or for further copies of its own."""
        epoch, found = layer.state.epochs.epoch, []
        for key in sorted(epoch.waiting):
            item = epoch.direct(key)
            if item.carry.message.destinations >> self.process & 1:
                missing = epoch.missing(item, self.process)
                awaited = [Awaited(*one, Scope.HERE) for one in missing]
                if not self._is_safe(layer, key):
                    awaited.append(Awaited(*key, Scope.HOP))
                found.append(Held(item.carry.id, tuple(sorted(awaited))))
        return found

    def _take_waiting(self, layer: Layer, key: Key, now: float) -> None:
        epoch = layer.state.epochs.epoch
        item = epoch.direct(key)
        del epoch.waiting[key]
        message, entry = item.carry.message, key[0]
        epoch.take(item, entry, epoch.recipients(message, entry, layer.node.processes))
        kept = self._keep(layer, key, item.carry)
        layer.note_passed(item.carry.id)
        self.relay.deliver(kept)
        if layer.is_server:
            self.relay.send_on(layer, kept, now)
        if key[1] <= epoch.settled.get(entry, 0):
            self._settle_one(layer, message.id, now)
        if message.id in epoch.released:
            epoch.released.discard(message.id)
            self.relay.release(layer, message.id, now)

    def holds_back(self, layer: Layer, kept: Kept) -> bool:
        """Whether a message is not sent on yet: this process has it, but has not delivered it; or,
        in a new view, it has not been put in order with the rest."""
        epoch = layer.state.epochs.epoch
        waits = epoch.placed.get(kept.message.id) in epoch.waiting
        return waits or (layer.state.handover.gathering and not kept.stable)

    def may_go_on(self, layer: Layer, kept: Kept) -> bool:
        """What has been delivered is safe and goes on, in this order, though not all may have it:
        so does what is delivered from now on."""
        return True

    def on_let_go(self, layer: Layer, message: MessageId) -> None:
        """What all have is safe."""
        epoch = layer.state.epochs.epoch
        if message in epoch.placed:
            entry, number = epoch.placed.pop(message)
            epoch.safe[entry] = max(epoch.safe.get(entry, 0), number)

    def on_release(self, layer: Layer, ids: Ids) -> None:
        """These may wait here, too: they are safe, and are let go when they are delivered."""
        epoch = layer.state.epochs.epoch
        for entry, number in epoch.waiting:
            message = epoch.direct((entry, number)).carry.id
            if message in ids:
                epoch.released.add(message)
                epoch.safe[entry] = max(epoch.safe.get(entry, 0), number)

    # Views.

    def on_view(self, layer: Layer, event: groups.ViewInstalled, now: float) -> None:
        self._handing_over.on_view(layer, event, now)

    def on_merged(self, layer: Layer, message: groups.GroupMessage, now: float) -> None:
        for entry, payload in self._handing_over.on_merged(layer, message, now):
            self.on_told(layer, groups.MemberId(entry, 0), payload, now)

    def on_stable(self, layer: Layer, stable: Iterable[groups.GroupMessageId], now: float) -> None:
        self._handing_over.on_stable(layer, stable, now)

    def is_gathered(self, layer: Layer) -> bool:
        """Whether what the members have of the last epoch is known here."""
        return not layer.state.handover.gathering or layer.state.epochs.is_sorted

    def absorb(self, layer: Layer, memory: Memory, now: float) -> None:
        """Back in the group: this process hands over what it has. What it was to send down as the
        server, another sends."""
        own, out = layer.memory.kept, layer.state.out
        super().absorb(layer, memory, now)
        layer.memory.kept, layer.state.epochs.is_back = own, True
        outbox = carries(map(unpack, out.outbox))
        out.outbox = [pack(item) for item in outbox if item.sender == self.process]
        out.resend = []


def _got(layer: Layer, sent: Sent) -> list[int]:
    """Who has it, of those whom it was sent to."""
    got = layer.member.acknowledged
    return [who for who, number in sent.numbers.items() if got(who)[0] >= number]


def _has_all(layer: Layer, sent: Sent) -> bool:
    return not sent.to & ~process_set(_got(layer, sent))
