"""Labels: order among the messages of one label, and none between labels (Rodrigues, Verissimo,
chapter 6).

One order for each label, side by side. The label of a message is its `group`. A label has its own
numbers, which travel in the stamp: with one numbering, and one record of what was delivered, for
all labels, rule R5 of `histories` would take a message for delivered because a later one of the
same sender under another label is, which it need not follow. A chain of messages through another
label orders nothing. Under `BYPASS` a message is not ordered at all.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from antecede.errors import MalformedStamp, Misuse
from antecede.message import NO_GROUP, Membership, Message, MessageId, ProcessSet
from antecede.order import (
    Addressing,
    Count,
    Deliver,
    Effect,
    Gives,
    Held,
    Order,
    Packet,
    Stamp,
    Traits,
    Transmit,
)
from antecede.orders import create
from antecede.snapshot import freeze, thaw
from antecede.wire import decode_stamp, encode_stamp

BYPASS = NO_GROUP
"""In place of a label: of messages that are not ordered at all."""

MakeOrder = Callable[[int, Membership], Order]


class LabelStamp(Stamp, frozen=True):
    """Which label a packet belongs to, the message's number under it, and the stamp there."""

    label: int
    number: Count
    inner: bytes


class _Label(msgspec.Struct, array_like=True):
    """One order, how many messages were sent under it, and those here that are not delivered."""

    number: int
    order: bytes
    here: dict[MessageId, Message]


class _State(msgspec.Struct, array_like=True):
    labels: dict[int, _Label]


class Labels(Order):
    """The labels are 0 to `labels` − 1: each costs a process the state of one order. `make` is a
    protocol, or makes the order of a label; it must address what the application does."""

    name = "labels"
    traits = Traits(
        title="order within labels",
        paper="Rodrigues, Verissimo 1994",
        addressing=Addressing.SETS,
        gives=Gives.NOTHING,
    )
    stamp_type = LabelStamp
    state_type = _State

    def __init__(
        self,
        process: int,
        membership: Membership,
        labels: int,
        make: str | MakeOrder = "histories",
        **options: Any,
    ) -> None:
        if labels < 1:
            raise Misuse(f"there are {labels} labels; one is the least")
        self._count = labels
        self._make = _maker(make, options)
        super().__init__(process, membership)

    def initial_state(self) -> _State:
        made = {label: self._order(label) for label in (BYPASS, *range(self._count))}
        return _State({label: _Label(0, order.snapshot(), {}) for label, order in made.items()})

    def _order(self, label: int) -> Order:
        if label == BYPASS:
            return create("none", self.process, self.membership)
        order = self._make(self.process, self.membership)
        if order.stamp_type.carries_messages:
            raise Misuse(
                f"{order.name} puts messages into its stamps, where labels have no names "
                "for them; take another protocol"
            )
        return order

    def resume(self) -> None:
        self._orders: dict[int, Order] = {}
        for label, state in self.state.labels.items():
            order = self._orders[label] = self._order(label)
            order.restore(state.order)

    def snapshot(self) -> bytes:
        for label, order in self._orders.items():
            self.state.labels[label].order = order.snapshot()
        return freeze(self.state)

    def restore(self, snapshot: bytes) -> None:
        self.state = thaw(snapshot, _State)
        self.resume()

    def send_under(
        self, label: int, destinations: ProcessSet, payload: bytes = b"", now: float = 0.0
    ) -> list[Effect]:
        """Multicast under a label, or with `BYPASS` under none; messages are counted here."""
        number = 1 + sum(state.number for state in self.state.labels.values())
        return self.send(
            Message(MessageId(self.process, number), destinations, label, payload), now
        )

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        label = message.group
        if label not in self._orders:
            raise Misuse(f"there is no label {label}; there are 0 to {self._count - 1}")
        state = self.state.labels[label]
        inner = MessageId(self.process, state.number + 1)
        within = Message(inner, message.destinations, 0, message.payload)
        inwards = self._orders[label].send(within, now)
        state.here[inner] = message
        state.number = inner.number
        effects = self._outwards(label, inwards)
        if not message.destinations >> self.process & 1:
            del state.here[inner]  # It is not delivered here, so nobody asks for it again.
        return effects

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        label, number = packet.stamp.label, packet.stamp.number
        if label not in self._orders:
            raise MalformedStamp("label", f"is {label}; there are {self._count}")
        order, here = self._orders[label], self.state.labels[label].here
        stamp = decode_stamp(packet.stamp.inner, order.stamp_type)
        message = packet.message
        if message is None:
            return self._outwards(label, order.receive(Packet(packet.source, None, stamp), now))
        if message.group != label:
            raise MalformedStamp("group", f"is {message.group} under label {label}")
        inner = MessageId(message.id.sender, number)
        within = Message(inner, message.destinations, 0, message.payload)
        if inner in here:
            return []
        here[inner] = message
        try:
            effects = order.receive(Packet(packet.source, within, stamp), now)
        except MalformedStamp:
            del here[inner]
            raise
        done = self._outwards(label, effects)
        if not effects and all(held.message != inner for held in order.held()):
            del here[inner]  # a duplicate
        return done

    def wake(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for label, order in sorted(self._orders.items()):
            effects += self._outwards(label, order.wake(now))
        return effects

    def held(self) -> list[Held]:
        found = [
            Held(self.state.labels[label].here[held.message].id, held.awaited)
            for label, order in self._orders.items()
            for held in order.held()
        ]
        return sorted(found, key=lambda held: held.message)

    def entries(self) -> int:
        return sum(order.entries() for order in self._orders.values())

    def _outwards(self, label: int, effects: Iterable[Effect]) -> list[Effect]:
        here = self.state.labels[label].here
        done: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Transmit):
                packet, number, outer = effect.packet, 0, None
                if packet.message is not None:
                    number, outer = packet.message.id.number, here[packet.message.id]
                stamp = LabelStamp(label, number, encode_stamp(packet.stamp))
                done.append(Transmit(Packet(packet.source, outer, stamp), effect.to))
            elif isinstance(effect, Deliver):
                done.append(Deliver(here.pop(effect.message.id)))
            else:
                done.append(effect)
        return done


def _maker(make: str | MakeOrder, options: dict[str, Any]) -> MakeOrder:
    if isinstance(make, str):
        return lambda process, membership: create(make, process, membership, **options)
    return make
