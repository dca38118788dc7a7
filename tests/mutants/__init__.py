"""Planted bugs: what shows that the conformance suite and the explorer can fail.

`tests/mutants/<protocol>.py` (underscores for hyphens) lists the mutants of a protocol.
"""

from importlib import import_module
from importlib.util import find_spec

from antecede.testing.mutants import Mutant, mutated

__all__ = ["Mutant", "mutants_of", "mutated"]


def mutants_of(protocol: str) -> list[Mutant]:
    """The mutants of a protocol: two or more."""
    module = f"{__name__}.{protocol.replace('-', '_')}"
    mutants: list[Mutant] = import_module(module).MUTANTS if find_spec(module) else []
    if len(mutants) < 2:
        raise LookupError(f"{protocol} needs two mutants or more, in module {module}")
    if len({mutant.name for mutant in mutants}) != len(mutants):
        raise LookupError(f"two mutants of {protocol} have the same name")
    return mutants
