"""How local groups agree to give way to others (C1 to C3).

The server of the servers proposes a change (`Proposal`). Every group that would end by it answers,
through its server. A group *agrees* to one change at a time, and only if its members are those whom
the change names; otherwise it refuses that change, for ever. The group remembers its answer, and
its server gives it only when all members know. So the answer stays true, whatever becomes of that
server, and of the servers.

A change has come about as soon as all of these groups agree; whoever hears of that may say so
(`Change`). It is void as soon as one refuses; the others are told, and are free again (`Void`). A
group that has agreed and hears nothing more goes on as before, and its server repeats the answer to
whichever servers there are.
"""

from collections.abc import Iterable

from antecede.groups import GroupMessageId
from antecede.message import process_set
from antecede.overlays.daisy.core import Part
from antecede.overlays.daisy.items import Change, Proposal, Reshape, Void, pack, unpack
from antecede.overlays.daisy.layer import Layer


class Consent(Part):
    """Proposes changes to the groups below, answers for the groups of this process, and counts the
    answers."""

    # At the server of the servers.

    def propose(self, layer: Layer, change: Change, now: float) -> None:
        """Ask the groups that a change ends. Nothing else is proposed until this is decided or
        void."""
        layer.state.moving.proposed = pack(change)
        self.core.send_word(layer, Proposal(change), now)

    def _count_answer(self, layer: Layer, answer: Proposal, node: int, now: float) -> None:
        moving, change, stored = layer.state.moving, answer.change, pack(answer.change)
        if _is_decided(layer, stored):
            return
        is_over = not {*change.gone} <= {*layer.node.children}  # by another change
        if is_over or not answer.agrees:
            self.core.send_word(layer, Void(change), now)
            return
        if stored not in moving.agreed_groups and stored != moving.proposed:
            self.core.send_word(layer, Proposal(change), now)
        moving.agreed_groups.setdefault(stored, set()).add(node)
        self._announce_agreed(layer, now)

    def announce_all_agreed(self, now: float) -> None:
        """Say which changes have come about, after every input: what held one up may be over."""
        for layer in list(self.core.layers):
            if layer.state.moving.agreed_groups and layer.is_server:
                self._announce_agreed(layer, now)

    def _announce_agreed(self, layer: Layer, now: float) -> None:
        """Say that a change has come about; but not while the group of servers may be about to end,
        as far as is known: after that, if it stays."""
        moving = layer.state.moving
        if moving.last_word[0] == Reshape.__name__ or not self.core.stays(layer):
            return
        for stored, agreed in list(moving.agreed_groups.items()):
            change = unpack(stored)
            if isinstance(change, Change) and agreed.issuperset(change.gone):
                del moving.agreed_groups[stored]
                self.core.send_word(layer, change, now)

    # In all groups.

    def on_proposal(self, layer: Layer, item: Proposal, within: GroupMessageId, now: float) -> None:
        """A group is asked, or one below has answered."""
        if not layer.node.level:
            self._decide_answer(layer, item.change)
            layer.state.moving.asked_changes[within] = pack(item.change)
            if within in layer.state.founding.stable_aside:
                self.answer(layer, [within], now)
        elif item.node is not None:
            if layer.is_server:
                self._count_answer(layer, item, item.node, now)
        else:
            below = self.core.below(layer)
            if below is not None and below.is_server and below.node.index in item.change.gone:
                self.core.send_word(below, item, now)

    def _decide_answer(self, layer: Layer, change: Change) -> None:
        """Settle the answer of a local group. All members come to the same one, since only the
        server of a view asks."""
        stored, memory = pack(change), layer.memory
        if stored == agreement(layer) or stored in memory.refused_changes:
            return
        if not agreement(layer) and not memory.missing_batches and _suits(layer, change):
            memory.agreed_to = stored
        else:
            memory.refused_changes.append(stored)

    def answer(self, layer: Layer, stable: Iterable[GroupMessageId], now: float) -> None:
        """As the server of a group, give the answers that all members know."""
        asked, above = layer.state.moving.asked_changes, self.core.above(layer)
        for within in [one for one in stable if one in asked]:
            change = unpack(asked.pop(within))
            if above is not None and layer.is_server and isinstance(change, Change):
                agrees = pack(change) == layer.memory.agreed_to
                word = Proposal(change, layer.node.index, agrees)
                self.core.send_word(above, word, now)

    def on_void(self, layer: Layer, word: Void, now: float) -> None:
        stored = pack(word.change)
        if not layer.node.level:
            if layer.memory.agreed_to == stored:
                layer.memory.agreed_to = b""
                layer.memory.refused_changes.append(stored)  # it does not agree to it again
            return
        self.drop_decided(layer, stored)
        below = self.core.below(layer)
        if below is not None and below.is_server and below.memory.agreed_to == stored:
            self.core.send_word(below, word, now)

    def void_all(self, layer: Layer, now: float) -> None:
        """At the server of servers that end, as those above know, free the groups that have agreed
        to something under them: it does not come about. Those who agree later are free, too."""
        moving = layer.state.moving
        if not is_asking(layer) or not layer.is_server or self.core.end_of(layer) is None:
            return
        if layer.member.queued():  # it may be about to say that one has come about
            return
        asked = {stored for stored in (moving.proposed, *moving.agreed_groups) if stored}
        moving.proposed, moving.agreed_groups = b"", {}
        for change in map(unpack, sorted(asked)):
            if isinstance(change, Change) and not _is_decided(layer, pack(change)):
                self.core.send_word(layer, Void(change), now)

    def drop_decided(self, layer: Layer, stored: bytes) -> None:
        """Forget what was said of a change that is decided or void."""
        moving = layer.state.moving
        moving.agreed_groups.pop(stored, None)
        if moving.proposed == stored:
            moving.proposed = b""

    def on_view(self, layer: Layer, now: float) -> None:
        """In a new view, answer for a local group what its members know: those that stay have heard
        the same. Among servers, say again what the group below has agreed to, if all of it know
        (C3)."""
        moving = layer.state.moving
        if not layer.node.level:
            self.answer(layer, sorted(moving.asked_changes), now)
            return
        moving.proposed, moving.agreed_groups = b"", {}
        below = self.core.below(layer)
        if below is None or not below.is_server or not agreement(below):
            return
        stored = below.memory.agreed_to
        change, is_known = unpack(stored), stored not in below.state.moving.asked_changes.values()
        if isinstance(change, Change) and is_known and not self.core.gives_way(below):
            word = Proposal(change, below.node.index, agrees=True)
            self.core.send_word(layer, word, now)


def is_asking(layer: Layer) -> bool:
    """Whether a change is proposed to groups below, at the server of the servers."""
    return bool(layer.state.moving.proposed or layer.state.moving.agreed_groups)


def _is_decided(layer: Layer, stored: bytes) -> bool:
    """Whether a change has come about, though not all servers may know."""
    return stored in layer.memory.changes or stored in layer.memory.pending_changes.values()


def agreement(layer: Layer) -> bytes:
    """The change to which a local group has agreed. One under servers that have ended since has
    not come about: they waited for those who had agreed."""
    stored = layer.memory.agreed_to
    change = unpack(stored) if stored else None
    is_ours = isinstance(change, Change) and change.parent == layer.node.parent
    return stored if is_ours else b""


def _suits(layer: Layer, change: Change) -> bool:
    """Whether the members of a group that a change ends are those whom it names."""
    view, node = layer.view, layer.node
    named = process_set(one for _, founders in change.made for one in founders) & node.processes
    is_ours = node.index in change.gone and change.parent == node.parent
    return is_ours and view is not None and named == view.processes
