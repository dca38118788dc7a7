"""What travels along shortest ways: copies of messages, reports between members of a border, and
their acknowledgements."""

from collections.abc import Iterable

from antecede.errors import MalformedStamp
from antecede.message import Message, ProcessSet
from antecede.order import Count, Packet
from antecede.overlays import HopStamp
from antecede.overlays.separators.gossip import Alive, LinksWord, Word, check_word
from antecede.overlays.separators.regions import Regions
from antecede.overlays.separators.wire import Cited, Destinations, Index, Number, Tokens, decode_set


class Copy(HopStamp, frozen=True, tag=1):
    """The message in this packet is for `to`. `link`: counts the hop messages of this link.
    `waits`, `wait_tokens`: what they have to wait for. `known`, `tokens`: the context."""

    link: Number
    to: Destinations
    waits: Cited
    wait_tokens: Tokens
    known: Cited
    tokens: Tokens

    def entries(self) -> int:
        """Identifiers and tokens."""
        return len(self.waits) + len(self.wait_tokens) + len(self.known) + len(self.tokens)


class Report(HopStamp, frozen=True, tag=2):
    """What `member` has deposited for a region at `epoch`, for the others of its border: since
    epoch `after` nothing else that matters."""

    link: Number
    to: Destinations
    region: Index
    member: Index
    epoch: Number
    after: Count
    known: Cited
    tokens: Tokens

    def entries(self) -> int:
        """Identifiers and tokens."""
        return len(self.known) + len(self.tokens)


class Ack(HopStamp, frozen=True, tag=5):
    """`by` has the log of the one process in `to` for a region, up to `epoch`."""

    link: Number
    to: Destinations
    region: Index
    by: Index
    epoch: Number

    def entries(self) -> int:
        """It orders nothing."""
        return 0


Stamps = Copy | Report | Ack | Word | LinksWord | Alive


class Checks:
    """Refuses what cannot be, before anything changes."""

    def __init__(self, near: ProcessSet, size: int, hosts: ProcessSet, regions: Regions) -> None:
        self._near = near
        self._size = size
        self._hosts = hosts
        self._regions = regions

    def packet(self, packet: Packet[Stamps]) -> None:
        """A packet that has come."""
        if packet.source >= self._size or not self._near >> packet.source & 1:
            raise MalformedStamp("source", f"is {packet.source}, to which there is no link")
        match packet.stamp:
            case Copy():
                self._copy(packet.stamp, packet.message)
            case Report(region=region, member=member, epoch=epoch):
                self._tokens([(region, member, epoch)], "member")
                self._tokens(packet.stamp.tokens, "tokens")
                self._cited(packet.stamp.known, "known")
                self._within(packet.stamp.to, region)
            case Ack(region=region, by=by, epoch=epoch):
                self._tokens([(region, by, epoch)], "by")
                self._within(packet.stamp.to, region)
            case Word():
                check_word(packet.stamp, self._size)
            case Alive():
                pass

    def _copy(self, stamp: Copy, message: Message | None) -> None:
        if message is None:
            raise MalformedStamp("message", "is missing")
        self._named("message", *message.id, message.destinations)
        to = decode_set(stamp.to)
        if not to or to & ~message.destinations:
            raise MalformedStamp("to", "is not among the destinations")
        self._tokens(stamp.tokens, "tokens")
        self._tokens(stamp.wait_tokens, "wait_tokens")
        self._cited(stamp.known, "known")
        self._cited(stamp.waits, "waits")

    def _within(self, to: Destinations, region: int) -> None:
        if decode_set(to) & ~self._regions.border[region]:
            raise MalformedStamp("to", "contains processes outside of the border")

    def _tokens(self, tokens: Iterable[tuple[int, int, int]], field: str) -> None:
        border = self._regions.border
        for region, member, epoch in tokens:
            if region >= len(border) or not border[region] >> member & 1 or epoch < 1:
                raise MalformedStamp(field, f"has ({region}, {member}, {epoch}), which is none")

    def _cited(self, cited: Cited, field: str) -> None:
        size, hosts = self._size, self._hosts
        nobody = ~hosts
        for place, (sender, number, wire) in enumerate(cited):
            to = decode_set(wire)
            if number < 1 or sender >= size or not hosts >> sender & 1 or not to or to & nobody:
                self._named(f"{field}[{place}]", sender, number, to)

    def _named(self, field: str, sender: int, number: int, to: ProcessSet) -> None:
        if sender >= self._size or not self._hosts >> sender & 1:
            raise MalformedStamp(field, f"is of {sender}, where no application lives")
        if number < 1:
            raise MalformedStamp(field, f"has number {number}; messages are numbered from 1")
        if not to or to & ~self._hosts:
            raise MalformedStamp(field, "has destinations that no application lives at")
