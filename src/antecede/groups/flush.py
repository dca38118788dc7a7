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
- who is in the next view has promised, and everything that it delivered or sent is within the cut.

Here is the coordinator; `acceptor` is what every member answers, `learner` what follows a decision.
"""

from antecede.groups.acceptor import Acceptor
from antecede.groups.admission import Admission
from antecede.groups.core import Core
from antecede.groups.identities import MemberId, View
from antecede.groups.learner import Learner
from antecede.groups.packets import (
    Accept,
    Accepted,
    Ballot,
    Decide,
    Decision,
    Prepare,
    Promise,
    Reject,
    Vector,
)
from antecede.groups.state import Answer, Flush
from antecede.groups.streams import Streams
from antecede.message import members, process_set

_COMPANY = 16
"""Up to so many members, newcomers wait as long as it says in the settings for each other;"""
_PAUSES = 10
"""those who come one after the other, that many times as long."""


class Flushing:
    """How a member coordinates a change of views, with its two other parts in it."""

    def __init__(self, core: Core, streams: Streams, admission: Admission) -> None:
        self.core = core
        self.streams = streams
        self.admission = admission
        self.learner = Learner(core, streams, admission)
        self.acceptor = Acceptor(core, streams, self.learner)

    def tick(self, reached: int) -> None:
        """Begin a change if there is a reason and it is this member's turn; press on with one that
        is under way. `reached`: the ranks within reach, as a bit set."""
        core, state = self.core, self.core.state
        if core.is_quorum(reached):  # else it would only keep the others from going on
            if state.flush is not None:
                self._press(state.flush)
            elif core.coordinator(reached) == core.rank and self._reason():
                self._begin()
        self.acceptor.vouch_again()
        self.learner.hand_on()

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
        self.acceptor.promise(state.highest)
        earlier = (state.accepted_in, state.accepted)
        answer = Answer(tuple(state.received), *earlier, self.streams.beyond_gaps())
        state.flush.answers[core.rank] = answer
        core.transmit(core.others, Prepare(state.highest, tuple(state.received)))
        self._progress()

    def _press(self, flush: Flush) -> None:
        """Repeat what is not answered."""
        core, state = self.core, self.core.state
        received = tuple(state.received)
        if flush.decision is None:
            if not core.is_quorum(process_set(flush.answers)):
                flush.began_at = core.now
            wanted = self._wanted_cut(flush)
            for rank in members(core.everybody & ~(1 << core.rank)):
                answer = flush.answers.get(rank)
                if answer is None or any(map(int.__gt__, wanted, received)):
                    core.transmit_to(rank, Prepare(flush.ballot, received))
            if self._overdue(flush) and any(map(int.__gt__, wanted, received)):
                self._restart(flush)
                return
        elif self._is_back(flush.decision):
            self._begin()
            return
        else:
            for rank in members(core.everybody & ~flush.accepted):
                core.transmit_to(rank, Accept(flush.ballot, flush.decision))
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

    def _suspect_promisers(self, flush: Flush) -> None:
        """What they promised has not come."""
        state = self.core.state
        for rank, answer in flush.answers.items():
            if rank != self.core.rank and any(map(int.__gt__, answer.received, state.received)):
                state.peers[rank].failed = True

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
            answered = process_set(flush.answers)
            if self._awaited(flush, answered) or not core.is_quorum(answered):
                return
            if any(map(int.__gt__, self._wanted_cut(flush), state.received)):
                return
            self._propose(flush)
        self._decide_if_accepted(flush)

    def _wanted_cut(self, flush: Flush) -> Vector:
        """All that must be at hand before a proposal: what was accepted before, or everything that
        those who answered have received between them. What one has beyond a gap counts if others
        fill the gap: its sender may be dead, so that no other copy is left. Where members do not
        trust each other, nobody waits for such a claim."""
        earlier = self._earlier(flush)
        if earlier is not None:
            return earlier.cut
        answers = flush.answers.values()
        rows = [answer.received for answer in answers]
        wanted = list(map(max, *rows)) if len(rows) > 1 else list(rows[0])
        beyond = {key for answer in answers for key in answer.beyond}
        for rank, number in sorted(beyond):
            if number == wanted[rank] + 1:
                wanted[rank] = number
        return tuple(wanted)

    def _earlier(self, flush: Flush) -> Decision | None:
        """What a quorum may have accepted already: the proposal of the highest ballot. Where
        members do not trust each other, one that a quorum cannot have accepted, by what the others
        say of themselves, is nobody's."""
        if self.core.config.trusts:
            best = max(flush.answers.values(), key=lambda answer: answer.accepted_in)
            return best.accepted
        answers = sorted(flush.answers.values(), key=lambda answer: answer.accepted_in)
        silent = self.core.everybody & ~process_set(flush.answers)
        for claimed in reversed(answers):
            claim = (claimed.accepted_in, claimed.accepted)
            claiming = process_set(
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
        self.acceptor.accept(flush.ballot, decision)
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
        staying = process_set(
            rank
            for rank, member in enumerate(state.view.members)
            if member in decision.view.members
        )
        if self._awaited(flush, flush.accepted) & staying:
            return
        others, number = core.others, state.view.number
        self.learner.learn(decision)
        core.transmit(others, Decide(decision), number)

    def on_promise(self, rank: int, body: Promise) -> None:
        flush = self.core.state.flush
        if flush is None or flush.ballot != body.ballot or flush.decision is not None:
            return
        if not self.core.config.trusts and self.core.state.peers[rank].failed:
            return
        beyond = body.beyond if self.core.config.trusts else ()
        answer = Answer(body.received, body.accepted_in, body.accepted, beyond)
        flush.answers[rank] = answer
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

    def retry(self) -> None:
        """Messages have come: perhaps a decision, or a proposal, was waiting for them."""
        state = self.core.state
        if state.decided is not None:
            self.learner.learn(state.decided)
        elif state.flush is not None:
            self._progress()
