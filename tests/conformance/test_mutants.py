"""The suite can fail: every planted bug of every protocol is caught within a few seeds."""

import pytest

from antecede.protocols import ours
from antecede.testing import Failure, Mutant, mutated, watch_closely
from tests.mutants import mutants_of


def _planted() -> list[tuple[str, Mutant]]:
    found = []
    for protocol in ours():
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
        watch_closely(mutated(name, mutant))
