"""Random search for faults of `routes=shortest`: networks of 4 to 8 nodes, overlapping regions,
every way a message may take, several destinations.

    python -m tests.overlays.search 100000
    python -m tests.overlays.search 10000 --crash --routes flood
    python -m tests.overlays.search 10000 --crash --no-write-ahead

prints each seed that fails and what went wrong; the exit status is 1 if there is one. A seed says
all: `run(seed)` repeats it.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

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


class Drawn(NamedTuple):
    """Who crashes, who comes later, in the place of one who crashed or in a new one, and which
    links come later."""

    lab: Lab
    crashes: list[int]
    late: list[int]
    links: list[tuple[int, int]]


def make_changing(seed: int, make: type[Order] = Separators, **more: object) -> Drawn:
    """The run of a seed in which the network changes, before anything has happened. What survivors
    send to survivors is owed."""
    chance = Random(seed)
    size, links = random_links(chance)
    hosts = chance.randint(2, size - 1)
    crashes, coming, later = _changes(chance, size, links, hosts)
    back = [one for one in sorted(crashes) if chance.random() < 0.5]
    late = [(size + place, before) for place, before in enumerate(back)]
    late += [(process, process) for process in coming]
    size += len(back)
    regions = random_regions(chance, size - len(back))
    tidy, forwarding = chance.choice([1, 2, 5]), chance.choice(["one", "all"])
    is_flood = more.get("routes") == "flood"
    own: dict[str, object] = {"forwarding": forwarding}
    if not is_flood:
        own = {"regions": regions, "write_ahead": True, "recovery": "memory"}
    options = SeparatorsOptions(
        links=links,
        applications=hosts,
        latecomers=tuple(late),
        later_links=tuple(later),
        suspect_after_s=1.0,
        **{"routes": "shortest", "tidy": tidy, **own, **more},  # type: ignore[arg-type]
    )
    orders = [make(process, Membership(size), options) for process in range(size)]
    there = [host for host in range(hosts) if host not in coming]
    return Drawn(Lab(orders, there, chance), crashes, [process for process, _ in late], later)


def _changes(
    chance: Random, size: int, links: Links, hosts: int
) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Who crashes, who is new, and which links are: routers crash while the rest is connected, or
    one application does, or nobody. Without a crash those who come may be a bridge."""
    near = linked(size, links)
    crashes: list[int] = []
    coming: list[int] = []
    later: list[tuple[int, int]] = []
    kind = chance.random()
    if kind < 0.6:
        for router in chance.sample(range(hosts, size), size - hosts):
            gone = sum(1 << one for one in (*crashes, router))
            if are_connected(near, (1 << hosts) - 1, gone) and len(crashes) < 2:
                crashes.append(router)
    elif hosts > 2:
        later = chance.sample(links, chance.randint(0, 2))
        if not are_connected(without(near, later), (1 << size) - 1, 0):
            later = []  # who comes would be in before the others could know
        coming = chance.sample(range(2, size), chance.randint(0, min(2, size - 2)))
    if kind > 0.9 and 0 not in coming:
        absent = 1 | sum(1 << one for one in coming)
        is_connected = are_connected(near, (1 << size) - 2, 1)  # then and when all have come
        if is_connected and are_connected(near, (1 << hosts) - 1 & ~absent, absent) and not later:
            crashes = [0]
    return crashes, coming, later


def without(near: Sequence[ProcessSet], links: Iterable[tuple[int, int]]) -> list[ProcessSet]:
    found = list(near)
    for first, second in links:
        found[first] &= ~(1 << second)
        found[second] &= ~(1 << first)
    return found


def run_changing(seed: int, make: type[Order] = Separators, **more: object) -> str:
    """What went wrong, or nothing."""
    drawn = make_changing(seed, make, **more)
    crashed = sum(1 << one for one in drawn.crashes)
    orders = [order for order in drawn.lab.orders if order is not None]
    survives = orders[0].traits_under(orders[0].options).survives_crashes
    is_owed = not crashed or (survives and all(one.owes_despite(crashed) for one in orders))
    messages = Random(seed).randint(3, 14) + 8 * bool(drawn.late or drawn.links)
    failure = drawn.lab.run(messages, drawn.crashes, late=drawn.late, links=drawn.links)
    return "" if "never" in failure and not is_owed else failure


def run(seed: int, make: type[Order] = Separators) -> str:
    """What went wrong, or nothing."""
    lab = make_lab(seed, make)
    return lab.run(Random(seed).randint(3, 14))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument(
        "--crash", action="store_true", help="routers crash, some come back, others and links come"
    )
    parser.add_argument("--routes", choices=["shortest", "flood"], default="shortest")
    parser.add_argument(
        "--no-write-ahead", action="store_true", help="with --crash: early and twice alone count"
    )
    given = parser.parse_args()
    more: dict[str, Any] = {"write_ahead": False} if given.no_write_ahead else {}
    failed = 0
    for seed in range(given.first, given.first + given.runs):
        failure = run_changing(seed, routes=given.routes, **more) if given.crash else run(seed)
        if failure:
            failed += 1
            print(f"seed {seed}: {failure}", flush=True)
        if seed % 1_000 == 999:
            done = f"{seed + 1 - given.first:,} of {given.runs:,} runs, {failed} failed"
            print(f"{done}; go on with --first {seed + 1}", flush=True)
    print(f"{given.runs:,} runs, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
