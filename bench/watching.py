"""`python -m bench.watching [ROWS]`: what watching costs (`antecede.verify.online`): events a CPU
second, and the state at its largest, beside what is under way then."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import pyarrow.parquet as pq

from antecede.verify.online import Watcher
from antecede.verify.watch import rows_by_run
from bench.spark_traces import write_long_trace

DELIVERIES = 200_000
PROCESSES = (16, 64, 256)
BATCH = 8_192


def main(deliveries: int = DELIVERIES) -> None:
    print("| processes | events | events a CPU s | state, KiB | messages under way then |")
    print("|---:|---:|---:|---:|---:|")
    with TemporaryDirectory() as folder:
        for processes in PROCESSES:
            trace = Path(folder) / f"{processes}.parquet"
            write_long_trace(trace, processes, deliveries)
            print(measure(trace, processes), flush=True)


def measure(trace: Path, processes: int) -> str:
    batches = list(pq.ParquetFile(trace).iter_batches(BATCH))
    watcher = Watcher("r")
    events, cpu_s, largest = 0, 0.0, (0, 0)
    for batch in batches:
        started = process_time()
        for rows in rows_by_run(batch).values():
            watcher.feed(rows)
        cpu_s += process_time() - started
        events += len(batch)
        largest = max(largest, (len(watcher.to_bytes()), watcher.under_way))
    watcher.finish()
    size, under_way = largest
    return (
        f"| {processes} | {events:,} | {events / cpu_s:,.0f} | {size / 1024:,.0f} | {under_way:,} |"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
