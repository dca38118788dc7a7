"""A communication graph: who is linked to whom, who hosts applications, and who belongs together.

Nodes are counted from 0 and sets of nodes are bit sets, as everywhere inside Antecede. Links have
no direction, join two different nodes, and stand once each, in order. A `Topology` made by `build`
keeps these promises; that it is connected is `check_connected`'s business, for a network in pieces
can still be looked at.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import msgspec

from antecede.errors import BadFile, BadInput
from antecede.message import ProcessSet, members, process_set

Place = tuple[float, float]
"""Where a node stands: x to the right (longitude), y upwards (latitude)."""


class Topology(msgspec.Struct, frozen=True, dict=True):
    """`hosts` are the nodes that application processes may attach to, `routers` those that forward;
    a node can be both. `zones[v]` is the place of node v in the hierarchy, outermost first and
    separated by slashes (``o1/d2``), or empty."""

    name: str
    names: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    hosts: ProcessSet
    routers: ProcessSet
    zones: tuple[str, ...]
    places: tuple[Place | None, ...]
    notes: tuple[str, ...] = ()
    """What was changed in order to make a topology of what was read, one sentence each."""

    @property
    def size(self) -> int:
        return len(self.names)

    @property
    def everybody(self) -> ProcessSet:
        return (1 << len(self.names)) - 1

    @cached_property
    def neighbours(self) -> tuple[ProcessSet, ...]:
        """The nodes that each node is linked to."""
        linked = [0] * len(self.names)
        for first, second in self.links:
            linked[first] |= 1 << second
            linked[second] |= 1 << first
        return tuple(linked)

    def components(self, without: ProcessSet = 0) -> list[ProcessSet]:
        """The parts that are connected when these nodes are gone, by their lowest node."""
        return list(parts(self.neighbours, self.everybody & ~without))

    def named(self, nodes: ProcessSet) -> str:
        """The names of these nodes, for people; of many only the first."""
        shown = [self.names[node] for node in members(nodes)]
        more = len(shown) - 4
        return ", ".join(shown[:4]) + (f" and {more} more" if more > 0 else "")

    def zone(self, path: str) -> ProcessSet:
        """The nodes in this zone and in those inside it."""
        return process_set(
            node for node, own in enumerate(self.zones) if f"{own}/".startswith(f"{path}/")
        )


def build(
    name: str,
    names: Sequence[str],
    links: Iterable[tuple[int, int]],
    *,
    hosts: ProcessSet | None = None,
    routers: ProcessSet | None = None,
    zones: Sequence[str] = (),
    places: Sequence[Place | None] = (),
    notes: Sequence[str] = (),
) -> Topology:
    """A topology of these nodes and links. Unless told otherwise every node is a host and a router.
    A link given twice counts once."""
    size = len(names)
    everybody = (1 << size) - 1
    mistakes = [] if names else ["it has no nodes"]
    if len(set(names)) < size:
        mistakes.append("two nodes have the same name")
    unique = sorted({(min(link), max(link)) for link in links})
    for first, second in unique:
        if first < 0 or second >= size:
            mistakes.append(f"the link {first} – {second} ends at a node that does not exist")
        elif first == second:
            mistakes.append(f"{names[first]} is linked to itself")
    hosts = everybody if hosts is None else hosts
    routers = everybody if routers is None else routers
    if hosts & ~everybody or routers & ~everybody:
        mistakes.append("a host or a router is a node that does not exist")
    elif hosts | routers != everybody:
        idle = next(members(everybody & ~(hosts | routers)))
        mistakes.append(f"{names[idle]} is neither a host nor a router")
    if any(listed and len(listed) != size for listed in (zones, places)):
        mistakes.append("zones and places need one entry for every node")
    if mistakes:
        raise BadFile(name, mistakes)
    return Topology(
        name=name,
        names=tuple(names),
        links=tuple(unique),
        hosts=hosts,
        routers=routers,
        zones=tuple(zones) or ("",) * size,
        places=tuple(places) or (None,) * size,
        notes=tuple(notes),
    )


def parts(neighbours: Sequence[ProcessSet], nodes: ProcessSet) -> Iterator[ProcessSet]:
    """The connected parts of the graph of these nodes alone, by their lowest node."""
    while nodes:
        part = reached = nodes & -nodes
        while reached:
            nodes &= ~reached
            found = 0
            for node in members(reached):
                found |= neighbours[node]
            reached = found & nodes
            part |= reached
        yield part


def check_connected(topology: Topology, way_out: str = "") -> None:
    """Refuse a network in pieces, naming two of them, and `way_out` if there is one."""
    pieces = topology.components()
    if len(pieces) > 1:
        pieces.sort(key=lambda piece: (-piece.bit_count(), piece & -piece))
        first, second = pieces[:2]
        raise BadInput(
            f"{topology.name} is not connected: it has {len(pieces)} parts, and no path leads from "
            f"{topology.named(first)} to {topology.named(second)}{way_out and f'; {way_out}'}"
        )


def largest_part(topology: Topology) -> Topology:
    """The largest connected part (of equals the one with the lowest node), with a note of what was
    left out. A connected topology is returned as it is."""
    pieces = topology.components()
    if len(pieces) == 1:
        return topology
    kept = max(pieces, key=int.bit_count)
    gone = topology.everybody & ~kept
    note = (
        f"not connected: {gone.bit_count()} nodes outside the largest of {len(pieces)} parts "
        f"are left out ({topology.named(gone)})"
    )
    return restrict(topology, kept, note)


def restrict(topology: Topology, kept: ProcessSet, note: str) -> Topology:
    """The same topology with these nodes only, counted anew in the same order."""
    number = {node: index for index, node in enumerate(members(kept))}

    def moved(nodes: ProcessSet) -> ProcessSet:
        return process_set(number[node] for node in members(nodes & kept))

    return build(
        topology.name,
        [topology.names[node] for node in number],
        [
            (number[first], number[second])
            for first, second in topology.links
            if first in number and second in number
        ],
        hosts=moved(topology.hosts),
        routers=moved(topology.routers),
        zones=[topology.zones[node] for node in number],
        places=[topology.places[node] for node in number],
        notes=[*topology.notes, note],
    )


def attach(topology: Topology, attachments: Sequence[int] | None = None) -> Topology:
    """The extended communication graph of chapter 5: application process p becomes a node of its
    own, linked to node `attachments[p]`; without attachments there is one process at every host.

    Processes come first: process p is node p, and what was node v is node `len(attachments)` + v.
    A host and its processes form a zone, so that the host is a natural separator of them.
    """
    if attachments is None:
        attachments = list(members(topology.hosts))
    strangers = [node for node in attachments if not 0 <= node < topology.size]
    if strangers or not attachments:
        reason = f"node {strangers[0]} does not exist" if strangers else "there are none"
        raise BadInput(f"{topology.name}: processes cannot be attached: {reason}")
    for node in attachments:
        if not topology.hosts >> node & 1:
            raise BadInput(f"{topology.name}: {topology.names[node]} does not host processes")
    count = len(attachments)
    zones = list(topology.zones)
    for node in sorted(set(attachments)):
        zones[node] = f"{zones[node]}/{topology.names[node]}".removeprefix("/")
    taken = set(topology.names)
    return build(
        topology.name,
        [_unused(f"p{process}", taken) for process in range(count)] + list(topology.names),
        [
            *((process, count + node) for process, node in enumerate(attachments)),
            *((count + first, count + second) for first, second in topology.links),
        ],
        hosts=(1 << count) - 1,
        routers=topology.everybody << count,
        zones=[zones[node] for node in attachments] + zones,
        places=[None] * count + list(topology.places),
        notes=topology.notes,
    )


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    return name
