"""What a member of a group does and tells: the effects of a session."""

import msgspec

from antecede.groups import MemberId, View
from antecede.live.ordering.lesser import Context
from antecede.order import Wake


class Put(msgspec.Struct, frozen=True, gc=False):
    """Put this item on the links to these members."""

    to: tuple[MemberId, ...]
    item: bytes
    names: tuple[str, ...] = ()
    """Theirs."""


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


class ViewChanged(msgspec.Struct, frozen=True):
    """From here on these are the members."""

    view: View
    joined: tuple[MemberId, ...]
    departed: tuple[MemberId, ...]
    lamport: int


class Sent(msgspec.Struct, frozen=True, gc=False):
    """A message was sent: for whoever records it. Comes before the packets that carry it."""

    number: int
    lamport: int
    to: tuple[MemberId, ...]
    stamp_entries: int
    stamp_bytes: int


class Arrived(msgspec.Struct, frozen=True, gc=False):
    """A message has come and waits: for whoever records it."""

    sender: MemberId
    number: int
    lamport: int


SessionEffect = Put | Delivery | ViewChanged | Sent | Arrived | Wake
