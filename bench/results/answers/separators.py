"""Table 7.1 and figures 7.3 and 7.4 of "Causal separators", by the protocol as it ships."""

import json
import tomllib
from functools import partial

from antecede.report.charts.canvas import Estimate
from bench.chapter7 import EXPERIMENT
from bench.chapter7_table import FITS, SCENARIOS
from bench.results.answers.contract import Answer, Picture
from bench.results.reading import UNSETTLED, Reading, is_steady, number, table, with_interval

PAPER = """
L. Rodrigues and P. Verissimo, "Causal separators and topological timestamping", table 7.1: mean
elements of a timestamp, with and without topological timestamps (rule R9), beside those of a matrix
clock and of vector clocks; figure {figure} has their distribution and is lost, like the drawings of
network and groups.

[Chapter 7 run anew](separators-chapter7.md) says how the description was completed, which of its
readings fit, and has figures 7.2 and 7.5 to 7.7: histories of single processes and stamps of single
groups, which a campaign does not count. It runs the rules on structures made for the purpose
(`python -m bench.chapter7`). Here it is the protocol `separators` as it ships that runs, which is
one of the readings: processes of a node reach each other by its server, a hop to each, and a set of
routers separates each of its sides from all others.
"""
MEASURE = "hop_stamp_entries_mean"
LAST = 9
"""The histogram ends with so many or more."""


def body(paper: str, reading: Reading) -> str:
    (size,) = reading.sizes
    (workload,) = reading.workloads
    theirs = tomllib.loads(EXPERIMENT.read_text("utf-8"))["paper"][paper]
    found = {
        (forwarding, is_repaired): [
            reading.mean(name, workload, size, MEASURE) if name else None
            for name in _row(reading, forwarding, is_repaired)
        ]
        for is_repaired in (True, False)
        for forwarding in ("one", "all")
    }
    heads = ["elements, mean", "paper"] + [
        f"{'repaired' if is_repaired else 'R9 as printed'}, {_who(forwarding)}"
        for forwarding, is_repaired in found
    ]
    rows = [
        ["matrix clock", *_flat(reading, "matrix", workload, size, len(found))],
        ["vector clocks", *_flat(reading, "vector", workload, size, len(found))],
    ]
    for place, scenario in enumerate(SCENARIOS):
        cells = (with_interval(row[place]) for row in found.values())
        rows.append([scenario, f"{theirs[place]:.2f}", *cells])
    return (
        f"\n## Table 7.1, {size} processes\n\n*One* and *both*: who of d1 and d2 forwards. "
        f"*Repaired*: R9 with the repairs of the [errata](../errata.md).\n"
        + table(heads, rows)
        + "\n"
        + "".join(_verdict(key, row, theirs) for key, row in found.items())
        + _histogram(reading, workload, size)
    )


def _row(reading: Reading, forwarding: str, is_repaired: bool) -> list[str | None]:
    """The variants without R9, with it at one separator, and at three."""
    found: dict[int, str] = {}
    for name in reading.variants("separators"):
        options = reading.results.options[name]
        filters = options["filters"]
        count = 0 if filters == "none" else len(filters)
        plain = count == 0 or options.get("own_implied", True) == is_repaired
        if options["forwarding"] == forwarding and plain:
            found[count] = name
    return [found.get(count) for count in (0, 1, 3)]


def _who(forwarding: str) -> str:
    return {"one": "one forwards", "all": "both forward"}[forwarding]


def _flat(reading: Reading, protocol: str, workload: str, size: int, columns: int) -> list[str]:
    """What the paper computes, and what is counted in the first column."""
    found = reading.mean(protocol, workload, size, "stamp_entries_mean")
    groups = _groups(reading)
    computed = size * size if protocol == "matrix" else sum(map(len, groups))
    return [str(computed), with_interval(found), *[""] * (columns - 1)]


def _groups(reading: Reading) -> list[list[int]]:
    scenario = json.loads(reading.results.rows("scenario")[0]["scenario"])
    groups: list[list[int]] = scenario["groups"]
    return groups


def _verdict(key: tuple[str, bool], row: list[Estimate | None], theirs: list[float]) -> str:
    forwarding, is_repaired = key
    known = [found for found in row if found is not None]
    if not is_steady(*known):
        repaired = "repaired" if is_repaired else "as printed"
        return f"- {repaired}, {_who(forwarding)}: {UNSETTLED}.\n"
    off = [found.mean / paper - 1 for found, paper in zip(known, theirs, strict=True)]
    fits = [
        scenario
        for scenario, difference in zip(SCENARIOS, off, strict=True)
        if abs(difference) <= FITS
    ]
    saved = [1 - found.mean / known[0].mean for found in known[1:]]
    claimed = [1 - paper / theirs[0] for paper in theirs[1:]]
    falls = known[0].low > known[1].high and known[1].low > known[2].high
    return (
        f"- {'repaired' if is_repaired else 'as printed'}, {_who(forwarding)}: "
        f"{', '.join(f'{difference:+.0%}' for difference in off)} from the paper, "
        f"{len(fits)} of {len(off)} within {FITS:.0%}; R9 saves {saved[0]:.0%} at S2 and "
        f"{saved[1]:.0%} at all three, in the paper {claimed[0]:.0%} and {claimed[1]:.0%}. The "
        f"order of the three {'comes out' if falls else 'does not come out'} beyond chance.\n"
    )


def _histogram(reading: Reading, workload: str, size: int) -> str:
    """Per cent of the hop messages, over all seeds."""
    owners = {row["run"]: row["variant"] for row in reading.results.rows("run", "variant")}
    counts: dict[str, dict[int, int]] = {}
    for row in reading.results.histograms.to_pylist():
        if row["measure"] == "hop_stamp_entries":
            mine = counts.setdefault(owners[row["run"]], {})
            place = min(LAST, int(row["low"]))
            mine[place] = mine.get(place, 0) + row["count"]
    rows = []
    for forwarding in ("one", "all"):
        for scenario, name in zip(SCENARIOS, _row(reading, forwarding, True), strict=True):
            if name is None:
                continue
            total = sum(counts[name].values())
            shares = (100 * counts[name].get(place, 0) / total for place in range(LAST + 1))
            mean = reading.mean(name, workload, size, MEASURE)
            rows.append(
                [
                    _who(forwarding),
                    scenario,
                    *(f"{share:.1f}" for share in shares),
                    number(mean.mean) if mean else "",
                ]
            )
    heads = ("", "rule", *map(str, range(LAST)), f"{LAST} or more", "mean")
    return (
        "\n## The distribution\n\nElements of a timestamp in per cent of all hop messages, with "
        "the repairs.\n" + table(heads, rows)
    )


PICTURES = (
    Picture(
        "histogram", r"histogram-hop-stamp-entries-\d+", "", "Elements of a timestamp, by variant"
    ),
)
SIX = Answer(
    "Separators: table 7.1 with six processes",
    PAPER.format(figure="7.3"),
    partial(body, "n6"),
    PICTURES,
)
TEN = Answer(
    "Separators: table 7.1 with ten processes",
    PAPER.format(figure="7.4"),
    partial(body, "n10"),
    PICTURES,
)
