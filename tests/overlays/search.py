"""Random search for faults of `routes=shortest`: networks of 4 to 8 nodes, overlapping regions,
every way a message may take, several destinations.

    python -m tests.overlays.search 100000
    python -m tests.overlays.search 10000 --crash

prints each seed that fails and what went wrong; the exit status is 1 if there is one. A seed says
all: `run(seed)` repeats it.
"""

import argparse
import sys
from itertools import combinations
from random import Random

from antecede.message import Membership, ProcessSet, members
from antecede.order import Order
from antecede.overlays.separators import Separators, SeparatorsOptions
from antecede.overlays.separators.ways import Ways, are_connected, linked
from antecede.overlays.separators.zones import Links
from antecede.topology import attach, load_topology
from tests.overlays.graphs import SMALL
from tests.overlays.lab import Lab

ZOO = ("Abilene", "Arpanet19706", "Nordu2005", "Getnet", "ring:3,2,2", "clusters:2+2,2")


class Wandering:
    """Any way: now and then a next hop by chance, else the shortest."""

    def __init__(self, shortest: Ways, near: ProcessSet, chance: Random, share: float) -> None:
        self._shortest = shortest
        self.reached = shortest.reached
        self._near = list(members(near))
        self._chance = chance
        self._share = share

    def next_hops(self, destinations: ProcessSet) -> list[tuple[int, ProcessSet]]:
        found: dict[int, ProcessSet] = {}
        for next_, there in self._shortest.next_hops(destinations):
            for one in members(there):
                is_astray = self._chance.random() < self._share
                to = self._chance.choice(self._near) if is_astray else next_
                found[to] = found.get(to, 0) | 1 << one
        return list(found.items())


def random_links(chance: Random) -> tuple[int, Links]:
    """A connected network: a tree, and some links more."""
    size = chance.randint(4, 8)
    found = {(chance.randrange(node), node) for node in range(1, size)}
    others = [pair for pair in combinations(range(size), 2) if pair not in found]
    found |= set(chance.sample(others, min(len(others), chance.randint(0, size))))
    return size, tuple(sorted(found))


def random_regions(chance: Random, size: int) -> tuple[tuple[int, ...], ...]:
    """Any sets of nodes: overlapping, nested or apart."""
    found = set()
    for _ in range(chance.randint(1, 4)):
        found.add(tuple(sorted(chance.sample(range(size), chance.randint(1, size - 1)))))
    return tuple(sorted(found))


def make_lab(seed: int, make: type[Order] = Separators) -> Lab:
    """The run of a seed, before anything has happened."""
    chance = Random(seed)
    hosts = None
    kind = chance.random()
    if kind < 0.3:
        size, links = SMALL[chance.choice(sorted(SMALL))]
    elif kind < 0.95:
        size, links = random_links(chance)
    else:
        topology = attach(load_topology(chance.choice(ZOO)))
        size, links, hosts = topology.size, topology.links, topology.hosts.bit_count()
    regions = None if hosts or chance.random() < 0.1 else random_regions(chance, size)
    options = SeparatorsOptions(
        links=links,
        applications=hosts,
        routes="shortest",
        regions=regions,
        tidy=chance.choice([0, 0, 1, 2, 5]),
    )
    orders = [make(process, Membership(size), options) for process in range(size)]
    share = chance.choice([0.0, 0.2, 0.5])
    near = linked(size, links)
    for order in orders:
        machine = getattr(order, "machine")  # noqa: B009 (a mutant has one, too)
        machine.ways = Wandering(machine.ways, near[order.process], chance, share)
    return Lab(orders, range(hosts or size), chance)


def make_crashing(
    seed: int, make: type[Order] = Separators, **more: object
) -> tuple[Lab, list[int], list[int]]:
    """The run of a seed in which routers crash, and which; and those who come in their places."""
    chance = Random(seed)
    size, links = random_links(chance)
    hosts = chance.randint(2, size - 1)
    near = linked(size, links)
    crashes: list[int] = []
    for router in chance.sample(range(hosts, size), size - hosts):
        gone = sum(1 << one for one in (*crashes, router))
        if are_connected(near, (1 << hosts) - 1, gone) and len(crashes) < 2:
            crashes.append(router)
    is_shortest = more.get("routes", "shortest") == "shortest"
    back = [one for one in sorted(crashes) if is_shortest and chance.random() < 0.5]
    late = tuple((size + place, before) for place, before in enumerate(back))
    size += len(late)
    options = SeparatorsOptions(
        links=links,
        applications=hosts,
        latecomers=late,
        suspect_after_s=1.0,
        **{  # type: ignore[arg-type]
            "routes": "shortest",
            "regions": random_regions(chance, size - len(late)),
            "tidy": chance.choice([1, 2, 5]),
            "write_ahead": True,
            **more,
        },
    )
    orders = [make(process, Membership(size), options) for process in range(size)]
    return Lab(orders, range(hosts), chance), crashes, [process for process, _ in late]


def run_crashing(seed: int, make: type[Order] = Separators, **more: object) -> str:
    """What went wrong, or nothing."""
    lab, crashes, late = make_crashing(seed, make, **more)
    return lab.run(Random(seed).randint(3, 14) + 8 * bool(late), crashes, late=late)


def run(seed: int, make: type[Order] = Separators) -> str:
    """What went wrong, or nothing."""
    lab = make_lab(seed, make)
    return lab.run(Random(seed).randint(3, 14))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--crash", action="store_true", help="routers crash, and some come back")
    given = parser.parse_args()
    failed = 0
    for seed in range(given.first, given.first + given.runs):
        failure = run_crashing(seed) if given.crash else run(seed)
        if failure:
            failed += 1
            print(f"seed {seed}: {failure}", flush=True)
        if seed % 10_000 == 9_999:
            print(f"{seed + 1 - given.first:,} of {given.runs:,} runs, {failed} failed", flush=True)
    print(f"{given.runs:,} runs, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
