"""Planted bugs of `pairs`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="stamp-before-tick",
        old="""        state.time[self.process] += 1
        time = tuple(state.time)
""",
        new="""        time = tuple(state.time)
        state.time[self.process] += 1
""",
    ),
    Mutant(
        name="other-destinations-not-told",
        old="accompanying = before | after",
        new="accompanying = before | {destination: (destination, time)}",
    ),
    Mutant(
        name="older-pair-not-sent",
        old="if destination in before:",
        new="if destination not in after:",
    ),
    Mutant(
        name="pair-replaced-not-merged",
        old="supremum(buffer[site], vector) if site in buffer else vector",
        new="vector",
    ),
    Mutant(
        name="buffer-not-merged",
        old="if site != self.process:\n                vector",
        new="if site == packet.source:\n                vector",
    ),
    Mutant(
        name="pair-deleted-unfulfilled",
        old="if pair is not None and precedes(pair, time):",
        new="if pair is not None:",
    ),
    Mutant(
        name="strictly-before",
        old="if value > here[process]:",
        new="if value > 0 and value >= here[process]:",
    ),
    Mutant(
        name="freed-without-the-first-entry",
        old="return moved",
        new="return moved[1:]",
    ),
]
