"""What the pure machines of a process in a group want done, as data, in order."""

from dataclasses import dataclass

import msgspec

from antecede.live.durable.remembered import Outgone
from antecede.live.events import Gap, State, StateWanted
from antecede.live.ordering.effects import Arrived, Delivery, Sent, ViewChanged
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


class ToPeers(msgspec.Struct, frozen=True, gc=False):
    """Put this item on the links to these processes."""

    names: tuple[str, ...]
    item: bytes


class Known(msgspec.Struct, frozen=True):
    """This is where a process listens."""

    name: str
    address: Address


class Reborn(msgspec.Struct, frozen=True):
    """The others have gone on without this process: it joins anew, as another incarnation, and its
    links begin anew. What it sent last may or may not have been delivered."""

    incarnation: int


class Suspended(msgspec.Struct, frozen=True):
    """Most members are out of reach; nothing is sent or delivered until that ends."""

    reached: tuple[str, ...]


class Resumed(msgspec.Struct, frozen=True):
    """Enough members are within reach again."""


class Left(msgspec.Struct, frozen=True):
    """This process has left the group, as it asked to."""


class Moved(msgspec.Struct, frozen=True):
    """The view has changed; the application hears of it later."""

    change: ViewChanged


class Told(msgspec.Struct, frozen=True):
    """Now the application hears of it."""

    change: ViewChanged


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


Durable = Kept | Outgone | Reached | Raised | Learnt | Begun | Reborn | Accompanied
"""What goes into a log."""
Output = (
    ToPeer
    | ToPeers
    | Known
    | Delivery
    | ViewChanged
    | Sent
    | Arrived
    | Suspended
    | Resumed
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
    | Recall
    | Durable
)
