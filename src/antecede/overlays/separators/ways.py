"""Shortest ways through a network, hop by hop."""

from collections.abc import Sequence
from functools import lru_cache

from antecede.errors import Misuse
from antecede.message import ProcessSet, members
from antecede.overlays.separators.zones import Links
from antecede.topology.model import build, check_connected, parts


def with_latecomers(links: Links, latecomers: tuple[tuple[int, int], ...]) -> Links:
    """The links, and those of processes that take the places of others."""
    places: dict[int, list[int]] = {}
    for process, before in latecomers:
        places.setdefault(before, [before]).append(process)
    found = [
        (one, other)
        for first, second in links
        for one in places.get(first, [first])
        for other in places.get(second, [second])
    ]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=16)
def linked(size: int, links: Links) -> tuple[ProcessSet, ...]:
    """By process its neighbours; without links, everybody else. Refuses a network in pieces."""
    if not links:
        everybody = (1 << size) - 1
        return tuple([everybody & ~(1 << process) for process in range(size)])
    if any(not 0 <= end < size for link in links for end in link):
        raise Misuse(f"a link ends at a process that does not exist; there are {size}")
    network = build("the network", [str(process) for process in range(size)], links)
    check_connected(network)
    return network.neighbours


def are_connected(near: Sequence[ProcessSet], some: ProcessSet, gone: ProcessSet) -> bool:
    """Whether ways lead between all of these when those are gone."""
    everybody = (1 << len(near)) - 1
    reached = [part & some for part in parts(near, everybody & ~gone)]
    return sum(map(bool, reached)) <= 1


class Ways:
    """The next hops from one process: of the neighbours that lie on shortest ways, the lowest.
    Whoever is `gone` forwards nothing."""

    def __init__(self, process: int, near: Sequence[ProcessSet], gone: ProcessSet = 0) -> None:
        self._process = process
        self._near = near
        self._gone = gone
        self._behind = self._look_around()
        self.reached: ProcessSet = sum(self._behind.values())
        """All that a way leads to."""

    def _look_around(self) -> dict[int, ProcessSet]:
        """By neighbour, all that is reached through it."""
        behind = {next_: 1 << next_ for next_ in members(self._near[self._process] & ~self._gone)}
        seen = 1 << self._process | self._gone
        wave = dict(behind)
        while wave:
            further: dict[int, ProcessSet] = {}
            for reached in wave.values():
                seen |= reached
            for next_, reached in wave.items():
                found = 0
                for node in members(reached):
                    found |= self._near[node]
                found &= ~seen
                if found:
                    seen |= found
                    further[next_] = found
                    behind[next_] |= found
            wave = further
        return behind

    def next_hops(self, destinations: ProcessSet) -> list[tuple[int, ProcessSet]]:
        """The neighbours to hand a message to, each with the destinations that lie that way.
        Destinations without a way are left out."""
        found = []
        for next_, behind in self._behind.items():
            if destinations & behind:
                found.append((next_, destinations & behind))
        return found
