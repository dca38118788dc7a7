"""All the separators of a topology that are worth considering.

They come from four places:

- the hierarchy: the border of every zone (a node's server, a department's routers);
- every articulation point;
- every pair of nodes that splits a block and that can be told something in one multicast, for they
  are linked or have a neighbour in common;
- small cuts between a few nodes of a block that lie far apart.

Listing all smallest separators of a graph does not scale; this does.
"""

from collections.abc import Iterator
from itertools import permutations

import msgspec

from antecede.message import ProcessSet, members, process_set
from antecede.topology.blocks import BlockTree, block_tree
from antecede.topology.model import Topology, parts
from antecede.topology.separator import Separator

LANDMARKS = 6
"""Nodes of a block between which cuts are looked for."""
LARGEST_CUT = 3
"""More members would seldom all have heard of the same message."""


class Candidate(msgspec.Struct, frozen=True):
    """A separator, and where it comes from."""

    separator: Separator
    origin: str


def find_candidates(topology: Topology) -> list[Candidate]:
    """The candidates of a connected topology, each once, in both directions."""
    tree = block_tree(topology)
    found: dict[Separator, str] = {}
    for cut, side, origin in _sides(topology, tree):
        other = topology.everybody & ~cut & ~side
        if side and other:
            found.setdefault(Separator(cut, side, other), origin)
            found.setdefault(Separator(cut, other, side), origin)
    return [Candidate(separator, origin) for separator, origin in found.items()]


def _sides(topology: Topology, tree: BlockTree) -> Iterator[tuple[ProcessSet, ProcessSet, str]]:
    """S, one side of it, and the origin."""
    yield from _of_zones(topology)
    for node, branches in tree.branches.items():
        for branch in branches:
            yield 1 << node, branch, "articulation point"
    for block in tree.blocks:
        if block.bit_count() > 3:
            for cut, origin in _cuts_of_block(topology, block):
                pieces = list(parts(topology.neighbours, block & ~cut))
                for part in pieces if len(pieces) > 1 else ():
                    side = part
                    for node in members(part & tree.articulation_points):
                        side |= tree.hanging(node, block)
                    yield cut, side, origin


def _of_zones(topology: Topology) -> Iterator[tuple[ProcessSet, ProcessSet, str]]:
    """A zone has two borders: its members that have a link out of it (a department's routers), and
    the outsiders that they are linked to (the gateways that two networks share). One that is large,
    and larger than the other, is left out."""
    paths = {""}
    for zone in topology.zones:
        steps = zone.split("/")
        paths |= {"/".join(steps[: depth + 1]) for depth in range(len(steps))}
    for path in sorted(paths - {""}):
        zone_members = topology.zone(path)
        outer = 0
        for node in members(zone_members):
            outer |= topology.neighbours[node] & ~zone_members
        inner = 0
        for node in members(outer):
            inner |= topology.neighbours[node] & zone_members
        largest = max(LARGEST_CUT, min(inner.bit_count(), outer.bit_count()))
        for border in (inner, outer):
            if border.bit_count() <= largest:
                yield border, zone_members & ~border, f"zone {path}"


def _cuts_of_block(topology: Topology, block: ProcessSet) -> Iterator[tuple[ProcessSet, str]]:
    """Sets of a few nodes of a block, some of which split it."""
    size = block.bit_count()
    idle, thinned = _idle(topology, block)
    splitting = block & ~idle
    for first in members(splitting):
        near = topology.neighbours[first] & block
        reach = near
        for neighbour in members(near):
            reach |= topology.neighbours[neighbour]
        for second in members(reach & splitting & ~((2 << first) - 1)):
            yield 1 << first | 1 << second, f"pair in a block of {size}"
    for cut in _far_cuts(topology, thinned):
        yield cut, f"cut through a block of {size}"


def _idle(topology: Topology, block: ProcessSet) -> tuple[ProcessSet, ProcessSet]:
    """The nodes whose neighbours are all linked with each other, such as the hosts of a broadcast
    network: a smallest separator needs none of them. And the block with one only of those that
    have the same neighbours, which has the same cuts and may be far smaller."""
    closed = {node: (topology.neighbours[node] | 1 << node) & block for node in members(block)}
    idle = process_set(
        node
        for node, around in closed.items()
        if all(not around & ~closed[other] for other in members(around))
    )
    thinned = block & ~idle
    seen = set()
    for node in members(idle):
        if closed[node] not in seen:
            seen.add(closed[node])
            thinned |= 1 << node
    return idle, thinned


def _far_cuts(topology: Topology, block: ProcessSet) -> Iterator[ProcessSet]:
    """The smallest cuts between landmarks, the one next to either of the two."""
    if block.bit_count() < 3:
        return
    import networkx  # noqa: PLC0415
    from networkx.algorithms import connectivity, flow  # noqa: PLC0415

    graph = networkx.Graph(
        (first, second)
        for first, second in topology.links
        if block >> first & 1 and block >> second & 1
    )
    auxiliary = connectivity.build_auxiliary_node_connectivity(graph)
    residual = flow.build_residual_network(auxiliary, "capacity")
    shared = {"auxiliary": auxiliary, "residual": residual}
    for source, target in permutations(_landmarks(topology, block), 2):
        if topology.neighbours[source] >> target & 1:
            continue
        paths = connectivity.local_node_connectivity(
            graph, source, target, cutoff=LARGEST_CUT + 1, **shared
        )
        if paths <= LARGEST_CUT:
            yield process_set(connectivity.minimum_st_node_cut(graph, source, target, **shared))


def _landmarks(topology: Topology, block: ProcessSet) -> list[int]:
    """A few nodes that lie far apart: each is as far as can be from those before it."""
    landmarks = [next(members(block))]
    while len(landmarks) < LANDMARKS:
        seen = wave = process_set(landmarks)
        last = 0
        while wave:
            last = wave
            reached = 0
            for node in members(wave):
                reached |= topology.neighbours[node]
            wave = reached & block & ~seen
            seen |= wave
        landmark = next(members(last))
        if landmark in landmarks:
            break
        landmarks.append(landmark)
    return landmarks
