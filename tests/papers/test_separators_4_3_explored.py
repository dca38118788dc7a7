"""Rodrigues and Verissimo, theorem 4: R1 to R9 on small networks, all schedules of all programs in
which processes address their neighbours; and broken forms of R9 are found."""

from itertools import chain

import pytest

from antecede.explore import Exploration
from antecede.orders.histories import Histories
from tests.mutants import Mutant, mutated
from tests.papers.neighbours import (
    FIVE,
    NESTED,
    NEWCOMER,
    PATH,
    SQUARE,
    TAIL,
    Choices,
    Net,
    explore_all,
    factory,
)

REPAIRS = {
    "printed": {"own_implied": False, "gateways": False},
    "own-implied": {"own_implied": True, "gateways": False},
    "gateways": {"own_implied": True, "gateways": True},
}
NETS = {"path": (PATH, 4), "tail": (TAIL, 3), "five": (FIVE, 3), "nested": (NESTED, 3)}
"""A network, and up to how many messages."""

ALL_OF_S: Choices = {
    0: [(2, 3)],
    1: [(2, 3)],
    2: [(0,), (1,), (4,)],
    3: [(0,), (1,), (4,)],
    4: [(2, 3)],
}
"""On the network of five: both gateways hear everything."""
ONE_OF_S: Choices = ALL_OF_S | {0: [(2,), (3,)], 1: [(2,), (3,)], 4: [(2,), (3,)]}


def explored(
    net: Net,
    messages: int,
    order: type[Histories] = Histories,
    choices: Choices | None = None,
    repairs: str = "gateways",
) -> Exploration:
    programs = chain.from_iterable(net.programs(n, choices) for n in range(1, messages + 1))
    return explore_all(factory(net, order, **REPAIRS[repairs]), net.size, programs)


@pytest.mark.parametrize("repairs", REPAIRS)
@pytest.mark.parametrize("net", NETS)
def test_r1_to_r9_keep_causal_order(net: str, repairs: str) -> None:
    network, messages = NETS[net]
    found = explored(network, messages, repairs=repairs)
    assert found.failure is None, str(found.failure)
    assert found.passed


def test_r1_to_r9_keep_causal_order_with_more_messages() -> None:
    assert explored(NESTED, 4).passed
    assert explored(FIVE, 4, choices=ALL_OF_S).passed


ONLY_OWN = Mutant(
    name="tests-only-p",
    old="not entry.A & ~cut.back and not cut.told & ~entry.C",
    new="not entry.A & ~cut.back",
)
COMPLEMENT = Mutant(
    name="back-is-the-complement", old="not entry.A & ~cut.back", new="not entry.A & cut.front"
)
SOME_AHEAD = Mutant(
    name="some-destination-ahead", old="if not others & ~cut.front", new="if others & cut.front"
)


def planted(mutant: Mutant) -> type[Histories]:
    return mutated("histories", mutant)  # type: ignore[return-value]


@pytest.mark.parametrize("repairs", REPAIRS)
def test_a_check_of_p_alone_is_found_on_the_network_of_five(repairs: str) -> None:
    failure = explored(FIVE, 4, planted(ONLY_OWN), ALL_OF_S, repairs).failure
    assert failure is not None
    assert failure.kind == "early delivery"


def test_a_check_of_p_alone_is_found_on_a_square_too() -> None:
    assert explored(SQUARE, 4, planted(ONLY_OWN), repairs="own-implied").failure is not None


def test_a_back_that_is_the_complement_is_found() -> None:
    assert explored(NEWCOMER, 3, planted(COMPLEMENT)).failure is not None
    assert explored(NEWCOMER, 3).passed


def test_a_message_that_goes_both_ways_must_not_be_filtered() -> None:
    assert explored(TAIL, 3, planted(SOME_AHEAD)).failure is not None


def omissions(choices: Choices) -> int:
    """How often R9 leaves something out on the network of five, over all distinct local steps."""
    count = 0

    class Counted(Histories):
        def is_behind(self, entry: object, cuts: object) -> bool:
            nonlocal count
            found = super().is_behind(entry, cuts)  # type: ignore[arg-type]
            count += found
            return found

    assert explored(FIVE, 4, Counted, choices).passed
    return count


def test_addressing_one_of_two_members_is_safe_and_saves_nothing() -> None:
    assert omissions(ONE_OF_S) == 0
    assert omissions(ALL_OF_S) > 0
