"""Planted bugs of `histories`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="is-in-as-printed",
        old="return number <= self.state.D[sender]",
        new="return number <= max(self.state.D)",
    ),
    Mutant(
        name="own-sends-not-delivered",
        old="        self._add_to_delivered(message.id)\n",
        new="",
    ),
    Mutant(
        name="some-destination-told",
        old="if entry.C & destinations != destinations",
        new="if entry.C & destinations == 0",
    ),
    Mutant(
        name="delivered-everywhere",
        old="delivered.C = 1 << sender | 1 << self.process",
        new="delivered.C = message.destinations",
    ),
    Mutant(
        name="earlier-messages-cover",
        old="in reversed(self.state.H.get(sender, _NOTHING).items()):",
        new="in self.state.H.get(sender, _NOTHING).items():",
    ),
    Mutant(
        name="everybody-counts-as-told",
        old="reported = message.destinations | 1 << self.process",
        new="reported = self.membership.everybody",
    ),
]
