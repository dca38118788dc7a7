"""All schedules of small systems over a broker that keeps nothing, judged by the definition.

What a process publishes to a topic stands in one queue for each subscriber, in order. Steps:
`publish`; `hand` (a subscriber gets the first of a queue and takes all that is ready); `lose` (the
broker drops the first of a queue: `losses` times in a schedule); `subscribe` (a late subscriber
begins with a topic); and, when nothing else can happen, `wake`: patience ends. The judge never
looks at a stamp: each message carries the set of messages in its past.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from antecede.brokers.holdback import Missing, Patience
from antecede.brokers.numbers import Numbers
from antecede.brokers.stamps import decode_topics, encode_topics
from tests.brokers.world import LATER, NAMES, Flaw, Machines, Search, put


class Case(NamedTuple):
    """A small system: the topics that each process subscribes to (bits), and those it publishes
    to, one after the other."""

    reads: tuple[int, ...]
    programs: tuple[tuple[int, ...], ...]
    losses: int = 0
    late: int = 0


class Process(NamedTuple):
    machine: bytes
    issued: int
    subscribed: int
    past: int
    delivered: int
    addressed: int
    lost: int
    told: int
    """How many losses it was told of."""


Key = tuple[int, int, int]
"""(publisher, subscriber, topic)."""
Entry = tuple[int, bytes, int]
"""(message, stamp, past)."""


class World(NamedTuple):
    processes: tuple[Process, ...]
    queues: tuple[tuple[Key, tuple[Entry, ...]], ...]
    losses: int


class Explorer(Search[World]):
    """The states of one case."""

    machine = Numbers

    def __init__(self, case: Case, machine: Machines | None = None) -> None:
        super().__init__(case, machine)
        self.largest_front = 0

    def _machine(self, process: int, snapshot: bytes | None) -> Any:
        machine = self._factory(process + 1, Patience(patience_s=1.0, probe_s=None))
        return self._restored(machine, snapshot)

    def initial(self) -> World:
        processes = []
        for process, reads in enumerate(self._case.reads):
            machine = self._machine(process, None)
            reads = 0 if self._case.late >> process & 1 else reads  # noqa: PLW2901
            for topic in _bits(reads):
                machine.subscribe(NAMES[topic])
            processes.append(Process(machine.snapshot(), 0, reads, 0, 0, 0, 0, 0))
        return World(tuple(processes), (), 0)

    def _moves(self, world: World) -> list[tuple[str, World]]:
        return list(self._steps(world)) or list(self._wakes(world))

    def _steps(self, world: World) -> Iterator[tuple[str, World]]:
        for p, process in enumerate(world.processes):
            for topic in _bits(self._case.reads[p] & ~process.subscribed):
                machine = self._machine(p, process.machine)
                machine.subscribe(NAMES[topic])
                subscribed = process.subscribed | 1 << topic
                after = self._with(world, p, machine, subscribed=subscribed)
                yield f"{p} subscribes to {NAMES[topic]}", after
            if process.issued < len(self._case.programs[p]):
                yield self._publish(world, p, process)
        for key, entries in world.queues:
            rest = self._with_queue(world, key, entries[1:])
            yield f"{key[1]} gets {entries[0][0]}", self._hand(rest, key, entries[0])
            if world.losses < self._case.losses:
                q = key[1]
                process = world.processes[q]
                process = process._replace(lost=process.lost | 1 << entries[0][0])
                yield (
                    f"{entries[0][0]} is lost for {q}",
                    rest._replace(
                        processes=put(rest.processes, q, process), losses=world.losses + 1
                    ),
                )

    def _publish(self, world: World, p: int, process: Process) -> tuple[str, World]:
        topic = self._case.programs[p][process.issued]
        machine = self._machine(p, process.machine)
        stamp = machine.publish(NAMES[topic])
        self.largest_front = max(self.largest_front, len(stamp.front))
        message = self._numbers[p, process.issued]
        entry = (message, encode_topics(stamp), process.past)
        after = self._with(
            world, p, machine, issued=process.issued + 1, past=process.past | 1 << message
        )
        queues = dict(world.queues)
        for q, subscriber in enumerate(after.processes):
            if subscriber.subscribed >> topic & 1:
                key = (p, q, topic)
                after = self._with_queue(after, key, (*queues.get(key, ()), entry))
                there = after.processes[q]
                there = there._replace(addressed=there.addressed | 1 << message)
                after = after._replace(processes=put(after.processes, q, there))
        return f"{p} publishes {message} to {NAMES[topic]}", after

    def _hand(self, world: World, key: Key, entry: Entry) -> World:
        _, q, topic = key
        machine = self._machine(q, world.processes[q].machine)
        effects = machine.arrive(NAMES[topic], decode_topics(entry[1]), list(entry))
        return self._take_all(world, q, machine, effects)

    def _wakes(self, world: World) -> Iterator[tuple[str, World]]:
        for q, process in enumerate(world.processes):
            machine = self._machine(q, process.machine)
            effects = machine.wake(LATER)
            if effects:
                yield f"{q} gives up", self._take_all(world, q, machine, effects)

    def _take_all(self, world: World, q: int, machine: Any, effects: list[Any]) -> World:
        told = sum(isinstance(effect, Missing) for effect in effects)
        told += world.processes[q].told
        while True:
            taken, _ = machine.take()
            if taken is None:
                return self._with(world, q, machine, told=told)
            process = self._judge(world.processes[q], q, taken)
            world = world._replace(processes=put(world.processes, q, process))

    def _judge(self, process: Process, q: int, taken: Any) -> Process:
        self.deliveries += 1
        message, _, past = taken.content
        if process.delivered >> message & 1:
            raise Flaw(f"{q} delivers {message} twice")
        if early := past & process.addressed & ~process.delivered & ~process.lost:
            raise Flaw(f"{q} delivers {message} without {early:#b}")
        return process._replace(
            past=process.past | past | 1 << message, delivered=process.delivered | 1 << message
        )

    def _judge_end(self, world: World) -> None:
        for q, process in enumerate(world.processes):
            if missing := process.addressed & ~process.delivered & ~process.lost:
                raise Flaw(f"{q} never delivers {missing:#b}")
            if not process.told and self._noticeable(process):
                raise Flaw(f"{q} is not told of a loss")
            if process.told and not process.lost and not self._case.late >> q & 1:
                raise Flaw(f"{q} is told of a loss that there was not")

    def _noticeable(self, process: Process) -> bool:
        """Whether something was lost between two deliveries of one publisher in one topic."""
        for p, program in enumerate(self._case.programs):
            for topic in set(program):
                messages = [self._numbers[p, at] for at, to in enumerate(program) if to == topic]
                fates = [process.delivered >> message & 1 for message in messages]
                lost = [process.lost >> message & 1 for message in messages]
                if any(
                    lost[at] and any(fates[:at]) and any(fates[at + 1 :])
                    for at in range(len(messages))
                ):
                    return True
        return False

    def _with_queue(self, world: World, key: Key, entries: tuple[Entry, ...]) -> World:
        queues = {**dict(world.queues), key: entries}
        kept = {key: entries for key, entries in queues.items() if entries}
        return world._replace(queues=tuple(sorted(kept.items())))


def _bits(bits: int) -> Iterator[int]:
    for at in range(len(NAMES)):
        if bits >> at & 1:
            yield at
