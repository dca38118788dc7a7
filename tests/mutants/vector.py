"""Planted bugs of `vector`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="others-not-compared",
        old="ahead = list(map(gt, theirs, mine))",
        new="ahead = [False] * len(mine)",
    ),
    Mutant(
        name="sender-not-compared",
        old="ahead[sender_rank] = own - 1 > mine[sender_rank]",
        new="ahead[sender_rank] = False",
    ),
    Mutant(
        name="own-message-awaited",
        old="yield index, rank, theirs[rank] - itself",
        new="yield index, rank, theirs[rank]",
    ),
    Mutant(
        name="foreign-groups-not-merged",
        old="if theirs and index not in self._own_groups:",
        new="if theirs and index not in range(len(mine)):",
    ),
]
