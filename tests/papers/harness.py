"""A little network for tests of single protocols: schedules by hand or by chance, and judges that
are written from the definition.

By hand: a `Network` does what it is told, and a test reads as the schedule of the paper's figure.
By chance: `run` lets a seed choose among the next sends, the arrivals and the wake-ups.
The judges (`early`, `undelivered`, `late`) look at the `History` only.
"""

import random
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from antecede.message import (
    NO_GROUP,
    Membership,
    Message,
    MessageId,
    ProcessSet,
    members,
    process_set,
)
from antecede.order import Deliver, Effect, Order, Packet, Transmit, Wake
from antecede.protocols import create


class Send(NamedTuple):
    """One line of a program: `sender` sends to these processes."""

    sender: int
    destinations: tuple[int, ...]
    group: int = NO_GROUP


class Event(NamedTuple):
    """`kind` is send, receive (the copy that the sender addressed here arrived) or deliver."""

    step: int
    kind: str
    process: int
    message: Message


class Flight(NamedTuple):
    """A packet on its way."""

    packet: Packet[Any]
    to: int


class History:
    """What happened, step by step, and every packet that was transmitted."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.flights: list[Flight] = []

    def deliveries(self, process: int) -> list[str]:
        """What a process delivered, in order, as `sender:number`."""
        return [
            str(event.message.id)
            for event in self.events
            if event.kind == "deliver" and event.process == process
        ]


class Flights:
    """What is on its way between processes; it arrives when the test says so. Every laboratory of
    this folder has it; those elsewhere have clocks, links with an order, or real sockets."""

    def __init__(self) -> None:
        self.in_flight: list[Flight] = []

    def transmit(self, packet: Packet[Any], to: ProcessSet) -> list[Flight]:
        """A packet is on its way to these."""
        flights = [Flight(packet, destination) for destination in members(to)]
        self.in_flight += flights
        return flights

    def find(
        self, to: int, source: int | None = None, message: MessageId | Message | None = None
    ) -> Flight:
        """The oldest flight to a process from a source; `message` asks for that very message."""
        for flight in self.in_flight:
            packet = flight.packet
            if flight.to != to or source not in (None, packet.source):
                continue
            if message is None or (
                packet.message and message in (packet.message, packet.message.id)
            ):
                return flight
        raise LookupError(f"nothing in flight to {to} from {source} with message {message}")

    def lose_all(self, to: int) -> None:
        """What is on its way to a process that has failed does not matter any more."""
        self.in_flight = [flight for flight in self.in_flight if flight.to != to]


class Network(Flights):
    """Orders, the packets between them, and the wake-ups they asked for."""

    def __init__(self, orders: Sequence[Order]) -> None:
        super().__init__()
        self.orders = orders
        self.history = History()
        self.wakes: list[int] = []
        self._numbers = [0] * len(orders)
        self._step = 0

    def send(self, sender: int, *destinations: int, group: int = NO_GROUP) -> MessageId:
        """A process sends a message; its copies are in flight."""
        self._numbers[sender] += 1
        identity = MessageId(sender, self._numbers[sender])
        message = Message(identity, process_set(destinations), group, str(identity).encode())
        self._step += 1
        self._record("send", sender, message)
        self._apply(sender, self.orders[sender].send(message))
        return identity

    def arrive(self, flight: Flight, again: bool = False) -> None:
        """A packet arrives; with `again` a copy of it stays in flight."""
        if not again:
            self.in_flight.remove(flight)
        self._step += 1
        if flight.packet.message is not None:
            self._record("receive", flight.to, flight.packet.message)
        self._apply(flight.to, self.orders[flight.to].receive(flight.packet))

    def bring(self, message: MessageId, *to: int) -> None:
        """The sender's own copies of a message arrive at these processes."""
        for process in to:
            self.arrive(self.find(process, message.sender, message))

    def lose(self, message: MessageId, *to: int) -> None:
        """The sender's own copies of a message to these processes never arrive."""
        for process in to:
            self.in_flight.remove(self.find(process, message.sender, message))

    def wake(self, process: int) -> None:
        """A time that a process asked for has come."""
        self.wakes.remove(process)
        self._step += 1
        self._apply(process, self.orders[process].wake(0.0))

    def settle(self) -> None:
        """Let everything arrive, oldest first, and every wake-up come, until all is quiet."""
        while self.in_flight or self.wakes:
            if self.in_flight:
                self.arrive(self.in_flight[0])
            else:
                self.wake(self.wakes[0])

    def _record(self, kind: str, process: int, message: Message) -> None:
        self.history.events.append(Event(self._step, kind, process, message))

    def _apply(self, process: int, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Transmit(packet, to):
                    self.history.flights += self.transmit(packet, to)
                case Deliver(message):
                    self._record("deliver", process, message)
                case Wake():
                    self.wakes.append(process)


def team(protocol: str, size: int, **options: Any) -> list[Order]:
    """The protocol at every process of one group of everybody."""
    membership = Membership(size)
    return [create(protocol, process, membership, **options) for process in range(size)]


def run(
    orders: Sequence[Order],
    program: Sequence[Send],
    seed: int,
    fifo: bool = False,
    duplicate: float = 0.0,
    loss: float = 0.0,
) -> History:
    """Run a program to its end on a network of chance: each sender's lines in order, everything
    else in an order that the seed draws. A `duplicate` share of the arrivals come twice."""
    chance = random.Random(seed)
    network = Network(orders)
    lines: dict[int, list[Send]] = {}
    for line in program:
        lines.setdefault(line.sender, []).append(line)
    eagerness = chance.choice([0.1, 0.3, 0.6])  # how often to send while packets are in flight
    while lines or network.in_flight or network.wakes:
        if lines and (not network.in_flight or chance.random() < eagerness):
            sender = chance.choice(sorted(lines))
            line = lines[sender].pop(0)
            if not lines[sender]:
                del lines[sender]
            network.send(sender, *line.destinations, group=line.group)
        elif network.wakes and (not network.in_flight or chance.random() < 0.1):
            network.wake(chance.choice(network.wakes))
        elif network.in_flight:
            flight = chance.choice(network.in_flight)
            if fifo:
                flight = network.find(flight.to, flight.packet.source)
            if chance.random() < loss:
                network.in_flight.remove(flight)
            else:
                network.arrive(flight, again=chance.random() < duplicate)
    return network.history


def traffic(
    size: int, messages: int, seed: int, fanout: int | None = None, groups: tuple[int, ...] = ()
) -> list[Send]:
    """A program of random senders: to whole groups of the sender where there are groups, else to
    `fanout` others, or to a random set of the others without it."""
    chance = random.Random(seed)
    membership = Membership(size, groups)
    program = []
    for _ in range(messages):
        sender = chance.randrange(size)
        if groups:
            group = chance.choice(membership.groups_of(sender))
            program.append(Send(sender, tuple(members(membership.group(group))), group))
            continue
        others = [process for process in range(size) if process != sender]
        count = chance.randint(1, len(others)) if fanout is None else fanout
        program.append(Send(sender, tuple(sorted(chance.sample(others, count)))))
    return program


class Early(NamedTuple):
    """`process` delivered `second` without `first`, which precedes it and is addressed there."""

    process: int
    first: MessageId
    second: MessageId


def _pasts(history: History) -> dict[MessageId, dict[MessageId, Message]]:
    """For each message, all messages whose sends happened before its own."""
    known: dict[int, dict[MessageId, Message]] = {}
    pasts: dict[MessageId, dict[MessageId, Message]] = {}
    for event in history.events:
        past = known.setdefault(event.process, {})
        identity = event.message.id
        if event.kind == "send":
            pasts[identity] = dict(past)
            past[identity] = event.message
        elif event.kind == "deliver":
            past.update(pasts[identity])
            past[identity] = event.message
    return pasts


def early(history: History) -> list[Early]:
    """Every pair of messages that some process delivered against the causal order, and every
    message delivered twice (which precedes itself, so to say)."""
    pasts = _pasts(history)
    delivered: dict[int, set[MessageId]] = {}
    found = []
    for event in history.events:
        if event.kind != "deliver":
            continue
        here = delivered.setdefault(event.process, set())
        second = event.message.id
        if second in here:
            found.append(Early(event.process, second, second))
        if event.process != second.sender:
            found += [
                Early(event.process, first, second)
                for first, message in pasts[second].items()
                if message.destinations >> event.process & 1 and first not in here
            ]
        here.add(second)
    return found


def undelivered(history: History) -> list[tuple[int, MessageId]]:
    """(process, message) for every destination that never delivered a message."""
    delivered = {
        (event.process, event.message.id) for event in history.events if event.kind == "deliver"
    }
    return [
        (process, event.message.id)
        for event in history.events
        if event.kind == "send"
        for process in members(event.message.destinations)
        if (process, event.message.id) not in delivered
    ]


def late(history: History) -> list[tuple[int, MessageId]]:
    """(process, message) for every delivery that came after the step in which the message and all
    its predecessors addressed there had arrived and been delivered."""
    pasts = _pasts(history)
    received: dict[tuple[int, MessageId], int] = {}
    delivered: dict[tuple[int, MessageId], int] = {}
    found = []
    for event in history.events:
        place = event.process, event.message.id
        if event.kind == "receive":
            received.setdefault(place, event.step)
        elif event.kind == "deliver" and event.process != event.message.id.sender:
            ready = [received.get(place, event.step)]
            ready += [
                delivered.get((event.process, first), 0)
                for first, message in pasts[event.message.id].items()
                if message.destinations >> event.process & 1
            ]
            if event.step > max(ready):
                found.append(place)
        if event.kind == "deliver":
            delivered.setdefault(place, event.step)
    return found
