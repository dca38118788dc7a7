"""Regions of a network: sets of nodes with few neighbours outside, where contexts are filtered.

Any set of nodes is a region, with all its neighbours as its border. It pays where the border is
small and there are applications on both sides. Regions may overlap, but filter best where each two
are apart, or one is inside the other; those that are chosen here are.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from antecede.errors import Misuse
from antecede.message import ProcessSet, members, process_set
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.zones import Links
from antecede.topology.candidates import LARGEST_CUT, find_candidates
from antecede.topology.model import build


class Regions(msgspec.Struct, frozen=True, dict=True):
    """By region: its nodes, and its border."""

    inside: tuple[ProcessSet, ...]
    border: tuple[ProcessSet, ...]

    def entered(self, here: int, next_: int) -> list[int]:
        """The regions that a hop leads into, those that contain others first."""
        cache: dict[tuple[int, int], list[int]] = self.__dict__.setdefault("_entered", {})
        if (here, next_) not in cache:
            cache[here, next_] = [
                region
                for region, inside in enumerate(self.inside)
                if inside >> next_ & 1 and not inside >> here & 1
            ]
        return cache[here, next_]

    def at(self, member: int) -> list[int]:
        """The regions whose border a process is in."""
        return [region for region, border in enumerate(self.border) if border >> member & 1]


def regions_of(
    near: Sequence[ProcessSet], hosts: ProcessSet, options: SeparatorsOptions
) -> Regions:
    """Those of the options, or chosen ones."""
    late = options.latecomers
    if options.regions is None:
        size = len(near) - sum(process != before for process, before in late)
        found = list(_chosen(size, options.links, hosts & ((1 << size) - 1)))
    else:
        found = []
        for one in options.regions:
            if any(not 0 <= node < len(near) for node in one) or not one:
                raise Misuse(f"regions: {list(one)} names processes that there are not")
            found.append(process_set(one))
    for process, before in late:
        found = [one | (one >> before & 1) << process for one in found]
    return bordered(near, found)


def bordered(near: Sequence[ProcessSet], regions: Iterable[ProcessSet]) -> Regions:
    """These regions, the largest first, with their borders."""
    inside = sorted(dict.fromkeys(regions), key=lambda one: (-one.bit_count(), one))
    return Regions(tuple(inside), tuple([border_of(near, one) for one in inside]))


def border_of(near: Sequence[ProcessSet], region: ProcessSet) -> ProcessSet:
    """All neighbours of a set of nodes."""
    found = 0
    for node in members(region):
        found |= near[node]
    return found & ~region


@lru_cache(maxsize=16)
def _chosen(size: int, links: Links, hosts: ProcessSet) -> tuple[ProcessSet, ...]:
    """Of what small separators cut off, the parts with at most half of the applications: those with
    the smallest border first, then the largest, as long as each two are apart or one inside the
    other. Of two with the same applications one is enough."""
    if not links:
        return ()
    network = build("the network", [str(process) for process in range(size)], links)
    wanted: dict[ProcessSet, int] = {}
    for candidate in find_candidates(network):
        inside = candidate.separator.front
        border = border_of(network.neighbours, inside).bit_count()
        applications = (inside & hosts).bit_count()
        if 1 <= border <= LARGEST_CUT and 1 <= applications <= hosts.bit_count() // 2:
            wanted[inside] = border
    found: list[ProcessSet] = []
    for inside in sorted(wanted, key=lambda one: (wanted[one], -one.bit_count(), one)):
        if all(_fit(inside, other, hosts) for other in found):
            found.append(inside)
    return tuple(found)


def _fit(one: ProcessSet, other: ProcessSet, hosts: ProcessSet) -> bool:
    """Whether they are apart, or one with fewer applications is inside the other."""
    if not one & other:
        return True
    return bool((one ^ other) & hosts) and (not one & ~other or not other & ~one)
