"""A packet of the daisy: a packet of one of its groups, or talk outside of the groups, between
processes that look for each other. Where talk is in the first person, that is its sender."""

import msgspec

from antecede.groups import Packet as GroupPacket
from antecede.groups.packets import Data as GroupData
from antecede.groups.packets import Tell, Vector
from antecede.order import Count, Stamp
from antecede.overlays.daisy.items import Ahead, Carry, Direct, Ids, carries, decode_items
from antecede.overlays.daisy.matrix import integers_in


class Poke(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """Your group has no server in the group above, or has gone on without you: look after it."""

    node: Count
    """Your group."""
    to: Count | None = None
    """The process to pass this on to, which I do not reach; none if it is for you."""


class Seek(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """I serve a group, and look for the servers in the group above it."""

    node: Count
    """The group that I serve."""
    epoch: Count
    """The epoch of the group above that I am in, or was."""
    above: Count
    """The group above."""


class Lost(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """I serve a group, and look for the servers in the group above it, too."""

    node: Count
    """The group that I serve."""
    epoch: Count
    """The latest epoch of the group above that I have heard of."""
    above: Count
    """The group above."""


class Found(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """A group of servers goes on, or is founded anew, in this epoch: join it, or found it."""

    node: Count
    """The group of servers."""
    epoch: Count
    processes: tuple[Count, ...]
    """Who is in it, or is to found it."""
    again: bool
    """Whether these are to found it anew."""


class Moved(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """The group that you ask for has given way, or others have: these are the changes."""

    node: Count
    """The group that you ask for."""
    changes: tuple[bytes, ...]
    """The changes that I know of: packed `Change`s and `Reshape`s."""
    view: Count = 0
    """The number of the view in which I left that group with the others; 0 if I was out of it, or
    have forgotten."""
    members: bytes = b""
    """The members of that view, as a bitmap."""


class Left(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """My group has left a group of servers."""

    node: Count
    """The group of servers."""
    change: bytes
    """The `Reshape` by which it has, packed."""


class Wanted(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """A group begins in the place of another, and nobody in it was in the last view of that: who
    was?"""

    node: Count
    """The group that gave way."""


class Brought(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """I was in the last view of a group that gave way: this is what it had."""

    node: Count
    """The group that gave way."""
    followers: bytes
    """Who was in it, or away from it, as a bitmap."""
    messages: tuple[bytes, ...]
    """The messages that it had, packed."""
    missed: tuple[tuple[Count, Ids], ...] = ()
    """By process that was away, the messages for it that the group had let go."""


Talk = Poke | Seek | Lost | Found | Moved | Left | Wanted | Brought

_CARRYING = (GroupData, Tell)
"""The bodies of packets that have a payload."""


class DaisyStamp(Stamp, frozen=True, gc=False):
    """A packet of a group, or talk outside of the groups."""

    carries_messages = True

    packet: GroupPacket | None = None
    talk: Talk | None = None
    busy: bool = False
    """Whether its sender waits for something, so that an idle process should answer."""

    @property
    def number(self) -> int:
        """The number of a hop message among those of its source in the view; 0 for every other
        packet."""
        if self.packet is not None and isinstance(body := self.packet.body, GroupData):
            return body.vector[body.rank]
        return 0

    def entries(self) -> int:
        """The integers of the vector or matrix, the Lamport time of each message, and what it comes
        after."""
        if self.packet is None:
            return 1
        body = self.packet.content
        if isinstance(body, _CARRYING):
            items = decode_items(body.payload)
            after = sum(2 * len(item.after) for item in items if isinstance(item, Ahead))
            integers = len(body.vector) if isinstance(body, GroupData) else 1
            integers += sum(2 + integers_in(i.matrix) for i in items if isinstance(i, Direct))
            return integers + self.messages() + after
        return sum(len(part) if isinstance(part, tuple) else 1 for part in _parts(body))

    def messages(self) -> int:
        """How many messages are in it."""
        return len(self._carried())

    def payload_bytes(self) -> int:
        """How many bytes of the application are in it."""
        return sum(len(item.payload) for item in self._carried())

    def _carried(self) -> list[Carry]:
        body = None if self.packet is None else self.packet.content
        return carries(decode_items(body.payload)) if isinstance(body, _CARRYING) else []


def _parts(body: msgspec.Struct) -> list[Vector | int]:
    return [getattr(body, field) for field in body.__struct_fields__]
