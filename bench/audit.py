"""`antecede audit` on large logs: time and memory, from the log to the verdict and the page.

`python -m bench.audit` prints a table: seconds by the clock and of processor of the whole command,
and the most memory that it had. `--write` puts it into docs/results/audit.md; `FORMAT EVENTS ...`
measures others.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.docs import ROOT, markdown, put_table
from bench.logs import WRITERS

PAGE = ROOT / "docs" / "results" / "audit.md"
COMMAND = "python -m bench.audit --write"
SIZES = (("csv", 100_000), ("csv", 1_000_000))


def main(*chosen: str) -> None:
    rest = [one for one in chosen if one != "--write"]
    sizes = [(rest[at], int(rest[at + 1])) for at in range(0, len(rest), 2)] or SIZES
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, count in sizes:
            log = Path(folder) / f"log-{count}.{name}"
            WRITERS[name](log, count)
            rows.append((name, f"{count:,}", f"{log.stat().st_size / 1e6:.1f}", *measure(log)))
            print(*rows[-1], sep="  ", flush=True)
    table = markdown(("format", "events", "MB", "s", "processor s", "peak MB"), rows)
    if "--write" in chosen:
        PAGE.write_text(put_table(PAGE.read_text("utf-8"), COMMAND, table), "utf-8")
    else:
        print(table)


def measure(log: Path) -> tuple[str, str, str]:
    """Seconds, processor seconds and megabytes of one audit."""
    out = str(log.with_suffix(".out"))
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "antecede", "audit", str(log), "--out", out],
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    took = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode > 1:
        sys.exit(f"bench: the audit of {log.name} ended with status {child.returncode}")
    cpu = used.ru_utime + used.ru_stime
    return f"{took:.1f}", f"{cpu:.1f}", f"{used.ru_maxrss / 1e3:,.0f}"


if __name__ == "__main__":
    main(*sys.argv[1:])
