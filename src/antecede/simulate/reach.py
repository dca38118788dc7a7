"""Who can reach whom when a run is over, behind the cuts that have not healed."""

from collections.abc import Iterable

from antecede.message import ProcessSet, members, process_set
from antecede.simulate.scenario import Scenario

Sides = tuple[ProcessSet, ...]
"""The sides of a cut."""


def lasting_cuts(scenario: Scenario, over_s: float) -> list[Sides]:
    """The cuts that have not healed when a run is over, each as its sides."""
    everybody = (1 << len(scenario.process_names)) - 1
    cuts = []
    for cut in scenario.network.partitions:
        if cut.end_s > over_s:
            sides = tuple(process_set(map(scenario.index, side)) for side in cut.sides)
            cuts.append(sides if len(sides) > 1 else (*sides, everybody & ~sides[0]))
    return cuts


def parts(processes: ProcessSet, cuts: Iterable[Sides]) -> list[ProcessSet]:
    """The parts of these processes in which all can reach each other, through others where a link
    is cut."""
    cuts = list(cuts)
    return united(processes & reach(process, cuts) for process in members(processes))


def reach(process: int, cuts: Iterable[Sides]) -> ProcessSet:
    """The processes to which a process has a link that is not cut."""
    reached: ProcessSet = -1
    for sides in cuts:
        own = sum(side for side in sides if side >> process & 1)
        if own:
            reached &= own | ~sum(sides)
    return reached


def united(sets: Iterable[ProcessSet]) -> list[ProcessSet]:
    """These sets, those that share a member joined into one."""
    found: list[ProcessSet] = []
    for one in sets:
        joined = one
        for other in [other for other in found if other & one]:
            found.remove(other)
            joined |= other
        if joined:
            found.append(joined)
    return found
