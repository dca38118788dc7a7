"""Decisions about the next view: how they are learnt, carried out and handed on.

Who knows the decision and has not come to the next view hands it on, with its messages: who stays
until it is there, who goes until a quorum is, for without it those who stay may be too few.
"""

from antecede.errors import BrokenInvariant
from antecede.groups.admission import Admission
from antecede.groups.api import Resumed
from antecede.groups.core import Core
from antecede.groups.packets import Ask, Decide, Decision, Packet
from antecede.groups.streams import Streams
from antecede.message import members, process_set


class Learner:
    """What a member does with the outcome of a flush."""

    def __init__(self, core: Core, streams: Streams, admission: Admission) -> None:
        self.core = core
        self.streams = streams
        self.admission = admission

    def learn(self, decision: Decision) -> None:
        """A decision about the next view: carry it out as soon as all its messages are here."""
        core, state = self.core, self.core.state
        stays = decision.view.rank(core.me) is not None
        if not stays and decision.view.number > state.view.number + 1:
            self.admission.depart(state.decided or decision)
        elif stays and self.holds(decision):
            self._carry_out(decision)
        elif state.decided is None:
            state.flush = None
            state.decided, state.decided_at = decision, core.now
            self.hand_on()

    def _carry_out(self, decision: Decision) -> None:
        """Deliver up to the cut, then go to the next view."""
        state = self.core.state
        if state.suspended:
            state.suspended = False
            self.core.emit(Resumed(state.view.number))
        for rank, number in sorted(state.current):
            if number > decision.cut[rank]:
                del state.current[rank, number]
        self.streams.deliver_up_to(list(range(len(decision.cut))), decision.cut)
        if tuple(state.delivered) != decision.cut:
            raise BrokenInvariant(
                f"{self.core.me} delivered {state.delivered} before view {decision.view.number}, "
                f"which begins after {list(decision.cut)}"
            )
        self.admission.install(decision)

    def holds(self, decision: Decision) -> bool:
        """Whether every message of the cut is here."""
        return all(map(int.__ge__, self.core.state.received, decision.cut))

    def hand_on(self) -> None:
        """Tell those who have still to come along; where nobody stays, all. Who stays asks one of
        them after the other for what is missing; who goes does so when it has told them for long.
        """
        core, state = self.core, self.core.state
        decision = state.decided
        if decision is None:
            return
        staying = decision.view.members
        behind = [m.process for rank, m in enumerate(staying) if not state.arrived >> rank & 1]
        to = process_set(behind) if staying else core.others
        core.transmit(to & core.others, Decide(decision))
        others = list(members(core.others))
        if decision.view.rank(core.me) is not None:
            core.transmit(1 << others[state.ticks % len(others)], Ask(tuple(state.received)))
            return
        patience_s = core.config.patience_s if staying else core.config.suspect_after_s
        if not others or core.now - state.decided_at > patience_s:
            self.admission.depart(decision)

    def on_parted(self, rank: int | None, decision: Decision) -> None:
        """A member says that the group has long gone on without this one; or somebody says so whom
        this one does not know, who is out of reach of the others."""
        core, state = self.core, self.core.state
        if rank is not None:
            state.peers[rank].parted = True
        parted = process_set(rank for rank, peer in enumerate(state.peers) if peer.parted)
        if state.suspended or core.is_quorum(parted):
            self.learn(decision)

    # Those who are behind, or ahead.

    def on_newer(self, packet: Packet) -> None:
        """A packet of a later view. Who is to go does so when a quorum has come there."""
        core, state = self.core, self.core.state
        decision = state.decided
        if decision is None or decision.view.rank(core.me) is not None:
            self._ask(packet.source.process)
            return
        rank = decision.view.rank(packet.source)
        if rank is not None:
            state.arrived |= 1 << rank
        size = len(decision.view.members)
        if packet.view > decision.view.number or core.is_quorum(state.arrived, size):
            self.admission.depart(decision)

    def _ask(self, process: int) -> None:
        """A newer view exists: ask how this one ended."""
        core, state = self.core, self.core.state
        if core.now - state.asked_at >= core.config.tick_s:
            state.asked_at = core.now
            core.transmit(1 << process, Ask(tuple(state.received)))

    def on_ask(self, packet: Packet, body: Ask) -> None:
        """Tell one that is behind how its view ended, with the messages that it lacks."""
        state, process = self.core.state, packet.source.process
        decision = self.tell_how_it_ended(packet)
        if packet.view + 1 == state.view.number:
            if decision is not None and len(body.received) == len(decision.cut):
                self.streams.push_to(process, body.received, state.previous)
        elif decision is None or decision.view.rank(packet.source) is not None:
            latest = state.decisions.get(state.view.number)
            if latest is not None:
                self.core.transmit(1 << process, Decide(latest), state.view.number - 1)

    def tell_how_it_ended(self, packet: Packet) -> Decision | None:
        """One that is behind does not know how its view ended."""
        decision = self.core.state.decisions.get(packet.view + 1)
        if decision is not None:
            self.core.transmit(1 << packet.source.process, Decide(decision), packet.view)
        return decision
