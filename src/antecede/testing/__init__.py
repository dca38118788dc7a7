"""Whether a protocol keeps the contract of `antecede.Order`: for tests of your own.

    from antecede.testing import check_protocol

    def test_my_order():
        check_protocol(MyOrder)

`check_protocol` holds a class to every check in `CHECKS`, explores it exhaustively at a small size
and simulates it on traffic and networks drawn from seeds, all within what its traits declare. The
network, the traffic and the ground truth share no code with any protocol. One test a check is
``@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)``. `check_mutants` shows that
these tests can fail.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from antecede.errors import Misuse
from antecede.order import Order
from antecede.protocols import find, reference
from antecede.testing.delivery import (
    copes_with_bursts,
    copes_with_many_processes,
    delivers_once_and_in_order,
    drops_duplicates,
    takes_runs_as_their_messages,
)
from antecede.testing.holding import (
    explains_what_it_holds,
    holds_nothing_without_need,
    what_is_awaited_is_enough,
)
from antecede.testing.malformed import (
    bears_flipped_bytes,
    bears_noise,
    refuses_a_cut_packet,
    refuses_a_missing_message,
    refuses_what_is_broken,
)
from antecede.testing.memory import computes_its_bound, does_not_grow, keeps_to_its_bound
from antecede.testing.monitors import all_monitors
from antecede.testing.mutants import Mutant, mutated
from antecede.testing.network import Failure, Network
from antecede.testing.purity import (
    is_a_function_of_its_inputs,
    refuses_bad_addressing,
    refuses_strange_processes,
    stamps_are_values,
    the_wire_makes_no_difference,
)
from antecede.testing.resuming import looking_changes_nothing, resumes_identically
from antecede.testing.runs import check_exhaustively, check_simulated
from antecede.testing.traffic import layouts

__all__ = [
    "CHECKS",
    "Check",
    "Failure",
    "Mutant",
    "check_exhaustively",
    "check_mutants",
    "check_protocol",
    "check_simulated",
    "mutated",
    "watch_closely",
]

Check = Callable[[type[Order]], None]
"""Raises `Failure` if a protocol breaks the contract, with the run in which it does."""

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        check.__name__: check
        for check in (
            delivers_once_and_in_order,
            copes_with_many_processes,
            copes_with_bursts,
            drops_duplicates,
            takes_runs_as_their_messages,
            explains_what_it_holds,
            holds_nothing_without_need,
            what_is_awaited_is_enough,
            refuses_what_is_broken,
            refuses_a_missing_message,
            refuses_a_cut_packet,
            bears_flipped_bytes,
            bears_noise,
            is_a_function_of_its_inputs,
            stamps_are_values,
            the_wire_makes_no_difference,
            refuses_bad_addressing,
            refuses_strange_processes,
            resumes_identically,
            looking_changes_nothing,
            computes_its_bound,
            keeps_to_its_bound,
            does_not_grow,
        )
    }
)
"""The rules of the contract, one function each."""

MUTANT_SEEDS = 60


def check_protocol(order: type[Order], *, runs: int = 200) -> None:
    """Hold a protocol to the whole contract; `runs` are simulated. Raises `Failure` if it breaks
    the contract, and `Misuse` for what is no protocol.

        def test_my_order():
            check_protocol(MyOrder)
    """
    given: object = order
    if not (isinstance(given, type) and issubclass(given, Order)):
        raise Misuse(f"{order!r} is no subclass of antecede.Order")
    find(reference(order))  # refuses what is no protocol, in words
    for check in CHECKS.values():
        check(order)
    check_exhaustively(order)
    check_simulated(order, runs)


def watch_closely(order: type[Order], seeds: int = MUTANT_SEEDS) -> None:
    """Random runs with everything watched after every event. Raises `Failure` at the first event
    after which the protocol is wrong.

        watch_closely(find("vector"), seeds=5)
    """
    for seed in range(seeds):
        for size in (3, 4):
            for layout in layouts(size, order.traits.addressing):
                network = Network(order, layout, seed, monitors=all_monitors(order))
                network.play(12)
                network.drain()


def check_mutants(order: type[Order], mutants: Iterable[Mutant]) -> None:
    """Plant each of these bugs into the source of a protocol: every one has to be found. Raises
    `Failure` for one that is not, and `LookupError` as `mutated` does.

        bug = Mutant("waits-for-less", old="theirs[sender] - 1 > mine[sender]", new="False")
        check_mutants(find("vector"), [bug])
    """
    for mutant in mutants:
        try:
            watch_closely(mutated(order, mutant))
        except Failure:
            continue
        raise Failure(f"the mutant '{mutant.name}' of {order.__name__} is caught by nothing")
