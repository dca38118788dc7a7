"""What a scenario asks for besides causal order: less of it (labels, contexts, priorities, bypass),
groups that change, or word of what is delivered everywhere.

Drawn with a chance of their own, so that a seed's other runs stay what they are. What does not go
with it (crashes, topologies, loss) leaves the scenario.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from antecede.fuzzing.chance import Chance
from antecede.order import Addressing, Gives, Order
from antecede.overlays import Overlay

Fields = dict[str, Any]
DrawGroups = Callable[[int, Chance], list[list[int]]]

ASKING = 0.25
"""The share of runs that ask for something."""
MADE_OF = {"histories": ("priorities", "contexts", "time", "evidence")}
"""What else a protocol is taken for, which then is asked for more often."""


def kinds_asked(order: type[Order], fields: Fields) -> list[str]:
    """What can be asked for."""
    if issubclass(order, Overlay) or order.traits.takes_back or "topology" in fields:
        return []
    is_whole = order.traits.gives is Gives.CAUSAL and not order.stamp_type.carries_messages
    kinds = ["labels"] if is_whole else []
    kinds += MADE_OF.get(order.name, ())
    if hasattr(order, "regroup") and fields["workload"]["kind"] == "groups":
        kinds += ["regroupings"] * 2
    return kinds


def ask(order: type[Order], fields: Fields, draw_groups: DrawGroups) -> Fields:
    """The scenario, now and then with something that it asks for."""
    chance = Chance(fields["seed"], fields["protocol"], "asking")
    kinds = kinds_asked(order, fields)
    share = ASKING if order.name not in MADE_OF else 2 * ASKING
    if not kinds or not chance.happens(share):
        return fields
    kind = chance.pick(kinds)
    fields = {**fields, "crashes": [], "network": dict(fields["network"])}
    if kind == "regroupings":
        return _with_regroupings(fields, chance, draw_groups)
    _address_sets(order, fields, chance)
    fields["options"].pop("total", None)  # there is one for each label
    if kind == "time":
        _make_timely(fields, chance)
    elif kind == "evidence":
        evidence = chance.pick(["timestamps", "exempt", "acknowledge"])
        fields |= {"fully_delivered": {"kind": "evidence", "evidence": evidence}, "options": {}}
    else:
        fields["incomplete"] = _incomplete(kind, chance)
    return fields


def _address_sets(order: type[Order], fields: Fields, chance: Chance) -> None:
    """Any set of processes in the place of groups, or everybody."""
    workload, size = fields["workload"], fields["processes"]
    if workload["kind"] != "groups":
        return
    del fields["groups"]
    fields["workload"] = {**workload, "kind": "broadcast"}
    if order.traits.addressing >= Addressing.SETS and size > 1:
        fields["workload"] |= {"kind": "multicast", "size": chance.whole(1, size - 1)}


def _incomplete(kind: str, chance: Chance) -> Fields:
    asked: Fields = {"kind": kind, "count": chance.whole(1, 4)}
    if kind != "priorities" and chance.happens(0.5):
        asked["bypass"] = chance.between(0.02, 0.5)
    if kind == "contexts" and chance.happens(0.7):
        asked["merge"] = chance.between(0.05, 1.0)
    return asked


def _make_timely(fields: Fields, chance: Chance) -> None:
    """A network that keeps what it declares."""
    slowest_s = chance.between(0.01, 1.0)
    delay = chance.pick([f"constant:{slowest_s}", f"uniform:0,{slowest_s}"])
    network: Fields = {"delay": delay}
    if "duplication" in fields["network"]:
        network["duplication"] = fields["network"]["duplication"]
    delta_s = slowest_s * chance.pick([1.001, 1.5, 4.0])
    asked = {"kind": "time", "delta_s": delta_s}
    fields |= {"network": network, "fully_delivered": asked, "options": {}}


def _with_regroupings(fields: Fields, chance: Chance, draw_groups: DrawGroups) -> Fields:
    """Other groups of the same processes, up to three times; a few of them are given up."""
    fields["network"].pop("loss", None)
    for cut in fields["network"].get("partitions", ()):
        cut["packets"] = "held"
    size = fields["processes"]
    span_s = fields["messages"] / (fields["rate"] * size) + 0.2
    times = sorted(chance.between(span_s / 20, span_s) for _ in range(chance.whole(1, 3)))
    times = times[:1] + [later for before, later in pairwise(times) if later > before]
    fields["regroupings"] = [
        {"time_s": time_s, "groups": _changed(draw_groups(size, chance), chance)}
        for time_s in times
    ]
    return fields


def _changed(groups: list[list[int]], chance: Chance) -> list[list[int]]:
    if len(groups) > 1 and chance.happens(0.2):
        groups[chance.whole(0, len(groups) - 1)] = []
    return groups
