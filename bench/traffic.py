"""Traffic between bare state machines: no network, no virtual time, no trace.

A packet waits for a random number of steps and is then handed over; a wake-up happens now and then,
and when nothing is in flight. Only the calls of the state machines are timed.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

from antecede.message import Membership, Message, MessageId, ProcessSet, members, process_set
from antecede.order import Channels, Deliver, Effect, Order, Packet, Transmit, Wake
from antecede.protocols import find, parse_options
from antecede.wire import encode_stamp

WAKES_PER_MESSAGE = 0.5
"""How often a wake-up happens while there is traffic."""

Choice = Callable[[random.Random], tuple[int, ProcessSet, int]]
"""Draws the next send: (sender, destinations, group)."""


def unicast(membership: Membership) -> Choice:
    """From anybody to anybody else."""

    def choose(source: random.Random) -> tuple[int, ProcessSet, int]:
        sender, destination = source.sample(range(membership.size), 2)
        return sender, 1 << destination, -1

    return choose


def group_broadcast(membership: Membership) -> Choice:
    """From anybody to one of its groups."""
    groups_of = [membership.groups_of(process) for process in range(membership.size)]

    def choose(source: random.Random) -> tuple[int, ProcessSet, int]:
        sender = source.randrange(membership.size)
        group = source.choice(groups_of[sender])
        return sender, membership.group(group), group

    return choose


def mostly_local(near: Sequence[Sequence[int]], locality: float) -> Choice:
    """From anybody to one other process: with this probability to one that is near, else to any."""

    def choose(source: random.Random) -> tuple[int, ProcessSet, int]:
        sender = source.randrange(len(near))
        if near[sender] and source.random() < locality:
            return sender, 1 << source.choice(near[sender]), -1
        other = source.randrange(len(near) - 1)
        return sender, 1 << other + (other >= sender), -1

    return choose


def ring(size: int, group_size: int) -> Membership:
    """Overlapping groups in a ring: neighbours share one process."""
    step = group_size - 1
    starts = range(0, size, step)
    groups = [process_set((start + k) % size for k in range(group_size)) for start in starts]
    return Membership(size, tuple(groups))


@dataclass
class Measured:
    """What a run cost."""

    sends: int = 0
    deliveries: int = 0
    packets: int = 0
    control_packets: int = 0
    entries: int = 0
    stamp_bytes: int = 0
    send_s: float = 0.0
    receive_s: float = 0.0

    @property
    def timed_s(self) -> float:
        return self.send_s + self.receive_s


class Traffic:
    """All processes of one protocol."""

    def __init__(
        self,
        protocol: str,
        membership: Membership,
        choose: Choice,
        seed: int = 1,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        order = find(protocol)
        chosen = parse_options(protocol, options or {})
        self.orders: list[Order] = [
            order(process, membership, chosen) for process in range(membership.size)
        ]
        self.fifo = order.traits.channels is Channels.FIFO
        self.choose = choose
        self.random = random.Random(seed)
        self.numbers = [0] * membership.size
        self.in_flight: list[tuple[int, Packet[Any]]] = []
        self.wakes: list[tuple[float, int]] = []
        self.now = 0.0
        self.measured = Measured()

    def run(self, messages: int, in_flight: int, budget_s: float = float("inf")) -> Measured:
        """Send this many messages and let all of them arrive; stop early when the timed calls have
        taken `budget_s`."""
        self.advance(messages, in_flight, budget_s)
        while (self.in_flight or self.wakes) and self.measured.timed_s < 2 * budget_s:
            if self.in_flight:
                self._arrive()
            else:
                self._wake()
        return self.measured

    def advance(self, messages: int, in_flight: int, budget_s: float = float("inf")) -> None:
        """Send so many messages more, keeping about so many packets in flight; wake-ups come when
        there is room."""
        for _ in range(messages):
            if self.measured.timed_s > budget_s:
                break
            self._send()
            while len(self.in_flight) > in_flight:
                self._arrive()
            if self.wakes and self.random.random() < WAKES_PER_MESSAGE:
                self._wake()

    def _send(self) -> None:
        sender, destinations, group = self.choose(self.random)
        self.numbers[sender] += 1
        message = Message(MessageId(sender, self.numbers[sender]), destinations, group)
        start = process_time()
        effects = self.orders[sender].send(message, self.now)
        self.measured.send_s += process_time() - start
        self.measured.sends += 1
        self._carry_out(sender, effects)

    def _arrive(self) -> None:
        index = self.random.randrange(len(self.in_flight))
        if self.fifo:
            source, destination = self.in_flight[index][1].source, self.in_flight[index][0]
            index = next(
                i
                for i, (to, packet) in enumerate(self.in_flight)
                if to == destination and packet.source == source
            )
            destination, packet = self.in_flight.pop(index)
        else:
            self.in_flight[index], self.in_flight[-1] = self.in_flight[-1], self.in_flight[index]
            destination, packet = self.in_flight.pop()
        start = process_time()
        effects = self.orders[destination].receive(packet, self.now)
        self.measured.receive_s += process_time() - start
        self._carry_out(destination, effects)

    def _wake(self) -> None:
        at, process = min(self.wakes)
        self.wakes.remove((at, process))
        self.now = max(self.now, at)
        self._carry_out(process, self.orders[process].wake(self.now))

    def _carry_out(self, process: int, effects: list[Effect]) -> None:
        measured = self.measured
        for effect in effects:
            if isinstance(effect, Transmit):
                stamp = effect.packet.stamp
                copies = effect.to.bit_count()
                measured.packets += copies
                measured.entries += copies * stamp.entries()
                measured.stamp_bytes += copies * len(encode_stamp(stamp))
                if effect.packet.message is None:
                    measured.control_packets += copies
                self.in_flight.extend((to, effect.packet) for to in members(effect.to))
            elif isinstance(effect, Deliver):
                measured.deliveries += 1
            elif isinstance(effect, Wake):
                self.wakes.append((effect.at, process))
