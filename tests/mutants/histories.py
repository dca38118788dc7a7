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
        old="return self._collects and not destinations & ~entry.C",
        new="return self._collects and destinations & entry.C != 0",
    ),
    Mutant(
        name="delivered-everywhere",
        old="delivered.C = 1 << message.id.sender | 1 << self.process",
        new="delivered.C = message.destinations",
    ),
    Mutant(
        name="earlier-messages-cover",
        old="in sorted(self.state.H[sender].items(), reverse=True):",
        new="in sorted(self.state.H[sender].items()):",
    ),
]
