"""What the three protocols of the Causal Blocks model share.

Every packet carries a *block number*. A process counts with CA1 and CA2 (its counter grows by one
at a send, and to the message's number at a delivery), so a message is numbered above everything
that precedes it, and messages of one number are concurrent. A block B of a group is *complete* at
a process when every other member has been heard of with B or more: channels are FIFO, so nothing
numbered B or less can still come.

The paper draws a matrix of blocks and senders with a mark for every message. All that completion
ever asks of a column is its highest mark, so a column is one number here, the marks below it are
forgotten, and the matrix never grows. What is received and not delivered is in `held`.

A process that is silent keeps blocks open. The *null message* (a packet without a message) fills
its column: it is a promise to send nothing numbered so low any more. It is sent only where it may
be owed to somebody, `silence_s` after the debt arose; nothing owed, nothing sent.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec

from antecede.drawn import Chance, Drawn, Fields
from antecede.errors import MalformedStamp, Misuse
from antecede.message import Membership, Message, ProcessSet, members, process_set
from antecede.order import (
    Deliver,
    Effect,
    Options,
    Packet,
    Says,
    Stamp,
    Transmit,
    Wake,
    stated,
)
from antecede.orders._counting import Condition, Counting

PAPER = "Macêdo"
_ALONE = 1 << 62
"""The complete blocks of a group without other members."""


class BlockOptions(Options, frozen=True):
    """`silence_s`: how long a process may owe a null message before it sends it."""

    says = stated(silence_s=Says.NOTHING)

    silence_s: Annotated[float, msgspec.Meta(ge=0)] = 0.01

    @classmethod
    def drawn(cls, fields: Fields, chance: Chance) -> Drawn:
        return {"silence_s": chance.between(0.001, 1.0)}


class BlockMatrix(msgspec.Struct, array_like=True):
    """The blocks of one group at one member: the highest mark in each column.

    `own` is this process' column. It keeps no block open: its messages are delivered as it sends
    them. `complete` is the highest complete block and `top` the highest mark of all.
    """

    own: int
    others: dict[int, int]
    complete: int
    top: int

    @classmethod
    def empty(cls, others: Iterable[int]) -> "BlockMatrix":
        columns = dict.fromkeys(others, 0)
        return cls(0, columns, 0 if columns else _ALONE, 0)

    def mark(self, process: int, number: int) -> None:
        """A packet of another member has arrived."""
        before = self.others[process]
        self.others[process] = number
        self.top = max(self.top, number)
        if before == self.complete:
            self.complete = min(self.others.values())

    def mark_own(self, number: int) -> None:
        """This process has sent a packet."""
        self.own = number
        self.top = max(self.top, number)

    def lacking(self, number: int) -> Iterator[int]:
        """The members that keep this block open."""
        return (process for process, height in self.others.items() if height < number)

    def __len__(self) -> int:
        return 1 + len(self.others)


class Blocks(Counting):
    """An order on block numbers. `state` has, besides `held`, `armed`: a wake-up is under way."""

    options: BlockOptions

    def configure(self) -> None:
        """Derive from the membership who is a neighbour and where."""
        own = 1 << self.process
        self._own_groups = tuple(self.membership.groups_of(self.process))
        self._neighbours: ProcessSet = 0
        for group in self._own_groups:
            self._neighbours |= self.membership.group(group)
        self._neighbours &= ~own

    def others(self, group: int) -> Iterator[int]:
        """The other members of a group."""
        return members(self.membership.group(group) & ~(1 << self.process))

    @abstractmethod
    def mark(self, packet: Packet[Any]) -> Iterable[Condition]:
        """A packet has arrived: note its number, and say which counters moved."""

    @abstractmethod
    def owes(self) -> bool:
        """Whether somebody may wait for a null message of this process."""

    @abstractmethod
    def nulls(self) -> list[Transmit]:
        """The null messages that are owed; the state says that they are sent."""

    @abstractmethod
    def forget(self, before: Membership) -> None:
        """The groups have changed at a flush: drop what concerned the old ones."""

    @abstractmethod
    def check_null(self, packet: Packet[Any]) -> None:
        """Raise `MalformedStamp` if a null message cannot be right; its source is a neighbour."""

    def enqueue(self, packet: Packet[Any]) -> None:
        """A message has arrived, and is not delivered yet."""
        self.state.held[packet.message.id] = packet  # type: ignore[union-attr]

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        if packet.message is None:
            if not self._neighbours >> packet.source & 1:
                raise MalformedStamp("source", f"{packet.source} shares no group with this process")
            self.check_null(packet)
        else:
            self.check(packet, self.check_header(packet))
        if self.is_delivered(packet):
            return []
        if packet.message is not None and packet.message.id in self.state.held:
            raise MalformedStamp("number", f"is new for {packet.message.id}, which is held already")
        return self.arrive(packet) + self.rouse(now)

    def arrive(self, packet: Packet[Any]) -> list[Effect]:
        """Queue a message, mark the packet, and deliver whatever this frees, in order."""
        ready: list[Packet[Any]] = []
        if packet.message is not None:
            condition = self.unmet(packet)
            self.enqueue(packet)
            if condition is None:
                ready.append(self.state.held.pop(packet.message.id))
            else:
                self.waiting.file(packet.message.id, condition)
        ready.extend(self.freed(self.mark(packet)))
        return self.deliver(ready)

    def deliver(self, ready: Iterable[Packet[Any]]) -> list[Effect]:
        """Deliver these packets and all that this frees."""
        effects: list[Effect] = []
        queue = deque(ready)
        while queue:
            packet = queue.popleft()
            effects.append(Deliver(packet.message))  # type: ignore[arg-type]
            queue.extend(self.freed(self.accept(packet)))
        return effects

    def rouse(self, now: float) -> list[Effect]:
        """Ask to be woken when a null message is owed, unless that is under way."""
        if self.state.armed or not self.owes():
            return []
        self.state.armed = True
        return [Wake(now + self.options.silence_s)]

    def wake(self, now: float) -> list[Effect]:
        self.state.armed = False
        return list(self.nulls())

    def null(self, stamp: Stamp, to: ProcessSet) -> Transmit:
        return Transmit(Packet(self.process, None, stamp), to & ~(1 << self.process))

    def regroup(self, membership: Membership, now: float = 0.0) -> list[Effect]:
        """The groups change. A group keeps its index; one that is given up becomes empty.

        Safe at a flush: everything that was sent has been delivered, nothing is under way (null
        messages and duplicates included), and every process changes to the same groups before it
        sends or receives anything more. That nothing is held here is checked; the rest is the
        caller's promise. A group whose members change starts afresh. A process that comes back
        without its state is a new process, with a number of its own.
        """
        if self.state.held:
            held = ", ".join(map(str, sorted(self.state.held)))
            raise Misuse(f"the groups may change only at a flush; still held: {held}")
        if not self.process < membership.size:
            raise Misuse(f"process {self.process} is not one of the {membership.size} processes")
        before, self.membership = self.membership, membership
        self.configure()
        self.forget(before)
        self.resume()
        return self.rouse(now)

    def changed(self, group: int, before: Membership) -> bool:
        """Whether a group has other members than before the change."""
        known = len(before.groups) or 1
        return group >= known or before.group(group) != self.membership.group(group)

    def check_group(self, group: int, source: int) -> None:
        """Refuse a packet of a group that its source and this process do not share."""
        if group not in self._own_groups:
            raise MalformedStamp("group", f"{group} does not contain process {self.process}")
        if not self.membership.group(group) >> source & 1:
            raise MalformedStamp("group", f"{group} does not contain sender {source}")

    def check_message(self, message: Message, source: int) -> int:
        """The group of a message that is addressed to one, and whole."""
        group = self.group_of(message)
        self.check_group(group, source)
        if message.destinations != self.membership.group(group):
            raise MalformedStamp("destinations", f"are not the members of group {group}")
        return group

    def group_of(self, message: Message) -> int:
        return message.group if self.membership.groups else 0


def bridges(membership: Membership, group: int) -> ProcessSet:
    """The members of a group that are members of another one, too."""
    inside = membership.group(group)
    return process_set(p for p in members(inside) if len(membership.groups_of(p)) > 1)
