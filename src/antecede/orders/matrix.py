"""A matrix of counts for any destinations (Raynal, Schiper, Toueg).

Every process keeps SENT, where SENT[k][l] counts the messages from k to l that it knows of, and
DELIV, where DELIV[k] counts the messages of k that it has delivered. A message carries SENT. It is
delivered at j when, for every k, DELIV[k] has reached the count in column j: all that its sender
knew to be on the way to j has been delivered. Then the two matrices are merged by maximum.

Two readings make the paper's unicast protocol sound for any set of destinations. The stamp counts
the message itself, once for each destination, and is the same for all of them: a copy to {a, b}
tells a about the copy to b, without which an answer of a could overtake it. (The paper's stamp is
taken before counting; the receiver adds the one copy it sees.) And a message to oneself is not
counted: it is delivered at the send and orders nothing.

Only k changes row k, so any two versions of a row are the same row at two moments, and one of them
is at least the other in every place. That is why rows are tuples which processes share, why a merge
takes whole rows, and why comparing them as tuples is enough.

Invariant: column j of SENT at j equals DELIV; no SENT[k][l] exceeds what k has sent to l.

Paper: M. Raynal, A. Schiper, S. Toueg, "The causal ordering abstraction and a simple way to
implement it", Information Processing Letters 39(6), 1991.
"""

from collections.abc import Iterable, Iterator
from operator import gt, itemgetter

import msgspec

from antecede.errors import MalformedStamp
from antecede.message import Message, MessageId, members
from antecede.order import Addressing, Awaited, Count, Effect, Packet, Scope, Stamp, Traits
from antecede.orders._counting import Condition, Counting


class Sent(Stamp, frozen=True):
    """SENT at the sender, this message included; a row for each sender."""

    rows: tuple[tuple[Count, ...], ...]

    def entries(self) -> int:
        return len(self.rows) ** 2


class State(msgspec.Struct, array_like=True):
    """`sent` is SENT, `delivered` is DELIV."""

    sent: list[tuple[int, ...]]
    delivered: list[int]
    held: dict[MessageId, Packet[Sent]]


class Matrix(Counting):
    traits = Traits(
        title="matrix of counts",
        paper="Raynal, Schiper, Toueg 1991",
        addressing=Addressing.SETS,
        alike=True,
        state_bound="n² + n",
    )
    stamp_type = Sent
    state_type = State
    state: State

    def initial_state(self) -> State:
        size = self.membership.size
        self._column = itemgetter(self.process)
        return State([(0,) * size] * size, [0] * size, {})

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        sent = self.state.sent
        row = list(sent[self.process])
        for destination in members(message.destinations & ~(1 << self.process)):
            row[destination] += 1
        sent[self.process] = tuple(row)
        return self.multicast(message, Sent(tuple(sent)))

    def check(self, packet: Packet[Sent], message: Message) -> None:
        size = self.membership.size
        rows = packet.stamp.rows
        if len(rows) != size:
            raise MalformedStamp("rows", f"has {len(rows)} rows for {size} processes")
        for sender, row in enumerate(rows):
            if len(row) != size:
                raise MalformedStamp(f"rows[{sender}]", f"has {len(row)} entries for {size}")
            if row[sender]:
                raise MalformedStamp(f"rows[{sender}]", "counts messages of a process to itself")
        own = rows[packet.source]
        for destination in members(message.destinations & ~(1 << packet.source)):
            if destination >= size:
                raise MalformedStamp("destinations", f"contains {destination} of {size} processes")
            if not own[destination]:
                raise MalformedStamp(
                    f"rows[{packet.source}]", f"does not count the copy to {destination}"
                )

    def is_delivered(self, packet: Packet[Sent]) -> bool:
        return self._serial(packet) <= self.state.delivered[packet.source]

    def _serial(self, packet: Packet[Sent]) -> int:
        """Which of its sender's messages to this process a packet brings."""
        return packet.stamp.rows[packet.source][self.process]

    def _missing(self, packet: Packet[Sent]) -> Iterator[tuple[int, int]]:
        """The (k, count) that DELIV has not reached: the messages from k to this process that
        precede the packet's own."""
        preceding = list(map(self._column, packet.stamp.rows))
        preceding[packet.source] -= 1
        ahead = list(map(gt, preceding, self.state.delivered))
        sender = -1
        for _ in range(ahead.count(True)):
            sender = ahead.index(True, sender + 1)
            yield sender, preceding[sender]

    def unmet(self, packet: Packet[Sent]) -> Condition | None:
        return next(self._missing(packet), None)

    def accept(self, packet: Packet[Sent]) -> Iterable[Condition]:
        serial = self._serial(packet)
        self.state.delivered[packet.source] = serial
        self.state.sent = [
            mine if mine is theirs else max(mine, theirs)
            for mine, theirs in zip(self.state.sent, packet.stamp.rows, strict=True)
        ]
        return ((packet.source, serial),)

    def awaited(self, packet: Packet[Sent]) -> Iterable[Awaited]:
        for sender, count in self._missing(packet):
            yield Awaited(sender, count, Scope.HERE)

    def entries(self) -> int:
        return self.membership.size**2 + self.membership.size

    def entries_bound(self) -> int:
        return self.membership.size**2 + self.membership.size
