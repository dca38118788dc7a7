"""`python -m bench.frames [DELIVERIES ...]`: what one run of a DataFrame asks of its task, which
judges it (`antecede.verify.tables`), as peak memory and CPU seconds."""

import json
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from tempfile import TemporaryDirectory
from time import process_time

import pyarrow.parquet as pq

from antecede.verify import tables
from bench.spark_traces import write_long_trace

SIZES = (200_000, 1_000_000)
PROCESSES = 64


def main(sizes: tuple[int, ...] = SIZES) -> None:
    print("| rows of a run | peak memory, MiB | bytes a row | CPU s |\n|---:|---:|---:|---:|")
    with TemporaryDirectory() as folder:
        for size in sizes:
            trace = Path(folder) / f"{size}.parquet"
            write_long_trace(trace, PROCESSES, size)
            command = [sys.executable, "-m", "bench.frames", "--one", str(trace)]
            told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            rows, mib, before, cpu_s = json.loads(told)
            each = (mib - before) * 2**20 / rows
            print(f"| {rows:,} | {mib:.0f} | {each:.0f} | {cpu_s:.1f} |", flush=True)
            trace.unlink()


def measure(trace: Path) -> None:
    """In a process of its own."""
    rows = pq.read_table(trace)
    started = process_time()
    before = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    tables.verdicts(rows)
    peak = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([len(rows), peak, before, process_time() - started]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(Path(sys.argv[2]))
    else:
        main(tuple(map(int, sys.argv[1:])) or SIZES)
