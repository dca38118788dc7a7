"""Agreement on the next view, and on the messages delivered before it.

The members of a view decide the next one by one round of Paxos among themselves. The coordinator
asks all to stop delivering (`Prepare`); each answers with what it has received and with what it may
have accepted before (`Promise`), and sends along what the coordinator lacks. With the promises of a
quorum and of all that live, the coordinator proposes a view and a cut: for each member of the old
view, how many of its messages are delivered first. A member accepts only when it holds every
message up to the cut, so a decision can be carried out by whoever is left. Invariants:

- between its promise and the next view a member delivers nothing, so the cut covers all deliveries;
- of two coordinators the one with the higher ballot wins, and it proposes again whatever a quorum
  may have accepted;
- who is in the next view has promised, and everything that it delivered or sent is within the cut;
- who knows the decision and has not come to the next view hands it on, with its messages: who
  stays until it is there, who goes until a quorum is, for without it those who stay may be too few.
"""

from collections.abc import Iterable
from math import inf

import msgspec

from antecede.errors import BrokenInvariant
from antecede.groups.admission import Admission
from antecede.groups.api import Resumed
from antecede.groups.core import Core
from antecede.groups.identities import MemberId, View
from antecede.groups.packets import (
    Accept,
    Accepted,
    Ask,
    Ballot,
    Decide,
    Decision,
    Packet,
    Prepare,
    Promise,
    Reject,
    Vector,
    Vouch,
)
from antecede.groups.state import Answer, Flush
from antecede.groups.streams import Streams
from antecede.message import members, process_set

_COMPANY = 16
"""Up to so many members, newcomers wait as long as it says in the settings for each other;"""
_PAUSES = 10
"""those who come one after the other, that many times as long."""


class Flushing:
    """Both sides of a change of views: the coordinator's and the members'."""

    def __init__(self, core: Core, streams: Streams, admission: Admission) -> None:
        self.core = core
        self.streams = streams
        self.admission = admission

    # The coordinator.

    def tick(self, reached: int) -> None:
        """Begin a change if there is a reason and it is this member's turn; press on with one that
        is under way. `reached`: the ranks within reach, as a bit set."""
        core, state = self.core, self.core.state
        if core.is_quorum(reached):  # else it would only keep the others from going on
            if state.flush is not None:
                self._press()
            elif core.coordinator(reached) == core.rank and self._reason():
                self._begin()
        if not core.config.trusts and state.accepted is not None:
            self._vouch_again(state.accepted)
        decided = core.state.decided  # of another state if that was the end of this member
        if decided is not None:
            self._hand_on(decided)

    def _reason(self) -> bool:
        """Somebody failed, wants to leave or to join, or is stuck in a flush that nobody leads. A
        flush that another may be leading gets time to end, the more the more junior this one is,
        so that coordinators do not duel."""
        core, state = self.core, self.core.state
        if state.decided is not None:
            return False
        ranks = range(len(state.view.members))
        patience_s = (2 + core.rank / len(ranks)) * core.config.flush_timeout_s
        abandoned = core.now - state.flush_heard_at > patience_s
        if core.frozen:
            return abandoned
        if abandoned and any(peer.flushing for peer in state.peers):
            return True
        left = any(core.suspected(rank) or core.leaves(rank) for rank in ranks)
        return left or (self._is_time_for_newcomers() and bool(self.admission.candidates()))

    def _is_time_for_newcomers(self) -> bool:
        """A change costs a packet from everybody to everybody: so the more members there are, the
        longer newcomers wait for others to come along, but not for ever; and those who came last
        arrive first."""
        core, state = self.core, self.core.state
        pause_s = core.config.join_pause_s * max(1.0, len(state.peers) / _COMPANY)
        if not pause_s:
            return True
        is_here = all(peer.present for peer in state.peers)
        is_last = core.now - state.newest_at >= pause_s
        return is_here and (is_last or core.now - state.joining_at >= _PAUSES * pause_s)

    def _begin(self) -> None:
        core, state = self.core, self.core.state
        state.highest = Ballot(state.highest.number + 1, core.me.process)
        state.flush = Flush(state.highest, core.now)
        self._promise(state.highest)
        answer = Answer(tuple(state.received), state.accepted_in, state.accepted)
        state.flush.answers[core.rank] = answer
        core.transmit(core.others, Prepare(state.highest, tuple(state.received)))
        self._progress()

    def _press(self) -> None:
        """Repeat what is not answered."""
        core, state, flush = self.core, self.core.state, self._flush()
        received = tuple(state.received)
        if flush.decision is None:
            if not core.is_quorum(_bits(flush.answers)):
                flush.began_at = core.now
            wanted = self._wanted_cut(flush)
            for rank in members(core.everybody & ~(1 << core.rank)):
                answer = flush.answers.get(rank)
                if answer is None or any(map(int.__gt__, wanted, received)):
                    self._send(rank, Prepare(flush.ballot, received))
            if self._overdue(flush) and any(map(int.__gt__, wanted, received)):
                self._restart(flush)
                return
        elif self._is_back(flush.decision):
            self._begin()
            return
        else:
            for rank in members(core.everybody & ~flush.accepted):
                self._send(rank, Accept(flush.ballot, flush.decision))
        self._progress()

    def _is_back(self, decision: Decision) -> bool:
        """Whether somebody is heard again who is to be left out: others that hear it would not have
        it, where members do not trust each other."""
        core, view = self.core, self.core.state.view
        return not core.config.trusts and any(
            not core.suspected(rank) and not core.leaves(rank)
            for rank, member in enumerate(view.members)
            if decision.view.rank(member) is None
        )

    def _restart(self, flush: Flush) -> None:
        """Who promised messages that have not come is gone, or too slow: begin again."""
        limit = 3 * self.core.config.flush_timeout_s
        if self.core.now - flush.began_at > limit:
            if not self.core.config.trusts:
                self._suspect_promisers(flush)
            self._begin()

    def _overdue(self, flush: Flush) -> bool:
        timeout_s = self.core.config.flush_timeout_s * self.core.stretch()
        return self.core.now - flush.began_at > timeout_s

    def _awaited(self, flush: Flush, answered: int) -> int:
        """The ranks that the coordinator still waits for, as a bit set. After a suspension
        everybody gets the time to be heard again."""
        if self._overdue(flush):
            return 0
        pool = self.core.everybody if self.core.state.suspended else self.core.reached()
        return pool & ~answered

    def _progress(self) -> None:
        core, state = self.core, self.core.state
        flush = state.flush
        if flush is None:
            return
        if flush.decision is None:
            answered = _bits(flush.answers)
            if self._awaited(flush, answered) or not core.is_quorum(answered):
                return
            if any(map(int.__gt__, self._wanted_cut(flush), state.received)):
                return
            self._propose(flush)
        self._decide_if_accepted(flush)

    def _wanted_cut(self, flush: Flush) -> Vector:
        """All that must be at hand before a proposal: what was accepted before, or everything that
        any of those who answered has received."""
        earlier = self._earlier(flush)
        if earlier is not None:
            return earlier.cut
        rows = [answer.received for answer in flush.answers.values()]
        return tuple(map(max, *rows)) if len(rows) > 1 else rows[0]

    def _earlier(self, flush: Flush) -> Decision | None:
        """What a quorum may have accepted already: the proposal of the highest ballot. Where
        members do not trust each other, one that a quorum cannot have accepted, by what the others
        say of themselves, is nobody's."""
        if self.core.config.trusts:
            best = max(flush.answers.values(), key=lambda answer: answer.accepted_in)
            return best.accepted
        answers = sorted(flush.answers.values(), key=lambda answer: answer.accepted_in)
        silent = self.core.everybody & ~_bits(flush.answers)
        for claimed in reversed(answers):
            claim = (claimed.accepted_in, claimed.accepted)
            claiming = _bits(
                rank
                for rank, answer in flush.answers.items()
                if (answer.accepted_in, answer.accepted) == claim
            )
            if claimed.accepted is not None and self.core.is_quorum(claiming | silent):
                return claimed.accepted
        return None

    def _propose(self, flush: Flush) -> None:
        core, state = self.core, self.core.state
        decision = self._earlier(flush)
        if decision is None:
            decision = Decision(self._next_view(flush), self._consistent(self._wanted_cut(flush)))
        flush.decision = decision
        flush.began_at = core.now
        self._accept(flush.ballot, decision)
        flush.accepted = 1 << core.rank
        core.transmit(core.others, Accept(flush.ballot, decision))
        for rank, answer in sorted(flush.answers.items()):
            if rank != core.rank:
                self.streams.push(rank, answer.received, state.current)

    def _next_view(self, flush: Flush) -> View:
        """Those who promised and stay, in their order, then the newcomers."""
        core, view = self.core, self.core.state.view
        staying: list[MemberId] = [
            member
            for rank, member in enumerate(view.members)
            if rank in flush.answers and not core.suspected(rank) and not core.leaves(rank)
        ]
        newcomers = self.admission.candidates() if staying else []
        return View(view.number + 1, (*staying, *newcomers))

    def _consistent(self, wanted: Vector) -> Vector:
        """The largest part of these messages that can be delivered: a message whose predecessor
        died with all that held it goes, too."""
        state = self.core.state
        cut = list(state.delivered)
        progress = True
        while progress:
            progress = False
            for rank, limit in enumerate(wanted):
                while cut[rank] < limit:
                    vector = state.current[rank, cut[rank] + 1].vector
                    if any(vector[r] > cut[r] for r in range(len(cut)) if r != rank):
                        break
                    cut[rank] += 1
                    progress = True
        return tuple(cut)

    def _decide_if_accepted(self, flush: Flush) -> None:
        core, state = self.core, self.core.state
        decision = flush.decision
        if decision is None or not core.is_quorum(flush.accepted):
            return
        staying = _bits(
            rank
            for rank, member in enumerate(state.view.members)
            if member in decision.view.members
        )
        if self._awaited(flush, flush.accepted) & staying:
            return
        others, number = core.others, state.view.number
        self.learn(decision)
        core.transmit(others, Decide(decision), number)

    def on_promise(self, rank: int, body: Promise) -> None:
        flush = self.core.state.flush
        if flush is None or flush.ballot != body.ballot or flush.decision is not None:
            return
        if not self.core.config.trusts and self.core.state.peers[rank].failed:
            return
        flush.answers[rank] = Answer(body.received, body.accepted_in, body.accepted)
        self._progress()

    def on_reject(self, body: Reject) -> None:
        """Another coordinator is ahead: leave it the field for a while."""
        core, state = self.core, self.core.state
        state.highest = max(state.highest, body.promised)
        if state.flush is not None and state.flush.ballot < body.promised:
            state.flush = None
            state.flush_heard_at = core.now

    def on_accepted(self, rank: int, body: Accepted) -> None:
        core = self.core
        flush = core.state.flush
        if flush is None or flush.ballot != body.ballot:
            return
        if body.complete:
            flush.accepted |= 1 << rank
            self._decide_if_accepted(flush)
        else:
            self.streams.push(rank, body.received, core.state.current)

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
        if core.may_lead(rank) and self._is_fair(rank, decision) and self._holds(decision):
            state.peers[core.rank].decided = state.peers[rank].decided
        if state.suspended and decision.view.rank(core.me) is None:
            self.learn(decision)
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
        vouching = _bits(
            rank
            for rank, peer in enumerate(state.peers)
            if accepted == peer.vouched or decided == peer.decided
        )
        is_said = any(decided == peer.decided for peer in state.peers)
        is_late = core.now - state.frozen_at > core.config.flush_timeout_s
        if core.is_quorum(vouching) and (is_said or is_late):
            self.learn(decision)

    def _vouch_again(self, accepted: Decision) -> None:
        """Some may have missed it; the more there are, the less often all are told."""
        core, state = self.core, self.core.state
        if state.ticks % (4 + len(state.peers) // 4) == 0:
            core.transmit(core.others, Vouch(state.accepted_in, accepted))

    def tell_how_it_ended(self, packet: Packet) -> None:
        """One that is behind does not know how its view ended."""
        core = self.core
        decision = core.state.decisions.get(packet.view + 1)
        if decision is not None:
            core.transmit(1 << packet.source.process, Decide(decision), packet.view)

    def on_parted(self, rank: int | None, decision: Decision) -> None:
        """A member says that the group has long gone on without this one; or somebody says so whom
        this one does not know, who is out of reach of the others."""
        core, state = self.core, self.core.state
        if rank is not None:
            state.peers[rank].parted = True
        parted = _bits(rank for rank, peer in enumerate(state.peers) if peer.parted)
        if state.suspended or core.is_quorum(parted):
            self.learn(decision)

    def _suspect_promisers(self, flush: Flush) -> None:
        """What they promised has not come."""
        state = self.core.state
        for rank, answer in flush.answers.items():
            if rank != self.core.rank and any(map(int.__gt__, answer.received, state.received)):
                state.peers[rank].failed = True

    # The members.

    def on_prepare(self, rank: int, body: Prepare) -> None:
        state = self.core.state
        if body.ballot < state.promised:
            self._send(rank, Reject(state.promised))
            return
        self._promise(body.ballot)
        self.streams.push(rank, body.received, state.current)
        answer = Promise(body.ballot, tuple(state.received), state.accepted_in, state.accepted)
        self._send(rank, answer)

    def on_accept(self, rank: int, body: Accept) -> None:
        state = self.core.state
        if body.ballot < state.promised:
            self._send(rank, Reject(state.promised))
            return
        self._promise(body.ballot)
        if not self._is_fair(rank, body.decision):
            return  # It is asked again.
        complete = self._holds(body.decision)
        if complete:
            self._accept(body.ballot, body.decision)
        self._send(rank, Accepted(body.ballot, tuple(state.received), complete))

    def _promise(self, ballot: Ballot) -> None:
        core, state = self.core, self.core.state
        if state.flush is not None and state.flush.ballot < ballot:
            state.flush = None
        if ballot.process != state.promised.process or not core.frozen:
            # What another leader did is not this one's fault.
            state.frozen_at, state.refused_at = core.now, inf
        state.promised = ballot
        state.highest = max(state.highest, ballot)
        state.flush_heard_at = core.now

    def _accept(self, ballot: Ballot, decision: Decision) -> None:
        core = self.core
        core.state.accepted_in = ballot
        core.state.accepted = decision
        if not core.config.trusts:
            core.state.peers[core.rank].vouched = _encode((ballot, decision))
            core.transmit(core.others, Vouch(ballot, decision))

    def _holds(self, decision: Decision) -> bool:
        return all(map(int.__ge__, self.core.state.received, decision.cut))

    # Decisions.

    def learn(self, decision: Decision) -> None:
        """A decision about the next view: carry it out as soon as all its messages are here."""
        core, state = self.core, self.core.state
        stays = decision.view.rank(core.me) is not None
        if not stays and decision.view.number > state.view.number + 1:
            self.admission.depart(state.decided or decision)
        elif stays and self._holds(decision):
            self._carry_out(decision)
        elif state.decided is None:
            state.flush = None
            state.decided, state.decided_at = decision, core.now
            self._hand_on(decision)

    def retry(self) -> None:
        """Messages have come: perhaps a decision, or a proposal, was waiting for them."""
        core, state = self.core, self.core.state
        decision = state.decided
        if decision is not None:
            if decision.view.rank(core.me) is not None and self._holds(decision):
                self._carry_out(decision)
        elif state.flush is not None:
            self._progress()

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

    def _hand_on(self, decision: Decision) -> None:
        """Tell those who have still to come along; where nobody stays, all. Who stays asks one of
        them after the other for what is missing; who goes does so when it has told them for long.
        """
        core, state, staying = self.core, self.core.state, decision.view.members
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

    def on_ask_here(self, rank: int, body: Ask) -> None:
        """One that knows the decision lacks messages of this view, which may not be over here."""
        self.streams.push(rank, body.received, self.core.state.current)

    def on_ask(self, packet: Packet, body: Ask) -> None:
        """Tell one that is behind how its view ended, with the messages that it lacks."""
        core, state = self.core, self.core.state
        process = packet.source.process
        decision = state.decisions.get(packet.view + 1)
        if decision is not None:
            core.transmit(1 << process, Decide(decision), packet.view)
        if packet.view + 1 == state.view.number:
            if decision is not None and len(body.received) == len(decision.cut):
                self.streams.push_to(process, body.received, state.previous)
        elif decision is None or decision.view.rank(packet.source) is not None:
            latest = state.decisions.get(state.view.number)
            if latest is not None:
                core.transmit(1 << process, Decide(latest), state.view.number - 1)

    def _send(self, rank: int, body: Prepare | Promise | Reject | Accept | Accepted) -> None:
        self.core.transmit(1 << self.core.state.view.members[rank].process, body)

    def _flush(self) -> Flush:
        flush = self.core.state.flush
        if flush is None:
            raise BrokenInvariant(f"{self.core.me} leads no change of views")
        return flush


_encode = msgspec.msgpack.Encoder().encode


def _bits(ranks: Iterable[int]) -> int:
    return sum(1 << rank for rank in ranks)
