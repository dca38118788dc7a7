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
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import msgspec

from antecede.drawn import Chance, Drawn, Fields
from antecede.errors import MalformedStamp, Misuse
from antecede.message import NO_GROUP, Membership, Message, MessageId, ProcessSet, members
from antecede.snapshot import freeze, thaw

Count = Annotated[int, msgspec.Meta(ge=0)]
"""A number that a peer may not send below zero."""


class Stamp(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The ordering information on one packet. Subclasses are what travels: fields are integers,
    bytes and tuples, sets of processes as bytes."""

    carries_messages: ClassVar[bool] = False
    """Whether whole messages travel inside of it, so that one may arrive with the stamp of
    another."""

    def entries(self) -> int:
        """How many elements it carries, as the paper counts them: unless a protocol says otherwise,
        how many integers and sets."""
        return _leaves([getattr(self, field) for field in self.__struct_fields__])

    def successor(self, source: int, steps: int) -> "Stamp | None":
        """The stamp of the message that this one's sender sends so many messages later to the same
        destinations, if nothing reaches it in between; None where this one does not tell."""
        return None

    def messages(self) -> int:
        """How many messages travel inside of it, where a protocol puts them into packets of its
        own."""
        return 0

    def payload_bytes(self) -> int:
        """How many of its bytes are theirs, and no ordering information."""
        return 0


def _leaves(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return sum(map(_leaves, value))
    return 1


StampT = TypeVar("StampT", bound=Stamp)


class Packet(msgspec.Struct, Generic[StampT], frozen=True, array_like=True, gc=False):
    """What the network carries: a stamp and a message, or a stamp alone (`message` is None) where
    the protocol speaks to itself: null messages, acknowledgements, requests."""

    source: int
    message: Message | None
    stamp: StampT


class Transmit(msgspec.Struct, frozen=True, gc=False):
    """Hand this packet to the network, for each of these processes."""

    packet: Packet[Any]
    to: ProcessSet


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """Hand this message to the application."""

    message: Message


class Wake(msgspec.Struct, frozen=True, gc=False):
    """Call `wake` at this time, or as soon after it as possible."""

    at: float


class TakeBack(msgspec.Struct, frozen=True, gc=False):
    """Survivors have agreed on what of a failed process counts: the application returns to where it
    was before these deliveries; those that still stand follow again, as `Deliver`."""

    deliveries: tuple[MessageId, ...]
    """Made here, in this order, and taken back."""
    void: tuple[MessageId, ...]
    """As if they had never been sent: nobody delivers them any more."""
    since: float
    """When this process stopped to send, for the survivors to agree."""


class Event(StrEnum):
    """What a notice tells of."""

    VIEW = "view"
    """The members of a group have agreed on who they are from now on."""
    SERVER = "server"
    """Another process forwards for a group."""
    SPLIT = "split"
    MERGE = "merge"
    STOPPED = "stopped"
    """The process is cut off from most of its group and does nothing until that ends; or, where
    `members` are named, it asks these to be let in, and nobody answers."""
    RESUMED = "resumed"
    """That has ended, and the process is still in the group."""
    GAP = "gap"
    """A message has died with all who had it, but not what depends on it; or this process was away
    for so long that what was for it has been let go."""
    FAILED = "failed"
    """The survivors have agreed which events of a failed process count."""


class Notice(msgspec.Struct, frozen=True, gc=False):
    """Tell whoever watches. It asks for nothing to be done."""

    event: Event
    where: str
    """The group or process, as the protocol calls it."""
    number: int = 0
    """Of the view, or event; 0 for the neighbours of one who came, which are no view."""
    members: ProcessSet = 0
    messages: tuple[MessageId, ...] = ()

    def sentence(self) -> str:
        """For people, without the members."""
        match self.event:
            case Event.VIEW if not self.number:
                return f"a newcomer is in {self.where}, linked with"
            case Event.VIEW:
                return f"view {self.number} of {self.where}"
            case Event.SERVER:
                return f"a new server for {self.where}"
            case Event.SPLIT:
                return f"{self.where} is split"
            case Event.MERGE:
                return f"{self.where} {'are' if ' and ' in self.where else 'is'} merged"
            case Event.STOPPED if self.members:
                return f"nobody answers one who asks to be let into {self.where}"
            case Event.STOPPED:
                return f"cut off from most of {self.where}: stops until that ends"
            case Event.RESUMED:
                return f"goes on in {self.where}"
            case Event.GAP:
                if self.messages:
                    return f"{self.where} goes on without {', '.join(map(str, self.messages))}"
                if self.members:
                    return f"{self.where} goes on without what only these had"
                return f"{self.where} has not kept all that one who was away has missed"
            case Event.FAILED:
                return f"the survivors agree: void from event {self.number} on"


Effect = Transmit | Deliver | Wake | Notice | TakeBack


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


class Says(StrEnum):
    """What an option says of single processes. The explorer takes processes for alike only where
    no option tells them apart."""

    NOTHING = "nothing"
    """It holds for all."""
    EACH = "each"
    """A list has one value for each process, in their order; anything else holds for all."""
    PROCESSES = "processes"
    """It lists processes, or lists of them, and the order of no list matters."""
    NUMBERS = "numbers"
    """Unless it is left at its default, it depends on the numbers of the processes."""


def stated(**says: Says) -> Mapping[str, Says]:
    """What each option says of single processes."""
    return MappingProxyType(says)


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What can be chosen about a protocol. A protocol with options subclasses this, and states of
    each what it says of single processes; one of which it does not is taken to tell all apart."""

    says: ClassVar[Mapping[str, Says]] = stated()
    unset: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What None means, by option, as a person would write it."""

    # For the fuzzer.

    @classmethod
    def drawn(cls, fields: Fields, chance: Chance) -> Drawn:
        """Values for this scenario under which the protocol keeps its promises; not what a paper
        prints and the errata refute."""
        return {}

    @classmethod
    def drawn_variant(cls, chance: Chance) -> Drawn:
        """Options that make another protocol of it, which bears other faults."""
        return {}

    @classmethod
    def needed(cls, fields: Fields) -> Drawn:
        """Those without which the protocol promises less than it is judged by."""
        return {}

    @classmethod
    def fitting(cls, fields: Fields) -> Drawn:
        """The options of a scenario whose faults have changed: without those that were needed for
        others, or promise nothing with these."""
        return dict(fields["options"])

    @classmethod
    def among(cls, options: Fields, kept: Sequence[int]) -> Drawn:
        """These options where only some processes are left."""
        return dict(options)

    @property
    def waits_s(self) -> float:
        """How long it may wait, at most, for somebody who never comes before it goes on."""
        return 0.0

    # For advice.

    @classmethod
    def compared(cls, processes: int) -> list[Drawn]:
        """The options that are worth comparing among so many processes, as a person writes them."""
        return [{}]


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
