"""Histories on a network that is declared synchronous: a message arrives in less than Δ, or it is
late (Rodrigues, Verissimo, section 4.5).

A process forgets a message Δ after it has first heard of it: by then it has been delivered
everywhere. That holds by the declaration alone, so a message that breaks it could be overtaken. It
carries the time it was sent at, and whoever receives it late does not deliver it, but reports it.
What waits for a message that has not come in time does not wait any longer; the absent one is
reported. So what *is* delivered is in causal order, and what is not is known.

Clocks differ by at most ε (`skew_s`). A message is dated by its sender's clock, or just after the
latest date that its sender has seen: so what precedes it has an earlier date. It is late at Δ + ε
after its date by the receiver's clock, so none is that came in time. One that waits does so for no
longer than that; all that it waits for is late by then. It is forgotten Δ + 3ε after it was heard
of first, when nobody delivers it any more.

Invariant: the number of a message that is not late and has not been delivered here is above D.
"""

from heapq import heappop, heappush
from math import inf, isfinite, nextafter
from typing import Any

import msgspec

from antecede.errors import MalformedStamp, Misuse
from antecede.message import Membership, Message, MessageId, ProcessSet
from antecede.order import Effect, Options, Packet, Wake
from antecede.orders._counting import Condition
from antecede.orders._surroundings import Surroundings
from antecede.orders.histories import Histories, HistoriesOptions, Located, State, Timestamp


class TimelyOptions(HistoriesOptions, frozen=True):
    """`delta_s`: what the network declares. `skew_s`: how much two clocks differ at most."""

    delta_s: float = 1.0
    skew_s: float = 0.0


class DatedTimestamp(Timestamp, frozen=True):
    """`at_s`: the date of the message."""

    at_s: float


class Late(msgspec.Struct, frozen=True, array_like=True):
    """A message that is not delivered here, because it has not come in time. `message` is None
    until it comes, if ever. A second copy is reported, too, if it is that late."""

    id: MessageId
    noticed_s: float
    message: Message | None = None


class TimelyState(State):
    """`seen[s, c]`: when message c of s was first heard of. `late`: not yet taken. `latest_s`: the
    latest date of a message sent or delivered here."""

    seen: dict[tuple[int, int], float]
    late: list[Late]
    latest_s: float


class Timely(Histories):
    options_type = TimelyOptions
    stamp_type: type[Timestamp] = DatedTimestamp
    state_type: type[State] = TimelyState
    state: TimelyState
    options: TimelyOptions

    def __init__(
        self,
        process: int,
        membership: Membership,
        options: Options | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        super().__init__(process, membership, options, surroundings)
        if not self._collects:
            raise Misuse(f"messages are forgotten on top of R1-R8, not {self.options.rules}")
        if not (self.options.delta_s > 0 and self.options.skew_s >= 0):
            raise Misuse("delta_s must be above zero, and skew_s not below")
        self._now_s = 0.0

    def initial_state(self) -> TimelyState:
        return TimelyState({}, [0] * self.membership.size, {}, {}, [], -inf)

    def resume(self) -> None:
        super().resume()
        by_time = sorted(self.state.seen.items(), key=lambda item: (item[1], item[0]))
        self.state.seen = dict(by_time)
        held: dict[MessageId, Packet[Any]] = {**self.state.held}
        self._dates = sorted([(packet.stamp.at_s, message) for message, packet in held.items()])

    def take_late(self) -> list[Late]:
        """The reports since the last call."""
        taken, self.state.late = self.state.late, []
        return taken

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        self._move_to(now)
        effects = super().send(message, now)
        self.state.latest_s = self._date_s()
        self._note(message.id)
        return effects

    def timestamp(self, destinations: ProcessSet, unreported: Located) -> DatedTimestamp:
        plain = super().timestamp(destinations, unreported)
        return DatedTimestamp(plain.H, plain.C, self._date_s())

    def _date_s(self) -> float:
        return max(self._now_s, nextafter(self.state.latest_s, inf))

    def check(self, packet: Packet[Any], message: Message) -> None:
        super().check(packet, message)
        if not isfinite(packet.stamp.at_s):
            raise MalformedStamp("at_s", f"is {packet.stamp.at_s}")

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        message = self.check_header(packet)
        self.check(packet, message)
        if packet.stamp.at_s > now + self._patience_s:
            raise MalformedStamp("at_s", f"is {packet.stamp.at_s}, far ahead of {now}")
        effects = self.wake(now)
        if message.id in self.state.held:
            return effects
        if now >= packet.stamp.at_s + self._patience_s:
            self.state.late.append(Late(message.id, now, message))
            return effects + self._give_up(message.id)
        effects += super().receive(packet, now)
        if message.id in self.state.held:
            heappush(self._dates, (packet.stamp.at_s, message.id))
            effects.append(Wake(packet.stamp.at_s + self._patience_s))
        return effects

    def wake(self, now: float) -> list[Effect]:
        """What has waited long enough is delivered, by date: so each after all that precedes it."""
        self._move_to(now)
        effects: list[Effect] = []
        while self._dates and now >= self._dates[0][0] + self._patience_s:
            _, message = heappop(self._dates)
            if message in self.state.held:
                effects += self._force(self.state.held[message])
        return effects

    @property
    def _patience_s(self) -> float:
        """How old a message is when it is late, or waits no longer."""
        return self.options.delta_s + self.options.skew_s

    def _force(self, packet: Packet[Any]) -> list[Effect]:
        """Deliver a held message by giving up what it waits for. That is not here: it would have an
        earlier date, and have been delivered before."""
        effects: list[Effect] = []
        for cited in list(self._missing(packet)):
            if not self._is_in(cited):
                self.state.late.append(Late(cited, self._now_s))
                effects += self._give_up(cited)
        return effects

    def _give_up(self, message: MessageId) -> list[Effect]:
        """Nothing waits for this message any more."""
        if self._is_in(message):
            return []
        effects: list[Effect] = []
        for freed in self.freed([self._add_to_delivered(message)]):
            effects += self.release(freed)
        return effects

    def accept(self, packet: Packet[Any]) -> list[Condition]:
        moved = list(super().accept(packet))
        for sender, number, _ in packet.stamp.H:
            self._note(MessageId(sender, number))
        self._note(packet.message.id)  # type: ignore[union-attr]
        self.state.latest_s = max(self.state.latest_s, packet.stamp.at_s)
        return moved

    def _note(self, message: MessageId) -> None:
        self.state.seen.setdefault((message.sender, message.number), self._now_s)

    def _move_to(self, now_s: float) -> None:
        """Forget what has been delivered everywhere by now."""
        self._now_s = now_s
        seen, H = self.state.seen, self.state.H
        while seen:
            sender, number = first = next(iter(seen))
            if seen[first] + self.options.delta_s + 3 * self.options.skew_s > now_s:
                return
            del seen[first]
            H.get(sender, {}).pop(number, None)
            if sender in H and not H[sender]:
                del H[sender]
