"""Planted bugs of `blocks-fast`."""

from tests.mutants import Mutant

MUTANTS = [
    Mutant(
        name="strangers-not-merged",
        old='if self.options.test == "received" or not self._neighbours >> process & 1:',
        new="if self._neighbours >> process & 1:",
    ),
    Mutant(
        name="received-is-delivered",
        old="return pending[0] - 1 if pending else self.state.received[process]",
        new="return self.state.received[process]",
    ),
    Mutant(
        name="delivery-not-noted",
        old="state.gldv[source] = max(state.gldv.get(source, 0), stamp.number)",
        new="state.gldv[source] = state.gldv.get(source, stamp.number)",
    ),
    Mutant(
        name="nobody-told",
        old="state.untold = self._neighbours & ~message.destinations",
        new="state.untold = 0",
    ),
    Mutant(
        name="freed-too-late",
        old="del self._pending[source]\n        return ((source, self._reached(source)),)",
        new="del self._pending[source]\n        return ()",
    ),
]
