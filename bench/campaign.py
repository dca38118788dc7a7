"""Campaigns on Spark: runs per minute on one core and on two, what else than simulating and
verifying takes time, and what a run costs as campaigns grow.

`python -m bench.campaign [RUNS]` grows to so many runs in place of a thousand. Every campaign is a
process of its own with a session of its own. CPU time is that of the driver, the Java process and
all Python workers; *outside* is the share of it that is not simulating and verifying, with the
start of Spark. Wall times mean little on a machine that has other things to do: what a second core
could give is then better seen in CPU time (*bound*).
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from antecede.campaigns.file import load_campaign
from antecede.campaigns.plan import make_plan
from antecede.pipeline.campaigns.campaign import Progress, run_campaign
from bench.spark import tree_of

FILE: Final = """name = "bench"
seeds = {seeds}
processes = [12]
protocols = ["vector", "pairs", "matrix", "histories"]

[[workloads]]
kind = "broadcast"
messages = 150
"""
PROTOCOLS: Final = 4
SMALL: Final = 100
LARGE: Final = 1_000
COLUMNS: Final = ("start_s", "wall_s", "per_min", "cpu_s", "ms/run", "work_s", "tables_s")


def main(runs: int = LARGE) -> None:
    print(f"{'runs':>7} {'master':>9}" + "".join(f"{name:>10}" for name in COLUMNS) + "   outside")
    found = {}
    for size, master in ((SMALL, "local[2]"), (runs, "local[1]"), (runs, "local[2]")):
        told = subprocess.run(
            [sys.executable, "-m", "bench.campaign", "--one", master, str(size)],
            capture_output=True,
            text=True,
            check=True,
        )
        found[size, master] = row = json.loads(told.stdout)
        outside = 1 - row["work_s"] / (row["cpu_s"] + row["start_cpu_s"])
        figures = "".join(f"{row[name]:>10.1f}" for name in COLUMNS)
        print(f"{size:>7,} {master:>9}{figures} {outside:>8.0%}", flush=True)
    one, two = found[runs, "local[1]"], found[runs, "local[2]"]
    print(
        f"\nspeed-up of the second core: {two['per_min'] / one['per_min']:.2f} by wall time, ",
        end="",
    )
    print(f"bound {2 * one['cpu_s'] / two['cpu_s']:.2f} by CPU time")
    few = found[SMALL, "local[2]"]
    print(f"a run at {runs:,} costs {two['ms/run'] / few['ms/run']:.2f} times one at {SMALL:,}")


def measure(master: str, runs: int) -> dict[str, float]:
    """One campaign, after its session has started."""
    from antecede.pipeline.session import build_session  # noqa: PLC0415 - part of what is timed

    with TemporaryDirectory() as folder:
        file = Path(folder) / "campaign.toml"
        file.write_text(FILE.format(seeds=runs // PROTOCOLS))
        campaign = load_campaign(file)
        begin = time.perf_counter()
        spark = build_session(master, short=True)
        java = int(spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]
        start_s, start_cpu_s = time.perf_counter() - begin, _cpu_s(java)
        begin = time.perf_counter()
        stages: dict[str, tuple[float, float]] = {}

        def tell(progress: Progress) -> None:
            stages.setdefault(progress.stage, (time.perf_counter(), _cpu_s(java)))

        plan = make_plan(campaign)
        done = run_campaign(campaign, plan, "", Path(folder) / "out", lambda: spark, tell=tell)
        end, cpu_s = time.perf_counter(), _cpu_s(java) - start_cpu_s
        spark.stop()
    runs_s = stages["tables"][0] - stages["runs"][0]
    return {
        "start_s": start_s,
        "start_cpu_s": start_cpu_s,
        "wall_s": end - begin,
        "per_min": done.runs / runs_s * 60,
        "cpu_s": cpu_s,
        "ms/run": 1e3 * cpu_s / done.runs,
        "work_s": done.simulate_cpu_s + done.verify_cpu_s,
        "tables_s": stages["commit"][1] - stages["tables"][1],
    }


def _cpu_s(java: int) -> float:
    return time.process_time() + tree_of(java)[0]


def _one(master: str, runs: str) -> None:
    found: dict[str, Any] = measure(master, int(runs))
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        _one(*sys.argv[2:])
    else:
        main(*map(int, sys.argv[1:]))
