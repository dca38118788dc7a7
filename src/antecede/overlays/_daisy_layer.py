"""One group of a daisy at one process: the member of the group, what the group remembers, and when
it needs time to pass.

A group is quiet while nothing is under way in it: then its member asks for no wake-ups, reports
nothing and suspects nobody. It is *busy* while messages are unstable or kept, while views change,
and for a while when it is poked. Packets of a busy member say so, and keep the others awake: they
report at every tick, and notice who does not.
"""

from collections.abc import Iterable
from math import inf

import msgspec

from antecede.groups import (
    EVERYBODY,
    Effect,
    GroupConfig,
    GroupMember,
    GroupMessageId,
    MemberId,
    Quorum,
    View,
    founding_view,
)
from antecede.groups.packets import NO_BALLOT, Body, Data, Packet, Report, check
from antecede.groups.state import Phase
from antecede.message import MessageId, ProcessSet, process_set
from antecede.overlays._daisy_epoch import Straight
from antecede.overlays._daisy_items import (
    Ahead,
    Carry,
    Item,
    Kept,
    Memory,
    carries,
    carry,
    decode_items,
    encode_items,
    pack,
    unpack,
)
from antecede.overlays._daisy_options import DaisyOptions
from antecede.overlays._daisy_plan import Node

_EPOCHS = 1 << 20
"""A group of servers that is founded anew is another group: its epoch stands above these."""
ABOVE = -1
"""Among those who bring batches: the group above, through whoever serves."""
TAKING_BATCHES = -1
"""As `merged`: not all of what came in batches has been taken."""
_AWAKE_TICKS = 4
_AWAKE_HEARTBEATS = 2.5
"""For how many ticks or heartbeats a member stays awake after it has heard a busy one."""


class LayerState(msgspec.Struct, array_like=True):
    """All that is known of one group. `member` is the snapshot of the group's own member;
    `unstable` are the messages in group messages that are not stable; `sent` is the last number of
    each process that was sent into the group from here; `outbox` waits until the process is in,
    `items` for the next payload; `resend` has to be sent again after an exclusion; `returned` is
    who has come back, and when. `lost`, `owes` (the batches that are this process' to send),
    `settled` (stable, though still aside), `batched` (batches that are not stable) and `merged`
    (the last place of what came in batches): see `_daisy_search`; `decided` (the last change that
    was decided on here), `moving`, `ready` and `patient_until`: see `_daisy_evolve`. `ahead` was
    sent into the group from here before it was delivered in the group below: see `_daisy_ahead`;
    `led_by`, `gathering`, `awaiting`, `told` (by message the number it had in the channel to each
    process that was told): see `_daisy_star`;
    `straight`: see `_daisy_direct`.
    """

    node: int
    incarnation: int
    epoch: int
    contacts: ProcessSet
    member: bytes = b""
    memory: Memory = msgspec.field(default_factory=Memory)
    unstable: dict[GroupMessageId, list[MessageId]] = {}
    sent: dict[int, int] = {}
    reported: set[MessageId] = set()
    outbox: list[bytes] = []
    items: list[bytes] = []
    items_at: float = 0.0
    items_asked: float = -1.0
    resend: list[bytes] = []
    server: int = -1
    resting: bool = True
    wake_at: float = 0.0
    busy_until: float = -1.0
    awake_until: float = -1.0
    seeking_since: float = -1.0
    lost: dict[int, tuple[int, float]] = {}
    owes: set[int] = set()
    returned: dict[int, float] = {}
    settled: set[GroupMessageId] = set()
    batched: set[GroupMessageId] = set()
    merged: int = 0
    decided: int = 0
    moving: bytes = b""
    ready: set[int] = set()
    above_epoch: int = 0
    above: ProcessSet = 0
    ahead: set[MessageId] = set()
    patient_until: float = -1.0
    led_by: MemberId | None = None
    gathering: bool = False
    awaiting: set[int] = set()
    told: dict[MessageId, dict[int, int]] = {}
    straight: Straight = msgspec.field(default_factory=Straight)


class Layer:
    """A process in a group."""

    def __init__(self, process: int, node: Node, options: DaisyOptions, state: LayerState) -> None:
        self.process = process
        self.node = node
        self.options = options
        self.state = state
        self.config = GroupConfig(
            group=node.index + state.epoch * _EPOCHS,
            quorum=options.quorum,
            transfers_state=True,
            tick_s=options.tick_s,
            suspect_after_s=options.suspect_after_s,
            flush_timeout_s=options.flush_timeout_s,
            retry_s=options.retry_s,
            retry_limit_s=options.retry_limit_s,
            fanout=options.fanout,
            window=options.window,
        )
        me = MemberId(process, state.incarnation)
        if state.member:  # it has been started: who founded the group does not matter any more
            contacts = state.contacts or 1 << process + 1
            self.member = GroupMember(self.config, me, contacts=contacts)
            self.member.restore(state.member)
        elif state.contacts:
            self.member = GroupMember(self.config, me, contacts=state.contacts)
        else:
            self.member = GroupMember(self.config, me, founding=founding_view(node.founders))

    # What it is.

    @property
    def memory(self) -> Memory:
        return self.state.memory

    @property
    def view(self) -> View | None:
        return self.member.view

    @property
    def is_in(self) -> bool:
        return self.member.state.phase is Phase.MEMBER

    @property
    def is_lost(self) -> bool:
        """Whether it is not in the group, or the group has lost its quorum."""
        return not self.is_in or self.member.state.suspended

    @property
    def is_server(self) -> bool:
        """Whether this process serves the group: it is the most senior member."""
        view = self.member.view
        return view is not None and view.members[0].process == self.process

    def in_order(self) -> list[Kept]:
        """What is kept, as it was delivered."""
        return sorted(self.memory.kept.values(), key=lambda kept: kept.place)

    def keeps_for(self, processes: ProcessSet) -> bool:
        return any(kept.message.destinations & processes for kept in self.memory.kept.values())

    def is_merging(self) -> bool:
        """Whether some of what came in batches is not stable."""
        merged = self.state.merged
        if merged > 0 and all(k.stable for k in self.memory.kept.values() if k.place <= merged):
            self.state.merged = merged = 0
        return merged != 0

    def awaited(self, within: GroupMessageId) -> GroupMessageId | None:
        """What has to be stable before a message that came in this one is: after a merge all of the
        batches, for whoever lacks one has put everything aside."""
        if within not in self.state.settled:
            return within
        return min(self.state.batched, default=None)

    def has_passed(self, message: MessageId) -> bool:
        """Whether the group has had this message."""
        return message.number <= self.memory.seen.get(message.sender, 0)

    def may_bring(self, process: int, now: float) -> bool:
        """Whether messages of a process that its own group has missed may still come from itself,
        with all that it sent before them: it is away, and not for ever, or has just come back.

        Where messages are not broadcast, members hand over all that they have to a new server,
        which goes on with that. And survivors take those who are away for dead."""
        if self.node.level or self.options.local != "broadcast":
            return False
        if self.options.quorum is Quorum.SURVIVORS:
            return False
        since = self.memory.away.get(process, -inf)
        return process in self.state.returned or now - since <= self.options.forget_after_s

    def check(self, packet: Packet) -> None:
        """Refuse what is malformed, before anything changes."""
        view = self.view
        if view is not None and packet.view == view.number:
            check(packet, len(view.members))

    def is_foreign(self, packet: Packet) -> bool:
        """Whether it speaks of another view of the same number: of two parts that suspect each
        other, both may have gone on (`Quorum.SURVIVORS`)."""
        view = self.view
        return view is not None and packet.view == view.number and view.rank(packet.source) is None

    def acknowledged(self, process: int) -> tuple[int, int]:
        """How much of what was told a member it has acknowledged, and how much it was told."""
        for member, channel in self.member.state.channels.items():
            if member.process == process and self.member.state.view.rank(member) is not None:
                return channel.acknowledged, channel.sent
        return 0, 0

    def has_got(self, process: int, number: int) -> bool:
        """Whether a process has got what it was told under this number, or has left."""
        is_here = self.member.state.view.processes >> process & 1
        return not is_here or self.acknowledged(process)[0] >= number

    # Sending.

    def send(self, item: Carry | Ahead, now: float) -> list[Effect]:
        """Send a message into the group, with all that waits for the next payload."""
        sent = self.state.sent
        carried = item if isinstance(item, Carry) else item.carry
        sent[carried.sender] = max(sent.get(carried.sender, 0), carried.number)
        if not self.is_in or self.state.moving:
            self.state.outbox.append(pack(carried))
            return []
        if self.options.pack_s:
            self.tell(item, now, self.options.pack_s)
            return []
        return self._issue([item], now)

    def bring(self, items: tuple[Item, ...], now: float) -> list[Effect]:
        """The first payload in a group that is founded anew."""
        for item in items:
            if isinstance(item, Carry):
                self.state.sent[item.sender] = max(self.state.sent.get(item.sender, 0), item.number)
        return self.member.send(encode_items(items), now, EVERYBODY)

    def is_new(self, message: MessageId) -> bool:
        """Whether the group has not had this message, nor was it sent from here."""
        last = self.state.sent.get(message.sender, 0)
        return message.number > last and not self.has_passed(message)

    def tell(self, item: Item, now: float, within_s: float) -> None:
        """Put word into the next payload, which is sent after this time at the latest."""
        at = now + within_s
        self.state.items_at = min(at, self.state.items_at) if self.state.items else at
        self.state.items.append(pack(item))

    def unsent(self) -> list[bytes]:
        """The messages that wait for a payload or for the process to be in."""
        waiting = (*self.state.outbox, *self.state.items)
        return [pack(item) for item in self.carries(map(unpack, waiting))]

    def carries(self, items: Iterable[Item]) -> list[Carry]:
        """The messages among these items. Among servers, what came ahead is none: it will come in
        its turn, from the group that it belongs to."""
        if self.node.level:
            items = [item for item in items if isinstance(item, Carry)]
        return carries(items)

    def followers(self) -> ProcessSet:
        """Who comes along when the group gives way: all who are in it, and who may come back."""
        here = 0 if self.view is None else self.view.processes
        return here | process_set(self.memory.away)

    def everything(self) -> list[bytes]:
        """All messages that it would be a pity to lose: kept, put aside, sent but not issued, and
        not sent."""
        kept = [pack(carry(kept.message, kept.clock)) for kept in self.in_order()]
        queued = [
            pack(item)
            for _, payload in self.member.state.queue
            for item in self.carries(decode_items(payload))
        ]
        return [*kept, *self.state.resend, *self.put_aside(), *queued, *self.unsent()]

    def put_aside(self) -> list[bytes]:
        """The messages that wait for batches."""
        aside = [unpack(stored) for _, _, stored in self.memory.aside]
        return [pack(item) for item in self.carries(aside)]

    def send_word(self, item: Item, now: float) -> list[Effect]:
        """Word that cannot wait."""
        return self._issue([item], now)

    def is_told(self, item: Item) -> bool:
        """Whether this word is already on its way into the next payload."""
        return pack(item) in self.state.items

    def flush_items(self, now: float) -> list[Effect]:
        """Send what waits for a payload, if its time has come."""
        if not self.state.items or now < self.state.items_at or not self.is_in:
            return []
        return self._issue([], now)

    def _issue(self, items: list[Item], now: float) -> list[Effect]:
        payload = encode_items((*items, *map(unpack, self.state.items)))
        self.state.items = []
        return self.member.send(payload, now, EVERYBODY)

    # Time.

    def is_busy(self, now: float) -> bool:
        """Whether something is under way that needs time to pass."""
        member, mine = self.member.state, self.state
        if member.phase is Phase.STOPPED:
            return False
        return bool(
            mine.memory.kept
            or mine.memory.batches
            or mine.items
            or mine.outbox
            or mine.returned
            or mine.moving
            or mine.gathering
            or mine.straight.epoch.waiting
            or now < mine.busy_until
            or any(channel.outgoing for channel in member.channels.values())
            or member.current
            or member.unannounced
            or self.member.owes_word
            or member.queue
            or member.phase is Phase.JOINING
            or member.promised != NO_BALLOT
            or member.flush is not None
            or member.decided is not None
            or member.joining
            or member.captured is not None
            or member.suspended
            or (member.view.number > 1 and not all(peer.present for peer in member.peers))
        )

    def is_awake(self, now: float) -> bool:
        """Whether it is busy, or another member was a moment ago: it must be heard then, and hear
        whoever fails."""
        return now < self.state.awake_until or self.is_busy(now)

    def says_busy(self, now: float) -> bool:
        """Whether the others have to be awake. Members report to the server alone, which keeps the
        rest awake for a busy one."""
        return self.is_awake(now) if self.is_server else self.is_busy(now)

    def hear_busy(self, now: float) -> None:
        """Another member is busy."""
        config = self.config
        self.state.awake_until = now + max(
            _AWAKE_TICKS * config.tick_s, _AWAKE_HEARTBEATS * config.heartbeat_s
        )

    def is_due(self, now: float) -> bool:
        """Whether its time has come. Where nothing is under way any more, it goes to rest."""
        if self.state.resting or self.state.wake_at > now:
            return False
        self.state.resting = not self.is_awake(now)
        return not self.state.resting

    def be_patient(self, now: float) -> None:
        """Who has not spoken yet in a group that was founded just now may still be held up where
        it comes from."""
        if now < self.state.patient_until:
            for peer in self.member.state.peers:
                if not peer.present:
                    peer.heard_at = now

    def rouse(self, now: float) -> float | None:
        """From rest to work: the others have had no reason to speak, so their silence so far says
        nothing. The time of the next tick, if it was at rest."""
        if not self.state.resting:
            return None
        self.state.resting = False
        for peer in self.member.state.peers:
            peer.heard_at = max(peer.heard_at, now)
        self.member.state.heartbeat_at = now  # nor have they missed any
        tick_at = self.member.state.tick_at
        self.state.wake_at = tick_at if tick_at > now else now + self.options.tick_s
        return self.state.wake_at


def wants_time(body: Body, at_server: bool) -> bool:
    """Whether a packet of a busy member is a reason to stay awake. Data is one in itself, and an
    acknowledgement wants no answer; but a server stays awake as long as any member is busy: were it
    to nap meanwhile, it would not notice who is silent."""
    is_answer = isinstance(body, Report) and not body.waits
    return not isinstance(body, Data) and (at_server or not is_answer)


def joining(
    process: int,
    node: Node,
    options: DaisyOptions,
    incarnation: int,
    epoch: int,
    contacts: ProcessSet,
) -> Layer:
    """A process that is about to ask to be let in."""
    others = contacts & ~(1 << process)
    return Layer(process, node, options, LayerState(node.index, incarnation, epoch, others))


def founding(process: int, node: Node, options: DaisyOptions) -> Layer:
    """A founder of a group of the plan."""
    return Layer(process, node, options, LayerState(node.index, 0, 0, 0))


def founding_anew(
    process: int, node: Node, options: DaisyOptions, epoch: int, processes: tuple[int, ...]
) -> Layer:
    """A founder of a group in the place of others: of servers that had all died (in a new epoch),
    or of local groups that give way. It begins with what all of them bring along."""
    anew = msgspec.structs.replace(node, founders=processes)
    layer = Layer(process, anew, options, LayerState(node.index, 0, epoch, 0))
    layer.memory.batches = {*processes, *(() if node.parent is None else (ABOVE,))}
    layer.state.owes = layer.memory.batches & {process, ABOVE}
    return layer
