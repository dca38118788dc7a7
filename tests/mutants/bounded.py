"""Planted bugs of `bounded`."""

from tests.mutants import Mutant

# Bugs of the extra messages need a k that three processes can reach; they are planted in
# tests/papers/test_insertion_3_errata.py.
MUTANTS = [
    Mutant(
        name="stamp-after-increment",
        old="before = {destination: M[destination] for destination in others}",
        new="before = {d: {**M[d], self.process: M[d].get(self.process, 0) + 1} for d in others}",
    ),
    Mutant(
        name="other-destinations-untold",
        old="enumerate([*M[:destination], before[destination], *M[destination + 1 :]])",
        new="enumerate([before.get(j, column) for j, column in enumerate(M)])",
    ),
    Mutant(
        name="one-short",
        old="if self.state.DELIV[i] < count:",
        new="if self.state.DELIV[i] < count - 1:",
    ),
]
