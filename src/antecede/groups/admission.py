"""Coming and going: founding, joining with a transfer of state, entering a view, the end.

A process that joins asks its contacts, who tell the coordinator; the next view contains it. Every
older member captures what the newcomer needs at the moment the view begins, so that any of them can
welcome it. An incarnation is in the group once: who was left out, though never welcomed, has to
come back as the next.
"""

from math import inf

from antecede.errors import MalformedStamp
from antecede.groups.api import (
    StateWanted,
    Stopped,
    StopReason,
    ViewInstalled,
)
from antecede.groups.core import Core
from antecede.groups.identities import GroupMessage, MemberId, View
from antecede.groups.packets import (
    NO_BALLOT,
    Decision,
    Join,
    Packet,
    Refuse,
    Vector,
    Welcome,
)
from antecede.groups.state import JOINING, MEMBER, STOPPED, Captured, Peer, State
from antecede.groups.streams import Streams
from antecede.message import ProcessSet, members, process_set


class Admission:
    """How a member gets into views and out of the group."""

    def __init__(
        self, core: Core, streams: Streams, contacts: ProcessSet, sponsor: int | None
    ) -> None:
        self.core = core
        self.streams = streams
        self.contacts = contacts & ~(1 << core.me.process)
        self.sponsor = next(members(self.contacts), -1) if sponsor is None else sponsor

    # Entering a view.

    def found(self, view: View) -> None:
        """Begin as one of the founders."""
        self._enter(view, [0] * len(view.members))
        self.core.emit(ViewInstalled(view, view.members))

    def install(self, decision: Decision) -> None:
        """Go from the present view to the next; everything up to the cut is delivered."""
        core, state = self.core, self.core.state
        old, new = state.view, decision.view
        counts = dict(zip(old.members, map(int.__add__, state.base, decision.cut), strict=True))
        joined = tuple(member for member in new.members if member not in counts)
        departed = tuple(member for member in old.members if new.rank(member) is None)
        state.previous = dict(state.current)
        overheard = self._remember(decision, departed)
        self._enter(new, [counts.get(member, 0) for member in new.members])
        core.emit(ViewInstalled(new, joined, departed, overheard=overheard))
        self._capture(joined)

    def _enter(self, view: View, base: list[int]) -> None:
        """Everything that is counted by view begins anew."""
        core, state = self.core, self.core.state
        size = len(view.members)
        state.phase = MEMBER
        state.view, state.base = view, base
        state.received, state.delivered, state.stable = [0] * size, [0] * size, [0] * size
        nothing: Vector = (0,) * size
        state.peers = [Peer(nothing, core.now, direct_at=core.now) for _ in view.members]
        state.detours = {}
        state.current = {}
        state.promised = state.accepted_in = NO_BALLOT
        state.accepted = state.flush = state.decided = state.captured = None
        state.arrived = 0
        state.flush_heard_at = state.entered_at = core.now
        state.frozen_at = state.refused_at = inf
        state.announced = 0
        state.announced_at = state.reported_at = state.heartbeat_at = -inf
        latest = dict(view.members)
        for member in sorted(state.joining):
            if member.incarnation <= latest.get(member.process, -1):
                del state.joining[member]
        state.joining_at = state.newest_at = core.now if state.joining else inf
        core.resume()
        state.peers[core.rank].present = True
        self.streams.begin(size)
        self.streams.untidy = True

    def _remember(self, decision: Decision, departed: tuple[MemberId, ...]) -> tuple[bytes, ...]:
        """What those who departed had told this member out of turn."""
        state = self.core.state
        state.decisions[decision.view.number] = decision
        state.decisions.pop(decision.view.number - self.core.config.remembered_decisions, None)
        overheard: list[bytes] = []
        for member in departed:
            highest = state.departed.get(member.process, 0)
            state.departed[member.process] = max(highest, member.incarnation)
            channel = state.channels.pop(member, None)
            if channel is not None:
                overheard += [channel.early[number] for number in sorted(channel.early)]
        return tuple(overheard)

    # Newcomers, as the members see them.

    def candidates(self) -> list[MemberId]:
        """Who is to be in the next view: of each process that asks, the latest life; of those who
        are new, as many as there is room for, until they have waited for long."""
        state = self.core.state
        latest: dict[int, MemberId] = {}
        for member in sorted(state.joining):
            if state.view.rank(member) is None:
                latest[member.process] = member
        found, config = list(latest.values()), self.core.config
        if not config.most or self.core.now - state.joining_at > config.room_after_s:
            return found
        back = [member for member in found if member.incarnation]
        room = max(0, config.most - len(state.view.members) - len(back))
        return back + [member for member in found if not member.incarnation][:room]

    def on_join(self, packet: Packet, body: Join) -> None:
        core, state = self.core, self.core.state
        member = body.member
        if state.view.rank(member) is not None:
            self._welcome(member)
        elif member.incarnation <= state.departed.get(member.process, -1):
            core.transmit(1 << member.process, Refuse(member.incarnation))
        elif not any(
            other.process == member.process and other.incarnation > member.incarnation
            for other in state.view.members
        ):
            state.joining_at = min(state.joining_at, core.now) if state.joining else core.now
            if member not in state.joining:
                state.newest_at = core.now
            state.joining[member] = core.now
            coordinator = state.view.members[core.coordinator(core.reached())]
            if packet.source == member and coordinator != core.me and core.config.trusts:
                core.transmit(1 << coordinator.process, body)

    def expire(self) -> None:
        """Forget who has stopped asking."""
        core, state = self.core, self.core.state
        for member, asked_at in sorted(state.joining.items()):
            if core.now - asked_at > core.config.suspect_after_s:
                del state.joining[member]

    def _capture(self, joined: tuple[MemberId, ...]) -> None:
        """Keep for the newcomers what they need, as of now."""
        core, state = self.core, self.core.state
        if not joined:
            return
        state.captured = Captured(tuple(state.base))
        if core.config.transfers_state or core.config.retains:
            core.emit(StateWanted(state.view.number, joined))
        else:
            self.provide(b"")

    def provide(self, content: bytes) -> None:
        """The application's state as the view began; the most senior of the older members hands it
        out at once, the others when asked. What is retained of earlier views goes with it: the
        owner has now released what its deliveries before the view allowed."""
        core, state = self.core, self.core.state
        if state.captured is None or state.captured.state is not None:
            return
        state.captured.retained = tuple(
            message
            for _, message in sorted(state.retained.items())
            if message.view < state.view.number
        )
        state.captured.state = content
        if core.coordinator(core.reached()) == core.rank:
            for rank, member in enumerate(state.view.members):
                if rank != core.rank and not state.peers[rank].present:
                    self._welcome(member)

    def _welcome(self, member: MemberId) -> None:
        core, state = self.core, self.core.state
        captured = state.captured
        if captured is None or captured.state is None:
            return
        departed = tuple(sorted(state.departed.items()))
        decision = state.decisions[state.view.number]
        body = Welcome(decision, captured.base, departed, captured.state, captured.retained)
        core.transmit(1 << member.process, body)

    # The newcomer.

    def ask_to_join(self) -> None:
        """All contacts; or, where none of them passes it on, the one that lets others in, and after
        a while some others in turn: it may have failed."""
        core, fanout = self.core, self.core.config.fanout
        contacts = list(members(self.contacts))
        if 0 < fanout < len(contacts) and not core.config.trusts:
            first = core.state.ticks * fanout
            turn = [contacts[(first + step) % len(contacts)] for step in range(fanout)]
            is_late = core.state.ticks * core.tick_s > core.late_after_s
            asked = [self.sponsor, *turn] if is_late else [self.sponsor]
            core.transmit(process_set(asked), Join(core.me))
        else:
            core.transmit(self.contacts, Join(core.me))

    def on_welcome(self, body: Welcome) -> None:
        core, state = self.core, self.core.state
        view = body.decision.view
        if state.phase is not JOINING or view.rank(core.me) is None:
            return
        if len(body.base) != len(view.members):
            reason = f"has {len(body.base)} entries in a view of {len(view.members)} members"
            raise MalformedStamp("base", reason)
        for serial, message in enumerate(body.retained):
            state.retained[serial] = message
        state.retained_count = len(body.retained)
        state.departed = dict(body.departed)
        state.decisions = {view.number: body.decision}
        self._enter(view, list(body.base))
        state.captured = Captured(body.base, body.retained, body.state)
        core.emit(ViewInstalled(view, (core.me,), (), body.state, body.retained))
        core.transmit(core.others, core.report())

    # The end.

    def depart(self, decision: Decision) -> None:
        """The next view is without this member."""
        core, state = self.core, self.core.state
        in_doubt = decision.view.number != state.view.number + 1
        taken = 0 if in_doubt else decision.cut[core.rank]
        lost = [
            message
            for (rank, number), message in sorted(state.current.items())
            if rank == core.rank and number > taken
        ]
        left = core.leaves(core.rank) and not lost
        state.decisions = {decision.view.number: decision}  # its next life may have to tell
        self.stop(StopReason.LEFT if left else StopReason.EXCLUDED, lost, in_doubt)

    def lose_patience(self) -> None:
        """A member that wants to leave and has found no quorum for long goes without their consent.
        Whatever is not stable may be delivered or not."""
        core, state = self.core, self.core.state
        waits = state.leaving and state.suspended and state.decided is None
        if not waits or core.now - state.suspended_at <= core.config.patience_s:
            return
        unstable = [
            message
            for (rank, number), message in sorted(state.current.items())
            if rank == core.rank and number > state.stable[rank]
        ]
        left = not unstable and not state.queue
        reason = StopReason.LEFT if left else StopReason.EXCLUDED
        self.stop(reason, unstable, in_doubt=bool(unstable))

    def stop(self, reason: StopReason, lost: list[GroupMessage], in_doubt: bool = False) -> None:
        core, state = self.core, self.core.state
        base = state.base[core.rank] + state.received[core.rank] if state.base else 0
        for number, (to, payload) in enumerate(state.queue, start=base + 1):
            lost.append(GroupMessage(core.me, number, 0, (), to, payload))
        core.state = State(phase=STOPPED, view=state.view, decisions=state.decisions)
        core.resume()
        core.farewell = Stopped(reason, tuple(lost), in_doubt)
