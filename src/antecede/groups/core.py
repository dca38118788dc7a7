"""What every part of a member uses: its state, the time of the present input, the effects so far,
and what it believes of the others."""

from antecede.groups.api import Effect, GroupConfig, Quorum, Stopped, Transmit
from antecede.groups.identities import MemberId, View
from antecede.groups.packets import NO_BALLOT, Detour, Packet, Plain, Report
from antecede.groups.state import MEMBER, State
from antecede.message import ProcessSet, members, set_to_bytes


class Core:
    """One member's state, and the effects of the input at hand."""

    def __init__(self, config: GroupConfig, me: MemberId) -> None:
        self.config = config
        self.me = me
        self.state = State()
        self.now = 0.0
        self.effects: list[Effect] = []
        self.farewell: Stopped | None = None
        """The last effect of all, once this member has ended."""
        self.ranks: dict[MemberId, int] = {}
        """The ranks of the members of the view; this and what follows is derived."""
        self.view: View | None = None
        """The present view; None before the first and after the end."""
        self.is_senior = False
        """Whether this process is the most senior member of the view."""
        self.rank = 0
        self.everybody = 0
        """The ranks of the view, as a bit set."""
        self.others: ProcessSet = 0
        """The processes of the view but this one."""
        self._are_survivors_enough = config.quorum is Quorum.SURVIVORS
        self.tick_s = config.tick_s
        self.heartbeat_s = config.heartbeat_s
        self.late_after_s = config.late_after_s
        self._suspect_after_s = config.suspect_after_s

    def resume(self) -> None:
        """Derive what follows from the view."""
        view = self.state.view
        self.view = view if self.state.phase is MEMBER else None
        self.is_senior = self.view is not None and view.members[0].process == self.me.process
        self.ranks = {member: rank for rank, member in enumerate(view.members)}
        self.rank = self.ranks.get(self.me, 0)
        self.everybody = (1 << len(view.members)) - 1
        self.others = view.processes & ~(1 << self.me.process)

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def transmit(self, to: ProcessSet, body: Plain, view: int | None = None) -> None:
        """Send a packet that speaks of the present view, or of another one."""
        if to:
            number = self.state.view.number if view is None else view
            packet = Packet(self.config.group, self.me, number, body)
            self.effects.append(Transmit(packet, to))
            detours = self.state.detours
            for process, (helper, is_deaf) in detours.items() if detours else ():
                if to >> process & 1:
                    detour = Detour(process, self.me, is_deaf, body)
                    self.emit(
                        Transmit(Packet(self.config.group, self.me, number, detour), 1 << helper)
                    )

    def transmit_to(self, rank: int, body: Plain) -> None:
        """Send a packet to one member of the view."""
        self.transmit(1 << self.state.view.members[rank].process, body)

    def report(self, waits: bool = False, troubled: bool = False) -> Report:
        """What it acknowledges: nothing that came while it was blocked, since the next view may
        leave that out, or this member."""
        acknowledged = self.state.peers[self.rank].row
        missing = set_to_bytes(self._silent()) if troubled else b""
        return Report(
            acknowledged, self.frozen, self.leaves(self.rank), waits, troubled, missing=missing
        )

    @property
    def frozen(self) -> bool:
        """Whether it has answered a flush of this view."""
        return self.state.promised != NO_BALLOT

    @property
    def blocked(self) -> bool:
        """Nothing is delivered between the answer to a flush and the next view (the flush would not
        know of it), nor without a quorum, nor in a view that is known to be over."""
        return self.frozen or self.state.suspended or self.state.decided is not None

    def suspected(self, rank: int) -> bool:
        """Whether a member of the view seems to have failed: it is silent or deaf, or its
        process is back in another life. It may be wrong."""
        return rank != self.rank and (self._seems_failed(rank) or self._is_back(rank))

    def _seems_failed(self, rank: int) -> bool:
        peer = self.state.peers[rank]
        if self.now - peer.heard_at > self._suspect_after_s and self._is_silent(rank):
            return True
        if peer.missing and self._is_deaf(rank):
            return True
        return not self.config.trusts and self._has_failed(rank)

    def _is_back(self, rank: int) -> bool:
        member = self.state.view.members[rank]
        return any(
            other.process == member.process and other.incarnation > member.incarnation
            for other in self.state.joining
        )

    def _is_silent(self, rank: int) -> bool:
        return self.now - self.state.peers[rank].heard_at > self.limit_s(rank)

    def limit_s(self, rank: int) -> float:
        """How long a member may be silent: three times as long as it has been lately, within
        bounds. An accrual detector with the largest silence for its distribution: what keeps a
        process from speaking (other processes, a pause of the machine) comes again, and means and
        deviations know little of it."""
        usual, patience = self.config.suspect_after_s, self.config.patience
        if patience <= 1.0:
            return usual
        peer = self.state.peers[rank]
        faded: float = peer.gap_s * 0.5 ** ((self.now - peer.gap_at) / (30 * usual))
        return min(max(usual, 3 * faded), patience * usual)

    def hear(self, rank: int) -> None:
        """A member is known to live."""
        peer = self.state.peers[rank]
        if self.config.patience > 1.0:
            silence_s = self.now - peer.heard_at
            if 3 * silence_s > self.limit_s(rank):
                peer.gap_s, peer.gap_at = silence_s, self.now
        peer.heard_at = self.now

    def forgive_silence(self, now: float) -> None:
        """The others have had no reason to speak, so their silence so far says nothing."""
        state = self.state
        for peer in state.peers:
            peer.heard_at = max(peer.heard_at, now)
            peer.direct_at = max(peer.direct_at, now)
        state.heartbeat_at = now  # nor have they missed any

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

    def stretch(self) -> float:
        """How much longer than usual the slowest of those that live are waited for."""
        if self.config.patience <= 1.0:
            return 1.0
        limits = [self.limit_s(rank) for rank in members(self.reached())]
        return max(limits) / self.config.suspect_after_s

    def _has_failed(self, rank: int) -> bool:
        """Whether a member has kept a change of views from coming to an end: it promised what never
        came, or leads one that has been under way for too long, or that leaves out somebody whom
        this member hears."""
        state = self.state
        peer = state.peers[rank]
        is_long = self.now - state.frozen_at > self.config.patience_s
        if is_long or self.now - state.refused_at > 2 * self.config.suspect_after_s:
            leader = state.promised.process == state.view.members[rank].process
            peer.failed = peer.failed or leader
        return peer.failed

    def may_lead(self, rank: int) -> bool:
        """Whether a member may be the most senior one that lives and stays: nobody more senior has
        been heard for as long as all is well."""
        if self.config.trusts:
            return True
        if self._has_failed(rank):
            return False
        late = self.now - self.config.late_after_s
        return all(
            self.state.peers[senior].heard_at < late
            or self.leaves(senior)
            or self.suspected(senior)
            for senior in range(rank)
        )

    def may_go(self, rank: int, leader: int) -> bool:
        """Whether a member may be left out of the next view by this leader, where one's word is not
        enough: it wants to go, is silent here as well, or says itself that it does not hear the one
        who leads. The time is for it to answer when all ask around."""
        if rank == leader or self.leaves(rank) or self.suspected(rank):
            return True
        peer = self.state.peers[rank]
        return peer.heard_at < self.now - 1.5 * self.config.late_after_s or leader in peer.missing

    def _silent(self) -> int:
        """The ranks that this member does not hear, as a bit set."""
        ranks = range(len(self.state.view.members))
        return sum(1 << rank for rank in ranks if rank != self.rank and self._is_silent(rank))

    def _is_deaf(self, rank: int) -> bool:
        """Whether a member has said for a while, and says at every tick, that it does not hear this
        one, or so few that it can take part in nothing."""
        peer = self.state.peers[rank]
        missing = peer.missing
        if peer.helped_until <= self.now:
            return False
        since = self.now - self.config.suspect_after_s
        lasting = sum(1 << other for other, told_at in missing.items() if told_at < since)
        return bool(lasting >> self.rank & 1) or not self.is_quorum(self.everybody & ~lasting)

    def reached(self) -> int:
        """The ranks that are not suspected, as a bit set."""
        state, since = self.state, self.now - self._suspect_after_s
        if not state.joining and self.config.trusts:  # the usual case, and a short cut
            own = state.peers[self.rank]
            for peer in state.peers:
                if (peer.heard_at < since or peer.missing) and peer is not own:
                    break
            else:
                return self.everybody
        asking = {member.process for member in state.joining}
        reached = 0
        for rank, member in enumerate(state.view.members):
            is_back = member.process in asking and self._is_back(rank)
            if rank == self.rank or not (self._seems_failed(rank) or is_back):
                reached |= 1 << rank
        return reached

    def is_quorum(self, ranks: int, size: int | None = None) -> bool:
        """Whether these may decide on what follows their view (of this size, or the present one):
        any two quorums have a member in common. Half of a view is one if it has the most senior
        member."""
        if self._are_survivors_enough:
            return ranks > 0
        size = len(self.state.view.members) if size is None else size
        twice = 2 * ranks.bit_count()
        return twice > size or (twice == size and bool(ranks & 1))

    def coordinator(self, reached: int) -> int:
        """The rank that should lead the next change, in this member's eyes: the most senior one
        that stays of those within reach."""
        if reached & 1 and not self.leaves(0):
            return 0
        staying = (rank for rank in members(reached) if not self.leaves(rank))
        return next(staying, next(members(reached)))

    def leaves(self, rank: int) -> bool:
        """Whether a member has asked to leave and has nothing left to send."""
        if rank == self.rank:
            return self.state.leaving and not self.state.queue
        return self.state.peers[rank].leaving
