"""What a process does when views change: it serves a group or takes over what the group remembers;
it notes who is away, and comes back when it was left out itself."""

from abc import abstractmethod
from collections.abc import Iterable

from antecede import groups
from antecede.message import ProcessSet, members, set_to_bytes
from antecede.order import (
    Event,
    Notice,
)
from antecede.overlays._daisy_items import (
    Above,
    Carry,
    Forget,
    Memory,
    Moved,
    carry,
    decode_items,
    pack,
    unpack,
)
from antecede.overlays._daisy_layer import (
    Layer,
    founding,
    joining,
)
from antecede.overlays._daisy_search import Search, absent, batch
from antecede.overlays._daisy_star import Star
from antecede.snapshot import thaw


class Views(Star):
    """A process in its groups, as far as their members are concerned."""

    _search: Search
    _is_start: bool

    @abstractmethod
    def _take_batches(self, layer: Layer, now: float) -> None:
        """All batches are here, perhaps."""

    @abstractmethod
    def _learn(self, changes: Iterable[bytes]) -> None:
        """Take note of the changes of the plan that are news."""

    @abstractmethod
    def _announce_changes(self, layer: Layer, now: float) -> None:
        """Tell the group below if it gives way."""

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
        if new.state.batches:
            below = self._layers[place - 1] if place else None
            self._do(new, new.bring(batch(new, below), now))

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
        if state.batches:
            absent(layer, view)
            self._take_batches(layer, now)
        self._apply_changes(layer, sorted(layer.memory.pending), now)
        self._announce_changes(layer, now)
        self._note_absence(layer, view, now)
        self._settle_early(layer, event, now)
        self._star_view(layer, event, now)
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
        if self._is_star(layer):
            self._absorb_alone(layer, content)
            return
        own = [carry(kept.message, kept.clock) for kept in layer.in_order()]
        state = layer.state
        state.memory = memory = thaw(content, Memory)
        self._learn(memory.changes)
        state.sent, state.unstable, state.reported, state.ahead = {}, {}, set(), set()
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
        again.state.outbox = layer.unsent()
        again.state.above, again.state.above_epoch = old.above, old.above_epoch
        again.state.resend = [
            pack(item)
            for message in event.undelivered
            for item in layer.carries(decode_items(message.payload))
        ] + layer.put_aside()
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
        if layer.node.level or view is None or not (memory.away or memory.forgotten):
            return
        back = [
            member.process
            for member, peer in zip(view.members, layer.member.state.peers, strict=True)
            if peer.present
            and (member.process in memory.away or member.process in memory.forgotten)
        ]
        for process in back:
            memory.away.pop(process, None)
            memory.forgotten.discard(process)
        if back:
            self._check_all(layer, now)

    def _unborn(self, layer: Layer) -> ProcessSet:
        """Latecomers that nobody has seen."""
        late = sum(1 << process for process in self.options.latecomers)
        return late & ~sum(1 << process for process in layer.memory.away)

    def _look_after(self, layer: Layer, now: float) -> None:
        """Forget who has been away for too long, and wake the groups that have no server here."""
        memory, node = layer.memory, layer.node
        for who, since in sorted(memory.away.items()):
            if now - since > self.options.forget_after_s and memory.kept:
                if not layer.is_told(Forget(who)):
                    layer.tell(Forget(who), now, self.options.tidy_s)
            elif not node.level:
                if self.state.changes:
                    self._search.say(Moved(node.index, tuple(self.state.changes)), 1 << who)
            else:
                child = self._plan.nodes[who]
                if any(kept.message.destinations & child.processes for kept in layer.in_order()):
                    self._search.call(layer, child)

    def _on_forget(self, layer: Layer, who: int, now: float) -> None:
        memory = layer.memory
        if who in memory.away:
            del memory.away[who]
            memory.forgotten.add(who)
            self._check_all(layer, now)
