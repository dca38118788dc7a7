"""Planted bugs of `vector`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="others-not-compared",
        old="if True not in ahead:\n            return None",
        new="if True in ahead or True not in ahead:\n            return None",
    ),
    Mutant(
        name="others-not-compared-in-several-groups",
        old="if True not in ahead:\n                continue",
        new="if True in ahead or True not in ahead:\n                continue",
    ),
    Mutant(
        name="sender-not-compared-in-the-only-group",
        old="if theirs[sender] - 1 > mine[sender]:",
        new="if theirs[sender] < 0:",
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
