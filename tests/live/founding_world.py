"""Seeds that start, die and come back, cut off from each other or slow to find each other, and the
groups that they found.

The group itself is played here by the rules that the substrate promises: a view is changed by a
quorum of it whose members reach each other; who is left behind begins anew; who reaches the group
is let in. What is judged: never two groups that can act at the same time; and in the end, when all
are there and reach each other, one group of all of them.

`python -m tests.live.founding_world --first 0 --count 10000`
"""

import argparse
import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from antecede.live.bootstrap import Bootstrap, is_superseded
from antecede.live.ordering.founding import Founder, Founders

TICK_S = 0.05
CALM_S = 40.0
Life = tuple[str, int]
MakeBootstrap = Callable[..., Bootstrap]


@dataclass(eq=False)
class Group:
    """What the first members have become."""

    view: tuple[Life, ...]


@dataclass(eq=False)
class Process:
    """One life of a seed."""

    name: str
    life: int
    bootstrap: Bootstrap | None
    group: Group | None = None
    view: tuple[Life, ...] = ()
    """As this process knows it."""
    finds: dict[str, float] = field(default_factory=dict)
    """When it learns the addresses of the others."""


class World:
    """One run; the seed explains it."""

    def __init__(self, seed: int, make: MakeBootstrap = Bootstrap) -> None:
        self.random = random.Random(seed)
        self.make = make
        draw = self.random
        self.names = "abcdefg"[: draw.choice((2, 3, 3, 4, 5, 5, 7))]
        self.expect = len(self.names) // 2 + 1
        self.is_durable = draw.random() < 0.6
        self.cuts_and_deaths = self.is_durable or draw.random() < 0.3
        """Without logs, either cuts or restarts: both at once are more than is promised."""
        self.forgetful_cuts = not self.is_durable and draw.random() < 0.5
        self.now = 0.0
        self.count = 0
        self.heap: list[tuple[float, int, Callable[[], None]]] = []
        self.alive: dict[str, Process] = {}
        self.cut: set[frozenset[str]] = set()
        self.kept: dict[str, tuple[str, ...]] = {}
        """The companies in the logs."""
        self.lives = dict.fromkeys(self.names, 0)
        self.groups: dict[Founders, Group] = {}
        self.trouble = ""
        self.founded = 0
        self.slow = draw.choice((0.0, 0.0, 3.0))
        self.delay_s = draw.choice((0.01, 0.05, 0.2))
        self.haste = draw.choice((1.0, 1.0, 0.2, 0.1))
        """How much shorter storms are: much happens while the group is being founded."""

    # -- the clock

    def at(self, delay_s: float, action: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.heap, (self.now + delay_s, self.count, action))

    def run(self) -> str:
        """What went wrong; nothing, one hopes."""
        stormy_s = 1 + self.haste * self.random.uniform(2, 25)
        for name in self.names:
            self.at(self.haste * self.random.uniform(0, 5), partial(self.start, name))
        for _ in range(self.random.randrange(20)):
            self.at(self.random.uniform(0, stormy_s), self.fault)
        self.at(stormy_s, self.heal)
        self.at(0.1, self.maintain)
        while self.heap and self.now < stormy_s + CALM_S and not self.trouble:
            self.now, _, action = heapq.heappop(self.heap)
            action()
        return self.trouble or self.stuck()

    def stuck(self) -> str:
        groups = {id(process.group) for process in self.alive.values()}
        if len(groups) == 1 and all(process.group for process in self.alive.values()):
            return ""
        states = {p.name: [*p.view] if p.group else "alone" for p in self.alive.values()}
        return f"no group of all: {states}"

    # -- processes

    def start(self, name: str) -> None:
        if name in self.alive:
            return
        self.lives[name] += 1
        process = Process(name, self.lives[name], None)
        process.finds = {
            other: self.now + self.random.uniform(0, self.slow) for other in self.names
        }
        self.alive[name] = process
        self.seek(process, self.kept.get(name, ()))
        self.tick(process)

    def seek(self, process: Process, company: tuple[str, ...]) -> None:
        founder = Founder(process.name, process.life, process.name, 1)
        process.group, process.view = None, ()
        process.bootstrap = self.make(founder, self.expect, company)

    def kill(self, name: str) -> None:
        self.alive.pop(name, None)

    def reached(self, process: Process) -> list[str]:
        return [
            name
            for name in self.alive
            if name != process.name
            and frozenset((name, process.name)) not in self.cut
            and process.finds[name] <= self.now
        ]

    def tick(self, process: Process) -> None:
        if self.alive.get(process.name) is not process:
            return
        if process.bootstrap is not None:
            tried_all = max(process.finds.values()) <= self.now
            reached = self.reached(process)
            self.say(process, process.bootstrap.tick(reached, self.now, tried_all=tried_all))
        self.at(TICK_S, lambda: self.tick(process))

    def say(self, process: Process, said: list[tuple[str, Any]]) -> None:
        bootstrap = process.bootstrap
        if bootstrap is not None:
            if self.is_durable and process.group is None:
                self.kept[process.name] = bootstrap.company
            if bootstrap.founders and process.group is None:
                self.install(process, bootstrap.founders)
        for name, item in said:
            other = self.alive.get(name)
            if other is not None:
                delay_s = self.random.expovariate(1 / self.delay_s)
                self.at(delay_s, partial(self.hand, process, other, item))

    def hand(self, sender: Process, process: Process, item: Any) -> None:
        lives_on = self.alive.get(process.name) is process and sender.name in self.alive
        if not lives_on or frozenset((sender.name, process.name)) in self.cut:
            return
        reached = self.reached(process)
        if process.bootstrap is not None:
            said = process.bootstrap.receive(sender.name, item, reached, self.now)
            self.say(process, said)

    def install(self, process: Process, founders: Founders) -> None:
        view = tuple((founder.name, founder.incarnation) for founder in founders)
        group = self.groups.setdefault(founders, Group(view))
        process.group = group
        self.know(process, view)
        self.founded += 1

    def know(self, process: Process, view: tuple[Life, ...]) -> None:
        process.view = view
        if self.is_durable:
            self.kept[process.name] = tuple(sorted(name for name, _ in view))

    # -- groups

    def together(self, group: Group) -> list[Process]:
        """The members of the view that live, reach each other and are a quorum of it; or nobody."""
        living = [
            process
            for name, life in group.view
            if (process := self.alive.get(name)) is not None
            and process.life == life
            and process.group is group
        ]
        for first in living:
            part = [first]
            for other in living:
                if all(frozenset((one.name, other.name)) not in self.cut for one in part):
                    part.append(other) if other is not first else None
            senior = group.view[0] in [(one.name, one.life) for one in part]
            if 2 * len(part) > len(group.view) or (2 * len(part) == len(group.view) and senior):
                return part
        return []

    def maintain(self) -> None:
        active = []
        for group in list(self.groups.values()):
            part = self.together(group)
            if part:
                active.append([one.name for one in part])
                self.change(group, part)
        if len(active) > 1:
            self.trouble = f"at {self.now:.2f} s two groups can act: {active}"
        for process in list(self.alive.values()):
            self.look_around(process)
        self.at(self.random.uniform(0.05, 0.3), self.maintain)

    def change(self, group: Group, part: list[Process]) -> None:
        """Perhaps the view changes: the dead go, those who are here come."""
        if self.random.random() < 0.5:
            return
        names = {one.name for one in part}
        order = [life for life in group.view if life in [(one.name, one.life) for one in part]]
        for process in self.alive.values():
            sees = names <= set(self.reached(process))
            if sees and process.group is None:
                process.group, process.bootstrap = group, None
                order.append((process.name, process.life))
                part.append(process)
        group.view = tuple(order)
        for one in part:
            self.know(one, group.view)

    def look_around(self, process: Process) -> None:
        """Left behind by the group, or by all others: begin anew."""
        group = process.group
        if group is None:
            return
        reached = self.reached(process)
        lives = {name: self.alive[name].life for name in reached}
        told = (process.name, process.life) not in group.view and any(
            (name, self.alive[name].life) in group.view for name in reached
        )
        if told or (process.view and is_superseded(process.view, lives)):
            process.life = self.lives[process.name] = self.lives[process.name] + 1
            self.seek(process, tuple(sorted(name for name, _ in process.view)))

    # -- faults

    def fault(self) -> None:
        draw = self.random.random()
        name = self.random.choice(self.names)
        if draw < 0.35 and self.cuts_and_deaths:
            self.kill(name)
            self.at(self.haste * self.random.uniform(0, 4), partial(self.start, name))
        elif draw < 0.45 and self.cuts_and_deaths:
            for one in self.names:
                self.kill(one)
                self.at(self.haste * self.random.uniform(0, 2), partial(self.start, one))
        elif self.is_durable or self.forgetful_cuts or not self.cuts_and_deaths:
            if not self.is_durable and self.cuts_and_deaths:
                return
            side = {one for one in self.names if self.random.random() < 0.5}
            pairs = {frozenset((one, other)) for one in side for other in set(self.names) - side}
            self.cut |= pairs
            self.at(
                self.haste * self.random.uniform(0.2, 8), lambda: self.cut.difference_update(pairs)
            )

    def heal(self) -> None:
        self.cut.clear()
        for name in self.names:
            self.start(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    arguments = parser.parse_args()
    for seed in range(arguments.first, arguments.first + arguments.count):
        if trouble := World(seed).run():
            print(f"seed {seed}: {trouble}")
    print(f"{arguments.count:,} runs")


if __name__ == "__main__":
    main()
