"""Fuzzing on Spark: slices of seeds are dealt out to the executors, and findings come back."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from antecede.fuzzing.drawing import NO_OPTIONS
from antecede.fuzzing.finding import Finding, find_smallest
from antecede.fuzzing.ledger import Ledger
from antecede.fuzzing.shrinking import MOST_RUNS
from antecede.fuzzing.slices import SLICE, Found, Slice, plan, run_slice
from antecede.order import Order
from antecede.pipeline.spread import spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHRUNK = 3
"""Failures of one kind of a protocol that are shrunk; the others are counted, with their seeds."""
ROUND = 512
"""Slices that are planned at a time where time is the only limit."""


def fuzz(
    spark: "SparkSession | None",
    protocols: Sequence[str],
    ledger: Ledger,
    *,
    first_seed: int = 1,
    runs: int | None = None,
    minutes: float | None = None,
    size: int = SLICE,
    shrink_runs: int = MOST_RUNS,
    order_type: type[Order] | None = None,
    options: str = NO_OPTIONS,
    tell: Callable[[int, int], object] = lambda runs, events: None,
) -> list[Finding]:
    """Run what the ledger does not have yet, up to `runs` runs in all or for so many minutes, and
    shrink what failed. Without a session everything happens here. `tell` is told how many runs and
    events are done. `size` is the runs of a slice, `shrink_runs` those that shrinking one failure
    may take; `order_type` runs in the place of the protocol; `options`, as JSON, are not drawn."""
    deadline = inf if minutes is None else monotonic() + 60 * minutes
    task = partial(run_slice, order_type=order_type)
    for slices in _rounds(protocols, ledger, first_seed, runs, size, options):
        results = spread(spark, slices, task, slices=len(slices))
        for done in results:
            ledger.add(done)
            tell(ledger.runs, ledger.events)
            if monotonic() >= deadline:
                break
        results.close()
        if monotonic() >= deadline:
            break
    return _shrink(
        spark, ledger, partial(find_smallest, order_type=order_type, most_runs=shrink_runs)
    )


def _rounds(
    protocols: Sequence[str],
    ledger: Ledger,
    first_seed: int,
    runs: int | None,
    size: int,
    options: str,
) -> Iterator[list[Slice]]:
    """All that is wanted at once; without a number, more and more."""

    def planned(wanted: int) -> list[Slice]:
        done = [done.slice for done in ledger.done]
        return plan(protocols, first_seed, wanted, done, size, options)

    if runs is not None:
        yield planned(runs)
        return
    wanted = 0
    while True:
        wanted += ROUND * size
        if slices := planned(wanted):
            yield slices


def _shrink(
    spark: "SparkSession | None", ledger: Ledger, task: Callable[[Found], Finding]
) -> list[Finding]:
    """Some failures of every kind, unless that was done before."""
    chosen: list[Found] = []
    for _, alike in groupby(ledger.found, key=lambda found: (found.protocol, found.kind)):
        chosen += list(alike)[:SHRUNK]
    fresh = [found for found in chosen if ledger.file_of(found) is None]
    findings = []
    for finding in spread(spark, fresh, task, slices=max(1, len(fresh))):
        ledger.keep(finding)
        findings.append(finding)
    return sorted(findings, key=lambda finding: (finding.found.protocol, finding.found.seed))
