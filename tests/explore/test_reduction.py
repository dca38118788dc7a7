"""The reduction loses nothing: with and without it a program ends in the same ways, and the same
programs fail."""

from collections.abc import Iterable, Iterator
from itertools import product

import pytest

from antecede.explore import Explorer, Kind, OrderFactory, Program, Send, Settings, programs
from antecede.explore.node import Talks
from antecede.message import Membership
from antecede.order import Addressing, Channels, Gives, Order
from antecede.protocols import find, names
from tests.explore.planted import Deaf, Echo, Fragile, Relay, Sleeper, recording
from tests.mutants import mutants_of, mutated

CHAIN = Membership(3, (0b011, 0b110))
CYCLE = Membership(3, (0b011, 0b110, 0b101))
PAIR = Membership(2)
THREE = Membership(3)

Ends = set[tuple[tuple[bytes, int, int], ...]]

FINITE = [
    name
    for name in names()
    if not find(name).traits.null_messages and not find(name).traits.survives_crashes
]
"""Who suspects others by the clock has no end of states."""


def _small_programs(order: type[Order], messages: int) -> Iterator[Program]:
    yield from programs(THREE, messages, Kind.GROUP)
    if order.traits.addressing is Addressing.SETS:
        yield from programs(THREE, messages, Kind.SETS)
    if order.traits.addressing is Addressing.GROUPS:
        yield from programs(CHAIN, messages, Kind.GROUPS)
        yield from programs(CYCLE, messages, Kind.GROUPS)


def _ends(factory: OrderFactory, program: Program, settings: Settings, *, reduction: bool) -> Ends:
    """Who has sent and delivered what, in which order, when schedules end."""
    explorer = Explorer(factory, program.membership, settings)
    while True:
        try:
            return explorer.search(program, reduction=reduction).ends()
        except Talks as found:
            explorer.learn(found)


def _assert_same_ends(order: type[Order], program: Program, settings: Settings) -> None:
    factory = recording(order)
    everything = _ends(factory, program, settings, reduction=False)
    assert everything
    assert _ends(factory, program, settings, reduction=True) == everything


@pytest.mark.parametrize("name", FINITE)
def test_a_protocol_ends_in_the_same_ways(name: str) -> None:
    order = find(name)
    settings = Settings(max_wakes=0, expect=Gives.NOTHING)
    for program in _small_programs(order, 3):
        _assert_same_ends(order, program, settings)


@pytest.mark.parametrize("channels", list(Channels))
@pytest.mark.parametrize("order", [find("none"), find("fifo"), Deaf, Sleeper])
def test_disorder_ends_in_the_same_ways(order: type[Order], channels: Channels) -> None:
    settings = Settings(expect=Gives.NOTHING, channels=channels)
    for program in programs(THREE, 3, Kind.UNICAST):
        _assert_same_ends(order, program, settings)
    for program in programs(THREE, 2, Kind.SETS):
        _assert_same_ends(order, program, settings)


@pytest.mark.parametrize("name", [n for n in names() if find(n).traits.null_messages])
def test_null_messages_end_in_the_same_ways(name: str) -> None:
    settings = Settings(max_wakes=2)
    for messages in (1, 2):
        for program in programs(CHAIN, messages, Kind.GROUPS):
            _assert_same_ends(find(name), program, settings)


@pytest.mark.parametrize("order", [Echo, Relay])
def test_talkers_end_in_the_same_ways(order: type[Order]) -> None:
    settings = Settings(expect=Gives.NOTHING)
    for program in programs(THREE, 2, Kind.SETS, renamings=()):  # a relay knows who comes first
        _assert_same_ends(order, program, settings)
    for program in programs(PAIR, 3, Kind.UNICAST):
        _assert_same_ends(order, program, settings)


def test_disorder_ends_in_many_ways() -> None:
    """The comparison above has something to compare. Three processes broadcast once each: which
    message comes before which send is one of the 25 acyclic graphs of three nodes, and a process
    with no or with two messages before its send has them in two orders on either side of it."""
    no_edge, one, chain, fork, join, all_three = 8, 6 * 4, 6 * 2, 3 * 2, 3 * 8, 6 * 4
    program = Program(THREE, ((Send(0b111, 0),),) * 3)
    settings = Settings(expect=Gives.NOTHING)
    for reduction in (True, False):
        ends = _ends(recording(find("none")), program, settings, reduction=reduction)
        assert len(ends) == no_edge + one + chain + fork + join + all_three


def _assert_same_verdicts(order: type[Order], settings: Settings, todo: Iterable[Program]) -> int:
    """The number of programs that fail."""
    failed = 0
    for program in todo:
        verdicts = []
        for reduction in (True, False):
            chosen = Settings(
                reduction=reduction, expect=settings.expect, max_wakes=settings.max_wakes
            )
            found = Explorer(order, program.membership, chosen).explore(program)
            assert not found.incomplete
            failure = found.failure
            verdicts.append(failure and (failure.kind, failure.sentence, failure.steps))
        assert verdicts[0] == verdicts[1], program
        failed += verdicts[0] is not None
    return failed


@pytest.mark.parametrize("order", [find("none"), find("fifo"), Deaf, Fragile])
def test_the_same_programs_fail(order: type[Order]) -> None:
    settings = Settings(expect=Gives.CAUSAL)
    assert _assert_same_verdicts(order, settings, _small_programs(order, 3)) > 0


ON_WAKING = {("piggyback", "acknowledged-before-arrival")}
"""The mutants that only a wake-up brings to light."""


@pytest.mark.parametrize("name", FINITE)
def test_the_same_programs_fail_for_mutants(name: str) -> None:
    settings = Settings(max_wakes=0)
    for mutant in mutants_of(name):
        order = mutated(name, mutant)
        failed = _assert_same_verdicts(order, settings, _small_programs(order, 3))
        assert (failed > 0) == ((name, mutant.name) not in ON_WAKING), mutant.name


@pytest.mark.parametrize(("name", "planted"), sorted(ON_WAKING))
def test_the_same_programs_fail_on_waking(name: str, planted: str) -> None:
    [mutant] = [mutant for mutant in mutants_of(name) if mutant.name == planted]
    settings = Settings(max_wakes=(0, 1, 0))
    choices = product((Send(0b001), Send(0b100)), repeat=3)
    todo = [Program(THREE, ((), sends, ())) for sends in choices]
    assert _assert_same_verdicts(mutated(name, mutant), settings, todo) > 0
