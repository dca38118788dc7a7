"""What the members of a daisy's groups say to each other, as it travels.

A payload of a group is a tuple of items: messages on their way, and word of what has become of
them. Besides there is talk outside of the groups, between processes that look for each other.
"""

from functools import lru_cache
from typing import Annotated

import msgspec

from antecede.errors import MalformedStamp
from antecede.groups import Packet as GroupPacket
from antecede.groups.packets import Data as GroupData
from antecede.groups.packets import Vector
from antecede.message import Message, MessageId, set_from_bytes, set_to_bytes
from antecede.order import Count, Stamp

Ids = tuple[tuple[Count, Count], ...]


class Carry(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """A message on its way. `clock` is its Lamport time: larger than that of all it depends on."""

    sender: Count
    number: Annotated[int, msgspec.Meta(ge=1)]
    destinations: bytes
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
    for so long that nothing is kept for it."""

    who: Count


class Above(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Who the servers in the group above are, and its epoch."""

    epoch: Count
    processes: bytes


class Batch(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """This payload is all that my group brings along into a group that is founded anew."""


class Roll(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """The members of my group. Those who talk much with each other stand side by side."""

    node: Count
    processes: tuple[Count, ...]


class Change(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """In place of the local groups `gone` there are those `made` from now on, each with its number
    and its founders. Changes under one group of servers are numbered."""

    version: Annotated[int, msgspec.Meta(ge=1)]
    parent: Count
    gone: tuple[Count, ...]
    made: tuple[tuple[Count, tuple[Count, ...]], ...]


class Ready(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """I have sent all that I send in this group, which gives way to another."""


Item = Carry | Done | Release | Forget | Above | Batch | Roll | Change | Ready

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[Item, ...])
encode_items = _encoder.encode


def pack(item: Item) -> bytes:
    """An item as it is stored: the tag goes with it."""
    return encode_items((item,))


def unpack(stored: bytes) -> Item:
    (item,) = decode_items(stored)
    return item


def carry(message: Message, clock: int) -> Carry:
    sender, number = message.id
    to = set_to_bytes(message.destinations)
    return Carry(sender, number, to, message.group, message.payload, clock)


@lru_cache(maxsize=4096)
def _message(item: Carry) -> Message:
    """The same payload reaches many members."""
    return Message(item.id, set_from_bytes(item.destinations), item.group, item.payload)


@lru_cache(maxsize=4096)
def decode_items(payload: bytes) -> tuple[Item, ...]:
    try:
        return _decoder.decode(payload)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedStamp("payload", str(error)) from None


class Kept(msgspec.Struct, array_like=True):
    """A message that a group keeps. `place` orders messages as they were delivered; `stable`: all
    members have it; `done`: the groups below that are done with it."""

    message: Message
    clock: int
    place: int
    stable: bool = False
    done: set[int] = set()


class Memory(msgspec.Struct, array_like=True):
    """What a group remembers, the same at all its members: of each process the last number that
    came by, what it keeps, who is away since when, which groups below are forgotten, who is in
    them, and how they have changed."""

    seen: dict[int, int] = {}
    kept: dict[MessageId, Kept] = {}
    places: int = 0
    away: dict[int, float] = {}
    forgotten: set[int] = set()
    rolls: dict[int, tuple[int, ...]] = {}
    changes: list[bytes] = []


class Poke(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """Your group has no server in the group above: look after it."""

    node: Count


class Seek(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """I serve this group and look for the servers in the group above it."""

    node: Count
    epoch: Count


class Lost(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """I serve this group, and am looking, too."""

    node: Count
    epoch: Count


class Found(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """These are in the group of servers in this epoch: found it anew, or join it."""

    node: Count
    epoch: Count
    processes: tuple[Count, ...]
    again: bool
    """Whether to found it."""


class Moved(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """The group that you ask for is no more: this is how things have changed."""

    node: Count
    changes: tuple[bytes, ...]


Talk = Poke | Seek | Lost | Found | Moved


class DaisyStamp(Stamp, frozen=True):
    """A packet of a group, or talk outside of the groups. `busy`: its sender waits for something,
    so an idle process should answer."""

    packet: GroupPacket | None = None
    talk: Talk | None = None
    busy: bool = False

    @property
    def number(self) -> int:
        """Of a hop message, among those of its source in the view; 0 for every other packet."""
        if self.packet is not None and isinstance(body := self.packet.body, GroupData):
            return body.vector[body.rank]
        return 0

    def entries(self) -> int:
        """The integers of the vector, and the Lamport time of each message."""
        if self.packet is None:
            return 1
        body = self.packet.body
        if isinstance(body, GroupData):
            return len(body.vector) + self.messages()
        return sum(len(part) if isinstance(part, tuple) else 1 for part in _parts(body))

    def messages(self) -> int:
        if self.packet is None or not isinstance(self.packet.body, GroupData):
            return 0
        items = decode_items(self.packet.body.payload)
        return sum(isinstance(item, Carry) for item in items)

    def payload_bytes(self) -> int:
        if self.packet is None or not isinstance(self.packet.body, GroupData):
            return 0
        items = decode_items(self.packet.body.payload)
        return sum(len(item.payload) for item in items if isinstance(item, Carry))


def _parts(body: msgspec.Struct) -> list[Vector | int]:
    return [getattr(body, field) for field in body.__struct_fields__]
