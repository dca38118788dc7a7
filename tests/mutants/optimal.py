"""Planted bugs of `optimal`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="receiver-pruned",
        old="yield self._stamp(destinations & ~(1 << destination)), 1 << destination",
        new="yield self._stamp(destinations), 1 << destination",
    ),
    Mutant(
        name="lost-merge",
        old="self.state.log[sender] = _merge(self.state.log.get(sender, {}), clocks, here)",
        new="self.state.log.setdefault(sender, clocks)",
    ),
    Mutant(
        name="other-copies-forgotten",
        old="theirs.setdefault(source, {})[clock] = packet.message.destinations & ~(1 << source)",
        new="theirs.setdefault(source, {})[clock] = 0",
    ),
    Mutant(
        name="newer-entries-dropped",
        old="dests = theirs[clock] if clock > my_latest else 0",
        new="dests = theirs[clock] if clock < my_latest else 0",
    ),
]
