"""The registry of all protocols: the orders, the overlays that run on them, and those of others.

The file of a protocol of ours is its entry: see `antecede.orders`. A package of anybody else names
its protocols as entry points of the group `antecede.protocols`; and a class that is in no registry
goes by `module:Class`, the module found as Python finds it, or in the current folder.
"""

import inspect
import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from os import getcwd
from typing import Any

from antecede import orders, overlays
from antecede.errors import AntecedeError, Misuse
from antecede.message import Membership, members
from antecede.order import Options, Order
from antecede.topology.choose import choose_separators
from antecede.topology.deployment import Deployment, deploy, deploy_nodes
from antecede.topology.model import Topology

__all__ = [
    "ENTRY_POINTS",
    "algorithm",
    "create",
    "deploy_for",
    "find",
    "is_overlay",
    "names",
    "network_options",
    "ours",
    "parse_options",
    "reference",
]

ENTRY_POINTS = "antecede.protocols"
"""The group of entry points in which a package names its protocols."""


def names() -> tuple[str, ...]:
    """The names of all protocols, including those that other installed packages bring. Raises
    nothing.

        assert "vector" in names()
    """
    return tuple(sorted({*ours(), *_installed()}))


def ours() -> tuple[str, ...]:
    """The names of the protocols of this package."""
    return tuple(sorted((*orders.names(), *_overlays())))


@cache
def _installed() -> dict[str, EntryPoint]:
    """What other packages bring."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


@cache
def _overlays() -> tuple[str, ...]:
    return orders.names_in(overlays.__path__)


@cache
def find(name: str) -> type[Order]:
    """The protocol of this name, or the class that `module:Class` names. Raises `Misuse` if there
    is no such protocol, if its module cannot be imported, or if the class is no protocol.

        find("vector").traits.title  # "vector clocks"
        find("my_package.my_module:MyOrder")
    """
    if name in orders.names():
        return orders.find(name)
    if name in _overlays():
        return orders.load(overlays.__name__, name)
    if ":" in name:
        return _named(_imported(name), name, f"protocol {name}")
    if name not in _installed():
        raise Misuse(
            f"there is no protocol '{name}'; there are {', '.join(names())}; one of your own goes "
            f"by module:Class"
        )
    return _entered(_installed()[name])


def is_overlay(name: str) -> bool:
    """Whether the processes of a protocol are those of a scenario, each with a part of its own."""
    return name in _overlays() or issubclass(find(name), overlays.Overlay)


def reference(order: type[Order]) -> str:
    """What finds this class again: its name if it has one in the registry, or `module:Class`."""
    is_registered = order.name in names() and find(order.name) is order
    return order.name if is_registered else f"{order.__module__}:{order.__qualname__}"


def algorithm(order: type[Order]) -> str:
    """What a protocol's file opens with; of one that is a folder, what the folder opens with."""
    name = order.__module__.removesuffix(".protocol")
    return inspect.getdoc(sys.modules[name]) or ""


def _entered(point: EntryPoint) -> type[Order]:
    package = point.dist.name if point.dist else "an unnamed package"
    what = f"protocol {point.name} of {package} ({point.value})"
    try:
        found = point.load()
    except AntecedeError:
        raise
    except Exception as error:
        raise Misuse(f"{what} cannot be loaded: {type(error).__name__}: {error}") from error
    return _named(found, point.name, what)


def _imported(name: str) -> Any:
    """What `module:Class` means; the current folder is looked into as well, last."""
    module_name, _, class_name = name.partition(":")
    if not module_name or not class_name:
        raise Misuse(f"protocol '{name}': a class of your own is written module:Class")
    if getcwd() not in sys.path:
        sys.path.append(getcwd())
    try:
        found: Any = import_module(module_name)
        for part in class_name.split("."):
            found = getattr(found, part)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module_name}.".startswith(f"{error.name}."):
            raise Misuse(
                f"protocol '{name}': there is no module '{error.name}' on Python's path or in the "
                f"current folder"
            ) from None
        raise Misuse(f"protocol '{name}': {error}") from error
    except AttributeError as error:
        raise Misuse(f"protocol '{name}': {error}") from error
    except Exception as error:
        raise Misuse(f"protocol '{name}': {type(error).__name__}: {error}") from error
    return found


def _named(found: Any, name: str, what: str) -> type[Order]:
    """The class, held to what a protocol must be."""
    if not (inspect.isclass(found) and issubclass(found, Order)):
        raise Misuse(f"{what} is no subclass of antecede.Order")
    if inspect.isabstract(found):
        raise Misuse(f"{what} misses {', '.join(sorted(found.__abstractmethods__))}")
    for attribute in ("traits", "stamp_type", "state_type"):
        if not hasattr(found, attribute):
            raise Misuse(f"{what} does not set '{attribute}'")
    if vars(found).get("name") not in names():
        found.name = name
    return found


def parse_options(name: str, options: Mapping[str, Any], processes: int | None = None) -> Options:
    """The options of a protocol from what a person wrote; see `antecede.orders`."""
    return orders.parse_options(find(name), options, processes)


def create(name: str, process: int, membership: Membership, **options: Any) -> Order:
    """The protocol of this name at one process. Raises `Misuse` for a protocol or an option that
    does not exist, an option with a wrong value, and a process that is not in the membership.

        team = Membership(3)
        alice = create("vector", 0, team)
        bounded = create("bounded", 1, team, k=4)
    """
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
    if issubclass(find(name), overlays.Overlay):
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
