"""`python -m bench.daisy_fuzz FOLDER [GUIDED [REVISION]]`: write docs/results/daisy-fuzz.md from
what `antecede fuzz --protocol daisy --out FOLDER` has done, and with `--guided` in GUIDED.
REVISION: that of the code which has done all of it, if it was one. What the scenarios had in them
is drawn again from their seeds. Runs that failed are judged again by the present code."""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from multiprocessing import Pool
from pathlib import Path
from statistics import quantiles

from antecede.fuzzing import draw, judge
from antecede.fuzzing.finding import scenario_of
from antecede.fuzzing.guided import corpus_before
from antecede.fuzzing.ledger import SLICES, Ledger
from antecede.fuzzing.slices import Found
from bench.docs import ROOT, markdown
from bench.made import signed
from tests.fuzzing.faults import FAULTS, FOUNDING_S, faults_of, longest_cut_s, traffic_s

PAGE = ROOT / "docs" / "results" / "daisy-fuzz.md"
PROCESSES = 2
INTRODUCTION = """# The daisy under random schedules

Written by `python -m bench.daisy_fuzz FOLDER GUIDED` from the books of

    antecede fuzz --protocol daisy --runs {runs} --seed {seed} --out FOLDER
    antecede fuzz --protocol daisy --runs {guided} --seed {guided_seed} --guided --out GUIDED

do not edit. (The copy that `python -m bench.compiled` makes comes to the same in less time, as it
prints.)

{by};
what failed has been judged again by the present one. Judged in every run: each message of a
survivor reaches each survivor that it is for, once and in causal order; what one survivor has
delivered of a process that crashed, all do that it is for; nobody waits for ever, and whoever comes
is let in. What is drawn, what excuses, and what is not drawn: [fuzzing](../fuzzing.md).

"""
LONG = f"""
How long cuts and traffic last, in seconds, of the runs with a cut. A silence of 2 s is taken for a
crash; to found a group anew takes {FOUNDING_S:g} s by default, 2 s of suspicion and 6 s of looking
for others.

"""

FAMILIES = {
    "groups that split and merge, or come and go": (
        "groups that split and merge",
        "groups of servers that come and go",
    ),
    "groups that stay, early forwarding": ("early forwarding",),
    "groups that stay, a cut past `forget_after_s`": ("cut past forget_after_s",),
    "none of these": (),
}
"""A run belongs to the first whose kinds of faults it has."""

Drawn = tuple[tuple[str, ...], float, float]


def drawn(seed: int) -> Drawn:
    """The kinds of faults of a run, its longest cut, and how long its traffic lasts."""
    scenario = draw("daisy", seed)
    return tuple(sorted(set(faults_of(scenario)))), longest_cut_s(scenario), traffic_s(scenario)


def failure_of(found: Found) -> str | None:
    """How a run fails now, if it does."""
    failure = judge(scenario_of(found)).failure
    return None if failure is None else f"{failure.kind}: {failure.sentence}"


def family_of(kinds: Iterable[str]) -> str:
    has = set(kinds)
    return next(name for name, needed in FAMILIES.items() if has & {*needed} or not needed)


def _families(every: Sequence[Drawn], failing: Sequence[Sequence[Found]]) -> str:
    """Where it fails: of all runs that were drawn, and of those that are guided."""
    runs = Counter(family_of(kinds) for kinds, _, _ in every)
    failed = [
        Counter(family_of(faults_of(scenario_of(found))) for found in founds) for founds in failing
    ]
    rows = [(name, f"{runs[name]:,}", *(str(each[name]) for each in failed)) for name in FAMILIES]
    return markdown(("runs with", "drawn", "of these fail", "guided ones that fail"), rows)


def seeds_of(ledger: Ledger) -> list[int]:
    return [
        seed
        for done in ledger.done
        for seed in range(done.slice.first, done.slice.first + done.slice.count)
    ]


def lengths(values: Iterable[float]) -> list[str]:
    """Of ten, the first, the third, the one in the middle, and so on."""
    tenths = quantiles(values, n=10)
    return [f"{tenths[place]:.1f}" for place in (0, 2, 4, 6, 8)]


def whole(ledger: Ledger, failing: int) -> list[tuple[str, str]]:
    copies, in_runs = ledger.let_go
    values = {
        "runs": ledger.runs,
        "messages": ledger.messages,
        "deliveries": ledger.deliveries,
        "events of the simulator": ledger.events,
        "runs that failed when the books were kept": len(ledger.found),
        "**of these, runs that fail by the present code**": failing,
        "copies let go after `forget_after_s`, told by name, though somebody had them": copies,
        "runs with such": in_runs,
    }
    return [(name, f"{value:,}") for name, value in values.items()]


MENDED = "Where the code was mended meanwhile, earlier runs are by the code of that time"


def page(plain: Ledger, guided: Ledger, by: str) -> str:
    """`by`: what is said of the code that has done the runs."""
    seeds = seeds_of(plain)
    founds = [*plain.found, *guided.found]
    with Pool(PROCESSES) as pool:
        every = pool.map(drawn, seeds, chunksize=200)
        now = dict(zip(founds, pool.map(failure_of, founds, chunksize=1), strict=True))
    text = INTRODUCTION.format(
        runs=plain.runs,
        seed=min(seeds),
        guided=guided.runs,
        guided_seed=min(seeds_of(guided), default=1),
        by=by,
    )
    text += "## Drawn\n\n" + _table(plain, now)
    text += _shares(every)
    text += "\n## Guided\n\n" + _table(guided, now)
    corpus = corpus_before("daisy", sys.maxsize, guided.done)
    kept, features = len(corpus.entries), len(corpus.features)
    text += f"\n{kept:,} of these runs were kept, for {features:,} features.\n"
    if founds:
        failing = [[one for one in each.found if now[one]] for each in (plain, guided)]
        text += "\n## Failures\n\n" + _families(every, failing)
    for one in founds:
        lineage = f" (lineage {'/'.join(map(str, one.lineage))})" if one.lineage else ""
        fate = now[one] or f"{one.kind}: {one.sentence}; repaired since"
        text += f"\n- seed {one.seed}{lineage}: {fate}"
    return text.rstrip("\n") + "\n"


def _table(ledger: Ledger, now: dict[Found, str | None]) -> str:
    failing = sum(now[found] is not None for found in ledger.found)
    return markdown(("in all", ""), whole(ledger, failing))


def _shares(every: Sequence[Drawn]) -> str:
    counts = Counter(kind for kinds, _, _ in every for kind in kinds)
    rows = [(kind, f"{counts[kind]:,}", f"{counts[kind] / len(every):.1%}") for kind in FAULTS]
    text = "\n" + markdown(("runs with", "", "of all"), rows)
    cut = [(cut_s, span_s) for _, cut_s, span_s in every if cut_s]
    columns = ("", "a tenth below", "three tenths", "half", "seven tenths", "nine tenths")
    return (
        text
        + LONG
        + markdown(
            columns,
            [
                ["the longest cut", *lengths(cut_s for cut_s, _ in cut)],
                ["traffic", *lengths(span_s for _, span_s in cut)],
            ],
        )
    )


def main() -> None:
    folders = [Path(folder) for folder in sys.argv[1:3]]
    is_known = all((one / SLICES).exists() for one in folders)
    if not 2 <= len(sys.argv) <= 4 or not is_known:
        sys.exit(
            "usage: python -m bench.daisy_fuzz FOLDER [GUIDED [REVISION]] (those of `antecede fuzz"
            " --out`)"
        )
    by = f"All of these runs are by the code of revision {sys.argv[3]}" if sys.argv[3:] else MENDED
    plain, guided = [*(Ledger(folder) for folder in folders), Ledger()][:2]
    PAGE.write_text(signed(page(plain, guided, by)), "utf-8")


if __name__ == "__main__":
    main()
