"""What members of a border tell each other, for `shortest`: what each has deposited, and that it
has come. Reports and acknowledgements go along shortest ways, hop by hop, like messages."""

from typing import Protocol

import msgspec

from antecede.message import ProcessSet, members
from antecede.order import Effect, Packet, Transmit
from antecede.overlays.separators.contexts import Token
from antecede.overlays.separators.deposits import Deposit, Deposits
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.regions import Regions
from antecede.overlays.separators.stamps import Ack, Report
from antecede.overlays.separators.travelling import State
from antecede.overlays.separators.ways import Ways
from antecede.overlays.separators.wire import encode_set, encode_tokens, encode_waits


class Core(Protocol):
    """What its parts need of the machine, as it is at the time."""

    process: int
    options: SeparatorsOptions
    state: State
    regions: Regions
    deposits: Deposits
    ways: Ways

    def count(self) -> int:
        """The number of the next hop message."""

    def count_link(self, next_: int) -> int:
        """The number of the next one to this neighbour."""


class Reports:
    def __init__(self, core: Core) -> None:
        self._core = core

    def report(
        self, one: Deposit, member: int | None = None, to: ProcessSet | None = None
    ) -> list[Effect]:
        """A deposit, for the rest of the border: the own one, or that of a member, for some."""
        core = self._core
        others = core.regions.border[one.region] & ~(1 << core.process | core.state.gossip.gone)
        others = others if to is None else others & to
        owner = core.process if member is None else member
        known, tokens = encode_waits(one.context.waits), encode_tokens(one.context.tokens)
        stamp = Report(0, 1, b"", one.region, owner, one.epoch, one.after, known, tokens)
        return self.route(stamp, others)

    def route(self, stamp: Report | Ack, to: ProcessSet) -> list[Effect]:
        """On to these, along shortest ways."""
        core = self._core
        effects: list[Effect] = []
        for next_, there in core.ways.next_hops(to):
            number, link = core.count(), core.count_link(next_)
            numbered = msgspec.structs.replace(
                stamp, number=number, link=link, to=encode_set(there)
            )
            effects.append(Transmit(Packet(core.process, None, numbered), 1 << next_))
        return effects

    def acknowledge(self, token: Token) -> list[Effect]:
        """The log of a member has come as far as it has."""
        reached = self._core.deposits.reached(token)
        return self.route(Ack(0, 1, b"", token[0], self._core.process, reached), 1 << token[1])

    def have_all(self, epochs: dict[int, int]) -> bool:
        """Whether all of these borders have the own logs up to these epochs, as far as a way leads
        to them: who is cut off stays so."""
        core = self._core
        return all(
            core.state.acked.get((region, member), 0) >= epoch
            for region, epoch in epochs.items()
            for member in members(core.regions.border[region] & core.ways.reached)
        )

    def hand_over(self, came: ProcessSet) -> list[Effect]:
        """The own logs, and those of members that have crashed, for those who have come."""
        core = self._core
        effects: list[Effect] = []
        crashed = core.state.gossip.gone & ~core.state.gossip.absent
        for region, member in sorted(core.state.logs):
            to = core.regions.border[region] & came
            if to and (member == core.process or crashed >> member & 1):
                for deposit in core.deposits.all_of((region, member)):
                    effects += self.report(deposit, member, to)
        return effects

    def again(self, came: ProcessSet) -> list[Effect]:
        """All of it once more, and the logs for those who have come."""
        core = self._core
        effects: list[Effect] = []
        for deposit in core.deposits.all_own():
            effects += self.report(deposit)
        effects += self.hand_over(came)
        if core.options.write_ahead:
            for token in sorted(core.state.logs):
                if token[1] != core.process and core.deposits.reached(token):
                    effects += self.acknowledge(token)
        return effects
