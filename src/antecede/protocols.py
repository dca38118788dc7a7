"""The registry of all protocols: the orders, and the overlays that run on them.

The file of a protocol is its entry: see `antecede.orders`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from antecede import orders, overlays
from antecede.errors import Misuse
from antecede.message import Membership
from antecede.order import Options, Order

__all__ = ["create", "find", "names", "parse_options"]


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
