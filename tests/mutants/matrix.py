"""Planted bugs of `matrix`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="lost-merge",
        old="mine if mine is theirs else max(mine, theirs)",
        new="mine",
    ),
    Mutant(
        name="copies-not-counted",
        old="            row[destination] += 1\n",
        new="            row[destination] += 1\n            break\n",
    ),
    Mutant(
        name="sender-not-compared",
        old="preceding[packet.source] -= 1",
        new="preceding[packet.source] = 0",
    ),
    Mutant(
        name="others-not-compared",
        old="ahead = list(map(gt, preceding, self.state.delivered))",
        new="ahead = [False] * len(preceding)",
    ),
]
