"""`python -m bench.fuzz`: write docs/fuzzing.md anew, or `python -m bench fuzz`: measure how fast.

The page says after how many runs each planted bug is found, and how small the scenario gets that
shows it. That is counted, not timed, on seeds from 1 on: the same figures come out on every
machine. The benchmark gives runs and events per second, here and on Spark; CPU time is that of
everything, Java included."""

import json
import os
import tomllib
from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

from antecede.fuzzing import draw, judge
from antecede.fuzzing.drawing import LARGEST, MOST_MESSAGES, draw_fields
from antecede.fuzzing.finding import Finding, find_smallest
from antecede.fuzzing.guided import ROUND
from antecede.fuzzing.ledger import Ledger
from antecede.fuzzing.slices import Found
from antecede.order import Order
from antecede.protocols import names
from antecede.simulate import make_scenario
from bench.docs import markdown
from bench.guided import BEGIN, END, table_of
from bench.made import signed
from bench.spark import tree_of
from tests.fuzzing.planted import Planted, planted_bugs

PAGE = Path(__file__).resolve().parents[1] / "docs" / "fuzzing.md"
LIMIT = 500
"""Runs within which every planted bug is found."""
RUNS = 2_600
"""Of the benchmark, on each master."""
COLUMNS = (
    *("protocol", "planted bug", "runs", "failure"),
    *("processes", "messages", "groups", "besides the defaults"),
)

MARK = "<!-- table: python -m bench.fuzz -->\n"
INTRODUCTION = """# Fuzzing

`antecede fuzz` draws scenarios from seeds and runs them until one fails: a message delivered
too early, twice or never, a total order that is none, a state beyond its bound, an error, a run
without end. It draws

- the protocol's options, as far as it keeps its promises under them (its options class says which:
  `Options.drawn` and what stands beside it);
- processes, overlapping groups, or for overlays and for `histories` with R9 a topology, and traffic
  of every kind that the protocol can address, with answers to deliveries;
- delays of every kind, links that are much slower or quicker than the others, reordering,
  duplicates, partitions;
- for protocols that take silence for a crash, in three tenths of the runs, clocks that differ
  between processes, by seconds or by days, and have only their rate in common;
- in a quarter of the runs, where the protocol has it, what a scenario may ask for besides: labels,
  contexts, priorities, bypass ([incomplete orders](incomplete-orders.md)), groups that change while
  it runs, word of what is delivered everywhere ([4.5](joins.md)). Then that is judged: the order
  that was asked for, no more; no sender that believes too soon;
- losses and crashes. Where the protocol does not survive them only the order is judged, and what
  was lost is excused; where its channels have to be FIFO, nothing is lost; where it takes silence
  for a crash, delays stay well below that; where it keeps messages for who is cut off, it keeps
  them until the network is whole again.

A failure is shrunk: fewer processes, messages, groups and faults, a smaller topology, options and
network at their defaults, on the same seed or on another, as long as it fails in the same way. What
is left is a scenario file:

    antecede fuzz --runs 20000 --out fuzzed
    antecede simulate --scenario fuzzed/failures/vector-early-17.toml

`simulate` shows an early or missing delivery (exit status 1) or the error; `antecede fuzz --replay
FILE` gives the judgement, which also covers state bounds and total order. The folder keeps what was
done: the same command resumes where it stopped, and with a larger `--runs` or with `--minutes` runs
more. A failure is counted in the line of progress and has a file in `failures/as-drawn/` as soon as
it is found; it is shrunk at the end. Failures found before still count, even if the protocol has
been mended since: then take a new folder.

With crashes, for a protocol that survives them: every message of a survivor reaches every survivor
that it is addressed to, once and in causal order, and what one survivor has delivered of a process
that crashed, all survivors deliver that it is addressed to. Three things excuse a copy that is
missing, one of them an early delivery. Cuts that last for ever part whom it is for from its sender
and from all who have delivered it, as far as they live: no chain of links that work in both
directions leads around them. Or groups have lost their majority for good, have stopped and say so,
and the copy has no other way: that is judged by the views that were told, by who lives, and by the
cuts that last. One cut link between the only two servers of a group is no excuse where another
member can serve: where the local group of one of the two has three members or more. Or a gap is
told: then the run is repeated with a mark in every message, and the marks are sought in the states
of survivors as they were when it was told; what one of them had is no gap, nor is what a survivor
has sent. With one exception, which is counted apart: what was [let
go](daisy-argument.md#one-quorum-for-the-servers) after `forget_after_s` and told by name, though
somebody had it. `antecede simulate` judges and tells the same, with the same exit status; a test
compares them.

What hurts a protocol that takes silence for a crash takes time: it suspects, agrees on views and
founds groups anew. So half of its runs are *hard* (`fuzzing/hardship.py`): up to three cuts of 2 to
30 s, overlapping, one after the other, through groups, between them and their servers, into three
sides, of one link (some for ever) or of one direction; crashes, returns and newcomers while they
last; groups on two to four levels; and thin traffic that goes on until after the last fault. They
keep a majority, so that some groups may stop, which is judged as above. Before that, in three
tenths of its runs the hardship is *small*: groups of two, one or two faults, whole groups that die,
newcomers, groups and servers that split and merge, and who is away is forgotten after seconds. Such
a run takes half the time, and finds what takes an unlikely moment rather than many faults. In one
of twelve the small groups stay as they are, and messages are sent on early, or straight to those
whom they are for.

Before all of that, four tenths of its runs are *stories* (`fuzzing/stories.py`): small worlds
around one idea. Random faults hardly ever hit whoever leads a group at that moment, at the right
time-out after another fault, with a message on its way that some have and others lack. A story
makes them meet, with random times, groups and traffic: a link is cut for ever; several leaders
crash in the same moment, and some have not heard their last words; those that come next crash while
they take over; a group is away while all leaders that it knew crash, one after the other; a leader
and the rest of its group are cut off from each other and from all, and come back one after the
other; a leader is away, then the rest of its group in its place, while other leaders crash. In many
of them one or two processes do all the talking.

In a fifth of the runs of `separators` the network changes (`fuzzing/changes.py`): on flooded and on
shortest ways routers or processes crash, come back, or come for the first time, and links are new,
while delays stay short against the silence that is taken for a crash.

Not drawn: the readings that the errata refute, replays of real graphs, large systems (runs have up
to {largest} processes where no topology says more, 22 on four levels, and up to {messages}
messages). For the daisy: FIFO links, where one slow packet is a silence; `local=server` with cuts,
where it promises nothing ([limits](daisy.md#limits)). What it has been through:
[the daisy under random schedules](results/daisy-fuzz.md).

## Guided

`antecede fuzz --guided` learns. It watches what a run reaches (`fuzzing/features.py`), the same for
every protocol: what is told (views, servers, stops, gaps) in pairs and triples as they follow each
other; which kinds of packets are sent after which of these, and about how often; in how many groups
somebody is who crashes or comes, and what was told last; what is told around the beginning and the
end of a cut; what is held in the end, and for what. A run that reaches something new is kept. Two
of three scenarios are mutants of kept ones (`fuzzing/mutation.py`): a fault is shifted, lengthened,
added, doubled, dropped or turned on others, often to a moment at which something was told; a
neighbour of one that is hit crashes as well, or some do not hear the last words of those who crash;
traffic is made to last until such a moment; the same faults come with another seed; delays, losses
or one option are taken from another run.

Counts go into buckets, and any feature is as likely to be picked as another, with the shortest run
that reaches it: as in AFL (Zalewski, 2013). Of two runs that are picked so the shorter one is
mutated. For distributed systems, feedback from what nodes do around faults is that of Mallory
(Meng, Pîrlea, Roychoudhury, Sergey: *Greybox fuzzing of distributed systems*, CCS 2023), and from
an abstraction of their states that of Gulcan, Kulahcioglu Ozkan, Majumdar and Nagendra
(*Model-guided fuzzing of distributed systems*, OOPSLA 2025). They steer running systems; here one
seed explains a run.

Runs come in rounds of {round}. A run follows from its seed and the corpus, the corpus of a round
from the rounds before, in the order of their seeds: the same runs come out here and on Spark, in
one go or with interruptions. The *lineage* of a scenario, such as 17/204/3050, explains it without
the corpus: drawn from seed 17, and mutated with seeds 204 and 3050.

What it is worth: `python -m bench.guided BOOK` plants the faults that the daisy had [under
cuts](daisy-argument.md#one-quorum-for-the-servers) before its rules were made, or that these rules
would leave, one at a time, and lets fuzzing look for them, guided and blind, from seed 1 on; nobody
tells it the schedule. The table has the runs until the first one in which the mutant fails and the
daisy does not. It goes on from BOOK where it stopped. The other mutants of these rules have not
been looked for in this way. Read it with care: the stories were written by somebody who knew these
nine faults, and what circumstances they take, though not when and to whom.

{guided}
Eight of the nine are found within 20,000 guided runs; F2 by one that was not a mutant but drawn. F4
was found after 6,649 (at revision a7c37f5), and by this code is not. Why is not known; since
whoever comes home tells its group what others have missed, at least one schedule no longer needs
that rule. It has another ([rules](daisy-rules.md)).

## Planted bugs

Every bug in the lists `MUTANTS` of `tests/mutants` and in `tests/overlays/test_planted.py` is found
within **{limit} runs** of its protocol, seeds counted from 1; a test says so. The table, which
`python -m bench.fuzz` writes, has the runs until it was found, and the scenario that is left after
shrinking. The rules of [the daisy](daisy-rules.md) and of [groups](groups.md), many of which take
rare schedules to be missed, have mutants and schedules of their own.

"""
REFUTED = """
## Refuted readings

What the papers print and [the errata](errata.md) refute, as far as it is kept as an option: as many
runs until it fails with this option set in all of them.

"""
READINGS: list[tuple[str, dict[str, str]]] = [
    ("blocks-fast", {"test": "printed"}),
    ("blocks-relative", {"c02": "printed"}),
    ("blocks-relative", {"gbn": "printed"}),
    ("piggyback", {"cleanup": "printed"}),
    ("vector", {"carry": "own"}),
]


def hunt(protocol: str, order: type[Order], limit: int = LIMIT) -> Found | None:
    """The first run in which this variant of a protocol fails, and the protocol does not."""
    for seed in range(1, limit + 1):
        failure = judge(draw(protocol, seed), order).failure
        if failure is not None and judge(draw(protocol, seed)).failure is None:
            return Found(protocol, seed, failure.kind, failure.sentence)
    return None


def row(planted: Planted) -> list[str]:
    """A planted bug, and what became of it."""
    found = hunt(planted.protocol, planted.order)
    if found is None:
        return [planted.protocol, planted.mutant.name, f"more than {LIMIT}", *["–"] * 5]
    finding = find_smallest(found, planted.order)
    return [
        planted.protocol,
        planted.mutant.name,
        str(found.seed),
        found.kind,
        str(finding.processes),
        str(finding.messages),
        *_rest(finding),
    ]


def _rest(finding: Finding) -> tuple[str, str]:
    """The groups, and the other fields that are not at their defaults."""
    plain = tomllib.loads(finding.scenario)
    groups = plain.pop("groups", [])
    usual = {"protocol", "processes", "messages", "seed", "patience_s"}
    kept = [name for name in plain if name not in usual]
    return str(len(groups) or 1), ", ".join(kept) or "–"


def refuted(protocol: str, options: dict[str, str]) -> list[str]:
    """A refuted reading, and when it fails."""
    for seed in range(1, LIMIT + 1):
        fields = {**draw_fields(protocol, seed), "options": options}
        failure = judge(make_scenario(fields)).failure
        if failure is not None:
            return [protocol, _written(options), str(seed), failure.kind]
    return [protocol, _written(options), f"more than {LIMIT}", "–"]


def _written(options: dict[str, str]) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in options.items())


def introduction() -> str:
    guided = BEGIN + table_of(PAGE.read_text("utf-8")) + END
    return INTRODUCTION.format(
        limit=LIMIT, largest=LARGEST, messages=MOST_MESSAGES, round=ROUND, guided=guided
    )


class Book:
    """Rows that are done, in a file if there is one: this takes a while, and may be interrupted."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._rows: dict[str, list[str]] = {}
        if file is not None and file.exists():
            self._rows = json.loads(file.read_text("utf-8"))

    def row(self, name: str, make: Callable[[], list[str]]) -> list[str]:
        if name not in self._rows:
            self._rows[name] = make()
            if self._file is not None:
                self._file.write_text(json.dumps(self._rows, indent=1), "utf-8")
        return self._rows[name]


def page(book: Book) -> str:
    planted = [book.row(str(one), partial(row, one)) for one in planted_bugs()]
    text = introduction() + MARK + markdown(COLUMNS, planted)
    rows = [
        book.row(f"{protocol} {_written(options)}", partial(refuted, protocol, options))
        for protocol, options in READINGS
    ]
    return text + REFUTED + MARK + markdown(("protocol", "option", "runs", "failure"), rows)


def main() -> None:
    """Runs and events per second on each master."""
    from antecede.pipeline.campaigns.fuzz import fuzz  # noqa: PLC0415 - Spark takes long
    from antecede.pipeline.session import build_session  # noqa: PLC0415

    for master in (None, "local[1]", "local[2]"):
        spark = None if master is None else build_session(master, short=True)
        fuzz(spark, names(), Ledger(), runs=len(names()))  # workers start, modules are loaded
        ledger = Ledger()
        start, cpu_s = perf_counter(), tree_of(os.getpid())[0]
        fuzz(spark, names(), ledger, first_seed=2, runs=RUNS)
        took_s, used_s = perf_counter() - start, tree_of(os.getpid())[0] - cpu_s
        if spark is not None:
            spark.stop()
        print(
            f"{master or 'here':10}{ledger.runs / took_s:>10,.0f} runs/s"
            f"{ledger.events / took_s:>12,.0f} events/s"
            f"{ledger.runs / used_s:>10,.0f} runs and"
            f"{ledger.events / used_s:>10,.0f} events per CPU second",
            flush=True,
        )


if __name__ == "__main__":
    parser = ArgumentParser("python -m bench.fuzz", description="Write docs/fuzzing.md anew.")
    parser.add_argument("--book", type=Path, help="a file for rows that are done, to go on with")
    PAGE.write_text(signed(page(Book(parser.parse_args().book))), "utf-8")
