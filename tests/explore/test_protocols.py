"""Every protocol of the registry, exhaustively at a small size; and its planted bugs are found."""

from collections.abc import Iterator
from itertools import cycle, islice
from typing import NamedTuple

import pytest

from antecede.explore import (
    Exploration,
    Explorer,
    Failure,
    Kind,
    OrderFactory,
    Settings,
    explore,
    programs,
    replay,
)
from antecede.message import Membership
from antecede.order import Addressing, Gives, Order
from antecede.protocols import find, names
from tests.mutants import Mutant, mutants_of, mutated

FINITE = [name for name in names() if not find(name).traits.survives_crashes]
"""Who suspects others by the clock has no end of states: its tests are random and by hand."""


class Scope(NamedTuple):
    """What is explored: with `cleaner`, one process may be woken once, whichever it is."""

    processes: int
    messages: int
    kind: Kind
    groups: tuple[int, ...] = ()
    cleaner: bool = False

    def __str__(self) -> str:
        groups = "+".join(f"{group:b}" for group in self.groups)
        return f"{self.processes}x{self.messages}-{groups or self.kind}" + "-cleaner" * self.cleaner


CHAIN = (0b0011, 0b1110)
CYCLE = (0b011, 0b110, 0b101)
NESTED = (0b111, 0b110)
RING = (0b0011, 0b0110, 0b1100, 0b1001)


def _scopes(order: type[Order]) -> Iterator[Scope]:
    """Small ones first."""
    addressing = order.traits.addressing
    yield Scope(3, 3, Kind.GROUP)
    if addressing >= Addressing.GROUPS:
        yield Scope(3, 3, Kind.GROUPS, CYCLE)
        yield Scope(3, 3, Kind.GROUPS, NESTED)
        yield Scope(4, 3, Kind.GROUPS, CHAIN)
        yield Scope(4, 4, Kind.GROUPS, RING)
    if addressing is Addressing.SETS:
        yield Scope(3, 3, Kind.UNICAST, cleaner=True)
        yield Scope(3, 2, Kind.SETS_AND_SELF)
        yield Scope(3, 4, Kind.SETS)
        yield Scope(4, 4, Kind.UNICAST)
    elif not order.traits.null_messages:
        yield Scope(3, 4, Kind.GROUP)


def _explore(
    factory: str | OrderFactory, order: type[Order], scope: Scope, symmetry: bool | None = None
) -> Exploration:
    # Null messages are sent on waking up; other protocols can do without, and what they do then
    # is explored for one process at a time, because everything is in flight at once.
    wakes: int | tuple[int, ...] = 4 if order.traits.null_messages else 0
    if scope.cleaner:
        wakes = (0, 1, 0)
    return explore(
        factory,
        scope.processes,
        scope.messages,
        addressing=scope.kind,
        groups=scope.groups,
        settings=Settings(max_wakes=wakes),
        symmetry=symmetry,
    )


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        pytest.param(name, scope, id=f"{name}-{scope}")
        for name in FINITE
        for scope in _scopes(find(name))
        # Where the processes are not alike, there are six times as many programs.
        if find(name).traits.alike or (scope.kind, scope.messages) != (Kind.SETS, 4)
    ],
)
def test_a_protocol_keeps_its_promise(name: str, scope: Scope) -> None:
    found = _explore(name, find(name), scope)
    assert found.failure is None, str(found.failure)
    assert found.passed, found.incomplete


BASELINES = ("none", "fifo", "vector", "matrix", "optimal")


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_keeps_its_promise_among_four_processes(name: str) -> None:
    """Four messages to everybody and, where a protocol can, to one process each."""
    kinds = [Kind.GROUP]
    if find(name).traits.addressing is Addressing.SETS:
        kinds.append(Kind.UNICAST)
    for kind in kinds:
        found = explore(name, 4, 4, addressing=kind)
        assert found.failure is None, str(found.failure)
        assert found.passed, found.incomplete
        assert not found.wakes_cut


def test_vectors_keep_their_promise_in_four_groups() -> None:
    found = explore("vector", 4, 5, groups=RING)
    assert found.passed, str(found.failure)


def test_piggyback_keeps_its_promise_among_four_processes() -> None:
    """Without clean-up all programs of four messages; with one clean-up, by each process in turn,
    one of five messages in 200: everything is in flight at once."""
    found = explore("piggyback", 4, 4, settings=Settings(max_wakes=0))
    assert found.passed, str(found.failure)
    assert found.wakes_cut
    membership = Membership(4)
    explorers = [
        Explorer(
            find("piggyback"), membership, Settings(max_wakes=tuple(int(p == q) for q in range(4)))
        )
        for p in range(4)
    ]
    some = islice(programs(membership, 5, Kind.UNICAST), 0, None, 200)
    for explorer, program in zip(cycle(explorers), some, strict=False):
        found = explorer.explore(program)
        assert found.passed, f"{program}\n{found.incomplete}{found.failure}"


def test_extra_messages_of_bounded() -> None:
    """With k = n, four messages among three processes call for extra messages."""
    assert explore("bounded", 3, 4, addressing=Kind.UNICAST, options={"k": 3}).passed
    assert explore("bounded", 3, 3, addressing=Kind.SETS, options={"k": 3}).passed


def test_vectors_of_own_groups_suffice_without_a_cycle() -> None:
    assert explore("vector", 4, 4, groups=CHAIN, options={"carry": "own"}).passed
    assert explore("vector", 4, 4, groups=RING, options={"carry": "own"}).failure is not None


def test_the_clean_up_of_piggyback_as_printed_is_too_early() -> None:
    """An acknowledgement then says that a message was noted, not that it has arrived."""
    failure = explore(
        "piggyback",
        3,
        2,
        addressing=Kind.UNICAST,
        options={"cleanup": "printed"},
        settings=Settings(max_wakes=(0, 1, 0)),
        symmetry=False,
    ).failure
    assert failure is not None
    assert failure.sentence == "process 0 delivered 1:2 without 1:1, which it depends on"


@pytest.mark.parametrize("name", [n for n in names() if find(n).traits.gives < Gives.CAUSAL])
def test_what_promises_less_is_not_causal(name: str) -> None:
    assert explore(name, 3, 3, settings=Settings(expect=Gives.CAUSAL)).failure is not None


def _planted() -> list[tuple[str, Mutant]]:
    found = []
    for name in FINITE:
        try:
            found += [(name, mutant) for mutant in mutants_of(name)]
        except LookupError:
            continue  # the conformance suite says so, without hiding the other protocols
    return found


@pytest.mark.parametrize(
    ("name", "mutant"),
    [pytest.param(name, mutant, id=f"{name}-{mutant.name}") for name, mutant in _planted()],
)
def test_a_mutant_is_caught(name: str, mutant: Mutant) -> None:
    order = mutated(name, mutant)
    failure = _first_failure(order)
    assert failure is not None
    finding = replay(failure, order)
    assert finding is not None
    assert (finding.kind, finding.sentence) == (failure.kind, failure.sentence)
    assert replay(failure, find(name)) is None


def _first_failure(order: type[Order]) -> Failure | None:
    for scope in _scopes(order):
        failure = _explore(order, order, scope, symmetry=True).failure
        if failure is not None:
            return failure
    return None
