"""What a process does with messages: it delivers them, sends them on from group to group, keeps
them and lets them go."""

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable

import msgspec

from antecede import groups
from antecede.message import Message, MessageId, ProcessSet
from antecede.order import (
    Deliver,
    Effect,
    Order,
)
from antecede.overlays._daisy_items import (
    Ahead,
    Carry,
    Change,
    Done,
    Ids,
    Item,
    Kept,
    Release,
    carry,
    unpack,
)
from antecede.overlays._daisy_layer import (
    Layer,
    LayerState,
)
from antecede.overlays._daisy_options import DaisyOptions
from antecede.overlays._daisy_plan import Node, Plan


class State(msgspec.Struct, array_like=True):
    """`clock`: Lamport time. `delivered`: the last number of each process that was delivered here.
    `layers`: the local group, the group of its servers if this process is its server, and so on.
    `changes`: how the plan has changed. `talk`: who talks with whom how much in the local group.
    `beyond`: the number of the last own message that went beyond the local group."""

    clock: int = 0
    delivered: dict[int, int] = {}
    layers: list[LayerState] = []
    changes: list[bytes] = []
    talk: dict[tuple[int, int], int] = {}
    beyond: int = 0


class Relay(Order):
    """A process in its groups, as far as messages are concerned."""

    options: DaisyOptions
    state: State
    _plan: Plan
    _layers: list[Layer]
    _agenda: deque[tuple[Layer, groups.Effect]]
    _effects: list[Effect]

    @abstractmethod
    def _count_talk(self, layer: Layer, message: Message) -> None:
        """Who talks with whom."""

    @abstractmethod
    def _call(self, layer: Layer, who: int) -> None:
        """Wake a member or a group that is away."""

    @abstractmethod
    def _apply_changes(
        self, layer: Layer, stable: Iterable[groups.GroupMessageId], now: float
    ) -> None:
        """Act on the changes that came in these messages."""

    # The groups of this process.

    def _do(self, layer: Layer, effects: Iterable[groups.Effect]) -> None:
        for effect in effects:
            self._agenda.append((layer, effect))

    def _above(self, layer: Layer) -> Layer | None:
        """The group of servers above, if this process is in it."""
        place = self._layers.index(layer) + 1
        above = self._layers[place] if place < len(self._layers) else None
        return above if above is not None and above.is_in else None

    def _below(self, layer: Layer) -> Layer | None:
        place = self._layers.index(layer) - 1
        return self._layers[place] if place >= 0 else None

    # Messages in a group.

    def _arrive(self, layer: Layer, item: Carry, within: groups.GroupMessageId, now: float) -> None:
        message, memory = item.message, layer.memory
        if layer.has_passed(message.id):
            self._arrive_again(layer, message.id, within, now)
            return
        memory.seen[message.id.sender] = message.id.number
        memory.places += 1
        kept = memory.kept[message.id] = Kept(message, item.clock, memory.places)
        awaited = layer.awaited(within)
        if awaited is None:
            kept.stable = True
        else:
            layer.state.unstable.setdefault(awaited, []).append(message.id)
        if not layer.node.level:
            self._count_talk(layer, message)
            self._deliver(kept)
        if self.options.forward != "stable" or kept.stable:
            self._send_on(layer, kept, now)
        below = self._below(layer)
        if below is not None and message.id in below.memory.kept:
            self._check_done(below, below.memory.kept[message.id], now)

    def _arrive_again(
        self, layer: Layer, message: MessageId, within: groups.GroupMessageId, now: float
    ) -> None:
        """It is stable as soon as one of its copies is: what depends on it may have come after this
        one, and is not to be stable before it."""
        kept = layer.memory.kept.get(message)
        if kept is not None and not kept.stable:
            awaited = layer.awaited(within)
            if awaited is None:
                self._call_stable(layer, message, now)
            else:
                layer.state.unstable.setdefault(awaited, []).append(message)

    def _deliver(self, kept: Kept) -> None:
        """To the application, if it is addressed and has not had it."""
        message = kept.message
        sender, number = message.id
        self.state.clock = max(self.state.clock, kept.clock)
        if (
            message.destinations >> self.process & 1
            and sender != self.process
            and number > self.state.delivered.get(sender, 0)
        ):
            self.state.delivered[sender] = number
            self._effects.append(Deliver(message))

    def _on_stable(self, layer: Layer, stable: Iterable[groups.GroupMessageId], now: float) -> None:
        self._apply_changes(layer, stable, now)
        if layer.memory.aside or layer.memory.early:
            layer.state.settled.update(stable)
        else:
            layer.state.settled.clear()
        layer.state.batched.difference_update(stable)
        for group_message in stable:
            messages = layer.state.unstable.pop(group_message, [])
            awaited = min(layer.state.batched, default=None)
            if awaited is not None:
                layer.state.unstable.setdefault(awaited, []).extend(messages)
                continue
            for message in messages:
                self._call_stable(layer, message, now)

    def _call_stable(self, layer: Layer, message: MessageId, now: float) -> None:
        kept = layer.memory.kept.get(message)
        if kept is None or kept.stable:
            return
        was_merging = layer.is_merging()
        kept.stable = True
        if was_merging and not layer.is_merging():
            self._reconcile(layer, now)
        self._send_on(layer, kept, now)
        self._check_done(layer, kept, now)

    # From group to group.

    def _pass(self, layer: Layer, item: Carry | Ahead, now: float) -> None:
        self._do(layer, layer.send(item, now))

    def _send_on(self, layer: Layer, kept: Kept, now: float) -> None:
        """Into the group above, if the message has destinations beyond this one, and into the group
        below, if it has some there; unless they have had it. What came in batches goes on in their
        order, before anything else.

        From a group of servers that has servers only what all of them have goes on. Its author
        there is a server that may die alone, with what came before it in the group; and that comes
        back from one side, above or below, when this has come back from the other."""
        is_between = layer.node.level > 0 and layer.node.parent is not None
        if layer.is_merging() or (is_between and not kept.stable):
            return
        message = kept.message
        above, below = self._above(layer), self._below(layer)
        if above is not None and message.destinations & ~layer.node.processes:
            self._pass_if_new(above, kept, now)
        if layer.state.ahead:  # these are still on their way below, and this may be an answer
            return
        if below is None or not below.is_new(message.id):
            return
        if self._is_awaited_below(layer, below, kept, now):
            return
        if message.destinations & below.node.processes:
            self._pass_if_new(below, kept, now)

    def _is_awaited_below(self, layer: Layer, below: Layer, kept: Kept, now: float) -> bool:
        """Whether this message, or one before it that is for somebody there, may still be brought
        into the group below by its own sender."""
        if below.view is None or not (below.memory.away or below.state.returned):
            return False
        absent = (*below.memory.away, *below.state.returned)
        bringers = {who for who in absent if below.may_bring(who, now)}
        here = below.view.processes
        return any(
            (one is kept or (one.place < kept.place and one.message.destinations & here))
            and below.is_new(one.message.id)
            for one in (layer.memory.kept.values() if bringers else ())
            if one.message.id.sender in bringers
        )

    def _pass_if_new(self, layer: Layer, kept: Kept, now: float) -> None:
        id_ = kept.message.id
        if layer.is_new(id_) and id_ not in layer.state.ahead:
            self._pass(layer, carry(kept.message, kept.clock), now)

    def _reconcile(self, layer: Layer, now: float) -> None:
        """Look again at all that is kept: who is there, or who serves, has changed. What is sent on
        when it is delivered goes now, before anything that is delivered from now on."""
        below, above = self._below(layer), self._above(layer)
        for group, lower in ((layer, below), (above, layer)):
            if group is None or lower is None or not lower.is_server:
                continue
            for kept in group.in_order():
                if self._may_go_on(group, kept):
                    self._send_on(group, kept, now)
                self._catch_up(group, lower, kept, now)
            for kept in lower.in_order():
                if self._may_go_on(lower, kept):
                    self._send_on(lower, kept, now)
                self._release_below(group, lower, kept, now)
        self._check_all(layer, now)

    def _release_below(self, group: Layer, lower: Layer, kept: Kept, now: float) -> None:
        """What the servers have had and keep no more is let go. They do not keep what a local group
        had for itself before it was split, and may have had later ones of the same process: it
        stays until the group is done."""
        message = kept.message
        is_over = group.has_passed(message.id) and message.id not in group.memory.kept
        is_inside = lower.node.contains(message)
        if is_over and not is_inside and (lower.node.level or self._is_done(lower, kept)):
            word = Release((message.id,))
            if not lower.is_told(word):
                lower.tell(word, now, self.options.tidy_s)

    def _may_go_on(self, layer: Layer, kept: Kept) -> bool:
        """What has been delivered goes on when it is stable, or at once."""
        return kept.stable or self.options.forward != "stable"

    def _catch_up(self, group: Layer, lower: Layer, kept: Kept, now: float) -> None:
        """What the group below has had and keeps no more, it is done with."""
        message, node = kept.message, lower.node
        if message.destinations & node.processes and lower.has_passed(message.id):
            below = lower.memory.kept.get(message.id)
            if below is None:
                self._report_done(group, node, message.id, now)
            else:
                self._check_done(lower, below, now)

    # Who is done with a message.

    def _is_done(self, layer: Layer, kept: Kept) -> bool:
        """Whether all in the group or below whom the message is for have it."""
        to, memory = kept.message.destinations, layer.memory
        if not layer.node.level:
            return kept.stable and not any(to >> process & 1 for process in memory.away)
        return all(
            child in kept.done or child in memory.forgotten
            for child in layer.node.children
            if to & self._plan.nodes[child].processes
        )

    def _check_done(self, layer: Layer, kept: Kept, now: float) -> None:
        """Drop the message where nothing is above, tell the group above otherwise."""
        if not self._is_done(layer, kept):
            return
        message, node = kept.message, layer.node
        above = self._above(layer)
        if above is not None and layer.is_server:
            if message.destinations & node.processes:
                self._report_done(above, node, message.id, now)
            self._release_below(above, layer, kept, now)
        if node.contains(message):
            self._release(layer, message.id, now)  # though the servers may keep it, from before

    def _check_all(self, layer: Layer, now: float) -> None:
        for kept in layer.in_order():
            self._check_done(layer, kept, now)

    def _report_done(self, above: Layer, node: Node, message: MessageId, now: float) -> None:
        kept = above.memory.kept.get(message)
        reported = above.state.reported
        if kept is not None and node.index not in kept.done and message not in reported:
            reported.add(message)
            above.tell(Done(node.index, (message,)), now, self.options.tidy_s)

    def _on_done(self, layer: Layer, node: int, ids: Ids, now: float) -> None:
        """A group below is done, whoever serves it. Where it has given way to others, they are."""
        for id_ in ids:
            kept = layer.memory.kept.get(MessageId(*id_))
            if kept is not None:
                kept.done.add(node)
                for stored in layer.memory.changes:
                    self._carry_over(kept, unpack(stored))
                self._check_done(layer, kept, now)

    def _carry_over(self, kept: Kept, change: Item) -> None:
        if isinstance(change, Change) and kept.done.issuperset(change.gone):
            kept.done.update(index for index, _ in change.made)

    def _release(self, layer: Layer, message: MessageId, now: float) -> None:
        """Nobody need keep it, here and below. It may have been the last of what came in batches
        that was not known to be stable."""
        was_merging = layer.is_merging()
        kept = layer.memory.kept.pop(message, None)
        if kept is not None:
            self._note_missed(layer, kept)
        layer.state.reported.discard(message)
        below = self._below(layer)
        if below is not None and below.is_server and message in below.memory.kept:
            below.tell(Release((message,)), now, self.options.tidy_s)
        if was_merging and not layer.is_merging():
            self._reconcile(layer, now)

    def _note_missed(self, layer: Layer, kept: Kept) -> None:
        """Whoever has been away for too long and comes back is told so, if it has missed this. It
        may be asleep, and not know that it is out."""
        for who in sorted(layer.memory.forgotten):
            if kept.message.destinations & self._those(layer, who) and who not in kept.done:
                layer.memory.missed.add(who)
                if layer.is_server:
                    self._call(layer, who)

    def _those(self, layer: Layer, who: int) -> ProcessSet:
        """The member of a local group, or the processes of a group below."""
        return self._plan.nodes[who].processes if layer.node.level else 1 << who

    def _on_release(self, layer: Layer, ids: Ids, now: float) -> None:
        for id_ in ids:
            self._release(layer, MessageId(*id_), now)
