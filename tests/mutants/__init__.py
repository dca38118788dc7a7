"""Planted bugs: what shows that the conformance suite and the explorer can fail.

`tests/mutants/<protocol>.py` (underscores for hyphens) lists the mutants of a protocol; each
replaces one piece of the text of the protocol's file, which is then executed as another module.
"""

import inspect
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import msgspec

from antecede.order import Gives, Order
from antecede.protocols import find


class Mutant(msgspec.Struct, frozen=True):
    """One planted bug: `old` occurs exactly once in the protocol's file."""

    name: str
    old: str
    new: str


def mutants_of(protocol: str) -> list[Mutant]:
    """The mutants of a protocol. One that promises causal order must have two or more."""
    module = f"{__name__}.{protocol.replace('-', '_')}"
    needed = 2 if find(protocol).traits.gives is Gives.CAUSAL else 0
    mutants: list[Mutant] = import_module(module).MUTANTS if find_spec(module) else []
    if len(mutants) < needed:
        raise LookupError(f"{protocol} needs {needed} mutants or more, in module {module}")
    if len({mutant.name for mutant in mutants}) != len(mutants):
        raise LookupError(f"two mutants of {protocol} have the same name")
    return mutants


@cache
def mutated(protocol: str, mutant: Mutant) -> type[Order]:
    """The protocol with this bug planted."""
    original = sys.modules[find(protocol).__module__]
    source = inspect.getsource(original)
    occurrences = source.count(mutant.old)
    if occurrences != 1 or mutant.old == mutant.new:
        raise LookupError(
            f"mutant {mutant.name} of {protocol}: its text must occur once and change; "
            f"it occurs {occurrences} times in {original.__file__}"
        )
    module = ModuleType(f"{__name__}.planted.{protocol}.{mutant.name}")
    sys.modules[module.__name__] = module  # msgspec looks up annotations by the module's name
    code = compile(source.replace(mutant.old, mutant.new), module.__name__, "exec")
    exec(code, vars(module))
    orders: list[type[Order]] = [
        member
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, Order)
        and member.__module__ == module.__name__
        and not inspect.isabstract(member)
    ]
    if len(orders) != 1:
        raise LookupError(f"mutant {mutant.name} of {protocol} defines {len(orders)} orders")
    orders[0].name = protocol
    return orders[0]
