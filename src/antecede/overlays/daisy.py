"""The hierarchical daisy (Baldoni, Friedman, van Renesse): causal order that survives crashes.

Processes live in local groups. A message is broadcast in the group of its sender, in the causal
order of that group (a vector as long as the group). Where it has destinations elsewhere, the
group's *server* (its most senior member) broadcasts it in the group of servers, whose members
broadcast it in theirs; with more levels, groups of servers have servers in turn (`_daisy_plan`).
The groups themselves are `antecede.groups`: views, flushes, reliable channels, stability.

What a process knows of each of its groups (`_daisy_layer`): the group's member; of each process the
number of its last message that came by; the messages that the group keeps, with the groups below
that are done with them. Rules, beyond the paper where marked *:

- Sent on, up and down, is what *all members* of a group have and has been delivered there*: then no
  crash can take away what an answer depends on.
- A message that came by before (by sender and number) is dropped: a new server sends on again.
- A group keeps a message until all whom it is for have it, in the group of its sender and in all
  others that it reaches*. Word of that goes up (`Done`: a group below is done) and comes down
  (`Release`). A group is done, whichever process serves it: rows belong to roles*.
- A new server joins the group above, is handed what that keeps, sends down what its group has not
  had, and then sends up what the other has not had, of its own and of others*.
- Nothing waits for the dead; but for a while a message is kept for one that is away*: it may have
  been suspected wrongly, and come back.
- A group of servers that has died as a whole is founded anew, and its servers sort what they have
  by Lamport time before anything else*.

Invariant: of two messages of which one precedes the other, all members of a group that both pass
deliver the first before the second.

Paper: R. Baldoni, R. Friedman, R. van Renesse, "The Hierarchical Daisy Architecture for Causal
Delivery", ICDCS 1997 (report of 1996).
"""

from collections import deque
from collections.abc import Iterable

import msgspec

from antecede import groups
from antecede.errors import MalformedStamp, Misuse
from antecede.groups.packets import Data as GroupData
from antecede.message import Membership, Message, MessageId, ProcessSet, members, set_to_bytes
from antecede.order import (
    Addressing,
    Awaited,
    Deliver,
    Effect,
    Event,
    Held,
    Notice,
    Options,
    Order,
    Packet,
    Scope,
    Traits,
    Transmit,
    Wake,
)
from antecede.overlays._daisy_evolve import decide, roll
from antecede.overlays._daisy_items import (
    Above,
    Carry,
    Change,
    DaisyStamp,
    Done,
    Forget,
    Ids,
    Item,
    Kept,
    Memory,
    Moved,
    Ready,
    Release,
    Roll,
    carry,
    decode_items,
    pack,
    unpack,
)
from antecede.overlays._daisy_layer import (
    TAKING_BATCHES,
    Layer,
    LayerState,
    founding,
    joining,
)
from antecede.overlays._daisy_options import DaisyOptions
from antecede.overlays._daisy_plan import Node, Plan, plan
from antecede.overlays._daisy_search import Arrival, Search, absent, batch, gather, ready
from antecede.snapshot import freeze, thaw


class State(msgspec.Struct, array_like=True):
    """`clock`: Lamport time. `delivered`: the last number of each process that was delivered here.
    `layers`: the local group, the group of its servers if this process is its server, and so on.
    `changes`: how the plan has changed. `talk`: who talks with whom how much in the local group."""

    clock: int = 0
    delivered: dict[int, int] = {}
    layers: list[LayerState] = []
    changes: list[bytes] = []
    talk: dict[tuple[int, int], int] = {}


class Daisy(Order):
    traits = Traits(
        title="hierarchical daisy",
        paper="Baldoni, Friedman, van Renesse 1997",
        addressing=Addressing.SETS,
        survives_loss=True,
        repairs_loss=True,
        survives_crashes=True,
        prompt=False,
    )
    options_type = DaisyOptions
    stamp_type = DaisyStamp
    state_type = State
    state: State
    options: DaisyOptions

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        chosen = self.options_type() if options is None else options
        if not isinstance(chosen, DaisyOptions):
            raise Misuse(f"{type(chosen).__name__} are no options of daisy")
        self._plan = plan(membership.size, chosen.sizes, chosen.groups, chosen.latecomers)
        self._search = Search(self, chosen.suspect_after_s)
        self._layers: list[Layer] = []
        self._is_start = False
        self._agenda: deque[tuple[Layer, groups.Effect]] = deque()
        self._effects: list[Effect] = []
        super().__init__(process, membership, chosen)
        if process not in chosen.latecomers:
            self._found()

    def initial_state(self) -> State:
        return State()

    def resume(self) -> None:
        options = self.options
        self._plan = plan(self.membership.size, options.sizes, options.groups, options.latecomers)
        for stored in self.state.changes:
            self._replan(stored)
        nodes = self._plan.nodes
        self._layers = [
            Layer(self.process, nodes[layer.node], self.options, layer)
            for layer in self.state.layers
        ]

    def _found(self) -> None:
        """All know the plan: the first views need no word."""
        self._is_start = True
        self._add(founding(self.process, self._plan.leaf(self.process), self.options), 0.0)
        self._settle(0.0)
        self._is_start = False

    def join(self, now: float = 0.0) -> list[Effect]:
        leaf = self._plan.leaf(self.process)
        self._add(joining(self.process, leaf, self.options, 0, 0, leaf.processes), now)
        return self._settle(now)

    def _add(self, layer: Layer, now: float) -> None:
        self._layers.append(layer)
        self.state.layers.append(layer.state)
        self._do(layer, layer.member.start(now))

    # Inputs.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        own = 1 << self.process
        if message.destinations != own:
            if not self._layers:
                raise Misuse(f"process {self.process} has not joined yet")
            self.state.clock += 1
            self._pass(self._layers[0], carry(message, self.state.clock), now)
        if message.destinations & own:
            self._effects.append(Deliver(message))
        return self._settle(now)

    def receive(self, packet: Packet[DaisyStamp], now: float = 0.0) -> list[Effect]:
        stamp = packet.stamp
        if packet.message is not None:
            raise MalformedStamp("message", "is not where a daisy carries it")
        if not 0 <= packet.source < self.membership.size:
            raise MalformedStamp("source", f"is {packet.source}")
        if (stamp.packet is None) == (stamp.talk is None):
            raise MalformedStamp("packet", "or talk: a stamp has one of them")
        if stamp.packet is not None:
            self._receive(packet.source, stamp.packet, stamp.busy, now)
        elif stamp.talk is not None:
            if isinstance(stamp.talk, Moved):
                self._on_moved(stamp.talk.changes, now)
            elif stamp.talk.node in self._plan.nodes:
                self._search.on_talk(packet.source, stamp.talk, now)
        return self._settle(now)

    def _receive(self, source: int, packet: groups.Packet, busy: bool, now: float) -> None:
        if packet.source.process != source:
            raise MalformedStamp("source", f"is {source}, for {packet.source.process}")
        if isinstance(packet.body, GroupData):
            self._check(decode_items(packet.body.payload))
        for layer in self._layers:
            if layer.config.group == packet.group:
                self._do(layer, layer.member.receive(packet, now))
                if busy:
                    layer.hear_busy(now)
                return
        if any(packet.group in gone for gone in self._gone()):
            self._search.say(Moved(packet.group, tuple(self.state.changes)), 1 << source)

    def _gone(self) -> list[tuple[int, ...]]:
        """The local groups that have given way to others."""
        changes = map(unpack, self.state.changes)
        return [change.gone for change in changes if isinstance(change, Change)]

    def _check(self, items: Iterable[Item]) -> None:
        size = self.membership.size
        for item in items:
            if isinstance(item, Carry):
                if item.sender >= size:
                    raise MalformedStamp("sender", f"is {item.sender}")
                to = item.message.destinations
                if not to or to >> size:
                    raise MalformedStamp("destinations", "are none, or unknown processes")

    def wake(self, now: float) -> list[Effect]:
        for layer in list(self._layers):
            if not layer.state.resting and layer.state.wake_at <= now:
                self._do(layer, layer.member.wake(now))
                self._note_return(layer, now)
                self._call_roll(layer, now)
                if layer.is_server:
                    self._look_after(layer, now)
                if layer.node.level:
                    self._search.tick(layer, now)
            self._do(layer, layer.flush_items(now))
        return self._settle(now)

    # The effects of the groups, first in, first out.

    def _do(self, layer: Layer, effects: Iterable[groups.Effect]) -> None:
        for effect in effects:
            self._agenda.append((layer, effect))

    def _settle(self, now: float) -> list[Effect]:
        while self._agenda:
            layer, effect = self._agenda.popleft()
            if layer in self._layers:
                self._perform(layer, effect, now)
        for layer in self._layers:
            if layer.state.resting and layer.is_awake(now):
                self._rouse(layer, now)
            if layer.state.items and layer.state.items_at != layer.state.items_asked:
                layer.state.items_asked = layer.state.items_at
                self._effects.append(Wake(layer.state.items_at))
        effects, self._effects = self._effects, []
        return effects

    def _perform(self, layer: Layer, effect: groups.Effect, now: float) -> None:
        match effect:
            case groups.Transmit(to, packet):
                stamp = DaisyStamp(packet, None, layer.is_busy(now))
                self._effects.append(Transmit(Packet(self.process, None, stamp), to))
            case groups.Deliver(message):
                self._on_deliver(layer, message, now)
            case groups.Stable(stable):
                self._on_stable(layer, stable, now)
            case groups.ViewInstalled():
                self._on_view(layer, effect, now)
            case groups.StateWanted(view):
                content = freeze(layer.memory)
                self._do(layer, layer.member.provide_state(view, content, now))
            case groups.Suspended():
                self._effects.append(Notice(Event.STOPPED, layer.node.name))
            case groups.Stopped():
                self._on_stopped(layer, effect, now)
            case groups.Wake(at):
                self._on_wake(layer, at, now)
            case _:
                pass

    def _on_wake(self, layer: Layer, at: float, now: float) -> None:
        """A group asks for its next tick at every tick: one at rest gets none."""
        layer.state.wake_at = at
        layer.state.resting = not layer.is_awake(now)
        if not layer.state.resting:
            self._effects.append(Wake(at))

    def _rouse(self, layer: Layer, now: float) -> None:
        at = layer.rouse(now)
        if at is not None:
            self._effects.append(Wake(at))

    # Messages in a group.

    def _on_deliver(self, layer: Layer, message: groups.GroupMessage, now: float) -> None:
        sender = message.sender.process
        arrivals = [(sender, message.id, item) for item in decode_items(message.payload)]
        if layer.state.batches:
            gather(layer, arrivals)
            self._take_batches(layer, now)
        else:
            self._take(layer, arrivals, now)

    def _take_batches(self, layer: Layer, now: float) -> None:
        """When all batches are here, or will not come: these first, then what came meanwhile."""
        if not layer.state.batches:
            self._tell_gap(layer)
            batches, others = ready(layer)
            layer.state.merged = TAKING_BATCHES
            self._take(layer, batches, now)
            layer.state.merged = layer.memory.places
            self._reconcile(layer, now)
            self._take(layer, others, now)

    def _take(self, layer: Layer, arrivals: Iterable[Arrival], now: float) -> None:
        """Word that may be the end of the group comes last."""
        for sender, within, item in sorted(arrivals, key=lambda one: isinstance(one[2], Ready)):
            if layer not in self._layers:
                return
            match item:
                case Carry():
                    self._arrive(layer, item, within, now)
                case Done(node, ids):
                    self._on_done(layer, node, ids, now)
                case Release(ids):
                    self._on_release(layer, ids, now)
                case Forget(who):
                    self._on_forget(layer, who, now)
                case Above(epoch, processes):
                    layer.state.above_epoch = epoch
                    layer.state.above = int.from_bytes(processes, "little")
                case Roll(node, processes):
                    layer.memory.rolls[node] = processes
                    self._evolve(layer, now)
                case Change():
                    self._on_change(layer, item, now)
                case Ready():
                    layer.state.ready.add(sender)
                    self._move_if_ready(layer, now)

    def _tell_gap(self, layer: Layer) -> None:
        """A group of servers goes on without what only these groups had."""
        view, node = layer.view, layer.node
        if view is not None and node.level:
            present = {self._plan.child_of(node, member.process) for member in view.members}
            silent = [child for child in node.children if child not in present]
            lost = sum(self._plan.nodes[child].processes for child in silent)
            if lost:
                self._effects.append(Notice(Event.GAP, node.name, members=lost))

    def _arrive(self, layer: Layer, item: Carry, within: groups.GroupMessageId, now: float) -> None:
        message, memory = item.message, layer.memory
        if layer.has_passed(message.id):
            return
        memory.seen[message.id.sender] = message.id.number
        memory.places += 1
        kept = memory.kept[message.id] = Kept(message, item.clock, memory.places)
        if within in layer.state.settled:
            kept.stable = True
        else:
            layer.state.unstable.setdefault(within, []).append(message.id)
        if not layer.node.level:
            self._count_talk(layer, message)
            self._deliver(kept)
        if self.options.forward == "delivered" or kept.stable:
            self._send_on(layer, kept, now)
        below = self._below(layer)
        if below is not None and message.id in below.memory.kept:
            self._check_done(below, below.memory.kept[message.id], now)

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
        if layer.state.aside:
            layer.state.settled.update(stable)
        for group_message in stable:
            for message in layer.state.unstable.pop(group_message, ()):
                kept = layer.memory.kept.get(message)
                if kept is not None:
                    was_merging = layer.is_merging()
                    kept.stable = True
                    if was_merging and not layer.is_merging():
                        self._reconcile(layer, now)
                    self._send_on(layer, kept, now)
                    self._check_done(layer, kept, now)

    # From group to group.

    def _above(self, layer: Layer) -> Layer | None:
        """The group of servers above, if this process is in it."""
        place = self._layers.index(layer) + 1
        above = self._layers[place] if place < len(self._layers) else None
        return above if above is not None and above.is_in else None

    def _below(self, layer: Layer) -> Layer | None:
        place = self._layers.index(layer) - 1
        return self._layers[place] if place >= 0 else None

    def _pass(self, layer: Layer, item: Carry, now: float) -> None:
        self._do(layer, layer.send(item, now))

    def _send_on(self, layer: Layer, kept: Kept, now: float) -> None:
        """Into the group above, if the message has destinations beyond this one, and into the group
        below, if it has some there; unless they have had it. What came in batches goes on in their
        order, before anything else."""
        if layer.is_merging():
            return
        message = kept.message
        above, below = self._above(layer), self._below(layer)
        if above is not None and message.destinations & ~layer.node.processes:
            self._pass_if_new(above, kept, now)
        if below is not None and message.destinations & below.node.processes:
            self._pass_if_new(below, kept, now)

    def _pass_if_new(self, layer: Layer, kept: Kept, now: float) -> None:
        if layer.is_new(kept.message.id):
            self._pass(layer, carry(kept.message, kept.clock), now)

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
        if not message.destinations & ~node.processes and node.processes >> message.id.sender & 1:
            self._release(layer, message.id, now)
            return
        above = self._above(layer)
        if above is not None and layer.is_server and message.destinations & node.processes:
            self._report_done(above, node, message.id, now)

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
        """Nobody need keep it, here and below."""
        layer.memory.kept.pop(message, None)
        layer.state.reported.discard(message)
        below = self._below(layer)
        if below is not None and below.is_server and message in below.memory.kept:
            below.tell(Release((message,)), now, self.options.tidy_s)

    def _on_release(self, layer: Layer, ids: Ids, now: float) -> None:
        for id_ in ids:
            self._release(layer, MessageId(*id_), now)

    # Views.

    def _on_view(self, layer: Layer, event: groups.ViewInstalled, now: float) -> None:
        view, state = event.view, layer.state
        where = layer.node.name
        self._effects.append(Notice(Event.VIEW, where, view.number, view.processes))
        server = view.members[0].process
        if state.server not in (-1, server):
            self._effects.append(Notice(Event.SERVER, where, view.number, 1 << server))
        state.server = server
        if event.state:
            self._absorb(layer, event.state, now)
        if state.batches:
            absent(layer, view)
            self._take_batches(layer, now)
        self._note_absence(layer, view, now)
        if layer.is_server:
            self._serve(layer, now)
        self._reconcile(layer, now)
        self._tell_below(layer, view, now)
        self._call_roll(layer, now)
        self._move_if_ready(layer, now)

    def _serve(self, layer: Layer, now: float) -> None:
        """The server of a group is in the group above."""
        node = layer.node
        if node.parent is None or layer is not self._layers[-1]:
            return
        parent = self._plan.nodes[node.parent]
        if self._is_start:
            above = founding(self.process, parent, self.options)
        else:
            contacts = layer.state.above | sum(1 << process for process in parent.founders)
            epoch = layer.state.above_epoch
            above = joining(self.process, parent, self.options, 0, epoch, contacts)
        self._add(above, now)

    def _tell_below(self, layer: Layer, view: groups.View, now: float) -> None:
        """The group below has to know whom its next server can turn to."""
        below = self._below(layer)
        if below is not None and view.number > 1:
            word = Above(layer.state.epoch, set_to_bytes(view.processes))
            below.tell(word, now, self.options.tidy_s)

    def _absorb(self, layer: Layer, content: bytes, now: float) -> None:
        """In a new view, or again after an exclusion: take over what the group remembers, deliver
        what has been missed, and send what the group has missed."""
        own = [carry(kept.message, kept.clock) for kept in layer.in_order()]
        state = layer.state
        state.memory = memory = thaw(content, Memory)
        self._learn(memory.changes, now)
        state.sent, state.unstable, state.reported = {}, {}, set()
        for kept in layer.in_order():
            kept.stable = True
            if not layer.node.level:
                self._deliver(kept)
        waiting = [unpack(stored) for stored in (*state.resend, *state.outbox)]
        resend = {item.id: item for item in (*own, *waiting) if isinstance(item, Carry)}
        state.resend, state.outbox = [], []
        for item in resend.values():
            if item.number > memory.seen.get(item.sender, 0):
                self._pass(layer, item, now)

    def _note_absence(self, layer: Layer, view: groups.View, now: float) -> None:
        """Who has left may come back: remember since when it is away."""
        memory, node = layer.memory, layer.node
        if node.level:
            present = {self._plan.child_of(node, member.process) for member in view.members}
            expected: Iterable[int] = node.children
        else:
            present = {member.process for member in view.members}
            expected = members(node.processes & ~self._unborn(layer))
        for who in expected:
            if who not in present:
                if who not in memory.forgotten:
                    memory.away.setdefault(who, now)
            elif node.level:
                memory.away.pop(who, None)
                memory.forgotten.discard(who)

    def _note_return(self, layer: Layer, now: float) -> None:
        """Who has come back has what was kept for it as soon as it speaks in the new view."""
        memory, view = layer.memory, layer.view
        if layer.node.level or view is None or not (memory.away or memory.forgotten):
            return
        back = [
            member.process
            for member, peer in zip(view.members, layer.member.state.peers, strict=True)
            if peer.present
            and (member.process in memory.away or member.process in memory.forgotten)
        ]
        for process in back:
            memory.away.pop(process, None)
            memory.forgotten.discard(process)
        if back:
            self._check_all(layer, now)

    def _check_all(self, layer: Layer, now: float) -> None:
        for kept in layer.in_order():
            self._check_done(layer, kept, now)

    def _unborn(self, layer: Layer) -> ProcessSet:
        """Latecomers that nobody has seen."""
        late = sum(1 << process for process in self.options.latecomers)
        return late & ~sum(1 << process for process in layer.memory.away)

    def _reconcile(self, layer: Layer, now: float) -> None:
        """Look again at all that is kept: who is there, or who serves, has changed."""
        below, above = self._below(layer), self._above(layer)
        for group, lower in ((layer, below), (above, layer)):
            if group is None or lower is None or not lower.is_server:
                continue
            for kept in group.in_order():
                if kept.stable:
                    self._send_on(group, kept, now)
                self._catch_up(group, lower, kept, now)
            for kept in lower.in_order():
                if kept.stable:
                    self._send_on(lower, kept, now)
                message = kept.message
                if (
                    (
                        message.destinations & ~lower.node.processes
                        or not lower.node.processes >> message.id.sender & 1
                    )
                    and group.has_passed(message.id)
                    and message.id not in group.memory.kept
                ):
                    lower.tell(Release((message.id,)), now, self.options.tidy_s)
        self._check_all(layer, now)

    def _catch_up(self, group: Layer, lower: Layer, kept: Kept, now: float) -> None:
        """What the group below has had and keeps no more, it is done with."""
        message, node = kept.message, lower.node
        if message.destinations & node.processes and lower.has_passed(message.id):
            below = lower.memory.kept.get(message.id)
            if below is None:
                self._report_done(group, node, message.id, now)
            else:
                self._check_done(lower, below, now)

    # Absence.

    def _look_after(self, layer: Layer, now: float) -> None:
        """Forget who has been away for too long, and wake the groups that have no server here."""
        memory, node = layer.memory, layer.node
        for who, since in sorted(memory.away.items()):
            if now - since > self.options.forget_after_s and memory.kept:
                if not layer.is_told(Forget(who)):
                    layer.tell(Forget(who), now, self.options.tidy_s)
            elif not node.level:
                if self.state.changes:
                    self._search.say(Moved(node.index, tuple(self.state.changes)), 1 << who)
            else:
                child = self._plan.nodes[who]
                if any(kept.message.destinations & child.processes for kept in layer.in_order()):
                    self._search.call(layer, child)

    def _on_forget(self, layer: Layer, who: int, now: float) -> None:
        memory = layer.memory
        if who in memory.away:
            del memory.away[who]
            memory.forgotten.add(who)
            self._check_all(layer, now)

    def _on_stopped(self, layer: Layer, event: groups.Stopped, now: float) -> None:
        """The others went on without this process: it comes back. It serves no group meanwhile."""
        old = layer.state
        again = joining(
            self.process,
            layer.node,
            self.options,
            old.incarnation + 1,
            old.epoch,
            layer.node.processes if not layer.node.level else self._contacts(layer),
        )
        again.state.memory = old.memory
        again.state.outbox = layer.unsent()
        again.state.above, again.state.above_epoch = old.above, old.above_epoch
        again.state.resend = [
            pack(item)
            for message in event.undelivered
            for item in decode_items(message.payload)
            if isinstance(item, Carry)
        ] + [stored for _, _, stored in old.aside if isinstance(unpack(stored), Carry)]
        self.replace(layer, again, now)

    # For the search.

    def layers(self) -> list[Layer]:
        return self._layers

    def layer_of(self, node: int) -> Layer | None:
        return next((layer for layer in self._layers if layer.node.index == node), None)

    def emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    def replace(self, old: Layer, new: Layer, now: float, is_server: bool = False) -> None:
        """Be in a group in another way. Whatever is above depends on it, and is over, unless this
        process serves the group still."""
        place = self._layers.index(old)
        if not is_server:
            del self._layers[place + 1 :], self.state.layers[place + 1 :]
        self._layers[place] = new
        self.state.layers[place] = new.state
        self._do(new, new.member.start(now))
        if new.state.batches:
            below = self._layers[place - 1] if place else None
            self._do(new, new.bring(batch(new, below), now))

    @property
    def groups_plan(self) -> Plan:
        return self._plan

    # Evolution.

    def _count_talk(self, layer: Layer, message: Message) -> None:
        if self.options.split_above and layer.is_server:
            talk, sender = self.state.talk, message.id.sender
            for to in members(message.destinations & layer.node.processes):
                pair = (min(sender, to), max(sender, to))
                talk[pair] = talk.get(pair, 0) + 1

    def _call_roll(self, layer: Layer, now: float) -> None:
        """The servers have to know how large the groups are."""
        is_evolving = self.options.split_above or self.options.merge_below
        lower = layer if not layer.node.level else self._below(layer)
        above = None if lower is None or lower.node.level else self._above(lower)
        if not is_evolving or lower is None or above is None or not lower.is_server:
            return
        view = lower.view
        if view is not None and not self._is_start:
            processes = tuple(member.process for member in view.members)
            word = roll(lower.node.index, processes, self.state.talk)
            known = above.memory.rolls.get(lower.node.index, ())
            if set(known) != set(word.processes) and not above.is_told(word):
                above.tell(word, now, self.options.tidy_s)

    def _evolve(self, layer: Layer, now: float) -> None:
        """The server of the servers decides, one change after the other."""
        options, memory = self.options, layer.memory
        if not layer.is_server or layer.state.batches or layer.member.state.queue:
            return
        change = decide(
            self._plan, layer.node.index, memory, options.split_above, options.merge_below
        )
        if change is not None:
            self._do(layer, layer.send_word(change, now))

    def _on_change(self, layer: Layer, change: Change, now: float) -> None:
        """Among servers: from now on the plan is another, and the groups that give way hear of it.
        In a local group: it gives way as soon as nothing is under way in it."""
        stored = pack(change)
        children = self._plan.nodes[change.parent].children
        is_new = layer.node.level and set(change.gone) <= set(children)
        if stored in layer.memory.changes or not (is_new or layer.node.index in change.gone):
            return
        layer.memory.changes.append(stored)
        self._learn([stored], now)
        if layer.node.level:
            self._relabel(layer, change, now)
            below = self._below(layer)
            if below is not None and below.node.index in change.gone:
                self._do(below, below.send_word(change, now))
        elif layer.node.index in change.gone:
            layer.state.moving = stored
            self._do(layer, layer.send_word(Ready(), now))

    def _relabel(self, layer: Layer, change: Change, now: float) -> None:
        """What the old groups were done with, so are the new ones."""
        for kept in layer.memory.kept.values():
            self._carry_over(kept, change)
        for index in change.gone:
            layer.memory.rolls.pop(index, None)
            layer.memory.away.pop(index, None)
        if layer.view is not None:
            self._note_absence(layer, layer.view, now)

    def _move_if_ready(self, layer: Layer, now: float) -> None:
        """When all who are in the group have sent all that they send in it."""
        view = layer.view
        if not layer.state.moving or view is None:
            return
        if {member.process for member in view.members} <= layer.state.ready:
            self._move(now)

    def _learn(self, changes: Iterable[bytes], now: float) -> None:
        """Take note of the changes that are news."""
        for stored in changes:
            if stored in self.state.changes:
                continue
            change = self._replan(stored)
            if change is None:
                continue
            self.state.changes.append(stored)
            for layer in self._layers:
                layer.node = self._plan.nodes[layer.node.index]
            event = Event.SPLIT if len(change.made) > 1 else Event.MERGE
            where = " and ".join(self._plan.nodes[index].name for index in change.gone)
            self._effects.append(Notice(event, where, change.version))

    def _on_moved(self, changes: Iterable[bytes], now: float) -> None:
        """Others have gone on: the local group is no more."""
        self._learn(changes, now)
        gone = {index for indices in self._gone() for index in indices}
        if self._layers and self._layers[0].node.index in gone:
            self._move(now)

    def _replan(self, stored: bytes) -> Change | None:
        change = unpack(stored)
        if not isinstance(change, Change) or not set(change.gone) <= self._plan.nodes.keys():
            return None
        self._plan = self._plan.changed(change.parent, change.gone, change.made)
        return change

    def _move(self, now: float) -> None:
        """From a group that has given way to the one in its place."""
        old, node = self._layers[0], self._plan.leaf(self.process)
        if self.process in node.founders:
            new = founding(self.process, node, self.options)
            new.state.batches = set(node.founders)
        else:
            contacts = node.processes
            new = joining(self.process, node, self.options, 0, 0, contacts)
            new.state.memory = old.memory
        new.state.resend = old.everything()
        new.state.memory.changes = list(old.memory.changes)
        new.state.above, new.state.above_epoch = old.state.above, old.state.above_epoch
        above = self._above(old)
        if above is not None and above.view is not None:
            new.state.above, new.state.above_epoch = above.view.processes, above.state.epoch
            # Of two groups that are merged, one may be ahead of the other: all that the servers
            # keep for the new group has to come in order with the rest.
            new.state.resend += [
                pack(carry(kept.message, kept.clock))
                for kept in above.in_order()
                if kept.message.destinations & node.processes
            ]
        is_server = self.process in node.founders[:1]
        self.replace(old, new, now, is_server and above is not None)

    def _contacts(self, layer: Layer) -> ProcessSet:
        below = self._below(layer)
        known = below.state.above if below is not None else 0
        return known | sum(1 << process for process in layer.node.founders)

    # What it knows.

    def snapshot(self) -> bytes:
        for layer in self._layers:
            layer.state.member = layer.member.snapshot()
        return freeze(self.state)

    def held(self) -> list[Held]:
        """What has come to the local group and is not delivered there."""
        found: dict[MessageId, Held] = {}
        for layer in self._layers[:1]:
            for waiting in layer.member.held():
                for message in self._carried(layer, waiting.message):
                    is_new = message.id.number > self.state.delivered.get(message.id.sender, 0)
                    if message.destinations >> self.process & 1 and is_new:
                        awaited = sorted(
                            Awaited(one.sender.process, one.number, Scope.HOP)
                            for one in waiting.awaited
                        )
                        found.setdefault(message.id, Held(message.id, tuple(awaited)))
        return [found[message] for message in sorted(found)]

    def _carried(self, layer: Layer, wanted: groups.GroupMessageId) -> list[Message]:
        for message in layer.member.state.current.values():
            if message.id == wanted:
                items = decode_items(message.payload)
                return [item.message for item in items if isinstance(item, Carry)]
        return []

    def entries(self) -> int:
        """What the groups count of their members, and what came by of each process."""
        return sum(
            len(layer.member.state.delivered) * (1 + len(layer.member.state.peers))
            + len(layer.memory.seen)
            for layer in self._layers
        )
