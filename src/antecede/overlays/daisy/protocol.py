"""A process of a daisy: its inputs, and which part of it answers each effect of its groups.

An input may be a message to send, a packet, or time that has passed. It goes to the member of a
group, whose effects are handled first in, first out, until nothing more follows.
"""

from types import MappingProxyType

from antecede import groups
from antecede.errors import MalformedStamp, Misuse
from antecede.groups.packets import Data as GroupData
from antecede.groups.packets import Detour, Tell
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
    Order,
    Packet,
    Scope,
    Traits,
    Transmit,
    Wake,
)
from antecede.overlays.daisy.absence import Absence
from antecede.overlays.daisy.ahead import RunningAhead
from antecede.overlays.daisy.arrivals import Arrivals
from antecede.overlays.daisy.changes import Changes
from antecede.overlays.daisy.checks import check_changes, check_payload
from antecede.overlays.daisy.consent import Consent
from antecede.overlays.daisy.core import Core
from antecede.overlays.daisy.fence import Fencing
from antecede.overlays.daisy.items import (
    Direct,
    carries,
    carry,
    decode_items,
    unpack,
)
from antecede.overlays.daisy.lasting import without_signs_of_life
from antecede.overlays.daisy.layer import EPOCHS, Layer, founding, joining
from antecede.overlays.daisy.levels import Levels
from antecede.overlays.daisy.local import Broadcast
from antecede.overlays.daisy.local_recipients import ToRecipients
from antecede.overlays.daisy.local_server import ThroughServer
from antecede.overlays.daisy.matrix import decode_matrix
from antecede.overlays.daisy.options import DaisyOptions, check_options
from antecede.overlays.daisy.plan import plan
from antecede.overlays.daisy.records import State
from antecede.overlays.daisy.relay import Relay
from antecede.overlays.daisy.rest import wants_time
from antecede.overlays.daisy.search import Search
from antecede.overlays.daisy.stamp import Brought, DaisyStamp, Left, Moved, Poke, Talk, Wanted
from antecede.overlays.daisy.views import Views
from antecede.snapshot import freeze

LOCAL: dict[str, type[Broadcast]] = {
    "broadcast": Broadcast,
    "server": ThroughServer,
    "recipients": ToRecipients,
}
"""How messages travel in a local group, by the option `local`."""


class Daisy(Order):
    traits = Traits(
        title="hierarchical daisy",
        paper="Baldoni, Friedman, van Renesse 1997",
        addressing=Addressing.SETS,
        survives_loss=True,
        repairs_loss=True,
        watches=True,
        survives_crashes=True,
        prompt=False,
    )
    options_type = DaisyOptions
    patient_options = MappingProxyType(
        {
            "sizes": [2],
            "suspect_after_s": 1e9,
            "flush_timeout_s": 1e9,
            "retry_s": 1e9,
            "retry_limit_s": 1e9,
            "tick_s": 1e4,
            "tidy_s": 1e4,
        }
    )
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
        late = chosen.latecomers, chosen.talks_with
        groups_plan = plan(membership.size, chosen.sizes, chosen.groups, *late)
        self.core = core = Core(process, chosen, groups_plan)
        self._search = Search(core)
        self._relay = Relay(core, LOCAL[chosen.local])
        self._looks = self._relay.in_local_group.goes_on
        self._ahead = RunningAhead(core, self._relay)
        self._absence = Absence(core, self._relay, self._search)
        self._fencing = Fencing(core)
        self._consent = Consent(core)
        self._levels = Levels(core, self._relay, self._absence, self._fencing, self._consent)
        self._changes = Changes(core, self._relay, self._absence, self._levels, self._consent)
        parts = (core, self._relay, self._ahead, self._absence, self._changes, self._fencing)
        self._arrivals = Arrivals(*parts)
        self._views = Views(*parts, self._arrivals)
        super().__init__(process, membership, chosen)
        self._founding: tuple[Notice, ...] = ()
        if process not in chosen.latecomers:
            self._found()

    def initial_state(self) -> State:
        return State()

    def resume(self) -> None:
        core = self.core
        core.state = self.state
        self._changes.history.replan_all()
        core.layers = [
            Layer(self.process, core.plan.nodes[layer.node], self.options, layer)
            for layer in self.state.layers
        ]
        for layer in core.layers:
            if layer.memory.came_under:
                self._levels.come_under(layer, layer.memory.came_under)

    def _found(self) -> None:
        """Found the groups of the plan. All know it: the first views need no word."""
        core = self.core
        core.is_start = True
        core.add(founding(self.process, core.plan.leaf(self.process), self.options), 0.0)
        told = self._settle(0.0)
        self._founding = tuple([one for one in told if isinstance(one, Notice)])
        core.is_start = False

    def join(self, now: float = 0.0, talks_with: int = 0) -> list[Effect]:
        leaf = self.core.plan.leaf(self.process)
        self.core.add(joining(self.process, leaf, self.options, 0, 0, leaf.contacts), now)
        return self._settle(now)

    # Inputs.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        own = 1 << self.process
        if message.destinations != own:
            if not self.core.layers:
                raise Misuse(f"process {self.process} has not joined yet")
            self.state.clock += 1
            self._relay.send(
                self.core.layers[0], self._ahead.issued(carry(message, self.state.clock)), now
            )
        if message.destinations & own:
            self.core.emit(Deliver(message))
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
            if self.core.runs_ahead:
                self._work(now)
                self._ahead.run_ahead(stamp.packet, now)
        elif stamp.talk is not None:
            self._on_talk(packet.source, stamp.talk, now)
        return self._settle(now)

    def _on_talk(self, source: int, talk: Talk, now: float) -> None:
        match talk:
            case Moved():
                check_changes(map(unpack, talk.changes), self.membership.size)
                self._changes.on_moved(talk, now)
            case Left():
                check_changes([unpack(talk.change)], self.membership.size)
                self._on_left(talk, now)
            case Poke(to=to) if to is not None and to >= self.membership.size:
                raise MalformedStamp("to", f"is {to}")
            case Wanted():
                self._changes.on_wanted(source, talk)
            case Brought():
                for message in talk.messages:
                    self._check(message)
                self._changes.on_brought(talk, now)
            case _:
                self._search.on_talk(source, talk, now)
        self._changes.move_if_lost(now)

    def _on_left(self, talk: Left, now: float) -> None:
        layer = self.core.layer_of(talk.node)
        if layer is not None:
            self._changes.history.learn([talk.change])
            self._levels.end(layer, talk.change, now)

    def _receive(self, source: int, packet: groups.Packet, busy: bool, now: float) -> None:
        if packet.source.process != source:
            raise MalformedStamp("source", f"is {source}, for {packet.source.process}")
        content = packet.body if type(packet.body) is not Detour else packet.content
        if type(content) is GroupData or type(content) is Tell:
            self._check(content.payload)
        for layer in self.core.layers:
            if layer.config.group == packet.group:
                if not layer.accepts(packet):
                    return
                keeps_awake = busy and wants_time(content, layer.is_server)
                if keeps_awake or type(content) is GroupData:
                    self._rouse(layer, now)
                self.core.queue(layer, layer.member.take(packet, now))
                if keeps_awake:
                    layer.rest.hear_busy(now)
                return
        self._search.say_left(packet.group % EPOCHS, 1 << source)
        if any(packet.group in gone for gone in self._changes.history.gone()):
            self._search.say(self._changes.moved_from(packet.group), 1 << source)

    def _check(self, payload: bytes) -> None:
        check_payload(payload, self.membership.size)
        for item in decode_items(payload):
            if type(item) is Direct:
                self._check_matrix(item)

    def _check_matrix(self, item: Direct) -> None:
        integers = len(decode_matrix(item.matrix))
        view = self.core.layers[0].view if self.core.layers else None
        if view is not None and view.number == item.view and integers != len(view.members) ** 2:
            count = len(view.members)
            raise MalformedStamp("matrix", f"has {integers} entries in a view of {count} members")

    def wake(self, now: float) -> list[Effect]:
        for layer in list(self.core.layers):
            if layer not in self.core.layers:  # the one below has just been founded anew
                continue
            if layer.rest.is_due(now):
                layer.rest.be_patient(now)
                self.core.wake(layer, now)
                self._absence.note_return(layer, now)
                self._absence.give_up_waiting(layer, now)
                self._changes.call_roll(layer, now)
                self._levels.advance(layer, now)
                if layer in self.core.layers:
                    self._absence.call_for_batches(layer, now)
                    if layer.is_server or layer.node.level:
                        self._absence.look_after(layer, now)
                if layer not in self.core.layers:
                    continue
                if layer.node.level:
                    self._search.tick(layer, now)
                else:
                    self._search.ask(layer, now)
            if layer.state.out.items:
                self.core.queue(layer, layer.flush_items(now))
        return self._settle(now)

    # The effects of the groups, first in, first out.

    def _work(self, now: float) -> None:
        core, agenda = self.core, self.core.agenda
        while agenda or (self._looks and self._look(now)):
            layer, effect = agenda.popleft()
            if layer in core.layers:
                self._perform(layer, effect, now)
            if not agenda:
                self._arrivals.bring_batches(now)
                if core.evolves:
                    self._consent.announce_all_agreed(now)
                if core.reshapes:
                    self._levels.advance_all(now)
                if core.runs_ahead:
                    self._ahead.catch_up(now)

    def _look(self, now: float) -> bool:
        """Do what can be done now in the local group, and return whether anything follows."""
        if self.core.local is not None:
            self._relay.in_local_group.go_on(self.core.local, now)
        return bool(self.core.agenda)

    def _settle(self, now: float) -> list[Effect]:
        core = self.core
        if core.agenda or self._looks:
            self._work(now)
        for layer in core.layers:
            state = layer.state
            if state.memory.missed or state.memory.missed_beside or state.memory.forgotten:
                self._absence.call_back(layer, now)
            if state.sleep.resting and layer.rest.is_awake(now):
                self._rouse(layer, now)
            out = state.out
            if out.items and out.items_due_at != out.wake_asked_for:
                out.wake_asked_for = out.items_due_at
                core.emit(Wake(out.items_due_at))
        effects, core.effects = core.effects, []
        return effects

    def _perform(self, layer: Layer, effect: groups.Effect, now: float) -> None:
        if type(effect) is groups.Transmit:  # these two are most of all
            stamp = DaisyStamp(effect.packet, None, layer.rest.says_busy(now))
            self.core.effects.append(Transmit(Packet(self.process, None, stamp), effect.to))
            return
        if type(effect) is groups.Wake:
            self._on_wake(layer, effect.at, now)
            return
        match effect:
            case groups.Deliver(message):
                self._arrivals.on_deliver(layer, message, now)
            case groups.Told(sender, payload):
                self._relay.transport(layer).on_told(layer, sender, payload, now)
            case groups.Stable(stable):
                self._consent.answer(layer, stable, now)
                self._changes.on_stable(layer, stable, now)
                for node in self._fencing.on_stable(layer, stable):
                    self._absence.on_served(node, now)
                self._relay.on_stable(layer, stable, now)
            case groups.ViewInstalled():
                self._views.on_view(layer, effect, now)
            case groups.StateWanted(view):
                content = layer.memory.sent_at(now)
                self.core.queue(layer, layer.member.provide_state(view, content, now))
            case groups.Suspended():
                layer.state.stopped = True
                self.core.emit(Notice(Event.STOPPED, layer.node.name))
                self._changes.move_if_lost(now)
            case groups.Resumed(view):
                layer.state.stopped = False
                self.core.emit(Notice(Event.RESUMED, layer.node.name, view))
            case groups.Stopped():
                self._views.on_stopped(layer, effect, now)

    def _on_wake(self, layer: Layer, at: float, now: float) -> None:
        """A group asks for its next tick at every tick: one at rest gets none."""
        sleep = layer.state.sleep
        sleep.wake_at = at
        if sleep.resting:
            return
        sleep.resting = not layer.rest.is_awake(now)
        if not sleep.resting:
            self.core.emit(Wake(at))

    def _rouse(self, layer: Layer, now: float) -> None:
        at = layer.rest.rouse(now)
        if at is not None:
            self.core.emit(Wake(at))

    # What it knows.

    def founding(self) -> tuple[Notice, ...]:
        return self._founding

    def layers(self) -> list[Layer]:
        """Its groups, from the local one upwards."""
        return self.core.layers

    def snapshot(self) -> bytes:
        for layer in self.core.layers:
            layer.state.member = layer.member.snapshot()
        return freeze(self.state)

    def lasting(self) -> bytes:
        return without_signs_of_life(self.snapshot())

    def held(self) -> list[Held]:
        """What has come to the local group and is not delivered there."""
        found: dict[MessageId, Held] = {}
        for layer in self.core.layers[:1]:
            found |= {held.message: held for held in self._relay.in_local_group.held(layer)}
            for waiting in layer.member.held():
                payload = layer.member.payload_of(waiting.message)
                for message in (item.message for item in carries(decode_items(payload))):
                    is_new = message.id.number > self.state.delivered.get(message.id.sender, 0)
                    if message.destinations >> self.process & 1 and is_new:
                        awaited = sorted(
                            Awaited(one.sender.process, one.number, Scope.HOP)
                            for one in waiting.awaited
                        )
                        found.setdefault(message.id, Held(message.id, tuple(awaited)))
        return [found[message] for message in sorted(found)]

    def entries(self) -> int:
        """What the groups count of their members, what came by of each process, and the matrix."""
        return sum(
            layer.member.entries() + len(layer.memory.passed) + len(layer.state.epochs.epoch.sent)
            for layer in self.core.layers
        )
