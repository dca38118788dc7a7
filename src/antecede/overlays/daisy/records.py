"""All that a process knows, in records of what belongs together. Everything here is in a snapshot;
nothing is derived."""

from collections.abc import Iterable
from math import inf

import msgspec

from antecede.errors import BrokenInvariant
from antecede.groups import GroupMessageId, MemberId
from antecede.message import Message, MessageId, ProcessSet
from antecede.overlays.daisy.epochs import Epochs
from antecede.overlays.daisy.items import Ahead, Ids, unpack
from antecede.snapshot import freeze, thaw

MOST_NAMED = 256
"""Of those that are away, the names of so many messages that they have missed are remembered."""

NEVER = -inf
"""As a time in what a group remembers: it has not begun, or is not waited for any more. Nothing
else will do: a clock may show less than the time for which something has lasted already."""


# What all members of a group know.


class Kept(msgspec.Struct, array_like=True):
    """A message that a group keeps."""

    message: Message
    clock: int
    """Its Lamport time."""
    place: int
    """Its place in the order of deliveries."""
    stable: bool = False
    """Whether all members have it."""
    done_by: set[int] = set()
    """The groups below that are done with it."""
    held_by: set[int] = set()
    """The groups below that have it, though some whom it is for are away."""


class Early(msgspec.Struct, array_like=True):
    """A message that came ahead of others, as it is stored."""

    stored: bytes
    within: GroupMessageId
    """The message of the group that it came in."""

    @property
    def item(self) -> Ahead:
        item = unpack(self.stored)
        if not isinstance(item, Ahead):
            raise BrokenInvariant(f"{item} is not ahead of anything")
        return item


class Memory(msgspec.Struct, array_like=True):
    """What a group remembers, the same at all its members."""

    passed: dict[int, int] = {}
    """Of each process the last number that came by."""
    kept: dict[MessageId, Kept] = {}
    places: int = 0
    """How many messages have been kept."""
    away: dict[int, float] = {}
    """Which processes (among servers: groups below) are away, and since when."""
    forgotten: set[int] = set()
    """Which of them have been away for so long that nothing is kept for them."""
    missed: dict[int, set[MessageId]] = {}
    """By process (or group below) that is away, what was let go though it was for it, by name as
    far as `MOST_NAMED` goes."""
    missed_beside: dict[int, set[MessageId]] = {}
    """What groups beside this one, or beside one above it, have missed, as the servers knew who let
    it go: they may die before it is told. Also what members of local groups have (`stranger`): all
    of their group who know may have died, or those in its place know nothing of it."""
    founded_without: set[int] = set()
    """The groups without which these servers were founded anew, and which have not come since: what
    they know of the servers before may be that these have ended."""
    arrived_latecomers: set[int] = set()
    """Which of the latecomers have been in the group."""
    rolls: dict[int, tuple[int, ...]] = {}
    """Who is in each of the groups below."""
    changes: list[bytes] = []
    """How groups have been split, merged and dissolved, as this group remembers it."""
    pending_changes: dict[GroupMessageId, bytes] = {}
    """Changes that not all members are known to have, by the group messages that they came in."""
    came_ahead: dict[MessageId, Early] = {}
    """What came ahead of something that has not come by yet."""
    bound: dict[int, int] = {}
    """By group of servers above: the earliest epoch of it that this group takes part in."""
    missing_batches: set[int] = set()
    """Whose batches are missing: those of processes (among servers: groups), of the group above
    (`ABOVE`), and of groups that gave way to this one (`line`)."""
    brought: set[int] = set()
    """Among servers: the groups that have brought theirs."""
    aside: list[tuple[int, GroupMessageId, bytes]] = []
    """What came before the last batch: its sender, the group message it came in, and itself."""
    safe_at_end: dict[int, dict[int, int]] = {}
    """By epoch of the matrix, how many messages of each process were safe when it ended."""
    loads: dict[int, int] = {}
    """How much the groups below carry."""
    frozen: bool = False
    """Whether nothing more is sent up into this group, since it gives way (`levels`)."""
    unknown_above: set[MessageId] = set()
    """Messages that nobody above knows of any more: they are let go when this group is done with
    them."""
    came_under: bytes = b""
    """The change by which this group has come under another group of servers."""
    agreed_to: bytes = b""
    """The change to which this group has agreed (`consent`)."""
    refused_changes: list[bytes] = []
    """Changes to which it never agrees."""
    batches_missing_since: float = NEVER
    """Since when batches are missing."""
    without_servers_since: float = NEVER
    """Since when its servers, one after the other, have been looking for the servers above."""
    strays: dict[MessageId, float] = {}
    """Strays (`Relay.note_stray`), and since when they have been here: the servers may not have had
    them."""
    passed_below: dict[int, dict[int, int]] = {}
    """By group that has brought a batch: of each process the last number that it has had."""
    lacking: dict[int, int] = {}
    """By process whose own group lacks what others have had of it: the last number of that."""

    def sent_at(self, now: float) -> bytes:
        """As it travels: with how long everything has lasted in the place of since when it has.
        The clocks of two processes have only their rate in common."""
        return freeze(self._shifted(-now))

    @classmethod
    def taken_at(cls, now: float, content: bytes) -> "Memory":
        """What has travelled, by the clock of whoever takes it over."""
        return thaw(content, cls)._shifted(now)

    def _shifted(self, by_s: float) -> "Memory":
        """The same by another clock. Nothing moves `NEVER`."""
        return msgspec.structs.replace(
            self,
            away={who: since + by_s for who, since in self.away.items()},
            strays={stray: since + by_s for stray, since in self.strays.items()},
            batches_missing_since=self.batches_missing_since + by_s,
            without_servers_since=self.without_servers_since + by_s,
        )

    def last_passed(self, process: int) -> int:
        """The last number of a process that came by here or, where the servers were founded anew,
        in one of their groups."""
        return max(self.passed.get(process, 0), self.lacking.get(process, 0))

    def note_missed(self, who: int, messages: Iterable[MessageId]) -> None:
        """These were let go, though they were for one that is away."""
        _add_names(self.missed, who, messages)

    def carry_over(self, gone: Iterable[int], made: Iterable[int]) -> None:
        """What groups that give way have missed, those in their place are to be told."""
        if not self.founded_without.isdisjoint(gone):
            self.founded_without.difference_update(gone)
            self.founded_without.update(made)
        for known in (self.missed, self.missed_beside):
            names = {name for one in gone for name in known.pop(one, ())}
            for one in made if names else ():
                _add_names(known, one, sorted(names))

    def inherit(self, old: "Memory") -> None:
        """Take over, at a member that was there, what the group before this one remembered."""
        self.missed, self.missed_beside, self.bound = old.missed, old.missed_beside, dict(old.bound)

    def note_missed_beside(self, who: int, messages: Iterable[MessageId]) -> None:
        """The same of a group beside this one; without messages, it has been told."""
        names = list(messages)
        if names:
            _add_names(self.missed_beside, who, names)
        else:
            self.missed_beside.pop(who, None)


def _add_names(known: dict[int, set[MessageId]], who: int, messages: Iterable[MessageId]) -> None:
    names = known.setdefault(who, set())
    names.update(list(messages)[: MOST_NAMED - len(names)])


# What one member of a group knows besides.


class Outgoing(msgspec.Struct, array_like=True):
    """What this process sends into the group."""

    last_sent: dict[int, int] = {}
    """The last number of each process that was sent from here."""
    outbox: list[bytes] = []
    """Messages that wait until the process is in the group."""
    items: list[bytes] = []
    """Word that waits for the next payload."""
    items_due_at: float = 0.0
    """When that is sent at the latest."""
    wake_asked_for: float = -1.0
    """For which time a wake-up was asked for last."""
    resend: list[bytes] = []
    """Messages to be sent again after an exclusion."""
    reported_done: set[MessageId] = set()
    """The messages with which the group below was said to be done."""
    reported_held: set[MessageId] = set()
    """The messages that the group below was said to have."""


class Sleep(msgspec.Struct, array_like=True):
    """Whether time has to pass in the group."""

    resting: bool = True
    wake_at: float = 0.0
    roused_at: float = -inf
    """Since when it has not been at rest."""
    busy_until: float = -1.0
    """It was poked, and looks around until then."""
    awake_until: float = -1.0
    """Another member was busy a moment ago: it stays awake until then."""
    patient_until: float = -1.0
    """Until when founders that have not come yet are waited for."""
    call_at: float = -1.0
    """When those who have missed something are called next."""
    call_after_s: float = 0.0
    """How long the last pause between two calls was."""
    called_at: float = -inf
    """When those above called this group last."""
    called_since: float = 0.0
    """Since when those above have been calling this group, without a long pause."""


class Seeking(msgspec.Struct, array_like=True):
    """The search for the group of servers."""

    since: float = -1.0
    highest_epoch: int = 0
    """The latest epoch that was heard of."""
    others_looking: dict[int, tuple[int, float]] = {}
    """By group: the process that serves it and is looking, too, and when it last said so."""
    said_in_vain_at: float = -inf
    """When this process last said that it looks in vain."""


class Founding(msgspec.Struct, array_like=True):
    """How far a group is that was founded anew, and begins with batches."""

    was_in: int | None = None
    """The local group that gave way to this one, if this process was in it to the end."""
    owed_batches: set[int] = set()
    """The batches that are for this process to send: its own, and `ABOVE`."""
    unstable_batches: set[GroupMessageId] = set()
    """Batches that are not stable."""
    stable_aside: set[GroupMessageId] = set()
    """Group messages that are stable although what came in them is still aside."""
    last_batch_place: int = 0
    """The last place of what came in batches; `TAKING_BATCHES` while they are taken."""
    absent: ProcessSet = 0
    """Who is away from the groups that have brought batches: what it has is not in these."""


class Fence(msgspec.Struct, array_like=True):
    """How far a group is that is bound to epochs of the groups of servers above."""

    asked: dict[int, int] = {}
    """By group of servers: the epoch that this process has bound it to."""
    binding: dict[GroupMessageId, Ids] = {}
    """By the messages that they came in: epochs that not all members are known to know of."""
    known_to_all: dict[int, int] = {}
    """By group of servers: the epoch that all members know of."""


class Due(msgspec.Struct, array_like=True):
    """A message that a server has for itself from other servers."""

    stored: bytes
    node: int
    epoch: int
    """Those servers, and their epoch."""
    home: ProcessSet
    """The local group."""


NOTHING_SAID = ("", 0, 0, 0)


class Moving(msgspec.Struct, array_like=True):
    """How far a group is that gives way to others, or decides that groups below do."""

    proposed: bytes = b""
    """The change that this process has proposed to the groups below, in this view."""
    agreed_groups: dict[bytes, set[int]] = {}
    """By change, the groups below that have said in this view that they agree."""
    asked_changes: dict[GroupMessageId, bytes] = {}
    """Changes that this group was asked about, by the messages that they came in."""
    gives_way_by: bytes = b""
    """The change that ends this local group."""
    ready: set[int] = set()
    """Which members have sent all that they send in this group."""
    ready_in: tuple[int, int] = (0, 0)
    """The view, and which freeze in it, for which this process has said that it is ready."""
    freezes: int = 0
    """How many times the group of servers has frozen in this view."""
    frozen_in: int = 0
    """The number of the view in which it froze last."""
    frozen_at: float = 0.0
    """When it froze last, or went on."""
    last_word: tuple[str, int, int, int] = NOTHING_SAID
    """The last word that this process sent about it, and in which group, epoch and view."""
    ended_by: bytes = b""
    """The change that ends this group of servers, when all its members know that it does."""


class Load(msgspec.Struct, array_like=True):
    """How much a local group carries (`load`)."""

    since: float = -1.0
    """When the window began."""
    places: int = 0
    """How many messages had been kept then."""
    last_window: int = 1
    """What the last window said: `QUIET`, `USUAL` or `BUSY` (`load`)."""
    windows: int = 0
    """How many windows in a row have said so."""
    told: int = 1
    """What the servers are told."""


class Servers(msgspec.Struct, array_like=True):
    """Who is in the group above, as far as is known."""

    epoch: int = 0
    processes: ProcessSet = 0
    first: int = -1
    """The most senior one of them; -1 if it is not known."""


class Handover(msgspec.Struct, array_like=True):
    """Where a local group does not broadcast: what a new server is handed."""

    led_by: MemberId | None = None
    """The last server."""
    gathering: bool = False
    """Whether something of that is still missing."""
    awaiting: set[int] = set()
    """Whose batches are missing."""
    without_servers_since: float = -1.0
    """Since when there are no servers to wait for."""
    gone: ProcessSet = 0
    """Who was away when this process began to serve: a gap names them when it goes on without them.
    """
    told: dict[MessageId, dict[int, int]] = {}
    """By message, the number that it has in the channel to each process that was told it."""


class LayerState(msgspec.Struct, array_like=True):
    """All that is known of one group."""

    node: int
    incarnation: int
    epoch: int
    """The epoch of the group of servers: the last time that it was founded anew, and by whom."""
    contacts: ProcessSet
    """Whom to ask to be let in; none for a founder."""
    member: bytes = b""
    """A snapshot of the group's own member."""
    memory: Memory = msgspec.field(default_factory=Memory)
    unstable: dict[GroupMessageId, list[MessageId]] = {}
    """By group message that is not stable, the messages in it."""
    server: int = -1
    stopped: bool = False
    """Whether the application was told that this process has stopped here, and not yet that it goes
    on."""
    returned: dict[int, float] = {}
    """Who has come back, and when."""
    predecessors: ProcessSet = 0
    """Who lived in the local group that gave way to this one."""
    replaced_since: float = -1.0
    """Since when the group below seems to have another server."""
    undelivered: list[Due] = []
    """In a local group: what this process has had for itself from servers that it is not among any
    more (`due`)."""
    others_may_lack: bool = False
    """Whether some of the view of a local group may lack what this process was handed with it."""
    held_back: bool = False
    """Whether something was not sent down because a process that is away may bring what precedes
    it."""
    sent_ahead: set[MessageId] = set()
    """What was sent into this group from here before it was delivered in the group below."""
    out: Outgoing = msgspec.field(default_factory=Outgoing)
    sleep: Sleep = msgspec.field(default_factory=Sleep)
    seeking: Seeking = msgspec.field(default_factory=Seeking)
    founding: Founding = msgspec.field(default_factory=Founding)
    fence: Fence = msgspec.field(default_factory=Fence)
    moving: Moving = msgspec.field(default_factory=Moving)
    load: Load = msgspec.field(default_factory=Load)
    above: Servers = msgspec.field(default_factory=Servers)
    handover: Handover = msgspec.field(default_factory=Handover)
    epochs: Epochs = msgspec.field(default_factory=Epochs)


class Legacy(msgspec.Struct, array_like=True):
    """What a local group had that has given way, at a member of its last view."""

    since: float
    view: int
    members: ProcessSet
    followers: ProcessSet
    """The members, and those that were away."""
    messages: list[bytes]
    missed: tuple[tuple[int, Ids], ...] = ()
    """By process that was away, what was let go."""


class State(msgspec.Struct, array_like=True):
    """All that a process knows."""

    clock: int = 0
    """Lamport time."""
    delivered: dict[int, int] = {}
    """The last number of each process that was delivered here."""
    layers: list[LayerState] = []
    """The local group, the group of its servers if this process is its server, and so on."""
    changes: list[bytes] = []
    """How the plan has changed."""
    legacies: dict[int, Legacy] = {}
    """By local group that has given way, what it had; for a while."""
    talk: dict[tuple[int, int], int] = {}
    """Who talks with whom how much in the local group."""
    last_beyond: int = 0
    """The number of the last own message that went beyond the local group."""
    groups_numbered: int = 0
    """How many numbers this process has given to new groups."""
    next_incarnations: dict[int, int] = {}
    """By group of servers that this process has left: its next incarnation there."""
