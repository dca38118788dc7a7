"""Slow causal order: one integer a message, and the wait that it costs.

A message carries its block number and nothing else. A process delivers a message numbered b when
the blocks below b are complete in *all* its groups, and what they contain is delivered: whatever
precedes the message has a smaller number, so it has arrived by then. Messages are delivered in the
order of their numbers, concurrent ones included; that is why it is slow.

A process has one counter for all its groups. A block number says nothing across groups otherwise.
B_min, the highest block that is complete in all groups, is a block number and not a count of
blocks: the numbers in one group have gaps, as the counter moves in the others, too.

Nulls. In a group where b was seen, every member owes a packet numbered b - 1 or more. A process
that holds b and lacks such packets in a group that has not seen b, sends its own null numbered b
there. So numbers never outgrow those of messages, and it becomes quiet after two rounds at most.

With `total` a message waits for its own block, too, at its sender as well, and the messages of a
block are delivered by sender: one order for all processes, over all groups.

Invariant: whatever is held is numbered above B_min + 1 (above B_min with `total`).

Paper: R. J. de Araújo Macêdo, "Causal Order Protocols for Group Communication", sections 4 and 5.3.
"""

from collections.abc import Iterable, Iterator

import msgspec

from antecede.drawn import Chance, Drawn, Fields
from antecede.errors import MalformedStamp
from antecede.message import NO_GROUP, Membership, Message, MessageId
from antecede.order import (
    Addressing,
    Awaited,
    Channels,
    Count,
    Deliver,
    Effect,
    Packet,
    Says,
    Scope,
    Stamp,
    Traits,
    Transmit,
    stated,
)
from antecede.orders._blocks import PAPER, BlockMatrix, BlockOptions, Blocks
from antecede.orders._counting import Condition

_B_MIN = "B_min"


class SlowOptions(BlockOptions, frozen=True):
    """`total`: deliver in one order everywhere."""

    says = stated(**BlockOptions.says, total=Says.NUMBERS)

    total: bool = False

    @classmethod
    def drawn(cls, fields: Fields, chance: Chance) -> Drawn:
        return {**super().drawn(fields, chance), "total": chance.happens(0.5)}


class Block(Stamp, frozen=True):
    """The block number; a null message also names the group it is sent in."""

    number: Count
    group: int = NO_GROUP

    def entries(self) -> int:
        return 1 if self.group == NO_GROUP else 2


class State(msgspec.Struct, array_like=True):
    """`counter`: BC; `matrices[x]`: the blocks of group x."""

    counter: int
    matrices: dict[int, BlockMatrix]
    armed: bool
    held: dict[MessageId, Packet[Block]]


class BlocksSlow(Blocks):
    traits = Traits(
        title="causal blocks, slow",
        paper=PAPER,
        addressing=Addressing.GROUPS,
        alike=True,
        channels=Channels.FIFO,
        null_messages=True,
        prompt=False,
        state_bound="1 and the sum of the sizes of the process' groups",
    )
    options_type = SlowOptions
    stamp_type = Block
    state_type = State
    state: State
    options: SlowOptions

    def initial_state(self) -> State:
        self.configure()
        matrices = {group: BlockMatrix.empty(self.others(group)) for group in self._own_groups}
        return State(0, matrices, False, {})

    def resume(self) -> None:
        self._lag = 0 if self.options.total else 1
        self._highest = max((p.stamp.number for p in self.state.held.values()), default=0)
        super().resume()

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        state = self.state
        state.counter += 1  # CA1
        state.matrices[self.group_of(message)].mark_own(state.counter)
        stamp = Block(state.counter)
        effects = self.multicast(message, stamp)
        if self.options.total:
            effects = [effect for effect in effects if not isinstance(effect, Deliver)]
            packet = Packet(self.process, message, stamp)
            self.enqueue(packet)
            self.waiting.file(message.id, (_B_MIN, stamp.number))
            effects += self.deliver(self.freed([self._complete()]))
        return effects + self.rouse(now)

    def check(self, packet: Packet[Block], message: Message) -> None:
        self.check_message(message, packet.source)
        if packet.stamp.number < 1:
            raise MalformedStamp("number", "is 0; blocks are numbered from 1")
        if packet.stamp.group != NO_GROUP:
            raise MalformedStamp("group", "is named by a message and its stamp")

    def check_null(self, packet: Packet[Block]) -> None:
        self.check_group(packet.stamp.group, packet.source)

    def _matrix(self, packet: Packet[Block]) -> BlockMatrix:
        message = packet.message
        group = packet.stamp.group if message is None else self.group_of(message)
        return self.state.matrices[group]

    def is_delivered(self, packet: Packet[Block]) -> bool:
        return packet.stamp.number <= self._matrix(packet).others[packet.source]

    def enqueue(self, packet: Packet[Block]) -> None:
        super().enqueue(packet)
        self._highest = max(self._highest, packet.stamp.number)

    def mark(self, packet: Packet[Block]) -> Iterable[Condition]:
        self._matrix(packet).mark(packet.source, packet.stamp.number)
        return (self._complete(),)

    def _complete(self) -> Condition:
        """B_min: the least entry of the completed blocks vector."""
        return _B_MIN, min(matrix.complete for matrix in self.state.matrices.values())

    def unmet(self, packet: Packet[Block]) -> Condition | None:
        needed = packet.stamp.number - self._lag
        return (_B_MIN, needed) if self._complete()[1] < needed else None

    def accept(self, packet: Packet[Block]) -> Iterable[Condition]:
        self.state.counter = max(self.state.counter, packet.stamp.number)  # CA2
        return ()

    def _owed(self) -> Iterator[tuple[int, int]]:
        """The (group, number) of every null message that is owed."""
        for group, matrix in self.state.matrices.items():
            lacks = self.state.held and matrix.complete < self._highest - self._lag
            if lacks and self._highest > matrix.top:
                yield group, self._highest
            elif matrix.own < matrix.top - self._lag:
                yield group, matrix.top

    def owes(self) -> bool:
        return any(True for _ in self._owed())

    def nulls(self) -> list[Transmit]:
        sent = []
        for group, number in sorted(self._owed()):
            self.state.matrices[group].mark_own(number)
            self.state.counter = max(self.state.counter, number)
            sent.append(self.null(Block(number, group), self.membership.group(group)))
        return sent

    def forget(self, before: Membership) -> None:
        matrices = self.state.matrices
        self.state.matrices = {
            group: BlockMatrix.empty(self.others(group))
            if self.changed(group, before) or group not in matrices
            else matrices[group]
            for group in self._own_groups
        }

    def awaited(self, packet: Packet[Block]) -> Iterable[Awaited]:
        needed = packet.stamp.number - self._lag
        for group, matrix in self.state.matrices.items():
            for process in matrix.lacking(needed):
                yield Awaited(process, needed, Scope.BLOCK, group)

    def entries(self) -> int:
        return 1 + sum(map(len, self.state.matrices.values()))

    def entries_bound(self) -> int:
        return 1 + sum(self.membership.group(group).bit_count() for group in self._own_groups)
