"""What members say to each other on a link, as it travels: one MessagePack array an item.

A message begins with its Lamport number and its number among all messages of its sender, so that
both stay with it wherever it goes (inside another packet, forwarded by a survivor).
"""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import count as counting
from struct import Struct
from typing import Annotated, Any, Final, Generic

import msgspec

from antecede.errors import MalformedStamp
from antecede.live.ordering.founding import Founding
from antecede.live.ordering.offers import Offer, Outdated
from antecede.live.roster import NO_HABITS, Entry, Habits
from antecede.live.transport.handshake import Name
from antecede.message import Message, MessageId, set_from_bytes, set_to_bytes
from antecede.order import Count, Packet, Stamp, StampT

_PREFIX: Final = Struct(">QQ")
PREFIX_BYTES: Final = _PREFIX.size

pack_prefix = _PREFIX.pack
"""A Lamport number and a number among all messages of a sender, as bytes."""
unpack_prefix = _PREFIX.unpack_from
"""The same from a payload that is known to begin with them."""

LARGEST: Final = (1 << 62) - 1
"""The largest Lamport number, and number of a message, that is believed: what follows it still fits
into the wire and into a log. One who claims more is not heard; one who claims as much does not
keep others from sending, whose own numbers stay there."""
UNIT_BYTES: Final = 1024
ITEMS: Final = 1 << 16
"""A batch has fewer items."""
RUN: Final = 256
"""Messages that travel as one item, at most."""
STEP: Final = 2
PART_BYTES: Final = 2**20
_COPY_BYTES: Final = 40
"""More than a copy takes besides its payload and its destinations."""
ITEM_BYTES: Final = 256
"""More than an item takes in memory besides its payload."""
_new_tuple = tuple.__new__
_wire_set = lru_cache(maxsize=1024)(set_to_bytes)
"""The same sets again and again, as most destinations are."""


def new_id(sender: int, number: int) -> MessageId:
    """As MessageId(...), in half the time."""
    return _new_tuple(MessageId, (sender, number))


def weight(size: int) -> int:
    """What a message of this many bytes counts for where what is under way is limited."""
    return 1 + size // UNIT_BYTES


def prefix_of(payload: bytes) -> tuple[int, int]:
    """The Lamport number and the number that a payload begins with."""
    if len(payload) < PREFIX_BYTES:
        raise MalformedStamp("payload", f"has {len(payload)} bytes, fewer than {PREFIX_BYTES}")
    lamport, number = _PREFIX.unpack_from(payload)
    if lamport > LARGEST or number > LARGEST:
        raise MalformedStamp("payload", f"begins with {lamport} and {number}: beyond {LARGEST}")
    return lamport, number


def is_beyond(payload: bytes) -> bool:
    """The same test on a payload that has a prefix, for who is in a hurry: 62 bits are 0x3F…"""
    return payload[0] > 0x3F or payload[8] > 0x3F


class Copy(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A message of somebody else, handed on."""

    sender: Count
    number: Count
    destinations: bytes
    group: Annotated[int, msgspec.Meta(ge=-1, le=ITEMS)]
    payload: bytes
    tags: bytes = b""
    """By which its destinations know its sender (`seals`)."""

    def message(self) -> Message:
        return Message(
            MessageId(self.sender, self.number),
            set_from_bytes(self.destinations),
            self.group,
            self.payload,
        )


def copy_of(message: Message, tags: bytes = b"") -> Copy:
    sender, number = message.id
    to = set_to_bytes(message.destinations)
    return Copy(sender, number, to, message.group, message.payload, tags)


def in_parts(copies: Sequence[Copy], part_bytes: int) -> list[tuple[Copy, ...]]:
    """The same, in parts of at most this size, or of one copy; at least one part."""
    parts: list[list[Copy]] = [[]]
    size = 0
    for copy in copies:
        copy_bytes = len(copy.payload) + len(copy.destinations) + len(copy.tags) + _COPY_BYTES
        size += copy_bytes
        if size > part_bytes and parts[-1]:
            parts.append([])
            size = copy_bytes
        parts[-1].append(copy)
    return [tuple(part) for part in parts]


class Carried(
    msgspec.Struct,
    Generic[StampT],
    frozen=True,
    array_like=True,
    forbid_unknown_fields=True,
    tag=0,
    gc=False,
):
    """A packet of the protocol in a view. Where `number` is 0 it brings no message. Its sender is
    the member whose link it comes on."""

    view: Count
    number: Count
    destinations: bytes
    group: Annotated[int, msgspec.Meta(ge=-1, le=ITEMS)]
    payload: bytes
    stamp: StampT
    tags: bytes = b""
    """By which its destinations know its sender, if somebody else hands it on (`seals`)."""

    def packet(self, source: int) -> Packet[Any]:
        if not self.number:
            return Packet(source, None, self.stamp)
        to = int.from_bytes(self.destinations, "little")
        message = Message(new_id(source, self.number), to, self.group, self.payload)
        return Packet(source, message, self.stamp)


class Run(
    msgspec.Struct,
    Generic[StampT],
    frozen=True,
    array_like=True,
    forbid_unknown_fields=True,
    tag=22,
    gc=False,
):
    """Messages that were sent one right after the other to the same destinations, with nothing
    received in between. Numbers and stamp are those of the first, and tell those of the others;
    payloads have no prefix, and there are as many tags, or none."""

    view: Count
    number: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
    destinations: bytes
    group: Annotated[int, msgspec.Meta(ge=-1, le=ITEMS)]
    lamport: Annotated[int, msgspec.Meta(ge=0, le=LARGEST - STEP * RUN)]
    step: Annotated[int, msgspec.Meta(ge=1, le=STEP)]
    """From one Lamport number to the next: who is a destination itself delivers in between."""
    own_number: Annotated[int, msgspec.Meta(ge=0, le=LARGEST - RUN)]
    """Among all messages of the sender."""
    payloads: Annotated[tuple[bytes, ...], msgspec.Meta(min_length=1, max_length=RUN)]
    stamp: StampT
    tags: Annotated[tuple[bytes, ...], msgspec.Meta(max_length=RUN)] = ()

    @property
    def last(self) -> int:
        """The number of the last message."""
        return self.number + len(self.payloads) - 1

    def weight(self) -> int:
        """The units of all its messages."""
        sizes = list(map(len, self.payloads))
        if max(sizes) < UNIT_BYTES - PREFIX_BYTES:
            return len(sizes)
        return sum(weight(PREFIX_BYTES + size) for size in sizes)

    def delivered_at(self, lamport: int) -> Iterable[int]:
        """The Lamport numbers of its deliveries, one after the other, where the last event has this
        one."""
        if lamport <= self.lamport:
            return counting(self.lamport + 1, self.step)
        end = self.lamport + len(self.payloads) * self.step
        return map(max, range(self.lamport + 1, end + 1, self.step), counting(lamport + 1))

    def packet(self, source: int) -> Packet[Any]:
        """The first of its packets."""
        return Packet(source, self.messages(source, 1)[0], self.stamp)

    def messages(self, source: int, count: int = RUN) -> list[Message]:
        """All its messages, or the first so many."""
        to = int.from_bytes(self.destinations, "little")
        return [
            Message(
                new_id(source, self.number + place),
                to,
                self.group,
                pack_prefix(self.lamport + place * self.step, self.own_number + place) + payload,
            )
            for place, payload in enumerate(self.payloads[:count])
        ]

    def rest(self, source: int) -> "Run[Any] | None":
        """The run without its first message."""
        if len(self.payloads) == 1:
            return None
        return Run(
            self.view,
            self.number + 1,
            self.destinations,
            self.group,
            self.lamport + self.step,
            self.step,
            self.own_number + 1,
            self.payloads[1:],
            self.advanced(source, 1),
            self.tags[1:],
        )

    def advanced(self, source: int, steps: int) -> Stamp:
        """The stamp of the message so many after the first."""
        stamp = self.stamp.successor(source, steps)
        if stamp is None:
            raise MalformedStamp("stamp", "does not tell those that follow it")
        return stamp

    def one_by_one(self, source: int) -> list[Carried[Any]]:
        """The same messages, one by one."""
        return [
            Carried(
                self.view,
                message.id[1],
                self.destinations,
                self.group,
                message.payload,
                self.advanced(source, place) if place else self.stamp,
                self.tags[place] if self.tags else b"",
            )
            for place, message in enumerate(self.messages(source))
        ]


class Settle(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=1):
    """The sender's last word in `view`, given that the group has come to view `attempt` since:
    these are the messages of departed members that it has and that you should have, too. There may
    be more of them to come."""

    view: Count
    attempt: Count
    copies: Annotated[tuple[Copy, ...], msgspec.Meta(max_length=ITEMS)]
    more: bool = False


class Report(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=2):
    """How much of yours I have received in this view, and how much my application has yet to take
    (in units, see `weight`); up to which number all my messages have reached all their
    destinations; and how much of what I have received comes from the first on that I hold."""

    view: Count
    received: Count
    untaken: Count
    stable: Count
    undelivered: Count = 0


class Membership(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=3):
    """A packet of the substrate, which agrees on views."""

    packet: bytes


class Introduce(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=5):
    """Let me in; this is where I listen."""

    host: str
    port: Count
    habits: Habits = NO_HABITS


class Introduced(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=6):
    """This is your number, and these are the others."""

    number: Count
    roster: tuple[Entry, ...]


class Redirect(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=7):
    """Ask this member to let you in."""

    name: Name
    host: str
    port: Count


class Direct(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=4):
    """A message that goes past all ordering."""

    payload: bytes


class Hop(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=8):
    """A packet of an overlay."""

    packet: bytes


class Shun(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=9):
    """I hear nothing more from this member. If most others say so, too, nobody does, and the group
    goes on without it."""

    name: Name


_Greeting = Introduce | Introduced | Redirect | Outdated | Shun | Hop | Offer | Founding
Item = Carried[Any] | Run[Any] | Settle | Report | Membership | Direct | _Greeting

_encoder = msgspec.msgpack.Encoder()
encode_item = _encoder.encode


def encoded(item: "bytes | Carried[Any]") -> bytes:
    """An item as it travels alone."""
    return item if isinstance(item, bytes) else encode_item(item)


def carried(view: int, packet: Packet[Any], tags: bytes = b"") -> Carried[Any]:
    """A packet as an item."""
    message = packet.message
    if message is None:
        return Carried(view, 0, b"", -1, b"", packet.stamp)
    to = _wire_set(message.destinations)
    return Carried(view, message.id[1], to, message.group, message.payload, packet.stamp, tags)


def follows(former: Carried[Any], item: Carried[Any], source: int) -> bool:
    """Whether a message may travel in a run with the one that its sender sent before it."""
    if (
        item.number != former.number + 1
        or item.view != former.view
        or item.destinations != former.destinations
        or item.group != former.group
        or bool(item.tags) != bool(former.tags)
    ):
        return False
    lamport, number = unpack_prefix(former.payload)
    is_own = int.from_bytes(item.destinations, "little") >> source & 1
    return (
        unpack_prefix(item.payload) == (lamport + 1 + is_own, number + 1)
        and lamport < LARGEST - STEP * RUN
        and former.stamp.successor(source, 1) == item.stamp
    )


def encode_run(items: Sequence[Carried[Any]]) -> bytes:
    """As one item: messages each of which follows the one before it."""
    first = items[0]
    if len(items) == 1:
        return encode_item(first)
    lamport, own_number = unpack_prefix(first.payload)
    step = unpack_prefix(items[1].payload)[0] - lamport
    return encode_item(
        Run(
            first.view,
            first.number,
            first.destinations,
            first.group,
            lamport,
            step,
            own_number,
            tuple([one.payload[PREFIX_BYTES:] for one in items]),
            first.stamp,
            tuple([one.tags for one in items]) if first.tags else (),
        )
    )


def message_bytes(item: Carried[Any]) -> int:
    """About what a message takes on a link, where its stamp is short."""
    return len(item.payload) + len(item.tags) + _COPY_BYTES


def memory_bytes(item: Any) -> int:
    """What an item takes that is put aside, or more."""
    match item:
        case Carried():
            return ITEM_BYTES + len(item.payload) + len(item.tags)
        case Run():
            texts = sum(map(len, item.payloads)) + sum(map(len, item.tags))
            return ITEM_BYTES * len(item.payloads) + texts
        case Settle():
            return ITEM_BYTES + sum(ITEM_BYTES + len(one.payload) for one in item.copies)
    return ITEM_BYTES


def is_membership(item: bytes) -> bool:
    """Whether an encoded item belongs to the substrate: its tag follows the head of the array."""
    return item[1] == 3


def is_message(item: bytes) -> bool:
    """Whether an encoded item brings a message to applications, or may."""
    return item[1] in (0, 4, 8, 22)


def is_repeated(item: bytes) -> bool:
    """Whether an encoded item is of a kind that is said again and again, so that one more or less
    does not matter."""
    return item[1] in (2, 3)


@cache
def _decoder(stamp_type: type[Stamp]) -> msgspec.msgpack.Decoder[list[Item]]:
    # The stamp's type is known only at run time.
    messages = Carried[stamp_type] | Run[stamp_type]  # type: ignore[valid-type]
    kinds = messages | Settle | Report | Membership | Direct | _Greeting
    return msgspec.msgpack.Decoder(list[kinds])


def decode_items(items: bytes | memoryview, stamp_type: type[Stamp]) -> list[Item]:
    """The items of a batch, or `MalformedStamp`."""
    if items[:1] == b"\xdd":  # The head of an array of more: each would take some hundred bytes.
        raise MalformedStamp("items", f"are {ITEMS} or more")
    try:
        return _decoder(stamp_type).decode(items)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise MalformedStamp("items", str(error)) from None
