"""Topologies made from a few numbers: the networks that the papers talk about, and random ones.

A broadcast network is a clique: everybody hears everybody. Names tell the place in the hierarchy,
and so do zones.
"""

from collections.abc import Sequence
from itertools import combinations, product
from random import Random

from antecede.errors import Misuse
from antecede.message import process_set
from antecede.topology.model import Topology, build


class _Draft:
    """Nodes and links as they are thought of."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.zones: list[str] = []
        self.links: list[tuple[int, int]] = []
        self.hosts: list[int] = []
        self.routers: list[int] = []

    def node(self, name: str, zone: str, *, router: bool) -> int:
        self.names.append(name)
        self.zones.append(zone)
        number = len(self.names) - 1
        (self.routers if router else self.hosts).append(number)
        return number

    def nodes(self, count: int, prefix: str, zone: str, *, router: bool) -> list[int]:
        """Nodes of one kind, their names counted from 1."""
        return [self.node(f"{prefix}{index}", zone, router=router) for index in range(1, count + 1)]

    def clique(self, nodes: Sequence[int]) -> None:
        self.links += combinations(nodes, 2)

    def join(self, some: Sequence[int], others: Sequence[int]) -> None:
        self.links += product(some, others)

    def finish(self, name: str) -> Topology:
        return build(
            name,
            self.names,
            self.links,
            hosts=process_set(self.hosts),
            routers=process_set(self.routers),
            zones=self.zones,
        )


def _at_least(least: int, **numbers: int) -> None:
    for name, number in numbers.items():
        if number < least:
            raise Misuse(f"{name} is {number}; it must be at least {least}")


def tree(organisations: int, departments: int, nodes: int, routers: int = 1) -> Topology:
    """Organisations of departments of nodes. Every department and every organisation has so many
    routers, linked with each other and with all those one level below; the organisations meet in
    one router, `wan`. Nodes host; routers only forward."""
    _at_least(1, organisations=organisations, departments=departments, nodes=nodes, routers=routers)
    draft = _Draft()
    wan = [draft.node("wan", "", router=True)] if organisations > 1 else []
    for organisation in range(1, organisations + 1):
        zone = f"o{organisation}"
        above = draft.nodes(routers, f"{zone}.r", zone, router=True)
        draft.clique(above)
        draft.join(wan, above)
        for department in range(1, departments + 1):
            _department(draft, f"{zone}/d{department}", above, nodes)
    name = f"tree:{organisations},{departments},{nodes}" + (f",{routers}" if routers > 1 else "")
    return draft.finish(name)


def _department(draft: _Draft, zone: str, above: list[int], nodes: int) -> None:
    """A department with as many routers as there are above it."""
    prefix = zone.replace("/", ".")
    own = draft.nodes(len(above), f"{prefix}.r", zone, router=True)
    draft.clique(own)
    draft.join(above, own)
    inside = draft.nodes(nodes, f"{prefix}.n", zone, router=False)
    draft.join(own, inside)


def ring(networks: int, size: int, gateways: int = 1) -> Topology:
    """Broadcast networks in a ring, each of `size` hosts and `gateways` gateways. One half of the
    gateways is linked to the next network, the other to the previous one; a single one to both."""
    _at_least(3, networks=networks)
    _at_least(1, size=size, gateways=gateways)
    draft = _Draft()
    borders = []
    for network in range(1, networks + 1):
        zone = f"b{network}"
        border = draft.nodes(gateways, f"{zone}.g", zone, router=True)
        inside = draft.nodes(size, f"{zone}.h", zone, router=False)
        draft.clique(border + inside)
        borders.append(border)
    half = (gateways + 1) // 2
    for here, there in zip(borders, borders[1:] + borders[:1], strict=True):
        draft.join(here[:half], there[-half:])
    return draft.finish(f"ring:{networks},{size},{gateways}")


def clusters(sizes: Sequence[int], gateways: int = 1) -> Topology:
    """Broadcast networks of these sizes in a line; each is joined to the next by so many gateways,
    which are members of both."""
    _at_least(1, gateways=gateways)
    for size in sizes:
        _at_least(1, size=size)
    if len(sizes) < 2:
        raise Misuse("it takes two clusters to join them; write their sizes as in clusters:4+28,1")
    draft = _Draft()
    before: list[int] = []
    for cluster, size in enumerate(sizes, 1):
        zone = f"c{cluster}"
        inside = draft.nodes(size, f"{zone}.h", zone, router=False)
        more = cluster < len(sizes)
        after = draft.nodes(gateways if more else 0, f"{zone}.g", "", router=True)
        draft.clique(before + inside + after)
        before = after
    return draft.finish(f"clusters:{'+'.join(map(str, sizes))},{gateways}")


def internet(size: int, seed: int = 1) -> Topology:
    """A random network like the internet: a meshed core, regions that hang on it by one or two
    uplinks, and at the edge, for the greater part, hosts with one uplink. Those who have many links
    get more."""
    _at_least(4, size=size)
    random = Random(seed)
    core = max(3, round(size**0.5 / 2))
    regions = core + (size - core) // 5
    draft = _Draft()
    for node in range(size):
        tier = "c" if node < core else "r" if node < regions else "h"
        draft.node(f"{tier}{node}", "", router=node < regions)
    draft.links += [(node, (node + 1) % core) for node in range(core)]
    # One entry for every end of a link at a router: a draw from it prefers those with many.
    ends = [end for link in draft.links for end in link]
    for node in range(core, size):
        # random() alone is promised to give the same numbers in every version of Python.
        uplinks = {ends[int(random.random() * len(ends))]}
        if random.random() < (0.5 if node < regions else 0.1):
            uplinks.add(ends[int(random.random() * len(ends))])
        draft.join([node], sorted(uplinks))
        ends += sorted(uplinks)
        if node < regions:
            ends.append(node)
    return draft.finish(f"internet:{size},{seed}")
