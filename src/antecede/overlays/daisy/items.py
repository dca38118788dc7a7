"""What the members of a daisy's groups say to each other, as it travels.

A payload of a group is a tuple of items: messages on their way, and word of what has become of
them.
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
Index = Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
"""Of a process: a set of few of them must not take much room."""
Destinations = bytes | tuple[Index, ...]
"""A bitmap or a list, whichever is shorter."""


class Carry(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """A message on its way. `clock` is its Lamport time: larger than that of all it depends on."""

    sender: Count
    number: Annotated[int, msgspec.Meta(ge=1)]
    destinations: Destinations
    group: int
    payload: bytes
    clock: Count

    @property
    def id(self) -> MessageId:
        return MessageId(self.sender, self.number)

    @property
    def message(self) -> Message:
        return _message(self)


class Done(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """All whom these messages are for, in this group or below, have them."""

    node: Count
    ids: Ids


class Release(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """These messages have reached all whom they are for: nobody need keep them."""

    ids: Ids


class Forget(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """The process (in a local group) or the group (in a group of servers) that left has been away
    for so long that nothing is kept for it. Of a `batch`: that of a group, or of others below 0
    (`layer`), is given up."""

    who: int
    batch: bool = False


class Above(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Who the servers in the group above are, its epoch, and the most senior one of them; nobody,
    if my group's server looks for them. They may not have `begun`."""

    epoch: Count
    processes: bytes
    first: Count = 0
    begun: bool = True


class Batch(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """This payload is all that my group brings along into a group that is founded anew; or, from
    `above`, all that the servers keep for that group. The rest is as in `Memory`."""

    above: bool = False
    missed: tuple[tuple[Count, Ids], ...] = ()
    away: tuple[Count, ...] = ()
    bound: Ids = ()
    beside: tuple[tuple[int, Ids], ...] = ()
    changes: tuple[bytes, ...] = ()
    was_in: Count | None = None
    """The local group that gave way to this one, if its sender was in it to the end."""
    of: Count | None = None
    """My group, among servers."""
    absent: tuple[Count, ...] = ()
    """Who is away from my groups."""
    had: Ids = ()
    """Of each process the last number that my group has had, where messages are sent on early."""


class Roll(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """The members of my group, and how much it carries. Those who talk much with each other stand
    side by side."""

    node: Count
    processes: tuple[Count, ...]
    load: Count = 0


class Change(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """In place of the local groups `gone` there are those `made` from now on, each with its number
    and its founders. Changes under one group of servers are numbered. The `parent` is new if
    `raised`."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    parent: Count
    gone: tuple[Count, ...]
    made: tuple[tuple[Count, tuple[Count, ...]], ...]
    raised: bool = False


class Ready(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """I have sent all that I send in this group, which gives way to another. Among servers: since
    it froze for this time in its view."""

    number: Count = 0


class Ahead(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """A message that need not be delivered in its own group to be sent on: `after` are those before
    it that go beyond that group, too."""

    carry: Carry
    after: Ids


class Retract(msgspec.Struct, frozen=True, array_like=True, tag=10):
    """These messages that were sent on ahead have been lost in their own group."""

    ids: Ids


class Direct(msgspec.Struct, frozen=True, array_like=True, tag=11):
    """A message for some members of the view alone: how many its sender has sent in this view, with
    this one, and how many of these are safe; and what it knows of who has sent whom how many."""

    carry: Carry
    view: Count
    number: Annotated[int, msgspec.Meta(ge=1)]
    safe: Count
    matrix: bytes


class Word(msgspec.Struct, frozen=True, array_like=True, tag=12):
    """Of the messages that I have sent in this view, so many are safe, and so many have reached all
    whom they are for."""

    view: Count
    safe: Count
    settled: Count


class Hand(msgspec.Struct, frozen=True, array_like=True, tag=13):
    """What follows is all that I bring into this view, from the epoch that began with an earlier
    one: `firm` messages that I have sent or delivered, and then those that I merely have. `safe`:
    how many messages of each sender I know to be safe."""

    view: Count
    epoch: Count
    firm: Count
    safe: Ids


class Copy(msgspec.Struct, frozen=True, array_like=True, tag=14):
    """A message, and its place among those that a member has sent in an epoch."""

    entry: Count
    number: Count
    carry: Carry


class Merged(msgspec.Struct, frozen=True, array_like=True, tag=15):
    """What follows is all that the members of this view have brought into it. In the epoch that has
    ended, so many messages of each sender were safe."""

    view: Count
    ended: Count
    safe: Ids


class Bind(msgspec.Struct, frozen=True, array_like=True, tag=16):
    """No server of this group takes part in an earlier epoch of that group of servers any more."""

    node: Count
    epoch: Count


class Group(msgspec.Struct, frozen=True, array_like=True):
    """A group of the plan, for who has not heard of it: `founders` are those who found it, or who
    are in it."""

    index: Count
    level: Count
    founders: tuple[Count, ...]
    processes: Destinations
    children: tuple[Count, ...] = ()
    epoch: Count = 0

    @property
    def inhabitants(self) -> ProcessSet:
        to = self.processes
        return set_from_bytes(to) if isinstance(to, bytes) else process_set(to)


class Freeze(msgspec.Struct, frozen=True, array_like=True, tag=17):
    """This group of servers is about to give way: nothing more is sent up into it. For how many
    times in its view; `is_over`: not any more, since it has been held up for long."""

    number: Count
    is_over: bool = False


class Reshape(msgspec.Struct, frozen=True, array_like=True, tag=18):
    """The group of servers `gone` gives way to the groups `made`, or to nobody: then what was
    `below` it is below the group `above` it. That one is new if `raised`."""

    gone: Count
    above: Group | None
    made: tuple[Group, ...]
    below: tuple[Group, ...]
    raised: bool = False

    def parent_of(self, child: int) -> int | None:
        """The group that is above one that was below, from now on."""
        for group in self.made:
            if child in group.children:
                return group.index
        return None if self.above is None else self.above.index

    def group(self, index: int) -> Group:
        """One of the groups above others from now on."""
        if self.above is not None and self.above.index == index:
            return self.above
        return {group.index: group for group in self.made}[index]


def succession(change: Change | Reshape) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The groups that give way, and those in their place."""
    if isinstance(change, Change):
        return change.gone, tuple(index for index, _ in change.made)
    return (change.gone,), tuple(group.index for group in change.made or change.below)


class Has(msgspec.Struct, frozen=True, array_like=True, tag=19):
    """This group has these messages for all in it or below whom they are for; some are away."""

    node: Count
    ids: Ids


class Own(msgspec.Struct, frozen=True, array_like=True, tag=20):
    """All groups that these messages are for have them, and nobody above knows of them any more:
    each lets go of them when it is done."""

    ids: Ids


class Missed(msgspec.Struct, frozen=True, array_like=True, tag=21):
    """These were let go, though they were for one that was away: for a member, or a group below; or
    for a group `beside` this one, in words of the servers (no messages: it has been told). Among
    servers, and in their words, below 0 (`stranger`) for a member of a local group."""

    who: int
    ids: Ids
    beside: bool = False


class Proposal(msgspec.Struct, frozen=True, array_like=True, tag=22):
    """This change is due, if all local groups agree that give way by it: do they? Or the answer of
    one of them, `node`."""

    change: Change
    node: Count | None = None
    agrees: bool = True


class Void(msgspec.Struct, frozen=True, array_like=True, tag=23):
    """One of the groups has refused: this change never comes about."""

    change: Change


Item = (
    (Carry | Done | Release | Forget | Above | Batch | Roll | Change | Proposal | Void | Ready)
    | (Ahead | Retract | Direct | Word | Hand | Copy | Merged | Bind | Freeze | Reshape | Has | Own)
    | Missed
)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[Item, ...])
encode_items = _encoder.encode


def pack(item: Item) -> bytes:
    """An item as it is stored: the tag goes with it."""
    return encode_items((item,))


def unpack(stored: bytes) -> Item:
    items = decode_items(stored)
    if len(items) != 1:
        raise MalformedStamp("item", f"is stored as {len(items)}, not as one")
    return items[0]


@lru_cache(maxsize=4096)
def shorter(destinations: ProcessSet) -> Destinations:
    """The destinations as they travel."""
    bitmap = set_to_bytes(destinations)
    if destinations.bit_count() > len(bitmap) + 2:  # an index takes a byte or more
        return bitmap
    listed = tuple(members(destinations))
    return listed if len(encode_items(listed)) < len(encode_items(bitmap)) else bitmap


def carry(message: Message, clock: int) -> Carry:
    sender, number = message.id
    to = shorter(message.destinations)
    return Carry(sender, number, to, message.group, message.payload, clock)


@lru_cache(maxsize=4096)
def _message(item: Carry) -> Message:
    """The same payload reaches many members."""
    to = item.destinations
    bits = set_from_bytes(to) if isinstance(to, bytes) else process_set(to)
    return Message(item.id, bits, item.group, item.payload)


@lru_cache(maxsize=4096)
def decode_items(payload: bytes) -> tuple[Item, ...]:
    try:
        return _decoder.decode(payload)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedStamp("payload", str(error)) from None


def carries(items: Iterable[Item]) -> list[Carry]:
    """The messages among these items."""
    plain = (item.carry if isinstance(item, Ahead | Direct | Copy) else item for item in items)
    return [item for item in plain if isinstance(item, Carry)]


@lru_cache(maxsize=4096)
def check_addresses(payload: bytes, size: int) -> None:
    """Refuse messages from or to processes that there are not."""
    for item in carries(decode_items(payload)):
        if item.sender >= size:
            raise MalformedStamp("sender", f"is {item.sender}")
        to = item.message.destinations
        if not to or to >> size:
            raise MalformedStamp("destinations", "are none, or unknown processes")


def check_changes(changes: Iterable[Item], size: int) -> None:
    """Refuse changes with processes that there are not, or with groups below themselves."""
    for change in changes:
        if isinstance(change, Change):
            named = {one for _, founders in change.made for one in founders}
            if any(one >= size for one in named) or not all(made for _, made in change.made):
                raise MalformedStamp("made", "has no founders, or unknown processes")
        elif isinstance(change, Reshape):
            groups = (
                *change.made,
                *change.below,
                *([] if change.above is None else [change.above]),
            )
            for group in groups:
                if not group.inhabitants or group.inhabitants >> size:
                    raise MalformedStamp("processes", "are none, or unknown")
            levels = {group.index: group.level for group in groups}
            if any(levels.get(one, -1) >= each.level for each in groups for one in each.children):
                raise MalformedStamp("children", "are not below their group")


def plain(item: Carry | Ahead) -> Carry:
    """A message without what it comes after."""
    return item if isinstance(item, Carry) else item.carry


def causal(item: Item) -> tuple[int, ...]:
    """A key that sorts messages so that what precedes another comes before it."""
    return (item.clock, item.sender, item.number) if isinstance(item, Carry) else ()
