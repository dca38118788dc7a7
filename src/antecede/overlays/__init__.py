"""How a multicast crosses the network: every hop is a message of its own, ordered by an order.

A file ``overlays/some_name.py`` that does not begin with an underscore is the protocol
``some-name``, exactly as in `antecede.orders`; so is a folder.
"""

from abc import abstractmethod

from antecede.errors import Misuse
from antecede.message import Message, MessageId, ProcessSet, members
from antecede.order import Count, Effect, Order, Stamp

__all__ = ["HopStamp", "Overlay"]


class HopStamp(Stamp, frozen=True):
    """The ordering information on a hop message; its identity is the process that sends it and
    this `number`, which counts its hop messages from 1."""

    number: Count


class Overlay(Order):
    """A protocol whose packets are hop messages. Each of them carries an application message
    (`Packet.message`), which can have come a long way: its sender need not be the packet's
    source."""

    hops: list[MessageId]
    """The hop messages that the last event delivered here, in order. For whoever watches: the
    overlay itself does not look at it."""

    @property
    @abstractmethod
    def hosts(self) -> ProcessSet:
        """The processes that applications can live at; the others only forward."""

    def check_addressing(self, message: Message) -> None:
        super().check_addressing(message)
        routers = (message.destinations | 1 << self.process) & ~self.hosts
        if routers:
            raise Misuse(
                f"message {message.id}: no application lives at {list(members(routers))}, which "
                f"only forward"
            )

    def connect(self, other: int, now: float = 0.0) -> list[Effect]:
        """A link to another process is there from now on. The other one is told, too."""
        raise Misuse(f"{self.name} knows no links")

    @property
    def reach(self) -> ProcessSet:
        return self.hosts if self.hosts >> self.process & 1 else 0
