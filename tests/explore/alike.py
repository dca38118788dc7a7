"""Whether two processes do the same up to their names: the same run twice, under two sets of names.

It shares nothing with the explorer: orders, packets in lists, a schedule drawn at random.
"""

from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from antecede.explore import OrderFactory, Program
from antecede.explore.program import renamed_program
from antecede.explore.symmetry import Renaming
from antecede.message import MessageId, members
from antecede.order import Channels, Deliver, Effect, Packet, Transmit, Wake


class Step(NamedTuple):
    kind: str
    process: int
    source: int = -1
    place: int = -1


class Names:
    """Those of processes and messages, before and after."""

    def __init__(self, renaming: Renaming) -> None:
        self.of = {old: new for new, old in enumerate(renaming.origin)}

    def message(self, message: MessageId) -> MessageId:
        return MessageId(self.of[message.sender], message.number)

    def step(self, step: Step) -> Step:
        source = step.source if step.source < 0 else self.of[step.source]
        return Step(step.kind, self.of[step.process], source, step.place)


class Outcome(NamedTuple):
    """What can be seen of a step."""

    delivered: list[MessageId]
    transmitted: dict[int, list[MessageId | None]]
    wakes: list[float]
    error: str

    def renamed(self, names: Names) -> "Outcome":
        return Outcome(
            [names.message(one) for one in self.delivered],
            {
                names.of[to]: [one and names.message(one) for one in sent]
                for to, sent in self.transmitted.items()
            },
            self.wakes,
            self.error,
        )


class Network:
    """The processes of a program, and what is on its way."""

    def __init__(self, factory: OrderFactory, program: Program) -> None:
        size = program.membership.size
        self.orders = [factory(process, program.membership) for process in range(size)]
        self.fifo = self.orders[0].traits.channels is Channels.FIFO
        self.left = program.messages()
        self.packets: dict[tuple[int, int], list[Packet[Any] | None]] = {}
        self.wakes: list[list[float]] = [[] for _ in range(size)]
        self.past: list[set[MessageId]] = [set() for _ in range(size)]
        self.precede: dict[MessageId, set[MessageId]] = {}

    def steps(self) -> list[Step]:
        """All that can happen next."""
        found = [Step("send", process) for process, left in enumerate(self.left) if left]
        found += [Step("wake", process) for process, wakes in enumerate(self.wakes) if wakes]
        for (source, process), packets in self.packets.items():
            places = [place for place, packet in enumerate(packets) if packet is not None]
            places = places[:1] if self.fifo else places
            found += [Step("receive", process, source, place) for place in places]
        return found

    def take(self, step: Step) -> Outcome:
        try:
            return self._outcome(step.process, self._act(step))
        except Exception as error:  # noqa: BLE001 (breaking down is an outcome, too)
            return Outcome([], {}, [], type(error).__name__)

    def _act(self, step: Step) -> list[Effect]:
        order = self.orders[step.process]
        if step.kind == "send":
            message = self.left[step.process].pop(0)
            self.precede[message.id] = set(self.past[step.process])
            self.past[step.process].add(message.id)
            return order.send(message)
        if step.kind == "wake":
            return order.wake(self.wakes[step.process].pop(0))
        packets = self.packets[step.source, step.process]
        packet, packets[step.place] = packets[step.place], None
        assert packet is not None
        return order.receive(packet)

    def _outcome(self, process: int, effects: Sequence[Effect]) -> Outcome:
        outcome = Outcome([], {}, [], "")
        for effect in effects:
            if isinstance(effect, Deliver):
                delivered = effect.message.id
                outcome.delivered.append(delivered)
                self.past[process] |= self.precede.get(delivered, set()) | {delivered}
            elif isinstance(effect, Transmit):
                message = effect.packet.message
                carried = None if message is None else message.id
                for to in members(effect.to):
                    self.packets.setdefault((process, to), []).append(effect.packet)
                    outcome.transmitted.setdefault(to, []).append(carried)
            elif isinstance(effect, Wake):
                outcome.wakes.append(effect.at)
                self.wakes[process] = sorted({*self.wakes[process], effect.at})
        return outcome

    def is_same_order(self, one: Sequence[MessageId], other: Sequence[MessageId]) -> bool:
        """Whether two lists have the same messages, and differ in the order of concurrent ones
        alone."""
        return sorted(one) == sorted(other) and all(
            other.index(first) < other.index(second)
            for place, second in enumerate(one)
            for first in one[:place]
            if first in self.precede[second] or second in self.precede[first]
        )


def difference(
    factory: OrderFactory, program: Program, renaming: Renaming, seed: int, wakes: int = 2
) -> str:
    """Where a run and the renamed run part; empty if they do not."""
    names = Names(renaming)
    one, other = Network(factory, program), Network(factory, renamed_program(program, renaming))
    random = Random(seed)
    woken = 0
    for _ in range(200):
        steps = [step for step in one.steps() if step.kind != "wake" or woken < wakes]
        if not steps:
            return ""
        step = random.choice(steps)
        woken += step.kind == "wake"
        seen, renamed = one.take(step), other.take(names.step(step))
        expected = seen.renamed(names)
        if expected._replace(delivered=[]) != renamed._replace(delivered=[]) or not (
            other.is_same_order(expected.delivered, renamed.delivered)
        ):
            return f"{program}\n{step}: {seen}, and as {names.step(step)}: {renamed}"
    return ""
