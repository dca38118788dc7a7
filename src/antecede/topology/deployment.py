"""Processes on a topology: where each one lives, and who else takes part.

Processes are linked to the servers of their nodes, one process at each node that hosts unless told
otherwise. The processes come first, so that they have the same numbers, and send the same traffic,
whatever protocol carries it; an overlay's routers follow. Where processes are the nodes themselves
and talk to their neighbours, there is nobody else.
"""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from antecede.errors import Misuse
from antecede.message import members
from antecede.topology.load import load_topology
from antecede.topology.model import Topology, attach


class Deployment(msgspec.Struct, frozen=True):
    """The extended communication graph: nodes 0 to `applications` - 1 are the application
    processes, the others servers and routers."""

    topology: Topology
    applications: int

    @property
    def is_nodes(self) -> bool:
        """Whether the processes are the nodes of the network themselves."""
        return self.applications == self.topology.size

    @property
    def routers(self) -> list[str]:
        """The names of the servers and routers."""
        return list(self.topology.names[self.applications :])


def deploy(
    source: str, places: tuple[int | str, ...] | None = None, processes: int | None = None
) -> Deployment:
    """Application processes on the topology that `source` names: at these places, one for each; or
    so many, spread over the nodes that host; or one at each of these."""
    return _deployed(load_topology(source), places, processes)


@lru_cache(maxsize=8)
def _deployed(
    topology: Topology, places: tuple[int | str, ...] | None, processes: int | None
) -> Deployment:
    hosts = list(members(topology.hosts))
    if not hosts:
        raise Misuse(f"{topology.name} has no node that hosts processes")
    if places is not None:
        attachments: Sequence[int] = [_node(topology, place) for place in places]
        if processes not in (None, len(places)):
            raise Misuse(f"there are {len(places)} places for {processes} processes")
    elif processes is not None:
        attachments = [hosts[process % len(hosts)] for process in range(processes)]
    else:
        attachments = hosts
    return Deployment(attach(topology, attachments), len(attachments))


def deploy_nodes(
    source: str, places: tuple[int | str, ...] | None = None, processes: int | None = None
) -> Deployment:
    """Every node of the topology is a process."""
    topology = load_topology(source)
    if places is not None or processes not in (None, topology.size):
        raise Misuse(
            f"the {topology.size} nodes of {topology.name} are the processes, which talk to their "
            f"neighbours; leave out how many there are and where they live"
        )
    return Deployment(topology, topology.size)


def _node(topology: Topology, place: int | str) -> int:
    known = place < topology.size if isinstance(place, int) else place in topology.names
    if not known:
        raise Misuse(f"{topology.name} has no node {place!r}")
    return place if isinstance(place, int) else topology.names.index(place)
