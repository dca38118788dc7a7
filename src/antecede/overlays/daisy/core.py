"""What all parts of a process share: who it is, what it knows, its groups from the local one
upwards, and the effects of the input that is being handled."""

from collections import deque
from collections.abc import Collection, Iterable
from typing import TypeGuard

from antecede import groups
from antecede.errors import BrokenInvariant
from antecede.message import MessageId, ProcessSet
from antecede.order import Effect, Event, Notice
from antecede.overlays.daisy.items import Change, Item, Reshape, succession, unpack
from antecede.overlays.daisy.layer import EPOCHS, Layer
from antecede.overlays.daisy.options import DaisyOptions
from antecede.overlays.daisy.plan import Plan
from antecede.overlays.daisy.records import State
from antecede.overlays.daisy.undelivered import left_undelivered

_NUMBERED = 1 << 26
"""The first number of a group that processes make: those of the first plan are smaller. The others,
up to `EPOCHS`, are dealt out to the processes in turn, two at a time."""


class Core:
    """One process: its state, its groups, and the effects of the input that is being handled."""

    def __init__(self, process: int, options: DaisyOptions, plan: Plan) -> None:
        self.process = process
        self.options = options
        self.evolves, self.reshapes = options.evolves, options.reshapes
        self.runs_ahead = options.forward == "received"
        self.plan = self.first_plan = plan
        self.state = State()
        self.layers: list[Layer] = []
        self.is_start = False
        """Whether this process is founding the groups of the plan, as all do at the start."""
        self.agenda: deque[tuple[Layer, groups.Effect]] = deque()
        """What the groups want done, first in, first out."""
        self.effects: list[Effect] = []

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def queue(self, layer: Layer, effects: Iterable[groups.Effect]) -> None:
        """Have what a group wants done, when its turn comes."""
        for effect in effects:
            self.agenda.append((layer, effect))

    def send_word(self, layer: Layer, item: Item, now: float) -> None:
        """Send word into a group at once."""
        self.queue(layer, layer.send_words((item,), now))

    def send_words(self, layer: Layer, items: Iterable[Item], now: float) -> None:
        """Send several words that belong together into a group at once."""
        self.queue(layer, layer.send_words(items, now))

    def tell_gap(
        self,
        layer: Layer,
        members: ProcessSet = 0,
        messages: tuple[MessageId, ...] = (),
    ) -> None:
        self.emit(Notice(Event.GAP, layer.node.name, 0, members, messages))

    # The groups of this process.

    @property
    def local(self) -> Layer | None:
        """The local group; none for one that has not joined."""
        return self.layers[0] if self.layers else None

    def layer_of(self, node: int) -> Layer | None:
        return next((layer for layer in self.layers if layer.node.index == node), None)

    def above(self, layer: Layer) -> Layer | None:
        """The group of servers above, if this process is in it."""
        place = self.layers.index(layer) + 1
        above = self.layers[place] if place < len(self.layers) else None
        return above if above is not None and above.is_in else None

    def below(self, layer: Layer) -> Layer | None:
        place = self.layers.index(layer) - 1
        return self.layers[place] if place >= 0 else None

    def all_below(self, layer: Layer) -> list[Layer]:
        """The groups of this process below one, from the local one upwards."""
        return self.layers[: self.layers.index(layer)]

    def kept_above(self, layer: Layer) -> Collection[MessageId]:
        """What the group of servers above keeps, as far as this process knows, if it has been in
        it."""
        place = self.layers.index(layer) + 1
        return self.layers[place].memory.kept if place < len(self.layers) else ()

    def neighbours(self, layer: Layer) -> tuple[Layer | None, Layer | None]:
        """The groups above, if this process is in it, and below: both at once, for each message."""
        layers = self.layers
        place = layers.index(layer)
        above = layers[place + 1] if place + 1 < len(layers) else None
        is_in = above is not None and above.is_in
        return above if is_in else None, layers[place - 1] if place else None

    def add(self, layer: Layer, now: float) -> None:
        """Enter one more group, above the others."""
        self.layers.append(layer)
        self.state.layers.append(layer.state)
        self._start(layer, now)

    def replace(self, old: Layer, new: Layer, now: float, is_server: bool = False) -> None:
        """Leave one group for another, or for the same one anew. Whatever is above depends on it,
        and is over, unless this process still serves it (`is_server`)."""
        place = self.layers.index(old)
        if not place:
            known = dict.fromkeys((*old.state.undelivered, *old.memory.undelivered))
            for above in self.layers[1:2]:
                known |= dict.fromkeys(left_undelivered(old, above))
            new.state.undelivered = list(known)
        elif place == 1 and old.node.index == new.node.index:
            home = self.layers[0]
            known = dict.fromkeys((*home.state.undelivered, *left_undelivered(home, old)))
            home.state.undelivered = list(known)
        for above in self.layers[place + 1 : place + 2] if old.is_lost else ():
            new.memory.learn_beside(above.memory, old.node.index)
        if old.config.group == new.config.group:
            new.member.follow(old.member)
        if old.node.index != new.node.index:
            self._end(old)
        else:
            new.state.stopped = old.state.stopped
        if not is_server:
            for layer in self.layers[place + 1 :]:
                self._end(layer)
            del self.layers[place + 1 :], self.state.layers[place + 1 :]
        self.layers[place] = new
        self.state.layers[place] = new.state
        self._start(new, now)

    def _start(self, layer: Layer, now: float) -> None:
        """Found a group, or ask to be let in."""
        effects = layer.member.start(now)
        if self._may_not_ask(layer):
            effects = [one for one in effects if isinstance(one, groups.Wake)]
        self.queue(layer, effects)

    def wake(self, layer: Layer, now: float) -> None:
        """Let time pass in a group."""
        if self._may_not_ask(layer):
            self.queue(layer, [groups.Wake(now + self.options.tick_s)])
        else:
            self.queue(layer, layer.member.wake(now))

    def _may_not_ask(self, layer: Layer) -> bool:
        """Whether this process is not in the group, and is lost at home. Then it does not ask to be
        let in: it speaks for no group (F4), and would be told what the next server has to hear."""
        return not layer.is_in and self.is_home_lost(layer)

    def earliest_epoch(self, node: int) -> int:
        """The earliest epoch of a group of servers that this process may take part in."""
        return max((layer.memory.bound.get(node, 0) for layer in self.layers), default=0)

    def is_home_lost(self, layer: Layer) -> bool:
        """Whether one of the groups below, which this process serves, has lost it."""
        return any(lower.is_lost for lower in self.all_below(layer))

    def gives_way(self, layer: Layer) -> bool:
        """Whether a local group is about to end, as far as this process knows: its server knows
        before the others do."""
        return not layer.node.level and layer.node.index in self.plan.gone

    def end_of(self, layer: Layer) -> Reshape | None:
        """The change that ends a group of servers, if the one above it knows of one."""
        above = self.above(layer)
        return None if above is None else _end_of(layer, above.memory.changes)

    def is_told_to_end(self, layer: Layer) -> bool:
        """Whether the members of a group of servers have heard that it ends: some of them may have
        left it."""
        memory = layer.memory
        return _end_of(layer, (*memory.changes, *memory.pending_changes.values())) is not None

    def stays(self, layer: Layer) -> bool:
        """Whether a group of servers is known to stay: else no group below it splits or merges. The
        one above it may have been told of its end a moment ago."""
        above = self.above(layer)
        if above is None:
            return layer.node.parent is None
        told = (*above.memory.changes, *above.memory.pending_changes.values())
        return not (above.is_lost or above.member.queued()) and _end_of(layer, told) is None

    def is_covered(self, group: int, groups: set[int]) -> bool:
        """Whether these speak for a group, or bring its batch: itself, all groups in the place of
        which it is, or all groups that are in its place."""
        if group in groups:
            return True
        steps = [succession(one) for one in map(unpack, self.state.changes) if _is_step(one)]
        return _is_covered(group, groups, [(made, gone) for gone, made in steps]) or (
            _is_covered(group, groups, steps)
        )

    def changes(self) -> tuple[bytes, ...]:
        """The changes of which this process tells others. One to which all groups have agreed that
        it ends has come about, whoever says so. One of groups of servers counts only if a group of
        this process remembers it: servers that were replaced may have decided on what never came
        about."""
        known = {
            stored
            for layer in self.layers
            if not layer.is_lost and not self.is_home_lost(layer)
            for stored in layer.memory.changes
        }
        return tuple(
            stored
            for stored in self.state.changes
            if stored in known or isinstance(unpack(stored), Change)
        )

    def remove(self, layer: Layer) -> None:
        """Leave a group, but not those above it."""
        place = self.layers.index(layer)
        self._end(layer)
        del self.layers[place], self.state.layers[place]

    def _end(self, layer: Layer) -> None:
        """Note that this process is in a group no more. Then it has not stopped in it any more; nor
        has one that would have come back to it. If it is in these servers again, it is another
        member: one that has not heard of the later views would let it into an earlier one."""
        if layer.node.level:
            self.state.next_incarnations[layer.node.index] = layer.state.incarnation + layer.is_in
        if layer.state.stopped:
            self.emit(Notice(Event.RESUMED, layer.node.name, layer.view_number))

    def new_number(self, is_taken: bool = True) -> int:
        """A number that no group has, nor the one after it; none other is given until it is
        taken."""
        place = self.state.groups_numbered * len(self.plan.leaves) + self.process
        number = _NUMBERED + 2 * place
        if number + 1 >= EPOCHS:
            raise BrokenInvariant(f"process {self.process} has no number left for a new group")
        self.state.groups_numbered += is_taken
        return number

    # Who stands for whom.

    def stands_for(self, layer: Layer, process: int) -> int | None:
        """For whom a process stands in a group: for itself or, among servers, for a group below."""
        return self.plan.child_of(layer.node, process) if layer.node.level else process

    def present(self, layer: Layer) -> set[int | None]:
        """For whom the members of the view stand."""
        members = () if layer.view is None else layer.view.members
        return {self.stands_for(layer, member.process) for member in members}

    def processes_of(self, layer: Layer, who: int) -> ProcessSet:
        """The member of a local group, or the processes of a group below."""
        return self.plan.nodes[who].processes if layer.node.level else 1 << who

    def absent_below(self, layer: Layer) -> ProcessSet:
        """Who is away from the groups below, as far as this process knows."""
        absent = 0
        for lower in self.all_below(layer):
            for who in (*lower.memory.away, *lower.memory.forgotten):
                if not lower.node.level or who in self.plan.nodes:
                    absent |= self.processes_of(lower, who)
        return absent

    def beyond(self, layer: Layer) -> ProcessSet:
        """All processes that are neither in a group nor below it."""
        return (1 << len(self.plan.leaves)) - 1 & ~layer.node.processes


class Part:
    """A part of a process: something that it does, over the core that all parts share."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.process = core.process
        self.options = core.options


def _end_of(layer: Layer, changes: Iterable[bytes]) -> Reshape | None:
    """The change by which a group of servers ends, if it is among these."""
    ends = (one for one in map(unpack, changes) if isinstance(one, Reshape))
    return next((one for one in ends if one.gone == layer.node.index), None)


Steps = list[tuple[tuple[int, ...], tuple[int, ...]]]


def _is_step(change: Item) -> TypeGuard[Change | Reshape]:
    return isinstance(change, Change | Reshape)


def _is_covered(group: int, groups: set[int], steps: Steps) -> bool:
    """Whether a group is among these, or all groups are that one step leads to from it. There may
    be several steps: it may have been made by one change, and have come from below another group by
    the next."""
    return group in groups or any(
        all(_is_covered(one, groups, steps) for one in there)
        for here, there in steps
        if group in here and there
    )
