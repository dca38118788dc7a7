"""Bugs to plant in the group substrate: one for each of its rules."""

from tests.groups.planted import Mutant

ORDER_MUTANTS = (
    Mutant(
        "delivers without looking at the vector",
        "which precedes it",
        "streams",
        "if other != rank and count > state.delivered[other]:",
        "if False:",
    ),
    Mutant(
        "takes duplicates",
        "still buffers",
        "streams",
        "if number <= state.received[rank] or (rank, number) in state.current:",
        "if False:",
    ),
    Mutant(
        "counts back to a duplicate",
        "delivers message .* twice",
        "streams",
        "        if number <= state.received[rank] or (rank, number) in state.current:\n"
        "            return\n",
        "        state.received[rank] = min(state.received[rank], number - 1)\n"
        "        state.delivered[rank] = min(state.delivered[rank], number - 1)\n",
        31,
    ),
    Mutant(
        "counts what comes out of order as received",
        "only .* delivered",
        "streams",
        "        while (rank, state.received[rank] + 1) in state.current:\n"
        "            state.received[rank] += 1",
        "        state.received[rank] = number + 1 if (rank, number + 1) in state.current "
        "else number",
    ),
    Mutant(
        "sends in the old view while it is flushed",
        "only .* delivered",
        "streams",
        "while state.queue and not core.blocked and self._window_open():",
        "while state.queue and self._window_open():",
    ),
    Mutant(
        "never repeats a message",
        "never delivers",
        "streams",
        "if peer.row[own] >= state.received[own] or core.now < peer.retry_at:",
        "if True:",
    ),
)

STABILITY_MUTANTS = (
    Mutant(
        "calls stable what one other member has",
        "is said to be stable",
        "streams",
        "if not self.laggards[sender]:\n"
        "                    column = [other.row[sender] for other in state.peers]\n"
        "                    stable = min(column)",
        "if True:\n"
        "                    column = [other.row[sender] for other in state.peers]\n"
        "                    stable = max(state.stable[sender], sorted(column)[-2:][0])",
    ),
    Mutant(
        "calls stable whatever it delivers",
        "is said to be stable",
        "streams",
        "stable = message.vector[rank] <= state.stable[rank] and all(\n"
        "                    map(int.__le__, message.vector, state.stable)\n"
        "                )",
        "stable = True",
    ),
    Mutant(
        "calls stable what predecessors of are not",
        "stable, and not .* which precedes it",
        "streams",
        "stable = message.vector[rank] <= state.stable[rank] and all(\n"
        "                    map(int.__le__, message.vector, state.stable)\n"
        "                )",
        "stable = message.vector[rank] <= state.stable[rank]",
    ),
    Mutant(
        "calls all of an old view stable",
        "is said to be stable",
        "streams",
        "stable = everybody_is_here\n",
        "stable = True\n",
    ),
    Mutant(
        "never calls stable what is left of an old view",
        "never calls message .* stable",
        "streams",
        "stable = everybody_is_here\n",
        "stable = False\n",
    ),
    Mutant(
        "calls nothing stable",
        "never calls message .* stable",
        "streams",
        "            core.emit(Stable(tuple(message.id for message in announced)))\n",
        "            pass\n",
    ),
    Mutant(
        "calls everything stable twice",
        "stable twice",
        "streams",
        "            core.emit(Stable(tuple(message.id for message in announced)))\n",
        "            core.emit(Stable(tuple(message.id for message in announced * 2)))\n",
    ),
    Mutant(
        "calls stable in the wrong order",
        "stable, and not .* which precedes it",
        "streams",
        "            core.emit(Stable(tuple(message.id for message in announced)))\n",
        "            core.emit(Stable(tuple(message.id for message in reversed(announced))))\n",
    ),
    Mutant(
        "keeps stable messages for ever",
        "still buffers",
        "streams",
        "if message.view == state.view.number:\n                rank",
        "if False:\n                rank",
    ),
    Mutant(
        "forgets the messages of the view before at once",
        "stays in views",
        "admission",
        "state.previous = dict(state.current)",
        "state.previous = {}",
        scene="decided but lacks",
    ),
    Mutant(
        "acknowledges what comes while it is blocked",
        "lost without notice",
        "streams",
        "        if not self.core.blocked:\n            self._note_row",
        "        if True:\n            self._note_row",
        scene="late acknowledgement",
    ),
    Mutant(
        "acknowledges what comes while it is suspended",
        "stable, and .* never delivers it",
        "streams",
        "        if not self.core.blocked:\n            self._note_row",
        "        if not self.core.frozen:\n            self._note_row",
        scene="lasting island",
    ),
    Mutant(
        "acknowledges nothing of what came while it was suspended",
        "still buffers",
        "member",
        "            self._streams.acknowledge()\n",
        "",
        scene="island",
    ),
    Mutant(
        "retains what is released",
        "which it has released",
        "member",
        "if retained[key].id in unwanted",
        "if False",
        5,
    ),
)

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
        "flush",
        "return all(map(int.__ge__, self.core.state.received, decision.cut))",
        "return True",
        24,
    ),
    Mutant(
        "the cut is what all have instead of what any has",
        "only .* delivered",
        "flush",
        "return tuple(map(max, *rows)) if len(rows) > 1 else rows[0]",
        "return tuple(map(min, *rows)) if len(rows) > 1 else rows[0]",
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
        "flush",
        "    def on_prepare(self, rank: int, body: Prepare) -> None:\n"
        "        state = self.core.state\n"
        "        if body.ballot < state.promised:",
        "    def on_prepare(self, rank: int, body: Prepare) -> None:\n"
        "        state = self.core.state\n"
        "        if False:",
        scene="duel",
    ),
    Mutant(
        "accepts in lower ballots",
        "installs view 2 as",
        "flush",
        "    def on_accept(self, rank: int, body: Accept) -> None:\n"
        "        state = self.core.state\n"
        "        if body.ballot < state.promised:",
        "    def on_accept(self, rank: int, body: Accept) -> None:\n"
        "        state = self.core.state\n"
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
        "flush",
        "complete = self._holds(body.decision)",
        "complete = self._holds(body.decision) or body.decision.view.rank(self.core.me) is None",
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
        "member",
        "        if isinstance(packet.body, Report):\n",
        "        if isinstance(packet.body, Prepare):\n"
        "            self._core.state.promised = packet.body.ballot\n"
        "        elif isinstance(packet.body, Report):\n",
        scene="late prepare",
    ),
    Mutant(
        "does not ask for a decision that it missed",
        "stays in views",
        "flush",
        "            self._ask(packet.source.process)\n",
        "            pass\n",
        9,
    ),
    Mutant(
        "does not show a newer view to who is behind",
        "stays in views",
        "member",
        "            self._core.transmit(1 << packet.source.process, self._core.report())\n",
        "            pass\n",
        9,
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
        "flush",
        "        core.transmit(to & core.others, Decide(decision))\n",
        "        pass\n",
        scene="last to know",
    ),
    Mutant(
        "goes as soon as it knows that it may",
        "stays in views",
        "flush",
        "if not stays and decision.view.number > state.view.number + 1:",
        "if not stays:",
        scene="leavers learn",
    ),
    Mutant(
        "goes as soon as one has come to the next view",
        "stays in views",
        "flush",
        "or core.is_quorum(state.arrived, size):",
        "or state.arrived:",
        scene="one arrives",
    ),
    Mutant(
        "stays until a quorum knows, for ever",
        "never ends",
        "flush",
        "if not others or core.now - state.decided_at > patience_s:",
        "if not others:",
        scene="all leave",
    ),
    Mutant(
        "answers no question of who lacks messages of this view",
        "stays in views",
        "flush",
        "        self.streams.push(rank, body.received, self.core.state.current)\n\n"
        "    def on_ask(",
        "        pass\n\n    def on_ask(",
        scene="uninvolved accept",
    ),
)

SILENCE_MUTANTS = (
    Mutant(
        "waits for the dead",
        "at the end",
        "core",
        "if self._is_silent(rank) or self._is_deaf(rank):",
        "if self._is_deaf(rank):",
        1,
    ),
    Mutant(
        "waits for the deaf",
        "is late with",
        "core",
        "if self._is_silent(rank) or self._is_deaf(rank):",
        "if self._is_silent(rank):",
        scene="deaf",
    ),
    Mutant(
        "suspects only who does not hear itself",
        "is late with",
        "core",
        "return bool(lasting >> self.rank & 1) or not self.is_quorum(self.everybody & ~lasting)",
        "return bool(lasting >> self.rank & 1)",
        scene="half deaf",
    ),
    Mutant(
        "suspects only who does not hear a quorum",
        "is late with",
        "core",
        "return bool(lasting >> self.rank & 1) or not self.is_quorum(self.everybody & ~lasting)",
        "return not self.is_quorum(self.everybody & ~lasting)",
        scene="one way",
    ),
    Mutant(
        "suspects at once who does not hear it",
        "never silent for long",
        "core",
        "lasting = sum(1 << other for other, told_at in missing.items() if told_at < since)",
        "lasting = sum(1 << other for other, told_at in missing.items())",
        scene="hardly deaf",
    ),
    Mutant(
        "takes all for deaf when a network heals",
        "never silent for long",
        "member",
        "peer.missing = dict.fromkeys(peer.missing, core.now)",
        "pass",
        scene="pairs",
    ),
    Mutant(
        "leads without a quorum in reach",
        "is late with",
        "flush",
        "if core.is_quorum(core.reached()):  # else it would only keep the others from going on",
        "if True:",
        scene="briefly deaf",
    ),
    Mutant(
        "a minority goes on without a word",
        "does not say so",
        "member",
        "if not enough and not state.suspended:",
        "if False:",
        1,
    ),
    Mutant(
        "never goes on after a suspension",
        "suspended for no reason",
        "member",
        "elif enough and state.suspended and not core.frozen:",
        "elif False:",
        scene="briefly deaf",
    ),
    Mutant(
        "goes on to the next view without saying so",
        "while it is suspended",
        "flush",
        "            self.core.emit(Resumed(state.view.number))\n",
        "            pass\n",
        seed=5,
    ),
)

MEMBERSHIP_MUTANTS = (
    Mutant(
        "an incarnation may come twice",
        "came back in the same life",
        "admission",
        "elif member.incarnation <= state.departed.get(member.process, -1):",
        "elif False:",
        31,
    ),
    Mutant(
        "newcomers do not learn who may not return",
        "came back in the same life",
        "admission",
        "departed = tuple(sorted(state.departed.items()))",
        "departed = ()",
        scene="stale join",
    ),
    Mutant(
        "an old life is kept beside the new one",
        "two lives of one process",
        "core",
        "other.process == member.process and other.incarnation > member.incarnation",
        "False",
        58,
    ),
    Mutant(
        "newcomers are not welcomed again",
        "never silent for long",
        "admission",
        "        if state.view.rank(member) is not None:\n            self._welcome(member)",
        "        if state.view.rank(member) is not None:\n            pass",
        scene="lost welcome",
    ),
    Mutant(
        "newcomers start counting at zero",
        "is said to be stable",
        "admission",
        "self._enter(view, list(body.base))",
        "self._enter(view, [0] * len(body.base))",
    ),
    Mutant(
        "newcomers are handed nothing",
        "retain different messages",
        "admission",
        "body = Welcome(decision, captured.base, departed, captured.state, captured.retained)",
        "body = Welcome(decision, captured.base, departed, captured.state, ())",
        5,
    ),
    Mutant(
        "who asked to join once is never forgotten",
        "which is long dead",
        "admission",
        "if core.now - asked_at > core.config.suspect_after_s:",
        "if False:",
        scene="short call",
    ),
    Mutant(
        "keeps what it told members that are gone",
        "keeps channels to",
        "admission",
        "            state.channels.pop(member, None)\n",
        "",
        scene="coming and going",
    ),
    Mutant(
        "remembers all decisions",
        "remembers .* decisions",
        "admission",
        "        state.decisions.pop(decision.view.number - "
        "self.core.config.remembered_decisions, None)\n",
        "",
        scene="coming and going",
    ),
    Mutant(
        "never leaves",
        "asked to leave",
        "core",
        "return self.state.leaving and not self.state.queue",
        "return False",
        13,
    ),
    Mutant(
        "leaves before all is sent",
        "are lost",
        "core",
        "return self.state.leaving and not self.state.queue",
        "return self.state.leaving",
        43,
    ),
    Mutant(
        "waits for ever for a quorum that lets it go",
        "asked to leave",
        "member",
        "        self._admission.lose_patience()\n",
        "",
        scene="lonely leave",
    ),
    Mutant(
        "is sure of what a quorum that it lost did not deliver",
        "is told that message 1 is lost",
        "admission",
        "self.stop(reason, unstable, in_doubt=bool(unstable))",
        "self.stop(reason, unstable)",
        scene="leave in doubt",
    ),
    Mutant(
        "tells the excluded that nothing was lost",
        "lost without notice",
        "admission",
        "if rank == core.rank and number > taken",
        "if False",
        30,
    ),
)

TALK_MUTANTS = (
    Mutant(
        "what is told is not put in order",
        "told",
        "channels",
        "while channel.received + 1 in channel.early:",
        "channel.received = max(channel.received, body.number - 1)\n"
        "        while channel.received + 1 in channel.early:",
        scene="talk",
    ),
    Mutant(
        "what is told is heard again",
        "told",
        "channels",
        "if body.number > channel.received:",
        "channel.received = min(channel.received, body.number - 1)\n        if True:",
        scene="talk",
    ),
    Mutant(
        "what is told is not repeated",
        "heard only",
        "channels",
        "if channel.outgoing and core.now >= channel.retry_at:",
        "if False:",
        scene="talk",
    ),
)

MUTANTS = (
    *ORDER_MUTANTS,
    *STABILITY_MUTANTS,
    *FLUSH_MUTANTS,
    *KNOWN_TO_FEW_MUTANTS,
    *SILENCE_MUTANTS,
    *MEMBERSHIP_MUTANTS,
    *TALK_MUTANTS,
)
