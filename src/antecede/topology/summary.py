"""A topology in a few numbers."""

import msgspec

from antecede.message import ProcessSet, members
from antecede.topology.blocks import find_blocks
from antecede.topology.model import Topology

LARGEST_MEASURED = 2_000
"""Nodes up to which the diameter is worked out: it takes a walk from every node."""


class Summary(msgspec.Struct, frozen=True):
    """What `antecede topology show` tells. `diameter` is None for a network in pieces and for one
    that is too large."""

    name: str
    nodes: int
    links: int
    hosts: int
    routers: int
    parts: int
    articulation_points: int
    blocks: int
    largest_block: int
    most_links: int
    diameter: int | None
    notes: tuple[str, ...]


def summarise(topology: Topology) -> Summary:
    blocks = find_blocks(topology)
    connected = len(topology.components()) == 1
    return Summary(
        name=topology.name,
        nodes=topology.size,
        links=len(topology.links),
        hosts=topology.hosts.bit_count(),
        routers=topology.routers.bit_count(),
        parts=len(topology.components()),
        articulation_points=articulation_points(blocks).bit_count(),
        blocks=len(blocks),
        largest_block=max(block.bit_count() for block in blocks),
        most_links=max(linked.bit_count() for linked in topology.neighbours),
        diameter=_diameter(topology) if connected and topology.size <= LARGEST_MEASURED else None,
        notes=topology.notes,
    )


def articulation_points(blocks: list[ProcessSet]) -> ProcessSet:
    """The nodes that are members of more than one block."""
    seen = 0
    several = 0
    for block in blocks:
        several |= seen & block
        seen |= block
    return several


def _diameter(topology: Topology) -> int:
    return max(len(waves(topology, node)) - 1 for node in range(topology.size))


def waves(topology: Topology, start: int) -> list[ProcessSet]:
    """The nodes at distance 0, 1, 2... from a node."""
    found = [1 << start]
    seen = found[0]
    while True:
        reached = 0
        for node in members(found[-1]):
            reached |= topology.neighbours[node]
        if not reached & ~seen:
            return found
        found.append(reached & ~seen)
        seen |= reached
