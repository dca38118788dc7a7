"""Direct dependencies: a message names what its sender has delivered since it last sent.

A process keeps, of every other, the number of the last message delivered. A message carries those
of these numbers that have changed since its sender's last one, at most n; it is delivered when they
have been reached, and the sender's own message before it has been delivered. What a message does
not name its sender's last one has named, or one that it names: so nothing overtakes its past.
"""

from collections.abc import Iterable

import msgspec

from antecede import (
    Addressing,
    Awaited,
    Condition,
    Count,
    Counting,
    Effect,
    MalformedStamp,
    Message,
    MessageId,
    Packet,
    Stamp,
    Traits,
)


class Named(Stamp, frozen=True):
    """The message's own number, and (process, number) of each message that it names."""

    number: Count
    named: tuple[tuple[Count, Count], ...]


class State(msgspec.Struct, array_like=True):
    """`delivered[p]`: the last message of p here; `news`: whose changed since the last send."""

    delivered: list[int]
    news: list[int]
    held: dict[MessageId, Packet[Named]]


class Direct(Counting):
    traits = Traits(
        title="direct dependencies",
        paper="",
        addressing=Addressing.ONE_GROUP,
        alike=True,
        state_bound="2n",
    )
    stamp_type = Named
    state_type = State
    state: State

    def initial_state(self) -> State:
        return State([0] * self.membership.size, [], {})

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        state = self.state
        named = tuple((process, state.delivered[process]) for process in state.news)
        state.news = []
        state.delivered[self.process] = message.id.number
        return self.multicast(message, Named(message.id.number, named))

    def check(self, packet: Packet[Named], message: Message) -> None:
        if packet.stamp.number != message.id.number:
            raise MalformedStamp("number", f"is {packet.stamp.number}, of message {message.id}")
        processes = [process for process, _ in packet.stamp.named]
        if processes != sorted(set(processes)) or packet.source in processes:
            raise MalformedStamp("named", "names the sender, or is out of order")
        if processes and processes[-1] >= self.membership.size:
            raise MalformedStamp("named", f"names process {processes[-1]}")

    def is_delivered(self, packet: Packet[Named]) -> bool:
        return packet.stamp.number <= self.state.delivered[packet.source]

    def _conditions(self, packet: Packet[Named]) -> Iterable[tuple[int, int]]:
        yield packet.source, packet.stamp.number - 1
        yield from packet.stamp.named

    def unmet(self, packet: Packet[Named]) -> Condition | None:
        for process, number in self._conditions(packet):
            if self.state.delivered[process] < number:
                return process, number
        return None

    def accept(self, packet: Packet[Named]) -> Iterable[Condition]:
        number = packet.stamp.number
        self.state.delivered[packet.source] = number
        self.state.news = sorted({*self.state.news, packet.source})
        return ((packet.source, number),)

    def awaited(self, packet: Packet[Named]) -> Iterable[Awaited]:
        for process, number in self._conditions(packet):
            if self.state.delivered[process] < number:
                yield Awaited(process, number)

    def entries(self) -> int:
        return len(self.state.delivered) + len(self.state.news)

    def entries_bound(self) -> int:
        return 2 * self.membership.size
