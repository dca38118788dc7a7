"""The planted bugs that fuzzing has to find: all that there are, of every protocol."""

import msgspec

from antecede.order import Order
from antecede.protocols import names
from tests.mutants import Mutant, mutants_of, mutated
from tests.overlays.test_planted import MUTANTS as ON_TOPOLOGIES


class Planted(msgspec.Struct, frozen=True):
    """A bug in a protocol."""

    protocol: str
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.protocol}-{self.mutant.name}"

    @property
    def order(self) -> type[Order]:
        return mutated(self.protocol, self.mutant)


def planted_bugs() -> list[Planted]:
    """By protocol; those that need a topology last."""
    found = []
    for name in names():
        try:
            found += [Planted(name, mutant) for mutant in mutants_of(name)]
        except LookupError:
            continue  # a test says so, without hiding the other protocols
    return found + [Planted("separators", mutant) for mutant in ON_TOPOLOGIES]
