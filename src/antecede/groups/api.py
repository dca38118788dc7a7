"""What a group gives and takes: its settings and its effects."""

from enum import StrEnum
from math import inf

import msgspec

from antecede.errors import Misuse
from antecede.groups.identities import GroupMessage, GroupMessageId, MemberId, View
from antecede.groups.packets import Packet
from antecede.message import ProcessSet


class Quorum(StrEnum):
    """Who may decide the next view."""

    MAJORITY = "majority"
    """More than half of the view, or exactly half with its most senior member: the primary
    component. Two disjoint parts never both go on; a part without a quorum suspends itself."""
    SURVIVORS = "survivors"
    """Whoever does not suspect the others: for networks that do not partition. A group shrinks to
    its last member; two parts that suspect each other would both go on."""


class GroupConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a group works. All members of a group must have the same settings."""

    group: int = 0
    """The identity of the group, on every packet."""
    quorum: Quorum = Quorum.MAJORITY
    retains: bool = False
    """Whether a message to everybody is kept, though stable, until the owner calls `release`. What
    is not yet released is handed to those who join, with the answer to `StateWanted`."""
    transfers_state: bool = False
    """Whether members are asked for a state (`StateWanted`) to hand to those who join. With
    `retains` they are asked in any case, since it also fixes what is handed over; b"" will do."""
    tick_s: float = 0.05
    """How often a member reports what it has received, at most. Where nothing has come, it reports
    several times in `suspect_after_s`: that is its heartbeat."""
    fanout: int = 0
    """To how many members a report to all goes in a tick, in turn; 0 stands for all. Those who
    wait for an acknowledgement get one in any case. Where a round takes longer than half of
    `suspect_after_s`, a member that hears nobody is not found out."""
    suspect_after_s: float = 0.6
    """How long a member may be silent. With a fan-out, it is silent for several ticks by right."""
    flush_timeout_s: float = 0.6
    """How long a coordinator waits for answers before it goes on without those who owe them."""
    retry_s: float = 0.12
    """When a message without acknowledgement is sent again; the wait doubles each time,"""
    retry_limit_s: float = 0.96
    """up to this."""
    window: int = 64
    """How many messages of a member may be unstable; further ones wait at the sender."""
    detours: bool = True
    """Whether members hand on what a link between two others does not carry. They have to trust
    each other: who hands something on speaks for another."""
    trusts: bool = True
    """Whether members believe each other. If not, a decision counts when a quorum is known to have
    accepted it, only who seems to be the most senior member leads a change of views, and what
    cannot be true is refused."""
    patience: float = 1.0
    """How many times `suspect_after_s` a member is waited for that has lately been silent for long
    and come back: its machine, or this one, is busy. 1 stands for no longer than usual."""
    heartbeats: float = 6.0
    """How many signs of life a member gives in `suspect_after_s` while it has nothing to say."""
    join_pause_s: float = 0.0
    """How long newcomers wait for others to come along in the same view."""
    most: int = 0
    """While a view has so many members, newcomers wait; 0 stands for any number. Who was there in
    an earlier life is let in all the same."""
    room_after_s: float = inf
    """How long newcomers wait for room, at most: then all are let in."""
    burst: int = 32
    """How many messages are sent again to one member at one time."""
    remembered_decisions: int = 64
    """For how many views back a member can say how they ended."""

    def __post_init__(self) -> None:
        durations = (self.tick_s, self.suspect_after_s, self.flush_timeout_s, self.retry_s)
        if min(durations) <= 0 or self.retry_limit_s < self.retry_s:
            raise Misuse("the durations of a group must be above 0, retry_limit_s from retry_s on")
        if 2 * self.tick_s > self.suspect_after_s:
            raise Misuse(
                f"suspect_after_s is {self.suspect_after_s:g}, with tick_s {self.tick_s:g}: less "
                "than twice that leaves members no time to say anything before they are suspected"
            )
        if self.window < 1 or self.burst < 1 or self.fanout < 0 or self.remembered_decisions < 1:
            raise Misuse("window, burst and remembered_decisions start at 1, fanout at 0")

    @property
    def heartbeat_s(self) -> float:
        """How long a member that has nothing to say is silent."""
        return max(self.tick_s, self.suspect_after_s / self.heartbeats)

    @property
    def patience_s(self) -> float:
        """How long a member that wants to go, or has to, waits for a quorum to let it."""
        return 10 * self.suspect_after_s

    @property
    def late_after_s(self) -> float:
        """When the silence of a member is a reason to ask around."""
        return self.suspect_after_s / 2


class Transmit(msgspec.Struct, frozen=True, gc=False):
    """Hand this packet to the network for each of these processes."""

    packet: Packet
    to: ProcessSet


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """A message, in causal order, in the view it was sent in. Members that it is not addressed to
    order it as well, but are not given it."""

    message: GroupMessage


class ViewInstalled(msgspec.Struct, frozen=True):
    """A new view. Everything delivered before it at this member was delivered before it by every
    member that came along from the view before. `joined` are the new members.

    At a member that just joined, `state` is what an older member provided as of this view, and
    `handed` are the messages of earlier views that were not yet released there (oldest first);
    they are not delivered, and are retained here too.

    `overheard` is what those who departed had told this member alone and came out of turn: what is
    between has not come, and will not."""

    view: View
    joined: tuple[MemberId, ...] = ()
    departed: tuple[MemberId, ...] = ()
    state: bytes = b""
    handed: tuple[GroupMessage, ...] = ()
    overheard: tuple[bytes, ...] = ()


class Stable(msgspec.Struct, frozen=True, gc=False):
    """Every member of the view has received these messages and all that precedes them, and has
    delivered them if it has not crashed; no crash can take them back. In causal order; each message
    once, after its delivery."""

    messages: tuple[GroupMessageId, ...]


class StateWanted(msgspec.Struct, frozen=True):
    """Answer with `provide_state(view, ...)`: the state after the effects up to this one. Every
    older member is asked, since any of them may die before the newcomer has it."""

    view: int
    joined: tuple[MemberId, ...]


class Told(msgspec.Struct, frozen=True, gc=False):
    """What another member said to this one alone (`tell`), in the order it was said."""

    sender: MemberId
    payload: bytes


class Suspended(msgspec.Struct, frozen=True):
    """No quorum within reach: nothing is sent or delivered until `Resumed` or `Stopped`. `reached`
    are the members this one still hears, and is heard by."""

    view: int
    reached: tuple[MemberId, ...]


class Resumed(msgspec.Struct, frozen=True):
    """A quorum is within reach again, or has decided on a next view, and this member still belongs
    to it."""

    view: int


class StopReason(StrEnum):
    EXCLUDED = "excluded"
    """The others went on without it (it was suspected, or in the minority), or it wanted to leave
    and found no quorum to let it. Come back with a new `GroupMember` of the next incarnation."""
    LEFT = "left"
    """It asked to leave, and everything that it sent has come to those who stay."""


class Stopped(msgspec.Struct, frozen=True):
    """The end of this member, and its last effect. `undelivered` are its own messages that no
    survivor will deliver (and that it may send again in its next incarnation); where `in_doubt` is
    true nobody can say which, and some may have been delivered."""

    reason: StopReason
    undelivered: tuple[GroupMessage, ...] = ()
    in_doubt: bool = False


class Wake(msgspec.Struct, frozen=True, gc=False):
    """Call `wake` at this time, or as soon after it as possible."""

    at: float


Effect = (
    Transmit
    | Deliver
    | ViewInstalled
    | Stable
    | StateWanted
    | Told
    | Suspended
    | Resumed
    | Stopped
    | Wake
)
