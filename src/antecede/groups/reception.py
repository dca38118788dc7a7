"""Which part of a member answers a packet: by its kind, the view that it speaks of, and whom it is
from."""

from antecede.groups.api import StopReason
from antecede.groups.channels import Channels
from antecede.groups.core import Core
from antecede.groups.detours import Detours
from antecede.groups.flush import Flushing
from antecede.groups.identities import MemberId
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
    check_next,
)
from antecede.groups.reporting import Reporting
from antecede.groups.state import JOINING, MEMBER

_OF_ANY_VIEW = frozenset({Join, Ask, Decide})
"""What is said across views."""


class Reception:
    """Where the packets that come go on to."""

    def __init__(
        self,
        core: Core,
        flushing: Flushing,
        channels: Channels,
        reporting: Reporting,
        detours: Detours,
    ) -> None:
        self.core = core
        self._flushing = flushing
        self._streams = flushing.streams
        self._admission = flushing.admission
        self._learner = flushing.learner
        self._acceptor = flushing.acceptor
        self._channels = channels
        self._reporting = reporting
        self._detours = detours

    def take(self, packet: Packet) -> None:
        """A packet that has been checked."""
        core, body = self.core, packet.body
        state = core.state
        is_of_view = state.phase is MEMBER and packet.view == state.view.number
        is_direct = type(body) is not Detour
        if type(body) is Detour:
            arrived = self._detours.on_detour(packet, body)
            if arrived is None:
                return
            packet, body = arrived, arrived.body
        rank = core.ranks.get(packet.source)
        if is_of_view and is_direct and rank is not None:
            state.peers[rank].direct_at = core.now
        if is_of_view and type(body) not in _OF_ANY_VIEW:
            self._receive_here(rank, packet)  # nearly always
        elif state.phase is MEMBER:
            self._receive_as_member(packet)
        elif state.phase is JOINING:
            self._receive_while_joining(packet)

    def _receive_while_joining(self, packet: Packet) -> None:
        body = packet.body
        if isinstance(body, Welcome):
            self._admission.on_welcome(body)
        elif isinstance(body, Refuse) and body.incarnation == self.core.me.incarnation:
            self._admission.stop(StopReason.EXCLUDED, [])
        elif isinstance(body, Report):
            self._learner.tell_how_it_ended(packet)

    def _receive_as_member(self, packet: Packet) -> None:
        """A packet of another view, or one that is said across views."""
        state, body = self.core.state, packet.body
        if packet.view < state.view.number and not self.core.config.trusts:
            self._hear_from_before(packet.source)
        if isinstance(body, Join):
            self._admission.on_join(packet, body)
        elif isinstance(body, Ask) and packet.view < state.view.number:
            self._learner.on_ask(packet, body)
        elif isinstance(body, Decide):
            self._on_decide(packet, body)
        elif packet.view < state.view.number:
            self._on_old(packet)
        elif packet.view > state.view.number:
            if not isinstance(body, Refuse | Welcome):
                self._learner.on_newer(packet)
        else:
            self._receive_here(self.core.ranks.get(packet.source), packet)

    def _hear_from_before(self, member: MemberId) -> None:
        """A member of this view that has not come along lives, and may lack the word of others
        that it needs for that: it gets some time."""
        core, state = self.core, self.core.state
        rank = core.ranks.get(member)
        is_early = core.now - state.entered_at <= core.config.patience_s
        if rank is not None and is_early and not state.peers[rank].present:
            core.hear(rank)

    def _on_decide(self, packet: Packet, body: Decide) -> None:
        """The end of this view; a later one is news only for who is not in it."""
        core, number = self.core, self.core.state.view.number
        check_next(body.decision, packet.view)
        if not core.config.trusts:
            self._hear_decision(packet, body.decision)
        elif packet.view == number or (
            packet.view > number and body.decision.view.rank(core.me) is None
        ):
            self._learner.learn(body.decision)

    def _hear_decision(self, packet: Packet, decision: Decision) -> None:
        """The word of one is not enough."""
        core, number = self.core, self.core.state.view.number
        rank = core.ranks.get(packet.source)
        if packet.view == number and rank is not None:
            self._acceptor.on_word(rank, decision)
        elif packet.view >= number and decision.view.rank(core.me) is None:
            self._learner.on_parted(rank, decision)

    def _on_old(self, packet: Packet) -> None:
        """Whoever reports in an older view is shown that there is a newer one. Anything else, a
        late PREPARE above all, speaks of what is over."""
        if isinstance(packet.body, Report):
            self.core.transmit(1 << packet.source.process, self.core.report())
        elif isinstance(packet.body, Vouch):
            self._learner.tell_how_it_ended(packet)
        elif isinstance(packet.body, Tell | Heard):
            self._tell_or_heard(packet)

    def _tell_or_heard(self, packet: Packet) -> None:
        body = packet.body
        if packet.source in self.core.ranks:
            if isinstance(body, Tell):
                self._channels.on_tell(packet.source, body)
            elif isinstance(body, Heard):
                self._channels.on_heard(packet.source, body)

    def _believed(self, rank: int, stable: Vector) -> Vector:
        """What a member may say to be stable, where it is not trusted: its own messages, or as the
        most senior one all, but none that has not come here."""
        if self.core.config.trusts or not stable:
            return stable
        return tuple(
            count if rank in (0, other) else 0
            for other, count in enumerate(map(min, stable, self.core.state.received))
        )

    def _receive_here(self, rank: int | None, packet: Packet) -> None:
        """A packet of this view, from the member with this rank, or from a stranger."""
        core, body = self.core, packet.body
        if rank is None or rank == core.rank:
            return
        core.hear(rank)
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
                if core.may_lead(rank):
                    self._acceptor.on_prepare(rank, body)
            case Promise():
                self._flushing.on_promise(rank, body)
            case Reject():
                self._flushing.on_reject(body)
            case Accept():
                if core.may_lead(rank):
                    self._acceptor.on_accept(rank, body)
            case Accepted():
                self._flushing.on_accepted(rank, body)
            case Ask():
                # It knows a decision about this view, which may not be over here.
                self._streams.push(rank, body.received, core.state.current)
            case Vouch():
                if not core.config.trusts:
                    self._acceptor.on_vouch(rank, body.ballot, body.decision)
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
