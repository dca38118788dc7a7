"""All that a process knows, in records of what belongs together.

`State` is the whole of it: a `LayerState` for each of its groups, which has the `Memory` that all
members of the group share, and besides what this member alone knows. Everything here is in a
snapshot; nothing is derived.
"""

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
"""How many messages are remembered by name of those that one who is away has missed."""

NEVER = -inf
"""The time of what has not begun, or is not waited for any more, in what a group remembers. A
negative number will not do: what has lasted for longer than a clock has run began before zero."""


# What all members of a group know.


class Kept(msgspec.Struct, array_like=True):
    """A message that a group keeps."""

    message: Message
    """The message itself."""
    clock: int
    """Its Lamport time."""
    place: int
    """Its place in the order in which the group delivered."""
    stable: bool = False
    """Whether all members have it."""
    done_by: set[int] = set()
    """The groups below that are done with it (`Done`)."""
    held_by: set[int] = set()
    """The groups below that have it, though some members whom it is for are away (`Holds`)."""


class CameAhead(msgspec.Struct, array_like=True):
    """A message that came among servers ahead of others that precede it (`ahead`)."""

    stored: bytes
    """The `Ahead` that it came in, packed."""
    within: GroupMessageId
    """The message of the group that it came in."""

    @property
    def item(self) -> Ahead:
        """The `Ahead` that it came in."""
        item = unpack(self.stored)
        if not isinstance(item, Ahead):
            raise BrokenInvariant(f"{item} is not ahead of anything")
        return item


class Memory(msgspec.Struct, array_like=True):
    """What a group remembers, the same at all its members. Whoever joins is handed it."""

    passed: dict[int, int] = {}
    """By process, the number of its last message that came by here. A message with a number up to
    that counts as had."""
    kept: dict[MessageId, Kept] = {}
    """The messages that came by and are not let go."""
    places: int = 0
    """How many messages have been kept so far."""
    away: dict[int, float] = {}
    """By process (among servers: by group below) that is away, since when."""
    forgotten: set[int] = set()
    """The processes or groups below that have been away for so long that nothing is kept for them
    any more."""
    missed: dict[int, set[MessageId]] = {}
    """By process or group below that is away, the messages for it that were let go: `MOST_NAMED` of
    them at most."""
    missed_beside: dict[int, set[MessageId]] = {}
    """What others have missed, as the servers knew who let it go, for they may die before it is
    told. By group beside this one, or beside one above it. Or by member of a local group
    (`process_key`), since all of that group who know may die, and those in its place may not know.
    """
    founded_without: set[int] = set()
    """The groups without which these servers were founded anew, and which have not come since. They
    may know that the servers before have ended."""
    arrived_latecomers: set[int] = set()
    """The latecomers that have been in this group."""
    rolls: dict[int, tuple[int, ...]] = {}
    """By group below, its members (`Roll`)."""
    changes: list[bytes] = []
    """The changes of groups that have come about, as this group remembers them: packed `Change`s
    and `Reshape`s."""
    pending_changes: dict[GroupMessageId, bytes] = {}
    """By group message, the change that came in it, while not all members are known to have it."""
    came_ahead: dict[MessageId, CameAhead] = {}
    """The messages that came ahead of something that has not come by yet."""
    bound: dict[int, int] = {}
    """By group of servers above, the earliest epoch of it that this group takes part in (F2)."""
    missing_batches: set[int] = set()
    """Whose batches this group waits for before it begins: those of processes (among servers: of
    groups), of the group above (`ABOVE`), and of groups that gave way to it (`last_view_key`)."""
    brought: set[int] = set()
    """The groups that have brought their batch into this group of servers."""
    aside: list[tuple[int, GroupMessageId, bytes]] = []
    """The items that came before the last batch, each with its sender and the group message that it
    came in."""
    safe_at_end: dict[int, dict[int, int]] = {}
    """By epoch of the matrix and by process, how many of its messages were safe when the epoch
    ended."""
    loads: dict[int, int] = {}
    """By group below, how much it carries: `QUIET`, `USUAL` or `BUSY` (`load`)."""
    frozen: bool = False
    """Whether nothing more is sent up into this group of servers, since it is to give way (G1)."""
    unknown_above: set[MessageId] = set()
    """The messages that nobody above knows of any more. They are let go when this group is done
    with them."""
    came_under: bytes = b""
    """The change by which this group has come under another group of servers."""
    agreed_to: bytes = b""
    """The change to which this group has agreed (C1)."""
    refused_changes: list[bytes] = []
    """The changes to which this group never agrees (C1)."""
    batches_missing_since: float = NEVER
    """Since when this group has been waiting for batches."""
    without_servers_since: float = NEVER
    """Since when its servers, one after the other, have been looking for the servers above."""
    strays: dict[MessageId, float] = {}
    """By stray (`forwarding`), since when it has been here; `NEVER` if it is not waited for any
    more."""
    passed_below: dict[int, dict[int, int]] = {}
    """By group that has brought a batch, and by process, the last number that the group has had."""
    lacking: dict[int, int] = {}
    """By process whose own group lacks what others have had of it, the last number of that."""
    undelivered: list[bytes] = []
    """The messages that members of a local group have had from servers before, and the group has
    not: packed `Undelivered`s."""

    def sent_at(self, now: float) -> bytes:
        """These bytes as they travel: they say how long something has lasted, not since when, for
        the clocks of two processes have only their rate in common."""
        return freeze(self._shifted(-now))

    @classmethod
    def taken_at(cls, now: float, content: bytes) -> "Memory":
        """The memory in bytes that have travelled, by the clock of whoever takes it over."""
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
        """Note what the groups `gone` have missed for those in their place, which are `made`."""
        if not self.founded_without.isdisjoint(gone):
            self.founded_without.difference_update(gone)
            self.founded_without.update(made)
        for known in (self.missed, self.missed_beside):
            names = {name for one in gone for name in known.pop(one, ())}
            for one in made if names else ():
                _add_names(known, one, sorted(names))

    def inherit(self, old: "Memory") -> None:
        """Take over what the group before this one remembered, at a process that was in it."""
        self.missed, self.missed_beside, self.bound = old.missed, old.missed_beside, dict(old.bound)

    def note_missed_beside(self, who: int, messages: Iterable[MessageId]) -> None:
        """Note what one beside this group has missed; without messages, that it has been told."""
        names = list(messages)
        if names:
            _add_names(self.missed_beside, who, names)
        else:
            self.missed_beside.pop(who, None)

    def learn_beside(self, servers: "Memory", home: int) -> None:
        """Note what others have missed, as a process knew among the servers when its group, `home`,
        lost it: it may have said so to nobody, and is to say it when it is back."""
        for known in (servers.missed, servers.missed_beside):
            for who, names in known.items():
                if who != home and names:
                    self.note_missed_beside(who, names)


def _add_names(known: dict[int, set[MessageId]], who: int, messages: Iterable[MessageId]) -> None:
    names = known.setdefault(who, set())
    news = [one for one in messages if one not in names]
    names.update(news[: MOST_NAMED - len(names)])


# What one member of a group knows besides.


class Outgoing(msgspec.Struct, array_like=True):
    """What this process sends into the group."""

    last_sent: dict[int, int] = {}
    """By process, the number of its last message that was sent from here."""
    outbox: list[bytes] = []
    """The messages that wait until this process is in the group, and may send."""
    items: list[bytes] = []
    """The items that wait for the next payload."""
    items_due_at: float = 0.0
    """When the items that wait are sent at the latest."""
    wake_asked_for: float = -1.0
    """The `items_due_at` for which a wake-up was asked for last."""
    resend: list[bytes] = []
    """The messages to be sent again after an exclusion."""
    reported_done: set[MessageId] = set()
    """The messages with which this process has said that the group below is done."""
    reported_held: set[MessageId] = set()
    """The messages that, as this process has said, the group below has."""


class Sleep(msgspec.Struct, array_like=True):
    """Whether time has to pass in the group, and whom it calls."""

    resting: bool = True
    """Whether nothing is under way here, so that no wake-ups are asked for."""
    wake_at: float = 0.0
    """The time of the next tick."""
    roused_at: float = -inf
    """Since when this member has not been at rest."""
    busy_until: float = -1.0
    """Until when this member looks around, since it was poked."""
    awake_until: float = -1.0
    """Until when this member stays awake, since another one was busy."""
    patient_until: float = -1.0
    """Until when founders that have not come yet are waited for."""
    call_at: float = -1.0
    """When those who have missed something are called next."""
    call_after_s: float = 0.0
    """How long the last pause between two calls was."""
    called_at: float = -inf
    """When others called this group last."""
    called_since: float = 0.0
    """Since when others have been calling this group, without a long pause."""
    sought_since: float = -1.0
    """Since when this process hears that the group above is called, in which it is not."""
    sought_at: float = -inf
    """When that was heard last."""


class Seeking(msgspec.Struct, array_like=True):
    """How far the search for a group of servers is."""

    since: float = -1.0
    """Since when this process has been looking; below 0 if it is not."""
    highest_epoch: int = 0
    """The latest epoch that this process has heard of."""
    others_looking: dict[int, tuple[int, float]] = {}
    """By group, the process that serves it and is looking, too, and when it last said so."""
    said_in_vain_at: float = -inf
    """When this process last said that it looks in vain."""


class Founding(msgspec.Struct, array_like=True):
    """How far a group is that was founded anew, and begins with batches."""

    was_in: int | None = None
    """The local group that gave way to this one, if this process was in it to the end."""
    owed_batches: set[int] = set()
    """The batches that this process has yet to send: its own, and `ABOVE`."""
    unstable_batches: set[GroupMessageId] = set()
    """The group messages with batches that are not stable."""
    stable_aside: set[GroupMessageId] = set()
    """The group messages that are stable although what came in them is still aside."""
    last_batch_place: int = 0
    """The place of the last message that came in batches, while some of these are not stable;
    `TAKING_BATCHES` while they are taken."""
    absent: ProcessSet = 0
    """Who is away from the groups that have brought batches: what these processes have may not be
    in the batches."""


class Fence(msgspec.Struct, array_like=True):
    """Which epochs of the groups of servers above all members of a group know of (`fence`)."""

    asked: dict[int, int] = {}
    """By group of servers, the epoch to which this process has asked the group to be bound."""
    binding: dict[GroupMessageId, Ids] = {}
    """By group message, the groups of servers and epochs in it, while not all members are known to
    have it."""
    known_to_all: dict[int, int] = {}
    """By group of servers, the epoch of which all members know."""


NOTHING_SAID = ("", 0, 0, 0)
"""In `Moving.last_word`: nothing was said."""


class Moving(msgspec.Struct, array_like=True):
    """How far a group is that gives way to others, or decides that groups below do."""

    proposed: bytes = b""
    """The change that this process has proposed to the groups below, in this view."""
    agreed_groups: dict[bytes, set[int]] = {}
    """By change, the groups below that have said in this view that they agree."""
    asked_changes: dict[GroupMessageId, bytes] = {}
    """By group message, the change that this group was asked about in it, while not all members are
    known to have it."""
    gives_way_by: bytes = b""
    """The change by which this local group gives way."""
    ready: set[int] = set()
    """The members that have sent all that they send in this group."""
    ready_in: tuple[int, int] = (0, 0)
    """The view, and the number of the freeze in it, for which this process has said that it is
    ready."""
    freezes: int = 0
    """How many times the group of servers has frozen in this view."""
    frozen_in: int = 0
    """The number of the view in which it froze last."""
    frozen_at: float = 0.0
    """When it froze last, or went on after that."""
    last_word: tuple[str, int, int, int] = NOTHING_SAID
    """The kind of the last word that this process sent about that, with the group, epoch and view
    in which it did."""
    ended_by: bytes = b""
    """The change that ends this group of servers, once all its members know of it."""


class Load(msgspec.Struct, array_like=True):
    """How much a local group carries (`load`)."""

    since: float = -1.0
    """When the window began."""
    places: int = 0
    """How many messages had been kept when the window began."""
    last_window: int = 1
    """What the last window showed: `QUIET`, `USUAL` or `BUSY` (`load`)."""
    windows: int = 0
    """How many windows in a row have shown the same."""
    told: int = 1
    """The load that the servers are told."""


class Servers(msgspec.Struct, array_like=True):
    """The servers in the group above, as far as the group below knows."""

    epoch: int = 0
    """Their epoch."""
    processes: ProcessSet = 0
    """Who they are."""
    first: int = -1
    """The most senior one of them; -1 if it is not known."""


class Handover(msgspec.Struct, array_like=True):
    """What a new server is handed in a local group that does not broadcast."""

    led_by: MemberId | None = None
    """The server in the last view."""
    gathering: bool = False
    """Whether this process still waits for what is handed over."""
    awaiting: set[int] = set()
    """The members that have not handed over what they keep."""
    without_servers_since: float = -1.0
    """Since when there are no servers above to wait for; below 0 if there are."""
    gone: ProcessSet = 0
    """Who was away when this process began to serve, or has left without handing anything over. A
    gap names them when it goes on without them."""
    told: dict[MessageId, dict[int, int]] = {}
    """By message and by process that was sent it, its number in the channel to that process."""


class LayerState(msgspec.Struct, array_like=True):
    """All that a process knows of one of its groups."""

    node: int
    """The number of the group."""
    incarnation: int
    """As which incarnation this process is in it."""
    epoch: int
    """The epoch of a group of servers: the last time that it was founded anew, and by whom."""
    contacts: ProcessSet
    """Whom this process asks to be let in; none for a founder."""
    member: bytes = b""
    """A snapshot of the group's own member."""
    memory: Memory = msgspec.field(default_factory=Memory)
    """What the group remembers."""
    unstable: dict[GroupMessageId, list[MessageId]] = {}
    """By group message that is not stable, the messages in it."""
    server: int = -1
    """The server of the last view; -1 before the first."""
    stopped: bool = False
    """Whether the application was told that this process has stopped here, and not yet that it goes
    on."""
    returned: dict[int, float] = {}
    """By process that has come back a moment ago, when it did."""
    predecessors: ProcessSet = 0
    """Who lived in the local group that gave way to this one."""
    replaced_since: float = -1.0
    """Since when the group below seems to have another server (F7); below 0 if it does not."""
    undelivered: list[bytes] = []
    """What this process tells a local group of messages from servers that it is not among any more:
    packed `Undelivered`s."""
    others_may_lack: bool = False
    """Whether some members of a local group may lack what this process was handed when it joined.
    """
    held_back: bool = False
    """Whether something was not sent down because a process that is away may bring what precedes
    it."""
    told_lost: dict[int, int] = {}
    """By process that is away from the group below, the last of its messages that was told to be
    lost, since something went down that may depend on it."""
    sent_ahead: set[MessageId] = set()
    """The messages that this process sent into this group of servers before the group below has
    delivered them."""
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
    """When this process left the group."""
    view: int
    """The number of the last view."""
    members: ProcessSet
    """The members of the last view."""
    followers: ProcessSet
    """The members, and those that were away."""
    messages: list[bytes]
    """All messages that this process had in the group, packed."""
    missed: tuple[tuple[int, Ids], ...] = ()
    """By process that was away, the messages for it that were let go."""


class State(msgspec.Struct, array_like=True):
    """All that a process knows."""

    clock: int = 0
    """The Lamport time of this process."""
    delivered: dict[int, int] = {}
    """By process, the number of its last message that was delivered here."""
    layers: list[LayerState] = []
    """The local group, the group of its servers if this process is its server, and so on."""
    changes: list[bytes] = []
    """The changes by which the plan has become what it is: packed `Change`s and `Reshape`s."""
    legacies: dict[int, Legacy] = {}
    """By local group that has given way, what it had; for `forget_after_s`."""
    talk: dict[tuple[int, int], int] = {}
    """By pair of members of the local group, how many messages they have sent each other."""
    last_beyond: int = 0
    """The number of the last own message that went beyond the local group."""
    groups_numbered: int = 0
    """How many numbers this process has given to new groups."""
    next_incarnations: dict[int, int] = {}
    """By group of servers that this process has left, its next incarnation there."""
