"""All schedules of small systems of publishers, lanes and readers, judged by the definition.

A world holds the machines' snapshots, the lanes as plain lists, and for each process what the judge
knows: the set of messages in its causal past and the set that it has delivered, as bits. The judge
never looks at a stamp. Steps, one at a time and in every order:

- `issue`: a process gives its next message to the broker, with the stamp that its machine makes;
- `append`: the broker gives the oldest message in flight of a process its place, and says so;
- `lose`: the same, but the process hears nothing (and with `drop` it was not even taken);
- `settle`: a process asks for the end of a lane in doubt;
- `open`: a reader that comes late begins with a lane, at its end;
- `read`: a reader gets the next message of a lane; `take`: its application takes one (with `eager`
  both are one step, and all that is ready is taken);
- `probe`: what waits asks the broker how far a lane goes;
- `commit`: a reader stores its frontier; `crash`: it starts again from there.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from antecede.brokers.holdback import Patience, Probe
from antecede.brokers.lanes import Frontier, Lanes
from antecede.brokers.stamps import LaneStamp, decode_lanes, encode_lanes
from tests.brokers.world import LATER, NAMES, Flaw, Machines, Search, put


class Sent(NamedTuple):
    """What a process publishes: where, and which readers' filters do not let it through."""

    lane: int
    hidden: int = 0


class Case(NamedTuple):
    """A small system. Sets of processes and lanes are bits."""

    reads: tuple[int, ...]
    programs: tuple[tuple[Sent, ...], ...]
    late: int = 0
    crashes: int = 0
    loses: int = 0
    eager: bool = True
    probes: bool = False


class Entry(NamedTuple):
    """A message of the world."""

    message: int
    stamp: bytes
    past: int
    hidden: int


class Process(NamedTuple):
    """One process: its machine, and what the judge knows of it."""

    machine: bytes
    issued: int
    flying: tuple[tuple[int, Entry], ...]
    cursors: tuple[int, ...]
    """For each lane the place after which it reads on; -1: not yet."""
    past: int
    delivered: int
    addressed_from: tuple[int, ...]
    committed: tuple[bytes, int, int] | None
    crashed: bool = False


class World(NamedTuple):
    processes: tuple[Process, ...]
    lanes: tuple[tuple[Entry, ...], ...]


class Explorer(Search[World]):
    """The states of one case."""

    machine = Lanes

    def __init__(self, case: Case, machine: Machines | None = None) -> None:
        super().__init__(case, machine)
        self._lanes = max([s.lane for p in case.programs for s in p] + [0]) + 1
        self.waits = 0

    def _machine(self, process: int, snapshot: bytes | None, past: Any = None) -> Any:
        machine = self._factory(process + 1, Patience(probe_s=1.0, limit=2), past)
        return self._restored(machine, snapshot)

    def initial(self) -> World:
        processes = []
        for process, reads in enumerate(self._case.reads):
            machine = self._machine(process, None)
            late = self._case.late >> process & 1
            cursors = [-1] * self._lanes
            for lane in range(self._lanes):
                if reads >> lane & 1 and not late:
                    machine.open(NAMES[lane], 0)
                    cursors[lane] = 0
            committed = (b"", 0, 0) if self._case.crashes >> process & 1 else None
            processes.append(
                Process(machine.snapshot(), 0, (), tuple(cursors), 0, 0, tuple(cursors), committed)
            )
        return World(tuple(processes), ((),) * self._lanes)

    # Steps

    def _moves(self, world: World) -> Iterator[tuple[str, World]]:
        for number, process in enumerate(world.processes):
            yield from self._publishing(world, number, process)
            yield from self._reading(world, number, process)
            yield from self._storing(world, number, process)

    def _publishing(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        program = self._case.programs[p]
        machine = self._machine(p, process.machine)
        if process.issued < len(program):
            sent = program[process.issued]
            name = NAMES[sent.lane]
            blockers = machine.blockers(name)
            if not blockers:
                message = self._numbers[p, process.issued]
                stamp = encode_lanes(machine.publish(name))
                entry = Entry(message, stamp, process.past, sent.hidden)
                yield (
                    f"{p} issues {message} in {name}",
                    self._with(
                        world, p, machine, issued=process.issued + 1,
                        flying=(*process.flying, (sent.lane, entry)),
                        past=process.past | 1 << message,
                    ),
                )  # fmt: skip
            for doubtful in filter(machine.is_doubtful, blockers):
                machine = self._machine(p, process.machine)
                machine.settle(doubtful, len(world.lanes[NAMES.index(doubtful)]))
                yield f"{p} settles {doubtful}", self._with(world, p, machine)
        if process.flying:
            (lane, entry), *rest = process.flying
            appended = tuple(
                (*entries, entry) if at == lane else entries
                for at, entries in enumerate(world.lanes)
            )
            machine = self._machine(p, process.machine)
            machine.confirm(NAMES[lane], len(appended[lane]))
            grown = world._replace(lanes=appended)
            yield f"{entry.message} appended", self._with(grown, p, machine, flying=tuple(rest))
            if self._case.loses >> p & 1:
                machine = self._machine(p, process.machine)
                machine.doubt(NAMES[lane])
                yield (
                    f"{entry.message} appended unheard",
                    self._with(grown, p, machine, flying=tuple(rest)),
                )

    def _reading(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        for lane in range(self._lanes):
            if not self._case.reads[p] >> lane & 1:
                continue
            entries, cursor = world.lanes[lane], process.cursors[lane]
            if cursor < 0:
                machine = self._machine(p, process.machine)
                machine.open(NAMES[lane], len(entries))
                cursors = put(process.cursors, lane, len(entries))
                begins = put(process.addressed_from, lane, len(entries))
                yield (
                    f"{p} opens {NAMES[lane]}",
                    self._with(world, p, machine, cursors=cursors, addressed_from=begins),
                )
                continue
            while cursor < len(entries) and entries[cursor].hidden >> p & 1:
                cursor += 1
            if cursor < len(entries):
                machine = self._machine(p, process.machine)
                entry = entries[cursor]
                stamp: LaneStamp = decode_lanes(entry.stamp)
                machine.arrive(NAMES[lane], cursor + 1, stamp, list(entry))
                after = self._with(
                    world, p, machine, cursors=put(process.cursors, lane, cursor + 1)
                )
                if self._case.eager:
                    after = self._take_all(after, p)
                yield f"{p} reads {entry.message}", after
        if not self._case.eager:
            machine = self._machine(p, process.machine)
            taken, _ = machine.take()
            if taken is not None:
                after = self._delivered(world, p, machine, taken)
                yield f"{p} takes {taken.content[0]}", after
        if self._case.probes:
            yield from self._probing(world, p, process)

    def _probing(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        machine = self._machine(p, process.machine)
        for effect in machine.wake(LATER):
            if isinstance(effect, Probe):
                lane = NAMES.index(effect.lane)
                entries = world.lanes[lane]
                visible = [
                    at + 1
                    for at, entry in enumerate(entries)
                    if at >= effect.after and not entry.hidden >> p & 1
                ]
                probing = self._machine(p, process.machine)
                probing.probed(effect.lane, min(visible, default=None), len(entries))
                after = self._with(world, p, probing)
                if self._case.eager:
                    after = self._take_all(after, p)
                if after != world:
                    yield f"{p} probes {effect.lane}", after

    def _storing(self, world: World, p: int, process: Process) -> Iterator[tuple[str, World]]:
        if process.committed is None or process.crashed:
            return
        machine = self._machine(p, process.machine)
        frontier = msgspec.msgpack.encode(machine.frontier())
        committed = (frontier, process.delivered, process.past)
        if process.delivered != process.committed[1] or process.past != process.committed[2]:
            yield f"{p} commits", self._with(world, p, machine, committed=committed)
        if process.flying:
            return
        yield f"{p} crashes", self._restarted(world, p, process)

    def _restarted(self, world: World, p: int, process: Process) -> World:
        blob, delivered, past = process.committed or (b"", 0, 0)
        frontier = msgspec.msgpack.decode(blob, type=Frontier) if blob else Frontier({}, {})
        machine = self._machine(p + 10, None, frontier.past)
        cursors = [-1] * self._lanes
        for lane in range(self._lanes):
            if self._case.reads[p] >> lane & 1:
                cursors[lane] = frontier.places.get(NAMES[lane], 0)
                machine.open(NAMES[lane], cursors[lane])
        return self._with(
            world, p, machine, cursors=tuple(cursors), delivered=delivered, past=past, crashed=True
        )

    # Judging

    def _take_all(self, world: World, p: int) -> World:
        while True:
            machine = self._machine(p, world.processes[p].machine)
            taken, _ = machine.take()
            if taken is None:
                return world
            world = self._delivered(world, p, machine, taken)

    def _delivered(self, world: World, p: int, machine: Any, taken: Any) -> World:
        self.deliveries += 1
        process = world.processes[p]
        message, _, past, _ = taken.content
        if process.delivered >> message & 1:
            raise Flaw(f"{p} delivers {message} twice")
        if taken.late or taken.without:
            raise Flaw(f"{p} gives something up for {message}")
        if early := past & self._addressed(world, p) & ~process.delivered:
            raise Flaw(f"{p} delivers {message} without {early:#b}")
        return self._with(
            world, p, machine, past=process.past | past | 1 << message,
            delivered=process.delivered | 1 << message,
        )  # fmt: skip

    def _addressed(self, world: World, p: int) -> int:
        """The messages that this reader is to get, as far as they have a place."""
        process = world.processes[p]
        bits = 0
        for lane, begin in enumerate(process.addressed_from):
            if begin >= 0:
                for entry in world.lanes[lane][begin:]:
                    if not entry.hidden >> p & 1:
                        bits |= 1 << entry.message
        return bits

    def _judge_end(self, world: World) -> None:
        for p, process in enumerate(world.processes):
            if process.issued < len(self._case.programs[p]):
                raise Flaw(f"{p} cannot publish")
            missing = self._addressed(world, p) & ~process.delivered
            if missing:
                raise Flaw(f"{p} never delivers {missing:#b}")

    def _with(self, world: World, p: int, machine: Any, **changed: Any) -> World:
        self._check_held(machine, p)
        return super()._with(world, p, machine, **changed)

    def _check_held(self, machine: Any, p: int) -> None:
        """What is said to be waited for has not been reached, and is really named."""
        reached = machine.frontier().places
        for held in machine.held():
            self.waits += 1
            for lane, place in held.awaited:
                behind = lane == held.lane and place < held.place
                if reached.get(lane, LATER) >= place and not behind:
                    raise Flaw(f"{p} waits for {lane}:{place}, which it has")
