"""From a scenario that fails to the smallest one that still fails in the same way.

Greedy: the scenario is made simpler in one respect as far as possible, then in the next, and all
over again until nothing helps any more. A candidate is taken if it fails with the same kind of
failure. A smaller scenario draws other times and other destinations from the same seed, so the luck
that showed the fault is mostly gone; a candidate is therefore tried with some other seeds, too.
"""

from collections.abc import Iterable, Iterator

import msgspec

from antecede.errors import Misuse
from antecede.fuzzing.judging import judge
from antecede.fuzzing.simpler import RESPECTS, Candidate, Fields, simpler
from antecede.order import Order
from antecede.simulate import Scenario, make_scenario
from antecede.simulate.judgement import Failure

MOST_RUNS = 6_000
"""Runs before it gives up looking for something smaller."""
MOST_EVENTS = 3_000_000
"""The same in events of the simulator, where runs are long: some minutes."""
LONGER = 4
"""How many times more seeds the last rounds try, when all is small and quick."""


class Shrunk(msgspec.Struct, frozen=True):
    """The scenario that is left, how it fails, and what it took to find it."""

    scenario: Scenario
    failure: Failure
    runs: int


def shrink(
    scenario: Scenario,
    failure: Failure,
    order_type: type[Order] | None = None,
    most_runs: int = MOST_RUNS,
) -> Shrunk:
    """The smallest scenario found that fails in the same way."""
    search = _Search(failure.kind, order_type, most_runs)
    found = Shrunk(scenario, failure, 0)
    for luck in (1, LONGER):
        before = None
        while found is not before:
            before = found
            for respect in RESPECTS:
                while smaller := search.first(simpler(plain(found.scenario), respect), luck):
                    found = smaller
    return msgspec.structs.replace(found, runs=search.runs)


def plain(scenario: Scenario) -> Fields:
    """A scenario as data, everything written out."""
    return scenario.model_dump(by_alias=True, exclude_none=True)


class _Search:
    """Tries candidates, and counts."""

    def __init__(self, kind: str, order_type: type[Order] | None, most_runs: int) -> None:
        self._kind = kind
        self._order_type = order_type
        self._most_runs = most_runs
        self.runs = 0
        self._events = 0

    def first(self, candidates: Iterable[Candidate], luck: int) -> Shrunk | None:
        """The first of the candidates that fails, on so many times the usual number of seeds."""
        tried = (self._failing(candidate, seeds * luck) for candidate, seeds in candidates)
        return next(filter(None, tried), None)

    def _failing(self, fields: Fields, seeds: int) -> Shrunk | None:
        """The candidate on the first seed on which it fails, if it does."""
        for seed in _seeds(fields["seed"], seeds):
            if self.runs >= self._most_runs or self._events >= MOST_EVENTS:
                return None
            try:
                scenario = make_scenario({**fields, "seed": seed})
            except Misuse:
                return None  # simpler, but no scenario of this protocol
            self.runs += 1
            outcome = judge(scenario, self._order_type)
            self._events += outcome.events
            failure = outcome.failure
            if failure is not None and failure.kind == self._kind:
                return Shrunk(scenario, failure, self.runs)
        return None


def _seeds(kept: int, others: int) -> Iterator[int]:
    yield kept
    yield from (seed for seed in range(1, others + 1) if seed != kept)
