"""One run and the judgement on it (`antecede.simulate.judgement`). A protocol that raises anything
at all, or that never comes to rest, has failed as well."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from antecede.errors import AntecedeError
from antecede.fuzzing.features import Reached, Watcher
from antecede.order import Order
from antecede.simulate import Scenario
from antecede.simulate.books import Watched, books_of
from antecede.simulate.judgement import ENDLESS, Failure, failures
from antecede.simulate.run import Simulation

MOST_ROUNDS = 20_000
"""Looks at the recorder before a run counts as endless; as a rule there are some hundred."""


class Outcome(msgspec.Struct, frozen=True):
    """What a run came to."""

    events: int
    messages: int
    deliveries: int
    failure: Failure | None
    reached: Reached | None = None
    let_go: int = 0
    """Copies that are excused though somebody has the message, for it was told by name that they
    were let go after `forget_after_s`."""


@contextmanager
def _without_collections() -> Iterator[None]:
    """Python looks for no cycles meanwhile: a run is over soon, and then all of it can go at
    once."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_without_collections()
def judge(
    scenario: Scenario, order_type: type[Order] | None = None, *, is_watched: bool = False
) -> Outcome:
    """Run a scenario and judge it. `order_type` runs in the place of the protocol that it names, as
    a variant that makes the same promises. `is_watched`: say what the run has reached, too."""
    watcher = Watcher(scenario) if is_watched else None
    reached = None
    books = books_of(scenario)
    recorder = _Impatient(None, books)
    events = let_go = 0
    failure: Failure | None
    try:
        simulation = Simulation(scenario, recorder, order_type, observer=watcher, counts=False)
        recorder.watch(simulation.orders)
        simulation.run()
        events = simulation.events
        failure = next(failures(scenario, books, simulation, recorder.excess), None)
        let_go = 0 if failure else simulation.leftover().let_go
        reached = None if watcher is None else watcher.reached(simulation, recorder)
    except _Endless:
        failure = Failure(ENDLESS, "the protocol never comes to rest")
    except Exception as error:  # noqa: BLE001 - whatever a protocol raises is a finding
        text = str(error) if isinstance(error, AntecedeError) else repr(error)
        failure = Failure(type(error).__name__, text)
    return Outcome(events, recorder.messages, recorder.deliveries, failure, reached, let_go)


class _Endless(Exception):
    """The run has gone on for too long."""


class _Impatient(Watched):
    """Loses patience."""

    _rounds = 0

    def flush_if_full(self) -> bool:
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            raise _Endless
        return super().flush_if_full()
