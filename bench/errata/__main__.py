"""`python -m bench.errata [NAME ...]`: measure the figures of docs/errata.md again, or those named.

Everything is counted, not timed, and seeded: the same figures come out on every machine. Each is
printed as it stands on the page, below the heading of its section; one that does not stand there is
marked, and the exit status is then 1. All of them take about a minute:

clean-up, notes, ticks, failures, false-alarms (Schiper, Eggli, Sandoz; ISIS);
thresholds, extra-messages, triples, multicast (Sanchez, Alvarez);
rounds, history-sizes, left-out, one-of-two, shared-forwarding, forwarders, joins, late-copies,
dates, evidence (Rodrigues, Verissimo);
rings, one-group, last-block-only, deadlocks (Macêdo).

How far the explorer went is not measured here: those figures stand with their own commands.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from bench.errata import blocks, insertion, joins, pairs, separators

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errata.md"
MEASUREMENTS: dict[str, Callable[[], list[str]]] = {
    measure.__name__.replace("_", "-"): measure
    for measure in (
        pairs.clean_up,
        pairs.notes,
        pairs.ticks,
        pairs.failures,
        pairs.false_alarms,
        insertion.thresholds,
        insertion.extra_messages,
        insertion.triples,
        insertion.multicast,
        separators.rounds,
        separators.history_sizes,
        separators.left_out,
        separators.one_of_two,
        separators.shared_forwarding,
        separators.forwarders,
        joins.joins,
        joins.late_copies,
        joins.dates,
        joins.evidence,
        blocks.rings,
        blocks.one_group,
        blocks.last_block_only,
        blocks.deadlocks,
    )
}
"""Each gives its figures as they stand on the page; its docstring is the heading of the section."""


def heading(measure: Callable[[], list[str]]) -> str:
    return (measure.__doc__ or "").strip()


def page() -> str:
    """The page as one line, since prose is wrapped."""
    return " ".join(PAGE.read_text("utf-8").split())


def main() -> None:
    chosen = sys.argv[1:] or list(MEASUREMENTS)
    unknown = [name for name in chosen if name not in MEASUREMENTS]
    if unknown:
        sys.exit(f"bench.errata: no {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}")
    text = page()
    is_wrong = False
    for name in chosen:
        measure = MEASUREMENTS[name]
        print(f"== {name}: {heading(measure)}", flush=True)
        for figure in measure():
            stands = figure in text
            is_wrong |= not stands
            print(figure if stands else f"{figure}    <-- not on the page", flush=True)
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
