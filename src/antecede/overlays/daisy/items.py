"""What the members of a daisy's groups say to each other, as it travels.

A payload of a group is a tuple of items: messages on their way, and word of what has become of
them. Where an item speaks in the first person, that is its sender.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Annotated

import msgspec

from antecede.errors import MalformedStamp
from antecede.message import (
    Message,
    MessageId,
    ProcessSet,
    members,
    process_set,
    set_from_bytes,
    set_to_bytes,
)
from antecede.order import Count

Ids = tuple[tuple[Count, Count], ...]
"""The ids of messages, or other pairs of numbers."""
Index = Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
"""The index of a process: a set of few of them must not take much room."""
Destinations = bytes | tuple[Index, ...]
"""The processes that a message is for: a bitmap or a list, whichever is shorter."""


class Carry(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """A message on its way."""

    sender: Count
    number: Annotated[int, msgspec.Meta(ge=1)]
    """The number that its sender has given it."""
    destinations: Destinations
    group: int
    """The group that the application has sent it to (`Message.group`)."""
    payload: bytes
    clock: Count
    """Its Lamport time: larger than that of all it depends on."""

    @property
    def id(self) -> MessageId:
        """By whom it is, and its number."""
        return MessageId(self.sender, self.number)

    @property
    def message(self) -> Message:
        """It as the application knows it."""
        return _message(self)


class Done(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """A group is done with these messages: all processes in it or below it that they are for have
    them."""

    node: Count
    """The group."""
    ids: Ids


class Release(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """These messages have reached all whom they are for: nobody need keep them any more."""

    ids: Ids


class Forget(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """One that is away left so long ago that nothing is kept for it any more; or its batch is given
    up."""

    who: int
    """A process (in a local group), or a group (in a group of servers). Below 0 for a batch:
    `ABOVE`, or a group that gave way (`layer.last_view_key`)."""
    batch: bool = False
    """Whether it is the batch that is given up."""


class Above(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Who the servers in the group above are."""

    epoch: Count
    """Their epoch."""
    processes: bytes
    """The servers, as a bitmap; empty while my group's server looks for them."""
    first: Count = 0
    """The most senior one of them."""
    begun: bool = True
    """Whether they wait for no batches any more."""


class Batch(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """The head of a batch: the messages in this payload are all that my group brings along into a
    group that is founded anew."""

    above: bool = False
    """Whether they are all that the servers above keep for that group."""
    missed: tuple[tuple[Count, Ids], ...] = ()
    """By process or group that is away, the messages for it that were let go (`Memory.missed`)."""
    away: tuple[Count, ...] = ()
    """Who is away from the group that I found (`Memory.away`)."""
    bound: Ids = ()
    """The epochs that my groups are bound to (`Memory.bound`)."""
    beside: tuple[tuple[int, Ids], ...] = ()
    """What others have missed, as my groups know (`Memory.missed_beside`)."""
    changes: tuple[bytes, ...] = ()
    """The changes that my group remembers (`Memory.changes`)."""
    was_in: Count | None = None
    """The local group that gave way to this one, if I was in it to the end."""
    of: Count | None = None
    """My group, among servers."""
    absent: tuple[Count, ...] = ()
    """Who is away from my groups."""
    had: Ids | None = None
    """By process, the last number that my group has had, where messages are sent on early; none of
    it where that does not matter or nobody knows."""


class Roll(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """Who is in my group, and how much it carries."""

    node: Count
    """My group."""
    processes: tuple[Count, ...]
    """Its members: those who talk much with each other stand side by side."""
    load: Count = 0
    """`QUIET`, `USUAL` or `BUSY` (`load`)."""


class Change(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """From now on some local groups are in the place of others."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    """Its number among the changes under one group of servers."""
    parent: Count
    """The group of servers above them."""
    gone: tuple[Count, ...]
    """The groups that give way."""
    made: tuple[tuple[Count, tuple[Count, ...]], ...]
    """The groups in their place, each with its number and its founders."""
    raised: bool = False
    """Whether the group above is new."""


class Ready(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """I have sent all that I send in this group, which gives way to another."""

    number: Count = 0
    """Among servers, the number of the freeze in the present view that I speak of."""


class Ahead(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """A message that is sent on before it is delivered in its own group."""

    carry: Carry
    after: Ids
    """The messages before it that go beyond that group, too."""


class Retract(msgspec.Struct, frozen=True, array_like=True, tag=10):
    """These messages that were sent on ahead have been lost in their own group."""

    ids: Ids


class Direct(msgspec.Struct, frozen=True, array_like=True, tag=11):
    """A message of mine for some members of the view alone."""

    carry: Carry
    view: Count
    """The number of the view."""
    number: Annotated[int, msgspec.Meta(ge=1)]
    """How many messages I have sent in this view, with this one."""
    safe: Count
    """How many of these are safe."""
    matrix: bytes
    """Who has sent whom how many, as far as I know."""


class Progress(msgspec.Struct, frozen=True, array_like=True, tag=12):
    """What has become of the messages that I have sent in this view."""

    view: Count
    safe: Count
    """How many of them are safe, from the first on."""
    settled: Count
    """How many of them have reached all whom they are for, from the first on."""


class HandedOver(msgspec.Struct, frozen=True, array_like=True, tag=13):
    """What follows in this payload is all that I bring into this view: first the messages that I
    have sent or delivered, then those that I merely have."""

    view: Count
    epoch: Count
    """The epoch that they are from: the view with which it began."""
    firm: Count
    """How many of them I have sent or delivered."""
    safe: Ids
    """By sender, how many of its messages I know to be safe."""


class Copy(msgspec.Struct, frozen=True, array_like=True, tag=14):
    """A message that a member has sent in an epoch."""

    entry: Count
    """The member."""
    number: Count
    """Its place among those that the member has sent in the epoch."""
    carry: Carry


class Merged(msgspec.Struct, frozen=True, array_like=True, tag=15):
    """What follows in this payload is all that the members of this view have brought into it."""

    view: Count
    ended: Count
    """The epoch that has ended."""
    safe: Ids
    """By sender, how many of its messages were safe in that epoch."""


class Bind(msgspec.Struct, frozen=True, array_like=True, tag=16):
    """No server of this group takes part any more in earlier epochs of a group of servers (F2)."""

    node: Count
    """The group of servers."""
    epoch: Count
    """The earliest epoch of it in which they take part."""


class Group(msgspec.Struct, frozen=True, array_like=True):
    """A group of the plan, for processes that have not heard of it (`plan.Node`)."""

    index: Count
    level: Count
    founders: tuple[Count, ...]
    """Who found it, or who are in it."""
    processes: Destinations
    """All that live in it or below it, as they travel."""
    children: tuple[Count, ...] = ()
    """The groups below it."""
    epoch: Count = 0

    @property
    def inhabitants(self) -> ProcessSet:
        """All that live in it or below it."""
        return unfolded(self.processes)


class Freeze(msgspec.Struct, frozen=True, array_like=True, tag=17):
    """This group of servers is about to give way: nothing more is sent up into it (G1)."""

    number: Count
    """How many times it has frozen in this view, with this one."""
    is_over: bool = False
    """Whether it goes on after all, since it has been held up for long."""


class Reshape(msgspec.Struct, frozen=True, array_like=True, tag=18):
    """A group of servers gives way to others, or to none: then what was below it comes under the
    group above it."""

    gone: Count
    """The group that gives way."""
    above: Group | None
    """The group above it."""
    made: tuple[Group, ...]
    """The groups in its place."""
    below: tuple[Group, ...]
    """The groups that were below it. Those without `founders` were forgotten."""
    raised: bool = False
    """Whether the group above is new."""

    def parent_of(self, child: int) -> int | None:
        """The group that is from now on above one that was below."""
        for group in self.made:
            if child in group.children:
                return group.index
        return None if self.above is None else self.above.index

    def group(self, index: int) -> Group:
        """The group of this number, of those that are above others from now on."""
        if self.above is not None and self.above.index == index:
            return self.above
        return {group.index: group for group in self.made}[index]


def succession(change: Change | Reshape) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The groups that give way, and those in their place."""
    if isinstance(change, Change):
        return change.gone, tuple(index for index, _ in change.made)
    return (change.gone,), tuple(group.index for group in change.made or change.below)


class Holds(msgspec.Struct, frozen=True, array_like=True, tag=19):
    """A group has these messages for all in it or below it whom they are for, though some of these
    are away."""

    node: Count
    """The group."""
    ids: Ids


class UnknownAbove(msgspec.Struct, frozen=True, array_like=True, tag=20):
    """All groups that these messages are for have them, and nobody above knows of them any more:
    each group lets go of them when it is done itself."""

    ids: Ids


class Missed(msgspec.Struct, frozen=True, array_like=True, tag=21):
    """These messages were let go though they were for one that was away; without messages: that one
    has been told."""

    who: int
    """A member of this local group, or a group below; among servers, and in their words, below 0
    for a member of a local group (`process_key`)."""
    ids: Ids
    beside: bool = False
    """Whether this is a word of the servers above, about one that may be beside this group."""


def process_key(process: int) -> int:
    """The number below 0 of a process where other numbers are those of groups. Of such a number,
    the process."""
    return -1 - process


class Proposal(msgspec.Struct, frozen=True, array_like=True, tag=22):
    """This change is due if all local groups that give way by it agree: do they? Or the answer of
    one of them (C1)."""

    change: Change
    node: Count | None = None
    """The group that answers, if this is an answer."""
    agrees: bool = True
    """Whether that group agrees."""


class Void(msgspec.Struct, frozen=True, array_like=True, tag=23):
    """One of the groups has refused: this change never comes about (C2)."""

    change: Change


class Undelivered(msgspec.Struct, frozen=True, array_like=True, tag=24):
    """A message that a server had from other servers when its local group lost it, and that the
    group has not had (`undelivered`)."""

    sender: Count
    number: Count
    destinations: Destinations
    """Those whom the message is for."""
    clock: Count
    """Its Lamport time."""
    node: Count
    """The group of servers that it came in."""
    epoch: Count
    """The epoch of that group at the time."""
    home: Destinations
    """Who lived in the local group of the server at the time."""

    @property
    def id(self) -> MessageId:
        return MessageId(self.sender, self.number)


Item = (
    (Carry | Done | Release | Forget | Above | Batch | Roll | Change | Proposal | Void | Ready)
    | (
        Ahead
        | Retract
        | Direct
        | Progress
        | HandedOver
        | Copy
        | Merged
        | Bind
        | Freeze
        | Reshape
        | Holds
        | UnknownAbove
    )
    | Missed
    | Undelivered
)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[Item, ...])
encode_items = _encoder.encode


def message_ids(ids: Ids) -> list[MessageId]:
    """The ids of messages, as they travelled."""
    return [MessageId(*id_) for id_ in ids]


def pack(item: Item) -> bytes:
    """An item as it is stored, with its tag."""
    return encode_items((item,))


def unpack(stored: bytes) -> Item:
    """The item that was stored."""
    items = decode_items(stored)
    if len(items) != 1:
        raise MalformedStamp("item", f"is stored as {len(items)}, not as one")
    return items[0]


@lru_cache(maxsize=4096)
def shorter(destinations: ProcessSet) -> Destinations:
    """The destinations as they travel, in the shorter of two ways."""
    bitmap = set_to_bytes(destinations)
    if destinations.bit_count() > len(bitmap) + 2:  # an index takes a byte or more
        return bitmap
    listed = tuple(members(destinations))
    return listed if len(encode_items(listed)) < len(encode_items(bitmap)) else bitmap


def unfolded(destinations: Destinations) -> ProcessSet:
    """The destinations that travelled in the shorter way."""
    if isinstance(destinations, bytes):
        return set_from_bytes(destinations)
    return process_set(destinations)


def carry(message: Message, clock: int) -> Carry:
    """A message as it travels, with its Lamport time."""
    sender, number = message.id
    to = shorter(message.destinations)
    return Carry(sender, number, to, message.group, message.payload, clock)


@lru_cache(maxsize=4096)
def _message(item: Carry) -> Message:
    """The message in an item: cached, since the same payload reaches many members."""
    return Message(item.id, unfolded(item.destinations), item.group, item.payload)


@lru_cache(maxsize=4096)
def decode_items(payload: bytes) -> tuple[Item, ...]:
    """The items in a payload."""
    try:
        return _decoder.decode(payload)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedStamp("payload", str(error)) from None


def carries(items: Iterable[Item]) -> list[Carry]:
    """The messages among these items."""
    plain = (item.carry if isinstance(item, Ahead | Direct | Copy) else item for item in items)
    return [item for item in plain if isinstance(item, Carry)]


def plain(item: Carry | Ahead) -> Carry:
    """A message, without the list of those that it comes after if it has one."""
    return item if isinstance(item, Carry) else item.carry


def causal(item: Item) -> tuple[int, ...]:
    """The key that sorts messages in the order of Lamport time: what precedes another comes before
    it."""
    return (item.clock, item.sender, item.number) if isinstance(item, Carry) else ()
