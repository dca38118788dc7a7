"""What comes out of an order, as data: packets with their stamps, deliveries, and what else is to
be done or told."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import msgspec

from antecede.message import Message, MessageId, ProcessSet

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
    """That has ended: the process goes on in the group, or is in it no more."""
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
