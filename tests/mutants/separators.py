"""Planted bugs of `separators`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="hops-unordered",
        old="stamp = _unlisted(packet.stamp, self.membership.size)",
        new="stamp = Timestamp((), ())",
    ),
    Mutant(
        name="stamps-lost",
        old="return Packet(hop.source, message, Hop(number, tuple(cited)))",
        new="return Packet(hop.source, message, Hop(number, tuple(cited[:-1])))",
    ),
    Mutant(
        name="carries-the-wrong-message",
        old="carried = message if passed == hop.id else self.state.carried.pop(passed)",
        new="carried = message",
    ),
    Mutant(
        name="passes-on-in-reverse",
        old="for passed in self.hops:",
        new="for passed in reversed(self.hops):",
    ),
]
