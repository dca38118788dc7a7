"""All that a member of a group knows. Nothing here is derived, but for speed `stable`."""

from enum import IntEnum
from math import inf
from typing import Final

import msgspec

from antecede.groups.identities import GroupMessage, MemberId, View
from antecede.groups.packets import NO_BALLOT, Ballot, Decision, Vector

Key = tuple[int, int]
"""A message of a view: the rank of its sender and its number in the view."""


class Phase(IntEnum):
    NEW = 0
    JOINING = 1
    MEMBER = 2
    STOPPED = 3


NEW: Final = Phase.NEW
JOINING: Final = Phase.JOINING
MEMBER: Final = Phase.MEMBER
STOPPED: Final = Phase.STOPPED
"""Asked for several times an input, and as attributes of an enumeration they cost ten times as
much."""


class Peer(msgspec.Struct, array_like=True):
    """What a member knows of one member of its view, itself included."""

    row: Vector
    """What it is known to have received, by rank."""
    heard_at: float
    present: bool = False
    """Whether it has spoken in this view."""
    flushing: bool = False
    leaving: bool = False
    retry_at: float = 0.0
    retry_s: float = 0.0
    nacked_at: float = -1.0
    owed: bool = False
    """Whether it waits for an acknowledgement."""
    helped_until: float = -inf
    """Until when it is reported to at every tick, because it is in trouble."""
    direct_at: float = -inf
    """When it was last heard without a detour."""
    deaf_until: float = -inf
    """Until when it is reached by detours, because it does not hear this member directly."""
    through: int = -1
    """The rank of the one who last handed on something from it."""
    missing: dict[int, float] = {}
    """The ranks that it does not hear, as it says, and since when it has said so."""
    gap_s: float = 0.0
    """The longest of its silences, which counts for less as time goes by,"""
    gap_at: float = 0.0
    """as of then."""
    vouched: bytes = b""
    """What it has accepted last, and in which ballot, as it says,"""
    decided: bytes = b""
    """and what is decided, as it says: where members do not trust each other."""
    parted: bool = False
    """Whether it says that a later view is without this member."""
    failed: bool = False
    """Whether it kept a change of views from coming to an end."""


class Answer(msgspec.Struct, array_like=True):
    """A promise, as the coordinator keeps it."""

    received: Vector
    accepted_in: Ballot
    accepted: Decision | None
    beyond: tuple[Key, ...] = ()


class Flush(msgspec.Struct, array_like=True):
    """A change of views that this member coordinates."""

    ballot: Ballot
    began_at: float
    """When its present half began: collecting promises, then acceptances."""
    answers: dict[int, Answer] = {}
    decision: Decision | None = None
    accepted: int = 0
    """The ranks that accepted, as a bit set."""


class Captured(msgspec.Struct, array_like=True):
    """What newcomers need, as it was when their view began."""

    base: Vector
    retained: tuple[GroupMessage, ...] = ()
    state: bytes | None = None


class Channel(msgspec.Struct, array_like=True):
    """Both directions of what two members say to each other alone."""

    sent: int = 0
    acknowledged: int = 0
    outgoing: dict[int, bytes] = {}
    retry_at: float = 0.0
    retry_s: float = 0.0
    received: int = 0
    early: dict[int, bytes] = {}


class State(msgspec.Struct, array_like=True):
    phase: Phase = Phase.NEW
    view: View = View(0, ())
    base: list[int] = []
    """How many messages each member of the view had sent in earlier views."""

    # Messages of this view.
    received: list[int] = []
    """By rank: how many messages have come without a gap."""
    delivered: list[int] = []
    stable: list[int] = []
    """By rank: how many messages every member is known to have received."""
    peers: list[Peer] = []
    current: dict[Key, GroupMessage] = {}
    """Received and not known to be stable, or not delivered."""
    unannounced: list[GroupMessage] = []
    """Delivered and not reported as stable, in the order of delivery."""
    queue: list[tuple[int, bytes]] = []
    """Destinations and payloads of what the owner sent and the group does not take yet."""

    # Messages of earlier views.
    previous: dict[Key, GroupMessage] = {}
    """Of the view before, for members of this one that have not yet come along."""
    retained: dict[int, GroupMessage] = {}
    """Delivered here or handed over, and not released; in the order of the keys."""
    retained_count: int = 0

    # Agreement on the next view.
    promised: Ballot = NO_BALLOT
    accepted_in: Ballot = NO_BALLOT
    accepted: Decision | None = None
    highest: Ballot = NO_BALLOT
    flush_heard_at: float = 0.0
    frozen_at: float = inf
    """Since when a flush has kept this member from delivering."""
    flush: Flush | None = None
    decided: Decision | None = None
    """A decision that cannot be carried out yet: messages are missing, or this member is to go and
    those who stay may still need it."""
    refused_at: float = inf
    """Since when the one who leads has proposed to leave out somebody whom this member hears."""
    decided_at: float = 0.0
    arrived: int = 0
    """The ranks of the decided view that have been heard there, as a bit set."""
    decisions: dict[int, Decision] = {}

    # Coming and going.
    joining: dict[MemberId, float] = {}
    """Who asked to join, and when it did so last."""
    joining_at: float = inf
    """When the first of them did,"""
    newest_at: float = inf
    """and the last one that had not asked before."""
    departed: dict[int, int] = {}
    """The highest incarnation of each process that is no longer in the group."""
    captured: Captured | None = None
    leaving: bool = False
    suspended: bool = False
    suspended_at: float = 0.0

    channels: dict[MemberId, Channel] = {}
    detours: dict[int, tuple[int, bool]] = {}
    """By process that is out of direct reach: who hands packets on to it, and whether it is not
    heard directly either."""
    tick_at: float = 0.0
    ticks: int = 0
    announced: int = 0
    """How many messages of its own it has told all to be stable."""
    announced_at: float = -inf
    reported_at: float = -inf
    heartbeat_at: float = -inf
    """When it last reported to the most senior member; at that one, to all."""
    entered_at: float = 0.0
    """When this view began here."""
    sought_at: float = -inf
    """When it last asked those to speak who have not done so in this view."""
    asked_at: float = -1.0
