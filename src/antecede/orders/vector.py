"""Vector clocks for broadcast in groups (Birman, Schiper, Stephenson).

Every process counts, for each member of a group, the messages of that member in the group that it
has delivered. A message carries these vectors as its sender saw them, its own send included. It is
delivered when it is the next of its sender in its group and everything else its sender had
delivered in the receiver's groups has been delivered here, too.

With overlapping groups a message carries the vectors of *all* groups: a chain of messages may leave
a group and come back to it through others, and a process passes on what it hears of groups it is no
member of. Carrying the sender's own groups only (`carry = "own"`) is smaller, and safe exactly when
no cycle of groups overlaps.

Invariant: `vectors[g][r]` never exceeds what member r of g has sent to g and, where this process is
a member of g, equals what it has delivered of it.

Paper: K. Birman, A. Schiper, P. Stephenson, "Lightweight causal and atomic group multicast", ACM
TOCS 9(3), 1991.
"""

from collections.abc import Iterable, Iterator
from operator import gt
from typing import Literal

import msgspec

from antecede.drawn import Chance, Drawn, Fields
from antecede.errors import MalformedStamp
from antecede.message import Message, MessageId, members
from antecede.order import (
    Addressing,
    Awaited,
    Count,
    Effect,
    Options,
    Packet,
    Says,
    Scope,
    Stamp,
    Traits,
    stated,
)
from antecede.orders._counting import Condition, Counting


class VectorOptions(Options, frozen=True):
    """`carry`: the vectors that travel, of all groups or of the sender's own."""

    says = stated(carry=Says.NOTHING)

    carry: Literal["all", "own"] = "all"

    @classmethod
    def drawn(cls, fields: Fields, chance: Chance) -> Drawn:
        """Own groups are enough where no cycle of groups overlaps: surely where there is one."""
        return {"carry": "own" if len(fields.get("groups", ())) <= 1 else "all"}


class Vectors(Stamp, frozen=True):
    """One vector a group, in the order of the group's members; empty where it is all zeros."""

    vectors: tuple[tuple[Count, ...], ...]

    def entries(self) -> int:
        return sum(map(len, self.vectors))

    def successor(self, source: int, steps: int) -> "Vectors | None":
        """In one group of everybody: the sender counts its own, and has delivered nothing else."""
        if len(self.vectors) != 1 or source >= len(self.vectors[0]):
            return None
        vector = self.vectors[0]
        own = vector[source] + steps
        return Vectors(((*vector[:source], own, *vector[source + 1 :]),))


class State(msgspec.Struct, array_like=True):
    vectors: list[list[int]]
    held: dict[MessageId, Packet[Vectors]]


class Vector(Counting):
    traits = Traits(
        title="vector clocks",
        paper="Birman, Schiper, Stephenson 1991",
        addressing=Addressing.GROUPS,
        alike=True,
        state_bound="the sum of the sizes of all groups",
    )
    options_type = VectorOptions
    stamp_type = Vectors
    state_type = State
    state: State
    options: VectorOptions

    def initial_state(self) -> State:
        groups = range(len(self.membership.groups) or 1)
        self._members = [tuple(members(self.membership.group(group))) for group in groups]
        self._rank = [{p: rank for rank, p in enumerate(group)} for group in self._members]
        self._own_groups = self.membership.groups_of(self.process)
        self._only = self._own_groups[0] if len(self._own_groups) == 1 else None
        self._is_plain = not self.membership.groups
        return State([[0] * len(group) for group in self._members], {})

    def _group(self, message: Message) -> int:
        return 0 if self._is_plain else message.group

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        vectors = self.state.vectors
        if self._is_plain:
            vectors[0][self.process] += 1
            return self.multicast(message, Vectors((tuple(vectors[0]),)))
        group = self._group(message)
        vectors[group][self._rank[group][self.process]] += 1
        carried = range(len(vectors)) if self.options.carry == "all" else self._own_groups
        stamp: list[tuple[int, ...]] = [()] * len(vectors)
        for index in carried:
            if any(vectors[index]):
                stamp[index] = tuple(vectors[index])
        return self.multicast(message, Vectors(tuple(stamp)))

    def receive_run(self, packet: Packet[Vectors], count: int) -> list[Effect] | None:
        return super().receive_run(packet, count) if self._is_plain else None

    def check(self, packet: Packet[Vectors], message: Message) -> None:
        vectors = packet.stamp.vectors
        if self._is_plain and len(vectors) == 1 and len(vectors[0]) == self.membership.size:
            if vectors[0][packet.source] < 1:
                raise MalformedStamp("vectors[0]", "does not count the message itself")
            return  # One group of everybody: the usual case.
        if len(vectors) != len(self._members):
            raise MalformedStamp("vectors", f"has {len(vectors)}, not {len(self._members)} vectors")
        for index, vector in enumerate(vectors):
            if vector and len(vector) != len(self._members[index]):
                raise MalformedStamp(
                    f"vectors[{index}]",
                    f"has {len(vector)} entries for {len(self._members[index])} members",
                )
        group = self._group(message)
        if group not in self._own_groups:
            raise MalformedStamp("group", f"{group} does not contain process {self.process}")
        rank = self._rank[group].get(packet.source)
        if rank is None:
            raise MalformedStamp("group", f"{group} does not contain sender {packet.source}")
        if not vectors[group] or vectors[group][rank] < 1:
            raise MalformedStamp(f"vectors[{group}]", "does not count the message itself")

    def is_delivered(self, packet: Packet[Vectors]) -> bool:
        group, rank, own = self._place(packet)
        return own <= self.state.vectors[group][rank]

    def _place(self, packet: Packet[Vectors]) -> tuple[int, int, int]:
        """The group of a message, its sender's rank there and its number among the sender's."""
        if self._is_plain:
            return 0, packet.source, packet.stamp.vectors[0][packet.source]
        group = self._group(packet.message)  # type: ignore[arg-type]
        rank = self._rank[group][packet.source]
        return group, rank, packet.stamp.vectors[group][rank]

    def _missing(self, packet: Packet[Vectors]) -> Iterator[tuple[int, int, int]]:
        """Of each of this process' groups, the (group, rank, value) that are not reached."""
        group, sender_rank, own = self._place(packet)
        for index in self._own_groups:
            theirs = packet.stamp.vectors[index]
            mine = self.state.vectors[index]
            ahead = list(map(gt, theirs, mine))
            if index == group:
                ahead[sender_rank] = own - 1 > mine[sender_rank]
            if True not in ahead:
                continue
            for rank, is_ahead in enumerate(ahead):
                if is_ahead:
                    itself = index == group and rank == sender_rank
                    yield index, rank, theirs[rank] - itself

    def unmet(self, packet: Packet[Vectors]) -> Condition | None:
        if self._only is not None:
            return self._unmet_in(self._only, packet)
        for group, rank, value in self._missing(packet):
            return (group, rank), value
        return None

    def _unmet_in(self, group: int, packet: Packet[Vectors]) -> Condition | None:
        """The same in the only group of this process: the usual case, and worth a short cut."""
        theirs, mine = packet.stamp.vectors[group], self.state.vectors[group]
        sender = self._rank[group][packet.source]
        if theirs[sender] - 1 > mine[sender]:
            return (group, sender), theirs[sender] - 1
        ahead = list(map(gt, theirs, mine))
        ahead[sender] = False  # By one: the message itself.
        if True not in ahead:
            return None
        rank = ahead.index(True)
        return (group, rank), theirs[rank]

    def accept(self, packet: Packet[Vectors]) -> Iterable[Condition]:
        group, rank, own = self._place(packet)
        mine = self.state.vectors
        mine[group][rank] = own
        if self._is_plain:
            return (((group, rank), own),)
        for index, theirs in enumerate(packet.stamp.vectors):
            if theirs and index not in self._own_groups:
                mine[index] = list(map(max, mine[index], theirs))
        return (((group, rank), own),)

    def awaited(self, packet: Packet[Vectors]) -> Iterable[Awaited]:
        for group, rank, value in self._missing(packet):
            yield Awaited(self._members[group][rank], value, Scope.GROUP, group)

    def entries(self) -> int:
        return sum(map(len, self.state.vectors))

    def entries_bound(self) -> int:
        return sum(map(len, self._members))
