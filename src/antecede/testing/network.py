"""A small random network: one seed, one run. It knows nothing of any protocol but the contract."""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from random import Random
from typing import Any, NoReturn

import msgspec

from antecede.errors import AntecedeError
from antecede.message import Message, MessageId, members
from antecede.order import (
    Channels,
    Deliver,
    Effect,
    Options,
    Order,
    Packet,
    Transmit,
    Wake,
)
from antecede.orders import parse_options
from antecede.testing.traffic import Layout
from antecede.testing.truth import Truth
from antecede.wire import decode_packet, encode_packet


class Failure(AssertionError):
    """A protocol breaks its word; the message has the seed and every step of the run."""


class Flight(msgspec.Struct):
    """One copy of a packet under way to one process."""

    packet: Packet[Any]
    destination: int
    serial: int
    """Its place among the packets that its source transmitted to this destination, from 1."""
    has_arrived: bool = False


class Monitor:
    """Watches a run. One instance sees one run."""

    def __init__(self, network: "Network") -> None:
        self.network = network

    def after(self, process: int, effects: list[Effect]) -> None:
        """Something has happened at a process, and these were its effects."""


class Network:
    """The processes of a run and the packets between them.

    Some links are slow: packets stay there while others pass, so that messages are overtaken by
    chains of others. `over_wire` encodes and decodes every packet. `duplicates` is the chance that
    an arriving packet arrives again later: on FIFO channels next on its channel (a channel that
    stutters), otherwise at any time. `on_restart` may replace an order after an event. With
    `in_runs`, packets that follow each other arrive together where their order takes them so.
    """

    def __init__(
        self,
        order: type[Order],
        layout: Layout,
        seed: int,
        *,
        monitors: Sequence[type[Monitor]] = (),
        options: Options | None = None,
        over_wire: bool = True,
        duplicates: float = 0.0,
        on_restart: Callable[[Order], Order] | None = None,
        in_runs: bool = False,
    ) -> None:
        self.layout = layout
        self.seed = seed
        size = layout.membership.size
        if options is None and order.patient_options:
            options = parse_options(order, order.patient_options)
        self.orders = [order(process, layout.membership, options) for process in range(size)]
        self.name = order.name
        self.traits = order.traits
        self.truth = Truth(size, order.traits.gives)
        self.channels: dict[tuple[int, int], list[Flight]] = {}
        """By (source, destination): every packet ever transmitted."""
        self.steps: list[tuple[str, int, Packet[Any] | Message | float]] = []
        self.now = 0.0
        self.random = Random(f"{layout.name} {size} {seed}")
        self._over_wire = over_wire
        self._duplicates = duplicates
        self._on_restart = on_restart
        self._in_runs = in_runs
        self.runs = 0
        """How many were taken."""
        self._in_flight: dict[tuple[int, int], deque[Flight]] = {}
        self._arrivals: list[tuple[int, int]] = []
        """The channel of every packet in flight, once each, and some that have emptied since."""
        self._wakes: list[tuple[float, int]] = []
        self._numbers = [0] * size
        self._last_to_deliver = 0
        self._tick_s = self.random.choice([0.001, 0.1, 10.0])
        slow = [process for process in range(size) if self.random.random() < 0.3]
        self._slow = {(s, d) for s in range(size) for d in slow if self.random.random() < 0.6}
        self.monitors = [monitor(self) for monitor in monitors]

    def play(self, messages: int) -> None:
        """Send this many messages, with arrivals and wake-ups in between."""
        eagerness = self.random.uniform(0.05, 0.6)
        senders = self.layout.senders()
        for _ in range(messages):
            while self.random.random() > eagerness and self.step(is_patient=True):
                pass
            # An answer extends a causal chain.
            answers = self._last_to_deliver in senders and self.random.random() < 0.6
            self.send(self._last_to_deliver if answers else self.random.choice(senders))

    def drain(self) -> None:
        """Let everything arrive, and every wake-up come, until nothing is left to happen."""
        limit = 60 * len(self.orders) * (len(self.truth.facts) + len(self.orders))
        while self.step():
            limit -= 1
            if not limit:
                self.fail("the network does not come to rest")
        if lost := self.truth.lost():
            held = {p: order.held() for p, order in enumerate(self.orders) if order.held()}
            self.fail(f"at rest, but undelivered: {'; '.join(lost)}; held: {held}")

    def send(self, sender: int) -> None:
        """A process sends a message to destinations drawn at random."""
        destinations, group = self.layout.address(self.random, sender)
        self._numbers[sender] += 1
        identity = MessageId(sender, self._numbers[sender])
        message = Message(identity, destinations, group, str(identity).encode())
        self.truth.send(message)
        self.steps.append(("send", sender, message))
        effects = self._guard(lambda: self.orders[sender].send(message, self.now))
        self._perform(sender, effects)
        if destinations >> sender & 1 and self.truth.lacks(sender, self.truth.facts[-1]):
            self.fail(f"{identity} is not delivered to its sender at once")

    def step(self, is_patient: bool = False) -> bool:
        """One arrival or wake-up; False if there is none to come, or, to the patient, if only slow
        links have something to bring."""
        self.now += self._tick_s
        is_due = bool(self._wakes) and self._wakes[0][0] <= self.now
        channel = None
        if not (is_due and self.random.random() < 0.3):
            channel = self._draw_channel()
        if channel is not None:
            if is_patient and channel in self._slow and self.random.random() < 0.8:
                self._arrivals.append(channel)
                return False
            self.arrive(*channel)
            return True
        if self._wakes:
            at, process = heappop(self._wakes)
            self.now = max(self.now, at)
            self.steps.append(("wake", process, self.now))
            self._perform(process, self._guard(lambda: self.orders[process].wake(self.now)))
            return True
        return False

    def _draw_channel(self) -> tuple[int, int] | None:
        """Take out of `_arrivals` a channel that brings something, rarely a slow one."""
        arrivals = self._arrivals
        patience = 4
        while arrivals:
            place = self.random.randrange(len(arrivals))
            channel = arrivals[place]
            if channel in self._slow and patience:
                patience -= 1
                continue
            arrivals[place] = arrivals[-1]
            arrivals.pop()
            if self._in_flight[channel]:
                return channel
        return None

    def in_flight(self, destination: int) -> list[Flight]:
        """What is under way to a process, each channel in the order of transmission."""
        channels = sorted(channel for channel in self._in_flight if channel[1] == destination)
        return [flight for channel in channels for flight in self._in_flight[channel]]

    def arrive(self, source: int, destination: int, wanted: Flight | None = None) -> None:
        """A packet of this channel arrives: the one that is wanted, or one drawn at random; on a
        FIFO channel the first."""
        channel = (source, destination)
        waiting = self._in_flight[channel]
        place = 0
        if self.traits.channels is not Channels.FIFO:
            place = waiting.index(wanted) if wanted else self.random.randrange(len(waiting))
        flight = waiting[place]
        if self._in_runs and self._arrive_in_run(destination, waiting, place):
            return
        repeated = self.random.random() < self._duplicates
        if repeated:
            # On a FIFO channel it stays in front; elsewhere its place means nothing.
            self.steps.append(("duplicate", destination, flight.packet))
            self._arrivals.append(channel)
        else:
            del waiting[place]
        self.steps.append(("arrive", destination, flight.packet))
        order = self.orders[destination]
        is_again, flight.has_arrived = flight.has_arrived, True
        before = order.lasting() if is_again else b""
        effects = self._guard(lambda: order.receive(self._carried(flight.packet), self.now))
        if is_again:
            self._check_dropped(flight, before, effects)
        self._perform(destination, effects)

    def _arrive_in_run(self, destination: int, waiting: deque[Flight], place: int) -> bool:
        """Let a packet arrive with those that follow it, if the order takes them so: it comes to
        the same as one by one."""
        first, run = waiting[place].packet, [waiting[place].packet]
        for flight in list(waiting)[place + 1 :]:
            if not _follows(first, len(run), flight.packet):
                break
            run.append(flight.packet)
        order = self.orders[destination]
        before = order.snapshot()
        more = self._guard_run(lambda: order.receive_run(self._carried(first), len(run)))
        if more is None:
            if order.snapshot() != before:
                self.fail(f"a run from {first} on is not taken, but changes the state")
            return False
        other = type(order)(order.process, order.membership, order.options)
        other.restore(before)
        one_by_one = [effect for one in run for effect in other.receive(one, self.now)]
        together = [*[Deliver(one.message) for one in run if one.message], *more]
        if sorted(map(str, together)) != sorted(map(str, one_by_one)):
            self.fail(f"a run from {first} on has the effects {together}, not {one_by_one}")
        if order.snapshot() != other.snapshot():
            self.fail(f"a run from {first} on leads to another state than its packets one by one")
        for one in run:
            self.steps.append(("arrive", destination, one))
            del waiting[place]
        self.runs += len(run) > 1
        self._perform(destination, together)
        return True

    def _guard_run(self, event: Callable[[], list[Effect] | None]) -> list[Effect] | None:
        try:
            return event()
        except AntecedeError as error:
            self.fail(f"{type(error).__name__}: {error}")

    def _carried(self, packet: Packet[Any]) -> Packet[Any]:
        if not self._over_wire:
            return packet
        arrived = decode_packet(encode_packet(packet), type(packet.stamp))
        if arrived != packet:
            self.fail(f"{packet} arrives as {arrived}")
        return arrived

    def _check_dropped(self, flight: Flight, before: bytes, effects: list[Effect]) -> None:
        """The duplicate of a message has no effect; that of a packet without one may be answered
        again, but changes nothing. To one that watches whether others live, a duplicate is a sign
        of life, on which it may ask to be woken, but the application sees nothing of it."""
        allowed: tuple[type[Effect], ...] = () if flight.packet.message else (Transmit,)
        if self.traits.watches:
            allowed = (Transmit, Wake)
        if not all(isinstance(effect, allowed) for effect in effects):
            self.fail(f"a duplicate of {flight.packet} has the effects {effects}")
        if self.orders[flight.destination].lasting() != before:
            self.fail(f"a duplicate of {flight.packet} changes the state")

    def _guard(self, event: Callable[[], list[Effect]]) -> list[Effect]:
        """Among honest processes nothing is refused."""
        try:
            return event()
        except AntecedeError as error:
            self.fail(f"{type(error).__name__}: {error}")

    def _perform(self, process: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Transmit):
                self._transmit(process, effect)
            elif isinstance(effect, Deliver):
                mistake = self.truth.deliver(process, effect.message)
                if mistake:
                    self.fail(mistake)
                self._last_to_deliver = process
            elif isinstance(effect, Wake):
                heappush(self._wakes, (effect.at, process))
        for monitor in self.monitors:
            monitor.after(process, effects)
        if self._on_restart:
            self.orders[process] = self._on_restart(self.orders[process])

    def _transmit(self, source: int, effect: Transmit) -> None:
        packet = effect.packet
        if packet.source != source or effect.to >> source & 1 or not effect.to:
            self.fail(f"process {source} transmits {packet} to {list(members(effect.to))}")
        if effect.to & ~self.layout.membership.everybody:
            self.fail(f"{packet} is transmitted to nobody: {list(members(effect.to))}")
        for destination in members(effect.to):
            channel = (source, destination)
            record = self.channels.setdefault(channel, [])
            flight = Flight(packet, destination, len(record) + 1)
            record.append(flight)
            self._in_flight.setdefault(channel, deque()).append(flight)
            self._arrivals.append(channel)

    def fail(self, reason: str) -> NoReturn:
        """Raise `Failure` with all that is needed to see it again."""
        steps = "\n".join(
            f"  {number}. {_sentence(*step)}" for number, step in enumerate(self.steps, 1)
        )
        raise Failure(
            f"{self.name}: {reason}\n"
            f"layout '{self.layout.name}' {self.layout.membership}, seed {self.seed}:\n{steps}"
        )


def _follows(first: Packet[Any], steps: int, packet: Packet[Any]) -> bool:
    """Whether a packet is the one so many after the first, as that one's stamp tells."""
    before, message = first.message, packet.message
    if before is None or message is None:
        return False
    return (
        message.id == (before.id.sender, before.id.number + steps)
        and (message.destinations, message.group) == (before.destinations, before.group)
        and packet.stamp == first.stamp.successor(first.source, steps)
    )


def _sentence(event: str, process: int, about: Packet[Any] | Message | float) -> str:
    if isinstance(about, Message):
        return f"{process} sends {about.id} to {list(members(about.destinations))}"
    if isinstance(about, Packet):
        what = about.message.id if about.message else "a packet without message"
        verb = "gets" if event == "arrive" else "will get again"
        return f"{process} {verb} {what} from {about.source}: {about.stamp}"
    return f"{process} wakes at {about}"
