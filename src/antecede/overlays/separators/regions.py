"""Regions of a network: sets of nodes with few neighbours outside, where contexts are filtered.

Any set of nodes is a region, with all its neighbours as its border. It pays where the border is
small and there are applications on both sides. Regions may overlap, but filter best where each two
are apart, or one is inside the other; those that are chosen here are.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from antecede.errors import MalformedStamp, Misuse
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

    def check(self, tokens: Iterable[tuple[int, int, int]], field: str) -> None:
        """Refuse tokens that there cannot be."""
        for region, member, epoch in tokens:
            if region >= len(self.inside) or not self.border[region] >> member & 1 or epoch < 1:
                raise MalformedStamp(field, f"has ({region}, {member}, {epoch}), which is none")


def regions_of(
    near: Sequence[ProcessSet], hosts: ProcessSet, options: SeparatorsOptions
) -> Regions:
    """Those of the options, or chosen ones."""
    if options.regions is None:
        return _chosen(len(near), options.links, hosts)
    found = []
    for one in options.regions:
        if any(not 0 <= node < len(near) for node in one) or not one:
            raise Misuse(f"regions: {list(one)} names processes that there are not")
        found.append(process_set(one))
    return _bordered(near, found)


def _bordered(near: Sequence[ProcessSet], regions: Iterable[ProcessSet]) -> Regions:
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
def _chosen(size: int, links: Links, hosts: ProcessSet) -> Regions:
    """Of what small separators cut off, the parts with at least two applications and at most half
    of them: those with the smallest border first, then the largest, as long as each two are apart
    or one inside the other."""
    if not links:
        return Regions((), ())
    network = build("the network", [str(process) for process in range(size)], links)
    near = network.neighbours
    wanted: dict[ProcessSet, int] = {}
    for candidate in find_candidates(network):
        inside = candidate.separator.front
        border = border_of(near, inside).bit_count()
        count = (inside & hosts).bit_count()
        if 1 <= border <= LARGEST_CUT and count >= 2 and 2 * count <= hosts.bit_count():
            wanted[inside] = border
    found: list[ProcessSet] = []
    for inside in sorted(wanted, key=lambda one: (wanted[one], -one.bit_count(), one)):
        if all(not inside & other or not inside & ~other or not other & ~inside for other in found):
            found.append(inside)
    return _bordered(near, found)
