"""Less order than causal order, live (Rodrigues, Verissimo, chapter 6; `antecede.histories`).

Labels are an order as they are (`antecede.histories.labels`). Contexts: the application holds
histories, and a message follows what is in the one it is sent in; here they are an order, too, so
that views, copies for survivors and recordings work as for any other.

A history speaks of messages of one view. What was sent in former views is delivered, or gone with
its sender, before the next begins: so a context of a former view stands for nothing that would
still have to be waited for.
"""

from typing import Any

import msgspec

from antecede.errors import Misuse
from antecede.groups import MemberId
from antecede.histories import Contexts, DeliverIn
from antecede.histories.history import History, merge
from antecede.message import Membership, Message
from antecede.order import (
    Addressing,
    Effect,
    Gives,
    Held,
    Order,
    Packet,
    Traits,
)

__all__ = ["Context", "ContextOrder", "DeliverIn", "merged"]


Head = tuple[MemberId, int]
"""A message by its sender, and its number among all of that life."""


class Context(msgspec.Struct, frozen=True):
    """What a message follows: a history in a view. The empty one is `Context()`."""

    view: int = 0
    history: History = msgspec.field(default_factory=History)
    heads: tuple[Head, ...] = ()
    """The messages that it was put together of, without what these follow: for recordings."""


def merged(first: Context, second: Context) -> Context:
    """The context that follows both; if they are of two views, the one of the later view. Raises
    nothing.

        await group.send_in(merged(answered, remarked), b"both noted")
    """
    if first.view != second.view:
        return max(first, second, key=lambda context: context.view)
    heads = tuple(dict.fromkeys((*first.heads, *second.heads)))
    return Context(first.view, merge(first.history, second.history), heads)


class _NoState(msgspec.Struct, array_like=True):
    """The parts have their own."""


class ContextOrder(Order):
    """Histories held by the application. `after` is that of the last message sent, with it."""

    name = "contexts"
    traits = Traits(
        title="histories held by the application",
        paper="Rodrigues, Verissimo 1994",
        addressing=Addressing.SETS,
        gives=Gives.NOTHING,
    )
    stamp_type = Contexts.stamp_type
    state_type = _NoState

    def __init__(self, process: int, membership: Membership) -> None:
        self._contexts = Contexts(process, membership)
        self.after = History()
        super().__init__(process, membership)

    def initial_state(self) -> _NoState:
        return _NoState()

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        raise Misuse("where the application holds the histories, a message is sent in one: send_in")

    def send_in(self, history: History | None, message: Message, now: float) -> list[Effect]:
        """Send a message that follows what is in the history."""
        self.after, effects = self._contexts.send(
            history, message.destinations, message.payload, now
        )
        return effects

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        return self._contexts.receive(packet, now)

    def held(self) -> list[Held]:
        return self._contexts.held()

    def entries(self) -> int:
        return 0
