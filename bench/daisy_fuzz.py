"""`python -m bench.daisy_fuzz FOLDER`: write docs/results/daisy-fuzz.md from what `antecede fuzz
--protocol daisy --out FOLDER` has done. What the scenarios had in them is drawn again from their
seeds. Runs in which groups split or merge, and runs that failed, are judged again: so the page
holds for the present code where only those rules have changed since."""

import sys
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

from antecede.fuzzing import draw, judge
from antecede.fuzzing.ledger import Ledger
from bench.docs import ROOT, markdown
from bench.made import signed
from tests.fuzzing.faults import FAULTS, faults_of

PAGE = ROOT / "docs" / "results" / "daisy-fuzz.md"
EVOLVES = "groups that split and merge"
PROCESSES = 2
INTRODUCTION = """# The daisy under random schedules

Written by `python -m bench.daisy_fuzz FOLDER` from the books of

    antecede fuzz --protocol daisy --runs {runs} --seed {seed} --out FOLDER

do not edit. Judged in every run: each message of a survivor reaches each survivor that it is for,
once and in causal order; what one survivor has delivered of a process that crashed, all do that it
is for; nobody waits for ever. What is drawn, and what is not: [fuzzing](../fuzzing.md).

"""


def kinds_of(seed: int) -> list[str]:
    return sorted(set(faults_of(draw("daisy", seed))))


def failure_of(seed: int) -> str | None:
    """How a run fails now, if it does."""
    failure = judge(draw("daisy", seed)).failure
    return None if failure is None else f"{failure.kind}: {failure.sentence}"


def page(ledger: Ledger) -> str:
    seeds = [
        seed
        for done in ledger.done
        for seed in range(done.slice.first, done.slice.first + done.slice.count)
    ]
    failed = {found.seed: f"{found.kind}: {found.sentence}" for found in ledger.found}
    with Pool(PROCESSES) as pool:
        kinds = dict(zip(seeds, pool.map(kinds_of, seeds, chunksize=200), strict=True))
        again = [seed for seed in seeds if EVOLVES in kinds[seed] or seed in failed]
        found = dict(zip(again, pool.map(failure_of, again, chunksize=20), strict=True))
    counts = Counter(kind for kinds_of_one in kinds.values() for kind in kinds_of_one)
    now = {seed: failure for seed, failure in found.items() if failure is not None}
    whole = {
        "runs": ledger.runs,
        "messages": ledger.messages,
        "deliveries": ledger.deliveries,
        "events of the simulator": ledger.events,
        "runs that failed when the books were kept": len(failed),
        f"judged again by the present code (those, and {EVOLVES})": len(again),
        "**runs that fail**": len(now),
    }
    text = INTRODUCTION.format(runs=ledger.runs, seed=min(seeds))
    text += markdown(("in all", ""), [(name, f"{value:,}") for name, value in whole.items()])
    rows = [(kind, f"{counts[kind]:,}", f"{counts[kind] / len(seeds):.1%}") for kind in FAULTS]
    text += "\n" + markdown(("runs with", "", "of all"), rows)
    for seed in sorted(failed.keys() | now.keys()):
        fate = now.get(seed, f"{failed.get(seed, '')}; repaired since")
        text += f"\n- seed {seed}: {fate}"
    return text.rstrip("\n") + "\n"


def main() -> None:
    match sys.argv[1:]:
        case [folder] if (Path(folder) / "slices.jsonl").exists():
            PAGE.write_text(signed(page(Ledger(Path(folder)))), "utf-8")
        case _:
            sys.exit("usage: python -m bench.daisy_fuzz FOLDER (that of `antecede fuzz --out`)")


if __name__ == "__main__":
    main()
