"""What an application of a group is told, and what it can choose."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from antecede.live.messages import Message, Request, TopicChange, Undecodable
from antecede.live.ordering.confirmed import FullyDelivered
from antecede.live.ordering.effects import Delivery, Hold, ViewChange
from antecede.live.transport.outgoing import LinkLimits
from antecede.order import Notice


class Missing(msgspec.Struct, frozen=True):
    """A message has been waiting for longer than the limit, for these."""

    sender: str
    number: int
    awaited: tuple[str, ...]
    waited_s: float


class Interrupted(msgspec.Struct, frozen=True):
    """Most members are out of reach: nothing is sent or delivered until a `ViewChange`, or until
    `Restored`."""

    reached: tuple[str, ...]


class Restored(msgspec.Struct, frozen=True):
    """Enough members are within reach again."""


class Excluded(msgspec.Struct, frozen=True):
    """The others have gone on without this process, or were gone before it was in. It joins anew,
    as another incarnation, and its links begin anew; a `ViewChange` says when it is back. What it
    sent last may or may not have been delivered by the others."""

    incarnation: int


class StateWanted(msgspec.Struct, frozen=True):
    """Newcomers want the state of the application, as it is at this place in the iteration: answer
    with `give_state`, before the next event changes it."""

    by: tuple[str, ...]
    view: int


class State(msgspec.Struct, frozen=True):
    """The state of the application as another member gave it; what follows in the iteration is what
    it does not contain. None where there is nobody who has it: this process founded the group, or
    all that were there before it are gone."""

    payload: bytes | None


class Gap(msgspec.Struct, frozen=True):
    """Of what was sent to everybody while this durable member was away, something of these senders
    cannot be had any more. Where that `is_certain` not, it may be so: nobody who is there knows.
    What a durable one of them sent comes when it returns."""

    senders: tuple[str, ...]
    is_certain: bool = True


class Waiting(msgspec.Struct, frozen=True):
    """This process is not in the group yet, and why: who cannot be reached or does not let it in,
    and the reason; or, where `peer` is empty, what is missing."""

    peer: str
    reason: str


class SlowMember(msgspec.Struct, frozen=True):
    """This member has had so much to take for so long that sending waits for it, since then (in
    seconds of the epoch)."""

    name: str
    since: float


Event = (
    Delivery
    | ViewChange
    | Missing
    | Interrupted
    | Restored
    | Excluded
    | StateWanted
    | State
    | Gap
    | Waiting
    | FullyDelivered
    | SlowMember
    | Message
    | Undecodable
    | TopicChange
    | Request
    | Notice
)
"""`Notice` is what an overlay has to tell: views, failovers, gaps."""


@dataclass(frozen=True)
class Settings:
    """`window`: how many messages the slowest receiver may lag behind before senders wait.
    `missing_after_s`: when a waiting message is reported. `on_missing`: report it, or have those
    it waits for taken for dead, which ends the wait. `lags_s`: what is sent to these processes
    leaves that much later, to see what order is for. `waiting_after_s`: when a process that is not
    let in begins to say why; `join_timeout_s`: when it gives up with `CannotJoin`. `slow_after_s`:
    when a member that senders wait for is told (`SlowMember`); `exclude_slow_after_s`: when it is
    taken for dead, if most others wait for it, too; never, unless it is said.
    `fully_delivered`: tell which own messages all have delivered (`FullyDelivered`)."""

    window: int = 8192
    links: LinkLimits = field(default_factory=LinkLimits)
    missing_after_s: float | None = None
    on_missing: Literal["report", "exclude"] = "report"
    lags_s: Mapping[str, float] = field(default_factory=dict)
    waiting_after_s: float = 2.0
    join_timeout_s: float | None = None
    fully_delivered: bool = False
    slow_after_s: float = 5.0
    exclude_slow_after_s: float | None = None


@dataclass
class Counted:
    """What has happened so far, for the metrics."""

    deliveries: int = 0
    sends: int = 0
    views: int = 0
    stalls: int = 0
    """How often this process did not run for a tenth of a second or more."""
    stamp_bytes: int = 0
    """Of ordering information, where it is measured."""
    fully: Hold = field(default_factory=Hold)
    """How often it became known that own messages are delivered everywhere, and how long after
    the last of them was sent, altogether."""
