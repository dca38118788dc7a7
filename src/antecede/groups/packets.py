"""What the members of a group say to each other, as it travels.

MessagePack, arrays without field names, an integer tag for the kind of packet. Vectors have one
entry a rank of the view that the packet names, and count the messages of that view only, so that
they stay short.
"""

from typing import Annotated, NamedTuple

import msgspec

from antecede.errors import MalformedStamp
from antecede.groups.identities import Count, GroupMessage, MemberId, View

Vector = tuple[Count, ...]


class Ballot(NamedTuple):
    """One attempt to decide the next view; ballots are ordered, and no two coordinators share
    one."""

    number: Count
    process: Count


NO_BALLOT = Ballot(0, 0)


class Decision(msgspec.Struct, frozen=True, array_like=True):
    """The next view, and how many messages of each member of the old one are delivered first."""

    view: View
    cut: Vector


class Data(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=0):
    """A message of the member with this rank; its number is that member's entry of the vector. It
    may come from another member that hands it on."""

    rank: Count
    vector: Vector
    to: bytes
    payload: bytes


class Report(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=1):
    """A heartbeat, and the cumulative acknowledgement of everything received without a gap.
    `waits`: an answer is wanted; `troubled`: something is wrong, so report to it at every tick for
    a while, and `missing` are the ranks that it does not hear, as a bit set. To all it says what is
    stable; the most senior member adds the ranks that it hears."""

    received: Vector
    flushing: bool = False
    leaving: bool = False
    waits: bool = False
    troubled: bool = False
    stable: Vector = ()
    heard: bytes = b""
    missing: bytes = b""


class Nack(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=2):
    """Your messages from the first to the last of these numbers have not come."""

    first: Count
    last: Count


class Prepare(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """Stop delivering, and send what I have not received."""

    ballot: Ballot
    received: Vector


class Promise(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """I have stopped: this is what I have received, and what I accepted in an earlier ballot.
    `beyond`: what I have that comes after a gap, by the rank of its sender and its number."""

    ballot: Ballot
    received: Vector
    accepted_in: Ballot
    accepted: Decision | None
    beyond: tuple[tuple[Count, Count], ...] = ()


class Reject(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """I have promised a higher ballot."""

    promised: Ballot


class Accept(msgspec.Struct, frozen=True, array_like=True, tag=6):
    """Accept this as soon as you hold every message of the cut."""

    ballot: Ballot
    decision: Decision


class Accepted(msgspec.Struct, frozen=True, array_like=True, tag=7):
    """I have accepted, or (not complete) I still lack messages beyond these."""

    ballot: Ballot
    received: Vector
    complete: bool


class Decide(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """This is decided."""

    decision: Decision


class Ask(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """How did the view of this packet end, or (within it) what do I lack? I have received this."""

    received: Vector


class Join(msgspec.Struct, frozen=True, array_like=True, tag=10):
    """This member wants to be in the next view."""

    member: MemberId


class Refuse(msgspec.Struct, frozen=True, array_like=True, tag=11):
    """A member with this incarnation has already been in the group: take the next."""

    incarnation: Count


class Welcome(msgspec.Struct, frozen=True, array_like=True, tag=12):
    """You are in: the view, how many messages of each member came before it, who may not return,
    the application's state, and the messages not yet released."""

    decision: Decision
    base: Vector
    departed: tuple[tuple[Count, Count], ...]
    state: bytes
    retained: tuple[GroupMessage, ...]


class Tell(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=13):
    """A message to one member (of this incarnation) alone."""

    incarnation: Count
    number: Count
    payload: bytes


class Heard(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=14):
    """All that you told me up to this number has come."""

    incarnation: Count
    number: Count


class Detour(msgspec.Struct, frozen=True, array_like=True, tag=15):
    """For another member, which the source does not reach: hand it on. `is_deaf`: nor does the
    source hear that one directly."""

    to: Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
    source: MemberId
    is_deaf: bool
    body: "Plain"


class Vouch(msgspec.Struct, frozen=True, array_like=True, tag=16):
    """I have accepted this, in that ballot: said to all where members do not trust each other."""

    ballot: Ballot
    decision: Decision


Plain = (
    Data
    | Report
    | Nack
    | Prepare
    | Promise
    | Reject
    | Accept
    | Accepted
    | Decide
    | Ask
    | Join
    | Refuse
    | Welcome
    | Tell
    | Heard
    | Vouch
)
Body = Plain | Detour


class Packet(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """What the network carries. `view` is the view that the body speaks of."""

    group: Count
    source: MemberId
    view: Count
    body: Body

    @property
    def content(self) -> Plain:
        """What it says in the end."""
        body = self.body
        return body.body if isinstance(body, Detour) else body


encode = msgspec.msgpack.Encoder().encode
"""The bytes of a packet."""
_decoder = msgspec.msgpack.Decoder(Packet)


def decode(wire: bytes) -> Packet:
    """The packet that these bytes stand for."""
    try:
        return _decoder.decode(wire)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedStamp("packet", str(error)) from None


def check(packet: Packet, size: int) -> None:
    """Refuse a packet of a view of this size whose parts cannot be right."""
    body = packet.body
    if type(body) is Detour:
        body = body.body
    if type(body) is Report:  # nearly all are
        _check_length("received", body.received, size)
        if body.stable:
            _check_length("stable", body.stable, size)
        return
    match body:
        case Data():
            _check_length("vector", body.vector, size)
            if body.rank >= size:
                raise MalformedStamp("rank", f"is {body.rank} in a view of {size} members")
            if not body.vector[body.rank]:
                raise MalformedStamp("vector", "does not count its own message")
        case Prepare() | Ask():
            _check_length("received", body.received, size)
        case Promise() | Accepted():
            _check_length("received", body.received, size)
            if isinstance(body, Promise):
                _check_promise(body, packet.view, size)
        case Accept() | Decide() | Vouch():
            _check_decision(body.decision, packet.view, size)
        case Nack():
            if not 1 <= body.first <= body.last:
                raise MalformedStamp("first", f"is {body.first}, and the last is {body.last}")
        case _:
            pass


def check_claims(packet: Packet, received: list[int], own: int, window: int) -> None:
    """Refuse what cannot be true: more of this member's messages than it has sent, or a message far
    beyond the window of its sender."""
    body = packet.content
    match body:
        case Report() | Prepare() | Ask() | Promise() | Accepted():
            if body.received[own] > received[own]:
                reason = f"claims {body.received[own]} messages, of {received[own]} sent"
                raise MalformedStamp("received", reason)
        case Data():
            if body.vector[body.rank] > received[body.rank] + 2 * window:
                raise MalformedStamp("vector", f"is of message {body.vector[body.rank]}")
        case _:
            pass


def _check_promise(body: Promise, view: int, size: int) -> None:
    if body.accepted is not None:
        _check_decision(body.accepted, view, size)
    for rank, _ in body.beyond:
        if rank >= size:
            raise MalformedStamp("beyond", f"is of rank {rank} in a view of {size} members")


def _check_decision(decision: Decision, view: int, size: int) -> None:
    _check_length("cut", decision.cut, size)
    check_next(decision, view)


def check_next(decision: Decision, view: int) -> None:
    """Refuse a decision about another view than the one after this."""
    if decision.view.number != view + 1:
        raise MalformedStamp("view", f"number {decision.view.number} does not follow {view}")


def _check_length(field: str, vector: Vector, size: int) -> None:
    if len(vector) != size:
        raise MalformedStamp(field, f"has {len(vector)} entries in a view of {size} members")
