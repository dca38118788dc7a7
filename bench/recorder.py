"""What a call of `antecede.recorder` costs: `python -m bench.recorder [--write]`."""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from antecede.recorder import record
from bench.docs import ROOT, markdown, put_table

CALLS = 200_000
PAGE = ROOT / "docs" / "results" / "audit.md"
COMMAND = "python -m bench.recorder --write"


def main(*flags: str) -> None:
    """Print microseconds a call, by wall clock and by processor, as the mean of many."""
    with tempfile.TemporaryDirectory() as folder, record(Path(folder) / "r", "p") as rec:
        rows = [
            ("send", *_time(lambda: rec.send("m1", to=["q", "r"]))),
            ("deliver", *_time(lambda: rec.deliver("m1"))),
        ]
    table = markdown(("call", "µs by the clock", "µs of processor"), rows)
    print(table)
    if "--write" in flags:
        PAGE.write_text(put_table(PAGE.read_text("utf-8"), COMMAND, table), "utf-8")


def _time(call: Callable[[], None]) -> tuple[str, str]:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(CALLS):
        call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return f"{1e6 * wall / CALLS:.2f}", f"{1e6 * cpu / CALLS:.2f}"


if __name__ == "__main__":
    main(*sys.argv[1:])
