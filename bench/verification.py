"""The verifier: its kernel against the oracle and against a plain dictionary of vector clocks; the
whole command on a Parquet trace of 64 processes against the kernel alone, with its peak memory at
two sizes; and what `explain` costs on such a trace.

`ANTECEDE_BENCH_DELIVERIES=20000000 python -m bench verification` sets the size of the traces; the
smaller one is a quarter of it. Copies go to 8 others. The kernel judges the whole log, the two slow
checkers only its first events, as many as they can take."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np

from antecede.trace import APP, DELIVER, SEND, Events, Run, read_trace
from antecede.trace.batches import read_batches
from antecede.trace.joined import Joined
from antecede.trace.prepare import prepare
from antecede.verify import explain, judge, verify_trace
from antecede.verify.delays import total_delays
from antecede.verify.passes import last_predecessors
from antecede.verify.streaming import take_runs
from bench.synthetic import write_trace

PROCESSES = (8, 64, 256, 1024)
KERNEL_DELIVERIES = 400_000
SLOW_EVENTS = 12_000
COMMAND_PROCESSES = 64
COMMAND_DELIVERIES = int(os.environ.get("ANTECEDE_BENCH_DELIVERIES", "2000000"))
WARM_UP_DELIVERIES = 250_000
REPEATS = 3


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'processes':>9}{'kernel':>12}{'oracle':>12}{'clocks':>12}   deliveries/s")
        for processes in PROCESSES:
            compare_checkers(Path(folder) / f"{processes}.parquet", processes)
        print(
            f"The kernel on {KERNEL_DELIVERIES:,} deliveries, oracle and clocks on the first "
            f"{SLOW_EVENTS:,} events of the same log: they slow down as a log gets longer."
        )
        for receptions in (False, True):
            for deliveries in (COMMAND_DELIVERIES // 4, COMMAND_DELIVERIES):
                whole_command(Path(folder), deliveries, receptions)


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


def whole_command(folder: Path, deliveries: int, receptions: bool) -> None:
    """Reading, preparing and judging a trace, in a process of its own for the sake of its peak
    memory."""
    trace, small = folder / "whole.parquet", folder / f"warm-up-{receptions}.parquet"
    if not small.exists():
        write_trace(small, COMMAND_PROCESSES, WARM_UP_DELIVERIES, receptions=receptions)
    write_trace(trace, COMMAND_PROCESSES, deliveries, receptions=receptions)
    told = subprocess.run(
        [sys.executable, "-m", "bench.verification", str(small), str(trace), str(int(receptions))],
        capture_output=True,
        text=True,
        check=True,
    )
    measured = json.loads(told.stdout)
    size = trace.stat().st_size
    trace.unlink()
    recorded = "with" if receptions else "without"
    print(
        f"\n{deliveries:,} deliveries {recorded} receptions, {size / deliveries:.1f} bytes each; "
        f"{measured['violations']} early deliveries"
    )
    kernel = measured["seconds"]["kernel"]
    for name, seconds in measured["seconds"].items():
        per_delivery = 1e9 * seconds / deliveries
        print(f"  {name:24}{per_delivery:>9,.0f} ns a delivery{seconds / kernel:>8.1f}x kernel")
    print(
        f"  {'peak memory':24}{measured['peak'] / 2**20:>9,.0f} MiB, "
        f"{(measured['peak'] - measured['before']) / deliveries:.0f} bytes a delivery"
    )


def measure(small: str, trace: str, receptions: bool) -> dict[str, object]:
    """The command on a trace and its parts, after one on a small trace that compiles the loops."""
    verify_trace(small)
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak of compiling
    seconds: dict[str, list[float]] = {}

    def add(name: str, work: Callable[[], object]) -> None:
        seconds.setdefault(name, []).append(timed(work))

    verdict = verify_trace(trace)
    peak = _memory("VmHWM")
    (run,) = take_runs(trace, APP, times=receptions)
    joined = run.joined
    witness = verdict.witnesses[-1]
    for _ in range(REPEATS):
        add("kernel", lambda: last_predecessors(joined.prepared))
        add("decoding alone", lambda: _use_up(read_batches(trace, times=receptions)))
        add("reading and preparing", lambda: _use_up(take_runs(trace, APP, times=receptions)))
        if receptions:
            add("kernel and delays", lambda: _delays(joined))
        add("whole command", lambda: verify_trace(trace))
    add("explain", lambda: explain(trace, witness.process, witness.second))
    return {
        "seconds": {name: median(times) for name, times in seconds.items()},
        "violations": verdict.violations,
        "before": before,
        "peak": peak,
    }


def _use_up(items: Iterable[object]) -> None:
    for _ in items:
        pass


def _memory(field: str) -> int:
    """The memory of this process, now or at its peak, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise LookupError(field)


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
    print(json.dumps(measure(sys.argv[1], sys.argv[2], sys.argv[3] == "1")))
