"""One process in one group: its inputs, and which part of it answers each."""

from collections.abc import Iterable

from antecede.errors import MalformedStamp, Misuse
from antecede.groups.admission import Admission
from antecede.groups.api import Effect, GroupConfig, Resumed, StopReason, Suspended, Wake
from antecede.groups.channels import Channels
from antecede.groups.core import Core
from antecede.groups.detours import Detours
from antecede.groups.flush import Flushing
from antecede.groups.identities import (
    EVERYBODY,
    GroupMessage,
    GroupMessageId,
    MemberId,
    View,
    Waiting,
)
from antecede.groups.packets import (
    Accept,
    Accepted,
    Ask,
    Data,
    Decide,
    Decision,
    Detour,
    Heard,
    Join,
    Nack,
    Packet,
    Prepare,
    Promise,
    Refuse,
    Reject,
    Report,
    Tell,
    Vector,
    Vouch,
    Welcome,
    check,
    check_claims,
    check_next,
)
from antecede.groups.reporting import Reporting
from antecede.groups.state import JOINING, MEMBER, NEW, STOPPED, State
from antecede.groups.streams import Streams
from antecede.message import ProcessSet, members
from antecede.snapshot import freeze, thaw

_OF_ANY_VIEW = frozenset({Join, Ask, Decide})
"""What is said across views."""


class GroupMember:
    """A member: a founder (`founding` contains it) or one that joins through its `contacts`, of
    which the `sponsor` seems to be the most senior member (the first, unless it is said)."""

    def __init__(
        self,
        config: GroupConfig,
        me: MemberId,
        *,
        founding: View | None = None,
        contacts: ProcessSet = 0,
        sponsor: int | None = None,
    ) -> None:
        if (founding is None) == (not contacts):
            raise Misuse("a member either founds its group or has contacts to join through")
        if founding is not None and founding.rank(me) is None:
            raise Misuse(f"{me} is not among the founders {[*map(str, founding.members)]}")
        self.config = config
        self.me = me
        self.founding = founding
        self.core = Core(config, me)
        self._streams = Streams(self.core)
        self._admission = Admission(self.core, self._streams, contacts, sponsor)
        self._flushing = Flushing(self.core, self._streams, self._admission)
        self._channels = Channels(self.core)
        self._reporting = Reporting(self.core)
        self._detours = Detours(self.core)

    # Inputs.

    def start(self, now: float) -> list[Effect]:
        """Found the group, or begin to join it."""
        self._begin(now)
        if self.state.phase is not NEW:
            raise Misuse(f"{self.me} has been started before")
        if self.founding is not None:
            self._admission.found(self.founding)
        else:
            self.state.phase = JOINING
            self._admission.ask_to_join()
        self._next_tick()
        return self._end()

    def send(self, payload: bytes, now: float, to: ProcessSet = EVERYBODY) -> list[Effect]:
        """Send to all members, or to these processes. Accepted at once; issued when it can be."""
        self._begin(now)
        state = self.state
        if state.phase in {NEW, STOPPED} or state.leaving:
            raise Misuse(f"{self.me} is not in the group, or about to leave it: it cannot send")
        state.queue.append((to, payload))
        return self._end()

    def tell(self, process: int, payload: bytes, now: float) -> list[Effect]:
        """Send to one other member alone."""
        self._begin(now)
        for member in self.view.members if self.view is not None else ():
            if member.process == process and member != self.me:
                self._channels.tell(member, payload)
                return self._end()
        raise Misuse(f"process {process} is not another member of view {self.state.view.number}")

    def receive(self, packet: Packet, now: float) -> list[Effect]:
        """The network hands over a packet."""
        self._begin(now)
        self.check(packet)
        return self.take(packet, now)

    def check(self, packet: Packet) -> None:
        """Refuse what is malformed, or for another group. Nothing changes."""
        core, state = self.core, self.core.state
        if packet.group != self.config.group:
            raise MalformedStamp("group", f"is {packet.group}, not {self.config.group}")
        if state.phase is MEMBER and packet.view == state.view.number:
            check(packet, len(state.view.members))
            if not self.config.trusts:
                check_claims(packet, state.received, core.rank, self.config.window)

    def take(self, packet: Packet, now: float) -> list[Effect]:
        """The network hands over a packet that has been checked."""
        core = self.core
        core.now = now
        core.effects = []
        state, body = core.state, packet.body
        is_of_view = state.phase is MEMBER and packet.view == state.view.number
        is_direct = type(body) is not Detour
        if type(body) is Detour:
            arrived = self._detours.on_detour(packet, body)
            if arrived is None:
                return self._end()
            packet, body = arrived, arrived.body
        rank = core.ranks.get(packet.source)
        if is_of_view and is_direct and rank is not None:
            state.peers[rank].direct_at = now
        if is_of_view and type(body) not in _OF_ANY_VIEW:
            self._receive_here(rank, packet)  # nearly always
        elif state.phase is MEMBER:
            self._receive_as_member(packet)
        elif state.phase is JOINING:
            self._receive_while_joining(packet)
        return self._end()

    def effects_so_far(self) -> list[Effect]:
        """Of an input that raised an error: what was done before that."""
        return self._end()

    def wake(self, now: float) -> list[Effect]:
        """A time that it asked for has come."""
        self._begin(now)
        core = self.core
        state = core.state
        if now < state.tick_at or state.phase is NEW or state.phase is STOPPED:
            return []
        state.ticks += 1
        if state.phase is JOINING:
            self._admission.ask_to_join()
        else:
            self._tick()
        self._next_tick()
        if core.state is state and not state.queue and not self._streams.untidy:
            return core.effects  # nothing has changed since it was asked when the next tick is
        return self._end()

    def follow(self, earlier: "GroupMember") -> None:
        """Know how an earlier life of the same process in this group ended: those who were to stay
        may never have heard it, and need not be a quorum of the view they are in."""
        self.state.decisions = dict(earlier.state.decisions)

    def leave(self, now: float) -> list[Effect]:
        """Leave the group once all that was sent has gone out."""
        self._begin(now)
        if self.state.phase is JOINING:
            self._admission.stop(StopReason.LEFT, [])
        elif self.state.phase is MEMBER:
            self.state.leaving = True
        return self._end()

    def release(self, messages: Iterable[GroupMessageId], now: float) -> list[Effect]:
        """These need not be retained any longer; unknown ones are ignored."""
        self._begin(now)
        retained = self.state.retained
        unwanted = set(messages)
        for serial in [key for key in sorted(retained) if retained[key].id in unwanted]:
            del retained[serial]
        return self._end()

    def show(self, to: ProcessSet, now: float) -> list[Effect]:
        """Say in which view this member is, to processes that are not in it: if theirs is later,
        they answer, and it learns how its own has ended."""
        self._begin(now)
        if self.state.phase is MEMBER:
            self.core.transmit(to & ~self.state.view.processes, self.core.report())
        return self._end()

    def provide_state(self, view: int, content: bytes, now: float) -> list[Effect]:
        """The answer to `StateWanted`; too late for a view that is over, it is ignored."""
        self._begin(now)
        if self.state.phase is MEMBER and self.state.view.number == view:
            self._admission.provide(content)
        return self._end()

    # What it can say of itself.

    @property
    def state(self) -> State:
        return self.core.state

    @property
    def view(self) -> View | None:
        """The present view; None before the first and after the end."""
        return self.core.view

    def knows(self, member: MemberId) -> bool:
        """Whether a member is in the present view."""
        return member in self.core.ranks

    @property
    def next_number(self) -> int:
        """The number that the next message sent will have."""
        state = self.state
        rank = self.core.rank
        sent = state.base[rank] + state.received[rank] if state.base else 0
        return sent + len(state.queue) + 1

    @property
    def is_in(self) -> bool:
        """Whether it is in the group, as far as it knows."""
        return self.core.view is not None

    @property
    def is_suspended(self) -> bool:
        """Whether it hears no quorum of the group."""
        return self.state.suspended

    @property
    def is_left_out(self) -> bool:
        """Whether it knows that the others go on without it, though not that they have done so."""
        decided = self.core.state.decided
        return decided is not None and decided.view.rank(self.me) is None

    @property
    def is_calm(self) -> bool:
        """Whether it goes on in its view: neither suspended, nor in a change of views."""
        return not self.state.suspended and not self.core.frozen

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is under way that needs time to pass."""
        state = self.core.state
        if state.phase is not MEMBER:
            return state.phase is STOPPED
        return not (
            state.current
            or state.unannounced
            or state.queue
            or state.flush is not None
            or state.joining
            or state.captured is not None
            or self.core.blocked
            or self._reporting.is_telling
            or self._reporting.is_awaited
            or (state.view.number > 1 and not self.are_all_present)
        )

    @property
    def has_stopped(self) -> bool:
        return self.core.state.phase is STOPPED

    @property
    def tick_at(self) -> float:
        """When it wants to be woken next."""
        return self.core.state.tick_at

    @property
    def are_all_present(self) -> bool:
        """Whether all of the view have spoken in it: they have all that precedes it."""
        return self.is_in and all(peer.present for peer in self.state.peers)

    def present(self) -> list[int]:
        """The processes of the view that have spoken in it, this one included, by seniority."""
        pairs = zip(self.state.view.members, self.state.peers, strict=True)
        return [member.process for member, peer in pairs if peer.present]

    def queued(self) -> list[bytes]:
        """What its owner sent and the group has not taken yet."""
        return [payload for _, payload in self.state.queue]

    def acknowledged(self, process: int) -> tuple[int, int]:
        """How much of what was told a member it has acknowledged, and how much it was told."""
        for member, channel in self.state.channels.items():
            if member.process == process and self.state.view.rank(member) is not None:
                return channel.acknowledged, channel.sent
        return 0, 0

    def payload_of(self, message: GroupMessageId) -> bytes:
        """What is in a message that has come and is not stable, or not delivered."""
        current = self.state.current.values()
        return next((one.payload for one in current if one.id == message), b"")

    def entries(self) -> int:
        """What it counts of the members of the view."""
        return len(self.state.delivered) * (1 + len(self.state.peers))

    def forgive_silence(self, now: float) -> None:
        """The others have had no reason to speak, so their silence so far says nothing."""
        for peer in self.state.peers:
            peer.heard_at = max(peer.heard_at, now)
            peer.direct_at = max(peer.direct_at, now)
        self.state.heartbeat_at = now  # nor have they missed any

    def excuse(self, seconds: float, now: float) -> None:
        """This process stood still for that long: others may have spoken, and had no answer."""
        state = self.state
        for peer in state.peers:
            peer.heard_at = min(now, peer.heard_at + seconds)
            peer.direct_at = min(now, peer.direct_at + seconds)
        state.flush_heard_at = min(now, state.flush_heard_at + seconds)
        if state.flush is not None:
            state.flush.began_at = min(now, state.flush.began_at + seconds)

    def forgive_absence(self, now: float) -> None:
        """Whoever has not spoken in this view may still be held up where it comes from."""
        for peer in self.state.peers:
            if not peer.present:
                peer.heard_at = now

    def unreleased(self) -> list[GroupMessage]:
        """What is retained, oldest first."""
        return [self.state.retained[serial] for serial in sorted(self.state.retained)]

    def buffered(self) -> int:
        """How many messages it keeps for others, holds or has still to send."""
        state = self.state
        return len(state.current) + len(state.previous) + len(state.queue)

    def held(self) -> list[Waiting]:
        """What has come and is not delivered, and what each message waits for."""
        state = self.state
        held = []
        for (rank, number), message in sorted(state.current.items()):
            if number <= state.delivered[rank]:
                continue
            awaited = [
                GroupMessageId(state.view.members[other], state.base[other] + missing)
                for other, count in enumerate(message.vector)
                for missing in range(state.delivered[other] + 1, count + (other != rank))
            ]
            held.append(Waiting(message.id, tuple(awaited)))
        return held

    def snapshot(self) -> bytes:
        """The state as bytes: equal for equal states."""
        return freeze(self.state)

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot of the same member. Wake-ups that were asked for before it are the
        caller's to keep."""
        self.core.state = thaw(snapshot, State)
        self.core.resume()
        self._streams.resume()

    # Inside.

    def _begin(self, now: float) -> None:
        self.core.now = now
        self.core.effects = []

    def _end(self) -> list[Effect]:
        core = self.core
        state = core.state
        if state.phase is MEMBER:
            if state.queue:
                self._streams.drain()
            if self._streams.untidy:
                self._streams.settle()
            if state.tick_at > core.now + core.tick_s:
                self._arm()
        if core.farewell is not None:
            core.emit(core.farewell)
            core.farewell = None
        return core.effects

    def _next_tick(self) -> None:
        """As soon as something can be due; after a heartbeat where nothing is under way."""
        core, state = self.core, self.core.state
        if state.phase is not STOPPED:
            hurries = state.phase is not MEMBER or self._reporting.hurries
            state.tick_at = core.now + (core.tick_s if hurries else core.heartbeat_s)
            core.emit(Wake(state.tick_at))

    def _arm(self) -> None:
        """The input may be a reason not to wait so long for the next tick."""
        core = self.core
        if self._reporting.hurries:
            core.state.tick_at = core.now + core.tick_s
            core.emit(Wake(core.state.tick_at))

    def _tick(self) -> None:
        core = self.core
        reached = self._watch_quorum()
        self._detours.tick()
        if core.state.joining:
            self._admission.expire()
            reached = core.reached()
        self._flushing.tick(reached)
        self._admission.lose_patience()
        state = core.state  # another one if that was the end of this member
        if state.phase is MEMBER:
            self._streams.repeat()
            if state.channels:
                self._channels.repeat()
            self._reporting.tick()

    def _watch_quorum(self) -> int:
        """Suspend when too few are within reach, and go on when there are enough again. Meanwhile
        nobody gets older as deaf: all may have been, and will hear each other at once. The ranks
        within reach, as a bit set."""
        core, state = self.core, self.core.state
        if state.decided is not None:  # it waits for something else
            return core.reached()
        if state.suspended:
            for peer in state.peers:
                peer.missing = dict.fromkeys(peer.missing, core.now)
        reached = core.reached()
        enough = core.is_quorum(reached)
        if not enough and not state.suspended:
            state.suspended, state.suspended_at = True, core.now
            heard = tuple(state.view.members[rank] for rank in members(reached))
            core.emit(Suspended(state.view.number, heard))
        elif enough and state.suspended and not core.frozen:
            state.suspended = False
            core.emit(Resumed(state.view.number))
            self._streams.acknowledge()
            core.transmit(core.others, core.report())
            self._streams.deliver(list(range(len(state.received))))
        return reached

    def _receive_while_joining(self, packet: Packet) -> None:
        body = packet.body
        if isinstance(body, Welcome):
            self._admission.on_welcome(body)
        elif isinstance(body, Refuse) and body.incarnation == self.me.incarnation:
            self._admission.stop(StopReason.EXCLUDED, [])
        elif isinstance(body, Report):
            self._flushing.tell_how_it_ended(packet)

    def _receive_as_member(self, packet: Packet) -> None:
        """A packet of another view, or one that is said across views."""
        state, body = self.core.state, packet.body
        if packet.view < state.view.number and not self.config.trusts:
            self._hear_from_before(packet.source)
        if isinstance(body, Join):
            self._admission.on_join(packet, body)
        elif isinstance(body, Ask) and packet.view < state.view.number:
            self._flushing.on_ask(packet, body)
        elif isinstance(body, Decide):
            self._on_decide(packet, body)
        elif packet.view < state.view.number:
            self._on_old(packet)
        elif packet.view > state.view.number:
            if not isinstance(body, Refuse | Welcome):
                self._flushing.on_newer(packet)
        else:
            self._receive_here(self.core.ranks.get(packet.source), packet)

    def _hear_from_before(self, member: MemberId) -> None:
        """A member of this view that has not come along lives, and may lack the word of others
        that it needs for that: it gets some time."""
        core, state = self.core, self.core.state
        rank = core.ranks.get(member)
        is_early = core.now - state.entered_at <= self.config.patience_s
        if rank is not None and is_early and not state.peers[rank].present:
            core.hear(rank)

    def _receive_here(self, rank: int | None, packet: Packet) -> None:
        """A packet of this view, from the member with this rank, or from a stranger."""
        core = self.core
        if rank is not None and rank != core.rank:
            core.hear(rank)
            self._receive_from(rank, packet)

    def _on_decide(self, packet: Packet, body: Decide) -> None:
        """The end of this view; a later one is news only for who is not in it."""
        state = self.state
        check_next(body.decision, packet.view)
        if not self.config.trusts:
            self._hear_decision(packet, body.decision)
        elif packet.view == state.view.number or (
            packet.view > state.view.number and body.decision.view.rank(self.me) is None
        ):
            self._flushing.learn(body.decision)

    def _hear_decision(self, packet: Packet, decision: Decision) -> None:
        """The word of one is not enough."""
        rank = self.core.ranks.get(packet.source)
        if packet.view == self.state.view.number:
            if rank is not None:
                self._flushing.on_word(rank, decision)
            elif decision.view.rank(self.me) is None:
                self._flushing.on_parted(None, decision)
        elif packet.view > self.state.view.number and decision.view.rank(self.me) is None:
            self._flushing.on_parted(rank, decision)

    def _on_old(self, packet: Packet) -> None:
        """Whoever reports in an older view is shown that there is a newer one. Anything else, a
        late PREPARE above all, speaks of what is over."""
        if isinstance(packet.body, Report):
            self.core.transmit(1 << packet.source.process, self.core.report())
        elif isinstance(packet.body, Vouch):
            self._flushing.tell_how_it_ended(packet)
        elif isinstance(packet.body, Tell | Heard):
            self._tell_or_heard(packet)

    def _tell_or_heard(self, packet: Packet) -> None:
        body = packet.body
        if self.state.view.rank(packet.source) is not None:
            if isinstance(body, Tell):
                self._channels.on_tell(packet.source, body)
            elif isinstance(body, Heard):
                self._channels.on_heard(packet.source, body)

    def _believed(self, rank: int, stable: Vector) -> Vector:
        """What a member may say to be stable, where it is not trusted: its own messages, or as the
        most senior one all, but none that has not come here."""
        if self.config.trusts or not stable:
            return stable
        return tuple(
            count if rank in (0, other) else 0
            for other, count in enumerate(map(min, stable, self.state.received))
        )

    def _receive_from(self, rank: int, packet: Packet) -> None:
        """A packet of this view, from one of its members."""
        body = packet.body
        match body:
            case Report():
                self._on_report(rank, body)
            case Data():
                before = self._reporting.acknowledged
                self._streams.on_data(body)
                self._flushing.retry()
                if self._reporting.acknowledged is not before:
                    self._reporting.on_news()
            case Nack():
                self._streams.on_nack(rank, body)
            case Prepare():
                if self.core.may_lead(rank):
                    self._flushing.on_prepare(rank, body)
            case Promise():
                self._flushing.on_promise(rank, body)
            case Reject():
                self._flushing.on_reject(body)
            case Accept():
                if self.core.may_lead(rank):
                    self._flushing.on_accept(rank, body)
            case Accepted():
                self._flushing.on_accepted(rank, body)
            case Ask():
                self._flushing.on_ask_here(rank, body)
            case Vouch():
                if not self.config.trusts:
                    self._flushing.on_vouch(rank, body.ballot, body.decision)
            case Tell() | Heard():
                self._tell_or_heard(packet)
            case _:
                pass

    def _on_report(self, rank: int, body: Report) -> None:
        core = self.core
        peer = core.state.peers[rank]
        if body.flushing and not peer.flushing:
            core.state.flush_heard_at = core.now
        peer.flushing, peer.leaving = body.flushing, body.leaving
        self._streams.note_row(rank, body.received)
        if body.stable:
            self._streams.note_stable(self._believed(rank, body.stable))
        self._reporting.on_report(rank, body)
