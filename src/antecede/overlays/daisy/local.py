"""How messages travel inside of a group: as a rule they are broadcast to all members.

The paper's third and second optimisation do it otherwise in local groups: `local_server` and
`local_recipients`. `Broadcast` has all that each of these ways has to answer, with the answers of a
broadcast; the others override what is different.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from antecede import groups
from antecede.message import MessageId
from antecede.order import Held
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.items import (
    Ahead,
    Carry,
    Ids,
    Item,
    carry,
    causal,
    encode_items,
    unpack,
)
from antecede.overlays.daisy.layer import ABOVE, Layer
from antecede.overlays.daisy.records import Kept, Memory

if TYPE_CHECKING:
    from antecede.overlays.daisy.relay import Relay


class Broadcast(Part):
    """All members get all messages, and order them by a vector. Also the interface of the other
    ways."""

    reaches_all = True
    """Whether all members have all messages of the group."""
    goes_on = False
    """Whether there may be something to do after every input (`go_on`)."""

    def __init__(self, core: Core, relay: "Relay") -> None:
        super().__init__(core)
        self.relay = relay

    def send(self, layer: Layer, item: Carry | Ahead, now: float) -> None:
        """Send a message into the group."""
        self.core.queue(layer, layer.send(item, now))

    def may_go_on(self, layer: Layer, kept: Kept) -> bool:
        """Whether a message may be sent on: when it is stable or, with other values of `forward`,
        at once."""
        return kept.stable or self.options.forward != "stable"

    def holds_back(self, layer: Layer, kept: Kept) -> bool:
        """Whether a message is here, and not to be sent on yet."""
        return False

    def knows_done(self, layer: Layer) -> bool:
        """Whether this process can tell that the group is done with a message."""
        return True

    def let_go(self, layer: Layer, message: MessageId, now: float) -> None:
        """A message that was for the group alone need not be kept."""
        self.relay.release(layer, message, now)

    def on_let_go(self, layer: Layer, message: MessageId) -> None:
        """A message is about to be let go here."""

    def on_release(self, layer: Layer, ids: Ids) -> None:
        """Nobody need keep these."""

    def on_told(self, layer: Layer, sender: groups.MemberId, payload: bytes, now: float) -> None:
        """A member has said something to this one alone."""

    def on_merged(self, layer: Layer, message: groups.GroupMessage, now: float) -> None:
        """All that the members have handed over is here."""

    def on_stable(self, layer: Layer, stable: Iterable[groups.GroupMessageId], now: float) -> None:
        """All members have these."""

    def on_view(self, layer: Layer, event: groups.ViewInstalled, now: float) -> None:
        """The group has a new view."""

    def is_gathered(self, layer: Layer) -> bool:
        """Whether what the members keep is known here."""
        return True

    def go_on(self, layer: Layer, now: float) -> None:
        """Do what can be done, after every input."""

    def held(self, layer: Layer) -> list[Held]:
        """The messages that have come and wait, apart from those that the group itself holds."""
        return []

    def absorb(self, layer: Layer, memory: Memory, now: float) -> None:
        """Take over what the group remembers, deliver what this process has missed, and send what
        the group has missed."""
        own = [carry(kept.message, kept.clock) for kept in layer.in_order()]
        state, out, founding = layer.state, layer.state.out, layer.state.founding
        state.memory = memory
        out.last_sent, state.unstable, out.reported_done, state.sent_ahead = {}, {}, set(), set()
        out.reported_held = set()
        founding.stable_aside, founding.unstable_batches = (
            {within for _, within, _ in memory.aside},
            set(),
        )
        founding.owed_batches = self.owed(layer)
        for kept in layer.in_order():
            kept.stable = True
            if not layer.node.level:
                state.others_may_lack = True
                self.relay.deliver(kept)
        waiting = [unpack(stored) for stored in (*out.resend, *out.outbox)]
        resend = {item.id: item for item in (*own, *waiting) if isinstance(item, Carry)}
        out.resend, out.outbox = [], []
        seen, risen = memory.passed, self._risen(layer)
        resend |= {item.id: item for item in risen}
        missing = [item for item in resend.values() if item.number > seen.get(item.sender, 0)]
        if risen:
            missing.sort(key=causal)
        for item in missing:
            self.relay.send(layer, item, now)

    def _risen(self, layer: Layer) -> list[Carry]:
        """At a server that is back among the servers, where messages are sent on early: what goes
        up from its group, each message in its place among all that the server brings. It does not
        bring itself what had run ahead, and what came after that would overtake it."""
        below = self.core.below(layer)
        if below is None or below.node.level or self.options.forward == "stable":
            return []
        kept_below = [] if below.has_unstable_batches() else below.in_order()
        return [
            carry(kept.message, kept.clock)
            for kept in kept_below
            if kept.message.destinations & ~below.node.processes
            and self.relay.transport(below).may_go_on(below, kept)
            and not self.relay.transport(below).holds_back(below, kept)
            and self.relay.forwarding.may_rise(below, layer, kept)
        ]

    def owed(self, layer: Layer) -> set[int]:
        """The batches that this process may still have to bring into a group that has not begun:
        that from above, and the one of its group."""
        memory = layer.memory
        whose = self.core.stands_for(layer, self.process) if layer.waits_for_groups else None
        is_due = whose not in memory.brought and any(who > ABOVE for who in memory.missing_batches)
        own = {whose} if whose is not None and is_due else set()
        return memory.missing_batches & {ABOVE} | own


class PointToPoint(Broadcast):
    """What both ways have in common in which members send messages to single members."""

    reaches_all = False
    goes_on = True

    def note(self, layer: Layer, item: Carry) -> Kept:
        """Keep a message."""
        memory = layer.memory
        if item.id not in memory.kept:
            memory.places += 1
            memory.kept[item.id] = Kept(item.message, item.clock, memory.places)
        return memory.kept[item.id]

    def awaits_servers(self, layer: Layer, now: float) -> bool:
        """Whether a new server waits for what the servers keep for the group: as long as there are
        some. Where there are none, or these have lost their quorum, they may be founded anew after
        `forget_after_s`: it waits for twice as long at most, and then a gap is told."""
        above, handover = self.core.above(layer), layer.state.handover
        if layer.node.parent is None:
            return False
        is_begun = above is not None and above.has_begun
        if is_begun or (above is not None and not above.is_lost):
            handover.without_servers_since = -1.0
            return not is_begun
        if handover.without_servers_since < 0:
            handover.without_servers_since = now
        if now - handover.without_servers_since <= 2 * self.options.forget_after_s:
            return True
        handover.without_servers_since = -1.0
        gone, handover.gone = handover.gone, 0  # it may be lost with both: one gap names all
        self.core.tell_gap(layer, self.core.beyond(layer) | gone)
        return False

    def tell(self, layer: Layer, process: int, items: Iterable[Item], now: float) -> int:
        """Send items to one member alone, and return their number in the channel to it."""
        self.core.queue(layer, layer.member.tell(process, encode_items(tuple(items)), now))
        return layer.member.acknowledged(process)[1]

    def absorb(self, layer: Layer, memory: Memory, now: float) -> None:
        """Back in the group: what this process keeps as its own is what was sent or delivered here;
        everything else comes from the server. A process that has served brings along all that it
        had put in order: what it has delivered may come after something that only it and others
        that are away had."""
        state, own = layer.state, layer.memory
        state.memory = memory
        memory.kept = {
            id_: kept
            for id_, kept in own.kept.items()
            if own.passed
            or id_.sender == self.process
            or kept.message.destinations >> self.process & 1
        }
        memory.passed, memory.places = {}, own.places
        state.out.last_sent, state.unstable, state.out.reported_done = {}, {}, set()
        state.handover.told = {}
