"""Bugs to plant in the messages of a view: their order, and what is called stable."""

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
        "streams",
        "            self.acknowledge()\n",
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
