"""The laboratory: protocols on a simulated network with faults, deterministic to the last byte.

`simulate` runs a `Scenario`, which `load_scenario` reads from a file and `make_scenario` makes of a
dict. A run depends on its scenario and on nothing else.
"""

import os
from contextlib import nullcontext
from time import perf_counter

from antecede.message import members
from antecede.order import Order
from antecede.simulate.books import Watched, books_of
from antecede.simulate.judgement import failures
from antecede.simulate.loading import load_scenario, make_scenario
from antecede.simulate.measures import Spread
from antecede.simulate.run import Progress, Simulation
from antecede.simulate.sampling import StateSampler
from antecede.simulate.scenario import Scenario
from antecede.simulate.summary import VIOLATIONS_LIMIT, Summary
from antecede.trace import TraceWriter

__all__ = [
    "VIOLATIONS_LIMIT",
    "Scenario",
    "Spread",
    "StateSampler",
    "Summary",
    "load_scenario",
    "make_scenario",
    "simulate",
]


def simulate(
    scenario: Scenario,
    out: str | os.PathLike[str] | None = None,
    *,
    force: bool = False,
    progress: Progress | None = None,
    order_type: type[Order] | None = None,
    judged: bool = True,
    states: StateSampler | None = None,
) -> Summary:
    """Run a scenario. `out` is the file to write the trace to, which must not exist unless `force`
    is given; it appears when the run is complete, and not at all otherwise. `progress` is told now
    and then how many messages have been sent. `order_type` runs in the place of the protocol that
    the scenario names: a variant of it, or a broken one. Who verifies the trace anyway need not
    have violations counted on the way (`judged`). `states` samples the states of processes."""
    start = perf_counter()
    names = scenario.process_names
    is_judged = judged and scenario.message_limit <= VIOLATIONS_LIMIT
    books = books_of(scenario) if is_judged else None
    metadata = {"scenario": scenario.to_json()}
    trace = (
        nullcontext()
        if out is None
        else TraceWriter(
            out,
            scenario.run_name,
            names,
            metadata,
            force=force,
            scoped=scenario.incomplete is not None,
        )
    )
    with trace as writer:
        recorder = Watched(writer, books)
        simulation = Simulation(scenario, recorder, order_type)
        if books is not None:
            recorder.watch(simulation.orders)
        simulation.run(progress, states)
    found = failures(scenario, books, simulation, recorder.excess) if books else iter(())
    return Summary(
        run=scenario.run_name,
        protocol=scenario.protocol,
        seed=scenario.seed,
        processes=scenario.applications.size,
        messages=recorder.messages,
        deliveries=recorder.deliveries,
        undelivered=recorder.copies_to_others - recorder.deliveries_to_others,
        leftover=simulation.leftover(),
        undone=simulation.undone(),
        flushed_s=simulation.flushed_s,
        fully=simulation.fully(),
        stopped=tuple([names[process] for process in members(simulation.excuses.stopped)]),
        violations=None if books is None else recorder.violations + len(recorder.undone_violations),
        failure=next(found, None),
        stamp_entries=recorder.stamp_entries.spread(),
        stamp_bytes=recorder.stamp_bytes.spread(),
        delay_s=recorder.delay_s.spread(),
        hold_s=recorder.hold_s.spread(),
        peak_queue=simulation.peak_queue,
        copies=simulation.copies.packets,
        copies_stamp_bytes=simulation.copies.stamp_bytes,
        control_packets=simulation.control.packets,
        control_bytes=simulation.control.stamp_bytes,
        hops=recorder.hops,
        hop_stamp_entries=recorder.hop_stamp_entries.spread(),
        hop_stamp_bytes=recorder.hop_stamp_bytes.spread(),
        fifo_links=scenario.fifo_links,
        fifo_added=scenario.fifo_links and not scenario.network.fifo,
        notices=simulation.chronicle.sentences(scenario, recorder.last_s),
        virtual_s=simulation.now,
        events=simulation.events,
        rows=recorder.rows,
        wall_s=perf_counter() - start,
    )
