"""The orders, one file each, and the registry that finds an order by its file.

A file ``orders/some_name.py`` that does not begin with an underscore is the protocol ``some-name``;
it defines exactly one concrete subclass of `Order`. Nothing is registered by importing.
`antecede.protocols` knows the overlays, too.
"""

import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, get_args, get_type_hints

import msgspec

from antecede.errors import BrokenInvariant, Misuse
from antecede.message import Membership
from antecede.order import Options, Order
from antecede.orders._counting import Condition, Counting
from antecede.scaled import scale_options

__all__ = [
    "Condition",
    "Counting",
    "create",
    "find",
    "load",
    "names",
    "names_in",
    "order_in",
    "parse_options",
]


@cache
def names() -> tuple[str, ...]:
    """The names of all orders."""
    return names_in(__path__)


@cache
def find(name: str) -> type[Order]:
    """The order of this name."""
    if name not in names():
        raise Misuse(f"there is no protocol '{name}'; there are {', '.join(names())}")
    return load(__name__, name)


def names_in(folders: Iterable[str]) -> tuple[str, ...]:
    """The names of the protocols whose files are in these folders."""
    modules = [module.name for module in pkgutil.iter_modules(folders)]
    return tuple(sorted(name.replace("_", "-") for name in modules if not name.startswith("_")))


def load(package: str, name: str) -> type[Order]:
    """The protocol of this name from its file in a package."""
    module = import_module(f"{package}.{name.replace('-', '_')}")
    order = order_in(module)
    for attribute in ("traits", "stamp_type", "state_type"):
        if not hasattr(order, attribute):
            raise BrokenInvariant(f"{module.__file__}: {order.__name__} does not set '{attribute}'")
    order.name = name
    return order


def order_in(module: ModuleType) -> type[Order]:
    """The one concrete order that a module defines; a package may take it from a module inside."""
    classes = [
        member
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, Order)
        and f"{member.__module__}.".startswith(f"{module.__name__}.")
    ]
    orders = [member for member in classes if not inspect.isabstract(member)]
    if len(orders) != 1:
        found = ", ".join(order.__name__ for order in orders) or "none"
        for unfinished in classes:
            if inspect.isabstract(unfinished):
                missing = ", ".join(sorted(unfinished.__abstractmethods__))
                found += f"; {unfinished.__name__} is none, it misses {missing}"
        raise BrokenInvariant(f"{module.__file__} must define exactly one order; found {found}")
    return orders[0]


def parse_options(
    name: str | type[Order], options: Mapping[str, Any], processes: int | None = None
) -> Options:
    """The options of a protocol from what a person wrote. Where the number of processes is known,
    numbers may be given as `2n` (`antecede.scaled`)."""
    order = find(name) if isinstance(name, str) else name
    name, options_type = order.name, order.options_type
    plain = dict(options) if processes is None else scale_options(options, processes)
    try:
        return msgspec.convert(plain, options_type)
    except msgspec.ValidationError as error:
        raise Misuse(f"options of {name}: {_in_words(error, options_type)}") from None


def _in_words(error: msgspec.ValidationError, options_type: type[Options]) -> str:
    """The field first, and no notation: ``k: expected int, array or nothing, got str``."""
    complaint, _, place = str(error).partition(" - at `$.")
    if not place:
        return f"{complaint}; it knows: {', '.join(options_type.__struct_fields__) or 'none'}"
    field = place.rstrip("`")
    choices = get_args(get_type_hints(options_type).get(field))
    if complaint.startswith("Invalid enum value "):
        refused = complaint.removeprefix("Invalid enum value ")
        return f"{field}: {refused} is none of {', '.join(map(repr, choices))}"
    *kinds, last = complaint.replace("`", "").replace("null", "nothing").split(" | ")
    words = f"{', '.join(kinds)} or {last}" if kinds else last
    return f"{field}: {words[0].lower()}{words[1:]}"


def create(name: str, process: int, membership: Membership, **options: Any) -> Order:
    """The protocol of this name at one process."""
    parsed = parse_options(name, options)
    return find(name).variant(parsed)(process, membership, parsed)
