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
        old="        memory = Memory.taken_at(now, content)\n",
        new="        memory = Memory.taken_at(now, content)\n"
        "        memory.kept = {} if layer.node.level else memory.kept\n",
    ),
    Mutant(
        name="no-state-update-of-members",
        old="        memory = Memory.taken_at(now, content)\n",
        new="        taken = Memory.taken_at(now, content)\n"
        "        memory = taken if layer.node.level else Memory()\n",
    ),
    Mutant(
        name="rows-of-processes",
        old="                    self.relay.on_done(layer, node, ids, now)\n",
        new="                    self.relay.on_done(layer, sender, ids, now)\n",
    ),
    Mutant(
        name="two-servers-leave-and-nobody-asks",
        old="            layer.memory.missing_batches |= bereft\n",
        new="            pass\n",
    ),
    Mutant(
        name="never-founded-anew",
        old="                    self._search.tick(layer, now)\n",
        new="                    pass\n",
    ),
    Mutant(
        name="batches-as-they-come",
        old="            gather(layer, left, whose, self.core.present(layer), now)\n"
        "            self.take_batches(layer, now)\n",
        new="            self._take(layer, left, now)\n",
    ),
    Mutant(
        name="away-is-done",
        old="            child in kept.done_by or (child in memory.forgotten",
        new="            child in kept.done_by or child in memory.away or (child in "
        "memory.forgotten",
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
        old="            return is_with_all and not any(to >> process & 1 for "
        "process in memory.away)\n",
        new="            return is_with_all\n",
    ),
    Mutant(
        name="forwards-on-receipt",
        old="            self._check(content.payload)\n",
        new="            self._check(content.payload)\n"
        "            items = decode_items(content.payload)\n"
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
        old="        if layer.state.sent_ahead:  # these are still on their way below, and "
        "this may be an answer\n"
        "            return\n",
        new="",
    ),
    Mutant(
        name="overtaken-by-its-answer",
        old="        if layer.state.sent_ahead:  # these are",
        new="        if message.id in layer.state.sent_ahead:  # these are",
    ),
    Mutant(
        name="never-retracted",
        old="            self.core.send_word(above, Retract(tuple(lost)), now)\n",
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
        old="        if self.awaits_servers(layer, now):\n            return\n"
        "        if handover.gone ",
        new="        if handover.gone ",
    ),
    Mutant(
        name="waits-for-servers-that-never-come",
        old="        if now - handover.without_servers_since <= 2 * self.options.forget_after_s:\n",
        new="        if now >= handover.without_servers_since:\n",
    ),
    Mutant(
        name="a-server-dies-in-silence",
        old="        if gone:  # not before",
        new="        if gone.bit_count() > 1:  # not before",
    ),
    Mutant(
        name="names-nobody-who-dies-later",
        old="            handover.gone |= process_set(left)",
        new="            handover.gone |= 0",
    ),
    Mutant(
        name="names-no-newcomer",
        old=" - layer.memory.arrived_latecomers)",
        new=")",
    ),
    Mutant(
        name="a-gap-is-told-too-soon",
        old="        if handover.gone and self._may_yet_lose(layer):\n            return\n",
        new="",
    ),
    Mutant(
        name="told-twice",
        old="            and number > self.core.state.delivered.get(sender, 0)\n",
        new="",
    ),
    Mutant(
        name="leaves-behind-what-it-put-in-order",
        old="            if own.passed\n            or id_.sender",
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
        old='        return kept.stable or self.options.forward != "stable"\n',
        new="        return kept.stable\n",
    ),
    Mutant(
        name="not-awaited-from-who-is-away",
        old="        if self.forwarding.is_awaited_below(layer, below, now):\n",
        new="        if not kept:\n",
    ),
    Mutant(
        name="comes-before-what-is-awaited",
        old="            memory.last_passed(who) > had.get(who, 0) and self._may_bring",
        new="            any(one.sender == who for one in layer.memory.kept if below.is_new(one))\n"
        "            and self._may_bring",
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
        old="sort_out(hands, memory.safe_at_end, is_gap)",
        new="sort_out(hands, memory.safe_at_end, True)",
    ),
    Mutant(
        name="nothing-handed-over",
        old="        return (HandedOver(view, epoch.view, len(firm), safe), *firm, *loose)\n",
        new="        return (HandedOver(view, epoch.view, 0, safe),)\n",
    ),
    Mutant(
        name="only-what-was-delivered",
        old="        return (HandedOver(view, epoch.view, len(firm), safe), *firm, *loose)\n",
        new="        return (HandedOver(view, epoch.view, len(firm), safe), *firm)\n",
    ),
    Mutant(
        name="merged-as-it-comes",
        old="(merged, *sorted(items.values(), key=causal))",
        new="(merged, *items.values())",
    ),
    Mutant(
        name="merges-without-the-servers",
        old="        if epochs.takes_over and self._group.awaits_servers(layer, now):\n"
        "            return\n        epochs.takes_over = False\n",
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
        old="                layer.memory.note_missed(who, (kept.message.id,))\n",
        new="                pass\n",
    ),
    Mutant(
        name="comes-back-in-silence",
        old="    def _tell_names(self, layer: Layer, names: set[MessageId]) -> None:\n",
        new="    def _tell_names(self, layer: Layer, names: set[MessageId]) -> None:\n"
        "        if names:\n            return\n",
    ),
]
"""`tests/overlays/test_daisy_away.py` has the schedule."""

CLOCKS = [
    Mutant(
        name="times-travel-as-they-are",
        old='        """The same by another clock. Nothing moves `NEVER`."""\n',
        new="        by_s = 0.0\n",
    ),
]
"""Clocks that differ: `tests/overlays/test_daisy_away.py` has the schedules."""

FOUND_BY_CHANCE = [
    Mutant(
        name="released-by-who-never-had-it",
        old=" and (lower.node.level or self.is_done(lower, kept)):",
        new=":",
    ),
]
"""`tests/overlays/test_daisy_found.py` has the schedule."""

STOPS = [
    Mutant(
        name="the-junior-goes-on",
        old="        present = [self.core.stands_for(layer, member.process) for member in "
        "layer.view.members]\n"
        "        rolls",
        new="        present = [self.core.stands_for(layer, one.process) for one in "
        "layer.view.members[::-1]]\n"
        "        rolls",
    ),
]
"""`tests/overlays/test_daisy_found.py` has the schedule."""

FENCE = [
    Mutant(
        name="founded-by-most",
        old="{*layer.node.children} <= here or (is_late and self._are_most(layer, here))",
        new="2 * len(here) > len(layer.node.children)",
    ),
    Mutant(
        name="the-batch-dies-with-its-founder",
        old="    if not layer.waits_for_groups:\n        layer.memory.missing_batches = {",
        new="    if layer.node.level >= 0:\n        layer.memory.missing_batches = {",
    ),
    Mutant(
        name="the-fence-waits-for-batches",
        old="        for sender, within, item in arrivals:\n"
        "            if isinstance(item, Bind):\n",
        new="        if not layer.memory.safe_at_end:\n            return arrivals\n"
        "        for sender, within, item in arrivals:\n            if isinstance(item, Bind):\n",
    ),
    Mutant(
        name="waits-for-a-batch-for-ever",
        old="            if waited_s > limit_s * (2 if who == ABOVE else 1):\n",
        new="            if now < 0:\n",
    ),
    Mutant(
        name="waits-for-those-above-for-ever",
        old="        if ABOVE in missing and (len(missing) > 1 or (above is not "
        "None and not above.is_lost)):\n"
        "            missing.discard(ABOVE)\n",
        new="        missing.discard(ABOVE)\n",
    ),
    Mutant(
        name="forgets-though-lost-at-home",
        old="        if not self.core.is_home_lost(layer):\n            layer.tell_once(",
        new="        if layer:\n            layer.tell_once(",
    ),
    Mutant(
        name="newcomers-are-not-missed",
        old="            memory.arrived_latecomers |= {*self.options.latecomers} & present\n",
        new="",
    ),
    Mutant(
        name="asks-in-silence",
        old="        elif now - since > _IN_VAIN * self._patience_s:\n",
        new="        elif now < since:\n",
    ),
    Mutant(
        name="says-that-it-is-in",
        old=" or group.state.suspended or self.member.is_left_out\n",
        new=" or group.state.suspended\n",
    ),
    Mutant(
        name="founds-anew-in-silence",
        old="            self.absence.tell_missed(layer, now)\n            batches, others",
        new="            batches, others",
    ),
    Mutant(
        name="nobody-hands-on",
        old="            detours=options.detours,\n",
        new="            detours=False,\n",
    ),
    Mutant(
        name="servers-of-servers-go-on-serving",
        old="if layer.node.index in called or not (is_settled and is_large):",
        new="if layer.node.level or layer.node.index in called or not (is_settled and is_large):",
    ),
    Mutant(
        name="hands-on-only-among-servers",
        old="            self._pass_on_from_below(node, now)\n",
        new="",
    ),
    Mutant(
        name="hears-those-at-home-as-others",
        old="any(one.here >> source & 1 for one in served)",
        new="layer.here >> source & 1",
    ),
    Mutant(
        name="asks-those-it-knew-for-ever",
        old="                if layer.view is not None and "
        "layer.view.processes & process_set(word.processes):\n",
        new="                if layer.view is not None:\n",
    ),
    Mutant(
        name="half-of-the-groups-are-none",
        old=" or (more == 0 and len(children) == 2 and first <= groups)\n",
        new="\n",
    ),
    Mutant(
        name="brings-its-batch-unbound",
        old="        if self.options.quorum is Quorum.SURVIVORS:  # who is away is dead\n",
        new="        if epoch:\n",
    ),
    Mutant(
        name="strangers-are-not-asked",
        old="            if layer.is_lost:\n"
        "                self.core.queue(layer, layer.member.show(layer.node.processes, now))\n",
        new="",
    ),
    Mutant(
        name="strangers-are-not-believed",
        old="            self.options.quorum is Quorum.SURVIVORS or "
        "not isinstance(packet.content, Decide)\n",
        new="            packet.view\n",
    ),
    Mutant(
        name="leaves-with-what-it-knows",
        old="            new.member.follow(old.member)\n",
        new="            pass\n",
    ),
    Mutant(
        name="is-called-once",
        old="            sleep.call_after_s, sleep.call_at = wait_s, now + wait_s\n",
        new="            sleep.call_after_s, sleep.call_at = wait_s, now + 1e9\n",
    ),
    Mutant(
        name="what-was-let-go-dies-with-the-servers",
        old="tell_beside(layer, Missed(who, (kept.message.id,), beside=True), now)\n",
        new="tell_beside(layer, Missed(who, ()), now)\n",
    ),
    Mutant(
        name="remembers-what-has-been-told",
        old="            self.relay.tell_beside(layer, Missed(who, (), beside=True), now)\n",
        new="",
    ),
    Mutant(
        name="speaks-for-a-group-that-goes-on",
        old="        return any(lower.is_lost for lower in self.all_below(layer))\n",
        new="        return False\n",
    ),
    Mutant(
        name="has-stopped-for-ever",
        old="        if layer.state.stopped:\n            self.emit",
        new="        if not layer:\n            self.emit",
    ),
    Mutant(
        name="has-stopped-where-it-never-comes-back",
        old="            new.state.stopped = old.state.stopped\n",
        new="            pass\n",
    ),
    Mutant(
        name="forgotten-for-good",
        old="wanted |= memory.forgotten | self._groups_of_those_beside(layer)",
        new="wanted |= self._groups_of_those_beside(layer)",
    ),
    Mutant(
        name="calls-only-for-what-is-kept",
        old="            elif layer.is_server:\n                self.search.call(layer, who)\n",
        new="            elif layer.is_server and is_held_up:\n"
        "                self.search.call(layer, who)\n",
    ),
    Mutant(
        name="the-senior-alone-forgets",
        old="                    if layer.is_server or layer.node.level:\n",
        new="                    if layer.is_server:\n",
    ),
]
"""`tests/overlays/test_daisy_cuts.py` has the schedules."""

LOAD = [
    Mutant(
        name="splits-at-the-first-burst",
        old="_ENOUGH = 2\n",
        new="_ENOUGH = 1\n",
    ),
    Mutant(
        name="merged-unmeasured",
        old="        if loads.get(node, QUIET) == QUIET\n",
        new="",
    ),
]
"""What a group carries: `tests/overlays/test_daisy_load.py` has a schedule for each."""

RESHAPE = [
    Mutant(
        name="sends-into-a-frozen-group",
        old=" and not self.memory.frozen\n",
        new="\n",
    ),
    Mutant(
        name="leaves-before-it-is-drained",
        old="        if not self._have_all_below(layer):\n            return\n",
        new="",
    ),
    Mutant(
        name="leaves-what-has-not-risen",
        old="        if above is not None and not self._has_risen(layer, above):\n"
        "            return\n",
        new="",
    ),
    Mutant(
        name="whoever-served-speaks",
        old="        return serving[-1:] == [sender]\n",
        new="        return sender in serving\n",
    ),
    Mutant(
        name="waits-for-who-is-away",
        old="            self._report_held(layer, kept, now)\n            return\n",
        new="            return\n",
    ),
    Mutant(
        name="who-is-alone-holds-it-for-all",
        old="            return self.is_done(layer, kept) if is_alone else kept.stable\n",
        new="            return kept.stable\n",
    ),
    Mutant(
        name="a-lone-group-waits-for-who-waits",
        old="not layer.node.level or (not memory.away and is_complete)",
        new="not memory.away and (not layer.node.level or is_complete)",
    ),
]
"""Groups of servers that come and go: `tests/overlays/test_daisy_reshape.py`."""

BACK = [
    Mutant(
        name="overtakes-what-strayed",
        old="        return earlier is not None and earlier.place < kept.place\n",
        new="        return earlier is not None and earlier.place < 0\n",
    ),
    Mutant(
        name="strays-in-a-handover",
        old="            self.relay.forwarding.note_stray(layer, item.id, now)\n",
        new="",
    ),
    Mutant(
        name="waits-for-a-stray-for-ever",
        old="            strays[stray] = NEVER\n",
        new="            strays[stray] = now\n",
    ),
    Mutant(
        name="runs-ahead-of-a-stray",
        old="        if memory.missing_batches or memory.strays:",
        new="        if memory.missing_batches:",
    ),
    Mutant(
        name="lets-go-of-what-a-group-lacks",
        old="kept is not None and not self.is_done(layer, kept):\n",
        new="kept is not None and kept.place < 0:\n",
    ),
    Mutant(
        name="sends-down-though-replaced",
        old="        if self.forwarding.is_replaced(layer, kept, now):\n",
        new="        if not kept:\n",
    ),
    Mutant(
        name="taken-for-had-in-silence",
        old="        self.absence.tell_doubtful(layer, now)\n",
        new="",
    ),
    Mutant(
        name="keeps-to-itself-what-one-missed",
        old="reaches_all:\n                    layer.tell_once(word",
        new="reaches_all and not word.ids:\n                    layer.tell_once(word",
    ),
    Mutant(
        name="loses-what-waited-in-silence",
        old="        if lost and epochs.is_back:\n",
        new="        if lost and epochs.is_sorted and not epochs.is_back:\n",
    ),
    Mutant(
        name="comes-without-its-batch",
        old="            layer.memory.missing_batches |= {group for group in come if group "
        "is not None}\n",
        new="            layer.memory.missing_batches |= {group for group in come if group "
        "== ABOVE}\n",
    ),
    Mutant(
        name="has-brought-its-batch-for-ever",
        old="            layer.memory.brought -= bereft\n",
        new="",
    ),
    Mutant(
        name="leaves-out-what-ran-ahead",
        old="        resend |= {item.id: item for item in risen}\n",
        new="        risen = []\n",
    ),
    Mutant(
        name="forgotten-in-silence",
        old="{*below.memory.away, *below.memory.forgotten}, layer",
        new="{*below.memory.away}, layer",
    ),
    Mutant(
        name="founds-before-it-is-brought",
        old="        if layer.memory.passed_below and not layer.memory.missing_batches:\n",
        new="        if layer.memory.passed_below and layer.memory.missing_batches:\n",
    ),
    Mutant(
        name="gives-up-in-silence",
        old="        if above is not None:  # what it was waited for, it has not brought\n",
        new="        if above is layer:\n",
    ),
    Mutant(
        name="overtakes-in-silence",
        old="            self.forwarding.go_on_without(layer, below)\n",
        new="",
    ),
    Mutant(
        name="batches-tell-of-nothing-lost",
        old="            layer.state.founding.last_batch_place = layer.memory.places\n"
        "            self.relay.forwarding.tell_lost(layer)\n",
        new="            layer.state.founding.last_batch_place = layer.memory.places\n",
    ),
    Mutant(
        name="had-nothing-is-not-said",
        old="if head.of is not None and head.had is not None:",
        new="if head.of is not None and head.had:",
    ),
    Mutant(
        name="an-epoch-ends-unsafe",
        old="            safe[newest][entry] = number\n",
        new="            continue\n",
    ),
    Mutant(
        name="drops-what-came-out-of-turn",
        old="        for payload in event.overheard if is_other else ():\n",
        new="        for payload in ():\n",
    ),
    Mutant(
        name="comes-late-in-silence",
        old="            self.core.tell_gap(local, messages=late)\n",
        new="            pass\n",
    ),
    Mutant(
        name="counts-as-had-in-silence",
        old="    if layer.has_passed(item.id):\n        return True\n",
        new="    if layer.has_passed(item.id):\n        return False\n",
    ),
]
"""`tests/overlays/test_daisy_back.py` has the schedules."""

EVOLVING = [
    Mutant(
        name="brings-a-batch-though-it-leaves",
        old="            if not owes or layer.member.state.leaving:",
        new="            if not owes:",
    ),
    Mutant(
        name="done-is-not-said-after-a-merge",
        old="            if message.destinations & node.processes:\n"
        "                self._report_done(",
        new="            if not node.processes >> message.id.sender & 1:\n"
        "                self._report_done(",
    ),
    Mutant(
        name="stays-in-a-group-that-gives-way",
        old="        self.changes.give_way(layer, now)\n        if layer.node.level:\n",
        new="        if layer.node.level:\n",
    ),
    Mutant(
        name="waits-for-the-servers-for-ever",
        old=" or missing <= last_views | {ABOVE})",
        new=" or missing <= last_views)",
    ),
    Mutant(
        name="keeps-to-itself-what-others-missed",
        old="        self.absence.pass_on_missed(layer, known, now)\n",
        new="",
    ),
    Mutant(
        name="merges-without-groups-that-may-have-left",
        old=" or is_under_way or is_partial:\n",
        new=" or is_under_way:\n",
    ),
]

CONSENT = [
    Mutant(
        name="agrees-before-all-know",
        old="            if within in layer.state.founding.stable_aside:\n",
        new="            if within is not None:\n",
    ),
    Mutant(
        name="splits-before-all-know",
        old="        if layer.node.level or change.raised:\n"
        "            layer.memory.pending_changes",
        new="        if layer.node.level:\n            layer.memory.pending_changes",
    ),
    Mutant(
        name="goes-on-without-a-line",
        old="    layer.memory.missing_batches.update(map(last_view_key, gone))\n",
        new="",
    ),
    Mutant(
        name="a-line-is-awaited-for-ever",
        old=" or missing <= last_views | {ABOVE})",
        new=" or missing <= {ABOVE})",
    ),
    Mutant(
        name="stays-where-it-is-lost",
        old="        if local is not None and local.is_lost and self.core.gives_way(local):\n",
        new="        if not self.core:\n",
    ),
    Mutant(
        name="moves-by-itself",
        old="        if 0 < view <= word.view:\n",
        new="        if view >= 0:\n",
    ),
    Mutant(
        name="says-again-what-not-all-know",
        old="unpack(stored), stored not in below.state.moving.asked_changes.values()",
        new="unpack(stored), True",
    ),
    Mutant(
        name="brings-what-lost-servers-had",
        old=" or above is None or above.is_lost:\n",
        new=" or above is None:\n",
    ),
    Mutant(
        name="a-line-waits-for-founders-alone",
        old="            self.absence.search.say(brought, 1 << source)\n",
        new="            pass\n",
    ),
    Mutant(
        name="agrees-only-once",
        old="            word = Proposal(change, below.node.index, agrees=True)\n"
        "            self.core.send_word(layer, word, now)\n",
        new="            pass\n",
    ),
    Mutant(
        name="proposes-two-changes-at-once",
        old="        if is_first or is_asking(layer) or not self.core.stays(layer):\n",
        new="        if is_first or not self.core.stays(layer):\n",
    ),
]
"""Groups that agree to give way, and what is brought from one to the next:
`tests/overlays/test_daisy_consent.py` has the schedules."""

GIVING_WAY = [
    Mutant(
        name="splits-below-those-it-has-not-left",
        old="        if layer is not self.core.layers[-1]:",
        new="        if layer not in self.core.layers:",
    ),
    Mutant(
        name="agreed-for-ever",
        old="            if layer.memory.agreed_to == stored:\n",
        new="            if not stored:\n",
    ),
    Mutant(
        name="keeps-to-itself-what-batches-tell",
        old="        self.announce(layer, now)  # the others may know of its end (C4)\n",
        new="",
    ),
    Mutant(
        name="leaves-with-what-is-for-its-group",
        old="    if not layer.memory.founded_without:\n",
        new="    if layer.memory.places >= 0:\n",
    ),
]
"""More of groups that give way, and of who has missed something:
`tests/overlays/test_daisy_giving_way.py` has the schedules, as chance has found them."""

STAYING = [
    Mutant(
        name="large-groups-of-servers-count-more",
        old="self.core.plan.count(one) if merges else 1.0",
        new="self.core.plan.count(one)",
    ),
    Mutant(
        name="two-gaps-for-one-loss",
        old="        self.core.tell_gap(layer, self.core.beyond(layer) | gone)\n",
        new="        self.core.tell_gap(layer, self.core.beyond(layer))\n"
        "        self.core.tell_gap(layer, gone)\n",
    ),
    Mutant(
        name="no-batch-is-no-group",
        old="        if not word.batch and who in memory.away:\n",
        new="        if who in memory.away:\n",
    ),
    Mutant(
        name="each-server-begins-to-wait",
        old="        return since if alone_since == NEVER else min(since, alone_since)\n",
        new="        return since\n",
    ),
    Mutant(
        name="only-who-serves-counts",
        old="        if not memory.missing_batches:\n"
        "            memory.batches_missing_since = NEVER\n",
        new="        if not memory.missing_batches or not layer.is_server:\n"
        "            memory.batches_missing_since = NEVER\n",
    ),
    Mutant(
        name="begun-when-they-meet",
        old="        if word.processes and word.begun:\n",
        new="        if word.processes:\n",
    ),
    Mutant(
        name="a-later-epoch-takes-all-groups",
        old="        is_enough = not missing or (are_late and self._are_most(layer, here))\n",
        new="        is_enough = not missing\n",
    ),
    Mutant(
        name="sends-down-though-behind",
        old="not (is_news or self._is_behind(layer, below)):",
        new="not is_news:",
    ),
    Mutant(
        name="forgets-before-it-has-called",
        old="return roused_at + back_s if since + limit_s < roused_at else since + limit_s",
        new="return since + limit_s",
    ),
    Mutant(
        name="looks-for-a-lone-stray",
        old="        return any(stray.sender == sender and stray.number <= number "
        "for stray in strays)\n",
        new="        return any(stray == message for stray in strays)\n",
    ),
    Mutant(
        name="looks-for-servers-in-silence",
        old="        if not layer.is_in and now - since_s > forget_s:\n",
        new="        if now < 0:\n",
    ),
    Mutant(
        name="nobody-watches-who-is-to-tell",
        old=" = any(who >= 0 for who in memory.missed_beside) and not layer.is_server\n",
        new=" = False\n",
    ),
    Mutant(
        name="tells-a-gap-before-it-goes-on",
        old="        handover.gone = gone\n",
        new="        if gone:\n            self.core.tell_gap(layer, gone)\n",
    ),
    Mutant(
        name="those-above-wait-no-longer",
        old="options.forget_after_s * (1 + above)",
        new="options.forget_after_s * (1 + 0 * above)",
    ),
    Mutant(
        name="waits-for-servers-no-longer-than-they-do",
        old="without_servers_since <= 2 * self.options.forget_after_s:",
        new="without_servers_since <= self.options.forget_after_s:",
    ),
    Mutant(
        name="waits-for-servers-that-have-stopped",
        old="        if is_begun or (above is not None and not above.is_lost):\n",
        new="        if is_begun or above is not None:\n",
    ),
    Mutant(
        name="brings-what-comes-down",
        old="        return [pack(one) for one in items if one.sender == own or one.id not in "
        "from_above]\n",
        new="        return [pack(one) for one in items]\n",
    ),
    Mutant(
        name="servers-call-nobody-who-lacks-it",
        old="memory.forgotten | self._groups_of_those_beside(layer)",
        new="memory.forgotten",
    ),
    Mutant(
        name="servers-sleep-though-one-lacks-it",
        old="        is_watching |= layer.node.level > 0 and any(who < 0 for who in "
        "memory.missed_beside)\n",
        new="",
    ),
    Mutant(
        name="learns-last-what-it-has-missed-itself",
        old="                if process_key(who) == self.process:\n",
        new="                if who == self.process:\n",
    ),
]
"""Where groups stay as they are: rules that draws have shown to be needed."""

HELD_UP = [
    Mutant(
        name="frozen-while-a-group-is-lost",
        old="        is_late = now - moving.frozen_at > self._limit_s\n",
        new="        is_late = False\n",
    ),
    Mutant(
        name="frozen-by-a-server-that-is-lost",
        old="            if layer.memory.frozen and self._is_held_up(layer, now):\n",
        new="            if not self.core.is_home_lost(layer) and layer.memory.frozen and ("
        "self._is_held_up(layer, now)):\n",
    ),
    Mutant(
        name="a-merged-group-counts-once",
        old="        counts = sum(nodes[index].counts for index in gone) / len(made)\n",
        new="        counts = 1.0\n",
    ),
    Mutant(
        name="waits-for-room-for-ever",
        old="            room_after_s=options.forget_after_s,\n",
        new="",
    ),
]
"""Groups of servers that are held up, and those below: `tests/overlays/test_daisy_held_up.py`."""

LOCAL_GROUPS = [
    Mutant(
        name="nobody-says-that-a-server-is-sought",
        old="        self._pass_on_call(source, own.index, now, repeated_after_s=0.0)\n",
        new="",
    ),
    Mutant(
        name="leaves-no-word-of-what-was-let-go",
        old="Batch(missed=word.missed, away=",
        new="Batch(away=",
    ),
    Mutant(
        name="nobody-passes-a-call-on",
        old="            self.say(Poke(node), 1 << layer.view.members[0].process)\n",
        new="            pass\n",
    ),
    Mutant(
        name="groups-are-called-by-servers-alone",
        old="            self.search.call_through_others(layer, who)\n",
        new="            if not layer.node.level:\n"
        "                self.search.call_through_others(layer, who)\n",
    ),
    Mutant(
        name="all-levels-wait-alike",
        old="            return options.forget_after_s + above",
        new="            return options.forget_after_s + 0 * above",
    ),
    Mutant(
        name="comes-back-as-the-same",
        old=" = layer.state.incarnation + layer.is_in\n",
        new=" = 0\n",
    ),
    Mutant(
        name="moves-empty-handed",
        old="        new.state.out.resend = old.all_messages()\n",
        new="        new.state.out.resend = []\n",
    ),
    Mutant(
        name="told-to-one-that-was-replaced",
        old="        is_told = not memory.missing_batches and not layer.node.level\n",
        new="        is_told = not memory.missing_batches\n",
    ),
    Mutant(
        name="serves-though-nobody-hears-it",
        old="            self.core.queue(local, local.member.leave(now))\n",
        new="            pass\n",
    ),
    Mutant(
        name="serves-until-its-group-begins",
        old="one.memory.missing_batches - {ABOVE} or",
        new="one.memory.missing_batches or",
    ),
    Mutant(
        name="only-the-server-gives-notice",
        old="        for change in news if is_over else ():\n",
        new="        for change in news if is_over and below.is_server else ():\n",
    ),
    Mutant(
        name="the-forgotten-are-not-called",
        old="            wanted |= {who for who in memory.forgotten if kept >> who & 1}\n",
        new="",
    ),
    Mutant(
        name="followers-are-newcomers",
        old="int(old.is_in or old.state.incarnation > 0)",
        new="0",
    ),
    Mutant(
        name="followers-wait-until-it-begins",
        old="        return not member.incarnation and not is_known\n",
        new="        return not is_known\n",
    ),
    Mutant(
        name="keeps-to-itself-who-lacks-it",
        old="            for who in self._who_lack(layer, kept):\n"
        "                above.tell(Missed(process_key(who), (message,)), now)\n",
        new="",
    ),
]
"""Local groups that split and merge, who is away from them, and who serves them:
`tests/overlays/test_daisy_local_groups.py` has the schedules."""

ONE_BY_ONE = [
    Mutant(
        name="the-first-group-goes-on",
        old="{self._senior_group(layer), min(children, key=self.core.plan.place)}",
        new="{min(children, key=self.core.plan.place)}",
    ),
    Mutant(
        name="missed-under-a-name-that-was",
        old="            names = {name for one in gone for name in known.pop(one, ())}\n",
        new="            names = set[MessageId]()\n",
    ),
    Mutant(
        name="agrees-again-to-what-is-void",
        old="                layer.memory.refused_changes.append(stored)  # it does not",
        new="                pass  # it does not",
    ),
    Mutant(
        name="leaves-one-in-a-later-epoch",
        old="                self._found_with(layer, layer.view, now)\n",
        new="                pass\n",
    ),
    Mutant(
        name="rises-though-it-came-down",
        old='        if self.options.forward == "stable":\n            return True\n'
        "        if not layer.node",
        new='        if self.options.forward != "":\n            return True\n'
        "        if not layer.node",
    ),
    Mutant(
        name="the-last-that-is-heard-is-the-last",
        old="            changes[:] = _sorted(changes)\n            self.replan_all()\n",
        new="            pass\n",
    ),
    Mutant(
        name="comes-below-again",
        old="new = [group for group in change.made or change.below if group.index not in gone]",
        new="new = [*(change.made or change.below)]",
    ),
    Mutant(
        name="the-top-dissolves",
        old="        if count == 1 or (parent is not None and is_small):\n",
        new="        if is_small:\n",
    ),
    Mutant(
        name="ready-though-its-group-gives-way",
        old="not (agreement(below) or self.core.gives_way(below))",
        new="not (agreement(below) or below.state.moving.gives_way_by)",
    ),
    Mutant(
        name="remembers-half-of-its-past",
        old="    groups = (*change.made, *change.below) if isinstance(change, Reshape) else ()\n",
        new="    groups = change.made if isinstance(change, Reshape) else ()\n",
    ),
    Mutant(
        name="asks-above-though-lost-at-home",
        old="        return not layer.is_in and self.is_home_lost(layer)\n",
        new="        return False\n",
    ),
    Mutant(
        name="brings-what-the-servers-have",
        old="for item in items if home >> item.sender & 1]\n",
        new="for item in items]\n",
    ),
    Mutant(
        name="agrees-twice",
        old="        if not agreement(layer) and not memory.missing_batches and "
        "_suits(layer, change):",
        new="        if not memory.missing_batches and _suits(layer, change):",
    ),
    Mutant(
        name="agrees-for-who-is-not-there",
        old="    return is_ours and view is not None and named == view.processes\n",
        new="    return is_ours\n",
    ),
    Mutant(
        name="nobody-asks-the-others",
        old="        if stored not in moving.agreed_groups and stored != moving.proposed:\n",
        new="        if stored is None:\n",
    ),
    Mutant(
        name="ready-though-it-has-agreed",
        old="not (agreement(below) or self.core.gives_way(below))",
        new="not self.core.gives_way(below)",
    ),
    Mutant(
        name="freezes-while-it-asks",
        old="        if self._is_changing(layer):\n            return False\n",
        new="        is_under_way = memory.missing_batches or memory.pending_changes\n"
        "        if is_under_way or layer.has_unstable_batches():\n            return False\n",
    ),
    Mutant(
        name="believes-servers-that-were",
        old="        if len(kept) < len(known):\n",
        new="        if len(kept) > len(known):\n",
    ),
    Mutant(
        name="leaves-what-came-before",
        old="self.node.processes | (self.state.predecessors if self.memory.missing_batches else 0)",
        new="self.node.processes",
    ),
    Mutant(
        name="misses-groups-that-never-were",
        old="        if not layer.node.level or is_below:\n",
        new="        if who >= 0:\n",
    ),
    Mutant(
        name="frozen-for-ever",
        old="memory.kept or memory.frozen",
        new="memory.kept",
    ),
    Mutant(
        name="leaves-the-servers-empty-handed",
        old="                new.state.out.resend += _kept_of(above, node.processes)\n",
        new="                pass\n",
    ),
    Mutant(
        name="moves-before-all-know",
        old="        if layer.node.level or change.raised:\n"
        "            layer.memory.pending_changes",
        new="        if change.raised:\n            layer.memory.pending_changes",
    ),
    Mutant(
        name="dissolves-in-silence",
        old="            lacked = {} if layer.is_lost else self._lacked_by_forgotten(layer)\n",
        new="            lacked: dict[int, list[MessageId]] = {}\n",
    ),
    Mutant(
        name="says-what-was-said-in-an-earlier-view",
        old="            return layer.memory.frozen\n",
        new="            return True\n",
    ),
    Mutant(
        name="only-the-server-calls",
        old="        if view is None or now < sleep.call_at:\n",
        new="        if view is None or not layer.is_server or now < sleep.call_at:\n",
    ),
    Mutant(
        name="half-of-the-groups-are-enough",
        old="more == 0 and len(children) == 2 and",
        new="more == 0 and",
    ),
    Mutant(
        name="gives-up-a-batch-and-names-its-group-alone",
        old="self._bringing(layer, who) | absent)\n",
        new="self._bringing(layer, who))\n",
    ),
    Mutant(
        name="says-what-was-own-though-a-group-lacks-it",
        old="            and self._has_arrived(layer, kept.message.id)\n",
        new="",
    ),
    Mutant(
        name="new-servers-keep-changes-to-themselves",
        old="            self.changes.tell_servers(layer, now)\n",
        new="            pass\n",
    ),
]
"""Rules that are shown one by one: `tests/overlays/test_daisy_one_by_one.py`."""

MOMENTS = [
    Mutant(
        name="founders-say-nothing-of-changes",
        old="(*below.memory.changes, *layer.memory.changes)",
        new="layer.memory.changes",
    ),
    Mutant(
        name="founds-with-one-alone",
        old="        speakers |= {child: process for child, (process, _) in looking.items()}\n",
        new="        speakers |= {child: one for child, (one, at) in looking.items() "
        "if at == now}\n",
    ),
    Mutant(
        name="stays-in-an-earlier-epoch",
        old="        if state.epoch < bound < LEFT:\n",
        new="        if state.epoch < bound < 0:\n",
    ),
    Mutant(
        name="lets-newcomers-in-before-it-begins",
        old="            return type(packet.body) is not Join or not "
        "self._is_early(packet.source)\n",
        new="            return True\n",
    ),
    Mutant(
        name="calls-groups-that-never-were",
        old="            wanted &= {*layer.node.children}\n",
        new="",
    ),
    Mutant(
        name="names-groups-alone",
        old="self.core.tell_gap(layer, lost | layer.state.founding.absent)",
        new="self.core.tell_gap(layer, lost)",
    ),
    Mutant(
        name="merges-without-followers",
        old="new.memory.away[who] = now",
        new="pass",
    ),
    Mutant(
        name="stable-before-all-have-merged",
        old="            awaited = min(layer.state.founding.unstable_batches, default=None)\n",
        new="            awaited = None\n",
    ),
    Mutant(
        name="founders-stay-where-they-are",
        old="            self.say(word, layer.node.processes)\n",
        new="            if not layer.is_lost:\n"
        "                self.say(word, layer.node.processes)\n",
    ),
    Mutant(
        name="frozen-from-view-to-view",
        old="            self._go_on_as_before(layer, memory)\n"
        "            layer.state.moving.freezes = 0\n",
        new="            pass\n",
    ),
    Mutant(
        name="waits-for-who-has-left",
        old="        if 0 < view <= word.view:\n",
        new="        if view < 0:\n",
    ),
    Mutant(
        name="tells-founders-alone",
        old="            self.say(word, layer.node.processes)\n",
        new="            self.say(word, process_set(who for who in "
        "layer.memory.missing_batches if who > ABOVE))\n",
    ),
    Mutant(
        name="done-though-it-gives-way",
        old=" or (child in memory.forgotten and not memory.frozen)\n",
        new=" or child in memory.forgotten\n",
    ),
    Mutant(
        name="relabelled-in-silence",
        old="            self.absence.note_away(layer, layer.view, now)\n"
        "        self.absence.tell_missed(layer, now)\n",
        new="            self.absence.note_away(layer, layer.view, now)\n",
    ),
    Mutant(
        name="ends-in-a-view-that-is-not-told",
        old="        if view is None or view.number != moving.frozen_in:",
        new="        if view is None:",
    ),
    Mutant(
        name="ready-since-it-froze-before",
        old="                    if number == layer.state.moving.freezes:\n",
        new="                    if number >= 0:\n",
    ),
    Mutant(
        name="freezes-again-at-once",
        old="        return now - moving.frozen_at > self._limit_s and "
        "self._have_all_below(layer)\n",
        new="        return True\n",
    ),
    Mutant(
        name="told-to-those-who-are-there",
        old="            for who in sorted({*below.memory.away, *below.memory.forgotten}):\n"
        "                below.tell(Missed(who, tuple(sorted(names))), now)\n",
        new="",
    ),
    Mutant(
        name="held-up-for-ever",
        old="                    self._consent.announce_all_agreed(now)\n",
        new="                    pass\n",
    ),
    Mutant(
        name="keeps-what-a-group-has-let-go",
        old="            self._report_passed(layer, below, kept, now)\n        if below",
        new="            pass\n        if below",
    ),
    Mutant(
        name="changes-below-what-is-about-to-end",
        old="        told = (*above.memory.changes, *above.memory.pending_changes.values())\n",
        new="        told = above.memory.changes\n",
    ),
    Mutant(
        name="brought-in-one-way-alone",
        old="        for here, there in steps\n        if group in here and there\n",
        new="        for here, there in [one for one in steps if group in one[0]][:1]\n"
        "        if there\n",
    ),
    Mutant(
        name="speaks-for-groups-to-come",
        old="        if below is not None and below.node.level and not "
        "self.core.is_told_to_end(below):\n            return below.node\n",
        new="",
    ),
    Mutant(
        name="speaks-for-itself-alone",
        old="if self.core.is_covered(child, groups)}",
        new="if child in groups}",
    ),
    Mutant(
        name="speaks-for-servers-that-know-their-end",
        old=" and not self.core.is_told_to_end(below):\n",
        new=":\n",
    ),
    Mutant(
        name="founders-forget-what-servers-decided",
        old="(*below.memory.changes, *layer.memory.changes)",
        new="below.memory.changes",
    ),
    Mutant(
        name="one-batch-is-for-one-group",
        old="if not self._is_heard(layer, one, present)]",
        new="if one not in present]",
    ),
    Mutant(
        name="the-first-group-by-its-number",
        old="min(children, key=self.core.plan.place)",
        new="min(children)",
    ),
    Mutant(
        name="frees-nobody-when-servers-end",
        old="            if isinstance(change, Change) and not _is_decided(layer, pack(change)):\n"
        "                self.core.send_word(layer, Void(change), now)\n",
        new="            pass\n",
    ),
    Mutant(
        name="tells-only-what-its-groups-remember",
        old=" or isinstance(unpack(stored), Change)\n",
        new="\n",
    ),
    Mutant(
        name="what-was-handed-over-is-with-all",
        old="            is_with_all = kept.stable and not layer.state.others_may_lack\n",
        new="            is_with_all = kept.stable\n",
    ),
    Mutant(
        name="goes-by-its-own-views-alone",
        old="        senior = known.first if known.first >= 0 else next(iter(founders), -1)\n",
        new="        senior = -1\n",
    ),
    Mutant(
        name="servers-keep-to-themselves-who-lacks-it",
        old="            self.absence.hand_down_missed(above, now)\n",
        new="            pass\n",
    ),
    Mutant(
        name="remembers-what-a-member-has-been-told",
        old="            self._tell_above_that_it_knows(layer, who, now)\n",
        new="",
    ),
    Mutant(
        name="brings-no-word-of-who-lacks-it",
        old="        Batch(above=True, beside=listed(beside)),\n",
        new="        Batch(above=True),\n",
    ),
    Mutant(
        name="new-servers-keep-to-themselves-who-lacks-it",
        old="        found[process_key(who)] = names | found.get(process_key(who), set())\n",
        new="        pass\n",
    ),
    Mutant(
        name="forgets-before-it-is-told",
        old="        is_told = not memory.missing_batches and not layer.node.level\n",
        new="        is_told = not layer.node.level\n",
    ),
]
"""Rules at the moment at which each matters."""

SELDOM = [
    Mutant(
        name="merges-out-of-step",
        old="batch_from_above(layer, above), now",
        new="batch_from_above(layer, above)[:1], now",
    ),
    Mutant(
        name="from-above-is-not-last",
        old="            is_last = layer.memory.missing_batches <= {ABOVE}\n",
        new="            is_last = True\n",
    ),
    Mutant(
        name="leaves-the-servers-with-its-own-alone",
        old="if (1 << kept.message.id.sender | kept.message.destinations) & processes",
        new="if processes >> kept.message.id.sender & 1",
    ),
    Mutant(
        name="begins-before-its-servers",
        old="            if waited_s > limit_s * (2 if who == ABOVE else 1):\n",
        new="            if waited_s > limit_s:\n",
    ),
    Mutant(
        name="batch-drops-what-was-put-aside",
        old="(*kept, *carries(map(unpack, below.put_aside())))",
        new="kept",
    ),
    Mutant(
        name="says-at-every-tick-that-there-are-none",
        old="            elif isinstance(item, Above):\n"
        "                self._note_above(layer, item, now)\n",
        new="",
    ),
    Mutant(
        name="bound-not-brought",
        old="    for node, epoch in head.bound:\n"
        "        memory.bound[node] = max(epoch, memory.bound.get(node, 0))\n",
        new="",
    ),
    Mutant(
        name="one-heir-is-told",
        old="(made if one in gone else (one,))",
        new="(made[:1] if one in gone else (one,))",
    ),
    Mutant(
        name="forgets-groups-beside-in-batches",
        old="        memory.note_missed(who, messages)\n    else:\n",
        new="        pass\n    else:\n",
    ),
    Mutant(
        name="forgets-members-beside-in-batches",
        old="    else:\n        memory.note_missed_beside(who, messages)\n",
        new="",
    ),
    Mutant(
        name="departed-is-not-had",
        old="            self.relay.reconcile(layer, now)\n\n    def _bringing(",
        new="\n    def _bringing(",
    ),
    Mutant(
        name="forgets-what-its-group-has-not",
        old="if to & home and not local.has_passed(kept.message.id):",
        new="if False:",
    ),
    Mutant(
        name="forgets-it-among-the-next-servers",
        old="        elif place == 1 and old.node.index == new.node.index:\n",
        new="        elif place < 0:\n",
    ),
    Mutant(
        name="keeps-that-to-itself",
        old="if words := untold(layer):",
        new="if words := ():",
    ),
    Mutant(
        name="comes-home-and-is-silent",
        old="        self.absence.pass_on_beside(layer, beside, now)\n",
        new="",
    ),
    Mutant(
        name="keeps-that-from-the-servers",
        old="        self._tell_those_above(layer, word, now)\n",
        new="",
    ),
    Mutant(
        name="comes-home-with-old-news",
        old="        again.state.memory.missed_beside = {}  # the others know that\n",
        new="",
    ),
    Mutant(
        name="keeps-to-itself-what-merged-groups-knew",
        old="                self.absence.pass_on_missed(above, {}, now)\n",
        new="                pass\n",
    ),
    Mutant(
        name="new-servers-keep-to-themselves-who-has-missed-it",
        old="if who != below.node.index and names - known and len(known) < MOST_NAMED:",
        new="if False:",
    ),
    Mutant(
        name="lets-servers-call-that-it-has-left",
        old="self._answer_those_left(source, node)",
        new="pass",
    ),
    Mutant(
        name="answers-though-not-all-know",
        old="if any(fence.known_to_all.get(node, 0) >= LEFT for fence in fences):",
        new="if fences:",
    ),
]
"""Rules that matter seldom."""
