"""The suite can fail: every planted bug of every protocol is caught within a few seeds."""

import pytest

from antecede.order import Order
from antecede.protocols import names
from tests.conformance.monitors import all_monitors
from tests.conformance.network import Failure, Network
from tests.conformance.traffic import layouts
from tests.mutants import Mutant, mutants_of, mutated

SEEDS = 60


def _planted() -> list[tuple[str, Mutant]]:
    found = []
    for protocol in names():
        try:
            found += [(protocol, mutant) for mutant in mutants_of(protocol)]
        except LookupError:
            continue  # `test_there_are_mutants` says so, without hiding the other protocols
    return found


def test_there_are_mutants(protocol: str) -> None:
    for mutant in mutants_of(protocol):
        mutated(protocol, mutant)


@pytest.mark.parametrize(
    ("name", "mutant"),
    [pytest.param(name, mutant, id=f"{name}-{mutant.name}") for name, mutant in _planted()],
)
def test_a_mutant_is_caught(name: str, mutant: Mutant) -> None:
    with pytest.raises(Failure):
        _watch_closely(mutated(name, mutant))


def _watch_closely(order: type[Order]) -> None:
    for seed in range(SEEDS):
        for size in (3, 4):
            for layout in layouts(size, order.traits.addressing):
                network = Network(order, layout, seed, monitors=all_monitors(order))
                network.play(12)
                network.drain()
