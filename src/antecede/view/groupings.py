"""How the processes of a trace can be grouped, as far as its recorder noted it.

A simulated run names its scenario in the footer, which knows groups, and with a topology the node
and the zone of every process. Any other recorder can note groupings itself: under the key
`groupings`, a JSON object that gives for each grouping the label of each process. What the names
tell by themselves (`a/1`, `a/2` ...) is for the page to find out.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from antecede.errors import AntecedeError
from antecede.message import members
from antecede.trace import read_metadata

Groupings = dict[str, list[str]]


def find_groupings(path: Path, processes: Sequence[str]) -> Groupings:
    """Under the name of each grouping the label of each process, empty where it has none."""
    if path.is_dir():
        return {}
    noted = read_metadata(path)
    found = _noted(noted.get("groupings", ""), processes)
    scenario = noted.get("scenario")
    if scenario:
        found = {**_of_scenario(scenario, processes), **found}
    return {name: labels for name, labels in found.items() if any(labels)}


def _noted(text: str, processes: Sequence[str]) -> Groupings:
    try:
        noted = json.loads(text) if text else {}
    except ValueError:
        return {}
    if not isinstance(noted, dict):
        return {}
    return {
        str(name): [str(labels.get(process, "")) for process in processes]
        for name, labels in noted.items()
        if isinstance(labels, dict)
    }


def _of_scenario(text: str, processes: Sequence[str]) -> Groupings:
    """What the scenario of a simulation says. One that cannot be understood any more, because its
    topology is no longer there, says nothing."""
    from antecede.simulate import make_scenario  # noqa: PLC0415 - only where there is one

    try:
        scenario = make_scenario(json.loads(text))
        deployment = scenario.deployment
    except (AntecedeError, ValueError):
        return {}
    names = scenario.process_names
    labels: dict[str, dict[str, str]] = {
        name: {} for name in ("group", "node", "zone", "outer zone")
    }
    for group, bits in enumerate(scenario.applications.groups):
        for member in members(bits):
            before = labels["group"].get(names[member])
            own = f"{before} + {group}" if before else f"group {group}"
            labels["group"][names[member]] = own
    if deployment is not None:
        topology = deployment.topology
        for process, name in enumerate(names[: topology.size]):
            # A server is a node; a process lives at the one that it is linked to.
            is_server = process >= deployment.applications
            node = process if is_server else next(members(topology.neighbours[process]), process)
            labels["node"][name] = topology.names[node]
            zone = topology.zones[process].removesuffix(topology.names[node]).removesuffix("/")
            labels["zone"][name] = zone
            labels["outer zone"][name] = zone.partition("/")[0]
    if labels["outer zone"] == labels["zone"]:
        del labels["outer zone"]
    return _listed(labels, processes)


def _listed(labels: Mapping[str, Mapping[str, str]], processes: Sequence[str]) -> Groupings:
    return {
        name: [by_process.get(process, "") for process in processes]
        for name, by_process in labels.items()
    }
