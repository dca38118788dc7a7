"""Bugs to plant in agreement on the next view."""

from tests.groups.planted import Mutant

FLUSH_MUTANTS = (
    Mutant(
        "delivers between the answer to a flush and the next view",
        "only .* delivered",
        "core",
        "return self.frozen or self.state.suspended or",
        "return self.state.suspended or",
    ),
    Mutant(
        "delivers though it is suspended",
        "while it is suspended",
        "core",
        "return self.frozen or self.state.suspended or",
        "return self.frozen or",
        1,
    ),
    Mutant(
        "the flush does not redistribute",
        "only .* delivered",
        "learner",
        "return all(map(int.__ge__, self.core.state.received, decision.cut))",
        "return True",
        24,
    ),
    Mutant(
        "the cut is what all have instead of what any has",
        "only .* delivered",
        "flush",
        "wanted = list(map(max, *rows)) if len(rows) > 1 else list(rows[0])",
        "wanted = list(map(min, *rows)) if len(rows) > 1 else list(rows[0])",
    ),
    Mutant(
        "the cut ignores predecessors that died",
        "lost without notice",
        "flush",
        "if any(vector[r] > cut[r] for r in range(len(cut)) if r != rank):",
        "if False:",
        scene="orphan",
    ),
    Mutant(
        "the cut leaves out what came after a gap that others can fill",
        "and it goes on without",
        "flush",
        "            if number == wanted[rank] + 1:\n",
        "            if False:\n",
        scene="pieces",
    ),
    Mutant(
        "takes along who has not promised",
        "only .* delivered",
        "flush",
        "if rank in flush.answers and not core.suspected(rank) and",
        "if not core.suspected(rank) and",
        107,
    ),
    Mutant(
        "proposes anew what may be decided",
        "installs view",
        "flush",
        "        return best.accepted\n",
        "        return None\n",
        223,
    ),
    Mutant(
        "proposes again what was accepted in the lowest ballot",
        "installs view 2 as",
        "flush",
        "best = max(flush.answers.values(), key=lambda answer: answer.accepted_in)",
        "best = min(flush.answers.values(), "
        "key=lambda answer: (answer.accepted is None, answer.accepted_in))",
        scene="two proposals",
    ),
    Mutant(
        "promises lower ballots",
        "installs view 2 as",
        "acceptor",
        "    def on_prepare(self, rank: int, body: Prepare) -> None:\n"
        "        core, state = self.core, self.core.state\n"
        "        if body.ballot < state.promised:",
        "    def on_prepare(self, rank: int, body: Prepare) -> None:\n"
        "        core, state = self.core, self.core.state\n"
        "        if False:",
        scene="duel",
    ),
    Mutant(
        "accepts in lower ballots",
        "installs view 2 as",
        "acceptor",
        "    def on_accept(self, rank: int, body: Accept) -> None:\n"
        "        core, state = self.core, self.core.state\n"
        "        if body.ballot < state.promised:",
        "    def on_accept(self, rank: int, body: Accept) -> None:\n"
        "        core, state = self.core, self.core.state\n"
        "        if False:",
        scene="late accept",
    ),
    Mutant(
        "insists on a ballot that is rejected",
        "stays in views",
        "flush",
        "if state.flush is not None and state.flush.ballot < body.promised:",
        "if False:",
        scene="two proposals",
    ),
    Mutant(
        "accepts without the messages if it is not in the next view",
        "stays in views",
        "acceptor",
        "complete = self.learner.holds(body.decision)",
        "complete = self.learner.holds(body.decision) or "
        "body.decision.view.rank(self.core.me) is None",
        scene="uninvolved accept",
    ),
    Mutant(
        "does not wait until those who stay have the messages",
        "stays in views",
        "flush",
        "if self._awaited(flush, flush.accepted) & staying:",
        "if False:",
        scene="hasty decision",
    ),
    Mutant(
        "waits for ever for what was promised",
        "was never delivered",
        "flush",
        "if self.core.now - flush.began_at > limit:",
        "if False:",
        scene="empty promise",
    ),
    Mutant(
        "decides without a quorum",
        "installs view",
        "flush",
        "if decision is None or not core.is_quorum(flush.accepted):",
        "if decision is None:",
        373,
    ),
    Mutant(
        "half of a view is always enough",
        "installs view",
        "core",
        "return twice > size or (twice == size and bool(ranks & 1))",
        "return twice >= size",
        20,
    ),
    Mutant(
        "a late PREPARE of an old view is answered",
        "is late with",
        "reception",
        "        if isinstance(packet.body, Report):\n",
        "        if isinstance(packet.body, Prepare):\n"
        "            self.core.state.promised = packet.body.ballot\n"
        "        elif isinstance(packet.body, Report):\n",
        scene="late prepare",
    ),
    Mutant(
        "does not ask for a decision that it missed",
        "stays in views",
        "learner",
        "            self._ask(packet.source.process)\n",
        "            pass\n",
        2,
    ),
    Mutant(
        "does not show a newer view to who is behind",
        "stays in views",
        "reception",
        "            self.core.transmit(1 << packet.source.process, self.core.report())\n",
        "            pass\n",
        2,
    ),
    Mutant(
        "nobody takes over an abandoned flush",
        "at the end",
        "flush",
        "        if core.frozen:\n            return abandoned\n",
        "        if core.frozen:\n            return False\n",
        19,
    ),
)

KNOWN_TO_FEW_MUTANTS = (
    Mutant(
        "does not hand a decision on",
        "stays in views",
        "learner",
        "        core.transmit(to & core.others, Decide(decision))\n",
        "        pass\n",
        scene="last to know",
    ),
    Mutant(
        "goes as soon as it knows that it may",
        "stays in views",
        "learner",
        "if not stays and decision.view.number > state.view.number + 1:",
        "if not stays:",
        scene="leavers learn",
    ),
    Mutant(
        "goes as soon as one has come to the next view",
        "stays in views",
        "learner",
        "or core.is_quorum(state.arrived, size):",
        "or state.arrived:",
        scene="one arrives",
    ),
    Mutant(
        "stays until a quorum knows, for ever",
        "never ends",
        "learner",
        "if not others or core.now - state.decided_at > patience_s:",
        "if not others:",
        scene="all leave",
    ),
    Mutant(
        "answers no question of who lacks messages of this view",
        "stays in views",
        "reception",
        "                self._streams.push(rank, body.received, core.state.current)\n",
        "                pass\n",
        scene="uninvolved accept",
    ),
)
