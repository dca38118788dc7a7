"""What `explain` and `view` cost on a long trace, of which they read only what is around a message.

`python -m bench around` takes a short trace; `python -m bench.around 20000000` takes one of so many
deliveries, and `--traces DIR` keeps it there. Every question gets a process of its own, which says
its CPU time, imports included, and its peak memory. A `view` that is not told where to look
verifies the whole run first.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq

from bench.spark_traces import write_long_trace

DELIVERIES = 400_000
PROCESSES = 64
QUESTIONS = ("nothing", "explain", "view --around", "view")


def main(deliveries: int = DELIVERIES, traces: str | None = None) -> None:
    with TemporaryDirectory() as scratch:
        folder = Path(traces or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        trace = folder / f"{deliveries}.parquet"
        if not trace.exists():
            write_long_trace(trace, PROCESSES, deliveries)
        message, process = _in_the_middle(trace)
        print(f"{deliveries:,} deliveries, around {message}")
        print(f"{'question':>16} {'wall_s':>8} {'cpu_s':>8} {'peak_mib':>9}")
        for question in QUESTIONS:
            asked = [question, str(trace), message, process, scratch]
            told = subprocess.run(
                [sys.executable, "-m", "bench.around", "--one", *asked],
                capture_output=True,
                text=True,
                check=True,
            )
            row = json.loads(told.stdout)
            print(f"{question:>16} {row['wall_s']:>8.1f} {row['cpu_s']:>8.1f} {row['mib']:>9.0f}")


def _in_the_middle(trace: Path) -> tuple[str, str]:
    """A message that is sent half way, and one of its destinations."""
    parquet = pq.ParquetFile(trace)
    rows = parquet.read_row_group(parquet.num_row_groups // 2).slice(0, 1000).to_pylist()
    send = next(row for row in rows if row["kind"] == "send")
    return f"{send['sender']}:{send['number']}", send["destinations"][0]


def measure(question: str, trace: str, message: str, process: str, scratch: str) -> None:
    begin = time.perf_counter()
    _ask(question, Path(trace), message, process, Path(scratch) / "page.html")()
    peak = next(
        int(line.split()[1])
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    told = {
        "wall_s": time.perf_counter() - begin,
        "cpu_s": time.process_time(),
        "mib": peak / 1024,
    }
    print(json.dumps(told))


def _ask(
    question: str, trace: Path, message: str, process: str, page: Path
) -> Callable[[], object]:
    from antecede.verify import explain  # noqa: PLC0415 - what a command imports is part of it
    from antecede.view import write_view  # noqa: PLC0415

    around = message if "around" in question else None
    if question.startswith("view"):
        return lambda: write_view(trace, page, around=around, force=True)
    if question == "explain":
        return lambda: explain(trace, process, message)
    return lambda: None


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[:1] == ["--one"]:
        question, trace, message, process, scratch = arguments[1:]
        measure(question, trace, message, process, scratch)
    else:
        kept = arguments[1] if arguments[:1] == ["--traces"] else None
        sizes = arguments[2:] if kept else arguments
        main(int(sizes[0]) if sizes else DELIVERIES, kept)
