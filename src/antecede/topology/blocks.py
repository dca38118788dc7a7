"""The blocks of a topology and the nodes that hold them together.

A block is a largest part that no single node can split; blocks share no more than one node, an
articulation point, and so they form a tree. Walking that tree once tells what falls apart when an
articulation point is removed, without flooding the graph for each of them.
"""

from functools import cached_property

import msgspec

from antecede.errors import BrokenInvariant
from antecede.message import ProcessSet, members, process_set
from antecede.topology.model import Topology


class BlockTree(msgspec.Struct, frozen=True, dict=True):
    """`branches[v]`: what remains of a connected topology without articulation point v, part by
    part, in increasing order of their lowest nodes."""

    blocks: tuple[ProcessSet, ...]
    branches: dict[int, tuple[ProcessSet, ...]]
    everybody: ProcessSet

    @cached_property
    def articulation_points(self) -> ProcessSet:
        return process_set(self.branches)

    def hanging(self, node: int, block: ProcessSet) -> ProcessSet:
        """What reaches `block` only through `node`, a member of it, without the node itself."""
        found = 0
        for branch in self.branches.get(node, ()):
            if not branch & block:
                found |= branch
        return found


def block_tree(topology: Topology) -> BlockTree:
    """The blocks of a connected topology. A node without links is a block of its own."""
    blocks = find_blocks(topology)
    holders: dict[int, list[int]] = {}
    for index, block in enumerate(blocks):
        for node in members(block):
            holders.setdefault(node, []).append(index)
    cuts = process_set(node for node, held in holders.items() if len(held) > 1)
    entered: list[int | None] = [None] * len(blocks)
    """The articulation point that leads from a block towards the root, block 0."""
    walk = [0]
    for index in walk:
        for node in members(blocks[index] & cuts):
            if node != entered[index]:
                for below in holders[node]:
                    if below != index:
                        entered[below] = node
                        walk.append(below)
    if len(walk) != len(blocks):
        raise BrokenInvariant(f"{topology.name}: the blocks are no tree")
    below_node = dict.fromkeys(members(cuts), 0)
    parts: dict[int, list[ProcessSet]] = {node: [] for node in members(cuts)}
    for index in reversed(walk):
        whole = blocks[index]
        way_up = entered[index]
        for node in members(blocks[index] & cuts):
            if node != way_up:
                whole |= below_node[node]
        if way_up is not None:
            below_node[way_up] |= whole
            parts[way_up].append(whole & ~(1 << way_up))
    everybody = topology.everybody
    branches = {}
    for node, lower in sorted(parts.items()):
        upper = everybody & ~below_node[node]
        branches[node] = tuple(sorted([*lower, upper], key=lambda part: part & -part))
    return BlockTree(tuple(blocks), branches, everybody)


def find_blocks(topology: Topology) -> list[ProcessSet]:
    """The blocks of any topology, in order."""
    import networkx  # noqa: PLC0415  only those who ask for blocks pay for it

    graph = networkx.Graph()
    graph.add_nodes_from(range(topology.size))
    graph.add_edges_from(topology.links)
    blocks = [process_set(block) for block in networkx.biconnected_components(graph)]
    alone = [1 << node for node, linked in enumerate(topology.neighbours) if not linked]
    return sorted(blocks + alone, key=lambda block: list(members(block)))
