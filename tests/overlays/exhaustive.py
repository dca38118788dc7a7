"""All schedules of small programs with `routes=shortest`, for every way that each copy may take.

    python -m tests.overlays.exhaustive square 2
    python -m tests.overlays.exhaustive square 3 --sample 300

explores all programs of so many messages (to one process each, or `--sets`), with every simple way
of each copy, for several choices of regions; `--sample` draws some of these. It prints how much
that was; the exit status is 1 if something fails.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import combinations, islice, product
from random import Random

from antecede.explore import Exploration, Explorer, OrderFactory, Program
from antecede.message import Membership, Message, MessageId, ProcessSet, members
from antecede.order import Order
from antecede.overlays.separators import SeparatorsOptions
from antecede.overlays.separators.shortest import Shortest
from antecede.overlays.separators.ways import linked
from antecede.overlays.separators.zones import Links
from tests.overlays.graphs import SMALL
from tests.overlays.networks import programs

Copy = tuple[MessageId, int]
Way = tuple[int, ...]


class Guided(Shortest):
    """Each copy of a message takes the way that it was given."""

    ways_of: dict[Copy, Way]

    def next_hops(self, message: Message, to: ProcessSet) -> list[tuple[int, ProcessSet]]:
        found: dict[int, ProcessSet] = {}
        for destination in members(to):
            way = self.ways_of[message.id, destination]
            next_ = way[way.index(self.process) + 1]
            found[next_] = found.get(next_, 0) | 1 << destination
        return list(found.items())


def simple_ways(near: tuple[ProcessSet, ...], source: int, target: int) -> list[Way]:
    """All ways that meet no node twice."""
    found: list[Way] = []
    todo: list[Way] = [(source,)]
    while todo:
        way = todo.pop()
        for next_ in members(near[way[-1]]):
            if next_ == target:
                found.append((*way, next_))
            elif next_ not in way:
                todo.append((*way, next_))
    return sorted(found)


def cases(
    size: int, links: Links, messages: int, *, sets: bool
) -> Iterator[tuple[Program, dict[Copy, Way]]]:
    """Programs, and ways for all copies."""
    near = linked(size, links)
    for program in programs(size, size, messages, sets=sets):
        copies = [
            (message.id, destination)
            for sent in program.messages()
            for message in sent
            for destination in members(message.destinations)
        ]
        choices = [simple_ways(near, message.sender, to) for message, to in copies]
        for ways in product(*choices):
            yield program, dict(zip(copies, ways, strict=True))


def regions_for(size: int) -> list[tuple[tuple[int, ...], ...]]:
    """One node; two; one inside of two; two that overlap in one."""
    pairs = [pair for pair in combinations(range(size), 2) if pair[0] == 1]
    return [((1,),), (pairs[0],), ((1,), pairs[0]), (pairs[0], (0, 1))]


def explore(
    size: int,
    links: Links,
    regions: tuple[tuple[int, ...], ...],
    program: Program,
    ways: dict[Copy, Way],
) -> Exploration:
    """All schedules of one program along these ways."""
    options = SeparatorsOptions(links=links, routes="shortest", regions=regions, tidy=0)
    return Explorer(_factory(options, ways), Membership(size)).explore(program)


def _factory(options: SeparatorsOptions, ways: dict[Copy, Way]) -> OrderFactory:
    def make(process: int, membership: Membership) -> Order:
        order = Guided(process, membership, options)
        order.ways_of = ways
        return order

    return make


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("network", choices=sorted(SMALL))
    parser.add_argument("messages", type=int)
    parser.add_argument("--sets", action="store_true")
    parser.add_argument("--sample", type=int, default=0)
    given = parser.parse_args()
    size, links = SMALL[given.network]
    total = Exploration()
    count = 0
    for regions in regions_for(size):
        todo = cases(size, links, given.messages, sets=given.sets)
        if given.sample:
            chance = Random(str(regions))
            every = list(islice(todo, 1_000_000))
            todo = iter(chance.sample(every, min(given.sample, len(every))))
        for program, ways in todo:
            found = explore(size, links, regions, program, ways)
            total = total.plus(found)
            count += 1
            if found.failure is not None:
                print(f"regions {regions}, ways {ways}:\n{found.failure}")
                return 1
        print(
            f"{given.network}, {given.messages} messages, regions up to {regions}: {count:,} "
            f"programs with ways, {total.states:,} states, {total.schedules:,} schedules",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
