"""Spark against the local engine on one run, and the memory of its workers as the run grows.

`python -m bench.spark [DELIVERIES]` takes another size. Sessions start in a process of their own
each; their start is told apart. CPU time is that of the Java process and all Python workers.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from antecede.pipeline.job import Limits
from antecede.verify import verify_trace
from bench.synthetic import write_trace

DELIVERIES = 40_000
PROCESSES = 64
TICKS_S = 1 / os.sysconf("SC_CLK_TCK")


def main(deliveries: int = DELIVERIES) -> None:
    print(f"{'deliveries':>12} {'engine':>9} {'start_s':>8} {'wall_s':>8} {'cpu_s':>8} worker_mib")
    with TemporaryDirectory() as folder:
        for size in (deliveries // 4, deliveries):
            trace = Path(folder) / f"{size}.parquet"
            write_trace(trace, PROCESSES, size)
            verify_trace(trace)  # compiles
            begin, cpu = time.perf_counter(), time.process_time()
            expected = verify_trace(trace).to_json()["violations"]
            row = {"start_s": 0.0, "wall_s": time.perf_counter() - begin}
            _show(size, "local", {**row, "cpu_s": time.process_time() - cpu, "worker_mib": 0.0})
            for master in ("local[1]", "local[2]"):
                told = subprocess.run(
                    [sys.executable, "-m", "bench.spark", "--one", master, str(trace)],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                measured = json.loads(told.stdout)
                assert measured.pop("violations") == expected
                _show(size, master, measured)


def _show(size: int, engine: str, row: dict[str, float]) -> None:
    print(
        f"{size:>12,} {engine:>9} {row['start_s']:>8.1f} {row['wall_s']:>8.1f} "
        f"{row['cpu_s']:>8.1f} {row['worker_mib']:>10.0f}",
        flush=True,
    )


def measure(master: str, trace: str) -> dict[str, float]:
    """One verification in windows, after the session has started."""
    from antecede.pipeline.session import build_session  # noqa: PLC0415 - part of what is timed
    from antecede.pipeline.verify import verify_on_spark  # noqa: PLC0415

    begin = time.perf_counter()
    spark = build_session(master)
    start_s = time.perf_counter() - begin
    java = int(spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]
    begin, cpu = time.perf_counter(), _tree(java)[0]
    verdict = verify_on_spark(spark, trace, limits=Limits(run_rows=0))
    wall_s = time.perf_counter() - begin
    after, peak = _tree(java)
    spark.stop()
    return {
        "start_s": start_s,
        "wall_s": wall_s,
        "cpu_s": after - cpu,
        "worker_mib": peak / 2**20,
        "violations": verdict.violations,
    }


def _tree(root: int) -> tuple[float, int]:
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
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(*sys.argv[2:])))
    else:
        main(*map(int, sys.argv[1:]))
