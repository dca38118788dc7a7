"""How two members go on that cannot reach each other, though both reach others: through those.

Whatever is for such a member goes to it directly, as always, and besides through a third, who hands
it on (`Detour`): the one through whom something has come from there, or else another each time. A
detour says whether its sender hears the other directly: as long as it does not, the other takes
detours, too. So nobody is excluded, and nothing waits, because of a single link, cut one way or
both; when it is back, detours end by themselves.
"""

from antecede.groups.api import Transmit
from antecede.groups.core import Core
from antecede.groups.packets import Detour, Packet

_MANY, _ASKED = 16, 1.25
"""In a group of so many, how many times as long as a silence that worries a member it waits before
it takes detours: by then it has asked all, and whoever can be reached has answered."""


class Detours:
    """The detours of one member, to others and for others."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def tick(self) -> None:
        """Look who cannot be reached, and is heard by somebody else."""
        core, state = self.core, self.core.state
        if state.detours:
            state.detours = {}
        now, limit_s, channels = core.now, core.config.retry_limit_s, state.channels
        since = now - core.late_after_s * (_ASKED if len(state.peers) >= _MANY else 1.0)
        near: list[int] | None = None
        for rank, peer in enumerate(state.peers if core.config.detours else ()):
            if (
                peer.heard_at >= since
                and peer.retry_s < limit_s
                and peer.deaf_until <= now
                and not channels
            ):
                continue  # nearly always
            if rank != core.rank and (peer.deaf_until > now or self._is_cut_off(rank, since)):
                if near is None:
                    near = [other for other, one in enumerate(state.peers) if one.heard_at >= since]
                helpers = [
                    other
                    for other in near
                    if other not in (rank, core.rank) and rank not in state.peers[other].missing
                ]
                if helpers:
                    turn = helpers[state.ticks % len(helpers)]
                    helper = state.view.members[peer.through if peer.through in helpers else turn]
                    process = state.view.members[rank].process
                    state.detours[process] = (helper.process, peer.direct_at < since)

    def _is_cut_off(self, rank: int, since: float) -> bool:
        """Whether a member seems to be out of direct reach: it is silent, or never says that it has
        got something."""
        core, state = self.core, self.core.state
        peer, limit_s = state.peers[rank], core.config.retry_limit_s
        if peer.heard_at < since:
            return True
        if peer.retry_s >= limit_s and peer.row[core.rank] < state.received[core.rank]:
            return True
        channel = state.channels.get(state.view.members[rank])
        return channel is not None and bool(channel.outgoing) and channel.retry_s >= limit_s

    def on_detour(self, packet: Packet, body: Detour) -> Packet | None:
        """Hand a packet on; or the packet that has come to its end."""
        core = self.core
        if not core.config.detours:
            return None
        if body.to != core.me.process:
            forwarded = Packet(packet.group, core.me, packet.view, body)
            core.emit(Transmit(forwarded, 1 << body.to))
            return None
        rank = core.ranks.get(body.source)
        if rank is not None and packet.view == core.state.view.number:
            peer = core.state.peers[rank]
            peer.through = core.ranks.get(packet.source, -1)
            if body.is_deaf:
                peer.deaf_until = core.now + core.config.suspect_after_s
        return Packet(packet.group, body.source, packet.view, body.body)
