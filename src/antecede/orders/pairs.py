"""Ordering buffers of (site, vector time) pairs (Schiper, Eggli, Sandoz).

A site S knows its vector time VT(S), and in its ordering buffer at most one pair (S', VT) for every
other site S'. The pair says: whatever leaves S from now on may not be delivered to S' before
VT < VT(S') holds. The buffer travels with every message. Nothing else is needed: no site is asked
for anything, channels may reorder, and any set of sites may be addressed.

Invariants: VT < VT(S) for every pair in the buffer of S (lemma 2), so a pair travels as the lag of
its time behind the message's; and a message from i was delivered at S exactly when the entry i of
its time has been reached at S (proposition 2), so duplicates need no memory.

As the paper has it, "<" is reflexive, and the time of a message includes the tick of its own send.
Delivery need not tick (`tick_on_delivery`): the numbers then count messages, not events, and stay
smaller. A message to oneself is delivered by the send and never travels. What the paper's section
4.3 does after a failure is in `_rollback`, and with `recovery=rollback` it is done (`_recovering`).

Paper: A. Schiper, J. Eggli, A. Sandoz, "A new algorithm to implement causal ordering", WDAG 1989.
"""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Literal

import msgspec

from antecede.drawn import Chance, Drawn, Fields
from antecede.errors import MalformedStamp
from antecede.message import Message, MessageId, members
from antecede.order import (
    Addressing,
    Awaited,
    Count,
    Deliver,
    Effect,
    Options,
    Order,
    Packet,
    Says,
    Scope,
    Stamp,
    Traits,
    Transmit,
    stated,
)
from antecede.orders._counting import Condition, Counting
from antecede.vectortime import VectorTime, behind, lag, precedes, supremum


class PairsOptions(Options, frozen=True):
    """`tick_on_delivery`: a delivery is an event of the clock, as printed in 4.1.
    `delete_obsolete`: drop the pairs of which a message shows that they are fulfilled (4.2.4).
    `recovery`: with `rollback`, lost copies are sent again (after `repeat_s`), a site that is
    silent for `suspect_after_s` counts as failed, and the survivors do what 4.3 says; every site
    speaks once in `beat_s`."""

    says = stated(
        tick_on_delivery=Says.NOTHING,
        delete_obsolete=Says.NOTHING,
        recovery=Says.NOTHING,
        beat_s=Says.NOTHING,
        repeat_s=Says.NOTHING,
        suspect_after_s=Says.NOTHING,
    )

    tick_on_delivery: bool = False
    delete_obsolete: bool = True
    recovery: Literal["none", "rollback"] = "none"
    beat_s: float = 0.25
    repeat_s: float = 0.5
    suspect_after_s: float = 3.0

    @classmethod
    def drawn(cls, fields: Fields, chance: Chance) -> Drawn:
        return {
            "tick_on_delivery": chance.happens(0.5),
            "delete_obsolete": chance.happens(0.5),
        }

    @classmethod
    def compared(cls, processes: int) -> list[Drawn]:
        return [{}, {"recovery": "rollback"}]

    @classmethod
    def drawn_variant(cls, chance: Chance) -> Drawn:
        return {"recovery": "rollback"} if chance.happens(0.4) else {}


class Pairs(Stamp, frozen=True):
    """`time`: VT(M). `pairs`: the accompanying buffer by increasing site, each time as its lag
    behind VT(M), which is empty where there is none."""

    time: tuple[Count, ...]
    pairs: tuple[tuple[Count, tuple[Count, ...]], ...]

    def entries(self) -> int:
        size = len(self.time)
        return size + len(self.pairs) * (1 + size)


class State(msgspec.Struct, array_like=True):
    """`time`: VT(S); `buffer`: ORD_BUFF_S, the time by site; `held`: messages that have arrived and
    wait."""

    time: list[int]
    buffer: dict[int, VectorTime]
    held: dict[MessageId, Packet[Pairs]]


class OrderingBuffers(Counting):
    traits = Traits(
        title="ordering buffers of pairs",
        paper="Schiper, Eggli, Sandoz 1989",
        addressing=Addressing.SETS,
        alike=True,
        state_bound="n − 1 pairs and a vector: n² + n − 1",
    )
    options_type = PairsOptions
    stamp_type = Pairs
    state_type = State
    state: State
    options: PairsOptions

    @classmethod
    def variant(cls, options: Any) -> type[Order]:
        if options.recovery == "none":
            return cls
        found: type[Order] = import_module("antecede.orders._recovering").Recovering  # it needs us
        return found

    def initial_state(self) -> State:
        return State([0] * self.membership.size, {}, {})

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        """4.2.1, emission of a message."""
        self.check_addressing(message)
        state = self.state
        state.time[self.process] += 1
        time = tuple(state.time)
        others = message.destinations & ~(1 << self.process)
        before = {site: (site, lag(vector, time)) for site, vector in state.buffer.items()}
        # The copy to S says of the other destinations that M itself precedes what follows (last
        # paragraph), and of S only what preceded M: the pair for M is inserted after the sending.
        after: dict[int, tuple[int, VectorTime]] = {site: (site, ()) for site in members(others)}
        effects: list[Effect] = []
        for destination in members(others):
            accompanying = before | after
            del accompanying[destination]
            if destination in before:
                accompanying[destination] = before[destination]
            stamp = Pairs(time, tuple(sorted(accompanying.values())))
            effects.append(Transmit(Packet(self.process, message, stamp), 1 << destination))
            state.buffer[destination] = time
        if others != message.destinations:
            effects.append(Deliver(message))
        return effects

    def check(self, packet: Packet[Pairs], message: Message) -> None:
        time, pairs = packet.stamp.time, packet.stamp.pairs
        size = self.membership.size
        if len(time) != size:
            raise MalformedStamp("time", f"has {len(time)} entries for {size} sites")
        if time[packet.source] < 1:
            raise MalformedStamp("time", "does not count the send itself")
        if time[self.process] > self.state.time[self.process]:
            raise MalformedStamp("time", f"knows a future event of process {self.process}")
        previous = -1
        for index, (site, lagging) in enumerate(pairs):
            if not previous < site < size or site == packet.source:
                raise MalformedStamp(f"pairs[{index}]", f"is for site {site}")
            if lagging and (len(lagging) != size or not precedes(lagging, time)):
                raise MalformedStamp(f"pairs[{index}]", f"has no time of {size} sites")
            if site == self.process and not (lagging and lagging[packet.source]):
                raise MalformedStamp(f"pairs[{index}]", "makes the message wait for itself")
            previous = site

    def is_delivered(self, packet: Packet[Pairs]) -> bool:
        """Proposition 2. By lemma 1 the sender's entry is enough."""
        return packet.stamp.time[packet.source] <= self.state.time[packet.source]

    def _missing(self, packet: Packet[Pairs]) -> Iterator[tuple[int, int]]:
        """4.2.2, arrival of a message: the entries in which VT < VT(S) fails for the pair (S, VT)
        of this site. A message without such a pair waits for nothing."""
        here = self.state.time
        for site, lagging in packet.stamp.pairs:
            if site == self.process:
                for process, value in enumerate(behind(packet.stamp.time, lagging)):
                    if value > here[process]:
                        yield process, value

    def unmet(self, packet: Packet[Pairs]) -> Condition | None:
        return next(self._missing(packet), None)

    def accept(self, packet: Packet[Pairs]) -> Iterable[Condition]:
        here, buffer = self.state.time, self.state.buffer
        time = packet.stamp.time
        for site, lagging in packet.stamp.pairs:  # 4.2.2 (1): merge the buffers
            if site != self.process:
                vector = behind(time, lagging)
                buffer[site] = supremum(buffer[site], vector) if site in buffer else vector
        if self.options.delete_obsolete:  # 4.2.4: the sender itself has come that far
            pair = buffer.get(packet.source)
            if pair is not None and precedes(pair, time):
                del buffer[packet.source]
        moved = [(process, value) for process, value in enumerate(time) if value > here[process]]
        for process, value in moved:  # 4.2.2 (2): update the time
            here[process] = value
        if self.options.tick_on_delivery:
            here[self.process] += 1
        return moved

    def awaited(self, packet: Packet[Pairs]) -> Iterable[Awaited]:
        for process, value in self._missing(packet):
            yield Awaited(process, value, Scope.TIME)

    def entries(self) -> int:
        size = self.membership.size
        return size + len(self.state.buffer) * (1 + size)

    def entries_bound(self) -> int:
        size = self.membership.size
        return size + (size - 1) * (1 + size)
