"""A schedule that fails: for people, as text to be stored, and as a test to be run again.

The replay is the plain counterpart of the search: real orders, packets in lists, and the definition
applied to the history of the run. It names what was overtaken and through which messages.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from antecede.errors import BadInput, Misuse
from antecede.explore.automaton import Flaw, OrderFactory, check_transmit
from antecede.explore.program import Program, braces
from antecede.message import Message, MessageId, members
from antecede.order import (
    Channels,
    Deliver,
    Effect,
    Gives,
    Options,
    Order,
    Packet,
    Transmit,
    Wake,
)
from antecede.protocols import find, parse_options
from antecede.wire import decode_packet, encode_packet

_MAX_DRAIN = 100_000
"""Steps after which a run that does not come to rest is cut."""


class Step(NamedTuple):
    """One step: `process` sends its next message (`send`), takes in the `ordinal`-th packet that
    `source` has transmitted to it (`receive`), or is woken at the earliest time it asked for
    (`wake`)."""

    kind: str
    process: int
    source: int = -1
    ordinal: int = 0


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong, and a schedule of the program on which it does: the shortest, if
    `is_shortest`; otherwise one from which no single step can be left out, or, where something is
    never delivered, the shortest of those that the search tries."""

    kind: Flaw
    sentence: str
    program: Program
    steps: tuple[Step, ...]
    lines: tuple[str, ...]
    """The steps for people."""
    is_shortest: bool = False
    """Whether all shorter schedules were tried. Where there are too many of them, they are not."""
    expect: Gives = Gives.CAUSAL
    channels: Channels = Channels.ANY
    protocol: str = ""
    options: dict[str, Any] = {}

    def __str__(self) -> str:
        numbered = [f"{number}. {line}" for number, line in enumerate(self.lines, 1)]
        length = (
            "No schedule of this program fails in fewer steps."
            if self.is_shortest
            else "There may be a shorter schedule: too many to try them all."
        )
        return "\n".join([f"{self.kind}: {self.sentence}", *numbered, length])

    def to_text(self) -> str:
        """One line of JSON."""
        return msgspec.json.encode(self).decode()

    @staticmethod
    def from_text(text: str) -> "Failure":
        """The failure that `to_text` wrote."""
        try:
            return msgspec.json.decode(text, type=Failure)
        except msgspec.DecodeError as error:
            raise BadInput(f"not a failure of the explorer: {error}") from None


class Impossible(Misuse):
    """A step that cannot happen now."""


class Finding(NamedTuple):
    """The outcome of a run that went wrong."""

    kind: Flaw
    sentence: str


def factory_of(protocol: str, options: dict[str, Any]) -> OrderFactory:
    """The orders of a protocol of the registry."""
    order = find(protocol)
    if order.variant(parse_options(protocol, options, processes=2)).traits.takes_back:
        raise Misuse(f"{protocol} takes deliveries back with these options: simulate it")

    @cache
    def parsed(processes: int) -> Options:
        return parse_options(protocol, options, processes)

    return lambda process, membership: order(process, membership, parsed(membership.size))


def replay(failure: Failure, factory: OrderFactory | None = None) -> Finding | None:
    """Run a failure's schedule against an order (unless told otherwise, the protocol it was found
    in), then let everything that is left happen; what goes wrong, or None. A step that is
    impossible with this order, such as the arrival of a packet that it does not send, is left
    out."""
    if factory is None:
        if not failure.protocol:
            raise Misuse("the failure names no protocol; say which order to run it against")
        factory = factory_of(failure.protocol, failure.options)
    run = Run(failure.program, factory, failure.expect, failure.channels)
    for step in failure.steps:
        with suppress(Impossible):
            run.step(step)
        if run.finding is not None:
            return run.finding
    run.drain()
    return run.finding


def shrink(failure: Failure, factory: OrderFactory) -> list[Step]:
    """The failure's steps without those that can be left out one by one, so that it still ends
    with the same flaw."""
    steps = list(failure.steps)
    place = len(steps) - 1  # the last step is the flaw itself
    while place > 0:
        place -= 1
        fewer = steps[:place] + steps[place + 1 :]
        run = Run(failure.program, factory, failure.expect, failure.channels)
        try:
            for step in fewer[:-1]:
                run.step(step)
            is_clean = run.finding is None
            run.step(fewer[-1])
        except Impossible:  # a step that the one left out makes possible
            continue
        if is_clean and run.finding is not None and run.finding.kind is failure.kind:
            steps = fewer
            place = len(steps) - 1
    return steps


class Run:
    """One run of a program, step by step."""

    def __init__(
        self, program: Program, factory: OrderFactory, expect: Gives, channels: Channels
    ) -> None:
        size = program.membership.size
        self._expect = expect
        self._channels = channels
        self._orders: list[Order] = [factory(p, program.membership) for p in range(size)]
        self._messages = program.messages()
        self._number_sent = [0] * size
        self._transmitted: dict[tuple[int, int], list[Packet[Any] | None]] = {}
        self._wakes: list[list[float]] = [[] for _ in range(size)]
        self._now = [0.0] * size
        self._history: list[list[Message]] = [[] for _ in range(size)]
        """What each process has sent or delivered, in order."""
        self._delivered: list[set[MessageId]] = [set() for _ in range(size)]
        self._before: dict[MessageId, list[Message]] = {}
        """What its sender had sent or delivered before it, for each message sent."""
        self.lines: list[str] = []
        self.finding: Finding | None = None

    def step(self, step: Step) -> None:
        """Make one step; `finding` says whether it was wrong."""
        process = step.process
        line, act = self._prepare(step)
        order = self._orders[process]
        effects: list[Effect] = []
        try:
            order.restore(order.snapshot())  # as the search does before every step
            effects = act()
            order.snapshot()
            for effect in effects:
                if isinstance(effect, Transmit):
                    self._transmit(process, effect)
        except Exception as error:  # noqa: BLE001 (an order that breaks down is a finding)
            self._find(Flaw.ERROR, f"process {process} broke down: {error!r}")
        delivered = [effect.message for effect in effects if isinstance(effect, Deliver)]
        if delivered:
            line += " and delivers " + ", ".join(str(message.id) for message in delivered)
        self.lines.append(f"process {process} {line}")
        for message in delivered:
            self._deliver(process, message)
        for effect in effects:
            if isinstance(effect, Wake) and effect.at not in self._wakes[process]:
                self._wakes[process] = sorted([*self._wakes[process], effect.at])

    def _prepare(self, step: Step) -> tuple[str, Callable[[], list[Effect]]]:
        """What the step is called, and how it is made."""
        process = step.process
        order = self._orders[process]
        if step.kind == "send":
            index = self._number_sent[process]
            if index == len(self._messages[process]):
                raise Impossible(f"process {process} has nothing more to send")
            message = self._messages[process][index]
            self._number_sent[process] += 1
            self._before[message.id] = list(self._history[process])
            self._history[process].append(message)
            line = f"sends {message.id} to {braces(message.destinations)}"
            return line, partial(order.send, message, self._now[process])
        if step.kind == "receive":
            packet = self._take(step)
            carried = str(packet.message.id) if packet.message else "a packet without a message"
            line = f"receives {carried}"
            if not packet.message or packet.message.id.sender != step.source:
                line += f" from process {step.source}"
            return line, partial(order.receive, packet, self._now[process])
        if step.kind == "wake":
            if not self._wakes[process]:
                raise Impossible(f"process {process} has not asked to be woken")
            self._now[process] = max(self._now[process], self._wakes[process].pop(0))
            return f"wakes at {self._now[process]:g}", partial(order.wake, self._now[process])
        raise Impossible(f"there is no step '{step.kind}'; there are send, receive and wake")

    def _take(self, step: Step) -> Packet[Any]:
        packets = self._transmitted.get((step.source, step.process), [])
        packet = packets[step.ordinal - 1] if 0 < step.ordinal <= len(packets) else None
        overtakes = any(earlier is not None for earlier in packets[: step.ordinal - 1])
        if self._channels is Channels.FIFO and overtakes:
            raise Impossible(f"{step} overtakes another packet on a FIFO channel")
        if packet is None:
            raise Impossible(
                f"packet number {step.ordinal} from process {step.source} to process "
                f"{step.process} is not on its way"
            )
        packets[step.ordinal - 1] = None
        return packet

    def _transmit(self, process: int, effect: Transmit) -> None:
        check_transmit(process, effect, len(self._orders))
        stamp_type = self._orders[process].stamp_type
        packet = decode_packet(encode_packet(effect.packet), stamp_type)
        for destination in members(effect.to):
            self._transmitted.setdefault((process, destination), []).append(packet)

    def _deliver(self, process: int, message: Message) -> None:
        """Apply the definition to a delivery."""
        told = f"process {process} delivered {message.id}"
        history = self._history[process]
        if message.id not in self._before:
            self._find(Flaw.INVENTED, f"{told}, which was never sent")
        elif message.id in self._delivered[process]:
            self._find(Flaw.DOUBLE, f"{told} twice")
        elif not message.destinations >> process & 1:
            addressed = braces(message.destinations)
            self._find(Flaw.STRAY, f"{told}, which is addressed to {addressed}")
        elif message.id.sender != process:
            chain = self._overtaken(process, message)
            if chain:
                through = ", ".join(map(str, chain[1:]))
                depends = f"depends on through {through}" if through else "depends on"
                self._find(Flaw.EARLY, f"{told} without {chain[0]}, which it {depends}")
        self._delivered[process].add(message.id)
        if message.id.sender != process:
            history.append(message)

    def _overtaken(self, process: int, message: Message) -> list[MessageId]:
        """A message that should have been delivered before this one, and those in between; empty
        when there is none. Breadth first, so that the chain is a shortest one."""
        if self._expect is Gives.NOTHING:
            return []
        chains: dict[MessageId, list[MessageId]] = {message.id: []}
        queue = [message.id]
        for later in queue:
            for earlier in self._before[later]:
                if earlier.id in chains:
                    continue
                chains[earlier.id] = [earlier.id, *chains[later]]
                queue.append(earlier.id)
                if (
                    earlier.destinations >> process & 1
                    and earlier.id.sender != process
                    and earlier.id not in self._delivered[process]
                    and (self._expect is Gives.CAUSAL or earlier.id.sender == message.id.sender)
                ):
                    return chains[earlier.id]
        return []

    def drain(self) -> None:
        """Let all that is left happen: sends, arrivals in the order of transmission, wake-ups; then
        see whether everything was delivered."""
        for _ in range(_MAX_DRAIN):
            step = next(self._possible(), None)
            if step is None:
                break
            self.step(step)
            if self.finding is not None:
                return
        for messages in self._messages:
            for message in messages:
                for process in members(message.destinations):
                    if message.id not in self._delivered[process]:
                        never = f"process {process} never delivers {message.id}"
                        self._find(Flaw.UNDELIVERED, f"{never}{self._reason(process, message.id)}")

    def _reason(self, process: int, message: MessageId) -> str:
        for held in self._orders[process].held():
            if held.message == message:
                awaited = ", ".join(awaited.sentence() for awaited in held.awaited)
                return f"; it holds it and waits for {awaited or 'nothing'}"
        return "; it does not hold it"

    def _possible(self) -> Iterator[Step]:
        for process, messages in enumerate(self._messages):
            if self._number_sent[process] < len(messages):
                yield Step("send", process)
        for (source, process), packets in sorted(self._transmitted.items(), key=itemgetter(0)):
            for ordinal, packet in enumerate(packets, 1):
                if packet is not None:
                    yield Step("receive", process, source, ordinal)
        for process, wakes in enumerate(self._wakes):
            if wakes:
                yield Step("wake", process)

    def _find(self, kind: Flaw, sentence: str) -> None:
        if self.finding is None:
            self.finding = Finding(kind, sentence)
