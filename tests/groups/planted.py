"""Bugs planted in the group substrate: one for each of its rules. A mutant replaces one piece of
the text of one file; the package is then executed under another name."""

import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import msgspec

import antecede.groups

FOLDER = Path(antecede.groups.__file__).parent
PACKAGE = "antecede.groups"
ORDER = (
    "identities",
    "packets",
    "api",
    "state",
    "core",
    "streams",
    "admission",
    "channels",
    "reporting",
    "flush",
    "member",
    "__init__",
)
"""The files, each after those that it imports."""


class Mutant(msgspec.Struct, frozen=True):
    """One planted bug: `old` occurs exactly once in the file. `seed` is the number of a random
    schedule that shows it."""

    name: str
    file: str
    old: str
    new: str
    seed: int = 0


MUTANTS = (
    # Order and delivery.
    Mutant(
        "delivers without looking at the vector",
        "streams",
        "if other != rank and count > state.delivered[other]:",
        "if False:",
    ),
    Mutant(
        "takes duplicates",
        "streams",
        "if number <= state.received[rank] or (rank, number) in state.current:",
        "if False:",
    ),
    Mutant(
        "counts what comes out of order as received",
        "streams",
        "        while (rank, state.received[rank] + 1) in state.current:\n"
        "            state.received[rank] += 1",
        "        state.received[rank] = number + 1 if (rank, number + 1) in state.current "
        "else number",
    ),
    # Reliability and stability.
    Mutant(
        "never repeats a message",
        "streams",
        "if peer.row[own] >= state.received[own] or core.now < peer.retry_at:",
        "if True:",
    ),
    Mutant(
        "calls stable what one other member has",
        "streams",
        "if not self.laggards[sender]:\n"
        "                    column = [other.row[sender] for other in state.peers]\n"
        "                    stable = min(column)",
        "if True:\n"
        "                    column = [other.row[sender] for other in state.peers]\n"
        "                    stable = max(state.stable[sender], sorted(column)[-2:][0])",
    ),
    Mutant(
        "calls stable what precedes nothing known",
        "streams",
        "stable = message.vector[rank] <= state.stable[rank] and all(\n"
        "                    map(int.__le__, message.vector, state.stable)\n"
        "                )",
        "stable = True",
    ),
    Mutant(
        "keeps stable messages for ever",
        "streams",
        "if message.view == state.view.number:\n                rank",
        "if False:\n                rank",
    ),
    Mutant(
        "forgets the messages of the view before at once",
        "admission",
        "state.previous = dict(state.current)",
        "state.previous = {}",
        24,
    ),
    Mutant(
        "acknowledges what comes after its answer to a flush",
        "streams",
        "        if not core.frozen:\n            self._note_row",
        "        if True:\n            self._note_row",
        121,
    ),
    # The flush.
    Mutant(
        "delivers between the answer to a flush and the next view",
        "core",
        "return self.frozen or self.state.suspended",
        "return self.state.suspended",
    ),
    Mutant(
        "the flush does not redistribute",
        "flush",
        "return all(map(int.__ge__, self.core.state.received, decision.cut))",
        "return True",
        24,
    ),
    Mutant(
        "the cut is what all have instead of what any has",
        "flush",
        "return tuple(map(max, *rows)) if len(rows) > 1 else rows[0]",
        "return tuple(map(min, *rows)) if len(rows) > 1 else rows[0]",
    ),
    Mutant(
        "the cut ignores predecessors that died",
        "flush",
        "if any(vector[r] > cut[r] for r in range(len(cut)) if r != rank):",
        "if False:",
        3,
    ),
    Mutant(
        "proposes anew what may be decided",
        "flush",
        "        return best.accepted\n",
        "        return None\n",
        223,
    ),
    Mutant(
        "accepts in lower ballots",
        "flush",
        "    def on_accept(self, rank: int, body: Accept) -> None:\n"
        "        state = self.core.state\n"
        "        if body.ballot < state.promised:",
        "    def on_accept(self, rank: int, body: Accept) -> None:\n"
        "        state = self.core.state\n"
        "        if False:",
        577,
    ),
    Mutant(
        "decides without a quorum",
        "flush",
        "if decision is None or not core.is_quorum(flush.accepted):",
        "if decision is None:",
        373,
    ),
    Mutant(
        "half of a view is always enough",
        "core",
        "return twice > size or (twice == size and bool(ranks & 1))",
        "return twice >= size",
        20,
    ),
    Mutant(
        "a late PREPARE of an old view is answered",
        "member",
        "        if isinstance(packet.body, Report):\n",
        "        if isinstance(packet.body, Prepare):\n"
        "            self._core.state.promised = packet.body.ballot\n"
        "            self._core.state.flush_heard_at = 1e9\n"
        "        elif isinstance(packet.body, Report):\n",
        9,
    ),
    Mutant(
        "does not ask for a decision that it missed",
        "member",
        "                self._flushing.ask(source.process)\n",
        "                pass\n",
        9,
    ),
    Mutant(
        "does not show a newer view to who is behind",
        "member",
        "            self._core.transmit(1 << packet.source.process, self._core.report())\n",
        "            pass\n",
        9,
    ),
    Mutant(
        "nobody takes over an abandoned flush",
        "flush",
        "        if core.frozen:\n            return abandoned\n",
        "        if core.frozen:\n            return False\n",
        19,
    ),
    Mutant(
        "waits for the dead",
        "core",
        "if self.now - state.peers[rank].heard_at > self.config.suspect_after_s:",
        "if False:",
        1,
    ),
    Mutant(
        "sends in the old view while it is flushed",
        "streams",
        "while state.queue and not core.blocked and self._window_open():",
        "while state.queue and self._window_open():",
    ),
    # Coming and going.
    Mutant(
        "a minority goes on without a word",
        "member",
        "if not enough and not state.suspended:",
        "if False:",
        1,
    ),
    Mutant(
        "never goes on after a suspension",
        "member",
        "elif enough and state.suspended and not core.frozen:",
        "elif False:",
        5,
    ),
    Mutant(
        "an incarnation may come twice",
        "admission",
        "elif member.incarnation <= state.departed.get(member.process, -1):",
        "elif False:",
        31,
    ),
    Mutant(
        "an old life is kept beside the new one",
        "core",
        "other.process == member.process and other.incarnation > member.incarnation",
        "False",
        58,
    ),
    Mutant(
        "newcomers are not welcomed again",
        "admission",
        "        if state.view.rank(member) is not None:\n            self._welcome(member)",
        "        if state.view.rank(member) is not None:\n            pass",
        422,
    ),
    Mutant(
        "newcomers start counting at zero",
        "admission",
        "self._enter(view, list(body.base))",
        "self._enter(view, [0] * len(body.base))",
    ),
    Mutant(
        "newcomers are handed nothing",
        "admission",
        "body = Welcome(decision, captured.base, departed, captured.state, captured.retained)",
        "body = Welcome(decision, captured.base, departed, captured.state, ())",
        5,
    ),
    Mutant(
        "leaves before all is sent",
        "core",
        "return self.state.leaving and not self.state.queue",
        "return self.state.leaving",
        22,
    ),
    Mutant(
        "tells the excluded that nothing was lost",
        "admission",
        "if rank == core.rank and number > taken",
        "if False",
        30,
    ),
)

BALLOT_MUTANTS = (
    Mutant(
        "promises lower ballots",
        "flush",
        "    def on_prepare(self, rank: int, body: Prepare) -> None:\n"
        "        state = self.core.state\n"
        "        if body.ballot < state.promised:",
        "    def on_prepare(self, rank: int, body: Prepare) -> None:\n"
        "        state = self.core.state\n"
        "        if False:",
    ),
)
"""Random schedules hardly ever show these: `test_scenarios.py` has one that does."""

CHANNEL_MUTANTS = (
    Mutant(
        "what is told is not put in order",
        "channels",
        "while channel.received + 1 in channel.early:",
        "channel.received = max(channel.received, body.number - 1)\n"
        "        while channel.received + 1 in channel.early:",
    ),
    Mutant(
        "what is told is heard again",
        "channels",
        "if body.number > channel.received:",
        "channel.received = min(channel.received, body.number - 1)\n        if True:",
    ),
    Mutant(
        "what is told is not repeated",
        "channels",
        "if channel.outgoing and core.now >= channel.retry_at:",
        "if False:",
    ),
)


@cache
def planted(mutant: Mutant) -> ModuleType:
    """The package with this bug."""
    name = "planted_groups_" + "_".join(mutant.name.split()).lower()
    package = ModuleType(name)
    package.__path__ = []
    sys.modules[name] = package
    for file in ORDER:
        source = (FOLDER / f"{file}.py").read_text()
        if file == mutant.file:
            occurrences = source.count(mutant.old)
            if occurrences != 1:
                raise LookupError(f"{mutant.name}: its text occurs {occurrences} times in {file}")
            source = source.replace(mutant.old, mutant.new)
        source = source.replace(PACKAGE, name)
        module = package if file == "__init__" else ModuleType(f"{name}.{file}")
        module.__file__ = str(FOLDER / f"{file}.py")
        sys.modules[module.__name__] = module
        exec(compile(source, module.__name__, "exec"), vars(module))
    return package
