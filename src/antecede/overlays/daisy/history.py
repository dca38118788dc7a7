"""How the plan of groups has changed, as far as a process knows: what was split, merged, dissolved.

Changes are heard in any order: from servers, from the groups of this process, and from processes
that have gone on. All that have come about are one history (C1 and C2). They are put in an order in
which they can have happened, and the plan is the first one with these changes made.
"""

from collections.abc import Iterable
from functools import lru_cache

from antecede.message import ProcessSet
from antecede.order import Event, Notice
from antecede.overlays.daisy.core import Part
from antecede.overlays.daisy.items import Change, Item, Reshape, succession, unpack
from antecede.overlays.daisy.records import Memory


class History(Part):
    """The changes by which groups have given way to others, and the plan that follows from them."""

    def learn(self, changes: Iterable[bytes]) -> list[Change | Reshape]:
        """Take note of the changes that are news."""
        news: list[Change | Reshape] = []
        old = set(self.core.state.changes)
        left = [one for one in dict.fromkeys(changes) if one not in old]
        while left:
            known = [stored for stored in left if self._learn_one(stored, news)]
            left = [stored for stored in left if stored not in known] if known else []
        return news

    def _learn_one(self, stored: bytes, news: list[Change | Reshape]) -> bool:
        """Take note of one change, and return whether it is understood: it may speak of groups that
        others have to tell of first. A change that is heard after those that take what it made is
        put before them."""
        changes = self.core.state.changes
        change = self.replan(stored)
        if change is None:
            return False
        changes.append(stored)
        if any(_precedes(stored, one) for one in changes[:-1]):
            changes[:] = _sorted(changes)
            self.replan_all()
        self._look_up_nodes()
        event = Event.SPLIT if len(change.made) > 1 else Event.MERGE
        if isinstance(change, Change):
            where = " and ".join(self.core.plan.nodes[index].name for index in change.gone)
            self.core.emit(Notice(event, where, change.version))
        else:
            self.core.emit(Notice(event, f"servers {change.gone}"))
        news.append(change)
        return True

    def _look_up_nodes(self) -> None:
        """Look up the groups of this process in the new plan. Each goes by what it remembers of the
        group above it."""
        plan = self.core.plan
        for layer in self.core.layers:
            if layer.node.index not in plan.gone:
                parent = layer.node.parent
                layer.node = plan.nodes.get(layer.node.index, layer.node)
                if layer.memory.came_under:
                    layer.put_under(parent)

    def go_by(self, remembered: Iterable[bytes], present: ProcessSet) -> None:
        """Go by what groups remember, some processes of which are here. Servers that were replaced
        may have decided on a change that never came about: then a group that it ends does not
        remember it."""
        told = list(dict.fromkeys(remembered))
        known = self.core.state.changes
        kept = [one for one in known if one in told or not self._ends_any(unpack(one), present)]
        if len(kept) < len(known):
            self.core.plan, self.core.state.changes = self.core.first_plan, []
        self.learn([*kept, *told])
        self._look_up_nodes()

    def _ends_any(self, change: Item, processes: ProcessSet) -> bool:
        """Whether a group gives way by a change that one of these is in, or below."""
        if not isinstance(change, Change | Reshape):
            return False
        gone, _ = succession(change)
        nodes = self.core.plan.nodes
        return any(nodes[index].processes & processes for index in gone if index in nodes)

    def replan_all(self) -> None:
        """Go through all changes, from the first plan on."""
        self.core.plan = self.core.first_plan
        for stored in self.core.state.changes:
            self.replan(stored)

    def replan(self, stored: bytes) -> Change | Reshape | None:
        change = unpack(stored)
        if isinstance(change, Reshape):
            self.core.plan = self.core.plan.reshaped(change)
            return change
        if not isinstance(change, Change) or not set(change.gone) <= self.core.plan.nodes.keys():
            return None
        if change.parent not in self.core.plan.nodes and not change.raised:
            return None
        self.core.plan = self.core.plan.changed(change.parent, change.gone, change.made)
        return change

    def gives_way_to(self, node: int) -> tuple[int, ...]:
        """The local groups that gave way to this one."""
        makers = (unpack(one) for one in self.core.state.changes if node in _makes(one))
        return next((one.gone for one in makers if isinstance(one, Change)), ())

    def lineage(self, node: int, known: list[bytes]) -> list[bytes]:
        """The changes that a group remembers, and those by which it came about, in whatever order
        they were heard: a process that was told of them may be the first to come here."""
        left, wanted, found = set(self.core.state.changes), {node}, set(known)
        while news := {one for one in left if one in found or wanted & _makes(one)}:
            wanted.update(*map(_needs, news))
            found |= news
            left -= news
        return [stored for stored in self.core.state.changes if stored in found]

    def gone(self) -> list[tuple[int, ...]]:
        """The local groups that have given way to others."""
        changes = map(unpack, self.core.state.changes)
        return [change.gone for change in changes if isinstance(change, Change)]

    def heirs(self, group: int) -> list[int]:
        """The groups in the place of one that may have given way."""
        found = [group]
        for change in map(unpack, self.core.state.changes):
            if isinstance(change, Change | Reshape):
                gone, made = succession(change)
                found = [heir for one in found for heir in (made if one in gone else (one,))]
        return list(dict.fromkeys(found))

    def carry_over_missed(self, memory: Memory) -> None:
        """Pass on what groups have missed that have given way, as far as is known here, to those in
        their place."""
        for change in map(unpack, self.core.state.changes):
            if isinstance(change, Change | Reshape):
                memory.carry_over(*succession(change))


@lru_cache(maxsize=4096)
def _makes(stored: bytes) -> frozenset[int]:
    """The groups that a process knows of by hearing of a change."""
    change = unpack(stored)
    if isinstance(change, Change):
        return frozenset(index for index, _ in change.made)
    groups = (*change.made, *change.below) if isinstance(change, Reshape) else ()
    return frozenset(group.index for group in groups)


@lru_cache(maxsize=4096)
def _needs(stored: bytes) -> frozenset[int]:
    """The groups that a process has to know of before a change."""
    change = unpack(stored)
    return frozenset((*change.gone, change.parent) if isinstance(change, Change) else ())


def _precedes(first: bytes, second: bytes) -> bool:
    """Whether a change takes, or names, what another one makes."""
    made = _makes(first)
    is_taken = not made.isdisjoint(_needs(second))
    is_named = not made.isdisjoint(_makes(second)) and isinstance(unpack(first), Change)
    return (is_taken or is_named) and unpack(first) != unpack(second)


def _sorted(changes: list[bytes]) -> list[bytes]:
    """The changes in an order in which they can have come about; as they were heard, where that
    does not matter."""
    makers: dict[int, list[bytes]] = {}
    for stored in changes:
        for group in _makes(stored):
            makers.setdefault(group, []).append(stored)
    left, found = {stored: _before(stored, makers) for stored in changes}, []
    while left:
        free = (stored for stored, before in left.items() if left.keys().isdisjoint(before))
        found.append(next(free, next(iter(left))))
        del left[found[-1]]
    return found


def _before(stored: bytes, makers: dict[int, list[bytes]]) -> set[bytes]:
    """The changes that precede one, of those which make groups that it speaks of."""
    groups = _needs(stored) | _makes(stored)
    others = {other for group in groups for other in makers.get(group, ())}
    return {other for other in others if _precedes(other, stored)}
