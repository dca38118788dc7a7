"""One run and the judgement on it: was everything delivered that had to be, once, and in order?

Order is judged by the oracle, which shares nothing with the protocols; what has to be delivered,
by the sends and deliveries that it was told of. A protocol that raises anything at all, or that
never comes to rest, has failed as well.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import msgspec

from antecede.errors import AntecedeError
from antecede.fuzzing.tolerance import Duty, duty
from antecede.message import MessageId, ProcessSet, members
from antecede.order import Gives, Held, Order
from antecede.simulate import Scenario
from antecede.simulate.recorder import Recorder
from antecede.simulate.run import Simulation
from antecede.verify import OnlineOracle, Violation

EARLY = "early"
UNDELIVERED = "undelivered"
DISAGREEMENT = "disagreement"
STATE_BOUND = "state-bound"
ENDLESS = "endless"

MOST_ROUNDS = 20_000
"""Looks at the recorder before a run counts as endless; as a rule there are some hundred."""


class Failure(msgspec.Struct, frozen=True):
    """What went wrong: the kind (one of those above, or the name of an error) and a sentence."""

    kind: str
    sentence: str


class Outcome(msgspec.Struct, frozen=True):
    """What a run came to."""

    events: int
    messages: int
    deliveries: int
    failure: Failure | None


def judge(scenario: Scenario, order_type: type[Order] | None = None) -> Outcome:
    """Run a scenario and judge it. `order_type` runs in the place of the protocol that it names, as
    a variant that makes the same promises."""
    log = Log(scenario)
    recorder = _Watched(log)
    events = 0
    failure: Failure | None
    try:
        simulation = Simulation(scenario, recorder, order_type)
        recorder.watch(simulation.orders)
        simulation.run()
        events = simulation.events
        failure = next(_failures(scenario, log, simulation.orders), recorder.excess)
    except _Endless:
        failure = Failure(ENDLESS, "the protocol never comes to rest")
    except Exception as error:  # noqa: BLE001 - whatever a protocol raises is a finding
        text = str(error) if isinstance(error, AntecedeError) else repr(error)
        failure = Failure(type(error).__name__, text)
    return Outcome(events, recorder.messages, recorder.deliveries, failure)


class Log(OnlineOracle):
    """The oracle, and besides who has sent, delivered and crashed."""

    def __init__(self, scenario: Scenario) -> None:
        names = scenario.process_names
        super().__init__(names, scenario.run_name)
        self.names = names
        self.destinations: dict[MessageId, ProcessSet] = {}
        self.delivered: dict[MessageId, ProcessSet] = {}
        self.sequences: list[list[MessageId]] = [[] for _ in names]
        """By process, what it delivered, in order."""
        self.crashed: ProcessSet = 0
        self.early: list[tuple[Violation, list[MessageId]]] = []
        """Deliveries that came too early, with all that they overtook."""

    def send(self, process: int, sender: int, number: int, destinations: ProcessSet) -> None:
        super().send(process, sender, number, destinations)
        message = MessageId(sender, number)
        self.destinations[message] = destinations
        self.delivered[message] = 0

    def deliver(
        self, process: int, sender: int, number: int, time: float | None = None
    ) -> Violation | None:
        message = MessageId(sender, number)
        index = self._index.get(message, -1)
        overtaken = self._past_of.get(index, 0) & self._awaited[process]
        violation = super().deliver(process, sender, number, time)
        self.delivered[message] |= 1 << process
        self.sequences[process].append(message)
        if violation is not None:
            missing = [self._sent[index].id for index in members(overtaken)]
            self.early.append((violation, missing))
        return violation

    def crash(self, process: int) -> None:
        super().crash(process)
        self.crashed |= 1 << process

    def died(self, message: MessageId) -> bool:
        """Whether its sender crashed, and nobody has delivered it who did not."""
        return bool(
            self.crashed >> message.sender & 1 and not self.delivered[message] & ~self.crashed
        )

    def name(self, message: MessageId) -> str:
        return f"{self.names[message.sender]}:{message.number}"


class _Endless(Exception):
    """The run has gone on for too long."""


class _Watched(Recorder):
    """Every round of the simulator, which are some events, ends with a look at the recorder: the
    moment to look at the states of the processes, and to lose patience."""

    def __init__(self, log: Log) -> None:
        super().__init__(None, log)
        self._rounds = 0
        self._bounded: list[tuple[Order, int]] = []
        self.excess: Failure | None = None
        """The first state that was larger than it may be."""

    def watch(self, orders: Iterable[Order]) -> None:
        """Look at the states of these that have a bound."""
        bounds = [(order, order.entries_bound()) for order in orders]
        self._bounded = [(order, bound) for order, bound in bounds if bound is not None]

    def flush_if_full(self) -> bool:
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            raise _Endless
        for order, bound in self._bounded:
            if order.entries() > bound and self.excess is None:
                self.excess = Failure(
                    STATE_BOUND,
                    f"process {order.process} keeps {order.entries()} elements, and {bound} is all "
                    f"it may",
                )
        return super().flush_if_full()


def _failures(scenario: Scenario, log: Log, orders: Sequence[Order]) -> Iterator[Failure]:
    """The worst first."""
    gives = orders[0].traits.gives
    if gives is Gives.CAUSAL:
        yield from early(log, dead_count=not scenario.order.traits.survives_crashes)
    elif gives is Gives.FIFO:
        yield from _out_of_turn(log)
    yield from undelivered(duty(scenario), log, orders)
    if getattr(scenario.order_options, "total", False):
        yield from _disagreements(log)


def early(log: Log, *, dead_count: bool) -> Iterator[Failure]:
    """Deliveries that overtook a message. One that died with all who had it (its sender crashed,
    and no survivor has delivered it) cannot be waited for: a protocol that survives crashes goes on
    without it."""
    for violation, overtaken in log.early:
        if dead_count or not all(map(log.died, overtaken)):
            yield Failure(EARLY, log.witness(violation).sentence())


def _out_of_turn(log: Log) -> Iterator[Failure]:
    """Messages of one sender that a process delivered in another order."""
    for name, sequence in zip(log.names, log.sequences, strict=True):
        last: dict[int, MessageId] = {}
        for message in sequence:
            before = last.get(message.sender)
            if before is not None and before > message:
                first, second = log.name(before), log.name(message)
                yield Failure(EARLY, f"{name} delivered {first} before {second}")
            last[message.sender] = message


def undelivered(owed: Duty, log: Log, orders: Sequence[Order]) -> Iterator[Failure]:
    """Copies that had to be delivered, and were not."""
    if owed is Duty.NOTHING:
        return
    for message, destinations in log.destinations.items():
        missing = destinations & ~log.delivered[message] & ~log.crashed
        if not missing or log.died(message):
            continue
        for process in members(missing):
            held = next((one for one in orders[process].held() if one.message == message), None)
            if owed is Duty.ARRIVED and held is None:
                continue
            why = "" if held is None else _reason(held)
            sentence = f"{log.names[process]} never delivered {log.name(message)}{why}"
            yield Failure(UNDELIVERED, sentence)


def _reason(held: Held) -> str:
    awaited = "; ".join(one.sentence() for one in held.awaited) or "nothing"
    return f", which it holds, waiting for {awaited}"


def _disagreements(log: Log) -> Iterator[Failure]:
    """Pairs of processes that delivered what both delivered in different orders."""
    for one, other in combinations(range(len(log.sequences)), 2):
        common = set(log.sequences[one]) & set(log.sequences[other])
        here = [message for message in log.sequences[one] if message in common]
        there = [message for message in log.sequences[other] if message in common]
        for mine, theirs in zip(here, there, strict=True):
            if mine != theirs:
                yield Failure(
                    DISAGREEMENT,
                    f"{log.names[one]} delivered {log.name(mine)} where {log.names[other]} "
                    f"delivered {log.name(theirs)}",
                )
                break
