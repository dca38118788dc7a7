"""What `shortest` knows: messages on their way, those that wait, and the rest of its state."""

import msgspec

from antecede.message import Message, MessageId, ProcessSet
from antecede.overlays.separators.contexts import Context, Facts, Log, Received, Token
from antecede.overlays.separators.gossip import GossipState


class Travelling(msgspec.Struct, array_like=True):
    """A message on its way: for whom, what they wait for, and the context."""

    message: Message
    to: ProcessSet
    waits: Context
    known: Context


class Entering(msgspec.Struct, array_like=True):
    """Parts of a message that are to go on, each to a next hop, when the borders have what was left
    out of them: by region, the epoch. `is_own`: whether the message was sent here."""

    parts: list[tuple[Travelling, int]]
    epochs: dict[int, int]
    is_own: bool = False


class Memory(msgspec.Struct, array_like=True):
    """What outlives a crash."""

    logs: dict[Token, Log]


class State(msgspec.Struct, array_like=True):
    """`sent`: how many hop messages were sent here, and `links`: how many to each neighbour. `got`:
    those that have come from each. `context`: of the application here, and `delivered`: the last
    number that it delivered of each sender. `logs`: what was deposited, by region and member.
    `transit`: messages that wait for a log. `entering`: those that wait for the border to have
    one; `acked`: up to where others have the own logs. `held`: messages for the application here,
    which wait for others. `kept`: those that it has sent, until they are known to be delivered.
    `facts`: what need not be kept. `untold`: what was delivered since that was told, and
    `untold_count`: how much. `gossip`: see there."""

    sent: int = 0
    links: dict[int, int] = {}
    got: dict[int, Received] = {}
    context: Context = msgspec.field(default_factory=lambda: Context({}, {}))
    delivered: dict[int, int] = {}
    logs: dict[Token, Log] = {}
    transit: list[Travelling] = []
    entering: list[Entering] = []
    acked: dict[Token, int] = {}
    held: dict[MessageId, Travelling] = {}
    kept: dict[MessageId, Travelling] = {}
    facts: Facts = msgspec.field(default_factory=lambda: Facts({}, {}))
    untold: dict[int, int] = {}
    untold_count: int = 0
    gossip: GossipState = msgspec.field(default_factory=GossipState)


def highest(waits: dict[MessageId, ProcessSet], to: ProcessSet) -> dict[MessageId, ProcessSet]:
    """The last message of each sender is enough for each destination: they are delivered in the
    order of their numbers."""
    found: dict[MessageId, ProcessSet] = {}
    left: dict[int, ProcessSet] = {}
    for id_ in sorted(waits, reverse=True):
        mask = waits[id_] & left.get(id_.sender, to)
        if mask:
            found[id_] = mask
            left[id_.sender] = left.get(id_.sender, to) & ~mask
    return found
