"""What the pure machines of a process in a group want done, as data, in order."""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from antecede.live.durable.remembered import Outgone
from antecede.live.events import Excluded, Gap, Interrupted, Restored, State, StateWanted
from antecede.live.ordering.confirmed import FullyDelivered
from antecede.live.ordering.effects import Arrived, Delivery, Sent, ToPeers, ViewChange
from antecede.live.ordering.offers import HadOf, Mark, Past
from antecede.live.transport.outgoing import Address
from antecede.order import Notice, Wake


@dataclass(frozen=True)
class Identity:
    """Who a process is and where it listens."""

    name: str
    address: Address
    incarnation: int


class ToPeer(msgspec.Struct, frozen=True, gc=False):
    """Put this item on the link to this process."""

    name: str
    item: bytes


class Remember(msgspec.Struct, frozen=True):
    """Write this to stable memory, in place of what is there, before anything more is sent."""

    file: Path
    memory: bytes


class Known(msgspec.Struct, frozen=True):
    """This is where a process listens."""

    name: str
    address: Address
    is_wanted: bool = True
    """Whether a link to it is needed at once, and not only when it is a member: in a large group
    that starts, links between those who come would be in the way of those that let them in."""
    incarnation: int | None = None
    """Of the life that it has to lead to, if no other will do."""


class Left(msgspec.Struct, frozen=True):
    """This process has left the group, as it asked to."""


class Moved(msgspec.Struct, frozen=True):
    """The view has changed; the application hears of it later."""

    change: ViewChange


class Told(msgspec.Struct, frozen=True):
    """Now the application hears of it."""

    change: ViewChange


class Dropped(msgspec.Struct, frozen=True, gc=False):
    """The protocol has delivered a message that was had before: for whoever records it."""

    delivery: Delivery


class Kept(msgspec.Struct, frozen=True, gc=False):
    """A delivery at a durable member: it goes into the log, then to the application."""

    position: int
    delivery: Delivery
    series: int
    is_to_all: bool
    is_counted: bool = True
    """Whether the session waits for it to be taken."""


class Reached(msgspec.Struct, frozen=True):
    """Own messages up to this number have reached everybody: the log need not keep them."""

    number: int


class Raised(msgspec.Struct, frozen=True):
    """Everything of a durable sender up to this number has reached everybody."""

    sender: str
    series: int
    number: int


class Learnt(msgspec.Struct, frozen=True):
    """What a durable member has to remember besides messages: where senders were when it came; what
    it lacks for ever; what others had then."""

    lasts: tuple[Mark, ...] = ()
    lacks: tuple[Mark, ...] = ()
    had: tuple[HadOf, ...] = ()


class OlderLog(msgspec.Struct, frozen=True):
    """The log of this process is an older copy of itself: somebody has had more of it."""

    peer: str
    number: int
    sent: int
    """The last one in the log."""


class Accompanied(msgspec.Struct, frozen=True):
    """Whom a durable member is in a group with, or may be: it founds none without most of them."""

    names: tuple[str, ...]


class Begun(msgspec.Struct, frozen=True):
    """A durable member has been in the group from here on."""


class ReadPast(msgspec.Struct, frozen=True):
    """Read the log after position `after` up to position `upto`, as much as fits into a part, and
    give it to the newcomer."""

    name: str
    life: int
    view: int
    after: int
    upto: int
    marks: tuple[Mark, ...]
    past: Past
    """What goes with it."""
    part_bytes: int


class Recall(msgspec.Struct, frozen=True):
    """Give back what the log has of own messages to everybody between these numbers (without the
    first): the others do not have them any more."""

    after: int
    upto: int


Durable = Kept | Outgone | Reached | Raised | Learnt | Begun | Excluded | Accompanied
"""What goes into a log."""
Output = (
    ToPeer
    | ToPeers
    | Remember
    | Known
    | Delivery
    | ViewChange
    | Sent
    | Arrived
    | FullyDelivered
    | Interrupted
    | Restored
    | Left
    | Notice
    | Wake
    | Moved
    | Told
    | Dropped
    | StateWanted
    | State
    | Gap
    | ReadPast
    | OlderLog
    | Recall
    | Durable
)
