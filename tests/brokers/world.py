"""What the worlds with and without a log share: the search through every schedule.

A world is a tuple of processes and of what is on its way. Its judge never looks at a stamp: each
message carries the set of messages in its past, as bits.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Generic, TypeVar

NAMES = ("A", "B", "C")
LATER = 1e9
STATES_AT_MOST = 100_000
Machines = Callable[..., Any]
World = TypeVar("World", bound=tuple[Any, ...])


class Flaw(Exception):
    """Something is wrong; the path of steps is added by the search."""


class Search(ABC, Generic[World]):
    """Every state of one case. Subclasses say what may happen next (`_moves`), where it begins
    (`initial`) and what must be so at the end (`_judge_end`)."""

    machine: ClassVar[Machines]
    """Makes a machine, unless a test plants a bug."""

    def __init__(self, case: Any, machine: Machines | None = None) -> None:
        self._case = case
        self._factory = machine or type(self).machine
        self._numbers: dict[tuple[int, int], int] = {}
        """Messages, counted: (process, which of its own)."""
        for process, program in enumerate(case.programs):
            for index in range(len(program)):
                self._numbers[process, index] = len(self._numbers)
        self.states = 0
        self.deliveries = 0

    @abstractmethod
    def initial(self) -> World:
        """Where everything begins."""

    @abstractmethod
    def _moves(self, world: World) -> Iterable[tuple[str, World]]:
        """What may happen next, in words, and what it leads to."""

    @abstractmethod
    def _judge_end(self, world: World) -> None:
        """Raise a flaw if a world in which nothing more happens is not as it should be."""

    def search(self) -> None:
        """Visit every state; raise the first flaw, with the steps that lead there."""
        first = self.initial()
        seen = {first}
        stack: list[tuple[World, tuple[str, ...]]] = [(first, ())]
        while stack:
            world, path = stack.pop()
            self.states += 1
            if self.states > STATES_AT_MOST:
                raise Flaw("there is no end to the states")
            is_over = True
            try:
                for label, after in self._moves(world):
                    is_over = False
                    if after not in seen:
                        seen.add(after)
                        stack.append((after, (*path, label)))
                if is_over:
                    self._judge_end(world)
            except Flaw as flaw:
                raise Flaw(f"{flaw} after {', '.join(path)}") from None

    def _restored(self, machine: Any, snapshot: bytes | None) -> Any:
        """A machine that knows all names, in the state of a snapshot."""
        for name in NAMES:
            machine.keys.add(name)
        if snapshot is not None:
            machine.restore(snapshot)
        return machine

    def _with(self, world: World, p: int, machine: Any, **changed: Any) -> World:
        """The world after process p has changed."""
        changed["machine"] = machine.snapshot()
        before: Any = world
        process = before.processes[p]._replace(**changed)
        after: World = before._replace(processes=put(before.processes, p, process))
        return after


def put(values: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])
