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
from antecede.overlays.daisy.items import Carry, Copy, Direct, Hand, Item, unpack
from antecede.overlays.daisy.matrix import decode_matrix

Key = tuple[int, int]
"""The member that sent a message in this epoch, and its number among those that it sent."""


class Sent(msgspec.Struct, array_like=True):
    """A message of this process on its way: the processes that it is for, and its number in the
    channel to each process that gets it."""

    to: ProcessSet
    numbers: dict[int, int] = {}


class Epoch(msgspec.Struct, array_like=True):
    """What is known in one epoch of a local group, at one member."""

    view: int = 0
    """The number of the view with which it began."""
    members: tuple[int, ...] = ()
    sent: list[int] = []
    """Who has sent whom how many messages, as far as is known here, row after row."""
    delivered: list[int] = []
    """How many messages of each member have been delivered here."""
    safe: dict[int, int] = {}
    """How many messages of each member are known to be safe."""
    settled: dict[int, int] = {}
    """How many messages of each member are known to have reached all whom they are for."""
    waiting: dict[Key, bytes] = {}
    """What has come and is not delivered, as it is stored."""
    placed: dict[MessageId, Key] = {}
    """The places of what is kept."""
    released: set[MessageId] = set()
    """What nobody need keep, though it waits here."""
    count: int = 0
    """How many messages this process has sent."""
    arrived: int = 0
    """How many of these all recipients have, without a gap."""
    on_its_way: dict[int, Sent] = {}
    """The others of these, by number."""
    told: dict[int, int] = {}
    """By member, how many of these it knows to be safe."""
    keepers: ProcessSet = 0
    """The members that keep some of these, and are to be told what has arrived."""
    word_at: float = -1.0
    """When they are told."""

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
        row = self.members.index(entry) * len(self.members)
        for rank, process in enumerate(self.members):
            self.sent[row + rank] += to >> process & 1

    def direct(self, key: Key) -> Direct:
        """What waits, as it came."""
        item = unpack(self.waiting[key])
        if not isinstance(item, Direct):
            raise BrokenInvariant(f"{item} does not wait for anything")
        return item

    def is_next(self, item: Direct, own: int) -> bool:
        """Raynal, Schiper and Toueg: whether all that was sent to this process before is here."""
        return not self.missing(item, own)

    def missing(self, item: Direct, own: int) -> list[tuple[int, int]]:
        """Of which members how many messages to this process come before it, and are not all
        delivered."""
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
    """All of that in one local group, from epoch to epoch."""

    epoch: Epoch = msgspec.field(default_factory=Epoch)
    hands: dict[int, bytes] = {}
    """What the members of the present view have handed to this server."""
    is_sorted: bool = False
    """Whether this server has looked through that."""
    takes_over: bool = False
    """Whether this server was not the server before."""
    is_back: bool = False
    """Whether this process was not in the last epoch."""
    merged_in: GroupMessageId | None = None
    """The group message with all that was handed over, once it is here."""
    is_open: bool = False
    """Whether all members have that: then the epoch goes on."""
    told_early: list[tuple[int, bytes]] = []
    """What was told before it came, by whom."""


def sort_out(
    hands: Iterable[tuple[Hand, list[Item]]], safe: dict[int, dict[int, int]], is_gap: bool
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
