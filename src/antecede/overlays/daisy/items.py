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
    """The group `node` is done with these messages: all processes in it or below it that they are
    for have them."""

    node: Count
    ids: Ids


class Release(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """These messages have reached all whom they are for: nobody need keep them any more."""

    ids: Ids


class Forget(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """`who`, a process (in a local group) or a group (in a group of servers), left so long ago that
    nothing is kept for it any more. With `batch`, what is given up is the batch of `who`: that of a
    group or, below 0, one of `ABOVE` or of a `line` (`layer`)."""

    who: int
    batch: bool = False


class Above(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Who the servers in the group above are, its epoch, and the most senior one of them. Without
    `processes`: my group's server is looking for them. Not `begun`: they still wait for batches."""

    epoch: Count
    processes: bytes
    first: Count = 0
    begun: bool = True


class Batch(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """The head of a batch: the messages in this payload are all that my group brings along into a
    group that is founded anew; or, from `above`, all that the servers keep for that group. The
    other fields are as in `Memory`."""

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
    """From now on the local groups `made`, each with its number and its founders, are in the place
    of the groups `gone`. Changes under one group of servers are numbered (`version`). The `parent`
    is new if `raised`."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    parent: Count
    gone: tuple[Count, ...]
    made: tuple[tuple[Count, tuple[Count, ...]], ...]
    raised: bool = False


class Ready(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """I have sent all that I send in this group, which gives way to another. Among servers,
    `number` says since which freeze of the present view."""

    number: Count = 0


class Ahead(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """A message that is sent on before it is delivered in its own group. `after`: the messages
    before it that go beyond that group, too."""

    carry: Carry
    after: Ids


class Retract(msgspec.Struct, frozen=True, array_like=True, tag=10):
    """These messages that were sent on ahead have been lost in their own group."""

    ids: Ids


class Direct(msgspec.Struct, frozen=True, array_like=True, tag=11):
    """A message for some members of the view alone. `number`: how many its sender has sent in this
    view, with this one. `safe`: how many of these are safe. `matrix`: who has sent whom how many,
    as far as the sender knows."""

    carry: Carry
    view: Count
    number: Annotated[int, msgspec.Meta(ge=1)]
    safe: Count
    matrix: bytes


class Word(msgspec.Struct, frozen=True, array_like=True, tag=12):
    """Of the messages that I have sent in this view the first `safe` are safe, and the first
    `settled` have reached all whom they are for."""

    view: Count
    safe: Count
    settled: Count


class Hand(msgspec.Struct, frozen=True, array_like=True, tag=13):
    """What follows in this payload is all that I bring into this view from the `epoch`, which began
    with an earlier view: first `firm` messages that I have sent or delivered, then those that I
    merely have. `safe`: how many messages of each sender I know to be safe."""

    view: Count
    epoch: Count
    firm: Count
    safe: Ids


class Copy(msgspec.Struct, frozen=True, array_like=True, tag=14):
    """A message, and its place among those that the member `entry` has sent in an epoch."""

    entry: Count
    number: Count
    carry: Carry


class Merged(msgspec.Struct, frozen=True, array_like=True, tag=15):
    """What follows in this payload is all that the members of this view have brought into it.
    `safe`: how many messages of each sender were safe in the epoch that has `ended`."""

    view: Count
    ended: Count
    safe: Ids


class Bind(msgspec.Struct, frozen=True, array_like=True, tag=16):
    """No server of this group takes part any more in an epoch of the group of servers `node` that
    is earlier than `epoch`."""

    node: Count
    epoch: Count


class Group(msgspec.Struct, frozen=True, array_like=True):
    """A group of the plan, for processes that have not heard of it. `founders` are those who found
    it, or who are in it."""

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
    """This group of servers is about to give way: nothing more is sent up into it. `number`: how
    many times it has frozen in this view, with this one. `is_over`: it goes on after all, since it
    has been held up for long."""

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
    """The group `node` has these messages, for all in it or below it whom they are for; some of
    these are away."""

    node: Count
    ids: Ids


class Own(msgspec.Struct, frozen=True, array_like=True, tag=20):
    """All groups that these messages are for have them, and nobody above knows of them any more:
    each group lets go of them when it is done itself."""

    ids: Ids


class Missed(msgspec.Struct, frozen=True, array_like=True, tag=21):
    """These were let go, though they were for one that was away: for a member, or a group below; or
    for a group `beside` this one, in words of the servers (no messages: it has been told). Among
    servers, and in their words, below 0 (`stranger`) for a member of a local group."""

    who: int
    ids: Ids
    beside: bool = False


def stranger(process: int) -> int:
    """Among those who have missed something beside a group: a member of a local one, not a group.
    Of such a number, the process."""
    return -1 - process


class Proposal(msgspec.Struct, frozen=True, array_like=True, tag=22):
    """This change is due, if all local groups that give way by it agree: do they? With `node`, it
    is the answer of that group."""

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


def check_strangers(numbers: Iterable[int], size: int) -> None:
    """Refuse processes that there are not among those that have missed something."""
    if any(stranger(one) >= size for one in numbers if one < 0):
        raise MalformedStamp("who", "is an unknown process")


def plain(item: Carry | Ahead) -> Carry:
    """A message without the list of those that it comes after."""
    return item if isinstance(item, Carry) else item.carry


def causal(item: Item) -> tuple[int, ...]:
    """A key that sorts messages so that what precedes another comes before it."""
    return (item.clock, item.sender, item.number) if isinstance(item, Carry) else ()
