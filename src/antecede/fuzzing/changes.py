"""Runs of `separators` in which the network changes: routers and processes crash and come back,
others and links are new. Delays are short, for a silence is taken for a crash."""

from itertools import combinations
from typing import Any

from antecede.fuzzing.chance import Chance
from antecede.topology.deployment import deploy

Fields = dict[str, Any]
SHARE = 0.2
"""Of the runs."""
FEWEST = 3
"""Applications."""
SUSPECT_AFTER_S = 2.0
PATIENCE_S = 12.0
"""Until a crash is found out, everybody knows of it, and what was lost is sent again."""
SPAN_S = 12.0


def draw_changes(topology: str, chance: Chance) -> Fields:
    """All but the name of the protocol and the seed."""
    deployment = deploy(topology)
    size, applications = deployment.topology.size, deployment.applications
    messages = chance.whole(15, 50)
    crashes, joins = _who(size, applications, chance)
    workload: Fields = {"kind": "unicast", "cascade": 0.5}
    if chance.happens(0.5):
        workload |= {"kind": "multicast", "probability": chance.between(0.1, 0.9)}
    fields: Fields = {
        "topology": topology,
        "processes": applications,
        "messages": messages,
        "rate": float(f"{messages / (applications * SPAN_S):.3g}"),
        "workload": workload,
        "network": {
            "delay": chance.pick(["exponential:0.05", "uniform:0,0.3", "lognormal:0.02,1.0"])
        },
        "crashes": crashes,
        "joins": joins,
        "patience_s": PATIENCE_S,
    }
    linked = {frozenset(link) for link in deployment.topology.links}
    apart = [pair for pair in combinations(range(size), 2) if frozenset(pair) not in linked]
    if apart and chance.happens(0.4):
        between = [list(pair) for pair in chance.some(apart, min(len(apart), chance.whole(1, 2)))]
        fields["new_links"] = [
            {"between": pair, "time_s": chance.between(0.1, SPAN_S)} for pair in between
        ]
    fields["options"] = _options(crashes, size, chance)
    if fields["options"]["routes"] in ("direct", "tree"):
        return _on_a_tree(fields)
    return fields


def _on_a_tree(fields: Fields) -> Fields:
    """Where no router comes back, and nobody is new."""
    crashes = [{**one} for one in fields["crashes"]]
    for one in crashes:
        one.pop("back_s", None)
    return {**fields, "crashes": crashes, "joins": [], "new_links": []}


def _who(size: int, applications: int, chance: Chance) -> tuple[list[Fields], list[Fields]]:
    """Who crashes, who comes back, and who is new: routers, processes, or both."""
    some = range(applications) if chance.happens(0.3) else range(applications, size)
    some = range(size) if chance.happens(0.2) else some
    chosen = chance.some(some, min(len(some), chance.whole(1, 3)))
    crashes: list[Fields] = []
    joins: list[Fields] = []
    for process in chosen:
        time_s = chance.between(0.1, SPAN_S)
        if chance.happens(0.3) and len(joins) + 1 < applications:
            joins.append({"process": process, "time_s": time_s})
            continue
        crashes.append({"process": process, "time_s": time_s})
        if chance.happens(0.6):
            crashes[-1]["back_s"] = time_s + chance.between(0.1, 8.0)
    return crashes, joins


def _options(crashes: list[Fields], size: int, chance: Chance) -> Fields:
    """Who remembers need not write ahead, if all come back."""
    shared = {"suspect_after_s": SUSPECT_AFTER_S, "tidy": chance.pick([1, 4, 32])}
    if chance.happens(0.4):
        return {**shared, "routes": "flood", "forwarding": chance.pick(["one", "all"])}
    if chance.happens(0.25):
        return {**shared, "routes": chance.pick(["direct", "tree"])}
    recovery = chance.pick(["witnesses", "memory"])
    all_back = recovery == "memory" and all("back_s" in one for one in crashes)
    options = {**shared, "routes": "shortest", "recovery": recovery}
    options["write_ahead"] = not all_back or chance.happens(0.5)
    if chance.happens(0.3):
        options["regions"] = [
            sorted(chance.some(range(size), chance.whole(1, size - 1)))
            for _ in range(chance.whole(1, 3))
        ]
    return options
