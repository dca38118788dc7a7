"""What a process knows of the messages that go straight to their recipients in a local group, from
one view to the next; and what its members bring from one epoch into the next.

An *epoch* is here a view of the local group, as soon as all members have what was brought into it.
(The epochs of a group of servers are something else: `fence`.) Members are named by their
processes; the matrix goes by their ranks.
"""

from collections.abc import Iterable

import msgspec

from antecede.errors import BrokenInvariant
from antecede.groups import GroupMessageId
from antecede.message import Message, MessageId, ProcessSet, process_set
from antecede.overlays.daisy.items import Carry, Copy, Direct, HandedOver, Item, unpack
from antecede.overlays.daisy.matrix import decode_matrix

Key = tuple[int, int]
"""The member that sent a message in this epoch, and its number among those that it sent."""


class Sent(msgspec.Struct, array_like=True):
    """A message of this process that is on its way."""

    to: ProcessSet
    """The processes that it is for."""
    numbers: dict[int, int] = {}
    """By process that gets it, its number in the channel to that one."""


class Epoch(msgspec.Struct, array_like=True):
    """What one member knows of one epoch of a local group."""

    view: int = 0
    """The number of the view with which it began."""
    members: tuple[int, ...] = ()
    sent: list[int] = []
    """The matrix: who has sent whom how many messages, as far as is known here, row after row."""
    delivered: list[int] = []
    """By rank of a member, how many of its messages have been delivered here."""
    safe: dict[int, int] = {}
    """By member, how many of its messages are known to be safe."""
    settled: dict[int, int] = {}
    """By member, how many of its messages are known to have reached all whom they are for."""
    waiting: dict[Key, bytes] = {}
    """The messages that have come and are not delivered: packed `Direct`s."""
    placed: dict[MessageId, Key] = {}
    """By message that is kept, its key."""
    released: set[MessageId] = set()
    """The messages that nobody need keep, though they wait here."""
    count: int = 0
    """How many messages this process has sent."""
    arrived: int = 0
    """How many of its messages all recipients have, from the first on."""
    on_its_way: dict[int, Sent] = {}
    """By number, its messages that not all recipients are known to have."""
    told: dict[int, int] = {}
    """By member, how many messages of this process it knows to be safe."""
    keepers: ProcessSet = 0
    """The members that keep messages of this process and are to be told which have arrived."""
    word_at: float = -1.0
    """When `keepers` are told; below 0 if there are none."""

    def recipients(self, message: Message, entry: int, group: ProcessSet) -> ProcessSet:
        """The members that take a message which `entry` sends: those that it is for and, if it goes
        from this group to others, the server."""
        to = message.destinations & process_set(self.members) & ~(1 << entry)
        if message.destinations & ~group and group >> message.id.sender & 1:
            to |= 1 << self.members[0]
        return to

    def copied_to(self, to: ProcessSet, own: int, copies: int) -> ProcessSet:
        """The members that get a message: its recipients and, if these are fewer than `copies`, as
        many of the members that come after its sender as are missing."""
        chosen = to & ~(1 << own)
        rank = self.members.index(own)
        for other in (*self.members[rank + 1 :], *self.members[:rank]):
            if chosen.bit_count() >= copies:
                break
            chosen |= 1 << other
        return chosen

    def copies(self, wanted: int) -> int:
        """How many copies are waited for: no more than there are other members."""
        return min(wanted, len(self.members) - 1)

    def note_sent(self, entry: int, to: ProcessSet) -> None:
        """A member has sent one more message to each of these."""
        row = self.members.index(entry) * len(self.members)
        for rank, process in enumerate(self.members):
            self.sent[row + rank] += to >> process & 1

    def direct(self, key: Key) -> Direct:
        """A message that waits, as it came."""
        item = unpack(self.waiting[key])
        if not isinstance(item, Direct):
            raise BrokenInvariant(f"{item} does not wait for anything")
        return item

    def is_next(self, item: Direct, own: int) -> bool:
        """Raynal, Schiper and Toueg: whether all that was sent to this process before is here."""
        return not self.missing(item, own)

    def missing(self, item: Direct, own: int) -> list[tuple[int, int]]:
        """The members of which messages to this process come before it and are not all delivered,
        each with how many come before it."""
        size, rank = len(self.members), self.members.index(own)
        column = decode_matrix(item.matrix)[rank::size]
        pairs = zip(self.members, column, self.delivered, strict=True)
        return [(member, count) for member, count, delivered in pairs if count > delivered]

    def take(self, item: Direct, entry: int, to: ProcessSet) -> None:
        """It is delivered here: its past is the past of this process from now on."""
        size, row = len(self.members), self.members.index(entry)
        past = list(decode_matrix(item.matrix))
        for rank, process in enumerate(self.members):
            past[row * size + rank] += to >> process & 1
        self.sent = [*map(max, self.sent, past)]
        self.delivered[row] += 1


def first_of(view: int, processes: Iterable[int]) -> Epoch:
    """An epoch in which nothing has been sent."""
    inside = tuple(processes)
    return Epoch(view, inside, [0] * len(inside) ** 2, [0] * len(inside))


class Epochs(msgspec.Struct, array_like=True):
    """The present epoch of a local group, and how far the handover to the next one is."""

    epoch: Epoch = msgspec.field(default_factory=Epoch)
    """The present epoch; in a new view, the one that ends."""
    hands: dict[int, bytes] = {}
    """By member of the present view, what it has handed to this server: a payload with
    `HandedOver`."""
    is_sorted: bool = False
    """Whether this server has sorted out what it was handed."""
    takes_over: bool = False
    """Whether this server was not the server before."""
    is_back: bool = False
    """Whether this process was not in the last epoch."""
    merged_in: GroupMessageId | None = None
    """The group message with all that was handed over, once it is here."""
    is_open: bool = False
    """Whether all members have that message, so that members send in this epoch."""
    told_early: list[tuple[int, bytes]] = []
    """The payloads that were told in this epoch before it has begun here, each with its sender."""


def sort_out(
    hands: Iterable[tuple[HandedOver, list[Item]]], safe: dict[int, dict[int, int]], is_gap: bool
) -> list[Carry]:
    """What is to be delivered of all that was handed over. `safe`: by epoch, how many messages of
    each member are known to have been safe in it.

    Whatever a member has sent or delivered is to be. Of the rest the sender has died (or let go),
    and something that it had sent before may be lost: then nobody has delivered it. Such a message
    is dropped, with two exceptions. It was safe. Or all messages between the last safe one and
    itself are at hand: then it is safe from now on, for all who are here deliver it, and a process
    that comes back with it later is to do so as well. Where a gap is told anyway, everything is
    taken.
    """
    taken: dict[MessageId, Carry] = {}
    copies: dict[tuple[int, Key], Carry] = {}
    for hand, items in hands:
        for place, item in enumerate(items):
            if isinstance(item, Copy):
                copies[hand.epoch, (item.entry, item.number)] = item.carry
            if place < hand.firm and isinstance(item, Carry | Copy):
                carried = item if isinstance(item, Carry) else item.carry
                taken[carried.id] = carried
    newest = max(safe, default=0)
    for epoch, (entry, number) in sorted(copies):
        if epoch == newest and number == safe[newest].get(entry, 0) + 1:
            safe[newest][entry] = number
    for (epoch, (entry, number)), carried in copies.items():
        if is_gap or number <= safe.get(epoch, {}).get(entry, 0):
            taken[carried.id] = carried
    return list(taken.values())
