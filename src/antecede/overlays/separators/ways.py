"""Shortest ways through a network, hop by hop."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from antecede.errors import Misuse
from antecede.message import Membership, ProcessSet, members, process_set
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.zones import Links
from antecede.topology.model import build, check_connected, parts


class Network:
    """Who is linked to whom, where applications live, and who and which links come later. `all`: by
    process its neighbours, over links that come later, too."""

    def __init__(
        self,
        all_: tuple[ProcessSet, ...],
        hosts: ProcessSet,
        late: ProcessSet,
        later: Iterable[tuple[int, int]] = (),
    ) -> None:
        self.all = all_
        self.hosts = hosts
        self.late = late
        self._later = set(map(_sorted, later))

    def near(self, up: Iterable[tuple[int, int]] = ()) -> tuple[ProcessSet, ...]:
        """By process its neighbours, when these links have come."""
        missing = self._later.difference(map(_sorted, up))
        found = list(self.all)
        for first, second in missing:
            found[first] &= ~(1 << second)
            found[second] &= ~(1 << first)
        return tuple(found)

    def connects_without(self, crashed: ProcessSet) -> bool:
        """Whether ways lead between all applications that live, before and after others come."""
        near = self.near()
        return all(
            are_connected(near, self.hosts & ~away, away)
            for away in (crashed | self.late, crashed | self.late & ~self.hosts)
        )


def network_of(membership: Membership, options: SeparatorsOptions) -> Network:
    """All links, for routes that use them."""
    late = options.latecomers
    known = {_sorted(link) for link in options.links}
    for link in options.later_links:
        if _sorted(link) not in known:
            raise Misuse(f"later_links: {list(link)} is none of the links")
    return Network(
        linked(membership.size, with_latecomers(options.links, late)),
        hosts_of(membership, options),
        late_of(options),
        with_latecomers(options.later_links, late),
    )


def hosts_of(membership: Membership, options: SeparatorsOptions) -> ProcessSet:
    """The processes that applications live at: the first ones, and those who take their places."""
    if options.applications is None:
        return membership.everybody
    first = (1 << min(options.applications, membership.size)) - 1
    late = options.latecomers
    return first | process_set(one for one, before in late if first >> before & 1)


def late_of(options: SeparatorsOptions) -> ProcessSet:
    """Who is not there at the start."""
    return process_set(process for process, _ in options.latecomers)


def _sorted(link: tuple[int, int]) -> tuple[int, int]:
    return min(link), max(link)


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
