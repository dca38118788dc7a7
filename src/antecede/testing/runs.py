"""A protocol explored exhaustively at a small size, and simulated at random."""

from collections.abc import Iterator

from antecede.explore import Kind, Settings, explore
from antecede.fuzzing import draw, judge, shrink
from antecede.order import Addressing, Order
from antecede.protocols import reference
from antecede.testing.network import Failure

CHAIN = (0b0011, 0b1110)
CYCLE = (0b011, 0b110, 0b101)


def check_exhaustively(order: type[Order]) -> None:
    """Every schedule of every program of three messages among three processes, in each way of
    addressing that it has. One that watches the clock has no end of schedules, and is left out.
    Raises `Failure`, with the schedule, if it breaks its order or cannot be explored in full.

        check_exhaustively(find("vector"))
    """
    if order.traits.watches:
        return
    wakes = 4 if order.traits.null_messages else 0
    for kind, processes, messages, groups in _sizes(order):
        found = explore(
            order,
            processes,
            messages,
            addressing=kind,
            groups=groups,
            settings=Settings(max_wakes=wakes),
        )
        if not found.passed:
            raise Failure(f"{order.__name__}, explored: {found.failure or found.incomplete}")


def _sizes(order: type[Order]) -> Iterator[tuple[Kind, int, int, tuple[int, ...]]]:
    addressing = order.traits.addressing
    yield Kind.GROUP, 3, 3, ()
    if addressing >= Addressing.GROUPS:
        yield Kind.GROUPS, 3, 3, CYCLE
        yield Kind.GROUPS, 4, 3, CHAIN
    if addressing is Addressing.SETS:
        yield Kind.UNICAST, 3, 3, ()
        yield Kind.SETS_AND_SELF, 3, 2, ()


def check_simulated(order: type[Order], runs: int, seed: int = 0) -> None:
    """Scenarios drawn from seeds, with the faults that its traits say it bears, judged by the
    oracle; a failure is shrunk to a scenario that replays it. Raises `Failure`, with that scenario,
    and `Misuse` for a class that cannot be imported by its name, such as one inside a function.

        check_simulated(find("vector"), runs=20)
    """
    name = reference(order)
    for each in range(seed, seed + runs):
        scenario = draw(name, each)
        failure = judge(scenario).failure
        if failure is not None:
            shrunk = shrink(scenario, failure)
            raise Failure(
                f"{order.__name__}, simulated with seed {each}: {shrunk.failure.sentence}\n"
                f"{shrunk.scenario.to_toml()}"
            )
