"""The registry of all protocols: the orders, and the overlays that run on them.

The file of a protocol is its entry: see `antecede.orders`.
"""

import inspect
import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from antecede import orders, overlays
from antecede.errors import Misuse
from antecede.message import Membership, members
from antecede.order import Options, Order
from antecede.topology.choose import choose_separators
from antecede.topology.deployment import Deployment, deploy, deploy_nodes
from antecede.topology.model import Topology

__all__ = ["algorithm", "create", "deploy_for", "find", "names", "network_options", "parse_options"]


def names() -> tuple[str, ...]:
    """The names of all protocols."""
    return tuple(sorted((*orders.names(), *_overlays())))


@cache
def _overlays() -> tuple[str, ...]:
    return orders.names_in(overlays.__path__)


def find(name: str) -> type[Order]:
    """The protocol of this name."""
    if name in orders.names():
        return orders.find(name)
    if name not in _overlays():
        raise Misuse(f"there is no protocol '{name}'; there are {', '.join(names())}")
    return _find_overlay(name)


def algorithm(order: type[Order]) -> str:
    """What a protocol's file opens with; of one that is a folder, what the folder opens with."""
    name = order.__module__.removesuffix(".protocol")
    return inspect.getdoc(sys.modules[name]) or ""


@cache
def _find_overlay(name: str) -> type[Order]:
    return orders.load(overlays.__name__, name)


def parse_options(name: str, options: Mapping[str, Any], processes: int | None = None) -> Options:
    """The options of a protocol from what a person wrote; see `antecede.orders`."""
    return orders.parse_options(find(name), options, processes)


def create(name: str, process: int, membership: Membership, **options: Any) -> Order:
    """The protocol of this name at one process."""
    parsed = parse_options(name, options)
    return find(name).variant(parsed)(process, membership, parsed)


def deploy_for(
    name: str,
    options: Mapping[str, Any],
    source: str,
    places: tuple[int | str, ...] | None = None,
    processes: int | None = None,
) -> Deployment:
    """The processes of a protocol on the topology that `source` names."""
    is_nodes = find(name).talks_to_neighbours(options)
    return (deploy_nodes if is_nodes else deploy)(source, places, processes)


def network_options(
    name: str, options: Mapping[str, Any], deployment: Deployment
) -> dict[str, Any]:
    """What a protocol with these options is to know of the network that it runs on."""
    links = deployment.topology.links
    if find(name).talks_to_neighbours(options):
        return {"links": links, "separators": _separators(deployment.topology)}
    if name in _overlays():
        return {"links": links, "applications": deployment.applications}
    return {}


@lru_cache(maxsize=8)
def _separators(topology: Topology) -> list[dict[str, list[int]]]:
    """The chosen separators of a network, as people write them."""
    return [
        {
            "members": list(members(separator.members)),
            "front": list(members(separator.front)),
            "back": list(members(separator.back)),
        }
        for separator in choose_separators(topology).distinct()
    ]
