"""How servers find each other when the group above does not answer, and found it anew.

A new server asks those who were in the group above to let it in. Where nobody does, all of them
may have died at once. It then asks around in the groups beside its own (`Seek`): one that is in the
group above says who else is (`Found`); one that looks for it, too, says so (`Lost`); all others
look whether their own server lives. If for a while nobody is found who is in, the one whose group
has the lowest number founds the group anew, with all that look for it, in a new epoch.

The new servers have no common past. Each of them first sends all that its group keeps (`Batch`),
and none looks at anything before it has the batches of all; then it takes them in the order of
Lamport time, which respects causality whatever they came through. Where there is a group above,
that brings a batch, too, through whoever serves: what it keeps for this group may come before what
the others bring. A group that brings no batch may have died with messages that others depend on:
that is told as a gap.
"""

from typing import Protocol

from antecede.groups import GroupMessageId, Quorum, View
from antecede.message import ProcessSet, process_set
from antecede.order import Effect, Packet, Transmit
from antecede.overlays._daisy_items import (
    Batch,
    Carry,
    DaisyStamp,
    Found,
    Item,
    Lost,
    Moved,
    Poke,
    Seek,
    Talk,
    carries,
    carry,
    causal,
    pack,
    unpack,
)
from antecede.overlays._daisy_layer import ABOVE, Layer, founding_anew, joining
from antecede.overlays._daisy_plan import Node, Plan

_FOUNDERS = 1 << 16
"""An epoch has its founder in its lower bits: of two that are founded at once, one is the later."""


class Home(Protocol):
    """What a search needs of the process it runs at."""

    process: int

    @property
    def groups_plan(self) -> Plan: ...
    def known_changes(self) -> tuple[bytes, ...]: ...
    def layers(self) -> list[Layer]: ...
    def layer_of(self, node: int) -> Layer | None: ...
    def replace(self, old: Layer, new: Layer, now: float) -> None: ...
    def emit(self, effect: Effect) -> None: ...


class Search:
    """One process' part in it."""

    def __init__(self, home: Home, patience_s: float) -> None:
        self._home = home
        self._patience_s = patience_s

    def say(self, talk: Talk, to: ProcessSet) -> None:
        """Talk outside of the groups. It may be lost; whatever matters is repeated."""
        to &= ~(1 << self._home.process)
        if to:
            stamp = DaisyStamp(None, talk, busy=True)
            self._home.emit(Transmit(Packet(self._home.process, None, stamp), to))

    def tell_changes(self, node: Node, to: ProcessSet) -> None:
        """Of whom this process speaks, others may not know yet."""
        changes = self._home.known_changes()
        if changes:
            self.say(Moved(node.index, changes), to)

    def call(self, layer: Layer, child: Node) -> None:
        """Wake a group that has no server in this one, and say who is in it."""
        self.say(Poke(child.index), child.processes)
        if layer.view is not None and layer.state.epoch:
            self.say(_found(layer, layer.view), child.processes)

    # One that looks for the group above.

    def tick(self, layer: Layer, now: float) -> None:
        """At every tick of a group of servers."""
        state = layer.state
        if not layer.is_lost:
            state.seeking_since = -1.0
            state.lost = {}
            self._remind(layer)
            return
        if state.seeking_since < 0:
            state.seeking_since = now
        elif now - state.seeking_since > self._patience_s:
            node = layer.node
            own = self._own(node)
            beside = node.processes & ~own.processes
            self.tell_changes(own, beside)
            self.say(Seek(own.index, state.epoch), beside)
            if now - state.seeking_since > 3 * self._patience_s:
                self._found_anew(layer, own, now)

    def _own(self, node: Node) -> Node:
        plan = self._home.groups_plan
        child = plan.child_of(node, self._home.process)
        return plan.nodes[node.index if child is None else child]

    def _found_anew(self, layer: Layer, own: Node, now: float) -> None:
        """If nobody with a better claim is looking, and enough are."""
        state, node = layer.state, layer.node
        fresh = {
            child: process
            for child, (process, heard_at) in sorted(state.lost.items())
            if now - heard_at < self._patience_s
        }
        if any(child < own.index for child in fresh):
            return
        if layer.options.quorum is Quorum.MAJORITY and 2 * (1 + len(fresh)) <= len(node.children):
            return
        founders = (self._home.process, *fresh.values())
        epoch = (state.epoch // _FOUNDERS + 1) * _FOUNDERS + self._home.process
        word = Found(node.index, epoch, founders, again=True)
        self.say(word, process_set(founders))
        self._adopt(layer, word, now)

    def _remind(self, layer: Layer) -> None:
        """A founder repeats its word to those who have not been heard in the new group."""
        view, state = layer.view, layer.state
        if view is None or view.number > 1 or not state.epoch or not layer.is_server:
            return
        peers = layer.member.state.peers
        silent = [
            member.process
            for member, peer in zip(view.members, peers, strict=True)
            if not peer.present
        ]
        self.say(_found(layer, view), process_set(silent))

    # What others say.

    def on_talk(self, source: int, talk: Talk, now: float) -> None:
        match talk:
            case Poke():
                self._look(now)
            case Seek(node):
                self._on_seek(source, node, now)
            case Lost(node):
                self._on_lost(source, node, now)
            case Found(node):
                layer = self._home.layer_of(node)
                if layer is not None and (layer.is_lost or talk.epoch > layer.state.epoch):
                    self._adopt(layer, talk, now)

    def _look(self, now: float) -> None:
        """Look whether all is well in the groups of this process."""
        for layer in self._home.layers():
            layer.state.busy_until = now + 2 * layer.options.suspect_after_s

    def _on_seek(self, source: int, node: int, now: float) -> None:
        plan = self._home.groups_plan
        parent = plan.nodes[node].parent
        if parent is None:
            return
        own = self._own(plan.nodes[parent])
        self.tell_changes(own, 1 << source)
        self._look(now)
        layer = self._home.layer_of(parent)
        if layer is None:
            return
        if layer.is_lost:
            self.say(Lost(own.index, layer.state.epoch), 1 << source)
        elif layer.view is not None:
            self.say(_found(layer, layer.view), 1 << source)

    def _on_lost(self, source: int, node: int, now: float) -> None:
        parent = self._home.groups_plan.nodes[node].parent
        layer = None if parent is None else self._home.layer_of(parent)
        if layer is not None:
            layer.state.lost[node] = (source, now)

    def _adopt(self, layer: Layer, word: Found, now: float) -> None:
        """Found the group with the others, or ask those who are in it to be let in."""
        home, state = self._home, layer.state
        if word.again and home.process in word.processes:
            if word.epoch <= state.epoch:
                return
            new = founding_anew(home.process, layer.node, layer.options, word.epoch, word.processes)
        else:
            contacts = process_set(word.processes) & ~(1 << home.process)
            known = state.contacts if word.epoch == state.epoch else 0
            if word.epoch < state.epoch or not contacts & ~known:
                return
            if word.epoch == state.epoch and layer.is_in:
                return
            new = joining(
                home.process,
                layer.node,
                layer.options,
                state.incarnation,
                word.epoch,
                contacts | known,
            )
            new.state.seeking_since = now
        new.state.resend = layer.everything()
        new.memory.missed = layer.memory.missed
        home.replace(layer, new, now)


def _found(layer: Layer, view: View) -> Found:
    """Who is in a group of servers. In its first view, those who found it: they have to do so, for
    who joins instead brings no batch."""
    processes = tuple(member.process for member in view.members)
    is_anew = layer.state.epoch > 0 and view.number == 1
    return Found(layer.node.index, layer.state.epoch, processes, is_anew)


def batch(layer: Layer, below: Layer | None) -> tuple[Item, ...]:
    """What a founder brings along: what it had as a member before, and what its group keeps (or has
    put aside) that goes beyond it."""
    items = {item.id: item for item in map(unpack, layer.state.resend) if isinstance(item, Carry)}
    if below is not None:
        kept = [carry(kept.message, kept.clock) for kept in below.in_order()]
        for item in (*kept, *carries(map(unpack, below.put_aside()))):
            if item.message.destinations & ~below.node.processes:
                items[item.id] = item
    layer.state.resend = []
    memory = layer.memory
    head = Batch(missed=tuple(sorted(memory.missed)), away=tuple(sorted(memory.away)))
    return (head, *sorted(items.values(), key=causal))


def batch_from_above(layer: Layer, above: Layer) -> tuple[Item, ...]:
    """What the servers keep for a group."""
    return (
        Batch(above=True),
        *(
            carry(kept.message, kept.clock)
            for kept in above.in_order()
            if kept.message.destinations & layer.node.processes
        ),
    )


Arrival = tuple[int, GroupMessageId, Item]
"""The process that sent it, the group message it came in, and what came."""


def gather(layer: Layer, arrivals: list[Arrival], now: float) -> None:
    """Put arrivals aside until all batches are here."""
    memory = layer.memory
    for sender, within, item in arrivals:
        if isinstance(item, Batch):
            memory.batches.discard(ABOVE if item.above else sender)
            if item.above:
                layer.state.owes.discard(ABOVE)
            layer.state.batched.add(within)
            memory.missed.update(item.missed)
            for who in item.away:
                memory.away.setdefault(who, now)
        else:
            memory.aside.append((sender, within, pack(item)))


def ready(layer: Layer) -> tuple[list[Arrival], list[Arrival]]:
    """What was put aside: messages, in the order of Lamport time, and the rest."""
    aside = [(sender, within, unpack(stored)) for sender, within, stored in layer.memory.aside]
    layer.memory.aside = []
    messages = [arrival for arrival in aside if isinstance(arrival[2], Carry)]
    messages.sort(key=lambda arrival: causal(arrival[2]))
    return messages, [arrival for arrival in aside if not isinstance(arrival[2], Carry)]


def absent(layer: Layer, view: View) -> None:
    """Whoever is not in the view any more brings no batch."""
    layer.memory.batches &= {ABOVE, *(member.process for member in view.members)}
