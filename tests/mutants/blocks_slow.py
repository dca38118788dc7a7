"""Planted bugs of `blocks-slow`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="counter-of-the-group",
        old="state.counter += 1  # CA1",
        new="state.counter = state.matrices[self.group_of(message)].top + 1",
    ),
    Mutant(
        name="delivery-not-counted",
        old="self.state.counter = max(self.state.counter, packet.stamp.number)  # CA2",
        new="self.state.counter = max(self.state.counter, 0)",
    ),
    Mutant(
        name="complete-in-some-group",
        old="min(matrix.complete for matrix in self.state.matrices.values())",
        new="max(matrix.complete for matrix in self.state.matrices.values())",
    ),
    Mutant(
        name="next-block-only",
        old="if self._complete()[1] < needed else None",
        new="if self._complete()[1] != needed else None",
    ),
    Mutant(
        name="other-groups-not-asked",
        old="if lacks and self._highest > matrix.top:",
        new="if lacks and self._highest > matrix.top > 0:",
    ),
    Mutant(
        name="null-is-no-promise",
        old="            self.state.counter = max(self.state.counter, number)\n",
        new="",
    ),
]
