"""All schedules of small programs with `routes=shortest`, for every way that each copy may take.

    python -m tests.overlays.exhaustive square 2
    python -m tests.overlays.exhaustive theta 2 --regions 1
    python -m tests.overlays.exhaustive gateways 3 --chains --regions "0,1"
    python -m tests.overlays.exhaustive square 3 --sample 300

explores all programs of so many messages (to one process each, or `--sets`), with every simple way
of each copy, for several choices of regions, or those that are given. `--chains`: only those
programs that a message can be overtaken in by a chain of the others. `--longest` leaves out ways
of more hops, and `--sample` draws some cases. It prints how much that was; the exit status is 1 if
something fails. `--first` goes on at a case.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import combinations, islice, pairwise, permutations, product
from random import Random

from antecede.explore import Exploration, Explorer, Program, Send
from antecede.message import Membership, Message, MessageId, ProcessSet, members
from antecede.order import Order
from antecede.overlays.separators import Separators, SeparatorsOptions
from antecede.overlays.separators.ways import linked
from antecede.overlays.separators.zones import Links
from tests.overlays.graphs import SMALL
from tests.overlays.networks import programs

Copy = tuple[MessageId, int]
Way = tuple[int, ...]


class Guide:
    """Each copy of a message takes the way that it was given."""

    def __init__(self, process: int, ways: dict[Copy, Way]) -> None:
        self._process = process
        self._ways = ways

    def next_hops(self, message: Message, to: ProcessSet) -> list[tuple[int, ProcessSet]]:
        found: dict[int, ProcessSet] = {}
        for destination in members(to):
            way = self._ways[message.id, destination]
            next_ = way[way.index(self._process) + 1]
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


def chains(size: int, messages: int) -> Iterator[Program]:
    """One process sends to another, and then a chain of messages leads there, too, by processes
    that are all different."""
    for way in permutations(range(size), messages):
        first, last = way[0], way[-1]
        sends: list[tuple[Send, ...]] = [()] * size
        for here, next_ in pairwise(way):
            sends[here] = (Send(1 << next_),)
        sends[first] = (Send(1 << last), *sends[first])
        yield Program(Membership(size), tuple(sends))


def cases(
    size: int, links: Links, todo: Iterable[Program], longest: int = 99
) -> Iterator[tuple[Program, dict[Copy, Way]]]:
    """Programs, and ways of at most so many hops for all copies."""
    near = linked(size, links)
    for program in todo:
        copies = [
            (message.id, destination)
            for sent in program.messages()
            for message in sent
            for destination in members(message.destinations)
        ]
        choices = [
            [way for way in simple_ways(near, message.sender, to) if len(way) <= longest + 1]
            for message, to in copies
        ]
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
    order: type[Order] = Separators,
) -> Exploration:
    """All schedules of one program along these ways."""
    options = SeparatorsOptions(links=links, routes="shortest", regions=regions, tidy=0)

    def make(process: int, membership: Membership) -> Order:
        made = order(process, membership, options)
        machine = getattr(made, "machine")  # noqa: B009 (a mutant has one, too)
        machine.forwarding.next_hops = Guide(process, ways).next_hops
        return made

    return Explorer(make, Membership(size)).explore(program)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("network", choices=sorted(SMALL))
    parser.add_argument("messages", type=int)
    parser.add_argument("--sets", action="store_true")
    parser.add_argument("--chains", action="store_true")
    parser.add_argument("--regions", action="append", help="a region, such as 0,1; may be repeated")
    parser.add_argument("--longest", type=int, default=99)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    size, links = SMALL[given.network]
    every = regions_for(size)
    if given.regions:
        every = [tuple(tuple(map(int, one.split(","))) for one in given.regions)]
    total = Exploration()
    count = 0
    for regions in every:
        drawn = programs(size, size, given.messages, sets=given.sets)
        todo = cases(
            size, links, chains(size, given.messages) if given.chains else drawn, given.longest
        )
        if given.sample:
            chance = Random(str(regions))
            some = list(islice(todo, 1_000_000))
            todo = iter(chance.sample(some, min(given.sample, len(some))))
        for program, ways in todo:
            count += 1
            if count <= given.first:
                continue
            found = explore(size, links, regions, program, ways)
            total = total.plus(found)
            if not found.passed:
                print(f"regions {regions}, ways {ways}:\n{found.failure or found.incomplete}")
                return 1
            if not count % 1000:
                print(f"{count:,} programs with ways, {total.states:,} states", flush=True)
        print(
            f"{given.network}, {given.messages} messages, regions up to {regions}: {count:,} "
            f"programs with ways, {total.states:,} states, {total.schedules:,} schedules",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
