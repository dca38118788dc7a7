"""Fast causal order: one number for every process that is known, in one vector for all groups.

A process has one counter for all its groups and the vector GLDV: the largest number of each
process that precedes whatever it would send now. A message carries its number and the vector. It
is delivered when, for every process k that shares a group with the receiver, everything k sent to
the receiver with numbers up to the vector's entry for k is delivered.

As printed, the receiver must have *delivered* the number in the entry; but a number that k used in
a group without the receiver never comes here, and the receiver waits for ever. Repaired
(`test = "received"`), the entry is compared with the last number *received* from k, or the one
below k's first held message. Where k's last number went to some neighbours only, it owes the others
a null message with that number: a promise, tested against nothing. In one group no null is ever
sent, and no message is held whose predecessors are all delivered. Across groups a message may have
to wait for a null message alone.

Invariants: numbers from one process arrive in increasing order; of its held messages the first is
delivered first; every entry of GLDV is the number of a message.

Paper: R. J. de Araújo Macêdo, "Causal Order Protocols for Group Communication", sections 5.1, 5.4.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from antecede.errors import MalformedStamp
from antecede.message import (
    Membership,
    Message,
    MessageId,
    ProcessSet,
    members,
    process_set,
    set_from_bytes,
    set_to_bytes,
)
from antecede.order import (
    Addressing,
    Awaited,
    Channels,
    Count,
    Effect,
    Packet,
    Says,
    Scope,
    Stamp,
    Traits,
    Transmit,
    stated,
)
from antecede.orders._blocks import PAPER, BlockOptions, Blocks
from antecede.orders._counting import Condition


@lru_cache(maxsize=1024)
def _processes(known: bytes) -> tuple[int, ...]:
    """The processes of a set that travels; the same few sets travel most of the time."""
    return tuple(members(set_from_bytes(known)))


class FastOptions(BlockOptions, frozen=True):
    """`test`: whether an entry is compared with what was received, or delivered as printed."""

    says = stated(**BlockOptions.says, test=Says.NOTHING)

    test: Literal["received", "printed"] = "received"


class Global(Stamp, frozen=True):
    """The block number, the processes that GLDV knows, and their entries in increasing order of
    the processes. A null message has a number only."""

    number: Count
    known: bytes
    gldv: tuple[Count, ...]

    def entries(self) -> int:
        return 1 + len(self.gldv)


class State(msgspec.Struct, array_like=True):
    """`counter`: BC; `gldv[k]`: the largest number of k in the past of this process; `received[k]`:
    the last number that came from k; `untold`: the neighbours that the last own number has not
    been sent to."""

    counter: int
    gldv: dict[int, int]
    received: dict[int, int]
    untold: ProcessSet
    armed: bool
    held: dict[MessageId, Packet[Global]]


class BlocksFast(Blocks):
    traits = Traits(
        title="causal blocks, fast",
        paper=PAPER,
        addressing=Addressing.GROUPS,
        alike=True,
        channels=Channels.FIFO,
        null_messages=True,
        prompt=False,
        state_bound="2 and twice the number of processes",
    )
    options_type = FastOptions
    stamp_type = Global
    state_type = State
    state: State
    options: FastOptions

    def initial_state(self) -> State:
        self.configure()
        return State(0, {}, dict.fromkeys(members(self._neighbours), 0), 0, False, {})

    def resume(self) -> None:
        self._pending: dict[int, deque[int]] = {}
        held = sorted((p.source, p.stamp.number) for p in self.state.held.values())
        for source, number in held:
            self._pending.setdefault(source, deque()).append(number)
        super().resume()

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        state = self.state
        state.counter += 1  # CA1
        known = process_set(state.gldv)
        gldv = tuple(state.gldv[process] for process in members(known))
        stamp = Global(state.counter, set_to_bytes(known), gldv)
        state.gldv[self.process] = state.counter
        state.untold = self._neighbours & ~message.destinations
        return self.multicast(message, stamp) + self.rouse(now)

    def check(self, packet: Packet[Global], message: Message) -> None:
        self.check_message(message, packet.source)
        number, gldv = packet.stamp.number, packet.stamp.gldv
        known = set_from_bytes(packet.stamp.known)
        if known & ~self.membership.everybody:
            raise MalformedStamp("known", "contains processes that do not exist")
        if known.bit_count() != len(gldv):
            raise MalformedStamp(
                "gldv", f"has {len(gldv)} entries for {known.bit_count()} processes"
            )
        if gldv and min(gldv) < 1:
            raise MalformedStamp("gldv", "has an entry 0")
        if number <= max(gldv, default=0):  # pr1, pr2
            raise MalformedStamp("number", f"{number} is not above all entries of the vector")
        below = known & ((1 << self.process) - 1)
        own = gldv[below.bit_count()] if known >> self.process & 1 else 0
        if own > self.state.gldv.get(self.process, 0):
            raise MalformedStamp("gldv", f"counts {own} for this process, which is not there yet")

    def check_null(self, packet: Packet[Global]) -> None:
        if packet.stamp.known or packet.stamp.gldv:
            raise MalformedStamp("gldv", "is carried by a null message")

    def is_delivered(self, packet: Packet[Global]) -> bool:
        return packet.stamp.number <= self.state.received[packet.source]

    def enqueue(self, packet: Packet[Global]) -> None:
        super().enqueue(packet)
        self._pending.setdefault(packet.source, deque()).append(packet.stamp.number)

    def mark(self, packet: Packet[Global]) -> Iterable[Condition]:
        source = packet.source
        self.state.received[source] = packet.stamp.number
        return ((source, self._reached(source)),)

    def _reached(self, process: int) -> int:
        """The number up to which everything that a neighbour sent here is delivered."""
        if self.options.test == "printed":
            return self.state.gldv.get(process, 0)
        pending = self._pending.get(process)
        return pending[0] - 1 if pending else self.state.received[process]

    def _missing(self, packet: Packet[Global]) -> Iterator[tuple[int, int]]:
        """Of each process in S, the number that is not reached."""
        for process, number in zip(_processes(packet.stamp.known), packet.stamp.gldv, strict=True):
            if self._neighbours >> process & 1 and self._reached(process) < number:
                yield process, number

    def unmet(self, packet: Packet[Global]) -> Condition | None:
        return next(self._missing(packet), None)

    def accept(self, packet: Packet[Global]) -> Iterable[Condition]:
        state, source, stamp = self.state, packet.source, packet.stamp
        state.counter = max(state.counter, stamp.number)  # CA2
        for process, number in zip(_processes(stamp.known), stamp.gldv, strict=True):
            if self.options.test == "received" or not self._neighbours >> process & 1:
                state.gldv[process] = max(state.gldv.get(process, 0), number)
        state.gldv[source] = max(state.gldv.get(source, 0), stamp.number)
        pending = self._pending[source]
        pending.remove(stamp.number)
        if not pending:
            del self._pending[source]
        return ((source, self._reached(source)),)

    def owes(self) -> bool:
        return self.options.test == "received" and self.state.untold != 0

    def nulls(self) -> list[Transmit]:
        if not self.owes():
            return []
        to, self.state.untold = self.state.untold, 0
        return [self.null(Global(self.state.gldv[self.process], b"", ()), to)]

    def forget(self, before: Membership) -> None:
        """At a flush all the past is delivered everywhere: nobody need hear of it again."""
        received = self.state.received
        self.state.gldv = {}
        self.state.untold = 0
        self.state.received = {k: received.get(k, 0) for k in members(self._neighbours)}

    def awaited(self, packet: Packet[Global]) -> Iterable[Awaited]:
        for process, number in self._missing(packet):
            yield Awaited(process, number, Scope.BLOCK)

    def entries(self) -> int:
        return 2 + len(self.state.gldv) + len(self.state.received)

    def entries_bound(self) -> int:
        return 2 + 2 * self.membership.size
