"""Who takes part in a scenario: its processes on a topology, their names, the graph that is
replayed. From the fields of a scenario, which need not be whole yet."""

from collections.abc import Mapping
from typing import Any

from antecede.overlays import Overlay
from antecede.protocols import deploy_for, find
from antecede.simulate.graphs import Graph, load_graph
from antecede.simulate.parts import Replay
from antecede.topology.deployment import Deployment, deploy

Fields = Mapping[str, Any]


def deployment_of(fields: Fields, processes: int | None) -> Deployment | None:
    """The processes on the topology that these fields name, if they do."""
    topology, attach = fields.get("topology"), fields.get("attach")
    if topology is None:
        return None
    places = None if attach is None else tuple(attach)
    if not {"protocol", "options"} <= fields.keys():
        return deploy(topology, places, processes)  # their own mistakes are told already
    return deploy_for(fields["protocol"], fields["options"], topology, places, processes)


def graph_of(workload: Replay, messages: int | None) -> Graph:
    """What is replayed."""
    graph = load_graph(workload.graph, workload.session)
    return graph if messages is None else graph.first(messages)


def usual_names(size: int, deployment: Deployment | None) -> list[str]:
    """Of the application processes: where they are the nodes of a network, the names of these."""
    if deployment is not None and deployment.is_nodes:
        return list(deployment.topology.names)
    return [f"p{process}" for process in range(size)]


def with_routers(names: list[str], deployment: Deployment | None) -> list[str]:
    """All names: a router that is called like a process gets a dash."""
    found = list(names)
    for router in deployment.routers if deployment else ():
        name = router
        while name in names:
            name += "'"
        found.append(name)
    return found


def names_of(fields: Fields) -> list[str] | None:
    """Of the processes, routers included, as far as they are known."""
    names, size, workload = fields.get("names"), fields.get("processes"), fields.get("workload")
    if size is None and isinstance(workload, Replay):
        size = graph_of(workload, fields.get("messages")).size
    if names is None and size is not None:
        names = usual_names(size, deployment_of(fields, size))
    if names is None:
        return None
    if "protocol" in fields and issubclass(find(fields["protocol"]), Overlay):
        return with_routers(names, deployment_of(fields, size))
    return list(names)
