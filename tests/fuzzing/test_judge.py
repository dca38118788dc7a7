"""The judge sees every kind of failure, and excuses what has to be excused."""

import pytest

from antecede.errors import BrokenInvariant
from antecede.fuzzing import judge
from antecede.fuzzing.judge import Log, undelivered
from antecede.fuzzing.tolerance import Duty
from antecede.message import Message, process_set
from antecede.order import Deliver, Effect, Order, Packet, Transmit
from antecede.orders.blocks_slow import BlocksSlow
from antecede.orders.none import NoOrder
from antecede.orders.vector import Vector
from antecede.simulate import Scenario, make_scenario

SMALL = {"processes": 3, "messages": 30, "rate": 100.0}


def scenario(protocol: str, **fields: object) -> Scenario:
    return make_scenario({"protocol": protocol, **SMALL, **fields})


class Careless(NoOrder):
    """Says that it keeps causal order, and does not."""

    traits = Vector.traits


class Forgetful(NoOrder):
    def receive(self, packet: Packet, now: float = 0.0) -> list[Effect]:
        effects = super().receive(packet, now)
        is_forgotten = packet.message is not None and packet.message.id == (0, 2)
        return [] if is_forgotten and self.process == 1 else effects


class Selfless(NoOrder):
    """Forgets to deliver to itself."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        return [one for one in super().send(message, now) if not isinstance(one, Deliver)]


class Raising(NoOrder):
    def receive(self, packet: Packet, now: float = 0.0) -> list[Effect]:
        raise BrokenInvariant("a cause")


class Repeating(NoOrder):
    """Sends everything back for ever."""

    def receive(self, packet: Packet, now: float = 0.0) -> list[Effect]:
        again = Packet(self.process, packet.message, packet.stamp)
        return [*super().receive(packet, now), Transmit(again, 1 << packet.source)]


class Fat(Vector):
    def entries_bound(self) -> int:
        return 2


class Contrary(BlocksSlow):
    """Delivers at once, whatever the option says."""

    def receive(self, packet: Packet, now: float = 0.0) -> list[Effect]:
        super().receive(packet, now)
        self.state.held.clear()
        return [] if packet.message is None else [Deliver(packet.message)]
