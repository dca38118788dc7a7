"""Histories that forget what has been delivered everywhere, by the evidence of what arrives
(Rodrigues, Verissimo, section 4.5).

A process that cites a message addressed to it has delivered it (rule R3). Once all destinations of
a message have cited it in what they sent here, nothing needs to wait for it any more.

As printed, that hardly ever happens: rule R7 leaves out of a stamp what its destinations have been
told, so nobody tells a sender of its own message; and rule R8 forgets the message before anybody
could. Repaired in two ways (`evidence`):

- *exempt*: a delivered message is cited once more to its sender, whatever R7 and R8 say;
- *acknowledge*: a stamp says how far its sender has delivered the messages of each destination. One
  number stands for all earlier messages (R5).

Evidence of third processes counts for whoever hears it.
"""

from typing import Any, Literal

from antecede.errors import MalformedStamp, Misuse
from antecede.message import (
    Membership,
    Message,
    MessageId,
    ProcessSet,
    members,
    set_from_bytes,
    set_to_bytes,
)
from antecede.order import Count, Effect, Options, Packet
from antecede.orders._counting import Condition
from antecede.orders._surroundings import Surroundings
from antecede.orders.histories import Histories, HistoriesOptions, Located, State, Timestamp


class ConfirmingOptions(HistoriesOptions, frozen=True):
    """`evidence`: what counts. `timestamps` is as printed."""

    evidence: Literal["timestamps", "exempt", "acknowledge"] = "acknowledge"


class Confirmation(Timestamp, frozen=True):
    """`acks`: (process, number): the sender of this has delivered the messages of that process up
    to that number, as far as they were addressed to it."""

    acks: tuple[tuple[Count, Count], ...]

    def entries(self) -> int:
        """The identifiers and the acknowledgements."""
        return len(self.H) + len(self.acks)


class ConfirmingState(State):
    """`unconfirmed[s, c]`: the destinations from which there is no evidence yet that they have
    delivered message c of s; it is an own message, or one in H. `owed[s, c]`: a delivered message
    with its destinations, still to be cited to its sender. `acked[s]`: the last number that s has
    been told."""

    unconfirmed: dict[tuple[int, int], ProcessSet]
    owed: dict[tuple[int, int], ProcessSet]
    acked: dict[int, int]


class Confirming(Histories):
    options_type = ConfirmingOptions
    stamp_type: type[Timestamp] = Confirmation
    state_type: type[State] = ConfirmingState
    state: ConfirmingState
    options: ConfirmingOptions

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

    def initial_state(self) -> ConfirmingState:
        return ConfirmingState({}, [0] * self.membership.size, {}, {}, {}, {})

    def unconfirmed(self) -> list[MessageId]:
        """The own messages that may not have been delivered everywhere."""
        own = [key for key in sorted(self.state.unconfirmed) if key[0] == self.process]
        return [MessageId(*key) for key in own]

    # What is told.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        effects = super().send(message, now)
        others = message.destinations & ~(1 << self.process)
        if others:
            self.state.unconfirmed[message.id.sender, message.id.number] = others
        for origin, number in list(self.state.owed):
            if others >> origin & 1:
                del self.state.owed[origin, number]
        if self.options.evidence == "acknowledge":
            for origin in members(others):
                self.state.acked[origin] = self.state.D[origin]
        return effects

    def timestamp(self, destinations: ProcessSet, unreported: Located) -> Confirmation:
        plain = super().timestamp(destinations, unreported)
        others = destinations & ~(1 << self.process)
        H = dict(zip((cited[:2] for cited in plain.H), plain.H, strict=True))
        C = dict(zip(H, plain.C, strict=False))
        for (origin, number), A in self.state.owed.items():
            if others >> origin & 1 and (origin, number) not in H:
                H[origin, number] = (origin, number, set_to_bytes(A))
                C[origin, number] = b""
        acks: tuple[tuple[int, int], ...] = ()
        if self.options.evidence == "acknowledge":
            D, acked = self.state.D, self.state.acked
            acks = tuple([(to, D[to]) for to in members(others) if D[to] > acked.get(to, 0)])
        copies = tuple([C[key] for key in sorted(H)]) if self.options.carbon_copies else ()
        return Confirmation(tuple([H[key] for key in sorted(H)]), copies, acks)

    # What is heard.

    def check(self, packet: Packet[Any], message: Message) -> None:
        super().check(packet, message)
        previous = -1
        for place, (process, number) in enumerate(packet.stamp.acks):
            if not previous < process < self.membership.size or process == packet.source:
                raise MalformedStamp(f"acks[{place}]", f"cannot speak of process {process}")
            if process == self.process and number > self.state.D[process]:
                raise MalformedStamp(f"acks[{place}]", f"{process}:{number} has not been sent")
            previous = process

    def accept(self, packet: Packet[Any]) -> list[Condition]:
        moved = list(super().accept(packet))
        message: Message = packet.message  # type: ignore[assignment]
        self._track(packet, message)
        source = 1 << packet.source
        for sender, number, _ in packet.stamp.H:
            self._confirm((sender, number), source)
        if packet.stamp.acks:
            told = dict(packet.stamp.acks)
            for sender, number in sorted(self.state.unconfirmed):
                if number <= told.get(sender, 0):
                    self._confirm((sender, number), source)
        if self.options.evidence == "exempt":
            sender, number = message.id
            self.state.owed[sender, number] = message.destinations & ~(1 << sender)
        return moved

    def _track(self, packet: Packet[Any], message: Message) -> None:
        """Evidence is collected for own messages and for what is in H, by now."""
        unconfirmed, H, here = self.state.unconfirmed, self.state.H, self.process
        for sender, number in [key for key in unconfirmed if key[0] != here]:
            if number not in H.get(sender, {}):
                del unconfirmed[sender, number]
        news = [(s, c, set_from_bytes(A)) for s, c, A in packet.stamp.H]
        news.append((*message.id, message.destinations & ~(1 << message.id.sender)))
        for sender, number, A in news:
            if number not in H.get(sender, {}):
                continue
            if sender != here:
                unconfirmed.setdefault((sender, number), A & ~(1 << here))
            elif (sender, number) not in unconfirmed:
                self._forget(sender, number)  # somebody has heard of it late

    def _confirm(self, key: tuple[int, int], process: ProcessSet) -> None:
        """A process has delivered a message. When all have, it need not be remembered."""
        unconfirmed = self.state.unconfirmed
        if key in unconfirmed:
            unconfirmed[key] &= ~process
            if not unconfirmed[key]:
                del unconfirmed[key]
                self._forget(*key)

    def _forget(self, sender: int, number: int) -> None:
        H = self.state.H
        H.get(sender, {}).pop(number, None)
        if sender in H and not H[sender]:
            del H[sender]
