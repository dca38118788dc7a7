"""What an application of a group is told, and what it can choose."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from antecede.live.ordering.effects import Delivery
from antecede.live.transport.outgoing import LinkLimits
from antecede.order import Notice


class ViewChange(msgspec.Struct, frozen=True):
    """From here on these are the members. Everything before it in the iteration was delivered, at
    every member that came along, before it as well."""

    number: int
    members: tuple[str, ...]
    joined: tuple[str, ...]
    departed: tuple[str, ...]


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
    """The others have gone on without this process; it joins anew. A `ViewChange` says when it is
    back. What it sent last may or may not have been delivered by the others."""


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
    """Of what was sent to everybody while this durable member was away, something cannot be had any
    more: of these senders, or, where there are none, nobody can say."""

    senders: tuple[str, ...]


class Waiting(msgspec.Struct, frozen=True):
    """This process is not in the group yet, and why: who cannot be reached or does not let it in,
    and the reason; or, where `peer` is empty, what is missing."""

    peer: str
    reason: str


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
    | Notice
)
"""`Notice` is what an overlay has to tell: views, failovers, gaps."""


@dataclass(frozen=True)
class Settings:
    """`window`: how many messages the slowest receiver may lag behind before senders wait.
    `missing_after_s`: when a waiting message is reported. `on_missing`: report it, or have those
    it waits for taken for dead, which ends the wait. `lags_s`: what is sent to these processes
    leaves that much later, to see what order is for. `waiting_after_s`: when a process that is not
    let in begins to say why; `join_timeout_s`: when it gives up with `CannotJoin`."""

    window: int = 8192
    links: LinkLimits = field(default_factory=LinkLimits)
    missing_after_s: float | None = None
    on_missing: Literal["report", "exclude"] = "report"
    lags_s: Mapping[str, float] = field(default_factory=dict)
    waiting_after_s: float = 2.0
    join_timeout_s: float | None = None


@dataclass
class Counted:
    """What has happened so far, for the metrics."""

    deliveries: int = 0
    sends: int = 0
    views: int = 0
    stamp_bytes: int = 0
    """Of ordering information, where it is measured."""
