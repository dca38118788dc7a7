"""A tree of sets and zones for any connected network.

Routers that host nothing and have the same neighbours stand in for each other: they become one set.
Everybody else is a set of his own. Of the network between these sets each block (a part that no
single set can split) becomes one zone, if all its sets are linked with each other and are to talk
directly; otherwise a tree of shortest paths through it, each of its links a zone of two. The links
that are left over carry nothing: a second way would let messages overtake each other.
"""

from functools import lru_cache

from antecede.errors import Misuse
from antecede.message import ProcessSet, members, process_set
from antecede.overlays.separators.zones import Links, Zones
from antecede.topology.blocks import find_blocks
from antecede.topology.model import Topology, build, check_connected


@lru_cache(maxsize=16)
def plan_zones(
    size: int, links: Links, hosts: ProcessSet | None = None, is_direct: bool = True
) -> Zones:
    """The zones to route in. `hosts`: the processes that applications live at; without it, all.
    Unless `is_direct`, trees are laid through all blocks."""
    if any(not 0 <= end < size for link in links for end in link):
        raise Misuse(f"a link ends at a process that does not exist; there are {size}")
    network = build("the network", [str(process) for process in range(size)], links)
    check_connected(network)
    sets = _twins(network, network.everybody if hosts is None else hosts)
    number = {process: index for index, one in enumerate(sets) for process in one}
    joined = {(number[first], number[second]) for first, second in network.links}
    between = build(
        "the network of sets",
        [str(index) for index in range(len(sets))],
        [link for link in joined if link[0] != link[1]],
    )
    zones: list[tuple[int, ...]] = []
    for block in find_blocks(between):
        zones += _zones(between, block, is_direct)
    return tuple([tuple([sets[index] for index in zone]) for zone in sorted(zones)])


def _twins(network: Topology, hosts: ProcessSet) -> list[tuple[int, ...]]:
    """The sets: routers with the same neighbours, be they linked with each other or not, and all
    others alone."""
    alike: dict[tuple[bool, ProcessSet], list[int]] = {}
    for router in members(network.everybody & ~hosts):
        near = network.neighbours[router]
        for key in ((False, near), (True, near | 1 << router)):
            alike.setdefault(key, []).append(router)
    taken = 0
    sets = []
    for routers in alike.values():
        free = [router for router in routers if not taken >> router & 1]
        if len(free) > 1:
            taken |= process_set(free)
            sets.append(tuple(free))
    sets += [(process,) for process in members(network.everybody & ~taken)]
    return sorted(sets)


def _zones(network: Topology, block: ProcessSet, is_direct: bool) -> list[tuple[int, ...]]:
    """The zones of a block."""
    inside = tuple(members(block))
    near = {node: network.neighbours[node] & block for node in inside}
    if is_direct and all(near[node] == block & ~(1 << node) for node in inside):
        return [inside] if len(inside) > 1 else []
    root = max(inside, key=lambda node: (near[node].bit_count(), -node))
    seen = 1 << root
    walk = [root]
    found: list[tuple[int, ...]] = []
    for node in walk:
        for other in members(near[node] & ~seen):
            found.append((min(node, other), max(node, other)))
            walk.append(other)
        seen |= near[node]
    return found
