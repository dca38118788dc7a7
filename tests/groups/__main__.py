"""Many random schedules of a group: `python -m tests.groups --first 0 --count 10000`.

Prints each seed that fails with its first finding and a smaller schedule that fails, too. With
`--without RULE` (the beginning of a name in `tests/groups/mutants`) that rule is taken away, and
what shows it is made as small as it gets; `--table` writes docs/results/groups-rules.md, which has
the sizes for all rules.
"""

import argparse
import re
import sys
import time
from pathlib import Path

import msgspec

from tests.groups.lab import Schedule
from tests.groups.mutants import MUTANTS
from tests.groups.planted import Mutant, planted
from tests.groups.schedules import draw, judge, shrink, try_out

PAGE = Path(__file__).parents[2] / "docs" / "results" / "groups-rules.md"
ATTEMPTS = 300
INTRODUCTION = f"""# The rules of groups, taken away one at a time

Written by `python -m tests.groups --table`; do not edit. For each bug that is planted in
[groups](../groups.md): the finding of the checker (as a pattern), the schedule that shows it (a
random one by its seed, or one made by hand), and how many actions (messages, crashes, cuts, traps
for packets, ...) it has, before and after at most {ATTEMPTS} attempts to make it smaller.
`python -m tests.groups --without "RULE"` prints what is left.

| without the rule, it | finding | schedule | actions | left |
| --- | --- | --- | --- | --- |
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many seeds")
    parser.add_argument(
        "--untrusting", action="store_true", help="members do not believe each other (live)"
    )
    parser.add_argument("--without", metavar="RULE", help="take a rule away")
    parser.add_argument("--table", action="store_true", help="take every rule away")
    arguments = parser.parse_args()
    if arguments.table:
        PAGE.write_text(INTRODUCTION + "".join(map(row, MUTANTS)), "utf-8")
        return 0
    if arguments.without is not None:
        return _take_away(arguments.without)
    return _try_many(arguments.first, arguments.count, trusts=not arguments.untrusting)


def _try_many(first: int, count: int, *, trusts: bool) -> int:
    failed = 0
    began = time.process_time()
    for tried, seed in enumerate(range(first, first + count), start=1):
        schedule = draw(seed)
        if not trusts:
            schedule = msgspec.structs.replace(schedule, trusts=False, quorum="majority")
        findings = judge(schedule)
        if findings:
            failed += 1
            small = shrink(schedule, lambda candidate: bool(judge(candidate)))
            print(f"seed {seed}: {findings[0]}\n  {small}", flush=True)
        if tried % 1000 == 0:
            print(f"{tried} schedules, {failed} failed", flush=True)
    rate = count / max(time.process_time() - began, 1e-9)
    print(f"{count} schedules, {failed} failed, {rate:.0f} a second of one core")
    return 1 if failed else 0


def _take_away(rule: str) -> int:
    chosen = [mutant for mutant in MUTANTS if mutant.name.startswith(rule)]
    if len(chosen) != 1:
        print(f"{len(chosen)} rules begin with {rule!r}; there are:", file=sys.stderr)
        print(*(mutant.name for mutant in MUTANTS), sep="\n", file=sys.stderr)
        return 2
    small = smallest(chosen[0])
    print(*_findings(chosen[0], small), sep="\n")
    print(msgspec.structs.replace(small, actions=()))
    print(*small.actions, sep="\n")
    return 1


def smallest(mutant: Mutant) -> Schedule:
    """What is left of the schedule that shows a bug."""
    return shrink(mutant.schedule, lambda one: bool(_findings(mutant, one)), ATTEMPTS)


def _findings(mutant: Mutant, schedule: Schedule) -> list[str]:
    findings = try_out(schedule, planted(mutant)).findings
    return [finding for finding in findings if re.search(mutant.expects, finding)]


def row(mutant: Mutant) -> str:
    """A line of the table."""
    expected = mutant.expects.replace("|", "\\|")
    shown = f"“{mutant.scene}”" if mutant.scene else f"seed {mutant.seed}"
    before, left = len(mutant.schedule.actions), len(smallest(mutant).actions)
    return f"| {mutant.name} | `{expected}` | {shown} | {before} | {left} |\n"


if __name__ == "__main__":
    sys.exit(main())
