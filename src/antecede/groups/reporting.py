"""Who tells whom what has come, and that it lives.

While all is well, members report to those whose messages have come, and the sender of a message
tells all when it is stable: two packets for each member instead of one for each pair. Both follow
at once what they answer, but not twice in a tick. As a heartbeat the most senior member tells all
what is stable and whom it hears, which is their sign of life, too, and the others answer; whoever
has not heard it for a while asks. So whatever was lost on the way is made good.

All is not well while views change, where somebody leaves, and when somebody has been silent for
half of the time after which it is suspected: then a member reports to all at every tick, and all
that hear it report to it at every tick for a while. So when the most senior member fails, or
packets are lost, the others have heard each other many times before they give somebody up.
"""

from math import inf

import msgspec

from antecede.groups.core import Core
from antecede.groups.packets import Report, Vector
from antecede.groups.state import MEMBER
from antecede.message import ProcessSet, members, process_set, set_from_bytes, set_to_bytes

_PATIENCE = 1.5
"""For how many heartbeats a member waits for that of the most senior one, which it answers, before
it speaks up by itself, and wants an answer."""


class Reporting:
    """The reports of one member."""

    def __init__(self, core: Core) -> None:
        self.core = core

    @property
    def troubled(self) -> bool:
        """Whether all is not well."""
        core, state = self.core, self.core.state
        if (
            core.frozen
            or state.suspended
            or state.leaving
            or (state.joining and core.config.trusts)
            or state.flush is not None
            or state.decided is not None
        ):
            return True
        late = core.now - core.late_after_s
        is_first = state.view.number == 1
        for rank, peer in enumerate(state.peers):
            is_well = peer.heard_at >= late and not peer.flushing and not peer.leaving
            if is_well and (peer.present or is_first):
                continue  # nearly always
            may_come_later = is_well and rank > 0 and self._waits_calmly
            if not may_come_later and rank != core.rank:
                return True
        return False

    @property
    def _waits_calmly(self) -> bool:
        """Whether those who have not spoken in this view are no reason to worry, as long as the
        most senior member hears them: in a large group whose members find their ways to each other
        by themselves, that takes a while."""
        core = self.core
        is_large = 0 < core.config.fanout < len(core.state.peers) - 1
        return is_large and core.rank > 0 and not core.config.trusts

    def _absent(self) -> ProcessSet:
        """Some of those who have not spoken in this view, in turn."""
        state, fanout = self.core.state, self.core.config.fanout
        pairs = zip(state.view.members, state.peers, strict=True)
        absent = [member.process for member, peer in pairs if not peer.present]
        first = state.ticks * fanout
        turns = range(min(fanout, len(absent)))
        return process_set(absent[(first + step) % len(absent)] for step in turns)

    @property
    def hurries(self) -> bool:
        """Whether something may be due at the next tick."""
        core, state = self.core, self.core.state
        own, now = core.rank, core.now
        if (
            state.announced < state.received[own]  # not stable, or the others do not know
            or state.joining
            or state.heartbeat_at == -inf
        ):
            return True
        for peer in state.peers:
            if peer.owed or peer.helped_until > now:
                return True
        return self.is_telling or self.troubled

    @property
    def is_telling(self) -> bool:
        """Whether something told one member alone is not known to have come."""
        channels = self.core.state.channels
        return bool(channels) and any(channel.outgoing for channel in channels.values())

    @property
    def owes(self) -> bool:
        """Whether messages of its own are stable and the others do not know."""
        state = self.core.state
        return state.announced < state.stable[self.core.rank]

    @property
    def is_awaited(self) -> bool:
        """Whether others wait for a report."""
        if self.owes:
            return True
        for peer in self.core.state.peers:  # noqa: SIM110 - a loop takes half the time
            if peer.owed:
                return True
        return False

    @property
    def acknowledged(self) -> Vector:
        """What it has received, as far as it says so."""
        peers = self.core.state.peers
        return peers[self.core.rank].row if peers else ()

    # Reporting.

    def tick(self) -> None:
        core, state = self.core, self.core.state
        if self.troubled:
            self._report_to_all()
        elif self.owes:
            self._announce()
        else:
            to = self._owed()
            wait_s = core.heartbeat_s * (_PATIENCE if core.rank else 1)
            senior = 1 << state.view.members[0].process
            is_due = core.now - state.heartbeat_at >= wait_s
            if not core.config.trusts and core.rank and to & senior:
                is_due = False  # It has just been heard.
            if is_due:
                to |= senior if core.rank else core.others
            self._report(to, waits=is_due)
            if self._waits_calmly and core.now - state.sought_at >= core.heartbeat_s:
                state.sought_at = core.now
                core.transmit(self._absent(), core.report(waits=True))

    def on_news(self) -> None:
        """A message has come."""
        core, state = self.core, self.core.state
        is_in = state.phase is MEMBER
        if is_in and core.now - state.reported_at >= core.tick_s and not self.troubled:
            self._report(self._owed())

    def on_report(self, rank: int, body: Report) -> None:
        core, state = self.core, self.core.state
        peer = state.peers[rank]
        if body.waits:
            peer.owed = True
        if body.troubled:
            peer.helped_until = core.now + core.late_after_s
        if body.missing or peer.missing:
            missing = members(set_from_bytes(body.missing) & core.everybody)
            peer.missing = {other: peer.missing.get(other, core.now) for other in missing}
        if body.heard and not rank:
            for other in members(set_from_bytes(body.heard) & core.everybody):
                if not (body.troubled and state.peers[other].present):
                    core.hear(other)
        if self.owes and core.now - state.announced_at >= core.tick_s and not self.troubled:
            self._announce()

    def _announce(self) -> None:
        """Tell all what is stable."""
        self._owed()
        self._report(self.core.others)

    def _report(self, to: ProcessSet, waits: bool = False) -> None:
        core, state = self.core, self.core.state
        if not to:
            return
        state.reported_at = core.now
        report = core.report(waits)
        if to == core.others:
            self._tell_all()
            heard = b"" if core.rank else set_to_bytes(self._heard())
            stable = tuple(state.stable)
            report = Report(report.received, waits=waits, stable=stable, heard=heard)
        elif to >> state.view.members[0].process & 1:
            state.heartbeat_at = core.now
        core.transmit(to, report)

    def _report_to_all(self) -> None:
        """To the others, or to some in turn and to those who wait for it. Where members find their
        ways to each other by themselves, the most senior one goes on to tell all whom it hears:
        the way to somebody new may be a while in coming."""
        core, state = self.core, self.core.state
        size, fanout = len(state.view.members), core.config.fanout
        to, owed = core.others, self._owed()
        vouches = not core.rank and not core.config.trusts
        is_due = vouches and core.now - state.heartbeat_at >= core.heartbeat_s
        if 0 < fanout < size - 1 and not is_due:
            first = core.rank + 1 + state.ticks * fanout % (size - 1)
            to = owed
            for step in range(fanout):
                to |= 1 << state.view.members[(first + step) % size].process
        report = core.report(waits=True, troubled=True)
        if vouches:
            report = msgspec.structs.replace(report, heard=set_to_bytes(self._heard()))
        if is_due or not vouches:
            self._tell_all()
        core.transmit(to & core.others, report)

    def _tell_all(self) -> None:
        core, state = self.core, self.core.state
        state.announced = state.stable[core.rank]
        state.announced_at = state.reported_at = state.heartbeat_at = core.now

    def _owed(self) -> ProcessSet:
        """The processes that wait for a report, and wait no more."""
        core, state = self.core, self.core.state
        to, now = 0, core.now
        for rank, peer in enumerate(state.peers):
            if peer.owed or peer.helped_until > now:
                peer.owed = False
                to |= 1 << state.view.members[rank].process
        return to & core.others

    def _heard(self) -> int:
        """The ranks that it hears, as a bit set: a silence that would worry it counts as one for
        all, and no shorter one, for then all would ask around."""
        core = self.core
        since = core.now - max(core.late_after_s, 2 * core.heartbeat_s)
        return sum(
            1 << rank
            for rank, peer in enumerate(core.state.peers)
            if rank == core.rank or peer.heard_at >= since
        )
