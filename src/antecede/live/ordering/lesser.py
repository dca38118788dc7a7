"""Less order than causal order, live (Rodrigues, Verissimo, chapter 6; `antecede.histories`).

Labels: one order for each label, side by side, and none between them. Contexts: the application
holds histories, and a message follows what is in the one it is sent in. Both are orders, so that
views, copies for survivors and recordings work as for any other.

A history speaks of messages of one view. What was sent in former views is delivered, or gone with
its sender, before the next begins: so a context of a former view stands for nothing that would
still have to be waited for.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from antecede.errors import MalformedStamp, Misuse
from antecede.histories import Contexts, DeliverIn
from antecede.histories.history import History, merge
from antecede.message import Membership, Message, MessageId
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
from antecede.wire import decode_stamp, encode_stamp

__all__ = ["Context", "ContextOrder", "DeliverIn", "LabelStamp", "LabelledOrder", "merged"]


class Context(msgspec.Struct, frozen=True):
    """What a message follows: a history in a view. The empty one is `Context()`."""

    view: int = 0
    history: History = msgspec.field(default_factory=History)


def merged(first: Context, second: Context) -> Context:
    """What follows from the two."""
    if first.view != second.view:
        return max(first, second, key=lambda context: context.view)
    return Context(first.view, merge(first.history, second.history))


class _NoState(msgspec.Struct, array_like=True):
    """The parts have their own."""


class ContextOrder(Order):
    """Histories held by the application. `after` is that of the last message sent, with it."""

    name = "contexts"
    traits = Traits(
        title="histories held by the application",
        paper="Rodrigues, Verissimo 1994",
        addressing=Addressing.SETS,
        gives=Gives.NOTHING,
    )
    stamp_type = Contexts.stamp_type
    state_type = _NoState

    def __init__(self, process: int, membership: Membership) -> None:
        self._contexts = Contexts(process, membership)
        self.after = History()
        super().__init__(process, membership)

    def initial_state(self) -> _NoState:
        return _NoState()

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        raise Misuse("where the application holds the histories, a message is sent in one: send_in")

    def send_in(self, history: History | None, message: Message, now: float) -> list[Effect]:
        """Send a message that follows what is in the history."""
        self.after, effects = self._contexts.send(
            history, message.destinations, message.payload, now
        )
        return effects

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        return self._contexts.receive(packet, now)

    def held(self) -> list[Held]:
        return self._contexts.held()

    def entries(self) -> int:
        return 0


class LabelStamp(Stamp, frozen=True):
    """Which label a packet belongs to, the message's number under it, and the stamp there."""

    label: Count
    number: Count
    inner: bytes


class LabelledOrder(Order):
    """One order for each label. A message's label is its `group`."""

    name = "labels"
    traits = Traits(
        title="order within labels",
        paper="Rodrigues, Verissimo 1994",
        addressing=Addressing.SETS,
        gives=Gives.NOTHING,
    )
    stamp_type = LabelStamp
    state_type = _NoState

    def __init__(
        self,
        process: int,
        membership: Membership,
        labels: int,
        make_order: Callable[[int, Membership], Order],
    ) -> None:
        self._orders = [make_order(process, membership) for _ in range(labels)]
        self._numbers = [0] * labels
        self._outer: dict[tuple[int, MessageId], Message] = {}
        """By label and identity under it, the messages that are here and not delivered."""
        super().__init__(process, membership)

    def initial_state(self) -> _NoState:
        return _NoState()

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        label = message.group
        inner = MessageId(self.process, self._numbers[label] + 1)
        within = Message(inner, message.destinations, 0, message.payload)
        inwards = self._orders[label].send(within, now)
        self._outer[label, inner] = message
        self._numbers[label] = inner.number
        effects = self._outwards(label, inwards)
        if not message.destinations >> self.process & 1:
            del self._outer[label, inner]  # It is not delivered here, so nobody asks for it again.
        return effects

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        label, number = packet.stamp.label, packet.stamp.number
        if label >= len(self._orders):
            raise MalformedStamp("label", f"is {label}; there are {len(self._orders)}")
        order = self._orders[label]
        stamp = decode_stamp(packet.stamp.inner, order.stamp_type)
        message = packet.message
        if message is None:
            return self._outwards(label, order.receive(Packet(packet.source, None, stamp), now))
        if message.group != label:
            raise MalformedStamp("group", f"is {message.group} under label {label}")
        inner = MessageId(message.id.sender, number)
        within = Message(inner, message.destinations, 0, message.payload)
        if (label, inner) in self._outer:
            return []
        self._outer[label, inner] = message
        try:
            effects = order.receive(Packet(packet.source, within, stamp), now)
        except MalformedStamp:
            del self._outer[label, inner]
            raise
        return self._outwards(label, effects)

    def wake(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for label, order in enumerate(self._orders):
            effects += self._outwards(label, order.wake(now))
        return effects

    def held(self) -> list[Held]:
        found = [
            Held(self._outer[label, held.message].id, held.awaited)
            for label, order in enumerate(self._orders)
            for held in order.held()
        ]
        return sorted(found, key=lambda held: held.message)

    def entries(self) -> int:
        return sum(order.entries() for order in self._orders)

    def _outwards(self, label: int, effects: Iterable[Effect]) -> list[Effect]:
        done: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Transmit):
                packet, number, outer = effect.packet, 0, None
                if packet.message is not None:
                    number = packet.message.id.number
                    outer = self._outer[label, packet.message.id]
                stamp = LabelStamp(label, number, encode_stamp(packet.stamp))
                done.append(Transmit(Packet(packet.source, outer, stamp), effect.to))
            elif isinstance(effect, Deliver):
                done.append(Deliver(self._outer.pop((label, effect.message.id))))
            else:
                done.append(effect)
        return done
