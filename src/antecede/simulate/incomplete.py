"""Less than causal order in the simulator: which order runs at a process, what each message is
asked to follow, and what the trace says of that (`antecede.verify.scopes`).

The label, priority or conversation of a message follows from its place in the traffic, so that it
is the same under every protocol. What the scope of a message in a conversation says is kept here,
by the applications, and not taken from any stamp.
"""

from typing import Any

import msgspec

from antecede.errors import Misuse
from antecede.histories.contexts import Contexts, DeliverIn
from antecede.histories.history import History, merge
from antecede.histories.labels import BYPASS, Labels
from antecede.histories.priorities import Priorities, PrioritiesOptions
from antecede.message import Membership, Message, MessageId
from antecede.order import Deliver, Effect, Held, Options, Order, Packet, Transmit
from antecede.simulate.fully import make_knowing
from antecede.simulate.parts import ContextsAsked, LabelsAsked, PrioritiesAsked
from antecede.simulate.randomness import as_uniform, mix
from antecede.simulate.scenario import Scenario
from antecede.verify.scopes import Scope

_BYPASSES, _PART, _MERGES = 101, 102, 103
"""Tell apart what is drawn for one message."""


class Conversations(Order):
    """Histories held by an application, one a conversation; that of a message is its `group`."""

    name = "contexts"
    traits = Priorities.traits
    stamp_type = Contexts.stamp_type
    state_type = msgspec.Struct

    def __init__(self, process: int, membership: Membership, asked: ContextsAsked) -> None:
        self._contexts = Contexts(process, membership)
        self._held = [History() for _ in range(asked.count)]
        self._added: list[list[MessageId]] = [[] for _ in range(asked.count)]
        """By conversation, what came into its history after the last own message."""
        self._merge = asked.merge
        self.follows: tuple[MessageId, ...] = ()
        """What the last message sent was asked to follow."""
        super().__init__(process, membership)

    def initial_state(self) -> Any:
        return None

    def snapshot(self) -> bytes:
        return self._contexts.snapshot()

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        place = message.group
        if place == BYPASS:
            _, effects = self._contexts.send(
                None, message.destinations, message.payload, now, place
            )
            return _outwards(effects, message)
        chance = as_uniform(mix(mix(message.id.number, self.process), _MERGES))
        if len(self._held) > 1 and chance < self._merge:
            other = (place + 1) % len(self._held)
            self._held[place] = merge(self._held[place], self._held[other])
            self._added[place] += self._added[other]
        self.follows = tuple(sorted(set(self._added[place])))
        self._held[place], effects = self._contexts.send(
            self._held[place], message.destinations, message.payload, now, place
        )
        self._added[place] = [message.id]
        return _outwards(effects, message)

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        done: list[Effect] = []
        for effect in self._contexts.receive(packet, now):
            if isinstance(effect, DeliverIn):
                place = effect.message.group
                if place != BYPASS:
                    self._held[place] = merge(self._held[place], effect.history)
                    self._added[place].append(effect.message.id)
                done.append(Deliver(effect.message))
            else:
                done.append(effect)
        return done

    def held(self) -> list[Held]:
        return self._contexts.held()

    def entries(self) -> int:
        return sum(len(history.entries) for history in self._held)


def _outwards(effects: list[Effect], message: Message) -> list[Effect]:
    """With the message that was given in place of an equal one."""
    done: list[Effect] = []
    for effect in effects:
        if isinstance(effect, Transmit):
            packet = Packet(effect.packet.source, message, effect.packet.stamp)
            done.append(Transmit(packet, effect.to))
        elif isinstance(effect, Deliver):
            done.append(Deliver(message))
        else:
            done.append(effect)
    return done


def make_order(
    scenario: Scenario, make: type[Order], process: int, membership: Membership, options: Options
) -> Order:
    """What runs at a process."""
    if scenario.fully_delivered is not None:
        return make_knowing(scenario.fully_delivered, process, membership)
    match scenario.incomplete:
        case None:
            return make(process, membership, options)
        case LabelsAsked(count=count):
            return Labels(process, membership, count, lambda p, among: make(p, among, options))
        case PrioritiesAsked(count=count):
            return Priorities(process, membership, PrioritiesOptions(levels=count))
        case ContextsAsked() as asked:
            return Conversations(process, membership, asked)


def group_of(scenario: Scenario, tag: int, group: int) -> int:
    """The label, priority or conversation of a message, in place of a group."""
    asked = scenario.incomplete
    if asked is None:
        return group
    bypass = 0.0 if isinstance(asked, PrioritiesAsked) else asked.bypass
    if as_uniform(mix(tag, _BYPASSES)) < bypass:
        return BYPASS
    return mix(tag, _PART) % asked.count


def scope_of(scenario: Scenario, order: Order, message: Message) -> Scope:
    """What a message that was just sent is asked to follow."""
    if message.group == BYPASS:
        return Scope("none")
    match scenario.incomplete:
        case LabelsAsked():
            return Scope("label", str(message.group))
        case PrioritiesAsked():
            return Scope("priority", priority=message.group)
        case _:
            if not isinstance(order, Conversations):
                raise Misuse("only conversations have contexts")
            names = scenario.process_names
            after = tuple([(names[sender], number) for sender, number in order.follows])
            return Scope("after", after=after)
