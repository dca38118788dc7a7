"""What a process does when views change: it serves a group or takes over what the group remembers;
it notes who is away, and comes back when it was left out itself."""

from abc import abstractmethod
from collections.abc import Iterable

from antecede import groups
from antecede.message import ProcessSet, members, process_set, set_to_bytes
from antecede.order import (
    Event,
    Notice,
)
from antecede.overlays._daisy_handover import HandingOver
from antecede.overlays._daisy_items import (
    Above,
    Carry,
    Change,
    Forget,
    Memory,
    Poke,
    carry,
    decode_items,
    pack,
    unpack,
)
from antecede.overlays._daisy_layer import (
    ABOVE,
    Layer,
    founding,
    joining,
)
from antecede.overlays._daisy_search import Search, absent, batch, batch_from_above
from antecede.snapshot import thaw


class Views(HandingOver):
    """A process in its groups, as far as their members are concerned."""

    _search: Search
    _is_start: bool

    @abstractmethod
    def _take_batches(self, layer: Layer, now: float) -> None:
        """All batches are here, perhaps."""

    @abstractmethod
    def _learn(self, changes: Iterable[bytes]) -> list[Change]:
        """Take note of the changes of the plan that are news."""

    @abstractmethod
    def _announce_changes(self, layer: Layer, now: float) -> None:
        """Tell the group below if it gives way."""

    @abstractmethod
    def _give_way(self, layer: Layer, now: float) -> None:
        """If the group gives way to another, do so."""

    @abstractmethod
    def _call_roll(self, layer: Layer, now: float) -> None:
        """Tell the servers who is in the group."""

    @abstractmethod
    def _move_if_ready(self, layer: Layer, now: float) -> None:
        """Perhaps the group gives way to another."""

    # Being in groups.

    def _add(self, layer: Layer, now: float) -> None:
        self._layers.append(layer)
        self.state.layers.append(layer.state)
        self._do(layer, layer.member.start(now))

    def replace(self, old: Layer, new: Layer, now: float, is_server: bool = False) -> None:
        """Be in a group in another way. Whatever is above depends on it, and is over, unless this
        process serves the group still."""
        place = self._layers.index(old)
        if not is_server:
            del self._layers[place + 1 :], self.state.layers[place + 1 :]
        self._layers[place] = new
        self.state.layers[place] = new.state
        self._do(new, new.member.start(now))

    def _bring_batches(self, now: float) -> None:
        """Into groups that are founded anew. From below when nothing is missing from further below,
        from above when nothing is missing from further above: first all is gathered upwards, then
        it is put in order downwards. What comes from above comes last, for the groups before may
        have had more from there in the meantime."""
        for layer in self._layers:
            below, above, owes = self._below(layer), self._above(layer), layer.state.owes
            is_gathered = below is None or (
                below.memory.batches <= {ABOVE} and self._is_gathered(below)
            )
            if self.process in owes and is_gathered:
                owes.discard(self.process)
                self._do(layer, layer.bring(batch(layer, below), now))
            if ABOVE not in owes or not layer.is_server or above is None:
                continue
            is_last = layer.memory.batches <= {ABOVE}
            if is_last and not above.memory.batches and not above.is_merging():
                owes.discard(ABOVE)
                self._do(layer, layer.bring(batch_from_above(layer, above), now))

    def _on_view(self, layer: Layer, event: groups.ViewInstalled, now: float) -> None:
        view, state = event.view, layer.state
        where = layer.node.name
        self._effects.append(Notice(Event.VIEW, where, view.number, view.processes))
        server = view.members[0].process
        if state.server not in (-1, server):
            self._effects.append(Notice(Event.SERVER, where, view.number, 1 << server))
        state.server = server
        if event.state:
            self._absorb(layer, event.state, now)
            self._tell_lost(layer)
            self._tell_missed(layer)
            self._give_way(layer, now)
        if layer.memory.batches:
            absent(layer, view)
            self._take_batches(layer, now)
        self._apply_changes(layer, sorted(layer.memory.pending), now)
        self._announce_changes(layer, now)
        self._note_absence(layer, view, now)
        self._settle_early(layer, event, now)
        self._star_view(layer, event, now)
        self._direct_view(layer, event, now)
        if layer.is_server:
            self._serve(layer, now)
        self._reconcile(layer, now)
        self._tell_below(layer, view, now)
        self._call_roll(layer, now)
        self._move_if_ready(layer, now)

    def _serve(self, layer: Layer, now: float) -> None:
        """The server of a group is in the group above."""
        node = layer.node
        if node.parent is None or layer is not self._layers[-1]:
            return
        parent = self._plan.nodes[node.parent]
        if self._is_start:
            above = founding(self.process, parent, self.options)
        else:
            contacts = layer.state.above | sum(1 << process for process in parent.founders)
            epoch = layer.state.above_epoch
            above = joining(self.process, parent, self.options, 0, epoch, contacts)
        self._add(above, now)

    def _tell_below(self, layer: Layer, view: groups.View, now: float) -> None:
        """The group below has to know whom its next server can turn to."""
        below = self._below(layer)
        if below is not None and view.number > 1:
            word = Above(layer.state.epoch, set_to_bytes(view.processes))
            below.tell(word, now, self.options.tidy_s)

    def _absorb(self, layer: Layer, content: bytes, now: float) -> None:
        """In a new view, or again after an exclusion: take over what the group remembers, deliver
        what has been missed, and send what the group has missed."""
        if self._is_star(layer) or self._is_direct(layer):
            self._absorb_alone(layer, content)
            return
        own = [carry(kept.message, kept.clock) for kept in layer.in_order()]
        state = layer.state
        state.memory = memory = thaw(content, Memory)
        self._learn(memory.changes)
        state.sent, state.unstable, state.reported, state.ahead = {}, {}, set(), set()
        state.settled, state.batched = {within for _, within, _ in memory.aside}, set()
        state.owes = memory.batches & {ABOVE}
        for kept in layer.in_order():
            kept.stable = True
            if not layer.node.level:
                self._deliver(kept)
        waiting = [unpack(stored) for stored in (*state.resend, *state.outbox)]
        resend = {item.id: item for item in (*own, *waiting) if isinstance(item, Carry)}
        state.resend, state.outbox = [], []
        for item in resend.values():
            if item.number > memory.seen.get(item.sender, 0):
                self._pass(layer, item, now)

    def _tell_missed(self, layer: Layer) -> None:
        """Back after so long that something for this process or its group has been let go."""
        if self._who(layer, self.process) in layer.memory.missed:
            self._effects.append(Notice(Event.GAP, layer.node.name))

    def _who(self, layer: Layer, process: int) -> int | None:
        """Whom a process stands for in a group: for itself, or for a group below."""
        return self._plan.child_of(layer.node, process) if layer.node.level else process

    def _on_stopped(self, layer: Layer, event: groups.Stopped, now: float) -> None:
        """The others went on without this process: it comes back. It serves no group meanwhile."""
        old = layer.state
        again = joining(
            self.process,
            layer.node,
            self.options,
            old.incarnation + 1,
            old.epoch,
            layer.node.processes if not layer.node.level else self._contacts(layer),
        )
        again.state.memory = old.memory
        again.state.straight.epoch = old.straight.epoch
        again.state.outbox = layer.unsent()
        again.state.above, again.state.above_epoch = old.above, old.above_epoch
        lost = [
            pack(item)
            for message in event.undelivered
            for item in layer.carries(decode_items(message.payload))
        ]
        again.state.resend = [*old.resend, *lost, *layer.put_aside()]
        self.replace(layer, again, now)

    def _contacts(self, layer: Layer) -> ProcessSet:
        below = self._below(layer)
        known = below.state.above if below is not None else 0
        return known | sum(1 << process for process in layer.node.founders)

    # Absence.

    def _note_absence(self, layer: Layer, view: groups.View, now: float) -> None:
        """Who has left may come back: remember since when it is away."""
        memory, node = layer.memory, layer.node
        if node.level:
            present = {self._plan.child_of(node, member.process) for member in view.members}
            expected: Iterable[int] = node.children
        else:
            present = {member.process for member in view.members}
            expected = members(node.processes & ~self._unborn(layer))
        for who in expected:
            if who not in present:
                if who not in memory.forgotten:
                    memory.away.setdefault(who, now)
            elif node.level:
                memory.away.pop(who, None)
                memory.forgotten.discard(who)

    def _note_return(self, layer: Layer, now: float) -> None:
        """Who has come back has what was kept for it as soon as it speaks in the new view."""
        memory, view = layer.memory, layer.view
        if view is None or not (memory.away or memory.forgotten or memory.missed):
            return
        peers = zip(view.members, layer.member.state.peers, strict=True)
        heard = [self._who(layer, member.process) for member, peer in peers if peer.present]
        memory.missed.difference_update(heard)
        back = [who for who in heard if who in memory.away or who in memory.forgotten]
        for process in back if not layer.node.level else ():
            memory.away.pop(process, None)
            memory.forgotten.discard(process)
            layer.state.returned[process] = now
        if back and not layer.node.level:
            self._check_all(layer, now)

    def _give_up_waiting(self, layer: Layer, now: float) -> None:
        """Who has come back, or is away for long, has had the time to bring what its group has
        missed of it: the rest comes from the servers."""
        returned, below = layer.state.returned, self._below(layer)
        late = [who for who, at in returned.items() if now - at > self.options.suspect_after_s]
        for who in late:
            del returned[who]
        if late or (below is not None and below.is_server and below.memory.away):
            self._reconcile(layer, now)

    def _unborn(self, layer: Layer) -> ProcessSet:
        """Latecomers that nobody has seen."""
        return process_set(self.options.latecomers) & ~process_set(layer.memory.away)

    def _look_after(self, layer: Layer, now: float) -> None:
        """Forget who has been away for too long; wake groups that have no server here, and members
        that may not know that they are out."""
        memory, node = layer.memory, layer.node
        for who, since in sorted(memory.away.items()):
            if now - since > self.options.forget_after_s and memory.kept:
                if not layer.is_told(Forget(who)):
                    layer.tell(Forget(who), now, self.options.tidy_s)
            elif layer.keeps_for(self._those(layer, who)):
                self._call(layer, who)
            elif not node.level:
                self._search.tell_changes(node, 1 << who)

    def _call(self, layer: Layer, who: int) -> None:
        if layer.node.level:
            self._search.call(layer, self._plan.nodes[who])
        else:
            self._search.tell_changes(layer.node, 1 << who)
            self._search.say(Poke(layer.node.index), 1 << who)

    def _on_forget(self, layer: Layer, who: int, now: float) -> None:
        memory = layer.memory
        if who in memory.away:
            del memory.away[who]
            memory.forgotten.add(who)
            self._check_all(layer, now)
            self._reconcile(layer, now)
