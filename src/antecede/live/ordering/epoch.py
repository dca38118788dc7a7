"""What one member knows of one view: the protocol as it runs among the members of that view, and
what has to be settled when the view ends.

Members are ranks here. A message that others may have missed is kept until its sender says that it
has reached everybody it is for.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import takewhile
from operator import add, ge, sub
from typing import Any, Final

from antecede.errors import BadInput, MalformedStamp
from antecede.groups import MemberId, View
from antecede.live.ordering.confirmed import Confirmed
from antecede.live.ordering.items import (
    UNIT_BYTES,
    Carried,
    Copy,
    Report,
    Run,
    Settle,
    copy_of,
    prefix_of,
)
from antecede.live.ordering.seals import Seals
from antecede.message import (
    NO_GROUP,
    Membership,
    Message,
    MessageId,
    ProcessSet,
    members,
    process_set,
)
from antecede.order import Order, Stamp

_RECIPIENTS: Final = 1024
"""Sets of members whose names are remembered."""
OrderFactory = Callable[[int, Membership], Order]


class TooEarly(BadInput):
    """More has come before its time than is kept. Who sent it need not be at fault: its link ends,
    and brings all of it again."""


class Peer:
    """What comes from another member in this view. Counts are in units (`weight`): a message, or
    some thousand bytes of a long one."""

    __slots__ = (
        *("check_at", "copies", "kept", "last", "received", "runs", "settles", "stable", "tags"),
    )

    def __init__(self) -> None:
        self.received = 0
        """Received from it."""
        self.stable = 0
        """Up to this number its messages have reached everybody, as it says."""
        self.last = 0
        """The number of the last of them."""
        self.copies: dict[int, Message] = {}
        """Messages of this member that are here and not known to be stable, by number,"""
        self.tags: dict[int, bytes] = {}
        """by which others know that they are its own;"""
        self.runs: deque[tuple[Run[Any], int]] = deque()
        """those that came in runs, of so many units;"""
        self.kept = 0
        """and how many units all of them are."""
        self.check_at = 0
        """When so much has been received, see whether it keeps to the window."""
        self.settles: list[Settle] = []
        """What it said as its last word in this view, before that was due here."""

    def keep(self, number: int, message: Message, tags: bytes) -> None:
        """Until it is stable."""
        self.copies[number] = message
        self.kept += 1 + len(message.payload) // UNIT_BYTES
        if tags:
            self.tags[number] = tags

    def list_runs(self, rank: int) -> None:
        """Put what came in runs from this rank among the other copies: the view ends."""
        for run, _ in self.runs:
            for place, message in enumerate(run.messages(rank)):
                self.copies[message.id[1]] = message
                if run.tags:
                    self.tags[message.id[1]] = run.tags[place]
        if self.runs:
            self.runs.clear()
            self.copies = dict(sorted(self.copies.items()))

    def forget(self) -> None:
        """Nothing of it is handed on."""
        self.runs.clear()
        self.copies.clear()
        self.tags.clear()
        self.settles.clear()
        self.kept = 0

    def let_go(self, stable: int) -> None:
        """All up to this number has reached everybody, as its sender says."""
        self.stable = stable
        copies, units = self.copies, 0
        while self.runs and self.runs[0][0].last <= stable:
            units += self.runs.popleft()[1]
        for number in list(takewhile(stable.__ge__, copies)):
            units += 1 + len(copies.pop(number).payload) // UNIT_BYTES
            if self.tags:
                self.tags.pop(number, None)
        self.kept -= units


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
        self.everybody = (1 << len(view.members)) - 1
        self.has_keys = False
        """Whether every other member is known to be able to tell this one's words (`seals`)."""
        self.names = names
        self.number = view.number
        self.ranks = {member: rank for rank, member in enumerate(view.members)}
        self.me = self.ranks[me]
        self.groups = self._local_groups(groups)
        self._group_names = list(self.groups)
        self.group_count = max(len(self.groups), 1)
        """Of groups, or of labels."""
        bits = tuple(self.groups.values())
        self.order = make_order(self.me, Membership(len(view.members), bits))
        self.makes_runs = self.order.stamp_type.successor is not Stamp.successor
        """Whether stamps tell those that follow them."""
        self.last_sent: Carried[Any] | None = None
        self._recipients: dict[ProcessSet, tuple[tuple[MemberId, ...], tuple[str, ...]]] = {}
        self.sent = 0
        self.base = 0
        """The number of the sender's last message before this view."""
        self.skipped: list[int] = []
        """For each own number that nobody gets in this view, what had been sent before it."""
        self.peers = [Peer() for _ in view.members]
        self.told: list[Report | None] = [None] * len(view.members)
        """By rank, what it was last told of what has come from it."""
        self.undelivered: dict[MessageId, Message] = {}
        """Received and not delivered,"""
        self.waiting = [0] * len(view.members)
        """by rank, how many units that is,"""
        self._received_before: list[dict[MessageId, int]] = [{} for _ in view.members]
        """by rank, of each of them, the first first, how much had come from there before it,"""
        self.arrived_at: dict[MessageId, float] = {}
        """and when, of those that had to wait;"""
        self.behind: dict[MessageId, tuple[Run[Any], int]] = {}
        """by message that is held, the run that waits behind it, and what had come before that."""
        self._counted: tuple[ProcessSet, tuple[int, ...]] = (0, (0,) * len(view.members))
        """The last destinations, as `_others_among` has them."""
        self._put = (0,) * len(view.members)
        """By rank, units put on the link to it,"""
        self._received_there = [0] * len(view.members)
        """of these received, as it says,"""
        self._untaken_there = [0] * len(view.members)
        """and not yet taken by its application, with what it has from former views."""
        self._unstable: deque[tuple[int, tuple[int, ...]]] = deque()
        """Own messages, with what had been put on all links by then."""
        self.stable = 0
        """Up to this number own messages have reached everybody they are for,"""
        self.stable_units = 0
        """which are that many units,"""
        self.told_units = 0
        """and the others have been told of so many."""
        self.confirmed: Confirmed | None = None
        """Own messages that are not known to be delivered everywhere, where somebody asks."""
        self.is_settling = False
        """Whether the group has come to a later view."""
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

    def note_sent(self, message: Message, number: int, now: float) -> None:
        """A message has been put on the links to its destinations; `number` is that over all
        views."""
        units = 1 + len(message.payload) // UNIT_BYTES
        others = self._others_among(message.destinations)
        if units > 1:
            others = tuple([units * one for one in others])
        self._put = put = tuple(map(add, self._put, others))
        if self.confirmed is not None:
            self.confirmed.sent(number, put, now)
        if self._unstable or any(others):
            self._unstable.append((message.id[1], put))
        else:
            self.stable = message.id[1]

    def _others_among(self, destinations: ProcessSet) -> tuple[int, ...]:
        """By rank, 1 where it is another one of these members, and else 0."""
        if destinations != self._counted[0]:
            others = destinations & ~(1 << self.me)
            self._counted = destinations, tuple([others >> r & 1 for r in range(len(self.members))])
        return self._counted[1]

    def hold(self, message: Message, before: int | None = None) -> int:
        """A message has come, after so many units from its sender, that is not delivered yet. Gives
        how many have come with it."""
        id_, units = message.id, 1 + len(message.payload) // UNIT_BYTES
        sender = id_[0]
        if before is None:
            before = self.peers[sender].received - units
        self.undelivered[id_] = message
        self._received_before[sender][id_] = before
        self.waiting[sender] += units
        return before + units

    def hold_run(self, message: Message, run: Run[Any], units: int) -> None:
        """Of a run of so many units nothing is delivered yet: the others wait behind the first
        message."""
        sender = message.id[0]
        before = self.hold(message, self.peers[sender].received - units)
        rest = run.rest(sender)
        if rest is not None:
            self.behind[message.id] = rest, before
            self.waiting[sender] += rest.weight()

    def note_delivered(self, message: Message) -> None:
        sender, number = message.id
        if sender == self.me:
            return
        if self.undelivered.pop(message.id, None) is None:
            self.peers[sender].keep(number, message, b"")
        else:
            self.waiting[sender] -= 1 + len(message.payload) // UNIT_BYTES
            del self._received_before[sender][message.id]

    def own_number(self, id_: MessageId) -> int:
        """The number of a message that is not delivered among all of its sender; what came inside
        another packet only is known by its number in this view."""
        if id_ in self.undelivered:
            return prefix_of(self.undelivered[id_].payload)[1]
        for first, (run, _) in self.behind.items():
            if first[0] == id_[0] and run.number <= id_[1] <= run.last:
                return run.own_number + id_[1] - run.number
        return id_[1]

    def held_back(self, rank: int) -> int:
        """How much has come from a member since the first that is held, itself included."""
        if not self.waiting[rank]:
            return 0
        first = next(iter(self._received_before[rank].values()))
        return self.peers[rank].received - max(0, first)

    def note_report(
        self,
        rank: int,
        received: int,
        untaken: int,
        stable: int,
        undelivered: int = 0,
        former: int = 0,
    ) -> None:
        """What another member says of itself, who was sent so much in former views."""
        peer = self.peers[rank]
        if received > self._put[rank]:
            raise MalformedStamp("received", f"is {received}, of {self._put[rank]} sent")
        if undelivered > received:
            raise MalformedStamp("undelivered", f"is {undelivered}, of {received} received")
        if untaken > self._put[rank] + former:
            raise MalformedStamp("untaken", f"is {untaken}, of {self._put[rank] + former} sent")
        if self.confirmed is not None:
            self.confirmed.report(rank, received - undelivered)
        self._received_there[rank], self._untaken_there[rank] = received, untaken
        peer.let_go(stable)
        self._advance()

    def _advance(self) -> None:
        # Whom a message is not for has to have what was sent to it before: so has the prefix.
        unstable, received_there = self._unstable, self._received_there
        while unstable and all(map(ge, received_there, unstable[0][1])):
            self.stable, put = unstable.popleft()
            self.stable_units = max(put)

    def put_to(self, rank: int) -> int:
        """Units put on the link to it in this view."""
        return self._put[rank]

    @property
    def untaken(self) -> int:
        """How much the slowest destination has yet to take."""
        return max(self.untaken_by_rank())

    def untaken_by_rank(self) -> list[int]:
        """How much each destination has yet to take."""
        under_way = map(sub, self._put, self._received_there)
        return list(map(add, under_way, self._untaken_there))

    def copies_for(self, rank: int, departed: Iterable[int]) -> tuple[Copy, ...]:
        """The messages of departed members that are for this rank and may be missing there."""
        for sender in departed:
            self.peers[sender].list_runs(sender)
        return tuple(
            copy_of(message, self.peers[sender].tags.get(message.id.number, b""))
            for sender in departed
            for message in self.peers[sender].copies.values()
            if message.destinations >> rank & 1
        )

    def add_copies(
        self, copies: Iterable[Copy], departed: Collection[int], seals: Seals | None, limit: int
    ) -> int:
        """What a survivor has of departed members. Their own packets are ignored by now, so only
        what is unknown here counts. Gives how many are not what their senders sealed."""
        forged = 0
        for copy in copies:
            message = copy.message()
            prefix_of(message.payload)
            sender, number = message.id
            if sender not in departed:
                raise MalformedStamp("copies", f"brings {message.id}, whose sender is still here")
            if message.destinations > self.everybody or not message.destinations >> self.me & 1:
                raise MalformedStamp("copies", f"brings message {message.id}, which is not for me")
            peer = self.peers[sender]
            peer.list_runs(sender)
            if number <= peer.stable or number in peer.copies:
                continue
            whose = (self.names[sender], self.members[sender].incarnation)
            if seals is not None and not seals.is_genuine(
                self.number, whose, self.me, message, copy.tags
            ):
                # Its sender may have sealed it wrongly, so who hands it on is not to blame.
                forged += 1
            elif peer.kept > limit:
                raise MalformedStamp("copies", f"brings more of {whose[0]} than it may have sent")
            else:
                peer.keep(number, message, copy.tags)
                self.hold(message)
        return forged

    def leftovers(self) -> list[Message]:
        """What is received and not delivered, in an order that respects causality."""
        for id_, (run, received) in self.behind.items():
            before = received
            self.waiting[id_[0]] -= run.weight()
            for message in run.messages(id_[0]):
                before = self.hold(message, before)
                self.arrived_at[message.id] = self.arrived_at[id_]
        self.behind.clear()
        return sorted(self.undelivered.values(), key=lambda m: (prefix_of(m.payload)[0], m.id))
