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

from antecede import groups
from antecede.errors import MalformedStamp, Misuse
from antecede.groups.packets import Data as GroupData
from antecede.groups.packets import Tell
from antecede.message import Membership, Message, MessageId
from antecede.order import (
    Addressing,
    Awaited,
    Deliver,
    Effect,
    Event,
    Held,
    Notice,
    Options,
    Packet,
    Scope,
    Traits,
    Transmit,
    Wake,
)
from antecede.overlays._daisy_changes import Changing
from antecede.overlays._daisy_items import (
    Above,
    Ahead,
    Carry,
    Change,
    DaisyStamp,
    Direct,
    Done,
    Forget,
    Item,
    Merged,
    Moved,
    Ready,
    Release,
    Retract,
    Roll,
    carries,
    carry,
    decode_items,
)
from antecede.overlays._daisy_layer import (
    TAKING_BATCHES,
    Layer,
    founding,
    joining,
    wants_time,
)
from antecede.overlays._daisy_matrix import decode_matrix
from antecede.overlays._daisy_options import DaisyOptions, check_options
from antecede.overlays._daisy_plan import Plan, plan
from antecede.overlays._daisy_relay import State
from antecede.overlays._daisy_search import Arrival, Search, gather, ready
from antecede.snapshot import freeze


class Daisy(Changing):
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
        check_options(chosen)
        if chosen.local != "broadcast":
            _check_local(chosen)
        if chosen.forward != "stable" and (chosen.split_above or chosen.merge_below):
            raise Misuse(
                f"forward={chosen.forward}: groups that split or merge send on what is stable; "
                "what one of them had early might overtake what the other has yet to get"
            )
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

    def join(self, now: float = 0.0, talks_with: int = 0) -> list[Effect]:
        leaf = self._plan.leaf(self.process)
        self._add(joining(self.process, leaf, self.options, 0, 0, leaf.processes), now)
        return self._settle(now)

    # Inputs.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        own = 1 << self.process
        if message.destinations != own:
            if not self._layers:
                raise Misuse(f"process {self.process} has not joined yet")
            self.state.clock += 1
            self._pass(self._layers[0], self._issued(carry(message, self.state.clock)), now)
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
            self._work(now)
            self._run_ahead(stamp.packet, now)
        elif stamp.talk is not None:
            if isinstance(stamp.talk, Moved):
                self._on_moved(stamp.talk.changes, now)
            elif stamp.talk.node in self._plan.nodes:
                self._search.on_talk(packet.source, stamp.talk, now)
        return self._settle(now)

    def _receive(self, source: int, packet: groups.Packet, busy: bool, now: float) -> None:
        if packet.source.process != source:
            raise MalformedStamp("source", f"is {source}, for {packet.source.process}")
        if isinstance(packet.body, GroupData | Tell):
            self._check(decode_items(packet.body.payload))
        for layer in self._layers:
            if layer.config.group == packet.group:
                if layer.is_foreign(packet):
                    return
                layer.check(packet)
                keeps_awake = busy and wants_time(packet.body, layer.is_server)
                if keeps_awake or isinstance(packet.body, GroupData):
                    self._rouse(layer, now)
                self._do(layer, layer.member.receive(packet, now))
                if keeps_awake:
                    layer.hear_busy(now)
                return
        if any(packet.group in gone for gone in self._gone()):
            self._search.say(Moved(packet.group, tuple(self.state.changes)), 1 << source)

    def _check(self, items: Iterable[Item]) -> None:
        size = self.membership.size
        for item in items:
            if isinstance(item, Direct):
                self._check_matrix(item)
        for item in carries(items):
            if item.sender >= size:
                raise MalformedStamp("sender", f"is {item.sender}")
            to = item.message.destinations
            if not to or to >> size:
                raise MalformedStamp("destinations", "are none, or unknown processes")

    def _check_matrix(self, item: Direct) -> None:
        integers = len(decode_matrix(item.matrix))
        view = self._layers[0].view if self._layers else None
        if view is not None and view.number == item.view and integers != len(view.members) ** 2:
            count = len(view.members)
            raise MalformedStamp("matrix", f"has {integers} entries in a view of {count} members")

    def wake(self, now: float) -> list[Effect]:
        for layer in list(self._layers):
            if layer.is_due(now):
                layer.be_patient(now)
                self._do(layer, layer.member.wake(now))
                self._note_return(layer, now)
                self._give_up_waiting(layer, now)
                self._call_roll(layer, now)
                if layer.is_server:
                    self._look_after(layer, now)
                if layer.node.level:
                    self._search.tick(layer, now)
            self._do(layer, layer.flush_items(now))
        return self._settle(now)

    # The effects of the groups, first in, first out.

    def _work(self, now: float) -> None:
        while self._agenda or self._look_at_direct(now):
            layer, effect = self._agenda.popleft()
            if layer in self._layers:
                self._perform(layer, effect, now)
            if not self._agenda:
                self._bring_batches(now)
                self._catch_up_with_ahead(now)
                self._look_at_star(now)

    def _settle(self, now: float) -> list[Effect]:
        self._work(now)
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
                stamp = DaisyStamp(packet, None, layer.says_busy(now))
                self._effects.append(Transmit(Packet(self.process, None, stamp), to))
            case groups.Deliver(message):
                self._on_deliver(layer, message, now)
            case groups.Told(sender, payload):
                self._on_told(layer, sender, payload, now)
            case groups.Stable(stable):
                self._on_stable(layer, stable, now)
            case groups.ViewInstalled():
                self._on_view(layer, effect, now)
            case groups.StateWanted(view):
                content = freeze(layer.memory)
                self._do(layer, layer.member.provide_state(view, content, now))
            case groups.Suspended():
                self._effects.append(Notice(Event.STOPPED, layer.node.name))
            case groups.Resumed(view):
                self._effects.append(Notice(Event.RESUMED, layer.node.name, view))
            case groups.Stopped():
                self._on_stopped(layer, effect, now)
            case groups.Wake(at):
                self._on_wake(layer, at, now)

    def _on_wake(self, layer: Layer, at: float, now: float) -> None:
        """A group asks for its next tick at every tick: one at rest gets none."""
        layer.state.wake_at = at
        if layer.state.resting:
            return
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
        items = decode_items(message.payload)
        arrivals = [(sender, message.id, item) for item in items]
        if any(isinstance(item, Merged) for item in items[:1]):
            self._on_merged(layer, message, now)
        elif layer.memory.batches:
            gather(layer, arrivals, now)
            self._take_batches(layer, now)
        else:
            self._take(layer, arrivals, now)

    def _take_batches(self, layer: Layer, now: float) -> None:
        """When all batches are here, or will not come: these first, then what came meanwhile."""
        if not layer.memory.batches:
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
                    self._take_early(layer, within, now)
                case Ahead():
                    self._on_ahead(layer, item, within, now)
                case Retract(ids):
                    self._on_retract(layer, ids)
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
                    self._hear_change(layer, item, within, now)
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

    # For the search.

    def known_changes(self) -> tuple[bytes, ...]:
        return tuple(self.state.changes)

    def layers(self) -> list[Layer]:
        return self._layers

    def layer_of(self, node: int) -> Layer | None:
        return next((layer for layer in self._layers if layer.node.index == node), None)

    def emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    @property
    def groups_plan(self) -> Plan:
        return self._plan

    # What it knows.

    def snapshot(self) -> bytes:
        for layer in self._layers:
            layer.state.member = layer.member.snapshot()
        return freeze(self.state)

    def held(self) -> list[Held]:
        """What has come to the local group and is not delivered there."""
        found: dict[MessageId, Held] = {}
        for layer in self._layers[:1]:
            found |= {held.message: held for held in self._held_here(layer)}
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
                return [item.message for item in carries(decode_items(message.payload))]
        return []

    def entries(self) -> int:
        """What the groups count of their members, what came by of each process, and the matrix."""
        return sum(
            len(layer.member.state.delivered) * (1 + len(layer.member.state.peers))
            + len(layer.memory.seen)
            + len(layer.state.straight.epoch.sent)
            for layer in self._layers
        )


def _check_local(options: DaisyOptions) -> None:
    """What does not go with local groups that do not broadcast."""
    local = f"local={options.local}"
    if options.split_above or options.merge_below:
        raise Misuse(f"{local}: groups that do not broadcast do not split or merge")
    if options.pack_s or options.forward == "received":
        raise Misuse(f"{local}: pack_s and forward=received are for groups that broadcast")
