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

from antecede.order import Order
from antecede.orders import order_in
from antecede.protocols import find


class Mutant(msgspec.Struct, frozen=True):
    """One planted bug: `old` occurs exactly once in the protocol's file."""

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
    original = sys.modules[find(protocol).__module__]
    source = inspect.getsource(original)
    occurrences = source.count(mutant.old)
    if occurrences != 1 or mutant.old == mutant.new:
        raise LookupError(
            f"mutant {mutant.name} of {protocol}: its text must occur once and change; "
            f"it occurs {occurrences} times in {original.__file__}"
        )
    module = ModuleType(f"{__name__}.planted.{protocol}.{mutant.name}")
    module.__file__ = original.__file__
    sys.modules[module.__name__] = module  # msgspec looks up annotations by the module's name
    code = compile(source.replace(mutant.old, mutant.new), module.__name__, "exec")
    exec(code, vars(module))
    order = order_in(module)
    order.name = protocol
    return order
