"""What one member knows of one view: the protocol as it runs among the members of that view, and
what has to be settled when the view ends.

Members are ranks here. A message that others may have missed is kept until its sender says that it
has reached everybody it is for.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from operator import add, ge, sub
from typing import Final

from antecede.errors import MalformedStamp
from antecede.groups import MemberId, View
from antecede.live.ordering.items import Copy, copy_of, prefix_of, weight
from antecede.message import (
    NO_GROUP,
    Membership,
    Message,
    MessageId,
    ProcessSet,
    members,
    process_set,
)
from antecede.order import Order

_RECIPIENTS: Final = 1024
"""Sets of members whose names are remembered."""
OrderFactory = Callable[[int, Membership], Order]


class Peer:
    """What comes from another member in this view. Counts are in units (`weight`): a message, or
    some thousand bytes of a long one."""

    __slots__ = ("copies", "last", "received", "stable")

    def __init__(self) -> None:
        self.received = 0
        """Received from it."""
        self.stable = 0
        """Up to this number its messages have reached everybody, as it says."""
        self.last = 0
        """The number of the last of them."""
        self.copies: dict[int, Message] = {}
        """Messages of this member that are here and not known to be stable, by number."""


def cannot_come(message: Message, last: int) -> MalformedStamp:
    """What is wrong with a message that its sender's link brings after that number."""
    prefix_of(message.payload)
    return MalformedStamp("number", f"is {message.id.number}, after {last}")


class Epoch:
    """One view at one member."""

    def __init__(
        self,
        view: View,
        me: MemberId,
        names: tuple[str, ...],
        make_order: OrderFactory,
        groups: Mapping[str, Iterable[int]],
    ) -> None:
        self.view = view
        self.members = view.members
        self.names = names
        self.number = view.number
        self.ranks = {member: rank for rank, member in enumerate(view.members)}
        self.me = self.ranks[me]
        self.groups = self._local_groups(groups)
        self._group_names = list(self.groups)
        bits = tuple(self.groups.values())
        self.order = make_order(self.me, Membership(len(view.members), bits))
        self._recipients: dict[ProcessSet, tuple[tuple[MemberId, ...], tuple[str, ...]]] = {}
        self.sent = 0
        self.base = 0
        """The number of the sender's last message before this view."""
        self.skipped: list[int] = []
        """For each own number that nobody gets in this view, what had been sent before it."""
        self.peers = [Peer() for _ in view.members]
        self.undelivered: dict[MessageId, Message] = {}
        """Received and not delivered,"""
        self.waiting = [0] * len(view.members)
        """by rank, how many units that is,"""
        self.arrived_at: dict[MessageId, float] = {}
        """and when, of those that had to wait."""
        self._put = [0] * len(view.members)
        """By rank, units put on the link to it,"""
        self._received_there = [0] * len(view.members)
        """of these received, as it says,"""
        self._untaken_there = [0] * len(view.members)
        """and not yet taken by its application, with what it has from former views."""
        self._unstable: deque[tuple[int, tuple[int, ...]]] = deque()
        """Own messages, with what had been put on all links by then."""
        self.stable = 0
        """Up to this number own messages have reached everybody they are for."""
        self.settled_with: dict[int, int] = {}
        """The latest attempt that each rank has settled."""
        self.gone_on: set[int] = set()
        """The ranks that are known to have settled it and gone on."""

    def _local_groups(self, groups: Mapping[str, Iterable[int]]) -> dict[str, ProcessSet]:
        """The groups as sets of ranks, without those that nobody of this view belongs to."""
        rank_of = {member.process: rank for member, rank in self.ranks.items()}
        local = {
            name: process_set(rank_of[p] for p in group if p in rank_of)
            for name, group in groups.items()
        }
        return {name: ranks for name, ranks in local.items() if ranks}

    def group_index(self, group: str) -> int:
        """The index of a group among those that have members in this view."""
        return self._group_names.index(group)

    def group_name(self, index: int) -> str | None:
        """The group that has this index in this view."""
        return self._group_names[index] if self._group_names and index != NO_GROUP else None

    def recipients(self, ranks: ProcessSet) -> tuple[tuple[MemberId, ...], tuple[str, ...]]:
        """The members with these ranks, and their names."""
        found = self._recipients.get(ranks)
        if found is None:
            listed = list(members(ranks))
            found = (
                tuple(self.view.members[rank] for rank in listed),
                tuple(self.names[rank] for rank in listed),
            )
            if len(self._recipients) < _RECIPIENTS:
                self._recipients[ranks] = found
        return found

    def survivors(self, view: View) -> list[int]:
        """The ranks that are still there in a later view."""
        later = set(view.members)
        return [rank for member, rank in self.ranks.items() if member in later]

    @property
    def reached(self) -> int:
        """Up to this number, counted over all views, own messages have reached everybody."""
        return self.base + self.stable + bisect_right(self.skipped, self.stable)

    def note_sent(self, message: Message) -> None:
        """A message has been put on the links to its destinations."""
        put, units = self._put, weight(len(message.payload))
        others = message.destinations & ~(1 << self.me)
        for rank in members(others):
            put[rank] += units
        if others or self._unstable:
            self._unstable.append((message.id.number, tuple(put)))
        else:
            self.stable = message.id.number

    def hold(self, message: Message) -> None:
        """A message has come that is not delivered yet."""
        self.undelivered[message.id] = message
        self.waiting[message.id.sender] += weight(len(message.payload))

    def note_delivered(self, message: Message) -> None:
        sender, number = message.id
        if sender == self.me:
            return
        if self.undelivered.pop(message.id, None) is None:
            self.peers[sender].copies[number] = message
        else:
            self.waiting[sender] -= weight(len(message.payload))

    def note_report(self, rank: int, received: int, untaken: int, stable: int) -> None:
        """What another member says of itself."""
        peer = self.peers[rank]
        if received > self._put[rank]:
            raise MalformedStamp("received", f"is {received}, of {self._put[rank]} sent")
        self._received_there[rank], self._untaken_there[rank] = received, untaken
        peer.stable = stable
        for number in list(takewhile(stable.__ge__, peer.copies)):
            del peer.copies[number]
        self._advance()

    def _advance(self) -> None:
        # Whom a message is not for has to have what was sent to it before: so has the prefix.
        unstable, received_there = self._unstable, self._received_there
        while unstable and all(map(ge, received_there, unstable[0][1])):
            self.stable = unstable.popleft()[0]

    @property
    def untaken(self) -> int:
        """How much the slowest destination has yet to take."""
        under_way = map(sub, self._put, self._received_there)
        largest: int = max(map(add, under_way, self._untaken_there))
        return largest

    def copies_for(self, rank: int, departed: Iterable[int]) -> tuple[Copy, ...]:
        """The messages of departed members that are for this rank and may be missing there."""
        return tuple(
            copy_of(message)
            for sender in departed
            for message in self.peers[sender].copies.values()
            if message.destinations >> rank & 1
        )

    def add_copies(self, copies: Iterable[Copy]) -> None:
        """What a survivor has of departed members. Their own packets are ignored by now, so only
        what is unknown here counts."""
        for copy in copies:
            message = copy.message()
            prefix_of(message.payload)
            sender, number = message.id
            if sender >= len(self.peers) or not message.destinations >> self.me & 1:
                raise MalformedStamp("copies", f"brings message {message.id}, which is not for me")
            peer = self.peers[sender]
            if number > peer.stable and number not in peer.copies:
                peer.copies[number] = message
                self.hold(message)

    def leftovers(self) -> list[Message]:
        """What is received and not delivered, in an order that respects causality."""
        return sorted(self.undelivered.values(), key=lambda m: (prefix_of(m.payload)[0], m.id))
