"""Fully delivered messages (Rodrigues, Verissimo, section 4.5): when senders get to know that all
destinations have delivered a message, and how long after that is so.
"""

from typing import Any, NamedTuple

import numpy as np

from antecede.histories.evidence import Confirming, ConfirmingOptions
from antecede.histories.timely import Timely, TimelyOptions
from antecede.message import Membership, Message, MessageId, ProcessSet
from antecede.order import Effect, Order, Packet
from antecede.simulate.measures import Distribution, Spread
from antecede.simulate.parts import ByEvidence, ByTime

Known = list[tuple[MessageId, float]]


class Fully(NamedTuple):
    """What senders got to know of their messages."""

    known: int
    """Messages that their senders know to be delivered everywhere,"""
    messages: int
    """of so many that are."""
    premature: int
    """Those that were not, when it was known: a fault."""
    after_s: Spread
    """From the last delivery of a message until its sender knows."""
    since_s: Spread
    """From its send until then."""

    def sentence(self) -> str:
        """For people."""
        wrong = f"; {self.premature:,} of them WRONGLY" if self.premature else ""
        return (
            f"senders know of {self.known:,} of {self.messages:,} messages that they are delivered "
            f"everywhere, {self.after_s.mean:.3f} s after they are on average "
            f"({self.after_s.p99:.3f} s for 99 of 100){wrong}."
        )


class Evident(Confirming):
    """By evidence, with a record of what was known when."""

    known: Known

    def resume(self) -> None:
        super().resume()
        self.known = []
        self._now_s = 0.0

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        self._now_s = now
        return super().receive(packet, now)

    def _confirm(self, key: tuple[int, int], process: ProcessSet) -> None:
        was_open = key in self.state.unconfirmed
        super()._confirm(key, process)
        if was_open and key not in self.state.unconfirmed and key[0] == self.process:
            self.known.append((MessageId(*key), self._now_s))


class Synchronous(Timely):
    """By time, likewise: that it has passed is known when it has."""

    known: Known

    def resume(self) -> None:
        super().resume()
        self.known = []

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.known.append((message.id, now + self.options.delta_s + 3 * self.options.skew_s))
        return super().send(message, now)


def make_knowing(asked: ByTime | ByEvidence, process: int, membership: Membership) -> Order:
    """What runs at a process that gets to know."""
    if isinstance(asked, ByTime):
        return Synchronous(process, membership, TimelyOptions(delta_s=asked.delta_s))
    return Evident(process, membership, ConfirmingOptions(evidence=asked.evidence))


class LastDeliveries:
    """When each message was delivered for the last time, and where it is still to be delivered."""

    def __init__(self) -> None:
        self._missing: dict[MessageId, int] = {}
        self._sent_s: dict[MessageId, float] = {}
        self._last_s: dict[MessageId, float] = {}

    def send(self, message: MessageId, destinations: ProcessSet, now: float) -> None:
        self._missing[message] = (destinations & ~(1 << message.sender)).bit_count()
        self._sent_s[message] = self._last_s[message] = now

    def deliver(self, message: MessageId, process: int, now: float) -> None:
        if process != message.sender:
            self._missing[message] -= 1
            self._last_s[message] = now

    def compare(self, known: Known, until_s: float) -> Fully:
        """With what senders knew by the end of the run."""
        known = [(message, at_s) for message, at_s in known if at_s <= until_s]
        after_s = [at_s - self._last_s[message] for message, at_s in known]
        wrong = [
            self._missing[message] > 0 or after < 0
            for (message, _), after in zip(known, after_s, strict=True)
        ]
        everywhere = sum(not missing for missing in self._missing.values())
        since_s = [at_s - self._sent_s[message] for message, at_s in known]
        return Fully(len(known), everywhere, sum(wrong), _spread(after_s), _spread(since_s))


def _spread(values: list[float]) -> Spread:
    found = Distribution()
    found.add(np.array(values, float))
    return found.spread()
