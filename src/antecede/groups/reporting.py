"""Who tells whom what has come, and that it lives.

While all is well, members report to those whose messages have come, who repeat them otherwise, and
to the most senior member. That one tells all what is stable and whom it hears, which is their sign
of life, too: some packets for each member instead of one for each pair. Reports follow messages at
once, but not twice in a tick; besides there are heartbeats.

All is not well while views change, where somebody leaves, and when somebody has been silent for
half of the time after which it is suspected: then a member reports to all at every tick, and all
that hear it answer. So when the most senior member fails, the others have heard each other by the
time that they give it up.
"""

from math import inf

from antecede.groups.channels import Channels
from antecede.groups.core import Core
from antecede.groups.packets import Report, Vector
from antecede.groups.state import Phase
from antecede.message import ProcessSet, members, set_from_bytes, set_to_bytes


class Reporting:
    """The reports of one member."""

    def __init__(self, core: Core, channels: Channels) -> None:
        self.core = core
        self.channels = channels

    @property
    def calm(self) -> bool:
        """Whether all is well."""
        core, state = self.core, self.core.state
        if (
            core.frozen
            or state.suspended
            or state.leaving
            or state.joining
            or state.flush is not None
            or state.decided is not None
        ):
            return False
        late = core.now - core.config.late_after_s
        is_first, own = state.view.number == 1, core.rank
        return all(
            rank == own
            or (
                peer.heard_at >= late
                and (peer.present or is_first)
                and not peer.flushing
                and not peer.leaving
            )
            for rank, peer in enumerate(state.peers)
        )

    @property
    def hurries(self) -> bool:
        """Whether something may be due at the next tick."""
        core, state = self.core, self.core.state
        own, sent = core.rank, state.received[core.rank]
        return (
            state.stable[own] < sent
            or self.owes
            or state.reported_at == -inf
            or any(peer.owed for peer in state.peers)
            or any(channel.outgoing for channel in state.channels.values())
            or not self.calm
        )

    @property
    def owes(self) -> bool:
        """Whether it has not told what the others wait for."""
        return self.core.state.reported != self._news()

    @property
    def acknowledged(self) -> Vector:
        """What it has received, as far as it says so."""
        peers = self.core.state.peers
        return peers[self.core.rank].row if peers else ()

    def _news(self) -> Vector:
        return self.acknowledged if self.core.rank else tuple(self.core.state.stable)

    # Reporting.

    def report(self) -> None:
        """At a tick."""
        core, state = self.core, self.core.state
        if not self.calm:
            self._report_to_all()
            return
        is_due = core.now - state.reported_at >= core.config.heartbeat_s
        self._report_if(is_due or self.owes)

    def report_soon(self) -> None:
        """Something has come."""
        core, state = self.core, self.core.state
        is_in = state.phase is Phase.MEMBER
        if is_in and core.now - state.reported_at >= core.config.tick_s and self.calm:
            self._report_if(self.owes)

    def on_report(self, rank: int, body: Report) -> None:
        core, state = self.core, self.core.state
        if body.waits:
            state.peers[rank].owed = True
        if body.heard and not rank:
            for other in members(set_from_bytes(body.heard) & core.everybody):
                state.peers[other].heard_at = core.now
        if not core.rank and self.owes:
            self.report_soon()

    def _report_if(self, needed: bool) -> None:
        """To those who wait for it; where needed also to the most senior member, or from it to
        all."""
        core, state = self.core, self.core.state
        to = self._owed()
        if needed and core.rank:
            to |= 1 << state.view.members[0].process
        elif needed:
            to = core.others
        if needed:
            state.reported, state.reported_at = self._news(), core.now
        core.transmit(to, self._with_digest())

    def _report_to_all(self) -> None:
        """To the others, or to some in turn and to those who wait for it."""
        core, state = self.core, self.core.state
        size, fanout = len(state.view.members), core.config.fanout
        to = core.others
        owed = self._owed()
        if 0 < fanout < size - 1:
            first = core.rank + 1 + state.ticks * fanout % (size - 1)
            turn = [(first + step) % size for step in range(fanout)]
            to = owed
            for rank in turn:
                if rank != core.rank:
                    to |= 1 << state.view.members[rank].process
        state.reported, state.reported_at = self._news(), core.now
        core.transmit(to, core.report(waits=True))

    def _owed(self) -> ProcessSet:
        """The processes that wait for a report, and wait no more."""
        core, state = self.core, self.core.state
        to = 0
        for member, peer in zip(state.view.members, state.peers, strict=True):
            if peer.owed:
                peer.owed = False
                to |= 1 << member.process
        return to & ~(1 << core.me.process)

    def _with_digest(self) -> Report:
        core, state = self.core, self.core.state
        if core.rank:
            return core.report()
        since = core.now - 2 * core.config.heartbeat_s
        heard = sum(
            1 << rank
            for rank, peer in enumerate(state.peers)
            if rank == core.rank or peer.heard_at >= since
        )
        return Report(core.report().received, stable=tuple(state.stable), heard=set_to_bytes(heard))
