"""Scenarios that differ a little from a given one: a fault is shifted, lengthened, added, dropped,
or turned on others; traffic is moved into a moment at which something happens.

A mutation follows from the scenario, the `moments` of its run (when something was told) and a seed.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from antecede.errors import Misuse
from antecede.fuzzing.chance import Chance
from antecede.fuzzing.drawing import NO_OPTIONS, draw_fields, finished
from antecede.simulate import Scenario, make_scenario

Fields = dict[str, Any]
Moments = Sequence[float]
Mutation = Callable[[Fields, Moments, Chance], None]
"""Changes the fields in place; it may find nothing to change."""

MOST_AT_ONCE = 3
TRIES = 8
MOST_FAULTS = 6
LATEST_S = 60.0
NEAR_S = 0.5
LAST_WORDS_S = 1.8
"""Less than a silence that is taken for a crash."""


def mutate(fields: Fields, moments: Moments, seed: int, options: str = NO_OPTIONS) -> Scenario:
    """The mutant of this seed. The `options`, as JSON, stay as they are."""
    chance, before = Chance(seed, "mutation"), make_scenario(fields)
    for _ in range(TRIES):
        changed = deepcopy(fields)
        for _ in range(chance.small(1, MOST_AT_ONCE)):
            chance.pick(MUTATIONS)(changed, moments, chance)
        if chance.happens(0.5):
            changed["seed"] = seed
        try:
            changed = finished(changed)
            changed["options"] |= msgspec.json.decode(options)
            scenario = make_scenario(changed)
            scenario.order(0, scenario.membership, scenario.order_options)
        except Misuse:
            continue  # it does not go together
        if scenario != before:
            return scenario
    return make_scenario({**fields, "seed": seed})


def _cuts(fields: Fields) -> list[Fields]:
    cuts: list[Fields] = fields["network"].setdefault("partitions", [])
    return cuts


def _moment(moments: Moments, chance: Chance) -> float:
    """Close to something that was told, or any time."""
    if moments and chance.happens(0.7):
        return max(0.01, round(chance.pick(moments) + chance.within(-NEAR_S, NEAR_S), 3))
    return chance.within(0.1, LATEST_S / 3)


def _shift(fields: Fields, moments: Moments, chance: Chance) -> None:
    """A fault comes earlier or later, or at a moment at which something happens."""
    cuts, crashes = _cuts(fields), fields["crashes"]
    faults = [*cuts, *crashes, *fields["joins"]]
    if not faults:
        return
    fault = chance.pick(faults)
    to_s = _moment(moments, chance)
    if chance.happens(0.5):
        before_s = fault["start_s"] if "start_s" in fault else fault["time_s"]
        to_s = max(0.01, round(before_s + chance.within(-2.0, 2.0), 3))
    _at(fault, to_s)


def _lengthen(fields: Fields, moments: Moments, chance: Chance) -> None:
    """A cut, or the absence of a process, lasts for longer or shorter, or until a moment."""
    lasting = [*_cuts(fields), *(one for one in fields["crashes"] if one.get("back_s"))]
    if not lasting:
        return
    fault = chance.pick(lasting)
    start, end = ("start_s", "end_s") if "end_s" in fault else ("time_s", "back_s")
    until_s = _moment(moments, chance)
    if chance.happens(0.5):
        until_s = fault[start] + (fault[end] - fault[start]) * chance.between(0.4, 3.0)
    fault[end] = round(max(fault[start] + 0.1, min(LATEST_S, until_s)), 3)


def _turn(fields: Fields, moments: Moments, chance: Chance) -> None:
    """A process more or less on one side of a cut, or another one that crashes."""
    cuts, crashes = _cuts(fields), fields["crashes"]
    if crashes and (not cuts or chance.happens(0.3)):
        chance.pick(crashes)["process"] = chance.whole(0, fields["processes"] - 1)
    elif cuts:
        side = chance.pick(chance.pick(cuts)["sides"])
        process = chance.whole(0, fields["processes"] - 1)
        if process in side and len(side) > 1:
            side.remove(process)
        elif process not in side:
            side.append(process)


def _double(fields: Fields, moments: Moments, chance: Chance) -> None:
    """Another cut like one that is there: of the same side or of the others, right after it or
    overlapping with it."""
    cuts = _cuts(fields)
    if not cuts or len(cuts) >= MOST_FAULTS:
        return
    cut = deepcopy(chance.pick(cuts))
    length_s = (cut["end_s"] - cut["start_s"]) * chance.between(0.4, 2.5)
    cut["start_s"] = max(0.01, round(cut["end_s"] + chance.within(-1.0, 1.0), 3))
    cut["end_s"] = round(min(LATEST_S, cut["start_s"] + max(0.2, length_s)), 3)
    if len(cut["sides"]) == 1 and chance.happens(0.6):
        [side] = cut["sides"]
        others = [p for p in range(fields["processes"]) if p not in side]
        some = chance.some(side, chance.whole(0, len(side)))
        cut["sides"] = [some + chance.some(others, chance.whole(0, len(others)))]
    cuts.append(cut)


def _add(fields: Fields, moments: Moments, chance: Chance) -> None:
    """A fault of another run of as many processes, at a moment."""
    for _ in range(TRIES):
        other = draw_fields(fields["protocol"], chance.whole(0, 1 << 30))
        faults = [("partitions", cut) for cut in other["network"].get("partitions", ())]
        faults += [("crashes", crash) for crash in other["crashes"]]
        faults += [("joins", join) for join in other.get("joins", ())]
        if not faults:
            continue
        kind, fault = chance.pick(faults)
        there = _cuts(fields) if kind == "partitions" else fields[kind]
        if other["processes"] <= fields["processes"] and len(there) < MOST_FAULTS:
            there.append(fault)
            _at(fault, _moment(moments, chance))
            return


def _at(fault: Fields, to_s: float) -> None:
    """Move it there, as long as it is."""
    name = "start_s" if "start_s" in fault else "time_s"
    before_s = fault[name]
    fault[name] = to_s
    for end in ("end_s", "back_s"):
        if fault.get(end) is not None:
            fault[end] = round(fault[end] + to_s - before_s, 3)


def _follow(fields: Fields, moments: Moments, chance: Chance) -> None:
    """A neighbour of one that crashes, or that is cut off, crashes as well: at the same time, or at
    a moment after that. Neighbours come next in many protocols."""
    struck = [(crash["process"], crash["time_s"]) for crash in fields["crashes"]]
    sides = [(cut["sides"][0], cut["start_s"]) for cut in _cuts(fields)]
    struck += [(chance.pick(side), start_s) for side, start_s in sides if side]
    if not struck or len(fields["crashes"]) >= MOST_FAULTS:
        return
    process, time_s = chance.pick(struck)
    after = [moment for moment in moments if moment > time_s]
    if after and chance.happens(0.8):
        time_s = round(chance.pick(after) + chance.within(0.0, NEAR_S), 3)
    neighbour = process + chance.pick([1, 1, 2, -1])
    crashing = {crash["process"] for crash in fields["crashes"]}
    if 0 <= neighbour < fields["processes"] and neighbour not in crashing:
        fields["crashes"].append({"process": neighbour, "time_s": time_s})


def _deafen(fields: Fields, moments: Moments, chance: Chance) -> None:
    """Some do not hear the last words of those who crash at one time."""
    if not fields["crashes"] or len(_cuts(fields)) >= MOST_FAULTS:
        return
    time_s = chance.pick(fields["crashes"])["time_s"]
    dying = [one["process"] for one in fields["crashes"] if one["time_s"] == time_s]
    others = [process for process in range(fields["processes"]) if process not in dying]
    first = chance.whole(0, max(0, len(others) - 1))
    hearing = others[first : first + chance.whole(1, 4)]
    start_s = max(0.01, round(time_s - chance.within(0.2, LAST_WORDS_S), 3))
    if dying and hearing and start_s < time_s:
        cut = {"start_s": start_s, "end_s": time_s, "sides": [dying, hearing], "packets": "lost"}
        _cuts(fields).append(cut)


def _drop(fields: Fields, moments: Moments, chance: Chance) -> None:
    kinds = [one for one in (_cuts(fields), fields["crashes"], fields["joins"]) if one]
    if kinds:
        faults = chance.pick(kinds)
        faults.pop(chance.whole(0, len(faults) - 1))


def _traffic(fields: Fields, moments: Moments, chance: Chance) -> None:
    """So that it lasts until after a moment; or with more answers, or other destinations."""
    if chance.happens(0.6):
        until_s = _moment(moments, chance) + chance.within(0.1, 3.0)
        rate = fields["messages"] / (fields["processes"] * until_s)
        fields["rate"] = float(f"{min(300.0, rate):.3g}")
    elif chance.happens(0.5):
        fields["messages"] = max(2, min(150, int(fields["messages"] * chance.between(0.5, 2.0))))
    else:
        fields["workload"]["cascade"] = chance.between(0.02, 0.9)


def _again(fields: Fields, moments: Moments, chance: Chance) -> None:
    """The same faults at the same times, with other luck: who sends what when, and delays."""
    fields["seed"] = chance.whole(1, 1 << 30)


def _network(fields: Fields, moments: Moments, chance: Chance) -> None:
    """A delay or a loss of another run."""
    network = fields["network"]
    other = draw_fields(fields["protocol"], chance.whole(0, 1 << 30))["network"]
    for name in ("delay", "loss", "duplication"):
        if chance.happens(0.5):
            network.pop(name, None)
            if name in other:
                network[name] = other[name]


def _options(fields: Fields, moments: Moments, chance: Chance) -> None:
    """One of another run."""
    other = draw_fields(fields["protocol"], chance.whole(0, 1 << 30))["options"]
    if other:
        name = chance.pick(sorted(other))
        fields["options"][name] = other[name]


MUTATIONS: tuple[Mutation, ...] = (
    *[_shift] * 4,
    *[_lengthen] * 3,
    *[_turn] * 3,
    *[_double] * 3,
    *[_add] * 2,
    *[_follow] * 2,
    _deafen,
    _drop,
    *[_traffic] * 2,
    *[_again] * 3,
    _network,
    _options,
)
"""What happens when, and to whom, matters most."""


def plain_fields(scenario: Scenario) -> Fields:
    """A scenario as data that a mutation can change: everything is a number that can be."""
    fields = scenario.model_dump(by_alias=True, exclude_none=True)
    fields["messages"] = scenario.message_limit
    fields["processes"] = scenario.applications.size
    return fields
