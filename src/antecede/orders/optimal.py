"""The least information that suffices, for any destinations (Kshemkalyani, Singhal).

A process keeps a LOG of messages sent in its past: sender, the sender's clock, and Dests, those of
its destinations that matter still. That d is a destination of M is kept, and sent on, exactly as
long as neither is known:

- Propagation Constraint I: that M has been delivered at d;
- Propagation Constraint II: that another message was sent to d after M, and so waits there for M.

Neither fact is ever stored. An entry whose Dests have become empty is dropped, unless it is its
sender's latest; so whoever holds a later entry of that sender and no entry for M knows that M is
settled everywhere (implicit tracking). When two logs meet, an entry that only one has, while the
other has a later one of the same sender, goes; of an entry that both have, the Dests common to both
remain.

The copy of a message to d carries the LOG without the message's destinations, for which the message
itself is the later one, except d: there the receiver must see what it has to wait for. It waits
until every message whose Dests name it is delivered. The messages of one sender are delivered in
their order, so one clock for each sender (SR) says which have been.

The clock of a message is its number, so its own entry is its header. That entry is the sender's
latest; an empty older one need not travel, nor need the paper's entries of clock 0 exist.

Invariant: of one sender, at most one entry names a given destination.

Paper: A. Kshemkalyani, M. Singhal, "Necessary and sufficient conditions on information for causal
message ordering and their optimal implementation", Distributed Computing 11(2), 1998.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

from antecede.errors import MalformedStamp
from antecede.message import Message, MessageId, ProcessSet, members, set_from_bytes, set_to_bytes
from antecede.order import (
    Addressing,
    Awaited,
    Count,
    Deliver,
    Effect,
    Packet,
    Stamp,
    Traits,
    Transmit,
)
from antecede.orders._counting import Condition, Counting

Dests = tuple[Count, ...] | bytes
"""A set of destinations on the wire: a list or a bit set, whichever is shorter."""

Log = dict[int, dict[int, ProcessSet]]
"""Dests, by sender and clock."""


@lru_cache(maxsize=1 << 16)
def _pack(dests: ProcessSet) -> Dests:
    bits = set_to_bytes(dests)
    width = 1 if dests < 1 << 128 else 3  # bytes that the number of a process takes
    return bits if dests.bit_count() * width > len(bits) + 1 else tuple(members(dests))


@lru_cache(maxsize=1 << 16)
def _unpack(dests: Dests) -> ProcessSet:
    return set_from_bytes(dests) if isinstance(dests, bytes) else sum(map((1).__lshift__, dests))


class Entries(Stamp, frozen=True):
    """O_M: (sender, clock, Dests), in the order of senders and clocks."""

    log: tuple[tuple[Count, Count, Dests], ...]

    def entries(self) -> int:
        return sum(2 + _unpack(dests).bit_count() for _, _, dests in self.log)


class State(msgspec.Struct, array_like=True):
    """`log` is LOG; `delivered` is SR, the clock of the last message delivered of each sender."""

    log: Log
    delivered: list[int]
    held: dict[MessageId, Packet[Entries]]


class Optimal(Counting):
    traits = Traits(
        title="least sufficient information",
        paper="Kshemkalyani, Singhal 1998",
        addressing=Addressing.SETS,
        alike=True,
        state_bound="3n² integers",
    )
    stamp_type = Entries
    state_type = State
    state: State

    def initial_state(self) -> State:
        return State({}, [0] * self.membership.size, {})

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        others = message.destinations & ~(1 << self.process)
        effects: list[Effect] = []
        if others:
            for stamp, to in self._copies(others):
                effects.append(Transmit(Packet(self.process, message, stamp), to))
            self._record(message.id.number, others)
        if message.destinations >> self.process & 1:
            effects.append(Deliver(message))
        return effects

    def _copies(self, destinations: ProcessSet) -> Iterator[tuple[Entries, ProcessSet]]:
        """SND 2: the stamps of a message, each with the destinations whose copy carries it."""
        named = 0
        for clocks in self.state.log.values():
            for dests in clocks.values():
                named |= dests
        strangers = destinations & ~named  # no entry names them: their copies are all the same
        if strangers:
            yield self._stamp(destinations), strangers
        for destination in members(destinations & named):
            yield self._stamp(destinations & ~(1 << destination)), 1 << destination

    def _stamp(self, settled: ProcessSet) -> Entries:
        """The log without the destinations that the message to be sent settles."""
        return Entries(
            tuple(
                (sender, clock, _pack(dests & ~settled))
                for sender, clocks in sorted(self.state.log.items())
                for clock, dests in self._kept(sender, clocks, settled)
            )
        )

    def _kept(
        self, sender: int, clocks: dict[int, ProcessSet], settled: ProcessSet
    ) -> Iterator[tuple[int, ProcessSet]]:
        """The entries of a sender that are not empty, and its latest even so. The latest of this
        process is the message to be sent itself."""
        latest = 0 if sender == self.process else max(clocks)
        for clock in sorted(clocks):
            if clocks[clock] & ~settled or clock == latest:
                yield clock, clocks[clock]

    def _record(self, clock: int, destinations: ProcessSet) -> None:
        """SND 3 and 4: the new message is the later one for its destinations, and the latest of
        this process."""
        log = self.state.log
        for sender, clocks in log.items():
            log[sender] = {
                kept: dests & ~destinations
                for kept, dests in self._kept(sender, clocks, destinations)
            }
        log.setdefault(self.process, {})[clock] = destinations

    def check(self, packet: Packet[Entries], message: Message) -> None:
        size = self.membership.size
        if message.destinations & ~self.membership.everybody:
            raise MalformedStamp("destinations", f"goes beyond the {size} processes")
        possible = self.membership.everybody & ~(message.destinations & ~(1 << self.process))
        newest = {
            packet.source: message.id.number - 1,
            self.process: max(self.state.log.get(self.process, {}), default=0),
        }
        previous = (-1, 0)
        named = [0] * size
        for place, (sender, clock, dests) in enumerate(packet.stamp.log):
            field = f"log[{place}]"
            if sender >= size:
                raise MalformedStamp(field, f"is about process {sender} of {size}")
            if (sender, clock) <= previous:
                raise MalformedStamp(field, "is not in the order of senders and clocks")
            previous = sender, clock
            if not 1 <= clock <= newest.get(sender, clock):
                raise MalformedStamp(field, f"has clock {clock}, which cannot precede the message")
            if not isinstance(dests, bytes) and max(dests, default=0) >= size:
                raise MalformedStamp(field, f"names process {max(dests)} of {size}")
            unpacked = _unpack(dests)
            if unpacked & ~possible or unpacked >> sender & 1 or _pack(unpacked) != dests:
                raise MalformedStamp(field, "names destinations that cannot be")
            if unpacked & named[sender]:
                raise MalformedStamp(field, "repeats a destination of an earlier entry")
            named[sender] |= unpacked

    def is_delivered(self, packet: Packet[Entries]) -> bool:
        return packet.message.id.number <= self.state.delivered[packet.source]  # type: ignore[union-attr]

    def _missing(self, packet: Packet[Entries]) -> Iterator[tuple[int, int]]:
        """RCV 1: the messages that name this process and are not delivered here."""
        delivered = self.state.delivered
        for sender, clock, dests in packet.stamp.log:
            if clock > delivered[sender] and _unpack(dests) >> self.process & 1:
                yield sender, clock

    def unmet(self, packet: Packet[Entries]) -> Condition | None:
        return next(self._missing(packet), None)

    def accept(self, packet: Packet[Entries]) -> Iterable[Condition]:
        """RCV 2 to 5."""
        source, clock = packet.message.id  # type: ignore[union-attr]
        self.state.delivered[source] = clock
        theirs: Log = {}
        for sender, their_clock, dests in packet.stamp.log:
            theirs.setdefault(sender, {})[their_clock] = _unpack(dests)
        theirs.setdefault(source, {})[clock] = packet.message.destinations & ~(1 << source)  # type: ignore[union-attr]
        here = 1 << self.process
        for sender, clocks in theirs.items():
            self.state.log[sender] = _merge(self.state.log.get(sender, {}), clocks, here)
        return ((source, clock),)

    def awaited(self, packet: Packet[Entries]) -> Iterable[Awaited]:
        return [Awaited(sender, clock) for sender, clock in self._missing(packet)]

    def entries(self) -> int:
        logged = sum(
            2 + dests.bit_count() for clocks in self.state.log.values() for dests in clocks.values()
        )
        return logged + self.membership.size

    def entries_bound(self) -> int:
        """Of one sender, each other process is named once, in an entry of its own at worst, and the
        latest entry may be empty: 3(n - 1) + 2 integers; and SR."""
        return 3 * self.membership.size**2


def _merge(
    mine: dict[int, ProcessSet], theirs: dict[int, ProcessSet], here: ProcessSet
) -> dict[int, ProcessSet]:
    """RCV 3 to 5: two logs of one sender as one, at the process whose bit is `here`."""
    my_latest = max(mine, default=0)
    their_latest = max(theirs)
    latest = max(my_latest, their_latest)
    merged = {}
    for clock in sorted(mine.keys() | theirs.keys()):
        if clock not in mine:
            dests = theirs[clock] if clock > my_latest else 0  # settled, as this process knew
        elif clock not in theirs:
            dests = mine[clock] if clock > their_latest else 0  # settled, as the sender knew
        else:
            dests = mine[clock] & theirs[clock]
        dests &= ~here
        if dests or clock == latest:
            merged[clock] = dests
    return merged
