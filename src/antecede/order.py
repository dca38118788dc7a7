"""The contract of an order: what makes one delivery causal, as a state machine at one process.

In: the application sends, the network hands over a packet, the time it asked for has come.
Out: a list of effects as data. There is no clock, no randomness and no I/O inside, so the same
object runs in the explorer, in the simulator, on a Spark executor and behind a socket.

Rules that every order keeps, and that the conformance suite checks:

- A message that a process addresses to itself is delivered there by `send`, at once (except under
  an option that promises a total order, where it has to wait its turn).
- A duplicate is dropped; a malformed stamp raises `MalformedStamp`. Neither changes the state.
- `state` is all that an order knows. Whatever else it keeps is derived from it (`resume`).
- Nothing depends on the order of a dict or a set: `snapshot` is the same for the same state.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, ClassVar

import msgspec

from antecede.effects import (
    Count,
    Deliver,
    Effect,
    Event,
    Notice,
    Packet,
    Stamp,
    StampT,
    TakeBack,
    Transmit,
    Wake,
)
from antecede.errors import MalformedStamp, Misuse
from antecede.message import NO_GROUP, Membership, Message, MessageId, ProcessSet, members
from antecede.options import Options, Says, stated
from antecede.snapshot import freeze, thaw

__all__ = [
    "Addressing",
    "Awaited",
    "Channels",
    "Count",
    "Deliver",
    "Effect",
    "Event",
    "Gives",
    "Held",
    "Notice",
    "Options",
    "Order",
    "Packet",
    "Says",
    "Scope",
    "Size",
    "Stamp",
    "StampT",
    "TakeBack",
    "Traits",
    "Transmit",
    "Wake",
    "stated",
]


class Addressing(IntEnum):
    """Whom a message may be addressed to. A larger value includes the smaller ones."""

    ONE_GROUP = 1
    GROUPS = 2
    SETS = 3


class Channels(Enum):
    """What the network must give between two processes."""

    ANY = "any"
    FIFO = "FIFO"


class Gives(IntEnum):
    """The order of deliveries that a protocol guarantees. A larger value includes the smaller."""

    NOTHING = 0
    FIFO = 1
    CAUSAL = 2


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What a protocol needs and gives, for people and for whoever picks one."""

    title: str
    paper: str
    addressing: Addressing
    gives: Gives = Gives.CAUSAL
    channels: Channels = Channels.ANY
    null_messages: bool = False
    """Whether it lives only by messages of its own, sent when it is woken."""
    survives_loss: bool = False
    """Whether deliveries go on when some copies of a message are lost."""
    repairs_loss: bool = False
    """Whether what is lost is sent again, so that everything is delivered all the same."""
    watches: bool = False
    """Whether it tells a crash by silence: it wakes up for ever, even where nothing happens."""
    survives_crashes: bool = False
    """Whether deliveries go on among the others when processes crash."""
    crashes_under: tuple[str, ...] = ()
    """Options under which they do, where by default they do not: `NAME=VALUE NAME=VALUE` each."""
    alike: bool = False
    """Whether processes that the options and groups do not tell apart do the same, up to their
    names; False where the smaller number decides something. See `antecede.explore.symmetry`."""
    takes_back: bool = False
    """Whether deliveries are undone after a failure, so that applications must be able to."""
    prompt: bool = True
    """Whether it never holds a message whose causal predecessors are all delivered."""
    state_bound: str = ""
    """What its paper promises of the state at one process; empty where it promises nothing."""


class Scope(StrEnum):
    """How `Awaited.count` counts."""

    MESSAGE = "message"
    """The message with this number."""
    HERE = "here"
    """The packets that the process addressed to this one, up to the count-th."""
    GROUP = "group"
    """The messages of the process in the group, up to the count-th."""
    TIME = "time"
    """A message addressed here that brings word of the count-th event of the process' clock."""
    HOP = "hop"
    """The hop message with this number, of the overlay that carries the messages."""
    REPORT = "report"
    """What the process has deposited for the region (`group`), up to the count-th time."""
    BLOCK = "block"
    """All that the process sends in the group with numbers up to `count`: messages delivered, and
    word that there are no more."""


class Awaited(msgspec.Struct, frozen=True, order=True):
    """One thing that a held message waits for."""

    process: int
    count: int
    scope: Scope = Scope.MESSAGE
    group: int = NO_GROUP

    def sentence(self) -> str:
        """For people."""
        match self.scope:
            case Scope.MESSAGE:
                return f"message {self.process}:{self.count}"
            case Scope.HOP:
                return f"hop message {self.process}:{self.count}"
            case Scope.REPORT:
                return (
                    f"reports of process {self.process} on what it left out for region "
                    f"{self.group}, up to number {self.count}"
                )
            case Scope.HERE:
                return f"packets of process {self.process} to this one, up to number {self.count}"
            case Scope.GROUP:
                return (
                    f"messages of process {self.process} in group {self.group}, "
                    f"up to number {self.count}"
                )
            case Scope.TIME:
                return f"a message that knows of time {self.count} of process {self.process}"
            case Scope.BLOCK:
                where = "" if self.group == NO_GROUP else f" in group {self.group}"
                return f"what process {self.process} sends{where} with numbers up to {self.count}"


class Held(msgspec.Struct, frozen=True):
    """A message that has arrived and is not delivered, and all that it still waits for."""

    message: MessageId
    awaited: tuple[Awaited, ...]


class Size(msgspec.Struct, frozen=True):
    """How much an order knows: elements of ordering information (as the paper counts them, without
    the held messages), bytes of its snapshot, held messages."""

    entries: int
    bytes: int
    held: int


class Order(ABC):
    """A protocol at one process."""

    name: ClassVar[str] = "an unregistered protocol"
    """What it goes by: of our own the name of its file, with hyphens. The registry sets it."""
    traits: Traits
    """Those under its options; of a class, those under the defaults."""
    stamp_type: type[Stamp]
    state_type: type[msgspec.Struct]
    options_type: ClassVar[type[Options]] = Options
    patient_options: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Options under which it suspects nobody, however long a packet takes: for tests in which
    nobody fails."""

    state: Any

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        if not 0 <= process < membership.size:
            raise Misuse(f"process {process} is not one of the {membership.size} processes")
        self.process = process
        self.membership = membership
        self._everybody = membership.everybody
        self.options: Any = self.options_type() if options is None else options
        self.traits = self.traits_under(self.options)
        self.state = self.initial_state()
        self.resume()

    @classmethod
    def traits_under(cls, options: Options) -> Traits:
        """What it needs and gives under these options."""
        return cls.traits

    @classmethod
    def variant(cls, options: Any) -> "type[Order]":
        """The class that runs with these options, where one of them makes another protocol of it,
        with traits of its own."""
        return cls

    @abstractmethod
    def initial_state(self) -> msgspec.Struct:
        """What it knows before anything has happened."""

    def resume(self) -> None:  # noqa: B027 (most orders derive nothing)
        """Derive from `state` what is kept beside it, such as an index. Called after `state` has
        been replaced."""

    @abstractmethod
    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        """The application sends. Numbers of messages are consecutive, from 1."""

    @abstractmethod
    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        """The network hands over a packet that was transmitted to this process."""

    def receive_run(self, packet: Packet[Any], count: int) -> list[Effect] | None:
        """The network hands over this packet and its successors (`Stamp.successor`), so many
        altogether. If all can be delivered at once, they are, in their order, and what that brings
        about besides is returned. Otherwise nothing has changed, and None says that they have to be
        received one by one."""
        return None

    def wake(self, now: float) -> list[Effect]:
        """A time that it asked for has come."""
        return []

    def join(self, now: float = 0.0, talks_with: ProcessSet = 0) -> list[Effect]:
        """The process was not there from the start, and asks to be let in. One that comes back
        after a crash is a new one, for it has forgotten everything. `talks_with`: with whom it will
        talk most, if that is known."""
        raise Misuse(f"{self.name} lets nobody in")

    def remembered(self) -> bytes:
        """What it has in stable memory, which outlives a crash. It was written before anything that
        follows from it was sent."""
        return b""

    def recall(self, memory: bytes) -> None:
        """Before it joins: what the one whose place it takes had in its stable memory."""
        if memory:
            raise Misuse(f"{self.name} keeps nothing in stable memory")

    def owes_despite(self, crashed: ProcessSet) -> bool:
        """Whether what survivors send to survivors has to arrive although these crash."""
        return self.traits.survives_crashes

    def lost_with(self, crashed: ProcessSet) -> ProcessSet:
        """Of these who crash, whose messages may be lost with them after others have heard of them.
        These are not owed then, nor is what waits for them."""
        return 0

    def founding(self) -> tuple[Notice, ...]:
        """The views of groups that this process has founded without a word, as all know them."""
        return ()

    @abstractmethod
    def held(self) -> list[Held]:
        """What it holds and why, in the order of identities."""

    @abstractmethod
    def entries(self) -> int:
        """Elements of ordering information it keeps, as the paper counts them."""

    def entries_bound(self) -> int | None:
        """The largest value of `entries` that the paper allows; None where it sets no bound."""
        return None

    def size(self) -> Size:
        return Size(self.entries(), len(self.snapshot()), len(self.held()))

    def snapshot(self) -> bytes:
        """The state as bytes: equal for equal states."""
        return freeze(self.state)

    def lasting(self) -> bytes:
        """The state apart from when it last heard of whom, and what it answered to that: all that
        a packet that arrives again may change."""
        return self.snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot of an order of the same process, membership and options. Wake-ups
        that were asked for before the snapshot are the caller's to keep, as packets in flight
        are."""
        self.state = thaw(snapshot, self.state_type)
        self.resume()

    @classmethod
    def talks_to_neighbours(cls, options: Mapping[str, Any]) -> bool:
        """Whether with these options, as a person writes them, processes are the nodes of a network
        and address those alone that they are linked to."""
        return False

    @classmethod
    def check_loss(cls, options: Mapping[str, Any]) -> None:
        """Refuse to run with these options, as a person writes them, on links that lose packets."""
        return

    @property
    def reach(self) -> ProcessSet:
        """Whom the application at this process may address; nobody where none lives."""
        return self.membership.everybody

    def check_addressing(self, message: Message) -> None:
        """Refuse a message that this process may not send."""
        if message.id.sender != self.process:
            raise Misuse(f"process {self.process} sends a message of process {message.id.sender}")
        if message.destinations == self._everybody and not self.membership.groups:
            return  # The usual case, which every protocol takes.
        addressing = self.traits.addressing
        if message.destinations & ~self.membership.everybody or not message.destinations:
            raise Misuse(
                f"message {message.id} is addressed to {list(members(message.destinations))}; "
                f"there are processes 0 to {self.membership.size - 1}"
            )
        if addressing is Addressing.SETS:
            return
        group = message.group if self.membership.groups else 0
        if addressing is Addressing.ONE_GROUP:
            allowed: Iterable[int] = [0] if len(self.membership.groups) <= 1 else []
        else:
            allowed = self.membership.groups_of(self.process)
        if group not in allowed or self.membership.group(group) != message.destinations:
            raise Misuse(
                f"{self.name} addresses whole groups that the sender is a member of; message "
                f"{message.id} of group {message.group} is addressed to "
                f"{list(members(message.destinations))}"
            )

    def check_header(self, packet: Packet[Any]) -> Message:
        """Refuse a packet that brings no message to this process from its sender."""
        message = packet.message
        if message is None:
            raise MalformedStamp("message", "is missing")
        sender, number = message.id
        if packet.source != sender or sender == self.process or sender >= self.membership.size:
            raise MalformedStamp("sender", f"is {sender}, from process {packet.source}")
        if number < 1:
            raise MalformedStamp("number", f"is {number}; messages are numbered from 1")
        if not message.destinations >> self.process & 1:
            raise MalformedStamp("destinations", f"does not contain process {self.process}")
        if message.destinations >> self.membership.size:
            raise MalformedStamp("destinations", "contains processes that do not exist")
        return message

    def multicast(self, message: Message, stamp: Stamp) -> list[Effect]:
        """The effects of sending with one stamp for all: a copy to every other destination, and
        the delivery to oneself."""
        effects: list[Effect] = []
        own = 1 << self.process
        others = message.destinations & ~own
        if others:
            effects.append(Transmit(Packet(self.process, message, stamp), others))
        if message.destinations & own:
            effects.append(Deliver(message))
        return effects
