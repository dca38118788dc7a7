"""First in, first out: the messages of one sender reach each destination in the order of sending.

A process numbers its messages separately for every destination; the number travels with the copy,
and a destination delivers a sender's messages by number. Two processes keep order, three do not: an
answer may still overtake its question.
"""

from collections.abc import Iterable

import msgspec

from antecede.errors import MalformedStamp
from antecede.message import Message, MessageId, members
from antecede.order import (
    Addressing,
    Awaited,
    Count,
    Deliver,
    Effect,
    Gives,
    Packet,
    Scope,
    Stamp,
    Traits,
    Transmit,
)
from antecede.orders._counting import Condition, Counting


class Serial(Stamp, frozen=True):
    """The message is the `serial`-th from its sender to this destination."""

    serial: Count

    def entries(self) -> int:
        return 1


class State(msgspec.Struct, array_like=True):
    """`sent[q]`: messages sent to q; `delivered[p]`: messages of p delivered here."""

    sent: list[int]
    delivered: list[int]
    held: dict[MessageId, Packet[Serial]]


class Fifo(Counting):
    traits = Traits(
        title="first in, first out",
        paper="",
        addressing=Addressing.SETS,
        alike=True,
        gives=Gives.FIFO,
        state_bound="2n",
    )
    stamp_type = Serial
    state_type = State
    state: State

    def initial_state(self) -> State:
        size = self.membership.size
        return State([0] * size, [0] * size, {})

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        effects: list[Effect] = []
        for destination in members(message.destinations):
            if destination == self.process:
                effects.append(Deliver(message))
                continue
            self.state.sent[destination] += 1
            stamp = Serial(self.state.sent[destination])
            effects.append(Transmit(Packet(self.process, message, stamp), 1 << destination))
        return effects

    def check(self, packet: Packet[Serial], message: Message) -> None:
        if packet.stamp.serial < 1:
            raise MalformedStamp("serial", f"is {packet.stamp.serial}; serials count from 1")

    def is_delivered(self, packet: Packet[Serial]) -> bool:
        return packet.stamp.serial <= self.state.delivered[packet.source]

    def unmet(self, packet: Packet[Serial]) -> Condition | None:
        previous = packet.stamp.serial - 1
        if self.state.delivered[packet.source] < previous:
            return packet.source, previous
        return None

    def accept(self, packet: Packet[Serial]) -> Iterable[Condition]:
        self.state.delivered[packet.source] = packet.stamp.serial
        return ((packet.source, packet.stamp.serial),)

    def awaited(self, packet: Packet[Serial]) -> Iterable[Awaited]:
        previous = packet.stamp.serial - 1
        if self.state.delivered[packet.source] < previous:
            yield Awaited(packet.source, previous, Scope.HERE)

    def entries(self) -> int:
        return 2 * self.membership.size

    def entries_bound(self) -> int:
        return 2 * self.membership.size
