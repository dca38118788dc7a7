"""What one member tells another alone: reliable and FIFO as long as both are in the group. It is
not ordered with the messages of the group, and a change of views does not wait for it."""

from antecede.groups.api import Told
from antecede.groups.core import Core
from antecede.groups.identities import MemberId
from antecede.groups.packets import Heard, Tell
from antecede.groups.state import Channel


class Channels:
    """The channels to the other members of the view."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def tell(self, member: MemberId, payload: bytes) -> None:
        channel = self._channel(member)
        if not channel.outgoing:
            channel.retry_s = self.core.config.retry_s
            channel.retry_at = self.core.now + channel.retry_s
        channel.sent += 1
        channel.outgoing[channel.sent] = payload
        self._transmit(member, channel, channel.sent)

    def repeat(self) -> None:
        """Tell again what has waited too long for an acknowledgement."""
        core = self.core
        for member, channel in sorted(core.state.channels.items(), key=lambda item: item[0]):
            if channel.outgoing and core.now >= channel.retry_at:
                channel.retry_s = min(2 * channel.retry_s, core.config.retry_limit_s)
                channel.retry_at = core.now + channel.retry_s
                for number in sorted(channel.outgoing)[: core.config.burst]:
                    self._transmit(member, channel, number)

    def on_tell(self, member: MemberId, body: Tell) -> None:
        core = self.core
        if body.incarnation != core.me.incarnation:
            return
        channel = self._channel(member)
        if body.number > channel.received:
            channel.early[body.number] = body.payload
        while channel.received + 1 in channel.early:
            channel.received += 1
            core.emit(Told(member, channel.early.pop(channel.received)))
        core.transmit(1 << member.process, Heard(member.incarnation, channel.received))

    def on_heard(self, member: MemberId, body: Heard) -> None:
        core = self.core
        channel = self._channel(member)
        if body.incarnation != core.me.incarnation or body.number <= channel.acknowledged:
            return
        for number in range(channel.acknowledged + 1, body.number + 1):
            channel.outgoing.pop(number, None)
        channel.acknowledged = body.number
        channel.retry_s = core.config.retry_s
        channel.retry_at = core.now + channel.retry_s

    def _channel(self, member: MemberId) -> Channel:
        return self.core.state.channels.setdefault(member, Channel())

    def _transmit(self, member: MemberId, channel: Channel, number: int) -> None:
        body = Tell(member.incarnation, number, channel.outgoing[number])
        self.core.transmit(1 << member.process, body)
