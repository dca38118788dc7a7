"""Who is near whom: for each process the others that it may address, in circles that grow.

The circles of a process are the parts of the network around it that its topology tells of, from the
inside out: its node, its department, its organisation, everybody. Where a topology has no such
levels (the networks of the Topology Zoo have none), the inner one are the processes at the same
node and at those linked to it; if there are none, as near as there are some. A part without another
process in it is left out. Where processes talk to their neighbours alone, each circle has only
those.

A message stays in the innermost circle with the probability `local`, else in the next one with the
same probability, and so on; in the last one otherwise. Without `local` there is only the last one.
"""

from collections.abc import Sequence
from typing import overload

from antecede.message import members
from antecede.simulate.randomness import as_uniform, mix
from antecede.simulate.scenario import Scenario
from antecede.topology.deployment import Deployment

_CIRCLE = 3 << 32
"""Tells the key of the choice of a circle from other keys."""


class Others(Sequence[int]):
    """A circle without the process that it is around. Those who share it share the list."""

    def __init__(self, everybody: Sequence[int], without: int) -> None:
        self._everybody = everybody
        self._place = everybody.index(without)

    def __len__(self) -> int:
        return len(self._everybody) - 1

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        if isinstance(index, slice):
            raise TypeError("one at a time")
        return self._everybody[index + (index >= self._place)]


class Circles:
    """The circles of all processes of a scenario."""

    def __init__(self, scenario: Scenario, local: float | None = None) -> None:
        size = scenario.applications.size
        self._local = local or 0.0
        outermost: list[Sequence[int]] = [Others(range(size), process) for process in range(size)]
        neighbours = scenario.neighbours
        if neighbours is not None:
            outermost = [list(members(near)) for near in neighbours]
        self._circles = [[others] for others in outermost]
        if self._local and scenario.deployment is not None:
            for process, inner in enumerate(_inner(scenario.deployment)):
                if neighbours is not None:
                    inner = [[q for q in part if neighbours[process] >> q & 1] for part in inner]  # noqa: PLW2901
                self._circles[process] = _growing([*inner, *self._circles[process]])

    def choose(self, process: int, key: int) -> Sequence[int]:
        """Those of whom the message with this key addresses one or some."""
        circles = self._circles[process]
        if len(circles) > 1:
            uniform = as_uniform(mix(key, _CIRCLE))
            for circle in circles[:-1]:
                if uniform < self._local:
                    return circle
                uniform = (uniform - self._local) / (1 - self._local)
        return circles[-1]

    def wide_enough(self, process: int, circle: Sequence[int], count: int) -> Sequence[int]:
        """This circle, or the next one that has so many; the last one if none has."""
        circles = self._circles[process]
        place = next(place for place, one in enumerate(circles) if one is circle)
        return next((one for one in circles[place:] if len(one) >= count), circles[-1])


def _growing(circles: list[Sequence[int]]) -> list[Sequence[int]]:
    """Without those that have nobody, or nobody more than the one before."""
    kept: list[Sequence[int]] = []
    for circle in circles:
        if len(circle) > (len(kept[-1]) if kept else 0):
            kept.append(circle)
    return kept


def _inner(deployment: Deployment) -> list[list[Sequence[int]]]:
    """The parts around each process, from the inside out, without everybody."""
    levels = _Levels(deployment)
    return [levels.around(process) for process in range(deployment.applications)]


class _Levels:
    """The levels of a network that processes live on."""

    def __init__(self, deployment: Deployment) -> None:
        self._topology = deployment.topology
        self._count = deployment.applications
        self._is_nodes = deployment.is_nodes
        self._parts: dict[str, list[int]] = {}
        """The processes of each part, by its path."""
        self._at: dict[int, list[int]] = {}
        """The processes at each node."""
        self._balls: dict[int, list[int]] = {}
        for process in range(self._count):
            self._at.setdefault(self._home(process), []).append(process)
            for path in self._paths(process):
                self._parts.setdefault(path, []).append(process)

    def _home(self, process: int) -> int:
        if self._is_nodes:
            return process
        return next(members(self._topology.neighbours[process]))

    def _paths(self, process: int) -> list[str]:
        """The parts that a process is in, innermost first."""
        zone = self._topology.zones[process]
        names = zone.split("/") if zone else []
        return ["/".join(names[:length]) for length in range(len(names), 0, -1)]

    def around(self, process: int) -> list[Sequence[int]]:
        paths = self._paths(process)
        if len(paths) > (0 if self._is_nodes else 1):  # more than its own node
            return [Others(self._parts[path], process) for path in paths]
        home = self._home(process)
        if home not in self._balls:
            self._balls[home] = self._ball(home)
        return [Others(self._balls[home], process)]

    def _ball(self, home: int) -> list[int]:
        """The processes at a node and at those linked to it; as long as there is but one, also at
        those a hop further away."""
        nodes = self._topology.everybody
        if not self._is_nodes:
            nodes = nodes >> self._count << self._count
        ball = 1 << home
        while True:
            wider = ball
            for node in members(ball):
                wider |= self._topology.neighbours[node] & nodes
            found = [process for node in members(wider) for process in self._at.get(node, ())]
            if len(found) > 1 or wider == ball:
                return sorted(found)
            ball = wider
