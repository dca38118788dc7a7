"""Histories held by the application: it says what a message follows, by a history that it has put
together with `merge` (Rodrigues, Verissimo, chapter 6).

A message is sent in a context, a history, and follows what is in it. Sending gives the context that
has the message in it, too; a delivery brings the message's own history. The application keeps as
many contexts as it likes, merges them when things come together, and drops what does not matter.

Messages of one sender in different contexts are not ordered, so what was delivered is remembered
message by message, at one bit each. With `own_sends` all that a process has sent before is part of
every context; then its messages are delivered in the order of sending, and one number for each
sender is enough (R5).

A stamp is the whole context. Rule R7 must not shorten it: what a destination has been told, its
application may not have kept. R8 is sound, for it looks no further than the context itself.

The context None bypasses all order: the message waits for nothing and can be part of no context.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from antecede.errors import MalformedStamp, Misuse
from antecede.histories import _cited
from antecede.histories._cited import Citations
from antecede.histories.history import History, merge
from antecede.message import NO_GROUP, Membership, Message, MessageId, ProcessSet
from antecede.order import (
    Addressing,
    Awaited,
    Deliver,
    Effect,
    Gives,
    Options,
    Packet,
    Stamp,
    Traits,
)
from antecede.orders._counting import Condition, Counting
from antecede.orders._seen import Seen


class DeliverIn(Deliver, frozen=True, gc=False):
    """Hand this message to the application, with the history that it and what it follows are."""

    history: History


class ContextStamp(Stamp, frozen=True):
    """`H`: what the message follows; None if it is not ordered."""

    H: Citations | None

    def entries(self) -> int:
        """The identifiers."""
        return len(self.H or ())


class ContextsOptions(Options, frozen=True):
    own_sends: bool = False


class State(msgspec.Struct, array_like=True):
    """`number`: of the last own message. `own`: the context of all own messages (`own_sends`).
    `D`: the number of the last message of each sender that was delivered here (`own_sends`).
    `delivered`: the messages, where that is not enough."""

    number: int
    own: History
    D: list[int]
    delivered: Seen
    held: dict[MessageId, Packet[ContextStamp]]


class Contexts:
    """One process of an application that holds its own histories."""

    stamp_type = ContextStamp

    def __init__(self, process: int, membership: Membership, *, own_sends: bool = False) -> None:
        self._order = _Ordering(process, membership, ContextsOptions(own_sends=own_sends))
        self.process = process

    def send(
        self,
        context: History | None,
        destinations: ProcessSet,
        payload: bytes = b"",
        now: float = 0.0,
        group: int = NO_GROUP,
    ) -> tuple[History, list[Effect]]:
        """Multicast a message that follows what is in the context. The history that comes back is
        the context with the message in it; whoever goes on with the old one does not follow it.
        `group` is the application's to choose."""
        order, state = self._order, self._order.state
        number = state.number + 1
        message = Message(MessageId(self.process, number), destinations, group, payload)
        order.check_addressing(message)
        state.number = number
        if context is None:
            stamp, after = ContextStamp(None), History()
        else:
            fifo = order.options.own_sends
            if fifo:
                context = merge(context, state.own, fifo=True)
            stamp = ContextStamp(_cited.to_wire(context))
            after = context.after_send(message, fifo=fifo)
            if fifo:
                state.own = after
            order.note(message.id)
        return after, order.with_histories(order.multicast(message, stamp), after)

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        """The network hands over a packet; deliveries are `DeliverIn`."""
        return self._order.with_histories(self._order.receive(packet, now), History())

    def held(self) -> list[Any]:
        """What is held and why, in the order of identities."""
        return self._order.held()

    def snapshot(self) -> bytes:
        """The state as bytes, without the contexts, which are the application's."""
        return self._order.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot of the same process."""
        self._order.restore(snapshot)


class _Ordering(Counting):
    traits = Traits(
        title="histories held by the application",
        paper="Rodrigues, Verissimo 1994",
        addressing=Addressing.SETS,
        gives=Gives.NOTHING,
    )
    options_type = ContextsOptions
    stamp_type = ContextStamp
    state_type = State
    state: State
    options: ContextsOptions
    name = "contexts"

    def initial_state(self) -> State:
        return State(0, History(), [0] * self.membership.size, Seen(), {})

    def resume(self) -> None:
        super().resume()
        self._histories: dict[MessageId, History] = {}

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        raise Misuse("a message is sent in a context: use Contexts.send")

    def with_histories(self, effects: list[Effect], own: History) -> list[Effect]:
        """Deliveries with their histories; a copy to oneself has that of the send."""
        done: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Deliver):
                history = self._histories.pop(effect.message.id, own)
                done.append(DeliverIn(effect.message, history))
            else:
                done.append(effect)
        return done

    def check(self, packet: Packet[ContextStamp], message: Message) -> None:
        H = packet.stamp.H or ()
        _cited.check("H", H, self.membership, message.id)
        if any(sender == self.process and number > self.state.number for sender, number, _ in H):
            raise MalformedStamp("H", "names a message that has not been sent")

    def note(self, message: MessageId) -> Condition:
        """An ordered message is delivered here."""
        if self.options.own_sends:
            self.state.D[message.sender] = message.number
            return message.sender, message.number
        self.state.delivered.add(message)
        return message, 1

    def _is_in(self, message: MessageId) -> bool:
        if self.options.own_sends:
            return message.number <= self.state.D[message.sender]
        return message in self.state.delivered

    def is_delivered(self, packet: Packet[ContextStamp]) -> bool:
        identity: MessageId = packet.message.id  # type: ignore[union-attr]
        if packet.stamp.H is None:
            return identity in self.state.delivered
        return self._is_in(identity)

    def _missing(self, packet: Packet[ContextStamp]) -> Iterator[MessageId]:
        for cited in _cited.addressed(packet.stamp.H or (), self.process):
            if not self._is_in(cited):
                yield cited

    def unmet(self, packet: Packet[ContextStamp]) -> Condition | None:
        for cited in self._missing(packet):
            return (cited.sender, cited.number) if self.options.own_sends else (cited, 1)
        return None

    def awaited(self, packet: Packet[ContextStamp]) -> Iterable[Awaited]:
        for sender, number in self._missing(packet):
            yield Awaited(sender, number)

    def accept(self, packet: Packet[ContextStamp]) -> Iterable[Condition]:
        message: Message = packet.message  # type: ignore[assignment]
        if packet.stamp.H is None:
            self.state.delivered.add(message.id)
            return []
        self._histories[message.id] = _cited.from_wire(packet.stamp.H).after_delivery(
            message, self.process, fifo=self.options.own_sends
        )
        return [self.note(message.id)]

    def entries(self) -> int:
        return len(self.state.own.entries)
