"""Matrices of bounded size, by extra messages (Sanchez, Alvarez).

A process P_p keeps a matrix: M[i, j] is how many packets i has sent to j in the causal past of p,
and DELIV[i] counts the packets of i that p has delivered. A packet carries the matrix of its sender
as it was before the send. Every non-zero entry is a constraint φ_ij, which binds j alone: "at j,
DELIV[i] ≥ M[i, j]". A packet is delivered when its constraints hold; zeros always hold, so only
the others are stored and sent, as triples (i, j, count).

Zeros are made in three ways. The column of a process at itself is zero: its constraints hold. On
sending to j, column j is cleared but for the count of the packet itself: where that is delivered,
what was cleared holds. And a process with k entries or more sends, by itself, an *extra message*
to the process of the fullest column, with that column alone: it takes a number like any packet,
waits for its constraints and brings nothing else. So k trades size for packets and for waiting.

Invariants: M[p, j] is what p has sent to j, never cleared; between two events M has fewer than k
entries. The n-1 columns then hold at least n entries when k = n is reached, so one of them has two
and can be reduced: k = n is enough, and k = n-1 is not.

The paper speaks of one destination. To several, each destination's copy carries its own column as
it was and the columns of the other destinations as they are after the send.

Paper: C. Sanchez, A. Alvarez, "A lightweight asynchronous algorithm for causal delivery using extra
message insertion", Stanford University and Technical University of Madrid.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from types import MappingProxyType

import msgspec

from antecede.drawn import Chance, Drawn, Fields
from antecede.errors import MalformedStamp, Misuse
from antecede.message import Membership, Message, MessageId, members
from antecede.order import (
    Addressing,
    Awaited,
    Count,
    Deliver,
    Effect,
    Held,
    Options,
    Packet,
    Says,
    Scope,
    Stamp,
    Traits,
    Transmit,
    stated,
)
from antecede.orders._counting import Condition, Counting

Column = dict[int, int]
"""The non-zero entries of one column, by row."""


class BoundedOptions(Options, frozen=True):
    """`k`: how many entries make a process send extra messages, one number for all or one for each
    process, n ≤ k ≤ n²; by default 2n."""

    says = stated(k=Says.EACH)
    unset = MappingProxyType({"k": "2n"})

    k: int | list[int] | None = None

    @classmethod
    def drawn(cls, fields: Fields, chance: Chance) -> Drawn:
        """Often the least k that is allowed: it makes most of the extra messages."""
        processes = fields["processes"]
        least, most = processes, processes**2
        if chance.happens(0.5):
            return {"k": least}
        if chance.happens(0.5):
            return {"k": chance.small(least, most)}
        return {"k": [chance.small(least, most) for _ in range(processes)]}

    @classmethod
    def compared(cls, processes: int) -> list[Drawn]:
        """The least k, the most, and one between them where there is room."""
        between = ["4n"] if 4 * processes < processes**2 else []
        return [{"k": k} for k in ("n", *between, "n^2")]

    @classmethod
    def among(cls, options: Fields, kept: Sequence[int]) -> Drawn:
        """With a k from n to n², for a smaller n."""
        least, most = len(kept), len(kept) ** 2
        k = options.get("k")
        if isinstance(k, list):
            return {**options, "k": [min(max(k[process], least), most) for process in kept]}
        return dict(options) if k is None else {**options, "k": min(max(k, least), most)}


class Constraints(Stamp, frozen=True):
    """The non-zero entries of a matrix as (i, j, M[i, j]), column by column."""

    triples: tuple[tuple[Count, Count, Count], ...]

    def entries(self) -> int:
        """The non-zero entries of the matrix, as k counts them."""
        return len(self.triples)


class State(msgspec.Struct, array_like=True):
    """`M[j][i]` is the paper's M[i, j]: the matrix by columns. A held packet goes by its sender and
    by its number among the packets of that sender to this process."""

    M: list[Column]
    DELIV: list[int]
    held: dict[tuple[int, int], Packet[Constraints]]


class Bounded(Counting):
    traits = Traits(
        title="bounded matrices, extra messages",
        paper="Sanchez, Alvarez",
        addressing=Addressing.SETS,
        prompt=False,
        state_bound="k−1 entries of the matrix",
    )
    options_type = BoundedOptions
    stamp_type = Constraints
    state_type = State
    state: State
    options: BoundedOptions

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        super().__init__(process, membership, options)
        self.k = _threshold(self.options.k, process, membership.size)

    def initial_state(self) -> State:
        size = self.membership.size
        return State([{} for _ in range(size)], [0] * size, {})

    # Sending.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        M = self.state.M
        others = list(members(message.destinations & ~(1 << self.process)))
        before = {destination: M[destination] for destination in others}
        for destination in others:
            self._clear_column(destination)
        effects: list[Effect] = []
        for destination in others:
            stamp = _triples(
                enumerate([*M[:destination], before[destination], *M[destination + 1 :]])
            )
            effects.append(Transmit(Packet(self.process, message, stamp), 1 << destination))
        if message.destinations >> self.process & 1:
            effects.append(Deliver(message))
        return effects + self._insert_extra_messages()

    def _clear_column(self, destination: int) -> None:
        """One more packet goes to a process: of its column nothing but their number is left."""
        sent = self.state.M[destination].get(self.process, 0)
        self.state.M[destination] = {self.process: sent + 1}

    def _insert_extra_messages(self) -> list[Effect]:
        """Send extra messages until fewer than k entries are left."""
        M = self.state.M
        effects: list[Effect] = []
        while self.entries() >= self.k:
            fullest = max(range(len(M)), key=lambda column: len(M[column]))
            extra = Packet(self.process, None, _triples([(fullest, M[fullest])]))
            effects.append(Transmit(extra, 1 << fullest))
            self._clear_column(fullest)
        return effects

    # Receiving.

    def receive(self, packet: Packet[Constraints], now: float = 0.0) -> list[Effect]:
        if packet.message is not None:
            self.check_header(packet)
        self.check(packet, packet.message)
        place = self._place(packet)
        if self.is_delivered(packet) or place in self.state.held:
            return []
        condition = self.unmet(packet)
        if condition is not None:
            self.state.held[place] = packet
            self.waiting.file(place, condition)
            return []
        return self.release(packet)

    def release(self, packet: Packet[Constraints]) -> list[Effect]:
        """Deliver a packet whose constraints hold, and all that this frees. Each delivery is a step
        of its own, after which the matrix is within its bound."""
        effects: list[Effect] = []
        ready = deque([packet])
        while ready:
            packet = ready.popleft()
            if packet.message is not None:
                effects.append(Deliver(packet.message))
            ready.extend(self.freed(self.accept(packet)))
            effects += self._insert_extra_messages()
        return effects

    def check(self, packet: Packet[Constraints], message: Message | None) -> None:
        source, size = packet.source, self.membership.size
        if source == self.process or source >= size:
            raise MalformedStamp("source", f"is {source}")
        previous = (-1, -1)
        for index, (i, j, count) in enumerate(packet.stamp.triples):
            field = f"triples[{index}]"
            if i >= size or j >= size or i == j or count < 1:
                raise MalformedStamp(field, f"is {(i, j, count)}, which no matrix contains")
            if (j, i) <= previous:
                raise MalformedStamp(field, f"is {(i, j, count)}, out of order")
            previous = j, i
            if j == source:
                raise MalformedStamp(field, f"is of column {j}, the sender's own")
            if j != self.process and message is None:
                raise MalformedStamp(field, f"is of column {j}, in an extra message")
            if i == self.process and count > self.state.M[j].get(i, 0):
                raise MalformedStamp(field, f"counts {count} packets from here to process {j}")

    def _binding(self, packet: Packet[Constraints]) -> Iterator[tuple[int, int]]:
        """The constraints φ_ij that bind this process, j: each i with the count it must reach."""
        triples = packet.stamp.triples
        for place in range(bisect_left(triples, self.process, key=itemgetter(1)), len(triples)):
            i, j, count = triples[place]
            if j != self.process:
                return
            yield i, count

    def _place(self, packet: Packet[Constraints]) -> MessageId:
        """The sender of a packet, and its number among the sender's packets to this process."""
        source = packet.source
        sent_before = next((count for i, count in self._binding(packet) if i == source), 0)
        return MessageId(source, sent_before + 1)

    def is_delivered(self, packet: Packet[Constraints]) -> bool:
        return self._place(packet).number <= self.state.DELIV[packet.source]

    def _violated(self, packet: Packet[Constraints]) -> Iterator[tuple[int, int]]:
        """Of these, the constraints that do not hold yet."""
        for i, count in self._binding(packet):
            if self.state.DELIV[i] < count:
                yield i, count

    def unmet(self, packet: Packet[Constraints]) -> Condition | None:
        return next(self._violated(packet), None)

    def accept(self, packet: Packet[Constraints]) -> Iterable[Condition]:
        source, number = self._place(packet)
        self.state.DELIV[source] = number
        if packet.message is not None:
            for i, j, count in packet.stamp.triples:
                if j != self.process:
                    column = self.state.M[j]
                    column[i] = max(count, column.get(i, 0))
        return ((source, number),)

    # What it knows.

    def held(self) -> list[Held]:
        """The held messages, and the packets that their constraints still ask for. Held extra
        messages bring the application nothing."""
        return sorted(
            [
                Held(packet.message.id, tuple(sorted(self.awaited(packet))))
                for packet in self.state.held.values()
                if packet.message is not None
            ],
            key=lambda held: held.message,
        )

    def awaited(self, packet: Packet[Constraints]) -> Iterable[Awaited]:
        for i, count in self._violated(packet):
            yield Awaited(i, count, Scope.HERE)

    def entries(self) -> int:
        """The non-zero entries of the matrix, as k counts them."""
        return sum(map(len, self.state.M))

    def entries_bound(self) -> int:
        return self.k - 1


def _threshold(k: int | list[int] | None, process: int, size: int) -> int:
    """The k of this process, or `Misuse` if it is out of range."""
    if k is None:
        return min(2 * size, size**2)
    if isinstance(k, list):
        if len(k) != size:
            raise Misuse(f"k has {len(k)} values for {size} processes")
        k = k[process]
    if not size <= k <= size**2:
        raise Misuse(f"k is {k}; with {size} processes it must be from {size} to {size**2}")
    return k


def _triples(columns: Iterable[tuple[int, Column]]) -> Constraints:
    return Constraints(
        tuple([(i, j, count) for j, column in columns for i, count in sorted(column.items())])
    )
