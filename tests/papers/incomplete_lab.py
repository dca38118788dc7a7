"""A network for the incomplete orders of Rodrigues and Verissimo, chapter 6, and what happened."""

from random import Random
from typing import Any, Protocol

from antecede.message import Message, MessageId
from antecede.order import Deliver, Effect, Packet, Transmit
from antecede.wire import decode_packet, encode_packet
from tests.papers.harness import Event, Flight, Flights, History

Name = tuple[int, MessageId]
"""A message of a run: its group, label or priority, and its identity there."""


class Receiver(Protocol):
    stamp_type: Any

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]: ...


class Wires(Flights):
    """What is on its way between processes, and what was sent and delivered so far."""

    def __init__(self, processes: list[Any]) -> None:
        super().__init__()
        self.processes = processes
        self.history = History()

    def sent(self, sender: int, effects: list[Effect]) -> Message:
        """A process has sent a message; these are the effects."""
        messages = [
            effect.packet.message if isinstance(effect, Transmit) else effect.message
            for effect in effects
            if isinstance(effect, Transmit | Deliver)
        ]
        message: Message = messages[0]  # type: ignore[assignment]
        self.history.events.append(Event(0, "send", sender, message))
        self.perform(sender, effects)
        return message

    def perform(self, process: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Transmit):
                self.transmit(effect.packet, effect.to)
            elif isinstance(effect, Deliver):
                self.history.events.append(Event(0, "deliver", process, effect.message))

    def arrive(self, flight: Flight, again: bool = False) -> list[Effect]:
        """A packet arrives over the wire; with `again` a copy of it stays in flight."""
        if not again:
            self.in_flight.remove(flight)
        receiver = self.processes[flight.to]
        wire = encode_packet(flight.packet)
        effects: list[Effect] = receiver.receive(decode_packet(wire, receiver.stamp_type))
        self.perform(flight.to, effects)
        return effects

    def bring(self, message: Message, to: int) -> list[Effect]:
        return self.arrive(self.find(to, message=message))

    def settle(self, chance: Random) -> None:
        while self.in_flight:
            self.arrive(chance.choice(self.in_flight))

    def delivered(self, process: int) -> list[Name]:
        return [
            (event.message.group, event.message.id)
            for event in self.history.events
            if event.kind == "deliver" and event.process == process
        ]

    def part(self, group: int) -> History:
        """What happened in one group or label, as if there were no other."""
        only = History()
        only.events = [event for event in self.history.events if event.message.group == group]
        return only


def some(chance: Random, size: int, sender: int) -> int:
    """A random set of others."""
    return chance.randrange(1, 1 << size) & ~(1 << sender) or 1 << (sender + 1) % size
