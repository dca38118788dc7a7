"""How messages go on from one process, for `shortest`: part by part, filtered at the borders that
they cross, and with `write_ahead` only when those have what was left out."""

from antecede.message import Message, ProcessSet
from antecede.order import Effect, Packet, Transmit
from antecede.overlays.separators.contexts import Context
from antecede.overlays.separators.reports import Core, Reports
from antecede.overlays.separators.stamps import Copy
from antecede.overlays.separators.travelling import Entering, Travelling, highest
from antecede.overlays.separators.wire import encode_set, encode_tokens, encode_waits


class Forwarding:
    """What leaves a process, and what waits for a border before it may."""

    def __init__(self, core: Core, reports: Reports) -> None:
        self._core = core
        self._reports = reports

    def forward(self, one: Travelling, *, is_own: bool = False) -> list[Effect]:
        """Hand a message on, part by part. What is filtered for one next hop is not for another.
        What is sent here leaves whole, and in its order: if the process crashes, then nobody knows
        of a message that has not left."""
        core = self._core
        effects: list[Effect] = []
        leaving: list[Entering] = []
        for next_, there in self.next_hops(one.message, one.to):
            waits = Context({}, {})
            for id_, mask in one.waits.waits.items():
                if mask & there:
                    waits.waits[id_] = mask & there
            for token, epoch in one.waits.tokens.items():
                if there & ~core.regions.inside[token[0]]:
                    waits.tokens[token] = epoch
            known, new, given = core.deposits.enter(one.known, next_)
            for deposit in new:
                effects += self._reports.report(deposit)
            part = Travelling(one.message, there, waits, known)
            epochs = {token[0]: core.deposits.reached(token) for token in given}
            if is_own and leaving:
                leaving[0].parts.append((part, next_))
                leaving[0].epochs |= epochs  # they only grow
            else:
                leaving.append(Entering([(part, next_)], epochs, is_own))
        if core.options.write_ahead:
            core.state.entering += leaving
            return effects + self.enter()
        return effects + [hop for entering in leaving for hop in self._hops(entering)]

    def next_hops(self, message: Message, to: ProcessSet) -> list[tuple[int, ProcessSet]]:
        """Whom to hand a message to, and for which of its destinations: any way will do."""
        return self._core.ways.next_hops(to)

    def enter(self) -> list[Effect]:
        """Let those go on whose borders have what was left out of them."""
        state = self._core.state
        effects: list[Effect] = []
        waiting, state.entering = state.entering, []
        is_behind = False
        for entering in waiting:
            if self._reports.have_all(entering.epochs) and not (entering.is_own and is_behind):
                effects += self._hops(entering)
            else:
                state.entering.append(entering)
                is_behind |= entering.is_own
        return effects

    def _hops(self, entering: Entering) -> list[Effect]:
        return [self._hop(part, next_) for part, next_ in entering.parts]

    def _hop(self, one: Travelling, next_: int) -> Effect:
        core = self._core
        copy = Copy(
            core.count(),
            core.count_link(next_),
            encode_set(one.to),
            encode_waits(highest(one.waits.waits, one.to)),
            encode_tokens(one.waits.tokens),
            encode_waits(one.known.waits),
            encode_tokens(one.known.tokens),
        )
        return Transmit(Packet(core.process, one.message, copy), 1 << next_)
