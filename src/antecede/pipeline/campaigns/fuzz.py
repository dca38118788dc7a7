"""Fuzzing on Spark: slices of seeds are dealt out to the executors, and findings come back."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count as counting
from itertools import groupby
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

import msgspec

from antecede.errors import Misuse
from antecede.fuzzing.drawing import NO_OPTIONS
from antecede.fuzzing.finding import Finding, find_smallest
from antecede.fuzzing.guided import ROUND as GUIDED_ROUND
from antecede.fuzzing.guided import corpus_before, run_guided
from antecede.fuzzing.ledger import Ledger
from antecede.fuzzing.shrinking import MOST_RUNS
from antecede.fuzzing.slices import SLICE, Done, Found, Slice, plan, run_slice
from antecede.order import Order
from antecede.pipeline.spread import spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Round = tuple[list[Slice], Callable[[Slice], Done]]

SHRUNK = 3
"""Failures of one kind of a protocol that are shrunk; the others are counted, with their seeds."""
GUIDED_SLICE = 16
"""Runs of a slice of guided fuzzing, whose rounds end when the last slice does."""
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
    is_guided: bool = False,
    tell: Callable[[int, int], object] = lambda runs, events: None,
) -> list[Finding]:
    """Run what the ledger does not have yet, up to `runs` runs in all or for so many minutes, and
    shrink what failed. Without a session everything happens here. `tell` is told how many runs and
    events are done. `size` is the runs of a slice, `shrink_runs` those that shrinking one failure
    may take; `order_type` runs in the place of the protocol; `options`, as JSON, are not drawn;
    with `is_guided` runs learn from those before."""
    if any((done.kept is not None) != is_guided for done in ledger.done):
        kinds = "are guided" if not is_guided else "are not guided"
        raise Misuse(f"the runs in the folder {kinds}; take another folder for these")
    deadline = inf if minutes is None else monotonic() + 60 * minutes
    search = Search(tuple(protocols), first_seed, runs, size, options, order_type)
    for slices, task in search.guided(ledger) if is_guided else search.plain(ledger):
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


class Search(msgspec.Struct, frozen=True):
    """What is to be run: see `fuzz`. A round is some slices, and what to do with each."""

    protocols: tuple[str, ...]
    first_seed: int
    runs: int | None
    size: int
    options: str
    order_type: type[Order] | None

    def plain(self, ledger: Ledger) -> Iterator[Round]:
        """All that is wanted at once; without a number, more and more."""
        task = partial(run_slice, order_type=self.order_type)
        if self.runs is not None:
            yield self._left(ledger, self.protocols, self.first_seed, self.runs, self.size), task
            return
        for wanted in counting(ROUND * self.size, ROUND * self.size):
            if left := self._left(ledger, self.protocols, self.first_seed, wanted, self.size):
                yield left, task

    def guided(self, ledger: Ledger) -> Iterator[Round]:
        """Rounds of each protocol in turn; what one learns from is what those before have left."""
        for start in counting(0, GUIDED_ROUND):
            shares = [self._share(turn, start) for turn in range(len(self.protocols))]
            if not any(shares):
                return
            first = self.first_seed + start
            for protocol, share in zip(self.protocols, shares, strict=True):
                if slices := self._left(ledger, (protocol,), first, share, GUIDED_SLICE):
                    corpus = corpus_before(protocol, first, ledger.done)
                    yield slices, partial(run_guided, corpus=corpus, order_type=self.order_type)

    def _share(self, turn: int, start: int) -> int:
        """How many runs of a round are wanted of the protocol whose turn it is."""
        if self.runs is None:
            return GUIDED_ROUND
        in_all = (self.runs + len(self.protocols) - 1 - turn) // len(self.protocols)
        return max(0, min(GUIDED_ROUND, in_all - start))

    def _left(
        self, ledger: Ledger, protocols: Sequence[str], first: int, runs: int, size: int
    ) -> list[Slice]:
        done = [done.slice for done in ledger.done]
        return plan(protocols, first, runs, done, size, self.options)


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
