"""`python -m bench.cost [--book FOLDER] [--page]`: what a campaign, fuzzing and verification cost
by their size and by where they run, and from where on Spark pays: docs/results/cost.md.

Every figure is one command as a user would give it, in a process of its own, with the start of
whatever it starts; a cluster and a Connect server are there before. Each is written into the book
as soon as it is known, and the same command goes on where it stopped; `--page` writes the page of
what is there. CPU time is that of all processes together, Java's and those of servers included.
Wall times want a machine that has nothing else to do; where it had, the page leaves them out.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import msgspec

from antecede.pipeline.cluster.standalone import Cluster
from bench.campaign import FILE, PROTOCOLS
from bench.docs import ROOT, markdown
from bench.live import machine
from bench.made import signed
from bench.spark import PROCESSES, tree_of
from bench.spark_traces import write_long_trace
from tests.pipeline.clusters import connect_server

PAGE: Final = ROOT / "docs" / "results" / "cost.md"
BOOK: Final = ROOT / "build" / "cost"
LOOK_S: Final = 0.1
HERE: Final = "here"
CLUSTER, CONNECT = "two workers", "Connect"
PLACES: Final = (HERE, "local[1]", "local[2]", CLUSTER, CONNECT)
SIZES: Final = {
    "campaign": (40, 200, 1_000),
    "fuzz": (100, 400, 1_000),
    "verify": (100_000, 1_000_000, 10_000_000),
}
UNITS: Final = {"campaign": "runs", "fuzz": "runs", "verify": "deliveries"}
HEAD: Final = ("where", "CPU s", "against here", "wall s", "CPU ms each", "outside of the work")
CORES: Final = 2
AIM: Final = 0.2
"""Of a large campaign, at most so much is to be outside of the work."""
CROWDED: Final = 1.5
"""How often its CPU time a command takes by the clock, here, if others use the machine, too."""

INTRODUCTION: Final = f"""# Where Spark pays

Written by `python -m bench.cost`; do not edit. One command each, as a user gives it: a campaign of
12 processes with 150 broadcasts a run, fuzzing of `vector`, the verification of one trace of
{PROCESSES} processes. *here* is without Spark, on one core; a cluster of two workers with a core
each, and a Connect server with two cores, were there before the command, and so was what is
compiled once for a machine (some 10 s, after an installation). CPU time is that of all
processes together. The *work* is what one more unit takes here, by the two largest sizes, times
the units; all else is *outside*: starting Python, Java and Spark, plans, tables, sending data
about. The verification of 10 and 100 million deliveries is on [another page](verification.md).
{machine()}.
"""


class Task(NamedTuple):
    kind: str
    size: int
    place: str


class Entry(msgspec.Struct, frozen=True):
    """A figure in the book."""

    task: Task
    cpu_s: float
    wall_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description="what it costs, by size and place")
    parser.add_argument("--book", type=Path, default=BOOK, help="the folder of the figures")
    parser.add_argument("--page", action="store_true", help="only write the page, of what is there")
    chosen = parser.parse_args()
    chosen.book.mkdir(parents=True, exist_ok=True)
    file = chosen.book / "book.jsonl"
    if not chosen.page:
        work(file, chosen.book)
    PAGE.write_text(page(read(file)), "utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}")


def read(file: Path) -> dict[Task, Entry]:
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    entries = [msgspec.json.decode(line, type=Entry) for line in lines if line.endswith("}")]
    return {entry.task: entry for entry in entries}


def work(file: Path, folder: Path) -> None:
    """What the book does not have yet: what is small first, everywhere, a place at a time."""
    done = read(file)
    warm_up(folder)
    for tier, place in product(zip(*SIZES.values(), strict=True), PLACES):
        tasks = [Task(kind, size, place) for kind, size in zip(SIZES, tier, strict=True)]
        left = [task for task in tasks if task not in done]
        if not left:
            continue
        with TemporaryDirectory() as scratch, served(place, Path(scratch)) as master:
            for task in left:
                entry = Entry(task, *measure(command(task, master, folder, Path(scratch))))
                with file.open("ab") as book:
                    book.write(b"\n" + msgspec.json.encode(entry))
                print(f"{task}: {entry.cpu_s:.1f} s of CPU, {entry.wall_s:.1f} s", flush=True)


def warm_up(folder: Path) -> None:
    """One small command of each kind: what is compiled once for a machine is there afterwards."""
    with TemporaryDirectory() as scratch:
        for kind, sizes in SIZES.items():
            measure(command(Task(kind, sizes[0], HERE), HERE, folder, Path(scratch)))


@contextmanager
def served(place: str, scratch: Path) -> Iterator[str]:
    """What `--master` takes, while it is there."""
    if place == CLUSTER:
        with Cluster(2, directory=scratch) as cluster:
            yield cluster.master
    elif place == CONNECT:
        with connect_server(scratch) as master:
            yield master
    else:
        yield place


def command(task: Task, master: str, folder: Path, scratch: Path) -> list[str]:
    """The arguments; what they read is made before."""
    out = scratch / f"{task.kind}-{task.size}"
    if task.kind == "verify":
        trace = folder / f"{task.size}.parquet"
        if not trace.exists():
            write_long_trace(trace, PROCESSES, task.size)
        engine = ["local"] if master == HERE else ["spark", "--master", master]
        return ["verify", str(trace), "--engine", *engine]
    where = ["--out", str(out), "--master", master]
    if task.kind == "fuzz":
        return ["fuzz", "--protocol", "vector", "--runs", str(task.size), "--seed", "1", *where]
    file = scratch / "campaign.toml"
    file.write_text(FILE.format(seeds=task.size // PROTOCOLS), "utf-8")
    return ["campaign", "run", str(file), *where]


def measure(arguments: list[str]) -> tuple[float, float]:
    """CPU seconds of all processes below this one, and of the clock."""
    before, began = tree_of(os.getpid())[0] - time.process_time(), time.perf_counter()
    spent = 0.0
    with subprocess.Popen(
        [sys.executable, "-m", "antecede", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as running:
        while running.poll() is None:
            # Java is left behind without having been waited for: so look while it is there.
            spent = max(spent, tree_of(os.getpid())[0] - time.process_time() - before)
            time.sleep(LOOK_S)
        wall_s = time.perf_counter() - began
        assert running.stderr is not None
        told = running.stderr.read().decode()
    if running.returncode not in (0, 1):  # a verdict is an answer
        raise RuntimeError(f"antecede {' '.join(arguments)}: {told}")
    return spent, wall_s


# The page.


def page(book: dict[Task, Entry]) -> str:
    parts = [INTRODUCTION]
    if crowd := _crowd(book):
        parts.append(
            f"Other programs used the machine: by the clock, commands took up to {crowd:.0f} times "
            "their CPU time here. So times by the clock are left out, and from where on Spark pays "
            "is told by CPU time: on two free cores it cannot be faster before.\n"
        )
    for kind, sizes in SIZES.items():
        each_s = _each_s(book, kind)
        parts.append(f"## {kind.capitalize()}\n")
        for size in sizes:
            found = [one for place in PLACES if (one := book.get(Task(kind, size, place)))]
            if not found:
                continue
            rows = [_row(book, entry, each_s) for entry in found]
            told = [at for at, name in enumerate(HEAD) if not (crowd and name == "wall s")]
            head, *lines = (tuple(row[at] for at in told) for row in (HEAD, *rows))
            parts.append(f"{size:,} {UNITS[kind]}:\n\n{markdown(head, lines)}")
        parts.append((_may_pay(book, kind) if crowd else _pays(book, kind)) + "\n")
        if kind == "campaign" and each_s is not None:
            parts.append(_aim(book, each_s) + "\n")
    return signed("\n".join(parts))


def _crowd(book: dict[Task, Entry]) -> float:
    """How often its CPU time a command took by the clock; nothing if the machine was free."""
    times = [one.wall_s / one.cpu_s for one in book.values() if one.task.place == HERE]
    return most if (most := max(times, default=0.0)) > CROWDED else 0.0


def _line(book: dict[Task, Entry], kind: str, place: str) -> tuple[float, float] | None:
    """CPU seconds of nothing and of one more, by the two largest sizes that the book has."""
    known = [size for size in SIZES[kind] if Task(kind, size, place) in book][-2:]
    if len(known) < 2:
        return None
    less, more = (book[Task(kind, size, place)].cpu_s for size in known)
    each_s = (more - less) / (known[1] - known[0])
    return less - each_s * known[0], each_s


def _each_s(book: dict[Task, Entry], kind: str) -> float | None:
    """What one more takes here."""
    return None if (line := _line(book, kind, HERE)) is None else line[1]


def _outside(entry: Entry, each_s: float) -> float:
    return max(0.0, 1 - each_s * entry.task.size / entry.cpu_s)


def _aim(book: dict[Task, Entry], each_s: float) -> str:
    """Who spends little enough outside of the work on the largest campaign."""
    size = SIZES["campaign"][-1]
    found = [one for place in PLACES if (one := book.get(Task("campaign", size, place)))]
    missed = [one.task.place for one in found if _outside(one, each_s) > AIM]
    kept = [one.task.place for one in found if one.task.place not in missed]
    told = f"The aim was at most {AIM:.0%} outside of the work at {size:,} runs: kept "
    return f"{told}{_listed(kept)}, missed {_listed(missed)}."


def _listed(places: list[str]) -> str:
    return f"on {', '.join(places)}".replace(f"on {HERE}", HERE) if places else "nowhere"


def _row(book: dict[Task, Entry], entry: Entry, each_s: float | None) -> tuple[str, ...]:
    kind, size, place = entry.task
    outside = "" if each_s is None else f"{_outside(entry, each_s):.0%}"
    here = book.get(Task(kind, size, HERE))
    against = "" if here is None else f"{entry.cpu_s / here.cpu_s:.1f}"
    each_ms = 1e3 * entry.cpu_s / size
    each = f"{each_ms:,.0f}" if each_ms >= 100 else f"{each_ms:.2g}"
    return place, f"{entry.cpu_s:.1f}", against, f"{entry.wall_s:.1f}", each, outside


def _may_pay(book: dict[Task, Entry], kind: str) -> str:
    """From which size on two cores could be faster with Spark, by the lines through the figures."""
    here, there = (_line(book, kind, place) for place in (HERE, "local[2]"))
    if here is None or there is None:
        return ""
    gained = here[1] - there[1] / CORES
    lost = there[0] / CORES - here[0]
    told = f"One more takes {1e3 * here[1]:.2g} ms of CPU here and {1e3 * there[1]:.2g} on local[2]"
    if gained <= 0:
        return f"{told}: at these sizes two cores with Spark never catch up."
    from_on = f"{float(f'{lost / gained:.1g}'):,.0f} {UNITS[kind]}"
    return f"{told}: two cores with Spark could be faster from about {from_on} on."


def _pays(book: dict[Task, Entry], kind: str) -> str:
    """From which size on some Spark is faster."""
    for size in SIZES[kind]:
        here = book.get(Task(kind, size, HERE))
        others = [one for place in PLACES[1:] if (one := book.get(Task(kind, size, place)))]
        quickest = min(others, key=lambda one: one.wall_s, default=None)
        if here and quickest and quickest.wall_s < here.wall_s:
            return (
                f"Of these sizes Spark is faster from {size:,} {UNITS[kind]} on "
                f"({quickest.task.place}: {quickest.wall_s:.1f} s against {here.wall_s:.1f} s)."
            )
    return "Of these sizes Spark is faster at none, on one machine with two cores."


if __name__ == "__main__":
    main()
