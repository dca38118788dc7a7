"""Members that are away: how long messages are kept for them, and what they are told when they are
back.

A process that is silent may be dead or merely slow. Its group keeps what is for it for
`forget_after_s`. A group of servers does the same for a group below that has no server in it (claim
4 of docs/daisy-argument.md). What is let go is remembered by name, and told to whoever is back,
until all members of its group are known to have been told.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from antecede import groups
from antecede.groups import Quorum
from antecede.message import MessageId, ProcessSet, members, process_set
from antecede.order import Wake
from antecede.overlays.daisy.batches import is_member, known_beside
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.items import Bind, Forget, Ids, Missed, message_ids, process_key
from antecede.overlays.daisy.layer import ABOVE, Layer, last_view_key
from antecede.overlays.daisy.records import MOST_NAMED, NEVER
from antecede.overlays.daisy.relay import Relay
from antecede.overlays.daisy.search import Search

NOTHING: Mapping[int, int] = MappingProxyType({})


class Absence(Part):
    """Notes who is away from the groups of this process, calls them, forgets them after a while,
    and tells those that are back what they have missed."""

    def __init__(self, core: Core, relay: Relay, search: Search) -> None:
        super().__init__(core)
        self.relay = relay
        self.search = search

    def note_away(self, layer: Layer, view: groups.View, now: float) -> None:
        """Remember since when those have been away that are not in the view: they may come back."""
        memory, node = layer.memory, layer.node
        present = {self.core.stands_for(layer, member.process) for member in view.members}
        if node.level:
            expected: Iterable[int] = node.children
        else:
            memory.arrived_latecomers |= {*self.options.latecomers} & present
            expected = members(node.processes & ~self._unborn(layer))
        for who in expected:
            if who not in present:
                if who not in memory.forgotten:
                    memory.away.setdefault(who, now)
            elif node.level:
                memory.away.pop(who, None)
                memory.forgotten.discard(who)
                memory.founded_without.discard(who)

    def note_return(self, layer: Layer, now: float) -> None:
        """Note which members are back: one that speaks in the new view has got what was kept for
        it. A group says itself when it has been told what it missed (`on_served`)."""
        memory = layer.memory
        if layer.state.others_may_lack and layer.member.are_all_present:
            layer.state.others_may_lack = False
            self.relay.check_all(layer, now)
        if not (memory.away or memory.forgotten or memory.missed) or not layer.is_in:
            return
        heard = [self.core.stands_for(layer, process) for process in layer.member.present()]
        is_told = not memory.missing_batches and not layer.node.level
        for who in sorted(memory.missed.keys() & heard) if is_told else ():
            del memory.missed[who]
        back = [who for who in heard if who in memory.away or who in memory.forgotten]
        for process in back if not layer.node.level else ():
            memory.away.pop(process, None)
            memory.forgotten.discard(process)
            layer.state.returned[process] = now
        if back and not layer.node.level:
            self.relay.check_all(layer, now)

    def give_up_waiting(self, layer: Layer, now: float) -> None:
        """Wait no more for members that have been back for a while, or away for long. They have had
        the time to bring what their group lacks of their messages; the rest comes from the servers.
        """
        returned = layer.state.returned
        limit_s = self.options.suspect_after_s
        late = [who for who, at in returned.items() if now - at > limit_s]
        for who in late:
            del returned[who]
        below = self.core.below(layer) if layer.node.level else None
        if layer.state.memory.strays:
            self.relay.give_up_strays(layer, now)
        is_waiting = layer.state.replaced_since >= 0
        if late or (below is not None and below.is_server and (below.memory.away or is_waiting)):
            self.relay.reconcile(layer, now)

    def _unborn(self, layer: Layer) -> ProcessSet:
        """Latecomers that have not come yet."""
        memory = layer.memory
        come = process_set((*memory.arrived_latecomers, *memory.away))
        return process_set(self.options.latecomers) & ~come

    def look_after(self, layer: Layer, now: float) -> None:
        """Forget those that have been away for too long; wake groups that have no server here, and
        members that may not know that they are out. Those whose time has run out while these
        servers slept, and called nobody, get some more time to come."""
        memory, limit_s = layer.memory, self._limit_s(layer)
        for who, since in sorted(memory.away.items()):
            is_held_up = memory.kept or memory.frozen
            if now > self._until(layer, since, limit_s) and is_held_up:
                self._forget(layer, Forget(who), now)
            elif layer.is_server:
                self.search.call(layer, who)

    def _limit_s(self, layer: Layer) -> float:
        """After how long one that is away is forgotten, or a batch is given up. The server of the
        servers may be lost at home for good, and decide nothing; then the other servers do,
        somewhat later."""
        later_s = 0.0 if layer.is_server else 2 * self.options.suspect_after_s
        return layer.forget_after_s + later_s

    def _until(self, layer: Layer, since: float, limit_s: float) -> float:
        """Until when one is waited for that is away since then. A local group may wake up for a
        moment again and again, and would wait for ever."""
        roused_at = layer.state.sleep.roused_at if layer.node.level else since
        back_s = self.options.silences_back * self.options.suspect_after_s
        return roused_at + back_s if since + limit_s < roused_at else since + limit_s

    def call_back(self, layer: Layer, now: float) -> None:
        """Call those that have missed something, ever more seldom until they are back; only then
        are they told. They may be asleep, and not know that they are out. A group that was
        forgotten may be below other servers, which are to become one with these; a member that was
        forgotten gets what its group still keeps. A member that knows of it from a server looks
        whether that still lives."""
        sleep, view = layer.state.sleep, layer.view
        if view is None or now < sleep.call_at:
            return
        memory, wanted = layer.memory, {*layer.memory.missed}
        if layer.node.level:  # one of the servers may know of groups that never came about
            wanted |= memory.forgotten | self._groups_of_those_beside(layer)
            wanted &= {*layer.node.children}
        elif memory.forgotten:  # something may still be kept, for others, that it lacks
            kept = 0
            for one in memory.kept.values():
                kept |= one.message.destinations
            wanted |= {who for who in memory.forgotten if kept >> who & 1}
        present = self.core.present(layer) if wanted else set()
        absent = sorted(who for who in wanted if who not in present)
        for who in absent:
            self.search.call(layer, who)
            self.search.call_through_others(layer, who)
        is_watching = any(who >= 0 for who in memory.missed_beside) and not layer.is_server
        is_watching |= layer.node.level > 0 and any(who < 0 for who in memory.missed_beside)
        if is_watching:
            layer.rest.look_around(now)
        if absent or is_watching:
            wait_s = 2 * sleep.call_after_s if sleep.call_at >= 0 else self.options.suspect_after_s
            sleep.call_after_s, sleep.call_at = wait_s, now + wait_s
            self.core.emit(Wake(sleep.call_at))

    def _groups_of_those_beside(self, layer: Layer) -> set[int]:
        """The groups below, members of which have missed something as these servers know: all of
        the group who know it may have died."""
        processes = (process_key(who) for who in layer.memory.missed_beside if who < 0)
        groups = (self.core.plan.child_of(layer.node, process) for process in processes)
        return {group for group in groups if group is not None}

    def call_for_batches(self, layer: Layer, now: float) -> None:
        """Wake the groups whose batches are missing; give up those that do not come. The one from
        above is awaited for as long as there is somebody above, as the server alone knows. All
        members count the time, for whoever serves next."""
        memory, limit_s = layer.memory, self._limit_s(layer)
        if not memory.missing_batches:
            memory.batches_missing_since = NEVER
            return
        missing = set(memory.missing_batches)
        last_views = {who for who in missing if who < ABOVE}
        above = self.core.above(layer)
        if ABOVE in missing and (len(missing) > 1 or (above is not None and not above.is_lost)):
            missing.discard(ABOVE)
        if not layer.is_server:
            missing.discard(ABOVE)
        if not missing or not (layer.node.level or missing <= last_views | {ABOVE}):
            memory.batches_missing_since = NEVER
        elif memory.batches_missing_since == NEVER:
            memory.batches_missing_since = now
        decides = layer.is_server or layer.node.level
        waited_s = now - memory.batches_missing_since
        for who in sorted(missing) if memory.batches_missing_since != NEVER and decides else ():
            if waited_s > limit_s * (2 if who == ABOVE else 1):
                self._forget(layer, Forget(who, batch=True), now)
            elif who > ABOVE and layer.is_server:
                self.search.call(layer, who)

    def _forget(self, layer: Layer, word: Forget, now: float) -> None:
        """Tell the group that one is forgotten, or a batch given up. A process that is lost at home
        decides nothing of the kind: its group may be away no longer, through another server, and
        nobody would be told of what it lets go."""
        if not self.core.is_home_lost(layer):
            layer.tell_once(word, now)

    def on_forget(self, layer: Layer, word: Forget, now: float) -> None:
        """One that is away is forgotten, or a batch is given up, as all members hear. A group whose
        batch is given up may have been there a moment ago, and come back: what is for it is kept.
        Who is away from the others may have served with it, and have the message."""
        memory, who = layer.memory, word.who
        if word.batch and who in memory.missing_batches:
            memory.missing_batches.discard(who)
            layer.state.founding.owed_batches.discard(who)
            absent = layer.state.founding.absent if layer.node.level else 0
            self.core.tell_gap(layer, self._bringing(layer, who) | absent)
        if not word.batch and who in memory.away:
            del memory.away[who]
            memory.forgotten.add(who)
            self.relay.check_all(layer, now)
            self.relay.reconcile(layer, now)

    def _bringing(self, layer: Layer, who: int) -> ProcessSet:
        """The processes whose messages are missing where a batch is given up."""
        if who == ABOVE:
            return self.core.beyond(layer)
        if who > ABOVE:
            return self.core.processes_of(layer, who)
        return self.core.plan.nodes[last_view_key(who)].processes & ~layer.here

    def tell_missed(self, layer: Layer, now: float, had: Mapping[int, int] = NOTHING) -> None:
        """Tell the application what was let go that is for this process or its group, which has
        been away for so long. `had`: by process, the last number that was delivered here before. A
        server may have been replaced and not know: it tells for itself, and again when all of its
        group hear it."""
        whose = self.core.stands_for(layer, self.process)
        missed = layer.memory.missed.get(whose, set()) if whose is not None else set()
        names = {name for name in missed if name.number > had.get(name.sender, 0)}
        if missed and not layer.node.level:
            self.core.send_word(layer, Missed(self.process, ()), now)
        if not names:
            return
        self._tell_names(layer, names)
        below = self.core.below(layer)
        if below is not None:
            word = Bind(layer.node.index, layer.state.epoch)
            self.core.send_word(below, word, now)

    def _tell_names(self, layer: Layer, names: set[MessageId]) -> None:
        """Tell a gap, with the names of the messages if these are all."""
        are_all = len(names) < MOST_NAMED
        self.core.tell_gap(layer, messages=tuple(sorted(names)) if are_all else ())

    def on_served(self, node: int, now: float) -> None:
        """All members of its group are known to hear this process, as one of these servers (F2). If
        the group has missed something, it is told so through this process; the other servers may
        forget it."""
        layer = self.core.layer_of(node)
        if layer is None or not layer.is_in or layer.memory.missing_batches:
            return
        whose, below = self.core.stands_for(layer, self.process), self.core.below(layer)
        if whose not in layer.memory.missed or below is None or not below.is_server:
            return
        if not self.core.is_home_lost(layer):
            names = layer.memory.missed[whose]
            self._tell_names(layer, names)
            for who in sorted({*below.memory.away, *below.memory.forgotten}):
                below.tell(Missed(who, tuple(sorted(names))), now)
            self.core.send_word(layer, Missed(whose, ()), now)

    def hand_down_missed(self, layer: Layer, now: float) -> None:
        """At a server, tell the group below what others have missed, as the servers know: those
        beside it, and the members of a local group. What it has missed itself it knows before it
        sends anything down: its group may have another server and not hear it, and with
        `local=recipients` word in the group overtakes nothing."""
        below = self.core.below(layer)
        if below is None or not below.is_server:
            return
        for who, names in sorted(layer.memory.missed.items()):
            known = below.memory.missed_beside.get(who, set())
            if who != below.node.index and names - known and len(known) < MOST_NAMED:
                below.tell_once(Missed(who, tuple(sorted(names - known)), beside=True), now)
        if below.node.level:
            return
        for who, names in sorted(layer.memory.missed_beside.items()):
            news = names - below.memory.missed.get(process_key(who), set())
            if is_member(below, who) and news:
                word = Missed(who, tuple(sorted(news)), beside=True)
                if process_key(who) == self.process:
                    self.on_missed_beside(below, word, now)
                else:
                    below.tell(word, now)

    def tell_doubtful(self, layer: Layer, now: float) -> None:
        """At a server of a group that was given up when the servers were founded anew, tell what
        counts as missed. Its group is not bound to that epoch yet. Others have brought some
        messages of its processes, perhaps not all before those; what it keeps besides and would be
        taken for had counts as missed."""
        below, node, epoch = self.core.below(layer), layer.node.index, layer.state.epoch
        if below is None or self.options.quorum is Quorum.SURVIVORS or layer.memory.missing_batches:
            return
        if epoch <= below.memory.bound.get(node, 0):
            return
        self.core.send_word(below, Bind(node, epoch), now)
        doubtful = [
            kept.message
            for kept in below.in_order()
            if layer.has_passed(kept.message.id) and kept.message.id not in layer.memory.kept
        ]
        words = [
            Missed(child, tuple(sorted(one.id for one in doubtful if one.destinations & those)))
            for child in layer.node.children
            if (those := self.core.processes_of(layer, child)) and child != below.node.index
        ]
        words = [word for word in words if word.ids]
        if words:
            self.core.send_words(layer, words, now)

    def pass_on_missed(self, layer: Layer, known: Mapping[int, set[MessageId]], now: float) -> None:
        """Tell a group that this process has come into what others have missed, as it knows from
        where it was before, or from its group."""
        memory, below = layer.memory, self.core.below(layer)
        beside = {} if below is None else known_beside(below)
        words: list[Missed] = []
        here = {who for who in beside if who < 0 or who in layer.node.children}
        for who in sorted({*known, *here}):
            names = known.get(who, set()) | beside.get(who, set())
            had = memory.missed_beside if who < 0 else memory.missed
            news = tuple(sorted(names - had.get(who, set())))
            words += [Missed(who, news)] if news else []
        if words:
            self.core.send_words(layer, words, now)
        self.hand_down_missed(layer, now)

    def pass_on_beside(self, layer: Layer, known: Mapping[int, set[MessageId]], now: float) -> None:
        """Tell a group that this process is back in what others have missed, as the servers above
        knew when it was among them. Nobody else here may know."""
        had = layer.memory.missed_beside
        news = {who: tuple(sorted(names - had.get(who, set()))) for who, names in known.items()}
        words = [Missed(who, ids, beside=True) for who, ids in sorted(news.items()) if ids]
        if words:
            self.core.send_words(layer, words, now)

    def on_missed_beside(self, layer: Layer, word: Missed, now: float) -> None:
        """One that may be beside this group has missed something, or has been told what, as the
        servers above say: note it, and pass it on downwards."""
        if is_member(layer, word.who):
            layer.memory.missed_beside.pop(word.who, None)
            if word.ids:
                self.on_missed(layer, process_key(word.who), word.ids, now)
            return
        layer.memory.note_missed_beside(word.who, message_ids(word.ids))
        layer.state.sleep.call_at = -1.0
        self.relay.tell_beside(layer, word, now)
        self._tell_those_above(layer, word, now)

    def _tell_those_above(self, layer: Layer, word: Missed, now: float) -> None:
        """At a server, tell the servers what one beside this group has missed, if they do not know:
        who is back may have brought word of it from servers that were."""
        above = self.core.above(layer)
        if above is None or not layer.is_server or not word.ids:
            return
        memory, is_group = above.memory, word.who >= 0
        if word.who not in above.node.children if is_group else layer.node.level:
            return
        known = (memory.missed if is_group else memory.missed_beside).get(word.who, set())
        news = set(message_ids(word.ids)) - known
        if news and len(known) < MOST_NAMED:
            above.tell(Missed(word.who, tuple(sorted(news))), now)

    def on_missed(self, layer: Layer, who: int, ids: Ids, now: float) -> None:
        """A member, or a group below, has missed something, or has been told what (no messages)."""
        if who < 0:
            layer.memory.note_missed_beside(who, message_ids(ids))
            self.relay.tell_beside(layer, Missed(who, ids, beside=True), now)
            return
        if not ids:  # it has been told
            layer.memory.missed.pop(who, None)
            self._tell_above_that_it_knows(layer, who, now)
            self.relay.tell_beside(layer, Missed(who, (), beside=True), now)
            return
        names = message_ids(ids)
        if layer.memory.missed.get(who, set()).issuperset(names):
            return  # it comes from several sides: nothing is told again
        layer.memory.note_missed(who, names)
        layer.state.sleep.call_at = -1.0
        if who == self.core.stands_for(layer, self.process):
            had = NOTHING if layer.node.level else self.core.state.delivered
            self.tell_missed(layer, now, had)

    def _tell_above_that_it_knows(self, layer: Layer, who: int, now: float) -> None:
        """Tell the servers that a member of the local group has been told what it has missed."""
        above = None if layer.node.level else self.core.above(layer)
        if above is not None and layer.is_server and process_key(who) in above.memory.missed_beside:
            above.tell(Missed(process_key(who), ()), now)
