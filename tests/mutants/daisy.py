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
        old="        if message.destinations & below.node.processes:\n",
        new="        if not message.destinations:\n",
    ),
]

RULES = [
    Mutant(
        name="naps-while-others-are-busy",
        old="wants_time(content, layer.is_server)",
        new="wants_time(content, False)",
    ),
    Mutant(
        name="merges-out-of-step",
        old="batch_from_above(layer, above), now",
        new="batch_from_above(layer, above)[:1], now",
    ),
    Mutant(
        name="the-first-copy-counts",
        old="            self._arrive_again(layer, message.id, within, now)\n",
        new="",
    ),
    Mutant(
        name="sleepers-are-left-alone",
        old="            self.say(Poke(layer.node.index), 1 << who)\n",
        new="            pass\n",
    ),
    Mutant(
        name="done-is-not-said-after-a-merge",
        old="            if message.destinations & node.processes:\n"
        "                self._report_done(",
        new="            if not node.processes >> message.id.sender & 1:\n"
        "                self._report_done(",
    ),
    Mutant(
        name="moves-before-all-know",
        old="        if layer.node.level:\n"
        "            layer.memory.pending[within] = pack(change)\n",
        new="        if not change.gone:\n"
        "            layer.memory.pending[within] = pack(change)\n",
    ),
    Mutant(
        name="moves-empty-handed",
        old="        new.state.out.resend = old.everything()\n",
        new="        new.state.out.resend = []\n",
    ),
    Mutant(
        name="origin-keeps-nothing",
        old="            return\n        message, node = kept.message, layer.node\n",
        new="            return\n        message, node = kept.message, layer.node\n"
        "        if not node.level and node.processes >> message.id.sender & 1:\n"
        "            layer.memory.kept.pop(message.id, None)\n            return\n",
    ),
    Mutant(
        name="destination-keeps-nothing",
        old="though the servers may keep it, from before\n\n    def check_all(",
        new="though the servers may keep it, from before\n"
        "        if not node.level and not node.processes >> message.id.sender & 1:\n"
        "            layer.memory.kept.pop(message.id, None)\n\n    def check_all(",
    ),
    Mutant(
        name="no-new-server",
        old="        if layer.is_server:\n            self._serve(layer, now)\n",
        new="        if layer.is_server and view.number == 1:\n"
        "            self._serve(layer, now)\n",
    ),
    Mutant(
        name="no-duplicates-dropped",
        old="            and number > self.core.state.delivered.get(sender, 0)\n",
        new="",
    ),
    Mutant(
        name="no-state-update",
        old="        memory = thaw(content, Memory)\n",
        new="        memory = thaw(content, Memory)\n"
        "        memory.kept = {} if layer.node.level else memory.kept\n",
    ),
    Mutant(
        name="no-state-update-of-members",
        old="        memory = thaw(content, Memory)\n",
        new="        memory = thaw(content, Memory) if layer.node.level else Memory()\n",
    ),
    Mutant(
        name="rows-of-processes",
        old="                    self.relay.on_done(layer, node, ids, now)\n",
        new="                    self.relay.on_done(layer, sender, ids, now)\n",
    ),
    Mutant(
        name="at-once-and-only-its-own",
        old="        id_ = kept.message.id\n        if layer.is_new(id_)",
        new="        below = self.core.below(layer)\n"
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
        old="            gather(layer, self._take_at_once(layer, arrivals, now), whose, now)\n"
        "            self.take_batches(layer, now)\n",
        new="            self._take(layer, arrivals, now)\n",
    ),
    Mutant(
        name="away-is-done",
        old="            child in kept.done or child in memory.forgotten\n",
        new="            child in kept.done or child in memory.forgotten or child in memory.away\n",
    ),
    Mutant(
        name="nobody-poked",
        old="        self.say(Poke(child.index), child.processes)\n"
        "        if layer.view is not None and layer.state.epoch:\n",
        new="        if not child:\n",
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
        old="            self._check(decode_items(content.payload))\n",
        new="            items = decode_items(content.payload)\n"
        "            self._check(items)\n"
        "            above = self.core.layers[1:] if not packet.group else []\n"
        "            for item in carries(items) if above else ():\n"
        "                if above[0].is_new(item.id):\n"
        "                    self._relay.send(above[0], item, now)\n",
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
        old="        if layer.state.ahead:  # these are still on their way below, and this may be "
        "an answer\n            return\n",
        new="",
    ),
    Mutant(
        name="overtaken-by-its-answer",
        old="        if layer.state.ahead:  # these are",
        new="        if message.id in layer.state.ahead:  # these are",
    ),
    Mutant(
        name="never-retracted",
        old="            self.core.do(above, above.send_word(Retract(tuple(lost)), now))\n",
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
        old="            if above is None or above.memory.batches or above.is_merging():\n"
        "                return\n        handover.gathering = False\n",
        new="        handover.gathering = False\n",
    ),
    Mutant(
        name="told-twice",
        old="            and number > self.core.state.delivered.get(sender, 0)\n",
        new="",
    ),
    Mutant(
        name="leaves-behind-what-it-put-in-order",
        old="            if own.seen\n            or id_.sender",
        new="            if id_.sender",
    ),
    Mutant(
        name="holds-back-what-is-in-order",
        old="        return layer.has_passed(kept.message.id)\n",
        new="        return kept.stable\n",
    ),
    Mutant(
        name="not-told-again",
        old="                self._tell_again(layer, member.process, now)\n",
        new="                pass\n",
    ),
]
"""`tests/overlays/test_daisy_star.py` has the schedules."""

LEVELS = [
    Mutant(
        name="begins-without-the-servers-above",
        old="batch_from_above(layer, above), now",
        new="batch_from_above(layer, above)[:1], now",
    ),
    Mutant(
        name="rises-before-all-have-it",
        old="(is_between and not kept.stable)",
        new="not layer",
    ),
    Mutant(
        name="sinks-before-all-have-it",
        old="(is_between and not kept.stable)",
        new="not layer",
    ),
    Mutant(
        name="called-stable-before-its-past",
        old="within if is_one_stream else one.within",
        new="one.within",
    ),
    Mutant(
        name="takes-over-only-what-is-stable",
        old="                if self.spreading(lower).may_go_on(lower, kept):\n",
        new="                if kept.stable:\n",
    ),
    Mutant(
        name="not-awaited-from-who-is-away",
        old="        if self._is_awaited_below(layer, below, kept, now):\n",
        new="        if not kept:\n",
    ),
    Mutant(
        name="comes-before-what-is-awaited",
        old="            (one is kept or (one.place < kept.place and "
        "one.message.destinations & here))\n",
        new="            one is kept\n",
    ),
    Mutant(
        name="not-told-what-was-released",
        old="                if layer.has_passed(item.id) and item.id not in layer.memory.kept:\n",
        new="                if not items:\n",
    ),
    Mutant(
        name="refused-and-empty-handed",
        old="[*old.out.resend, *lost, *layer.put_aside()]",
        new="[*lost, *layer.put_aside()]",
    ),
]
"""`tests/overlays/test_daisy_levels.py` has the schedules."""

DIRECT = [
    Mutant(
        name="released-is-not-safe",
        old="            entry, number = epoch.placed.pop(message)\n"
        "            epoch.safe[entry] = max(epoch.safe.get(entry, 0), number)\n",
        new="            epoch.placed.pop(message)\n",
    ),
    Mutant(
        name="keeps-what-is-let-go",
        old="                epoch.released.add(message)\n",
        new="",
    ),
    Mutant(
        name="no-matrix",
        old="self._is_safe(layer, key) and epoch.is_next(epoch.direct(key), self.process)",
        new="self._is_safe(layer, key)",
    ),
    Mutant(
        name="no-copies-awaited",
        old="        return not copies or epoch.safe.get(entry, 0) >= number - has_one\n",
        new="        return True\n",
    ),
    Mutant(
        name="safe-by-itself",
        old="        return not copies or epoch.safe.get(entry, 0) >= number - has_one\n",
        new="        return has_one or not copies or epoch.safe.get(entry, 0) >= number\n",
    ),
    Mutant(
        name="above-a-hole",
        old="sort_out(hands, memory.ended, is_gap)",
        new="sort_out(hands, memory.ended, True)",
    ),
    Mutant(
        name="nothing-handed-over",
        old="        return (Hand(view, epoch.view, len(firm), safe), *firm, *loose)\n",
        new="        return (Hand(view, epoch.view, 0, safe),)\n",
    ),
    Mutant(
        name="only-what-was-delivered",
        old="        return (Hand(view, epoch.view, len(firm), safe), *firm, *loose)\n",
        new="        return (Hand(view, epoch.view, len(firm), safe), *firm)\n",
    ),
    Mutant(
        name="merged-as-it-comes",
        old="(merged, *sorted(items.values(), key=causal))",
        new="(merged, *items.values())",
    ),
    Mutant(
        name="merges-without-the-servers",
        old="            if above is None or above.memory.batches or above.is_merging():\n"
        "                return\n        epochs.takes_over = False\n",
        new="        epochs.takes_over = False\n",
    ),
    Mutant(
        name="begins-alone",
        old="        epochs.merged_in, epochs.is_back = message.id, False\n",
        new="        epochs.merged_in, epochs.is_back = message.id, False\n"
        "        epochs.is_open = True\n",
    ),
    Mutant(
        name="goes-on-by-halves",
        old="        return True\n\n    def on_let_go(",
        new="        return super().may_go_on(layer, kept)\n\n    def on_let_go(",
    ),
    Mutant(
        name="comes-back-without",
        old="        again.state.epochs.epoch = old.epochs.epoch\n",
        new="",
    ),
]
"""`tests/overlays/test_daisy_direct.py` has the schedules."""

TOLD = [
    Mutant(
        name="lets-go-in-silence",
        old="                layer.memory.missed.add(who)\n",
        new="                pass\n",
    ),
    Mutant(
        name="comes-back-in-silence",
        old="        if self.core.whom(layer, self.process) in layer.memory.missed:\n",
        new="        if self.core.whom(layer, self.process) is None:\n",
    ),
]
"""`tests/overlays/test_daisy_away.py` has the schedule."""

FOUND_BY_CHANCE = [
    Mutant(
        name="merges-without-followers",
        old="new.memory.away[who] = now",
        new="pass",
    ),
    Mutant(
        name="released-by-who-never-had-it",
        old=" and (lower.node.level or self.is_done(lower, kept)):",
        new=":",
    ),
    Mutant(
        name="from-above-is-not-last",
        old="            is_last = layer.memory.batches <= {ABOVE}\n",
        new="            is_last = True\n",
    ),
    Mutant(
        name="stable-before-all-have-merged",
        old="            awaited = min(layer.state.founding.batched, default=None)\n",
        new="            awaited = None\n",
    ),
    Mutant(
        name="decides-twice-at-once",
        old=" and change.version > layer.state.moving.decided:",
        new=":",
    ),
    Mutant(
        name="hears-only-of-its-own-end",
        old="            for change in changes:\n                self.core.do(below",
        new="            for change in ends:\n                self.core.do(below",
    ),
    Mutant(
        name="keeps-changes-to-itself",
        old="        changes = tuple(self.core.state.changes)\n",
        new="        changes: tuple[bytes, ...] = ()\n",
    ),
    Mutant(
        name="stays-in-a-group-that-gives-way",
        old="        self.absence.tell_missed(layer)\n        self.changes.give_way(layer, now)\n",
        new="        self.absence.tell_missed(layer)\n",
    ),
]
"""`tests/overlays/test_daisy_found.py` has the schedule."""

STOPS = [
    Mutant(
        name="the-junior-goes-on",
        old="self.core.whom(layer, m.process) for m in layer.view.members",
        new="self.core.whom(layer, m.process) for m in layer.view.members[::-1]",
    ),
]
"""`tests/overlays/test_daisy_found.py` has the schedule."""

FENCE = [
    Mutant(
        name="founded-by-most",
        old="        return children <= groups or (is_late and 2 * len(groups & children) > "
        "len(children))\n",
        new="        return 2 * len(groups & children) > len(children)\n",
    ),
    Mutant(
        name="the-batch-dies-with-its-founder",
        old="    if not layer.waits_for_groups:\n"
        "        layer.memory.batches &= {ABOVE, *present}\n",
        new="    layer.memory.batches &= {ABOVE, *present}\n",
    ),
    Mutant(
        name="speaks-for-a-group-that-goes-on",
        old="        return any(lower.is_lost for lower in "
        "self.layers[: self.layers.index(layer)])\n",
        new="        return False\n",
    ),
    Mutant(
        name="the-fence-waits-for-batches",
        old="        for _, within, item in arrivals:\n            if isinstance(item, Bind):\n",
        new="        if not layer.memory.ended:\n            return arrivals\n"
        "        for _, within, item in arrivals:\n            if isinstance(item, Bind):\n",
    ),
    Mutant(
        name="waits-for-a-batch-for-ever",
        old="            elif not layer.is_told(Forget(who)):\n"
        "                layer.tell(Forget(who), now, self.options.tidy_s)\n\n    def on_forget",
        new="\n    def on_forget",
    ),
    Mutant(
        name="two-servers-leave-and-nobody-asks",
        old="                layer.memory.batches |= without\n",
        new="                pass\n",
    ),
]
"""`tests/overlays/test_daisy_cuts.py` has the schedules."""
