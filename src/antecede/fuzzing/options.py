"""The options that are drawn: every value under which a protocol keeps its promises.

What a paper prints and the errata refute (`printed`, mostly) is not drawn. A protocol
that is not listed runs with its defaults.
"""

from collections.abc import Callable
from typing import Any

from antecede.fuzzing.chance import Chance

Drawn = dict[str, Any]


def draw_options(protocol: str, processes: int, groups: int, chance: Chance) -> Drawn:
    """Options for so many processes in so many groups; half of the time none."""
    draw = _OPTIONS.get(protocol)
    return {} if draw is None or chance.happens(0.5) else draw(processes, groups, chance)


def _blocks(processes: int, groups: int, chance: Chance) -> Drawn:
    return {"silence_s": chance.between(0.001, 1.0)}


def _blocks_slow(processes: int, groups: int, chance: Chance) -> Drawn:
    return {**_blocks(processes, groups, chance), "total": chance.happens(0.5)}


def _bounded(processes: int, groups: int, chance: Chance) -> Drawn:
    """Often the least k that is allowed: it makes most of the extra messages."""
    least, most = processes, processes**2
    if chance.happens(0.5):
        return {"k": least}
    if chance.happens(0.5):
        return {"k": chance.small(least, most)}
    return {"k": [chance.small(least, most) for _ in range(processes)]}


def _histories(processes: int, groups: int, chance: Chance) -> Drawn:
    """Carbon copies and unions belong to R6."""
    rules = chance.pick(["R1-R4", "R1-R5", "R1-R8", "R1-R8"])
    if rules != "R1-R8":
        return {"rules": rules}
    return {"carbon_copies": chance.happens(0.5), "union": chance.pick(["all", "arrived"])}


def _pairs(processes: int, groups: int, chance: Chance) -> Drawn:
    return {
        "tick_on_delivery": chance.happens(0.5),
        "delete_obsolete": chance.happens(0.5),
    }


def _piggyback(processes: int, groups: int, chance: Chance) -> Drawn:
    return {
        "cleanup": chance.pick(["repaired", "repaired", "off"]),
        "cleanup_interval_s": chance.between(0.01, 1.0),
        "repeat_s": chance.between(0.1, 10.0),
    }


def _separators(processes: int, groups: int, chance: Chance) -> Drawn:
    return {
        "routes": chance.pick(["direct", "tree"]),
        "forwarding": chance.pick(["one", "all"]),
        "filters": chance.pick(["all", "all", "none"]),
        "own_implied": chance.happens(0.5),
        "gateways": chance.happens(0.5),
    }


def _vector(processes: int, groups: int, chance: Chance) -> Drawn:
    """Own groups alone are enough where no cycle of groups overlaps: surely where there is one."""
    return {"carry": "own" if groups <= 1 else "all"}


_OPTIONS: dict[str, Callable[[int, int, Chance], Drawn]] = {
    "blocks-fast": _blocks,
    "blocks-relative": _blocks,
    "blocks-slow": _blocks_slow,
    "bounded": _bounded,
    "histories": _histories,
    "pairs": _pairs,
    "piggyback": _piggyback,
    "separators": _separators,
    "vector": _vector,
}
