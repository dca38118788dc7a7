"""`python -m bench.guided BOOK [LIMIT [STARTS]]`: after how many runs fuzzing finds the planted
faults of the daisy under cuts, guided and blind: docs/results/guided-fuzz.md.

A fault is found by a run in which the mutant fails and the daisy does not. Each is looked for from
several first seeds, up to LIMIT runs from each. BOOK is a file with a line for every search that is
done: the same command goes on where it stopped. Counted, not timed."""

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median_low

import msgspec

from antecede.fuzzing import draw, judge
from antecede.fuzzing.guided import ROUND, Corpus, propose, run_guided
from antecede.fuzzing.slices import Slice
from antecede.order import Order
from bench.docs import ROOT, markdown
from bench.made import signed
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import FENCE

LIMIT = 20_000
STARTS = 3
PAGE = ROOT / "docs" / "results" / "guided-fuzz.md"
INTRODUCTION = """# Guided fuzzing against blind

Written by `python -m bench.guided BOOK` (do not edit): after how many runs a planted fault of [the
daisy's rules under cuts](../daisy.md) is found, guided and blind ([fuzzing](../fuzzing.md)), from
the first seeds of several searches. Nobody tells the search the schedule. A fault is found by a run
in which the mutant fails and the daisy does not.

"""
WAYS = ("blind", "guided")


class Searched(msgspec.Struct, frozen=True):
    """A search for a mutant: the runs it took, if it found it within so many."""

    mutant: str
    way: str
    start: int
    limit: int
    runs: int | None


def blind(order: type[Order], first: int) -> Iterator[bool]:
    """Run by run, whether the fault shows."""
    for seed in range(first, first + LIMIT):
        scenario = draw("daisy", seed)
        is_bad = judge(scenario, order).failure is not None
        yield is_bad and judge(scenario).failure is None


def guided(order: type[Order], first: int) -> Iterator[bool]:
    """The same, a round at a time."""
    corpus = Corpus()
    for start in range(first, first + LIMIT, ROUND):
        kept = []
        for seed in range(start, start + ROUND):
            done = run_guided(Slice("daisy", seed, 1), corpus, order)
            kept += list(done.kept or ())
            yield bool(done.found) and judge(propose("daisy", seed, corpus)[1]).failure is None
        for one in kept:
            corpus.add(one)


def search(mutant: Mutant, way: str, start: int, limit: int) -> Searched:
    order = mutated("daisy", mutant)
    first = 1 + 10_000_000 * start
    found = (blind if way == "blind" else guided)(order, first)
    shown = zip(range(1, limit + 1), found, strict=False)
    runs = next((run for run, shows in shown if shows), None)
    return Searched(mutant.name, way, start, limit, runs)


def page(book: list[Searched]) -> str:
    """A row for each fault: the runs of every search, and the one in the middle."""
    rows = []
    for mutant in FENCE:
        row = [mutant.name]
        for way in WAYS:
            found = [one for one in book if (one.mutant, one.way) == (mutant.name, way)]
            runs = sorted(one.limit + 1 if one.runs is None else one.runs for one in found)
            middle = median_low(runs) if runs else 0
            is_found = runs and middle <= max(one.limit for one in found)
            row += [f"{middle:,}" if is_found else "–", ", ".join(map(_told, found)) or "–"]
        rows.append(row)
    columns = ("planted fault", "blind, median", "each", "guided, median", "each")
    return INTRODUCTION + markdown(columns, rows)


def _told(one: Searched) -> str:
    return f"not in {one.limit:,}" if one.runs is None else f"{one.runs:,}"


def main() -> None:
    if not 2 <= len(sys.argv) <= 4:
        sys.exit("usage: python -m bench.guided BOOK [LIMIT [STARTS]]")
    file = Path(sys.argv[1])
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else LIMIT
    starts = int(sys.argv[3]) if len(sys.argv) > 3 else STARTS
    lines = file.read_bytes().splitlines() if file.exists() else []
    book = [msgspec.json.decode(line, type=Searched) for line in lines]
    for start in range(starts):
        for mutant in FENCE:
            for way in WAYS:
                done = {(one.mutant, one.way, one.start) for one in book}
                if (mutant.name, way, start) in done:
                    continue
                book.append(search(mutant, way, start, limit))
                with file.open("ab") as opened:
                    opened.write(msgspec.json.encode(book[-1]) + b"\n")
                print(book[-1], flush=True)
    PAGE.write_text(signed(page(book)), "utf-8")


if __name__ == "__main__":
    main()
