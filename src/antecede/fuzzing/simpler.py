"""The scenarios that are simpler than a given one in one respect, as plain data."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from antecede.fuzzing.options import options_of
from antecede.protocols import find
from antecede.simulate import Scenario
from antecede.simulate.parts import Network

Fields = dict[str, Any]
Candidate = tuple[Fields, int]
"""A simpler scenario, and how many other seeds it is worth."""
Respect = Callable[[Fields], Iterator[Candidate]]
"""All scenarios that are simpler than a given one in one way."""

FEW, MANY = 10, 60
_TOPOLOGIES = (
    "clusters:1+1,1",
    "tree:1,1,2",
    "tree:1,2,1",
    "clusters:2+1,1",
    "clusters:1+1,2",
    "clusters:1+1+1,1",
    "ring:3,1,1",
    "tree:1,2,1,2",
    "clusters:2+2,1",
    "clusters:2+2,2",
    "tree:2,1,2",
    "ring:3,1,2",
)
"""From the smallest on."""
_DEFAULTS = {
    name: field.default
    for name, field in Scenario.model_fields.items()
    if name in {"rate", "payload_bytes"}
}
"""Not the patience: more of it makes runs that get stuck long."""


def _without(fields: Fields, *names: str) -> Fields:
    return {name: value for name, value in fields.items() if name not in names}


def _smaller_topologies(fields: Fields) -> Iterator[Candidate]:
    """No topology; a smaller one, with a process at each node that hosts, or with as many as there
    were. Whatever speaks of its routers has to go as well."""
    if "topology" not in fields:
        return
    bare = _without(fields, "topology", "attach")
    yield _renumbered(bare, range(fields["processes"])), FEW
    known = _TOPOLOGIES.index(fields["topology"]) if fields["topology"] in _TOPOLOGIES else None
    for topology in _TOPOLOGIES[:known]:
        yield {**_for_any_number(bare), "topology": topology}, FEW
        if not _nodes_are_processes(fields):
            yield {**_renumbered(bare, range(fields["processes"])), "topology": topology}, FEW


def _for_any_number(fields: Fields) -> Fields:
    """Without anything that depends on how many processes there are."""
    changed = {
        **_without(fields, "processes", "groups"),
        "crashes": [],
        "joins": [],
        "new_links": [],
        "clocks": [],
    }
    changed["regroupings"] = []
    changed["workload"] = _ungrouped(fields["workload"])
    changed["network"] = {**fields["network"], "links": [], "partitions": []}
    return changed


def _fewer_processes(fields: Fields) -> Iterator[Candidate]:
    """The first few of them, or all but one."""
    count = fields["processes"]
    if _nodes_are_processes(fields):
        return  # the topology says how many there are
    if "topology" in fields and _speaks_of(fields, count):
        return  # numbers beyond the processes are routers, which move when a process leaves
    for fewer in _fewer(count):
        yield _renumbered(fields, range(fewer)), MANY
    for gone in range(count - 1):
        yield _renumbered(fields, [p for p in range(count) if p != gone]), FEW


def _nodes_are_processes(fields: Fields) -> bool:
    """Whether the nodes of the topology are the processes, which talk to their neighbours."""
    order = find(fields["protocol"])
    return "topology" in fields and order.talks_to_neighbours(fields.get("options", {}))


def _speaks_of(fields: Fields, first: int) -> bool:
    """Whether faults name processes from this number on."""
    network = fields["network"]
    named = [process for link in network["links"] for process in link["from"] + link["to"]]
    named += [process for cut in network["partitions"] for side in cut["sides"] for process in side]
    named += [one["process"] for one in (*fields["crashes"], *fields["joins"])]
    named += [end for link in fields["new_links"] for end in link["between"]]
    return any(process >= first for process in named)


def _renumbered(fields: Fields, kept: Sequence[int]) -> Fields:
    """Only these processes, numbered anew; what speaks of others alone goes with them."""
    number = {process: index for index, process in enumerate(kept)}

    def among(processes: list[int]) -> list[int]:
        return [number[process] for process in processes if process in number]

    network = dict(fields["network"])
    network["links"] = [
        {**link, "from": among(link["from"]), "to": among(link["to"])}
        for link in network["links"]
        if among(link["from"]) and among(link["to"])
    ]
    network["partitions"] = [
        {**cut, "sides": sides}
        for cut in network["partitions"]
        if (sides := [side for side in map(among, cut["sides"]) if side])
    ]
    changed: Fields = {**fields, "processes": len(number), "network": network}
    changed["crashes"] = [
        {**crash, "process": number[crash["process"]]}
        for crash in fields["crashes"]
        if crash["process"] in number
    ]
    changed["joins"] = [
        {**join, "process": number[join["process"]], "talks_with": among(join["talks_with"])}
        for join in fields["joins"]
        if join["process"] in number
    ]
    changed["new_links"] = [
        {**link, "between": among(link["between"])}
        for link in fields["new_links"]
        if len(among(link["between"])) == len(link["between"])
    ]
    changed["regroupings"] = [
        {**one, "groups": [among(group) for group in one["groups"]]}
        for one in fields["regroupings"]
    ]
    clocks = fields.get("clocks", [])
    changed["clocks"] = [clocks[process] for process in kept if process < len(clocks)]
    if "groups" in fields:
        changed["groups"] = [group for group in map(among, fields["groups"]) if group]
    workload = fields["workload"]
    if workload.get("size", 0) >= len(number):
        changed["workload"] = {**workload, "size": max(1, len(number) - 1)}
    if "talks" in workload:
        talks = [
            {**talk, "sender": number[talk["sender"]], "to": among(talk["to"])}
            for talk in workload["talks"]
            if talk["sender"] in number and among(talk["to"])
        ]
        changed["workload"] = {**workload, "talks": talks}
    changed["options"] = options_of(fields["protocol"]).among(fields["options"], kept)
    return changed


def _fewer_messages(fields: Fields) -> Iterator[Candidate]:
    for fewer in _fewer(fields["messages"]):
        yield {**fields, "messages": fewer}, MANY


def _fewer(count: int) -> list[int]:
    """Half of them, three quarters, all but one."""
    return sorted({fewer for fewer in (count // 2, 3 * count // 4, count - 1) if fewer >= 1})


def _ungrouped(workload: Fields) -> Fields:
    if workload["kind"] != "groups":
        return workload
    return {"kind": "broadcast", "cascade": workload["cascade"]}


def _fewer_groups(fields: Fields) -> Iterator[Candidate]:
    groups = fields.get("groups")
    if not groups:
        return
    bare = {**_without(fields, "groups"), "regroupings": []}
    yield {**bare, "workload": _ungrouped(fields["workload"])}, FEW
    for index in range(len(groups)):
        if len(groups) > 1:
            yield {**fields, "groups": groups[:index] + groups[index + 1 :]}, FEW
    for index, group in enumerate(groups):
        for member in group:
            smaller = [other for other in group if other != member]
            if smaller:
                changed = [*groups[:index], smaller, *groups[index + 1 :]]
                yield {**fields, "groups": changed}, FEW


def _plainer_traffic(fields: Fields) -> Iterator[Candidate]:
    workload = fields["workload"]
    kind, cascade = workload["kind"], workload.get("cascade", 0.0)
    if kind in {"unicast", "multicast"} and not _nodes_are_processes(fields):
        yield {**fields, "workload": {"kind": "broadcast", "cascade": cascade}}, FEW
    if kind == "multicast":
        yield {**fields, "workload": {"kind": "unicast", "cascade": cascade}}, FEW
    if cascade:
        yield {**fields, "workload": {**workload, "cascade": 0.0}}, FEW


def _plainer_network(fields: Fields) -> Iterator[Candidate]:
    """All defaults, no faults; then one thing at a time."""
    network = fields["network"]
    default = Network().model_dump(by_alias=True, exclude_none=True)
    for name in ("crashes", "joins", "new_links"):
        faults = fields[name]
        for fewer in [[], *(faults[:at] + faults[at + 1 :] for at in range(len(faults)))]:
            if len(fewer) < len(faults):
                yield {**fields, name: fewer}, FEW
    if network != default:
        yield {**fields, "network": default}, FEW
    for name, value in network.items():
        if value == default[name]:
            continue
        yield {**fields, "network": {**network, name: default[name]}}, FEW
        if isinstance(value, list):
            for index in range(len(value)):
                fewer = value[:index] + value[index + 1 :]
                yield {**fields, "network": {**network, name: fewer}}, FEW


def _clocks_that_are_right(fields: Fields) -> Iterator[Candidate]:
    """All, then one after the other."""
    clocks = fields.get("clocks", [])
    if clocks:
        yield {**fields, "clocks": []}, FEW
    for at, ahead in enumerate(clocks):
        if ahead:
            yield {**fields, "clocks": [*clocks[:at], 0.0, *clocks[at + 1 :]]}, FEW


def _less_asked(fields: Fields) -> Iterator[Candidate]:
    """Nothing besides causal order; then one thing less at a time."""
    for name in ("incomplete", "fully_delivered"):
        if name in fields:
            yield _without(fields, name), FEW
    asked = fields.get("incomplete", {})
    for name in ("bypass", "merge"):
        if asked.get(name):
            yield {**fields, "incomplete": {**asked, name: 0.0}}, FEW
    for fewer in _fewer(asked.get("count", 1)):
        yield {**fields, "incomplete": {**asked, "count": fewer}}, FEW
    changes = fields["regroupings"]
    for at in range(len(changes)):
        yield {**fields, "regroupings": changes[:at] + changes[at + 1 :]}, FEW


def _fewer_options(fields: Fields) -> Iterator[Candidate]:
    """None but those without which the protocol promises less."""
    options, needed = fields["options"], options_of(fields["protocol"]).needed(fields)
    spare = [name for name in options if name not in needed]
    if spare:
        yield {**fields, "options": _without(options, *spare)}, FEW
    if len(spare) > 1:
        yield from (({**fields, "options": _without(options, name)}, FEW) for name in spare)


def _defaults(fields: Fields) -> Iterator[Candidate]:
    for name, default in _DEFAULTS.items():
        if fields.get(name, default) != default:
            yield {**fields, name: default}, FEW


RESPECTS: tuple[Respect, ...] = (
    _plainer_network,
    _clocks_that_are_right,
    _less_asked,
    _fewer_options,
    _defaults,
    _smaller_topologies,
    _fewer_processes,
    _fewer_groups,
    _plainer_traffic,
    _fewer_messages,
)
"""In this order: as long as there are many messages, a fault hardly depends on luck, and what is
not needed for it is soon found out."""


def simpler(fields: Fields, respect: Respect) -> Iterator[Candidate]:
    """Simpler scenarios in one respect, with the options that they need."""
    for candidate, seeds in respect(fields):
        needed = options_of(candidate["protocol"]).needed(candidate)
        yield {**candidate, "options": {**candidate["options"], **needed}}, seeds
