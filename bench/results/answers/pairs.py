"""Pairs against whole messages, matrices and the optimal algorithm."""

from collections.abc import Callable, Sequence

from antecede.report.charts.canvas import Estimate
from bench.results.answers.contract import Answer, Picture
from bench.results.reading import (
    UNSETTLED,
    Reading,
    holds,
    is_less,
    is_steady,
    number,
    table,
    with_interval,
)

PAPER = """
A. Schiper, J. Eggli and A. Sandoz, "A new algorithm to implement causal ordering", section 4.2: the
ordering buffer holds at most N - 1 pairs of a site and a time vector, whatever happens, whereas the
buffer of whole messages of ISIS (here `piggyback`) is bounded by nothing but its clean-up. Section
5 says that the costs of the two should be evaluated precisely; there are no figures. `matrix` and
`optimal` are later algorithms for the same task.
"""
TITLES = {
    "pairs delete_obsolete=true": "`pairs`",
    "pairs delete_obsolete=false": "`pairs`, obsolete pairs kept (without 4.2.4)",
    "piggyback cleanup=repaired": "`piggyback`, cleaned up",
    "piggyback cleanup=off": "`piggyback`, never cleaned up",
    "matrix": "`matrix`",
    "optimal": "`optimal`",
}
PAIRS, ALL_PAIRS, CLEANED, KEPT, *_ = TITLES
SHORT, LONG = "short", "long"
STEADY = 0.25
"""What counts as growth with time: a long run has stamps larger by so much than a short one."""


def body(reading: Reading) -> str:
    return _stamps(reading) + _totals(reading) + _time(reading) + _answer(reading)


def _grid(
    reading: Reading,
    workloads: Sequence[str],
    cell: Callable[[str, str, int], Estimate | None],
) -> str:
    columns = [(workload, size) for workload in workloads for size in reading.sizes]
    rows = [
        [title, *(with_interval(cell(name, workload, size)) for workload, size in columns)]
        for name, title in TITLES.items()
    ]
    return table(["", *(f"{workload}, n = {size}" for workload, size in columns)], rows)


def _stamps(reading: Reading) -> str:
    workloads = [workload for workload in reading.workloads if workload != SHORT]
    return (
        "\n## What a message carries\n\nBytes of ordering information on a message as it sets out, "
        f"mean; with `piggyback` whole messages, of {reading.field('payload_bytes')} bytes each. "
        "*long*: every message goes to one other process; *sets*: to a quarter of all. Run "
        f"lengths: {reading.lengths()}.\n"
        + _grid(reading, workloads, lambda v, w, n: reading.mean(v, w, n, "stamp_bytes_mean"))
    )


def _totals(reading: Reading) -> str:
    workloads = [workload for workload in reading.workloads if workload != SHORT]
    return (
        "\n## In all\n\nBytes of ordering information for one message, on all its copies and on "
        "the protocol's own packets (the clean-up of `piggyback`).\n"
        + _grid(
            reading, workloads, lambda v, w, n: reading.mean(v, w, n, "ordering_bytes_per_message")
        )
    )


def _time(reading: Reading) -> str:
    rows, growing, drifting = [], [], []
    size = reading.sizes[-1]
    for name, title in TITLES.items():
        factors = [
            reading.ratio_of_workloads(name, LONG, SHORT, n, "stamp_entries_mean")
            for n in reading.sizes
        ]
        if factors[-1] > 1 + STEADY:
            growing.append(f"{title} ({number(factors[-1])} times)")
        if not is_steady(reading.mean(name, LONG, size, "stamp_entries_mean")):
            drifting.append(title)
        rows.append([title, *map(number, factors)])
    long_runs = reading.ratio_of_workloads(PAIRS, LONG, SHORT, size, "messages")
    return (
        f"\n## What grows with time\n\nElements of a stamp in the long runs, "
        f"{number(long_runs)} times as many messages, as a multiple of those in the short ones; "
        "both after their warm-up. Elements and not bytes: these grow with the numbers in them, "
        "too.\n"
        + table(["", *(f"n = {n}" for n in reading.sizes)], rows)
        + f"\nWith {size} processes, those that grow by more than {STEADY:.0%}: "
        + (", ".join(growing) or "none")
        + ". Those that still change at the end of the long runs: "
        + (", ".join(drifting) or "none")
        + f".\n{_bound(reading)}"
    )


def _bound(reading: Reading) -> str:
    """At most N - 1 pairs of a site and N numbers, and the message's own time."""
    largest = {}
    for size in reading.sizes:
        found = [
            value.mean
            for name in (PAIRS, ALL_PAIRS)
            for workload in reading.workloads
            if (value := reading.mean(name, workload, size, "stamp_entries_max"))
        ]
        largest[size] = max(found)
    most = {size: size + (size - 1) * (size + 1) for size in largest}
    kept = all(value <= most[size] for size, value in largest.items())
    shown = ", ".join(f"{number(value)} of {most[size]}" for size, value in largest.items())
    return (
        f"\nThat a message of `pairs` carries at most N - 1 pairs of a site and N numbers, and "
        f"a time of its own, {holds(kept)}: the largest stamps have {shown} elements (mean "
        f"over seeds, after the warm-up).\n"
    )


def _answer(reading: Reading) -> str:
    lines = []
    size = reading.sizes[-1]
    for workload in reading.workloads:
        if workload == SHORT:
            continue
        own = {
            name: found.mean
            for name in TITLES
            if (found := reading.mean(name, workload, size, "ordering_bytes_per_message"))
            and is_steady(found)
        }
        if PAIRS not in own:
            lines.append(f"- {workload}, {size} processes: {UNSETTLED}.\n")
            continue
        left_out = [title for name, title in TITLES.items() if name not in own]
        told = ", ".join(
            f"{number(own[name] / own[PAIRS])} times as much with {TITLES[name]}"
            for name in own
            if name not in (PAIRS, ALL_PAIRS)
        )
        least = min(own, key=lambda name: own[name])
        lines.append(
            f"- {workload}, {size} processes: {number(own[PAIRS])} bytes a message in all with "
            f"`pairs`; {told or 'no other was steady'}. {TITLES[least]} needs the least of these. "
            + (f"Not steady, and so left out: {', '.join(left_out)}." if left_out else "")
            + "\n"
        )
    return "\n## The answer\n\n" + "".join(lines) + _crossing(reading)


def _crossing(reading: Reading) -> str:
    """From which number of processes on pairs are the larger ones."""
    told = []
    for other in (CLEANED, KEPT, "matrix", "optimal"):
        both = {
            n: [
                reading.mean(name, LONG, n, "ordering_bytes_per_message") for name in (PAIRS, other)
            ]
            for n in reading.sizes
        }
        if not all(is_steady(*pair) for pair in both.values()):
            told.append(f"- against {TITLES[other]}: {UNSETTLED}\n")
            continue
        larger = [n for n, (mine, theirs) in both.items() if is_less(theirs, mine)]
        told.append(
            f"- against {TITLES[other]}: "
            + (f"larger with {', '.join(map(str, larger))}" if larger else "larger with none")
            + f" of {', '.join(map(str, reading.sizes))} processes\n"
        )
    return "\nBytes in all with `pairs`, messages to one process, long runs:\n\n" + "".join(told)


ANSWER = Answer(
    "Pairs against whole messages, matrices and the optimum",
    PAPER,
    body,
    (Picture("stamps", r"stamp-bytes-mean-\d+", "long", "Bytes on a message, long runs"),),
)
