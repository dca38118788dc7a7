"""Causal separators: three sets of processes, and the test that they are what they claim to be.

S separates F (forward) from B (backward) when every path between F and B passes through S. Rule R9
of Rodrigues and Veríssimo lets a member of S leave out, on what it sends towards F, the messages
addressed to B alone that every member of S has heard of.

The paper makes F, B and S cover all processes. Here they need not: a process in none of them is
unknown to the separator and nothing is left out for it, which is always safe. F and B are never
computed as complements of each other, for a process that joins later would fall into one of them
unseen.
"""

from collections.abc import Sequence

import msgspec

from antecede.errors import BadInput
from antecede.message import ProcessSet, members


class Separator(msgspec.Struct, frozen=True, array_like=True, order=True):
    """The sets S, F and B as bit sets. The struct promises nothing: `check_separator` does."""

    members: ProcessSet
    front: ProcessSet
    back: ProcessSet

    def reversed(self) -> "Separator":
        """The same cut, seen from the other side."""
        return Separator(self.members, self.back, self.front)


def path_avoiding(
    neighbours: Sequence[ProcessSet], avoided: ProcessSet, sources: ProcessSet, targets: ProcessSet
) -> list[int] | None:
    """A shortest path from `sources` to `targets` that never enters `avoided`, or None.

    Neighbours are tried in increasing order, so that the answer is always the same."""
    waves = [sources & ~avoided]
    seen = waves[0]
    while waves[-1] and not waves[-1] & targets:
        reached = 0
        for process in members(waves[-1]):
            reached |= neighbours[process]
        waves.append(reached & ~avoided & ~seen)
        seen |= waves[-1]
    arrived = waves[-1] & targets
    if not arrived:
        return None
    path = [next(members(arrived))]
    for wave in reversed(waves[:-1]):
        path.append(next(members(wave & neighbours[path[-1]])))
    path.reverse()
    return path


def separator_mistake(
    neighbours: Sequence[ProcessSet], separator: Separator, names: Sequence[str] = ()
) -> str | None:
    """What is wrong with a separator of the graph in which process p is linked to `neighbours[p]`:
    one sentence, or None when nothing is."""

    def named(processes: ProcessSet | list[int]) -> str:
        listed = members(processes) if isinstance(processes, int) else processes
        return ", ".join(names[process] if names else str(process) for process in listed)

    everybody = (1 << len(neighbours)) - 1
    sides = {"S": separator.members, "F": separator.front, "B": separator.back}
    for label, side in sides.items():
        if side < 0 or side & ~everybody:
            return f"{label} names processes that the topology of {len(neighbours)} does not have"
        if not side:
            return f"{label} is empty"
    for first, second in (("S", "F"), ("S", "B"), ("F", "B")):
        if common := sides[first] & sides[second]:
            return f"{first} and {second} share {named(common)}"
    path = path_avoiding(neighbours, separator.members, separator.front, separator.back)
    if path is not None:
        return f"the path {named(path)} leads from F to B and avoids S = {named(separator.members)}"
    return None


def is_separator(neighbours: Sequence[ProcessSet], separator: Separator) -> bool:
    """Whether S, F and B are disjoint, not empty, and no path leads from F to B without S."""
    return separator_mistake(neighbours, separator) is None


def check_separator(
    neighbours: Sequence[ProcessSet], separator: Separator, names: Sequence[str] = ()
) -> None:
    """Refuse what is not a separator, naming a path that avoids it."""
    mistake = separator_mistake(neighbours, separator, names)
    if mistake is not None:
        raise BadInput(f"not a separator: {mistake}")
