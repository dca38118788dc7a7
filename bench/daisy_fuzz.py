"""`python -m bench.daisy_fuzz FOLDER`: write docs/results/daisy-fuzz.md from what `antecede fuzz
--protocol daisy --out FOLDER` has done. What the scenarios had in them is drawn again from their
seeds."""

import sys
from collections import Counter
from pathlib import Path

from antecede.fuzzing import draw
from antecede.fuzzing.ledger import Ledger
from bench.docs import ROOT, markdown
from tests.fuzzing.faults import FAULTS, faults_of

PAGE = ROOT / "docs" / "results" / "daisy-fuzz.md"
INTRODUCTION = """# The daisy under random schedules

Written by `python -m bench.daisy_fuzz FOLDER` from the books of

    antecede fuzz --protocol daisy --runs {runs} --seed {seed} --out FOLDER

do not edit. Judged in every run: each message of a survivor reaches each survivor that it is for,
once and in causal order; what one survivor has delivered of a process that crashed, all do that it
is for; nobody waits for ever. What is drawn, and what is not: [fuzzing](../fuzzing.md).

"""


def page(ledger: Ledger) -> str:
    seeds = [
        seed
        for done in ledger.done
        for seed in range(done.slice.first, done.slice.first + done.slice.count)
    ]
    counts = Counter(kind for seed in seeds for kind in set(faults_of(draw("daisy", seed))))
    whole = {
        "runs": ledger.runs,
        "messages": ledger.messages,
        "deliveries": ledger.deliveries,
        "events of the simulator": ledger.events,
        "**runs that failed**": len(ledger.found),
    }
    text = INTRODUCTION.format(runs=ledger.runs, seed=min(seeds))
    text += markdown(("in all", ""), [(name, f"{value:,}") for name, value in whole.items()])
    rows = [(kind, f"{counts[kind]:,}", f"{counts[kind] / len(seeds):.1%}") for kind in FAULTS]
    text += "\n" + markdown(("runs with", "", "of all"), rows)
    for found in ledger.found:
        text += f"\n- seed {found.seed}: {found.kind}: {found.sentence}"
    return text


def main() -> None:
    match sys.argv[1:]:
        case [folder] if (Path(folder) / "slices.jsonl").exists():
            PAGE.write_text(page(Ledger(Path(folder))), "utf-8")
        case _:
            sys.exit("usage: python -m bench.daisy_fuzz FOLDER (that of `antecede fuzz --out`)")


if __name__ == "__main__":
    main()
