"""The verifier: its kernel against the oracle and against a plain dictionary of vector clocks, and
the whole command against the kernel alone.

`python -m bench.verification DELIVERIES` sets the size of the trace for the second part. Copies go
to 8 others; the slow checkers get the beginning of the same log, as much as they can take."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np

from antecede.trace import DELIVER, SEND, Events, Run, read_trace
from antecede.verify import judge, verify_trace
from antecede.verify.delays import total_delays
from antecede.verify.passes import last_predecessors
from antecede.verify.prepare import Joined, prepare
from bench.synthetic import write_trace

PROCESSES = (8, 64, 256, 1024)
KERNEL_DELIVERIES = 400_000
SLOW_EVENTS = 12_000
COMMAND_DELIVERIES = 2_000_000
REPEATS = 3


def main(deliveries: int = COMMAND_DELIVERIES) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'processes':>9}{'kernel':>12}{'oracle':>12}{'clocks':>12}   deliveries/s")
        for processes in PROCESSES:
            compare_checkers(Path(folder) / f"{processes}.parquet", processes)
        for receptions in (False, True):
            whole_command(Path(folder) / f"whole-{receptions}.parquet", deliveries, receptions)


def timed(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def compare_checkers(path: Path, processes: int) -> None:
    write_trace(path, processes, KERNEL_DELIVERIES, receptions=False)
    (run,) = read_trace(path, stamps=False).runs
    joined = prepare(run.events, processes)
    beginning = Run(run.name, run.processes, _first(run.events, SLOW_EVENTS), run.sources)
    few = int(np.count_nonzero(beginning.events.kind == DELIVER))
    last_predecessors(joined.prepared)  # compiles
    kernel, oracle, clocks = [], [], []
    for _ in range(REPEATS):
        kernel.append(KERNEL_DELIVERIES / timed(lambda: last_predecessors(joined.prepared)))
        oracle.append(few / timed(lambda: judge(beginning)))
        clocks.append(few / timed(lambda: dictionary_of_clocks(beginning)))
    rates = [median(rates) for rates in (kernel, oracle, clocks)]
    print(f"{processes:>9}" + "".join(f"{rate:>12,.0f}" for rate in rates), end="   ")
    print(f"kernel {rates[0] / rates[1]:,.0f}x oracle, {rates[0] / rates[2]:,.0f}x clocks")


def whole_command(path: Path, deliveries: int, receptions: bool) -> None:
    """Reading, preparing and judging a trace of 64 processes, and its parts."""
    write_trace(path, 64, deliveries, receptions=receptions)
    verify_trace(path)  # compiles
    whole = median(timed(lambda: verify_trace(path)) for _ in range(REPEATS))
    read = median(timed(lambda: read_trace(path, stamps=False)) for _ in range(REPEATS))
    (run,) = read_trace(path, stamps=False).runs
    prepared = median(timed(lambda: prepare(run.events, 64)) for _ in range(REPEATS))
    joined = prepare(run.events, 64)
    check = median(timed(lambda: last_predecessors(joined.prepared)) for _ in range(REPEATS))
    print(f"\n{deliveries:,} deliveries, {len(run.events):,} rows, 64 processes")
    parts = {"kernel": check, "reading": read, "preparing": prepared}
    if receptions:
        parts["delays"] = median(timed(lambda: _delays(joined)) for _ in range(REPEATS))
    parts["whole command"] = whole
    for name, seconds in parts.items():
        per_delivery = 1e9 * seconds / deliveries
        print(f"  {name:16}{per_delivery:>9,.0f} ns a delivery{seconds / check:>8.1f}x kernel")


def _delays(joined: Joined) -> None:
    last = last_predecessors(joined.prepared)
    total_delays(joined, last, last_predecessors(joined.by_arrival()))


def _first(events: Events, count: int) -> Events:
    return events.take(np.arange(min(count, len(events))))


def dictionary_of_clocks(run: Run) -> int:
    """What one would write first: a vector clock for every process and message, and for every
    delivery a look at all that its process has not delivered yet."""
    events = run.events
    everybody = range(len(run.processes))
    clocks: list[dict[int, int]] = [dict.fromkeys(everybody, 0) for _ in everybody]
    sent: dict[tuple[int, int], dict[int, int]] = {}
    awaited: list[dict[tuple[int, int], None]] = [{} for _ in run.processes]
    start = events.destination_start
    early = 0
    columns = (events.kind, events.process, events.sender, events.number)
    for event, (kind, process, sender, number) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        clock = clocks[process]
        message = (sender, number)
        if kind == SEND:
            clock[process] = number
            sent[message] = dict(clock)
            for destination in events.destination[start[event] : start[event + 1]].tolist():
                if destination != process:
                    awaited[destination][message] = None
        elif kind == DELIVER and process != sender:
            carried = sent[message]
            del awaited[process][message]
            early += any(carried[s] >= n for s, n in awaited[process])
            for other, count in carried.items():
                clock[other] = max(clock[other], count)
    return early


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
