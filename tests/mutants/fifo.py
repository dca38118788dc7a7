"""Planted bugs of `fifo`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="one-serial-for-all",
        old="self.state.sent[destination] += 1",
        new="self.state.sent[destination] = max(self.state.sent) + 1",
    ),
    Mutant(
        name="predecessor-not-awaited",
        old="previous = packet.stamp.serial - 1\n"
        "        if self.state.delivered[packet.source] < previous:\n"
        "            return",
        new="previous = packet.stamp.serial - 2\n"
        "        if self.state.delivered[packet.source] < previous:\n"
        "            return",
    ),
    Mutant(
        name="freed-too-late",
        old="return ((packet.source, packet.stamp.serial),)",
        new="return ((packet.source, packet.stamp.serial - 1),)",
    ),
]
