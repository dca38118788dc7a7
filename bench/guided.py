"""`python -m bench.guided BOOK [LIMIT [WAY]]`: after how many runs fuzzing finds the faults that
the daisy had under cuts, planted anew, guided and blind: the table of docs/fuzzing.md.

A fault is found by a run in which the mutant fails and the daisy does not. BOOK is a folder with
the books of every search: the same command goes on where it stopped, and a larger LIMIT goes
further. All faults are searched for up to some runs before any is for more, so that an interruption
leaves a fair table. WAY (`guided` or `blind`) does half of the work, `table` only writes the table.
Counted, not timed."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from antecede.fuzzing import judge
from antecede.fuzzing.finding import scenario_of
from antecede.fuzzing.guided import ROUND, corpus_before, run_guided
from antecede.fuzzing.ledger import Ledger
from antecede.fuzzing.slices import Done, Slice, run_slice
from antecede.order import Order
from bench.docs import ROOT, markdown
from bench.made import now
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import FENCE, RULES

FAULTS = {
    "founded-by-most": "two quorums of servers; what a group brings late is taken for had",
    "brings-its-batch-unbound": "servers that were still take part (F2)",
    "the-batch-dies-with-its-founder": "a group's messages are lost with its founder (F3)",
    "speaks-for-a-group-that-goes-on": "who has lost its group founds servers (F4)",
    "the-fence-waits-for-batches": "three levels wait for each other (F5)",
    "asks-those-it-knew-for-ever": "a server asks only servers that are dead (F6)",
    "waits-for-a-batch-for-ever": "a founding group dies, and all wait for it",
    "nobody-hands-on": "one cut link stops all traffic",
    "two-servers-leave-and-nobody-asks": "`forward=delivered`: two servers die at once",
}
"""What the daisy was known to get wrong under cuts before its rules were made, and what those lack
that a first repair had: by the mutant that takes the rule away."""

LIMIT = 20_000
FIRST_LIMIT = 2 * ROUND
"""Up to which all are searched for before any is for twice as many runs."""
SLICE = 16
PAGE = ROOT / "docs" / "fuzzing.md"
BEGIN, END = "<!-- guided: begin -->\n", "<!-- guided: end -->\n"
WAYS = ("guided", "blind")


class Hunt:
    """The search for one mutant in one way, as far as the books in a folder say."""

    def __init__(self, folder: Path, mutant: Mutant, way: str) -> None:
        self.mutant, self.way = mutant, way
        self.ledger = Ledger(folder / way / mutant.name)
        self.found_in: int | None = None
        for done in self.ledger.done:
            self._look_at(done)

    def _look_at(self, done: Done) -> bool:
        """Whether the daisy itself passes where the mutant failed."""
        for found in done.found:
            if self.found_in is None and judge(scenario_of(found)).failure is None:
                self.found_in = found.seed
        return self.found_in is not None

    @property
    def is_found(self) -> bool:
        return self.found_in is not None

    def go_on(self, limit: int) -> None:
        """Until it is found, or so many runs are done."""
        order = mutated("daisy", self.mutant)
        while not self.is_found and self.ledger.runs < limit:
            for slice_ in self._next_round():
                done = self._run(slice_, order)
                self.ledger.add(done)
                if self._look_at(done):
                    return

    def _next_round(self) -> Iterator[Slice]:
        """What is left of a round: its runs learn from the rounds before."""
        first = 1 + self.ledger.runs
        end = 1 + ROUND * ((first - 1) // ROUND + 1)
        for start in range(first, end, SLICE):
            yield Slice("daisy", start, SLICE)

    def _run(self, slice_: Slice, order: type[Order]) -> Done:
        if self.way == "blind":
            return run_slice(slice_, order)
        start = 1 + ROUND * ((slice_.first - 1) // ROUND)
        return run_guided(slice_, corpus_before("daisy", start, self.ledger.done), order)

    @property
    def told(self) -> str:
        if self.found_in is not None:
            return f"{self.found_in:,}"
        return f"not in {self.ledger.runs:,}" if self.ledger.runs else "–"


def planted() -> list[Mutant]:
    """The faults as mutants, in their order."""
    mutants = {mutant.name: mutant for mutant in (*FENCE, *RULES)}
    return [mutants[name] for name in FAULTS]


def search(folder: Path, limit: int, ways: tuple[str, ...]) -> None:
    """Ever further, all of them."""
    hunts = [Hunt(folder, mutant, way) for mutant in planted() for way in ways]
    depth = min(FIRST_LIMIT, limit)
    while any(not hunt.is_found and hunt.ledger.runs < limit for hunt in hunts):
        for hunt in hunts:
            if not hunt.is_found and hunt.ledger.runs < depth:
                hunt.go_on(depth)
                print(f"{hunt.way:8}{hunt.mutant.name:40}{hunt.told}", flush=True)
        depth = min(2 * depth, limit)


def table(folder: Path) -> str:
    rows = [
        [FAULTS[one.name], f"`{one.name}`", *(Hunt(folder, one, way).told for way in WAYS)]
        for one in planted()
    ]
    mark = f"<!-- table: python -m bench.guided BOOK; made {now()} -->\n"
    return mark + markdown(("planted fault", "mutant", *WAYS), rows)


def table_of(page: str) -> str:
    """What stands on the page between the marks."""
    found = re.search(f"{BEGIN}(.*?){END}", page, re.DOTALL)
    return found[1] if found else ""


def main() -> None:
    if not 2 <= len(sys.argv) <= 4:
        sys.exit("usage: python -m bench.guided BOOK [LIMIT [guided|blind|table]]")
    folder = Path(sys.argv[1])
    limit = int(sys.argv[2]) if len(sys.argv) > 2 else LIMIT
    ways = (sys.argv[3],) if len(sys.argv) > 3 else WAYS
    if ways != ("table",):
        search(folder, limit, ways)
    page = PAGE.read_text("utf-8")
    written = BEGIN + table(folder) + END
    PAGE.write_text(page.replace(BEGIN + table_of(page) + END, written), "utf-8")


if __name__ == "__main__":
    main()
