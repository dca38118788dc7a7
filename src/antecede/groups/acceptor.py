"""The members' side of a flush: promises, acceptances and, where members do not trust each other,
how each hears from a quorum what the others have accepted."""

from math import inf

import msgspec

from antecede.groups.core import Core
from antecede.groups.learner import Learner
from antecede.groups.packets import (
    Accept,
    Accepted,
    Ballot,
    Decision,
    Prepare,
    Promise,
    Reject,
    Vouch,
)
from antecede.groups.streams import Streams
from antecede.message import process_set


class Acceptor:
    """What a member has promised and accepted."""

    def __init__(self, core: Core, streams: Streams, learner: Learner) -> None:
        self.core = core
        self.streams = streams
        self.learner = learner

    def on_prepare(self, rank: int, body: Prepare) -> None:
        core, state = self.core, self.core.state
        if body.ballot < state.promised:
            core.transmit_to(rank, Reject(state.promised))
            return
        self.promise(body.ballot)
        self.streams.push(rank, body.received, state.current)
        earlier = (state.accepted_in, state.accepted)
        beyond = self.streams.beyond_gaps()
        core.transmit_to(rank, Promise(body.ballot, tuple(state.received), *earlier, beyond))

    def on_accept(self, rank: int, body: Accept) -> None:
        core, state = self.core, self.core.state
        if body.ballot < state.promised:
            core.transmit_to(rank, Reject(state.promised))
            return
        self.promise(body.ballot)
        if not self._is_fair(rank, body.decision):
            return  # It is asked again.
        complete = self.learner.holds(body.decision)
        if complete:
            self.accept(body.ballot, body.decision)
        core.transmit_to(rank, Accepted(body.ballot, tuple(state.received), complete))

    def promise(self, ballot: Ballot) -> None:
        core, state = self.core, self.core.state
        if state.flush is not None and state.flush.ballot < ballot:
            state.flush = None
        if ballot.process != state.promised.process or not core.frozen:
            # What another leader did is not this one's fault.
            state.frozen_at, state.refused_at = core.now, inf
        state.promised = ballot
        state.highest = max(state.highest, ballot)
        state.flush_heard_at = core.now

    def accept(self, ballot: Ballot, decision: Decision) -> None:
        core = self.core
        core.state.accepted_in = ballot
        core.state.accepted = decision
        if not core.config.trusts:
            core.state.peers[core.rank].vouched = _encode((ballot, decision))
            core.transmit(core.others, Vouch(ballot, decision))

    # Where members do not trust each other.

    def on_vouch(self, rank: int, ballot: Ballot, decision: Decision) -> None:
        """A member, perhaps this one, has accepted this."""
        self.core.state.peers[rank].vouched = _encode((ballot, decision))
        self._learn_if_vouched(ballot, decision)

    def on_word(self, rank: int, decision: Decision) -> None:
        """A member says that this is decided. If it may lead, that is as good as its proposal: who
        holds all messages would have accepted it. Who is out of reach of a quorum, and left out,
        believes it."""
        core, state = self.core, self.core.state
        state.peers[rank].decided = _encode(decision)
        if core.may_lead(rank) and self._is_fair(rank, decision) and self.learner.holds(decision):
            state.peers[core.rank].decided = state.peers[rank].decided
        if state.suspended and decision.view.rank(core.me) is None:
            self.learner.learn(decision)
        else:
            self._learn_if_vouched(state.accepted_in, decision)

    def _is_fair(self, leader: int, decision: Decision) -> bool:
        """Whether whoever is left out may be, in this member's eyes, or in those of another one
        that accepted the same before: then it has to be proposed again. A leader that insists on
        what is not fair is taken for failed after a while (`Core`)."""
        core, state = self.core, self.core.state
        if core.config.trusts or self._is_vouched(decision, leader):
            return True
        staying = set(decision.view.members)
        left_out = [rank for rank, one in enumerate(state.view.members) if one not in staying]
        if all(core.may_go(rank, leader) for rank in left_out if rank != core.rank):
            state.refused_at = inf
            return True
        state.refused_at = min(state.refused_at, core.now)
        return False

    def _is_vouched(self, decision: Decision, leader: int) -> bool:
        """Whether somebody besides the one who leads has accepted this."""
        encoded = _encode(decision)
        return any(
            rank not in (leader, self.core.rank) and peer.vouched.endswith(encoded)
            for rank, peer in enumerate(self.core.state.peers)
        )

    def _learn_if_vouched(self, ballot: Ballot, decision: Decision) -> None:
        """It is decided if a quorum has accepted it in one ballot, or says that it is. The one who
        leads says so when those who stay have all accepted it, so that nobody is left behind; that
        is waited for, but not for long."""
        core, state = self.core, self.core.state
        if state.decided is not None:
            return
        accepted, decided = _encode((ballot, decision)), _encode(decision)
        vouching = process_set(
            rank
            for rank, peer in enumerate(state.peers)
            if accepted == peer.vouched or decided == peer.decided
        )
        is_said = any(decided == peer.decided for peer in state.peers)
        is_late = core.now - state.frozen_at > core.config.flush_timeout_s
        if core.is_quorum(vouching) and (is_said or is_late):
            self.learner.learn(decision)

    def vouch_again(self) -> None:
        """Some may have missed it; the more there are, the less often all are told."""
        core, state = self.core, self.core.state
        if core.config.trusts or state.accepted is None:
            return
        if state.ticks % (4 + len(state.peers) // 4) == 0:
            core.transmit(core.others, Vouch(state.accepted_in, state.accepted))


_encode = msgspec.msgpack.Encoder().encode
