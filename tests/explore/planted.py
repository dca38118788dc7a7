"""Small orders with one known property each, to see what the explorer makes of it."""

from typing import Any

import msgspec

from antecede.message import Membership, Message, MessageId, members
from antecede.order import Deliver, Effect, Order, Packet, Transmit, Wake
from antecede.orders.none import EMPTY, Unordered


class Deaf(Unordered):
    """Never delivers the second message of a process."""

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        if packet.message is not None and packet.message.id.number == 2:
            return []
        return super().receive(packet, now)


class Stutterer(Unordered):
    """Delivers everything twice."""

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        return 2 * super().receive(packet, now)


class Eavesdropper(Unordered):
    """Delivers to the sender what is addressed to others."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        return [*super().send(message, now), Deliver(message)]


class Inventor(Unordered):
    """Delivers, after a message, the one that would come next."""

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        message = self.check_header(packet)
        following = MessageId(message.id.sender, message.id.number + 1)
        invented = msgspec.structs.replace(message, id=following)
        return [*super().receive(packet, now), Deliver(invented)]


class Fragile(Unordered):
    """Breaks down on the second message of a process."""

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        if packet.message is not None and packet.message.id.number == 2:
            raise ZeroDivisionError("too much")
        return super().receive(packet, now)


class Echo(Unordered):
    """Answers every message with a packet of its own, to everybody."""

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        if packet.message is None:
            return []
        others = self.membership.everybody & ~(1 << self.process)
        answer = Transmit(Packet(self.process, None, EMPTY), others)
        return [*super().receive(packet, now), answer]


class Relay(Unordered):
    """Sends along a chain: a message goes to its first destination, which hands it on."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        return [
            effect
            if isinstance(effect, Deliver)
            else Transmit(Packet(self.process, message, EMPTY), _next(message, -1, self.process))
            for effect in super().send(message, now)
        ]

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        message = packet.message
        if message is None or message.id in self.state.delivered:
            return []
        self.state.delivered.add(message.id)
        to = _next(message, self.process, message.id.sender)
        effects: list[Effect] = [Deliver(message)]
        if to:
            effects.append(Transmit(Packet(self.process, message, EMPTY), to))
        return effects


def _next(message: Message, here: int, sender: int) -> int:
    later = [p for p in members(message.destinations) if p > here and p != sender]
    return 1 << later[0] if later else 0


class Chatterer(Unordered):
    """Answers every packet with another, for ever."""

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        answer: Effect = Transmit(Packet(self.process, None, EMPTY), 1 << packet.source)
        if packet.message is None:
            return [answer]
        return [*super().receive(packet, now), answer]


class _Waiting(msgspec.Struct, array_like=True):
    held: list[Message]
    wakes: int


class Sleeper(Unordered):
    """Delivers what has come when it wakes up, `SNOOZES` wake-ups late."""

    SNOOZES = 0
    state_type = _Waiting  # type: ignore[assignment]
    state: _Waiting  # type: ignore[assignment]

    def initial_state(self) -> Any:
        return _Waiting([], 0)

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        self.state.held.append(self.check_header(packet))
        self.state.held.sort(key=lambda message: message.id)
        return [Wake(now + 1)]

    def wake(self, now: float) -> list[Effect]:
        self.state.wakes += 1
        if self.state.wakes <= self.SNOOZES:
            return [Wake(now + 1)]
        held, self.state.held = self.state.held, []
        return [Deliver(message) for message in held]


class DeepSleeper(Sleeper):
    SNOOZES = 1000


class Insomniac(Unordered):
    """Once a message has come it asks for one wake-up after the other, and dies on the fifth."""

    NIGHTS = 5
    state_type = _Waiting  # type: ignore[assignment]
    state: _Waiting  # type: ignore[assignment]

    def initial_state(self) -> Any:
        return _Waiting([], 0)

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        return [Deliver(self.check_header(packet)), Wake(now + 1)]

    def wake(self, now: float) -> list[Effect]:
        self.state.wakes += 1
        if self.state.wakes == self.NIGHTS:
            raise ZeroDivisionError("too tired")
        return [Wake(now + 1)]


class Impostor(Unordered):
    """Transmits in the name of the process before it."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        other = (self.process - 1) % self.membership.size
        return [Transmit(Packet(other, message, EMPTY), message.destinations)]


class Shouter(Unordered):
    """Transmits to one process more than there are."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        everybody = 1 << self.membership.size | message.destinations
        return [Transmit(Packet(self.process, message, EMPTY), everybody)]


class Recording(Order):
    """Another order that remembers, as part of its state, the order of its sends and deliveries."""

    inner: Order
    log: list[MessageId]

    def __init__(self, inner: Order, membership: Membership) -> None:
        self.inner = inner
        self.log = []
        self.process = inner.process
        self.membership = membership
        self.traits = inner.traits
        self.stamp_type = inner.stamp_type

    def initial_state(self) -> msgspec.Struct:
        return self.inner.initial_state()

    def _note(self, effects: list[Effect]) -> list[Effect]:
        self.log += [effect.message.id for effect in effects if isinstance(effect, Deliver)]
        return effects

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.log.append(message.id)
        return self._note(self.inner.send(message, now))

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        return self._note(self.inner.receive(packet, now))

    def wake(self, now: float) -> list[Effect]:
        return self._note(self.inner.wake(now))

    def snapshot(self) -> bytes:
        return msgspec.msgpack.encode((self.inner.snapshot(), self.log))

    def restore(self, snapshot: bytes) -> None:
        inner, self.log = msgspec.msgpack.decode(snapshot, type=tuple[bytes, list[MessageId]])
        self.inner.restore(inner)

    def held(self) -> list[Any]:
        return self.inner.held()

    def entries(self) -> int:
        return self.inner.entries()


def recording(order: type[Order]) -> Any:
    """A factory of orders that remember."""
    return lambda process, membership: Recording(order(process, membership), membership)
