"""Relative causal order: a vector for the message's own group, one number for every other group.

Within a group x a process keeps the last-delivered vector LDV_x (A1 to A3); a message of x carries
it and waits for nothing else of x (C01), so with one group it is delivered as early as possible.
Of every other group y it carries only GBN[y], the largest block number of y that precedes it. A
receiver that is a member of y delivers it when the blocks of y up to that number are complete and
their messages are delivered (C02).

Counters are per group, as printed. Then C02 as printed deadlocks: two messages in two groups may
each belong to a block that the other waits for. Repaired (`c02 = "predecessors"`), a message does
not wait for a held one that cannot precede it: one whose own GBN exceeds the message's somewhere.
A message that is waited for has the smaller GBN, so nothing waits in a circle. And GBN never goes
back (`gbn = "maximum"`): the printed assignment at a delivery forgets larger numbers.

Nulls. In a group where two members or more are in other groups, too, every member owes these a
packet numbered as high as the highest message it received there: one round, and it is quiet. In
any other group C02 holds by itself: what the outside knows of it, its only way out has delivered.
A null marks the block matrix as it arrives. It is never delivered and changes no vector.

Invariant: GBN[x] of an own group x is at most the counter of x; a message is numbered above both
its LDV and all of x that precedes it.

Paper: R. J. de Araújo Macêdo, "Causal Order Protocols for Group Communication", sections 5.1, 5.5.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from antecede.errors import MalformedStamp
from antecede.message import NO_GROUP, Membership, Message, MessageId, members
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
from antecede.orders._blocks import PAPER, BlockMatrix, BlockOptions, Blocks, bridges
from antecede.orders._counting import Condition


class RelativeOptions(BlockOptions, frozen=True):
    """`c02`: which held messages of the blocks up to gbn[y] are waited for, those that may precede
    or, as printed, all of them (the text speaks of block gbn[y] only, which is unsafe); `gbn`: what
    a delivery makes of the entry of its group, as repaired or as printed."""

    says = stated(**BlockOptions.says, c02=Says.NOTHING, gbn=Says.NOTHING)

    c02: Literal["predecessors", "printed"] = "predecessors"
    gbn: Literal["maximum", "printed"] = "maximum"


class Relative(Stamp, frozen=True):
    """The block number in the message's group, the LDV of that group in the order of its members,
    and the (group, number) pairs of GBN for the other groups. A null message names its group, and
    has neither vector nor pairs."""

    number: Count
    ldv: tuple[Count, ...]
    gbn: tuple[tuple[Count, Count], ...]
    group: int = NO_GROUP

    def entries(self) -> int:
        return 1 + len(self.ldv) + len(self.gbn) + (self.group != NO_GROUP)


class State(msgspec.Struct, array_like=True):
    """`counters[x]`: BC_x; `matrices[x]`: BM_x; `ldv[x][k]`: the last number of k delivered in x;
    `gbn[y]`: the largest number of y in the past of this process."""

    counters: dict[int, int]
    matrices: dict[int, BlockMatrix]
    ldv: dict[int, dict[int, int]]
    gbn: dict[int, int]
    armed: bool
    held: dict[MessageId, Packet[Relative]]


class BlocksRelative(Blocks):
    traits = Traits(
        title="causal blocks, relative",
        paper=PAPER,
        addressing=Addressing.GROUPS,
        alike=True,
        channels=Channels.FIFO,
        null_messages=True,
        prompt=False,
        state_bound="the number of groups, and 1 + 2|g| for each group g of the process",
    )
    options_type = RelativeOptions
    stamp_type = Relative
    state_type = State
    state: State
    options: RelativeOptions

    def configure(self) -> None:
        super().configure()
        self._members = {x: tuple(members(self.membership.group(x))) for x in self._own_groups}
        ways_out = {group: bridges(self.membership, group) for group in self._own_groups}
        # Where one member at most leads out, nobody waits for the blocks of the group.
        self._bridges = {group: out for group, out in ways_out.items() if out.bit_count() > 1}

    def initial_state(self) -> State:
        self.configure()
        state = State({}, {}, {}, {}, False, {})
        for group in self._own_groups:
            self._start(state, group)
        return state

    def _start(self, state: State, group: int) -> None:
        state.counters[group] = 0
        state.matrices[group] = BlockMatrix.empty(self.others(group))
        state.ldv[group] = dict.fromkeys(self._members[group], 0)

    def resume(self) -> None:
        self._pending: dict[int, list[tuple[int, MessageId]]] = {x: [] for x in self._own_groups}
        self._undelivered: dict[MessageId, Packet[Relative]] = {}
        for packet in self.state.held.values():
            self._index(packet)
        super().resume()

    def _index(self, packet: Packet[Relative]) -> None:
        group, place = self._place(packet)
        insort(self._pending[group], place)
        self._undelivered[place[1]] = packet

    def _place(self, packet: Packet[Relative]) -> tuple[int, tuple[int, MessageId]]:
        """The group of a message, and its block and identity."""
        message: Message = packet.message  # type: ignore[assignment]
        return self.group_of(message), (packet.stamp.number, message.id)

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        state = self.state
        group = self.group_of(message)
        number = state.counters[group] + 1  # figure 5: CA1,
        state.counters[group] = number
        ldv = state.ldv[group]
        gbn = tuple((y, state.gbn[y]) for y in sorted(state.gbn) if y != group)
        stamp = Relative(number, tuple(ldv[p] for p in self._members[group]), gbn)  # A1,
        ldv[self.process] = number  # A2
        state.gbn[group] = number
        state.matrices[group].mark_own(number)
        return self.multicast(message, stamp) + self.rouse(now)

    def check(self, packet: Packet[Relative], message: Message) -> None:
        group = self.check_message(message, packet.source)
        stamp, mine = packet.stamp, self.state.ldv[group]
        if stamp.group != NO_GROUP:
            raise MalformedStamp("group", "is named by a message and its stamp")
        if len(stamp.ldv) != len(mine):
            raise MalformedStamp("ldv", f"has {len(stamp.ldv)} entries for {len(mine)} members")
        if stamp.number <= max(stamp.ldv):  # pv1
            raise MalformedStamp("number", f"{stamp.number} is not above all entries of the vector")
        own = stamp.ldv[self._members[group].index(self.process)]
        if own > mine[self.process]:
            raise MalformedStamp("ldv", f"counts {own} for this process, which is not there yet")
        groups = [entry[0] for entry in stamp.gbn]
        if groups != sorted(set(groups)) or group in groups:
            raise MalformedStamp("gbn", f"names the groups {groups}")
        if groups and groups[-1] >= len(self.membership.groups):
            raise MalformedStamp("gbn", f"names group {groups[-1]}, which does not exist")
        if any(number < 1 for _, number in stamp.gbn):
            raise MalformedStamp("gbn", "has an entry 0")

    def check_null(self, packet: Packet[Relative]) -> None:
        self.check_group(packet.stamp.group, packet.source)
        if packet.stamp.ldv or packet.stamp.gbn:
            raise MalformedStamp("ldv", "is carried by a null message")

    def _matrix(self, packet: Packet[Relative]) -> tuple[int, BlockMatrix]:
        message = packet.message
        group = packet.stamp.group if message is None else self.group_of(message)
        return group, self.state.matrices[group]

    def is_delivered(self, packet: Packet[Relative]) -> bool:
        return packet.stamp.number <= self._matrix(packet)[1].others[packet.source]

    def enqueue(self, packet: Packet[Relative]) -> None:
        super().enqueue(packet)
        self._index(packet)

    def mark(self, packet: Packet[Relative]) -> Iterable[Condition]:
        group, matrix = self._matrix(packet)
        matrix.mark(packet.source, packet.stamp.number)
        return ((("complete", group), matrix.complete),)

    def _undelivered_here(self, packet: Packet[Relative]) -> Iterator[tuple[int, int]]:
        """C01, what fails of it: the (member, number) of its own group still to be delivered."""
        group = self._place(packet)[0]
        ldv = self.state.ldv[group]
        for process, number in zip(self._members[group], packet.stamp.ldv, strict=True):
            if number > ldv[process]:
                yield process, number

    def _blocks_elsewhere(self, packet: Packet[Relative]) -> Iterator[tuple[int, int]]:
        """The (group, number) up to which C02 asks for blocks."""
        return ((group, number) for group, number in packet.stamp.gbn if group in self._bridges)

    def _in_blocks(self, packet: Packet[Relative], group: int, number: int) -> Iterator[MessageId]:
        """The held messages in the blocks of another group that a packet waits for."""
        pending = self._pending[group]
        for _, message in pending[: bisect_left(pending, (number + 1,))]:
            if self.options.c02 == "printed" or self._may_precede(message, group, packet):
                yield message

    def _may_precede(self, first: MessageId, group: int, second: Packet[Relative]) -> bool:
        """Whether a held message of a group knows no more of the other groups than a packet."""
        known = dict(second.stamp.gbn)
        known[self._place(second)[0]] = second.stamp.number - 1
        earlier = self._undelivered[first].stamp
        return all(number <= known.get(y, 0) for y, number in earlier.gbn)

    def unmet(self, packet: Packet[Relative]) -> Condition | None:
        own = self._place(packet)[0]
        for process, number in self._undelivered_here(packet):
            return ("ldv", own, process), number
        for group, number in self._blocks_elsewhere(packet):
            if self.state.matrices[group].complete < number:
                return ("complete", group), number
            for message in self._in_blocks(packet, group, number):
                return ("message", message), 1
        return None

    def accept(self, packet: Packet[Relative]) -> Iterable[Condition]:
        state, stamp = self.state, packet.stamp
        group, place = self._place(packet)
        pending = self._pending[group]
        del pending[bisect_left(pending, place)]
        del self._undelivered[place[1]]
        state.counters[group] = max(state.counters[group], stamp.number)  # CA2
        state.ldv[group][packet.source] = stamp.number  # A3
        for y, number in stamp.gbn:
            state.gbn[y] = max(state.gbn.get(y, 0), number)
        before = 0 if self.options.gbn == "printed" else state.gbn.get(group, 0)
        state.gbn[group] = max(before, stamp.number)
        return (("ldv", group, packet.source), stamp.number), (("message", place[1]), 1)

    def owes(self) -> bool:
        matrices = self.state.matrices
        return any(matrices[group].own < matrices[group].top for group in self._bridges)

    def nulls(self) -> list[Transmit]:
        sent = []
        for group, out in self._bridges.items():
            matrix = self.state.matrices[group]
            number = matrix.top
            if matrix.own < number:
                matrix.mark_own(number)
                self.state.counters[group] = max(self.state.counters[group], number)
                sent.append(self.null(Relative(number, (), (), group), out))
        return sent

    def forget(self, before: Membership) -> None:
        """At a flush the blocks of other groups are all delivered: GBN starts from nothing."""
        state = self.state
        fresh = State({}, {}, {}, {}, state.armed, {})
        for group in self._own_groups:
            if group not in state.counters or self.changed(group, before):
                self._start(fresh, group)
            else:
                fresh.counters[group] = state.counters[group]
                fresh.matrices[group] = state.matrices[group]
                fresh.ldv[group] = state.ldv[group]
        self.state = fresh

    def awaited(self, packet: Packet[Relative]) -> Iterable[Awaited]:
        own = self._place(packet)[0]
        for process, number in self._undelivered_here(packet):
            yield Awaited(process, number, Scope.BLOCK, own)
        for group, number in self._blocks_elsewhere(packet):
            behind = set(self.state.matrices[group].lacking(number))
            behind.update(m.sender for m in self._in_blocks(packet, group, number))
            for process in sorted(behind):
                yield Awaited(process, number, Scope.BLOCK, group)

    def entries(self) -> int:
        state = self.state
        columns = sum(map(len, state.matrices.values())) + sum(map(len, state.ldv.values()))
        return len(state.counters) + columns + len(state.gbn)

    def entries_bound(self) -> int:
        sizes = [self.membership.group(group).bit_count() for group in self._own_groups]
        return len(self.membership.groups or "1") + sum(1 + 2 * size for size in sizes)
