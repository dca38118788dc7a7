"""Spark against the local engine on one run, and the memory of its workers as the run grows.

`python -m bench spark` takes a small run; `python -m bench.spark DELIVERIES ...` takes those sizes,
and `--traces DIR` keeps the traces there. Every engine gets a process of its own and looks at a
small trace of the same kind first, so that compiled loops are loaded: a session that goes on does
that once. What a session takes to start is told apart. CPU time is that of all processes together,
Java included, and `worker_mib` is the largest worker's peak. `--disorder` compares, on the first
size, the run in order with the same rows shuffled, and without positions.
"""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.spark_traces import GROUP, write_long_trace

DELIVERIES = 40_000
PROCESSES = 64
WARM_UP = 400_000
ENGINES = ("local", "local[1]", "local[2]")
DISORDERED = "local[2]"
TICKS_S = 1 / os.sysconf("SC_CLK_TCK")

Measured = dict[str, float]


def main(sizes: tuple[int, ...] = (DELIVERIES // 4, DELIVERIES), traces: str | None = None) -> None:
    print(f"{'deliveries':>12} {'engine':>12} {'start_s':>8} {'wall_s':>8} {'cpu_s':>8} worker_mib")
    with TemporaryDirectory() as scratch:
        folder = Path(traces or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        small = folder / f"{WARM_UP}.parquet"
        _make(small, WARM_UP)
        for size in sizes:
            trace = folder / f"{size}.parquet"
            _make(trace, size)
            rows = {engine: _measure_apart(engine, small, trace) for engine in ENGINES}
            for engine, row in rows.items():
                _show(size, engine, row)
            _compare(rows)
            if traces is None:
                trace.unlink()


def compare_disorder(size: int, traces: str | None) -> None:
    """What it costs that rows are out of order, or have no positions."""
    with TemporaryDirectory() as scratch:
        folder = Path(traces or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        small, trace = folder / f"{WARM_UP}.parquet", folder / f"{size}.parquet"
        _make(small, WARM_UP)
        _make(trace, size)
        rows = pq.read_table(trace)
        order = np.random.default_rng(1).permutation(len(rows))
        variants = {"in order": trace}
        for name, table in (
            ("shuffled", rows.take(pa.array(order))),
            ("no positions", rows.drop_columns(["position"])),
        ):
            variants[name] = folder / f"{size} {name}.parquet"
            pq.write_table(table, variants[name], row_group_size=GROUP)
        del rows
        measured = {
            name: _measure_apart(DISORDERED, small, file) for name, file in variants.items()
        }
        for name, row in measured.items():
            _show(size, name, row)
            ratio = row["cpu_s"] / measured["in order"]["cpu_s"]
            print(f"{'':>12} {ratio:.1f} times the CPU time of the run in order", flush=True)
        assert len({row["violations"] for row in measured.values()}) == 1


def _make(trace: Path, deliveries: int) -> None:
    if not trace.exists():
        write_long_trace(trace, PROCESSES, deliveries)


def _measure_apart(engine: str, small: Path, trace: Path) -> Measured:
    told = subprocess.run(
        [sys.executable, "-m", "bench.spark", "--one", engine, str(small), str(trace)],
        capture_output=True,
        text=True,
        check=True,
    )
    measured: Measured = json.loads(told.stdout)
    return measured


def _show(size: int, engine: str, row: Measured) -> None:
    print(
        f"{size:>12,} {engine:>12} {row['start_s']:>8.1f} {row['wall_s']:>8.1f} "
        f"{row['cpu_s']:>8.1f} {row['worker_mib']:>10.0f}",
        flush=True,
    )


def _compare(rows: dict[str, Measured]) -> None:
    local, one, two = (rows[engine] for engine in ENGINES)
    assert len({row["violations"] for row in rows.values()}) == 1
    print(
        f"{'':>12} local[2] takes {two['wall_s'] / local['wall_s']:.2f} of the local engine's time "
        f"and {two['cpu_s'] / local['cpu_s']:.2f} of its CPU time; it is "
        f"{one['wall_s'] / two['wall_s']:.2f} times as fast as local[1]",
        flush=True,
    )


def measure(engine: str, small: str, trace: str) -> Measured:
    """One verification, after a small one."""
    if "[" in engine:
        return _measure_spark(engine, small, trace)
    from antecede.verify import verify_trace  # noqa: PLC0415 - only where it is measured

    verify_trace(small)
    begin, cpu = time.perf_counter(), time.process_time()
    verdict = verify_trace(trace)
    return {
        "start_s": 0.0,
        "wall_s": time.perf_counter() - begin,
        "cpu_s": time.process_time() - cpu,
        "worker_mib": _peak(os.getpid()) / 2**20,
        "violations": verdict.violations,
    }


def _measure_spark(master: str, small: str, trace: str) -> Measured:
    from antecede.pipeline.audit.job import Limits  # noqa: PLC0415 - see above
    from antecede.pipeline.audit.verify import verify_on_spark  # noqa: PLC0415
    from antecede.pipeline.session import build_session  # noqa: PLC0415

    limits = Limits(run_rows=0)  # however small, as one huge run
    begin = time.perf_counter()
    spark = build_session(master)
    start_s = time.perf_counter() - begin
    cores = spark.sparkContext.defaultParallelism
    spark.sparkContext.parallelize(range(cores), cores).foreach(lambda _: time.sleep(1))
    verify_on_spark(spark, small, limits=limits)
    java = int(spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]
    begin, cpu, driver = time.perf_counter(), tree_of(java)[0], time.process_time()
    verdict = verify_on_spark(spark, trace, limits=limits)
    wall_s = time.perf_counter() - begin
    after, peak = tree_of(java)
    spark.stop()
    return {
        "start_s": start_s,
        "wall_s": wall_s,
        "cpu_s": after - cpu + time.process_time() - driver,
        "worker_mib": peak / 2**20,
        "violations": verdict.violations,
    }


def tree_of(root: int) -> tuple[float, int]:
    """CPU seconds of a process and all below it, and the largest memory of one below it."""
    parents: dict[int, int] = {}
    cpu: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has just ended
            parents[int(entry.name)] = int(fields[1])
            cpu[int(entry.name)] = sum(map(int, fields[11:15])) * TICKS_S
    below = {root}
    while more := {child for child, parent in parents.items() if parent in below} - below:
        below |= more
    peaks = [_peak(process) for process in sorted(below - {root})]
    return sum(cpu.get(process, 0.0) for process in sorted(below)), max(peaks, default=0)


def _peak(process: int) -> int:
    with suppress(OSError):  # it may just have ended
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    return 0


def _from_command_line(arguments: list[str]) -> None:
    traces = None
    if arguments[:1] == ["--traces"]:
        traces = arguments[1]
        arguments = arguments[2:]
    if arguments[:1] == ["--disorder"]:
        compare_disorder(int(arguments[1]), traces)
        return
    main(tuple(map(int, arguments)) or (DELIVERIES,), traces)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(*sys.argv[2:])))
    else:
        _from_command_line(sys.argv[1:])
