"""Planted bugs: what shows that the conformance suite and the explorer can fail.

`tests/mutants/<protocol>.py` (underscores for hyphens) lists the mutants of a protocol; each
replaces one piece of the text of the protocol's file, or of one with a class that it is built on,
which is then executed as another module.
"""

import inspect
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import msgspec

from antecede.order import Order
from antecede.orders import order_in
from antecede.protocols import find


class Mutant(msgspec.Struct, frozen=True):
    """One planted bug: `old` occurs exactly once in the file."""

    name: str
    old: str
    new: str


def mutants_of(protocol: str) -> list[Mutant]:
    """The mutants of a protocol: two or more."""
    module = f"{__name__}.{protocol.replace('-', '_')}"
    mutants: list[Mutant] = import_module(module).MUTANTS if find_spec(module) else []
    if len(mutants) < 2:
        raise LookupError(f"{protocol} needs two mutants or more, in module {module}")
    if len({mutant.name for mutant in mutants}) != len(mutants):
        raise LookupError(f"two mutants of {protocol} have the same name")
    return mutants


@cache
def mutated(protocol: str, mutant: Mutant) -> type[Order]:
    """The protocol with this bug planted."""
    chain = _modules(protocol)
    sources = [inspect.getsource(module) for module in chain]
    # In the protocol's own file, or else in that of a class that it is built on.
    places = [place for place, source in enumerate(sources) if mutant.old in source]
    place = max(places, default=len(chain) - 1)
    occurrences = sources[place].count(mutant.old)
    if occurrences != 1 or mutant.old == mutant.new:
        raise LookupError(
            f"mutant {mutant.name} of {protocol}: its text must occur once and change; "
            f"it occurs {occurrences} times in {chain[place].__file__}"
        )
    sources[place] = sources[place].replace(mutant.old, mutant.new)
    module = chain[-1]
    renamed: dict[str, str] = {}
    for original, source in zip(chain[place:], sources[place:], strict=True):
        for old, new in renamed.items():
            source = source.replace(f"from {old} import", f"from {new} import")  # noqa: PLW2901
        last = original.__name__.rpartition(".")[2]
        planted = f"{protocol}.{mutant.name}".replace("-", "_")
        module = ModuleType(f"{__name__}.planted.{planted}.{last}")
        module.__file__ = original.__file__
        sys.modules[module.__name__] = module  # msgspec looks up annotations by the module's name
        exec(compile(source, module.__name__, "exec"), vars(module))
        renamed[original.__name__] = module.__name__
    order = order_in(module)
    order.name = protocol
    return order


def _modules(protocol: str) -> list[ModuleType]:
    """The module of a protocol, after those of the private classes that it is built on."""
    order = find(protocol)
    package = order.__module__.rpartition(".")[0]
    names = [base.__module__ for base in reversed(order.__mro__)]
    private = [name for name in names if name.startswith(f"{package}._")]
    return [sys.modules[name] for name in dict.fromkeys([*private, order.__module__])]
