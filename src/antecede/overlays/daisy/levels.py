"""Groups of servers that split and dissolve, so that levels come and go (section 3.2).

A group of servers that is too large gives way to two, under the group above it or, if there is
none, under a new one. A group that is too small gives way to none: the groups below it come under
the one above it. A lone local group that is too large is split under a new group of servers. A
group of servers over a single group dissolves.

How (G1 to G6 in docs/daisy-argument.md):

- The server of the group says that it *freezes*. Its members send nothing more up into it, and say
  so (`Ready`). That lasts for one view: if somebody leaves or comes before the end is decided, or
  the decision takes long, the group goes on, and freezes again in its time.
- The group is *drained* when two things hold. It keeps no message of its own any more (whose sender
  and destinations are all below it) that a group below lacks; a group that has one keeps it for its
  members that are away. And all that goes beyond the group is with all members of the one above.
- Then its server tells the group above what comes in its place (`Reshape`) and, when all there
  know, the group itself.
- A member leaves when all groups that it serves below are bound never to take part in this one
  again. It founds the next group as one that is founded anew, with a batch of each group below; or
  it joins the one above, as a new server does.
"""

from antecede.groups import GroupMessageId
from antecede.message import MessageId, process_set
from antecede.overlays.daisy.absence import Absence
from antecede.overlays.daisy.consent import Consent, agreement, is_asking
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.fence import Fencing
from antecede.overlays.daisy.items import (
    Bind,
    Change,
    Freeze,
    Group,
    Missed,
    Ready,
    Reshape,
    UnknownAbove,
    pack,
    shorter,
    unpack,
)
from antecede.overlays.daisy.layer import LEFT, Layer, founding_anew, joining
from antecede.overlays.daisy.plan import Node
from antecede.overlays.daisy.records import NOTHING_SAID, Memory, Servers
from antecede.overlays.daisy.relay import Relay

_HELD_UP = 4
"""For how many times `suspect_after_s` a group may be frozen before its end is decided."""


class Levels(Part):
    """Ends groups of servers: what their server does, what their members do, and what the groups
    below do."""

    def __init__(
        self, core: Core, relay: Relay, absence: Absence, fencing: Fencing, consent: Consent
    ) -> None:
        super().__init__(core)
        self.consent = consent
        self.relay = relay
        self.absence = absence
        self.fencing = fencing
        self._limit_s = _HELD_UP * core.options.suspect_after_s

    # At the server of a group that is to give way.

    def advance(self, layer: Layer, now: float) -> None:
        """Do what can be done now for the group to give way, if it has to."""
        if not self.core.reshapes or self.core.is_start or layer not in self.core.layers:
            return
        if layer.state.moving.ended_by:
            self._leave_if_bound(layer, now)
        elif layer.is_server and not layer.is_lost:
            if layer.memory.frozen and self._is_held_up(layer, now):
                self._say_once(layer, layer, Freeze(layer.state.moving.freezes, is_over=True), now)
            elif not self.core.is_home_lost(layer):
                self._give_way(layer, now)

    def _give_way(self, layer: Layer, now: float) -> None:
        if not layer.node.level:
            self._split_alone(layer, now)
        elif layer.memory.frozen:
            self._go_if_drained(layer, now)
        elif self.core.end_of(layer) or (
            self._is_calm(layer) and self._is_due(layer) and self._may_freeze(layer, now)
        ):
            self._say_once(layer, layer, Freeze(layer.state.moving.freezes + 1), now)

    def _is_held_up(self, layer: Layer, now: float) -> bool:
        """Whether the group has been frozen for long, and its end is not decided: a group below may
        have lost its majority for good. Then it goes on, as in a new view."""
        moving = layer.state.moving
        is_late = now - moving.frozen_at > self._limit_s
        is_said = moving.last_word[:2] == (Reshape.__name__, layer.node.index)
        return is_late and not is_said and self.core.end_of(layer) is None

    def _may_freeze(self, layer: Layer, now: float) -> bool:
        """A group that was held up in this view freezes again only when all groups below have what
        is in it."""
        moving = layer.state.moving
        if not moving.freezes:
            return True
        return now - moving.frozen_at > self._limit_s and self._have_all_below(layer)

    def advance_all(self, now: float) -> None:
        """Advance all groups of servers that give way, after every input."""
        for layer in list(self.core.layers):
            if layer.memory.frozen or layer.state.moving.ended_by:
                self.consent.void_all(layer, now)
                self._say_ready(layer, now)
                self.advance(layer, now)

    def _say_ready(self, layer: Layer, now: float) -> None:
        """Say that this process is ready, once in every view, since a new member has to hear it.
        But not while the group that it serves is being founded, has agreed to a change or gives way
        (G2): other members of that may not know where to go."""
        view, below, moving = layer.view, self.core.below(layer), layer.state.moving
        number = moving.freezes
        if view is None or below is None or moving.ready_in == (view.number, number):
            return
        is_founded = not below.memory.missing_batches
        is_to_stay = not (agreement(below) or self.core.gives_way(below))
        if below.is_in and is_founded and is_to_stay:
            moving.ready_in = (view.number, number)
            self.core.send_word(layer, Ready(number), now)

    def _say_once(
        self, layer: Layer, within: Layer, item: Freeze | Reshape | Change, now: float
    ) -> None:
        """Send word of a change into a group, once in each of its views: it may be lost with the
        view."""
        number = within.view_number
        name = type(item).__name__
        if isinstance(item, Freeze) and item.is_over:
            name = "Thaw"
        asked_in = (name, within.node.index, within.state.epoch, number)
        if layer.state.moving.last_word != asked_in:
            layer.state.moving.last_word = asked_in
            self.core.send_word(within, item, now)

    def _is_calm(self, layer: Layer) -> bool:
        """Whether nothing else is under way in the group, and nobody is away."""
        view, memory = layer.view, layer.memory
        if view is None or not layer.member.is_calm or layer.member.queued():
            return False
        below = self.core.below(layer)
        if below is not None and (below.memory.missing_batches or self.core.gives_way(below)):
            return False
        if self._is_changing(layer):
            return False
        is_complete = self.core.present(layer) == {*layer.node.children}
        return not layer.node.level or (not memory.away and is_complete)

    def _is_changing(self, layer: Layer) -> bool:
        """Whether the group has yet to begin, or another change is under way in it."""
        memory = layer.memory
        if memory.missing_batches or memory.pending_changes or layer.has_unstable_batches():
            return True
        return is_asking(layer)

    def is_too_large(self, layer: Layer) -> bool:
        return 0 < self.options.split_servers_above < len(layer.node.children)

    def _is_due(self, layer: Layer) -> bool:
        """Whether the group has to give way: it is too large, or too small beside the one above."""
        count, above = len(layer.node.children), self.core.above(layer)
        limit = self.options.split_servers_above
        if self.is_too_large(layer):
            return layer.node.parent is None or above is not None
        if layer.node.parent is None:
            return count == 1
        if above is None or above.memory.frozen or count >= self.options.merge_servers_below:
            return False
        return not limit or len(above.node.children) + count - 1 <= limit

    def _go_if_drained(self, layer: Layer, now: float) -> None:
        view, memory, node = layer.view, layer.memory, layer.node
        moving = layer.state.moving
        if view is None or view.number != moving.frozen_in:  # the next one is not told yet
            return
        if any(member.process not in moving.ready for member in view.members):
            return
        if memory.aside or self._is_changing(layer):
            return
        if not self._have_all_below(layer):
            return
        decided, above = self.core.end_of(layer), self.core.above(layer)
        present = self.core.present(layer)
        if not {*node.children} <= present | (memory.forgotten if decided else set()):
            return
        if above is not None and not self._has_risen(layer, above):
            return
        if decided is not None:
            self._say_once(layer, layer, decided, now)
        elif node.parent is None:
            if len(present) > 1 or len(node.children) == 1:
                self._say_once(layer, layer, self._compose(layer, None), now)
        elif above is not None and not (above.memory.frozen or above.memory.missing_batches):
            self._say_once(layer, above, self._compose(layer, above), now)

    def _have_all_below(self, layer: Layer) -> bool:
        """Whether all groups below have what is for them from below the group (G3)."""
        own = [kept for kept in layer.memory.kept.values() if layer.node.contains(kept.message)]
        return all(self.relay.is_held_below(layer, kept) for kept in own)

    def _has_risen(self, layer: Layer, above: Layer) -> bool:
        """Whether all that goes beyond the group is with all members of the one above (G3). What
        comes after it may be brought there by another group that comes in the place of this one,
        and must not be the first to come."""
        known, processes = above.memory.kept, layer.node.processes
        for id_, kept in layer.memory.kept.items():
            is_rising = processes >> id_.sender & 1 and kept.message.destinations & ~processes
            is_stable = id_ not in known or known[id_].stable
            if is_rising and not (above.has_passed(id_) and is_stable):
                return False
        return True

    def _compose(self, layer: Layer, above: Layer | None) -> Reshape:
        """What comes in the place of a group of servers. Its server leads the first half; groups
        that are away are in the other."""
        node, limit = layer.node, self.options.split_servers_above
        serving = {self.core.stands_for(layer, process): process for process in _members_of(layer)}
        here = [child for child in serving if child is not None]
        forgotten = [child for child in node.children if child not in here]
        below = tuple(
            self._group(child, (serving[child],) if child in here else ())
            for child in (*here, *forgotten)
        )
        count = len(node.children)
        parent = None
        if above is not None:
            parent = self._group(above.node.index, _members_of(above), above.state.epoch)
        is_small = not limit or count <= limit or len(here) < 2
        if count == 1 or (parent is not None and is_small):
            return Reshape(node.index, parent, (), below)
        first, half = self.core.new_number(), len(here) // 2
        made = tuple(
            Group(
                first + place,
                node.level,
                tuple(serving[child] for child in part if child in here),
                shorter(sum(self.core.plan.nodes[child].processes for child in part)),
                tuple(part),
            )
            for place, part in enumerate((here[:half], [*here[half:], *forgotten]))
        )
        if parent is not None:
            return Reshape(node.index, parent, made, below)
        leaders = tuple(group.founders[0] for group in made)
        root = Group(self.core.new_number(), node.level + 1, leaders, shorter(node.processes))
        return Reshape(node.index, root, made, below, raised=True)

    def _group(self, index: int, members: tuple[int, ...], epoch: int = 0) -> Group:
        node = self.core.plan.nodes[index]
        return Group(index, node.level, members, shorter(node.processes), node.children, epoch)

    def _split_alone(self, layer: Layer, now: float) -> None:
        """Split a lone local group that is too large: it decides for itself."""
        view, limit = layer.view, self.options.split_above
        if layer.node.parent is not None or view is None or layer.state.moving.gives_way_by:
            return
        if layer is not self.core.layers[-1]:  # the group of servers that was is not left yet
            return
        if 0 < limit < len(view.members) and self._is_calm(layer):
            inside = tuple(member.process for member in view.members)
            half, first = len(inside) // 2, self.core.new_number()
            made = ((first, inside[:half]), (first + 1, inside[half:]))
            change = Change(1, self.core.new_number(), (layer.node.index,), made, raised=True)
            self._say_once(layer, layer, change, now)

    # At the members of such a group.

    def on_freeze(self, layer: Layer, word: Freeze, now: float) -> None:
        moving = layer.state.moving
        moving.frozen_at = now
        if not word.is_over:
            layer.memory.frozen = True
            moving.freezes = word.number
            moving.frozen_in = layer.view_number
        elif layer.memory.frozen:
            self._go_on_as_before(layer, layer.memory)
            self.relay.reconcile(layer, now)

    def _go_on_as_before(self, layer: Layer, memory: Memory) -> None:
        memory.frozen = False
        layer.state.moving.ready.clear()
        layer.state.moving.last_word = NOTHING_SAID

    def unfreeze(self, layer: Layer, memory: Memory) -> None:
        """In a new view, let the group go on, unless it has ended: it freezes for the length of a
        view, and again when its time has come (G1)."""
        known = (*memory.pending_changes.values(), *memory.changes)
        if layer.node.level and not any(_ends(stored, layer) for stored in known):
            self._go_on_as_before(layer, memory)
            layer.state.moving.freezes = 0

    def on_view(self, layer: Layer, now: float) -> None:
        """End the group here, too, if it has ended: a new member has to hear that."""
        for stored in layer.memory.changes if layer.node.level else ():
            if _ends(stored, layer):
                self.end(layer, stored, now)
                return

    def may_say(self, layer: Layer, change: Reshape, sender: int) -> bool:
        """Whether a member may say what comes in the place of a group of servers (G4). In the group
        above, a server speaks for it until the next one is there: that one may have decided
        otherwise, and hears of no change that comes later. In the group itself, what was said in an
        earlier view is void."""
        if change.gone == layer.node.index:
            return layer.memory.frozen
        if layer.view is None or layer.memory.missing_batches:
            return False
        serving = [
            member.process
            for member in layer.view.members
            if self.core.stands_for(layer, member.process) == change.gone
        ]
        return serving[-1:] == [sender]

    def end(self, layer: Layer, stored: bytes, now: float) -> None:
        """Tell the group below that the group of servers ends, and leave it: all its members know
        that, or one says so whose group has left it (`Left`)."""
        moving, change = layer.state.moving, unpack(stored)
        if moving.ended_by or not isinstance(change, Reshape):
            return
        moving.ended_by = stored
        below = self.core.below(layer)
        if below is not None and pack(change) not in below.memory.changes:
            own = UnknownAbove(tuple(self._known_here_alone(layer, below)))
            lacked = {} if layer.is_lost else self._lacked_by_forgotten(layer)
            missed = [Missed(who, tuple(ids), beside=True) for who, ids in lacked.items()]
            self.core.send_words(below, (own, *missed, change), now)
        self._leave_if_bound(layer, now)

    def _known_here_alone(self, layer: Layer, below: Layer) -> list[MessageId]:
        """The messages that have come by in this group alone, and are where they are to be: nobody
        above knows of them. A process that was lost to the group does not know that of all. Nor may
        all groups have them where others have decided this end, and these servers were founded anew
        without them."""
        return [
            kept.message.id
            for kept in below.in_order()
            if layer.has_passed(kept.message.id)
            and layer.node.contains(kept.message)
            and self._has_arrived(layer, kept.message.id)
        ]

    def _has_arrived(self, layer: Layer, message: MessageId) -> bool:
        """Whether all groups below that a message is for have it; forgotten ones do not."""
        kept = layer.memory.kept.get(message)
        if kept is None:
            return True
        lacking = layer.memory.forgotten - kept.done_by - kept.held_by
        to = sum(self.core.processes_of(layer, who) for who in lacking)
        return self.relay.is_held_below(layer, kept) and not kept.message.destinations & to

    def _leave_if_bound(self, layer: Layer, now: float) -> None:
        change = unpack(layer.state.moving.ended_by)
        is_bound = self.fencing.bind_for_good(layer, now)
        if isinstance(change, Reshape) and is_bound and layer in self.core.layers:
            self._leave(layer, change, now)

    def _leave(self, old: Layer, change: Reshape, now: float) -> None:
        core, plan = self.core, self.core.plan
        below, above = core.below(old), core.above(old)
        parent = None if below is None else change.parent_of(below.node.index)
        if above is not None:
            above.state.out.reported_done.clear()  # that was the old group's word
            above.state.out.reported_held.clear()
        if parent is None or (above is not None and above.node.index == parent):
            core.remove(old)
            if above is not None:
                self.absence.pass_on_missed(above, old.memory.missed, now)
                self.relay.reconcile(above, now)
            return
        node, group = plan.nodes[parent], change.group(parent)
        new = self._founder_of(parent, now) if group in change.made else None
        if new is None:
            epoch = max(group.epoch, core.earliest_epoch(parent))
            contacts = process_set(group.founders)
            life = core.state.next_incarnations.get(parent, 0)
            new = joining(self.process, node, self.options, life, epoch, contacts)
        new.state.out.resend = _left_with(old, node)
        new.memory.inherit(old.memory)
        self._note_missed(old, new)
        new.memory.forgotten = old.memory.forgotten & {*node.children}
        new.memory.changes = [*old.memory.changes]
        is_first = self.process in node.founders[:1]
        stays_above = above is not None and above.node.index == node.parent
        core.replace(old, new, now, is_first and stays_above)

    def _note_missed(self, old: Layer, new: Layer) -> None:
        """Note what a forgotten group has not had: those above were told that all groups are done
        with it."""
        for who, names in self._lacked_by_forgotten(old).items():
            new.memory.note_missed(who, names)

    def _lacked_by_forgotten(self, layer: Layer) -> dict[int, list[MessageId]]:
        """By forgotten group, what it has not had."""
        lacked: dict[int, list[MessageId]] = {}
        for who in sorted(layer.memory.forgotten):
            those = self.core.processes_of(layer, who)
            for id_, kept in sorted(layer.memory.kept.items()):
                if kept.message.destinations & those and who not in kept.done_by:
                    lacked.setdefault(who, []).append(id_)
        return lacked

    def _founder_of(self, index: int, now: float) -> Layer | None:
        """This process as a founder of a group of servers that a change makes; none if it does not
        found that."""
        node = self.core.plan.nodes[index]
        whose = {one: self.core.plan.child_of(node, one) for one in node.founders}
        batches = {one: child for one, child in whose.items() if child is not None}
        if self.process not in batches or self.core.earliest_epoch(index):
            return None
        new = founding_anew(self.process, node, self.options, 0, node.founders, batches)
        new.state.sleep.patient_until = now + 3 * self.options.suspect_after_s
        return new

    def raised_over(self, layer: Layer, now: float) -> Layer | None:
        """The new group of servers over a group that a change has just made with it, at the first
        server of the group; none if there is no such."""
        parent, view = layer.node.parent, layer.view
        is_first = view is not None and view.number == 1 and not layer.state.epoch
        if parent is None or not is_first:
            return None
        if layer.node.index not in self.core.plan.raised.get(parent, ()):
            return None
        return self._founder_of(parent, now)

    # In a group below.

    def follow(self, layer: Layer, change: Reshape, within: GroupMessageId) -> None:
        """Note in a group below that it comes under another group, and never again under that which
        has given way (G5)."""
        stored = pack(change)
        if stored in layer.memory.changes:
            return
        layer.memory.changes.append(stored)
        self.fencing.on_bind(layer, Bind(change.gone, LEFT), within)
        self.come_under(layer, stored)

    def come_under(self, layer: Layer, stored: bytes) -> None:
        change = unpack(stored)
        if isinstance(change, Reshape):
            parent = change.parent_of(layer.node.index)
            layer.memory.came_under = stored
            layer.put_under(parent)
            if parent is not None:
                group = change.group(parent)
                layer.state.above = Servers(group.epoch, process_set(group.founders))


def _ends(stored: bytes, layer: Layer) -> bool:
    """Whether a group of servers gives way by a change."""
    change = unpack(stored)
    return isinstance(change, Reshape) and change.gone == layer.node.index


def _left_with(layer: Layer, node: Node) -> list[bytes]:
    """What one that leaves servers brings to the next ones, `node`. As a rule the groups below have
    all that these servers keep. Not if they were founded anew without a group, which knew that they
    had ended: then the groups below have what is for them alone, and this process has what precedes
    it."""
    if not layer.memory.founded_without:
        return list(layer.state.out.resend)
    messages = layer.carries(map(unpack, layer.all_messages()))
    theirs = [
        one for one in messages if (1 << one.sender | one.message.destinations) & node.processes
    ]
    return [pack(one) for one in theirs]


def _members_of(layer: Layer) -> tuple[int, ...]:
    return () if layer.view is None else tuple(member.process for member in layer.view.members)
