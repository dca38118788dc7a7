"""No order at all: every message is delivered the moment it arrives.

The baseline of delay, and the proof that a workload tells: on traffic where `none` shows no
violation, a comparison of protocols shows nothing. It keeps what it has delivered, at one bit a
message, only to drop duplicates.
"""

from typing import Any

import msgspec

from antecede.message import Message
from antecede.order import (
    Addressing,
    Deliver,
    Effect,
    Gives,
    Held,
    Order,
    Packet,
    Stamp,
    Traits,
)
from antecede.orders._seen import Seen


class Empty(Stamp, frozen=True):
    """Nothing."""

    def successor(self, source: int, steps: int) -> "Empty":
        return self


EMPTY = Empty()


class State(msgspec.Struct, array_like=True):
    delivered: Seen


class Unordered(Order):
    traits = Traits(
        title="no order",
        paper="",
        addressing=Addressing.SETS,
        alike=True,
        gives=Gives.NOTHING,
        survives_loss=True,
    )
    stamp_type = Empty
    state_type = State
    state: State

    def initial_state(self) -> State:
        return State(Seen())

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        return self.multicast(message, EMPTY)

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        message = self.check_header(packet)
        return [Deliver(message)] if self.state.delivered.add(message.id) else []

    def receive_run(self, packet: Packet[Any], count: int) -> list[Effect] | None:
        message = self.check_header(packet)
        return [] if self.state.delivered.add_run(message.id, count) else None

    def held(self) -> list[Held]:
        return []

    def entries(self) -> int:
        return 0
