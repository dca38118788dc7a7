"""Planted bugs of `daisy`. `MUTANTS` show without a crash; `RULES` take away what only crashes
need: `tests/overlays/test_daisy_scenarios.py` has a schedule for each."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="delivers-to-all",
        old="            message.destinations >> self.process & 1\n"
        "            and sender != self.process\n",
        new="            sender != self.process\n",
    ),
    Mutant(
        name="delivers-its-own-again",
        old="            and sender != self.process\n",
        new="",
    ),
    Mutant(
        name="sends-nothing-down",
        old="        if below is not None and message.destinations & below.node.processes:\n",
        new="        if below is not None and not message.destinations:\n",
    ),
]

RULES = [
    Mutant(
        name="moves-before-all-know",
        old="        if layer.node.level:\n"
        "            layer.memory.pending[within] = pack(change)\n",
        new="        if not change.gone:\n"
        "            layer.memory.pending[within] = pack(change)\n",
    ),
    Mutant(
        name="moves-empty-handed",
        old="        new.state.resend = old.everything()\n",
        new="        new.state.resend = []\n",
    ),
    Mutant(
        name="origin-keeps-nothing",
        old="        if not self._is_done(layer, kept):\n"
        "            return\n        message, node = kept.message, layer.node\n",
        new="        if not self._is_done(layer, kept):\n            return\n"
        "        message, node = kept.message, layer.node\n"
        "        if not node.level and node.processes >> message.id.sender & 1:\n"
        "            layer.memory.kept.pop(message.id, None)\n            return\n",
    ),
    Mutant(
        name="destination-keeps-nothing",
        old="            self._report_done(above, node, message.id, now)\n\n    def _check_all(",
        new="            self._report_done(above, node, message.id, now)\n"
        "        if not node.level and not node.processes >> message.id.sender & 1:\n"
        "            layer.memory.kept.pop(message.id, None)\n\n    def _check_all(",
    ),
    Mutant(
        name="no-new-server",
        old="        if layer.is_server:\n            self._serve(layer, now)\n",
        new="        if layer.is_server and view.number == 1:\n"
        "            self._serve(layer, now)\n",
    ),
    Mutant(
        name="no-duplicates-dropped",
        old="            and number > self.state.delivered.get(sender, 0)\n",
        new="",
    ),
    Mutant(
        name="no-state-update",
        old="        state.memory = memory = thaw(content, Memory)\n",
        new="        state.memory = memory = thaw(content, Memory)\n"
        "        memory.kept = {} if layer.node.level else memory.kept\n",
    ),
    Mutant(
        name="no-state-update-of-members",
        old="        state.memory = memory = thaw(content, Memory)\n",
        new="        state.memory = memory = Memory() if not layer.node.level else "
        "thaw(content, Memory)\n",
    ),
    Mutant(
        name="rows-of-processes",
        old="                    self._on_done(layer, node, ids, now)\n",
        new="                    self._on_done(layer, sender, ids, now)\n",
    ),
    Mutant(
        name="at-once-and-only-its-own",
        old="        id_ = kept.message.id\n        if layer.is_new(id_)",
        new="        below = self._below(layer)\n"
        "        id_ = kept.message.id\n"
        "        if below is not None and not below.node.processes >> id_.sender & 1:\n"
        "            return\n"
        "        if layer.is_new(id_)",
    ),
    Mutant(
        name="never-founded-anew",
        old="                    self._search.tick(layer, now)\n",
        new="                    pass\n",
    ),
    Mutant(
        name="batches-as-they-come",
        old="            gather(layer, arrivals)\n            self._take_batches(layer, now)\n",
        new="            self._take(layer, arrivals, now)\n",
    ),
    Mutant(
        name="away-is-done",
        old="            child in kept.done or child in memory.forgotten\n",
        new="            child in kept.done or child in memory.forgotten or child in memory.away\n",
    ),
    Mutant(
        name="nobody-poked",
        old="                    self._search.call(layer, child)\n",
        new="                    pass\n",
    ),
    Mutant(
        name="the-dead-are-kept-for",
        old="            del memory.away[who]\n",
        new="            return\n",
    ),
    Mutant(
        name="away-at-once-forgotten",
        old="            return kept.stable and not any(to >> process & 1 for "
        "process in memory.away)\n",
        new="            return kept.stable\n",
    ),
    Mutant(
        name="forwards-on-receipt",
        old="            self._check(decode_items(packet.body.payload))\n",
        new="            items = decode_items(packet.body.payload)\n"
        "            self._check(items)\n"
        "            for item in items if len(self._layers) > 1 and not packet.group else ():\n"
        "                if isinstance(item, Carry) and self._layers[1].is_new(item.id):\n"
        "                    self._pass(self._layers[1], item, now)\n",
    ),
]

AHEAD = [
    Mutant(
        name="ahead-of-its-past",
        old="        return is_known or all(layer.has_passed(MessageId(*id_)) for id_ in "
        "item.after)\n",
        new="        return True\n",
    ),
    Mutant(
        name="aside-for-ever",
        old="        for message in [m for m in early if early[m].within.sender not in "
        "event.view.members]:\n            del early[message]\n",
        new="",
    ),
    Mutant(
        name="comes-back-at-once",
        old="        if message.id in layer.state.ahead:  # it belongs to the group below, and is "
        "on its way\n            return\n",
        new="",
    ),
    Mutant(
        name="never-retracted",
        old="            self._do(above, above.send_word(Retract(tuple(lost)), now))\n",
        new="",
    ),
]
"""`tests/overlays/test_daisy_ahead.py` has the schedules."""

STAR = [
    Mutant(
        name="hands-nothing-over",
        old="(Batch(), *kept)",
        new="(Batch(), *kept[:0])",
    ),
    Mutant(
        name="waits-for-no-server",
        old="            if above is None or above.state.batches or above.is_merging():\n"
        "                return\n        state.gathering = False\n",
        new="        state.gathering = False\n",
    ),
    Mutant(
        name="told-twice",
        old="            and number > self.state.delivered.get(sender, 0)\n",
        new="",
    ),
    Mutant(
        name="not-told-again",
        old="                self._tell_again(layer, member.process, now)\n",
        new="                pass\n",
    ),
]
"""`tests/overlays/test_daisy_star.py` has the schedules."""

FOUND_BY_CHANCE = [
    Mutant(
        name="merges-out-of-step",
        old="                if kept.message.destinations & node.processes\n",
        new="                if not kept.message.destinations\n",
    ),
]
"""`tests/overlays/test_daisy_random.py` has the schedule."""
