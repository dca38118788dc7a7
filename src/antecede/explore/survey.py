"""All programs of a size: the exhaustive exploration of a protocol."""

import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import msgspec

from antecede.errors import BrokenInvariant, Misuse
from antecede.explore.automaton import Automata, Flaw, OrderFactory
from antecede.explore.node import SEND, WAKE, Flawed, Nodes, Talks
from antecede.explore.program import Kind, Program, default_kind, programs
from antecede.explore.schedule import Failure, Run, Step, factory_of, shrink
from antecede.explore.search import Endless, Path, Search, Tail, TooManyStates, Undelivered
from antecede.explore.symmetry import symmetries
from antecede.message import Membership, ProcessSet
from antecede.order import Channels, Gives
from antecede.protocols import deploy_for, network_options

Progress = Callable[[int, int, int], None]
"""Called with the programs explored, the programs there are, and the states visited so far."""

DEFAULT_MAX_WAKES = 4

_MAX_NODES = 400_000
"""Nodes kept from one program to the next; beyond, the tables are emptied to bound memory."""
_MAX_SHORTEST = 200_000
"""States visited to find the shortest schedule among all before taking it from the reduced ones."""
_CHUNKS_PER_JOB = 8
_TAKEN = -1


class Exploration(msgspec.Struct, frozen=True, kw_only=True):
    """What was explored and what came out. It is a pass only if `passed` says so, and one for all
    schedules only without `wakes_cut`."""

    programs: int = 0
    states: int = 0
    schedules: int = 0
    deliveries_checked: int = 0
    """Deliveries judged, each distinct local step once."""
    failure: Failure | None = None
    incomplete: str = ""
    """Why there is no verdict; empty when there is one."""
    wakes_cut: bool = False
    """Whether a process asked for more wake-ups than `Settings.max_wakes`: what it does on the
    later ones was not explored."""
    renamings: int = 1
    """Under how many renamings of the processes each program stands for others, its own name
    included."""

    @property
    def passed(self) -> bool:
        return self.failure is None and not self.incomplete

    def plus(self, other: "Exploration") -> "Exploration":
        """Both together; of two failures, this one's."""
        return Exploration(
            programs=self.programs + other.programs,
            states=self.states + other.states,
            schedules=self.schedules + other.schedules,
            deliveries_checked=self.deliveries_checked + other.deliveries_checked,
            failure=self.failure or other.failure,
            incomplete=self.incomplete or other.incomplete,
            wakes_cut=self.wakes_cut or other.wakes_cut,
            renamings=max(self.renamings, other.renamings),
        )


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How to explore. `expect` and `channels`: unless told otherwise, what the protocol promises
    and what it needs. `max_wakes`: wake-ups of each process, in each program; one number for all or
    one for each. `max_states`: of each program."""

    expect: Gives | None = None
    channels: Channels | None = None
    reduction: bool = True
    max_states: int | None = None
    max_wakes: int | tuple[int, ...] = DEFAULT_MAX_WAKES


def _wakes(settings: Settings, membership: Membership) -> tuple[int, ...]:
    """How often each process may be woken."""
    wakes = settings.max_wakes
    wakes = (wakes,) * membership.size if isinstance(wakes, int) else wakes
    if len(wakes) != membership.size:
        raise Misuse(f"max_wakes has {len(wakes)} numbers for {membership.size} processes")
    return wakes


class Explorer:
    """Explores programs of one protocol and membership, and keeps what it learns about the local
    steps from one program to the next."""

    def __init__(
        self, factory: OrderFactory, membership: Membership, settings: Settings | None = None
    ) -> None:
        self._factory = factory
        self._membership = membership
        self._settings = settings = settings or Settings()
        traits = factory(0, membership).traits
        if traits.watches:
            raise Misuse(
                f"{traits.title} watches the clock to see who has crashed: wake-ups never end, "
                "each makes a new state, and so there is no last one to explore; draw schedules at "
                "random instead (antecede fuzz)"
            )
        self.expect = traits.gives if settings.expect is None else settings.expect
        self.channels = settings.channels or traits.channels
        wakes = _wakes(settings, membership)
        self._automata = Automata(factory, membership, self.expect, wakes)
        self._talks_to = [0] * membership.size
        self._renew()

    def _renew(self) -> None:
        """Empty the tables."""
        self._automata.forget()
        self._nodes = Nodes(
            self._automata,
            self._membership.size,
            fifo=self.channels is Channels.FIFO,
            talks_to=self._talks_to,
        )
        self._tails: dict[int, Tail] = {}

    def learn(self, found: Talks) -> None:
        """From now on, presume that a process talks to others."""
        self._talks_to[found.process] |= found.to

    def search(self, program: Program, *, reduction: bool = True) -> Search:
        """The states of a program, unexplored."""
        return Search(program, self._nodes, self._tails, reduction=reduction)

    def explore(self, program: Program) -> Exploration:
        """Explore one program."""
        if len(self._nodes) > _MAX_NODES:
            self._renew()
        before = self._automata.deliveries_checked
        search, schedules, failed, incomplete = self._schedules(program)
        return Exploration(
            programs=1,
            states=search.states,
            schedules=schedules,
            deliveries_checked=self._automata.deliveries_checked - before,
            failure=self._fresh().failure(program) if failed else None,
            incomplete=incomplete,
            wakes_cut=search.is_cut,
        )

    def _schedules(self, program: Program) -> tuple[Search, int, bool, str]:
        """The search, the number of schedules, whether one fails, why it is incomplete."""
        settings = self._settings
        while True:
            search = self.search(program, reduction=settings.reduction)
            try:
                schedules = search.schedules(settings.max_states)
            except Talks as found:
                self.learn(found)
            except (Flawed, Undelivered):
                return search, 0, True, ""
            except TooManyStates:
                return search, 0, False, f"the limit of {settings.max_states} states was hit"
            except Endless:
                return search, 0, False, "a schedule returned to an earlier state and may never end"
            else:
                refused = "a process was refused a wake-up, and messages were undelivered"
                return search, schedules, False, refused if search.is_undecided else ""

    def _fresh(self) -> "Explorer":
        """One that has seen nothing: which of several shortest schedules it finds must not depend
        on the programs explored before."""
        return Explorer(self._factory, self._membership, self._settings)

    def failure(self, program: Program) -> Failure:
        """The shortest schedule on which the program fails, or a short one."""
        found = self._shortest(program, reduction=False, limit=_MAX_SHORTEST)
        is_shortest = found is not None
        found = found or self._shortest(program, reduction=True, limit=None)
        if found is None:
            raise BrokenInvariant("a failure was found and not found again")
        kind, path = found
        failure = Failure(
            kind=kind,
            sentence="",
            program=program,
            steps=tuple(_steps(path)),
            lines=(),
            expect=self.expect,
            channels=self.channels,
            is_shortest=is_shortest,
        )
        if not is_shortest and kind is not Flaw.UNDELIVERED:
            steps = tuple(shrink(failure, self._factory))
            failure = msgspec.structs.replace(failure, steps=steps)
        return self._told(failure)

    def _shortest(
        self, program: Program, *, reduction: bool, limit: int | None
    ) -> tuple[Flaw, Path] | None:
        while True:
            try:
                return self.search(program, reduction=reduction).shortest_flaw(limit)
            except Talks as found:
                self.learn(found)

    def _told(self, failure: Failure) -> Failure:
        """The failure in words. They come from a plain run, which must find the same flaw."""
        run = Run(failure.program, self._factory, self.expect, self.channels)
        for step in failure.steps:
            run.step(step)
        lines = tuple(run.lines)
        if failure.kind is Flaw.UNDELIVERED:
            run.drain()
        if run.finding is None or run.finding.kind is not failure.kind:
            raise BrokenInvariant(f"the search found '{failure.kind}', its replay {run.finding}")
        return msgspec.structs.replace(failure, sentence=run.finding.sentence, lines=lines)


def _steps(path: Path) -> list[Step]:
    """The steps of a path; a packet is known by its place among all from its source."""
    transmitted: dict[tuple[int, int], list[int]] = {}
    steps = []
    for process, move in path:
        if move.label == SEND:
            steps.append(Step("send", process))
        elif move.label == WAKE:
            steps.append(Step("wake", process))
        else:
            source, packets = next(
                (source, packets)
                for (source, destination), packets in transmitted.items()
                if destination == process and move.label in packets
            )
            place = packets.index(move.label)
            packets[place] = _TAKEN
            steps.append(Step("receive", process, source, place + 1))
        for destination, packet in move.outputs:
            transmitted.setdefault((process, destination), []).append(packet)
    return steps


def explore_program(
    factory: OrderFactory, program: Program, settings: Settings | None = None
) -> Exploration:
    """Explore all schedules of one program."""
    return Explorer(factory, program.membership, settings).explore(program)


def explore(
    protocol: str | OrderFactory,
    processes: int | None,
    messages: int,
    *,
    topology: str | None = None,
    addressing: Kind | str | None = None,
    groups: Sequence[ProcessSet] = (),
    options: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    symmetry: bool | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Exploration:
    """Explore all schedules of all programs of up to `messages` messages, small ones first; stop
    with the first program that fails. `protocol` is a name of the registry or, with one job, an
    order factory. With a `topology`, as `simulate` takes it, they are programs that its processes
    can send: of an overlay, between those that applications live at; of a protocol that talks to
    neighbours, between nodes that are linked.

    Of programs that are symmetric, one stands for all (`symmetry` says when they are); with False
    each is explored. True presumes that a protocol which lets the smaller number decide a tie would
    keep its promise under any other choice, too."""
    options = dict(options or {})
    if topology is not None:
        processes, options = _on_network(protocol, options, topology, processes)
    if processes is None or processes < 1 or messages < 1 or jobs < 1:
        raise Misuse("exploring takes at least one process, one message and one job")
    if any(not group or group >> processes for group in groups):
        raise Misuse(f"every group has members, and only processes 0 to {processes - 1}")
    membership = Membership(processes, tuple(groups))
    settings = settings or Settings()
    factory = factory_of(protocol, options) if isinstance(protocol, str) else protocol
    if jobs > 1 and not isinstance(protocol, str):
        raise Misuse("several jobs take a protocol by its name")
    kind = _kind(addressing, factory, membership)
    orders = [factory(process, membership) for process in range(processes)]
    renamings = (
        []
        if symmetry is False
        else symmetries(orders, _wakes(settings, membership), presume_alike=symmetry is True)
    )
    reach = [order.reach for order in orders]
    sizes = [
        list(programs(membership, size, kind, renamings, reach)) for size in range(1, messages + 1)
    ]
    watch = _Watch(progress, sum(map(len, sizes)))
    if jobs > 1:
        total = _in_parallel(str(protocol), options, sizes, membership, settings, jobs, watch)
    else:
        explorer = Explorer(factory, membership, settings)
        total = _in_turn(explorer, [program for size in sizes for program in size], watch)
    total = msgspec.structs.replace(total, renamings=max(1, len(renamings)))
    if total.failure is not None and isinstance(protocol, str):
        named = msgspec.structs.replace(total.failure, protocol=protocol, options=options)
        total = msgspec.structs.replace(total, failure=named)
    return total


def _on_network(
    protocol: str | OrderFactory, options: dict[str, Any], topology: str, processes: int | None
) -> tuple[int, dict[str, Any]]:
    """How many processes there are on a topology, routers included, and the options of all."""
    if not isinstance(protocol, str):
        raise Misuse("a topology takes a protocol by its name")
    given = sorted({"links", "applications", "separators"} & options.keys())
    if given:
        raise Misuse(f"the topology says who is linked to whom; drop the options {given}")
    deployment = deploy_for(protocol, options, topology, processes=processes)
    known = network_options(protocol, options, deployment)
    if not known:
        raise Misuse(
            f"{protocol} knows no network; separators does, and histories with the option "
            f"rules=R1-R9"
        )
    return deployment.topology.size, {**options, **known}


def _kind(addressing: Kind | str | None, factory: OrderFactory, membership: Membership) -> Kind:
    if addressing is None:
        return default_kind(factory(0, membership).traits.addressing, membership)
    try:
        return Kind(addressing)
    except ValueError:
        raise Misuse(f"addressing is one of {', '.join(Kind)}; not '{addressing}'") from None


class _Watch:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total

    def tell(self, so_far: Exploration) -> None:
        if self._progress is not None:
            self._progress(so_far.programs, self._total, so_far.states)


def _in_turn(explorer: Explorer, todo: list[Program], watch: _Watch) -> Exploration:
    total = Exploration()
    for program in todo:
        total = total.plus(explorer.explore(program))
        watch.tell(total)
        if total.failure is not None:
            break
    return total


def _work(
    protocol: str,
    options: dict[str, Any],
    todo: list[Program],
    membership: Membership,
    settings: Settings,
) -> Exploration:
    """What one worker process does."""
    explorer = Explorer(factory_of(protocol, options), membership, settings)
    return _in_turn(explorer, todo, _Watch(None, 0))


def _in_parallel(
    protocol: str,
    options: dict[str, Any],
    sizes: list[list[Program]],
    membership: Membership,
    settings: Settings,
    jobs: int,
    watch: _Watch,
) -> Exploration:
    """One size after the other, each in chunks; of the failures of a size, the first chunk's."""
    total = Exploration()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for size in sizes:
            length = max(1, len(size) // (jobs * _CHUNKS_PER_JOB))
            chunks = [size[start : start + length] for start in range(0, len(size), length)]
            futures = [
                pool.submit(_work, protocol, options, chunk, membership, settings)
                for chunk in chunks
            ]
            for future in futures:
                total = total.plus(future.result())
                watch.tell(total)
            if total.failure is not None:
                break
    return total
