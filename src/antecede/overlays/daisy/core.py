"""What every part of a process uses: who it is, what it knows, its groups from the local one
upwards, and the effects of the input at hand."""

from collections import deque
from collections.abc import Iterable

from antecede import groups
from antecede.message import MessageId, ProcessSet
from antecede.order import Effect, Event, Notice
from antecede.overlays.daisy.layer import Layer
from antecede.overlays.daisy.options import DaisyOptions
from antecede.overlays.daisy.plan import Plan
from antecede.overlays.daisy.records import State


class Core:
    """One process' state, and the effects of the input at hand."""

    def __init__(self, process: int, options: DaisyOptions, plan: Plan) -> None:
        self.process = process
        self.options = options
        self.plan = plan
        self.state = State()
        self.layers: list[Layer] = []
        self.is_start = False
        """Whether all found the groups of the plan just now."""
        self.agenda: deque[tuple[Layer, groups.Effect]] = deque()
        """What the groups want done, first in, first out."""
        self.effects: list[Effect] = []

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def do(self, layer: Layer, effects: Iterable[groups.Effect]) -> None:
        """Carry out what a group wants, when its turn comes."""
        for effect in effects:
            self.agenda.append((layer, effect))

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

    def add(self, layer: Layer, now: float) -> None:
        """Be in one more group, above the others."""
        self.layers.append(layer)
        self.state.layers.append(layer.state)
        self.do(layer, layer.member.start(now))

    def replace(self, old: Layer, new: Layer, now: float, is_server: bool = False) -> None:
        """Be in a group in another way. Whatever is above depends on it, and is over, unless this
        process serves the group still."""
        place = self.layers.index(old)
        if not is_server:
            del self.layers[place + 1 :], self.state.layers[place + 1 :]
        self.layers[place] = new
        self.state.layers[place] = new.state
        self.do(new, new.member.start(now))

    def bound(self, node: int) -> int:
        """The earliest epoch of a group of servers that this process may take part in."""
        return max((layer.memory.bound.get(node, 0) for layer in self.layers), default=0)

    def is_home_lost(self, layer: Layer) -> bool:
        """Whether one of the groups below, which this process serves, has lost it."""
        return any(lower.is_lost for lower in self.layers[: self.layers.index(layer)])

    # Who stands for whom.

    def whom(self, layer: Layer, process: int) -> int | None:
        """Whom a process stands for in a group: for itself, or for a group below."""
        return self.plan.child_of(layer.node, process) if layer.node.level else process

    def those(self, layer: Layer, who: int) -> ProcessSet:
        """The member of a local group, or the processes of a group below."""
        return self.plan.nodes[who].processes if layer.node.level else 1 << who


class Part:
    """A part of a process, over its core."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.process = core.process
        self.options = core.options
