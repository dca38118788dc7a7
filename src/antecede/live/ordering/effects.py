"""What a member of a group does and tells: the effects of a session."""

from typing import Any

import msgspec

from antecede.groups import MemberId, View
from antecede.live.ordering.confirmed import FullyDelivered
from antecede.live.ordering.incomplete import Context, Head
from antecede.live.ordering.items import Carried
from antecede.order import Wake


class ToPeers(msgspec.Struct, frozen=True, gc=False):
    """Put this item on the links to these processes."""

    names: tuple[str, ...]
    item: bytes | Carried[Any]
    """Encoded, or a message that may travel in a run with others."""
    to: tuple[MemberId, ...] = ()
    """Which members they are, where it is for members."""
    follows: bool = False
    """Whether a message may travel in a run with the one that was sent before it."""


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """A message for the application, in causal order (or past all order, where `ordered` is
    false)."""

    sender: str
    payload: bytes
    number: int = 0
    """Among all messages of the sender in this life of it; of a durable one, in all its lives."""
    group: str | None = None
    """The named group that it was addressed to, if any."""
    ordered: bool = True
    lamport: int = 0
    """Of the delivery."""
    member: MemberId | None = None
    """The sender's life."""
    label: str | None = None
    """Under which it was sent, where there are labels."""
    context: Context | None = None
    """What a message in answer to this one follows, where the application holds the contexts."""


class Hold(msgspec.Struct):
    """How many deliveries had to wait, and for how long altogether."""

    count: int = 0
    sum_s: float = 0.0


class ViewChange(msgspec.Struct, frozen=True):
    """From here on these are the members. Everything before it in the iteration was delivered, at
    every member that came along, before it as well."""

    number: int
    members: tuple[str, ...]
    joined: tuple[str, ...]
    departed: tuple[str, ...]
    lives: tuple[MemberId, ...] = ()
    """Those of the members, in their order."""
    lamport: int = 0

    @property
    def view(self) -> View:
        """As the substrate has it."""
        return View(self.number, self.lives)

    @property
    def newcomers(self) -> list[MemberId]:
        """The lives that have joined."""
        named = zip(self.members, self.lives, strict=True)
        return [life for name, life in named if name in self.joined]


class Sent(msgspec.Struct, frozen=True, gc=False):
    """A message was sent: for whoever records it. Comes before the packets that carry it."""

    number: int
    lamport: int
    to: tuple[MemberId, ...]
    stamp_entries: int
    stamp_bytes: int
    label: str | None = None
    """Under which it was sent, where there are labels."""
    after: tuple[Head, ...] | None = None
    """What it was sent after, where the application holds the contexts; None past all order."""


class Arrived(msgspec.Struct, frozen=True, gc=False):
    """A message has come and waits: for whoever records it."""

    sender: MemberId
    number: int
    lamport: int


SessionEffect = ToPeers | Delivery | ViewChange | Sent | Arrived | FullyDelivered | Wake
