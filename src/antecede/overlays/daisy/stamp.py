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
    """Your group `node` has no server in the group above, or has gone on without you: look after
    it. With `to`: say so to that process, which I do not reach."""

    node: Count
    to: Count | None = None


class Seek(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """I serve this group and look for the servers in the group above it."""

    node: Count
    epoch: Count
    above: Count


class Lost(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """I serve this group, and am looking for those above, too."""

    node: Count
    epoch: Count
    above: Count


class Found(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """These are in the group of servers in this epoch: found it anew, or join it."""

    node: Count
    epoch: Count
    processes: tuple[Count, ...]
    again: bool
    """Whether to found it."""


class Moved(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """The group `node` that you ask for is no more: these are the changes. `view`: in which I left
    it, with all its `members`; 0 if I was out of it, or have forgotten."""

    node: Count
    changes: tuple[bytes, ...]
    view: Count = 0
    members: bytes = b""


class Left(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """My group has left that group of servers, by this change."""

    node: Count
    change: bytes


class Wanted(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """A group begins in the place of the group `node`, and nobody in it was in the last view of
    that: who was?"""

    node: Count


class Brought(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """I was in the last view of the group `node`, which had these messages, as stored. `followers`:
    who was in it, or away from it. `missed`: by process that was away, what the group had let go.
    """

    node: Count
    followers: bytes
    messages: tuple[bytes, ...]
    missed: tuple[tuple[Count, Ids], ...] = ()


Talk = Poke | Seek | Lost | Found | Moved | Left | Wanted | Brought

_CARRYING = (GroupData, Tell)
"""What has a payload."""


class DaisyStamp(Stamp, frozen=True, gc=False):
    """A packet of a group, or talk outside of the groups. `busy`: its sender waits for something,
    so an idle process should answer."""

    carries_messages = True

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
        return len(self._carried())

    def payload_bytes(self) -> int:
        return sum(len(item.payload) for item in self._carried())

    def _carried(self) -> list[Carry]:
        body = None if self.packet is None else self.packet.content
        return carries(decode_items(body.payload)) if isinstance(body, _CARRYING) else []


def _parts(body: msgspec.Struct) -> list[Vector | int]:
    return [getattr(body, field) for field in body.__struct_fields__]
