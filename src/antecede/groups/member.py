"""One process in one group: its inputs, and which part of it answers each."""

from collections.abc import Iterable

from antecede.errors import MalformedStamp, Misuse
from antecede.groups.admission import Admission
from antecede.groups.api import Effect, GroupConfig, StopReason, Wake
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
from antecede.groups.packets import Packet, check, check_claims
from antecede.groups.reception import Reception
from antecede.groups.reporting import Reporting
from antecede.groups.state import JOINING, MEMBER, NEW, STOPPED, State
from antecede.groups.streams import Streams
from antecede.message import ProcessSet
from antecede.snapshot import freeze, thaw


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
        self._reception = Reception(
            self.core, self._flushing, self._channels, self._reporting, self._detours
        )

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
        self._begin(now)
        self._reception.take(packet)
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
        return self.view is not None and all(peer.present for peer in self.state.peers)

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
        reached = self._streams.watch_quorum()
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
