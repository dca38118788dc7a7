"""The structure that a routed overlay forwards along: sets of processes, joined by zones.

A *set* is a process, or several routers that stand in for each other. A *zone* is made of two or
more sets; all processes of different sets of a zone are linked. A hop stays in one zone. So the
link between two router sets is a zone of two, and a local network is a zone of all that it joins.

End to end, order needs more than order of the hops. What is enough, and checked here:

1. Every process belongs to one set, and the sets form a tree: between any two there is one way.
2. A hop is one multicast to all members of all next sets, so they must be linked to its sender.
3. Application processes are alone in their sets.

And what the overlay does by itself: it forwards in the order of delivery, and of the members of a
set one alone forwards into a zone, always the same one; or all do, and copies are dropped.
"""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import combinations, product

import msgspec

from antecede.errors import Misuse
from antecede.message import ProcessSet, members, process_set

Zones = tuple[tuple[tuple[int, ...], ...], ...]
"""For each zone its sets, for each set its members."""
Links = tuple[tuple[int, int], ...]


class Port(msgspec.Struct, frozen=True):
    """A set as a zone sees it: its members, and `side`: all that is reached through it, they
    included."""

    members: ProcessSet
    side: ProcessSet


class Zone(msgspec.Struct, frozen=True, dict=True):
    """The sets that meet in a zone."""

    ports: tuple[Port, ...]

    @cached_property
    def _ends(self) -> ProcessSet:
        """The processes that nothing lies beyond: each is addressed for its own sake alone."""
        alone = [port.members for port in self.ports if port.members == port.side]
        return sum(bits for bits in alone if bits.bit_count() == 1)

    @cached_property
    def _gates(self) -> list[Port]:
        return [port for port in self.ports if not port.members & self._ends]

    def next_hop(self, source: Port, destinations: ProcessSet) -> ProcessSet:
        """Whom a hop from this port addresses: all members of all sets that the destinations are
        reached through."""
        ahead = destinations & ~source.side
        to = ahead & self._ends
        for port in self._gates:
            if port.side & ahead:
                to |= port.members
        return to

    def beyond(self, own: Port) -> ProcessSet:
        """All that this port reaches through the zone."""
        return sum(port.side for port in self.ports if port is not own)


class Place(msgspec.Struct, frozen=True):
    """Where a process stands: the members of its set, and the zones of the set, each with the port
    of the set in it."""

    members: ProcessSet
    zones: tuple[tuple[Zone, Port], ...]


class Structure(msgspec.Struct, frozen=True):
    """A tree of sets and zones."""

    places: tuple[Place, ...]
    """By process."""
    hosts: ProcessSet
    """The processes that are alone in their sets: those that applications can live at."""

    def neighbours(self, process: int) -> ProcessSet:
        """The processes that share a zone with this one; members of one set do not talk."""
        place = self.places[process]
        return sum(
            port.members for zone, own in place.zones for port in zone.ports if port is not own
        )


@lru_cache(maxsize=16)
def structure(size: int, zones: Zones, links: Links = ()) -> Structure:
    """The structure of these zones. With `links`, hops must go along them. Refuses what breaks one
    of the conditions, and says which."""
    sets = _sets(size, zones)
    _check_links(size, zones, links)
    numbers = {bits: number for number, bits in enumerate(sets)}
    ports = [[numbers[process_set(one)] for one in zone] for zone in zones]
    tree = _Tree(sets, ports)
    mine: list[list[tuple[Zone, Port]]] = [[] for _ in sets]
    for number, own in enumerate(ports):
        zone = Zone(tuple([Port(sets[one], tree.side(number, one)) for one in own]))
        for one, port in zip(own, zone.ports, strict=True):
            mine[one].append((zone, port))
    places = {
        process: Place(bits, tuple(found))
        for bits, found in zip(sets, mine, strict=True)
        for process in members(bits)
    }
    hosts = process_set(
        process for process in range(size) if places[process].members == 1 << process
    )
    return Structure(tuple([places[process] for process in range(size)]), hosts)


def _sets(size: int, zones: Zones) -> list[ProcessSet]:
    """All sets, once each. Condition 1: they are disjoint and leave nobody out."""
    owner: dict[int, ProcessSet] = {}
    for zone in zones:
        for process in (process for one in zone for process in one):
            if not 0 <= process < size:
                raise Misuse(f"a zone has no process {process}: there are 0 to {size - 1}")
        if len(zone) < 2:
            raise Misuse(f"zone {_listed(zone)} has fewer than two sets")
        for one in zone:
            bits = process_set(one)
            for process in one:
                if owner.setdefault(process, bits) != bits:
                    raise Misuse(
                        f"process {process} belongs to two sets, {_braces(owner[process])} and "
                        f"{_braces(bits)}; every process belongs to one"
                    )
            if not one:
                raise Misuse(f"zone {_listed(zone)} has an empty set")
    if size == 1:
        return [1]
    missing = [process for process in range(size) if process not in owner]
    if missing:
        raise Misuse(f"process {missing[0]} is in no zone; every process belongs to one set")
    return list(dict.fromkeys(owner[process] for process in range(size)))


def _check_links(size: int, zones: Zones, links: Links) -> None:
    """Condition 2: whoever is next in a zone is linked."""
    if not links:
        return
    linked = {frozenset(link) for link in links}
    for zone in zones:
        for first, second in combinations(zone, 2):
            for here, there in product(first, second):
                if frozenset((here, there)) not in linked:
                    raise Misuse(
                        f"a hop is one multicast to all members of the next set, but in zone "
                        f"{_listed(zone)} processes {here} and {there} are not linked"
                    )


class _Tree:
    """Sets and zones as a tree with set 0 as its root, and what lies below each."""

    def __init__(self, sets: list[ProcessSet], ports: list[list[int]]) -> None:
        """Condition 1: there is one way between any two sets."""
        self._everybody = sum(sets)
        self._parents = [-1] * len(ports)
        zones_of: list[list[int]] = [[] for _ in sets]
        for zone, own in enumerate(ports):
            for one in own:
                zones_of[one].append(zone)
        walk = [(0, -1)]
        seen = {0}
        for one, above in walk:
            for zone in zones_of[one]:
                if zone == above:
                    continue
                self._parents[zone] = one
                for other in ports[zone]:
                    if other == one:
                        continue
                    if other in seen:
                        raise Misuse(
                            f"the sets do not form a tree: two ways lead to "
                            f"{_braces(sets[other])}, and what takes one could overtake what takes "
                            f"the other"
                        )
                    seen.add(other)
                    walk.append((other, zone))
        if len(seen) < len(sets):
            apart = next(one for one in range(len(sets)) if one not in seen)
            raise Misuse(
                f"the sets do not form a tree: no way leads from {_braces(sets[0])} to "
                f"{_braces(sets[apart])}"
            )
        self._below_sets = list(sets)
        self._below_zones = [0] * len(ports)
        for one, zone in reversed(walk[1:]):
            self._below_zones[zone] |= self._below_sets[one]
            parent = self._parents[zone]
            self._below_sets[parent] |= self._below_sets[one]

    def side(self, zone: int, one: int) -> ProcessSet:
        """All that a zone reaches through a set."""
        if one == self._parents[zone]:
            return self._everybody & ~self._below_zones[zone]
        return self._below_sets[one]


def _braces(bits: ProcessSet) -> str:
    return "{" + ", ".join(map(str, members(bits))) + "}"


def _listed(zone: Sequence[Sequence[int]]) -> str:
    return " – ".join(_braces(process_set(one)) for one in zone)
