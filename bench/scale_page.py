"""The pages of the cost model: docs/results/scale.md, and the tables of docs/scale.md.

`python -m bench.scale --page` writes them from the book of the runs and from the model.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from antecede.cost import MEASURES, Figure, Kind, Traffic, Tree, estimate
from antecede.cost.closed import ARGUMENTS, counted, sizes_of
from antecede.cost.fitted import TOLERANCE
from antecede.cost.traffic import broadcast
from bench.described import wrapped
from bench.docs import ROOT, markdown
from bench.made import signed
from bench.scale import Entry, Held, held

RESULTS = ROOT / "docs" / "results" / "scale.md"
PAGE = ROOT / "docs" / "scale.md"
COMMAND = "python -m bench.scale --page"
_SIGNED = re.compile(r"\nMade on [^\n]*\n\Z")
MARKS = ("forms", "million", "top")
SHOWN = {
    "entries": "elements",
    "bytes": "bytes of a stamp",
    "packets": "packets",
    "ordering": "ordering bytes",
    "state": "elements kept",
    "memory": "state bytes",
    "delay": "delay, ms",
}
INTRODUCTION = """# The cost model against the simulator

Written by `python -m bench.scale --page`; do not edit. What [the model](../scale.md) says, and what
was measured: model / measured. One run each, seed 1, exponential delays with a mean of 100 ms, so
that a load of 1 is 10 messages per second of each process; the warm-up is found by MSER-5. These
runs were kept from the fits. In brackets: not claimed. †: the run was not steady in this, and
nothing is held to it. *Packets* and *ordering bytes* are for one message, *bytes of a stamp* for
one copy; on a tree, for one hop. A group size of 5 is a ring of groups that share one member.

"""


def write(entries: Sequence[Entry]) -> None:
    """Both pages."""
    words = wrapped(INTRODUCTION + summary(entries))
    RESULTS.write_text(signed(words + all_held(entries)), "utf-8")
    page = PAGE.read_text("utf-8")
    for name, table in zip(MARKS, (forms(entries), million(), top()), strict=True):
        page = _put(page, name, table)
    PAGE.write_text(signed(_SIGNED.sub("\n", page)), "utf-8")
    print(f"written: {RESULTS.relative_to(ROOT)} and {PAGE.relative_to(ROOT)}")


def _put(page: str, name: str, table: str) -> str:
    """The page with this table between its two marks."""
    begin, end = f"<!-- {name}: written by `{COMMAND}` -->\n", f"<!-- end of {name} -->"
    before, found, rest = page.partition(begin)
    if not found or end not in rest:
        raise SystemExit(f"{PAGE.name} lacks {begin.strip()} and {end}")
    return f"{before}{begin}{table}{rest[rest.index(end) :]}"


# Model and measured.


def summary(entries: Sequence[Entry]) -> str:
    """How many figures are claimed, and how far off they are."""
    found = [one for one in held(entries) if one.entry.point.is_held]
    claimed = [one for one in found if one.figure.claimed]
    missed = [one for one in claimed if one.is_missed]
    near = sum(abs(one.error) <= TOLERANCE / 3 for one in claimed)
    cpu_s = sum(entry.cpu_s for entry in entries)
    return (
        f"Of {len(found):,} figures that were steady in these runs, {len(claimed):,} are claimed; "
        f"{len(missed)} of these are off by more than {TOLERANCE:.0%}, and {near:,} by at most "
        f"{TOLERANCE / 3:.0%}. All {len(entries):,} runs, with those of the fits, took "
        f"{cpu_s / 60:.0f} minutes of CPU time.\n\n"
    )


def all_held(entries: Sequence[Entry]) -> str:
    columns = ("protocol", "traffic", "n", "load", *SHOWN.values())
    rows = [
        [entry.point.variant, traffic_name(entry), str(entry.point.processes)]
        + [f"{entry.point.load:g}"]
        + [cell(entry, measure) for measure in SHOWN]
        for entry in entries
        if entry.point.is_held
    ]
    return markdown(columns, rows)


def traffic_name(entry: Entry) -> str:
    point = entry.point
    if point.tree:
        *sizes, local = point.tree
        near = f", {local:.0%} near" if local else ""
        return f"unicast, tree:{','.join(map(str, sizes))}{near}"
    return {
        "unicast": "unicast",
        "sets": f"to {point.shape}",
        "broadcast": "broadcast" + (", long" if point.each > 1000 else ""),
        "groups": f"groups of {point.shape}",
    }[point.kind]


def cell(entry: Entry, measure: str) -> str:
    """Model / measured."""
    point = entry.point
    figures = estimate(point.protocol, point.options, entry.traffic)
    scale = 1e3 if measure == "delay" else 1.0
    value = number(entry.values[measure] * scale)
    if measure in entry.unsteady:
        value += " †"
    if measure not in figures:
        return f"– / {value}"
    figure = figures[measure]
    told = number(figure.value * scale)
    return f"{told} / {value}" if figure.claimed else f"({told}) / {value}"


def number(value: float) -> str:
    if value == 0:
        return "0"
    if value >= 1e6:
        power = len(f"{value:.0f}") - 1
        return f"{value / 10**power:.1f}·10^{power}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# The forms.


def forms(entries: Sequence[Entry]) -> str:
    """For each protocol the argument, and the largest error of what is claimed."""
    worst: dict[tuple[str, str], list[Held]] = defaultdict(list)
    for one in held(entries):
        if one.entry.point.is_held:
            worst[one.entry.point.protocol, one.measure].append(one)
    rows = [
        [f"`{protocol}`", why, *(_errors(worst[protocol, measure]) for measure in MEASURES)]
        for protocol, why in ARGUMENTS.items()
    ]
    names = [SHOWN[measure].removesuffix(", ms") for measure in MEASURES]
    return markdown(("protocol", "because", *names), rows)


def _errors(found: Iterable[Held]) -> str:
    """The largest error of the claimed figures, and on how many kinds of traffic of how many."""
    all_found = list(found)
    claimed = [one for one in all_found if one.figure.claimed]
    if not claimed:
        return "not claimed" if all_found else "not held"
    largest = f"{max(abs(one.error) for one in claimed):.0%}"
    kinds = {one.entry.point.kind for one in all_found} - {one.entry.point.kind for one in claimed}
    return f"{largest}, not {', '.join(sorted(kinds))}" if kinds else largest


# A million processes.

MILLION = 1_000_000
RATE = 0.1
FAR_S = 0.05
LOCAL = 0.9
TREE = Tree(100, 100, 100, LOCAL)
LONG = (100_000.0, 200_000.0)
"""Messages of a process by then: numbers take five bytes."""


def wide(kind: Kind) -> Traffic:
    """The traffic of the example."""
    given = {"rate": RATE, "delay_s": FAR_S, "sent": LONG}
    if kind is Kind.BROADCAST:
        return broadcast(MILLION, **given)
    return msgspec.structs.replace(
        broadcast(MILLION, **given), kind=Kind.UNICAST, copies=1.0, tree=TREE
    )


DAISIES = ((100, 100), (32, 32, 32), (10, 10, 10, 10, 10))


def million() -> str:
    """What one message costs among a million processes."""
    rows = []
    for name, options, kind in (
        ("vector", {}, Kind.BROADCAST),
        ("matrix", {}, Kind.UNICAST),
        ("optimal", {}, Kind.UNICAST),
        *(("daisy", {"sizes": list(sizes)}, Kind.UNICAST) for sizes in DAISIES),
        ("separators", {}, Kind.UNICAST),
    ):
        traffic = wide(kind)
        found = estimate(name, options, traffic)
        groups = "·".join(f"{size:.0f}" for size in sizes_of(options, MILLION))
        shown = f"{name}, {groups}" if name == "daisy" else name
        cells = [told(found.get(measure), measure) for measure in MEASURES if measure != "memory"]
        rows.append([shown, "to all" if kind is Kind.BROADCAST else "to one", *cells])
    names = [SHOWN[measure] for measure in MEASURES if measure != "memory"]
    return markdown(("protocol", "messages", *names), rows)


def told(figure: Figure | None, measure: str) -> str:
    if figure is None:
        return "–"
    value = number(figure.value * (1e3 if measure == "delay" else 1.0))
    return value if figure.claimed else f"({value})"


def top() -> str:
    """What the process at the top has to do, as more messages go far."""
    rows = []
    for local in (0.99, 0.9, 0.5, 0.0):
        tree = msgspec.structs.replace(TREE, local=local)
        traffic = msgspec.structs.replace(wide(Kind.UNICAST), tree=tree)
        far = MILLION * RATE * tree.leaves[1]
        passed = counted(sizes_of({"sizes": list(DAISIES[0])}, MILLION), traffic)
        separators = estimate("separators", {}, traffic)["delay"]
        rows.append(
            [
                f"{local:.0%}" if local else "anybody",
                number(far),
                number(passed.packets),
                number(1e3 * separators.value),
            ]
        )
    columns = (
        *("stay in the department", "messages a second at the top"),
        *("packets of a daisy, 100·100·100", "delay of separators, ms"),
    )
    return markdown(columns, rows)
