"""Planted bugs of `blocks-relative`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="figure-7",
        old="if number > ldv[process]:",
        new="if number < ldv[process]:",
    ),
    Mutant(
        name="blocks-not-complete",
        old="if self.state.matrices[group].complete < number:",
        new="if self.state.matrices[group].complete < 0:",
    ),
    Mutant(
        name="null-is-delivered",
        old="        matrix.mark(packet.source, packet.stamp.number)\n",
        new=(
            "        matrix.mark(packet.source, packet.stamp.number)\n"
            "        if packet.message is None:\n"
            "            self.state.ldv[group][packet.source] = packet.stamp.number\n"
        ),
    ),
    Mutant(
        name="null-is-a-message",
        old="                matrix.mark_own(number)\n",
        new=(
            "                matrix.mark_own(number)\n"
            "                self.state.ldv[group][self.process] = number\n"
        ),
    ),
    Mutant(
        name="foreign-groups-not-merged",
        old="            state.gbn[y] = max(state.gbn.get(y, 0), number)\n",
        new="            if y in self._own_groups:\n                state.gbn[y] = number\n",
    ),
    Mutant(
        name="nothing-owed",
        old="if matrix.own < number:",
        new="if matrix.own < number - 1:",
    ),
]
