"""`python -m bench.scale [--book FILE] [--seconds S] [--fit] [--page]`: the cost model against the
simulator.

Every protocol runs on steady traffic (warm-up found by MSER-5, what still drifts is marked), and
each figure goes into the book as soon as it is known: the same command again does only what is
missing, and after `--seconds` of CPU time it stops. `--fit` fits the laws anew to the runs that are
for that (src/antecede/cost/laws.json). All are then held against the model: whatever it claims has
to be within 15 %, or the command says what is not, and fails. `--page` writes
docs/results/scale.md, and the figures of docs/scale.md. The book does not see changes to the code:
a new revision takes a new file.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from antecede.campaigns.runs import measured
from antecede.campaigns.steady import Verdict, drift, series_of, verdicts
from antecede.cost import MEASURES, Figure, Traffic, estimate, traffic_of
from antecede.cost.closed import closed
from antecede.cost.fitted import TOLERANCE, Law, fit, key
from antecede.cost.model import FITTED, placed, variant_of
from antecede.simulate import Scenario, StateSampler, make_scenario
from antecede.simulate.recorder import Recorder
from antecede.simulate.run import Simulation
from bench.docs import ROOT

BOOK = ROOT / "build" / "scale.jsonl"
LAWS = ROOT / "src" / "antecede" / "cost" / "laws.json"
DELAY_S: Final = 0.1
LOOKS: Final = 8
LOOK_BYTES: Final = 512
"""Events between two looks at a state, and bytes for each more: runs are short."""


class Point(msgspec.Struct, frozen=True):
    """One run: a protocol on some traffic. Held ones are kept from the fit."""

    protocol: str
    options: dict[str, Any]
    kind: str
    processes: int
    load: float
    each: int
    """Messages of a process."""
    shape: int = 0
    """Destinations of a multicast, or members of a group."""
    tree: tuple[int, int, int, float] | None = None
    is_held: bool = False

    @property
    def variant(self) -> str:
        return variant_of(self.protocol, self.options)

    @property
    def name(self) -> str:
        return msgspec.json.encode(self).decode()

    def scenario(self) -> Scenario:
        workload: dict[str, Any] = {"kind": "multicast" if self.kind == "sets" else self.kind}
        fields: dict[str, Any] = {"processes": self.processes}
        if self.kind == "sets":
            workload["size"] = self.shape
        if self.kind == "groups":
            count = self.processes // (self.shape - 1)
            fields["groups"] = {"layout": "ring", "count": count, "size": self.shape}
        if self.tree:
            *sizes, local = self.tree
            fields = {"topology": f"tree:{','.join(map(str, sizes))}"}
            if local:
                workload["local"] = local
        return make_scenario(
            {
                "protocol": self.protocol,
                "options": self.options,
                "rate": self.load / DELAY_S,
                "network": {"delay": f"exponential:{DELAY_S}"},
                "messages": self.each * self.processes,
                "workload": workload,
                **fields,
            }
        )


class Entry(msgspec.Struct, frozen=True):
    """A run in the book."""

    point: Point
    sent: tuple[float, float]
    """Messages of a process when the measuring began, and at the end."""
    values: dict[str, float]
    unsteady: tuple[str, ...]
    cpu_s: float

    @property
    def traffic(self) -> Traffic:
        found = traffic_of(self.point.scenario(), self.sent)
        assert found is not None
        return found

    def value(self, measure: str) -> float | None:
        """What was measured, if it was steady."""
        return None if measure in self.unsteady else self.values.get(measure)


# Which runs.

LIGHT = ("none", "fifo", "vector", "blocks-fast", "blocks-relative", "blocks-slow")
MIDDLE = ("matrix", "pairs", "optimal", "histories")
HEAVY = ("bounded", "piggyback", "daisy")
VARIANTS: Final[list[tuple[str, dict[str, Any]]]] = [
    *((name, {}) for name in (*LIGHT, *MIDDLE, *HEAVY)),
    *(("bounded", {"k": k}) for k in ("n", "4n", "n^2")),
    ("pairs", {"recovery": "rollback"}),
]
CLOCKED = ("daisy", "piggyback", "blocks-fast", "blocks-relative", "blocks-slow")
"""Those that wait for times of their own."""
GROUPS_ONLY = ("vector", "blocks-fast", "blocks-relative", "blocks-slow")
EACH = {"unicast": 80, "sets": 50, "broadcast": 30, "groups": 60}
EACH_OF_MORE = {"unicast": 60, "sets": 30, "broadcast": 24, "groups": 40}
"""Messages of a process: of light protocols, and of all others."""
SHORT = (8, 200)
"""Processes, of which each sends so many by unicast: else there are too few to tell a delay by."""
SHAPES = {"unicast": 0, "sets": 4, "broadcast": 0, "groups": 5}
SIZES = {LIGHT: ((8, 16, 24), 48), MIDDLE: ((8, 12, 16), 24), HEAVY: ((8, 10, 12), 16)}
"""Of the runs that are fitted, and of the one that is held."""
LOADED, HELD_LOADED = {LIGHT: (12, 16), MIDDLE: (12, 16), HEAVY: (10, 12)}, 2.0
"""Processes of the runs with other loads, fitted and held."""
TREES = ((2, 2, 4), (2, 4, 4), (3, 3, 3))


def points() -> Iterator[Point]:
    """All runs: those of the fit, and those that are held."""
    for protocol, options in VARIANTS:
        weight = next(names for names in SIZES if protocol in names)
        for kind in EACH:
            if protocol in GROUPS_ONLY and kind not in ("broadcast", "groups"):
                continue
            if (options and kind != "unicast") or (protocol == "daisy" and kind == "groups"):
                continue
            usual = (EACH if weight is LIGHT else EACH_OF_MORE)[kind]
            for size, load, shape, is_held in _places(protocol, kind, weight):
                each = SHORT[1] if (kind, size) == ("unicast", SHORT[0]) else usual
                yield Point(protocol, options, kind, size, load, each, shape, None, is_held)
    yield from _trees()
    for protocol, kind in (("vector", "broadcast"), ("fifo", "unicast"), ("matrix", "unicast")):
        yield Point(protocol, {}, kind, 8, 1.0, 2500, 0, None, True)  # numbers of 3 bytes


def _places(
    protocol: str, kind: str, weight: tuple[str, ...]
) -> Iterator[tuple[int, float, int, bool]]:
    """Processes, load, shape, and whether a run is held."""
    shape = SHAPES[kind]
    sizes, largest = SIZES[weight]
    size, held_size = LOADED[weight]
    if kind == "groups" and weight is HEAVY:
        sizes, largest, size, held_size = (8, 12, 16), 16, 12, 12
    if protocol != "none":
        for fitted_size in sizes:
            yield fitted_size, 1.0, shape, False
        for load in (0.25, 4.0):
            yield size, load, shape, False
        if kind == "sets":
            yield 12, 1.0, 2, False
            yield 12, 1.0, 8, False
            yield 12, 1.0, 6, True
        if kind == "groups":
            yield 16, 1.0, 3, False
            yield 16, 1.0, 9, False
            yield 24, 1.0, 7, True
    if (largest, shape) != (16, 5):
        yield largest, 1.0, shape, True
    yield held_size, HELD_LOADED, shape, True


def _trees() -> Iterator[Point]:
    for sizes in TREES:
        n = sizes[0] * sizes[1] * sizes[2]
        for local in (0.0, 0.8):
            tree = (*sizes, local)
            for routes in ("direct", "flood"):
                options = {} if routes == "direct" else {"routes": routes}
                yield Point("separators", options, "unicast", n, 0.5, 60, 0, tree, True)
            groups = {"sizes": [sizes[2], sizes[1]]}
            yield Point("daisy", groups, "unicast", n, 0.5, 30, 0, tree, True)


# The book.

COLUMNS = {
    "entries": "stamp_entries_mean",
    "bytes": "stamp_bytes_mean",
    "state": "state_entries_mean",
    "memory": "state_bytes_mean",
    "control": "control_per_message",
    "packets": "packets_per_message",
    "ordering": "ordering_bytes_per_message",
    "delay": "delay_s_mean",
}


def run(point: Point) -> Entry:
    """Simulate a point, and measure what comes after the warm-up."""
    start = process_time()
    scenario = point.scenario()
    states = StateSampler(LOOKS, LOOK_BYTES)
    with TemporaryDirectory(prefix="antecede-scale-") as folder:
        row = measured(scenario, "auto", Path(folder) / "run.parquet", states)
    n = scenario.applications.size
    columns = dict(COLUMNS)
    if row["hops"]:
        columns |= {"entries": "hop_stamp_entries_mean", "bytes": "hop_stamp_bytes_mean"}
    steady = verdicts([row])
    values = {name: float(row[column] or 0.0) for name, column in columns.items()}
    unsteady = {
        name
        for name, column in columns.items()
        if steady.get(series_of(column) or "", Verdict.STEADY) is not Verdict.STEADY
    }
    kept = [float(look.entries) for look in states.looks if look.messages > row["warm_up"]]
    change = drift(np.array(kept))  # its own series: bytes waver with what is held
    unsteady = unsteady - {"state"} if change.share is not None else unsteady | {"state"}
    unsteady |= {"state"} if change.is_drifting else set()
    values["copies"] = values["packets"] - values["control"]
    values["wait"] = values["delay"] / DELAY_S
    unsteady |= {"copies"} & unsteady or ({"copies", "packets"} if "control" in unsteady else set())
    unsteady |= {"wait"} if "delay" in unsteady else set()
    if point.protocol.startswith("blocks"):
        values["pace"] = pace(scenario)
    sent = (row["warm_up"] / n, row["messages"] / n)
    return Entry(point, sent, values, tuple(sorted(unsteady)), process_time() - start)


def pace(scenario: Scenario) -> float:
    """By how much block numbers grow while a process sends one message."""
    simulation = Simulation(scenario, Recorder(None, None))
    simulation.run()
    n = scenario.applications.size
    counters = [
        max(order.state.counters.values())
        if hasattr(order.state, "counters")
        else order.state.counter
        for order in simulation.orders
    ]
    return fmean(counters) / (scenario.message_limit / n)


def read(book: Path) -> dict[str, Entry]:
    """What is known, by point."""
    decode = msgspec.json.Decoder(Entry).decode
    lines = book.read_text("utf-8").splitlines() if book.exists() else []
    entries = [decode(line) for line in lines if line.endswith("}")]
    return {entry.point.name: entry for entry in entries}


def work(left: Sequence[Point], book: Path, seconds: float) -> None:
    """Make these runs, as many as fit into the time."""
    book.parent.mkdir(parents=True, exist_ok=True)
    with book.open("ab") as opened:
        for place, point in enumerate(left, 1):
            if process_time() > seconds:
                return
            entry = run(point)
            opened.write(msgspec.json.encode(entry) + b"\n")
            opened.flush()
            where = f"{point.variant}, {point.kind}, {point.processes}, load {point.load:g}"
            print(f"{place:>4} of {len(left)}: {where}: {entry.cpu_s:.1f} s", flush=True)


# Fitting and holding.


def fitted(entries: Iterable[Entry]) -> dict[str, Law]:
    """Laws for all that has no closed form, each tried at the runs that are held."""
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.point.tree is None or entry.point.protocol == "daisy":
            groups[entry.point.variant, entry.point.kind].append(entry)
    laws: dict[str, Law] = {}
    for (variant, _), group in sorted(groups.items()):  # histories before optimal
        for measure in ("pace", *FITTED):
            law = _law(group, measure, laws)
            if law is not None:
                laws[key(variant, group[0].traffic.kind, measure)] = law
    return dict(sorted(laws.items()))


def _lines(laws: Mapping[str, Law]) -> bytes:
    """As JSON, a law a line."""
    encode = msgspec.json.encode
    return b"{\n" + b",\n".join(encode(k) + b": " + encode(v) for k, v in laws.items()) + b"\n}\n"


def _law(group: Sequence[Entry], measure: str, known: Mapping[str, Law]) -> Law | None:
    """The law of a measure of one variant on one kind of traffic; None where it has a closed form,
    or where too few runs were steady."""
    tried = []
    for entry in group:
        value, point, traffic = entry.value(measure), entry.point, entry.traffic
        form = closed(point.protocol, point.options, traffic)
        if getattr(form, measure, None) is not None:
            return None
        if measure in MEASURES and measure in estimate(
            point.protocol, point.options, traffic, known
        ):
            return None
        if value:
            tried.append(
                (entry, placed(form, measure, traffic), value / form.bases.get(measure, 1.0))
            )
    law = fit([(traffic, part) for entry, traffic, part in tried if not entry.point.is_held])
    if law is None:
        return None
    errors = [abs(law.at(traffic) / part - 1) for _, traffic, part in tried]
    is_tried = any(entry.point.is_held for entry, *_ in tried)
    sizes = [traffic.processes for _, traffic, _ in tried]
    loads = [traffic.load for _, traffic, _ in tried]
    is_clocked = group[0].point.protocol in CLOCKED or "recovery" in group[0].point.options
    return msgspec.structs.replace(
        law,
        low=(min(sizes), min(loads)),
        high=(max(sizes), max(loads)),
        delay_s=DELAY_S if is_clocked else None,
        worst=round(max(errors), 4) if is_tried else None,
    )


class Held(NamedTuple):
    """A figure of the model beside the measured one."""

    entry: Entry
    measure: str
    figure: Figure
    measured: float

    @property
    def error(self) -> float:
        """As a share of what was measured."""
        if not self.measured:
            return 0.0 if abs(self.figure.value) < 1e-9 else inf
        return self.figure.value / self.measured - 1

    @property
    def is_missed(self) -> bool:
        return self.figure.claimed and abs(self.error) > TOLERANCE


def held(entries: Iterable[Entry], laws: Mapping[str, Law] | None = None) -> Iterator[Held]:
    """The model beside what was steady in these runs."""
    for entry in entries:
        point = entry.point
        figures = estimate(point.protocol, point.options, entry.traffic, laws)
        for measure in MEASURES:
            value = entry.value(measure)
            if measure in figures and value is not None:
                yield Held(entry, measure, figures[measure], value)


def main() -> None:
    parser = argparse.ArgumentParser(description="the cost model against the simulator")
    parser.add_argument("--book", type=Path, default=BOOK, help="the file of the figures")
    parser.add_argument("--seconds", type=float, default=inf, help="stop after this CPU time")
    parser.add_argument("--fit", action="store_true", help="fit the laws anew")
    parser.add_argument("--page", action="store_true", help="write the pages")
    chosen = parser.parse_args()
    every = list(points())
    book = read(chosen.book)
    work([point for point in every if point.name not in book], chosen.book, chosen.seconds)
    book = read(chosen.book)
    missing = sum(point.name not in book for point in every)
    if missing:
        sys.exit(f"{missing:,} of {len(every):,} runs are missing; give the command again")
    entries = [book[point.name] for point in every]
    if chosen.fit:
        laws = fitted(entries)
        LAWS.write_bytes(_lines(laws))
        print(f"fitted {len(laws)} laws")
    missed = [one for one in held(entries) if one.is_missed]
    for one in missed:
        point = one.entry.point
        where = f"{point.variant}, {point.kind}, {point.processes}, load {point.load:g}"
        print(f"{where}: {one.measure}: {one.figure.value:.4g} for {one.measured:.4g}")
    if chosen.page:
        from bench.scale_page import write  # noqa: PLC0415 - only then

        write(entries)
    if missed:
        sys.exit(f"{len(missed)} figures are claimed and not within {TOLERANCE:.0%}")


if __name__ == "__main__":
    main()
