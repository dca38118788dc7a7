"""A daisy that grows and shrinks: from 8 processes to as many as are asked for and back to 8, in
one run. `python -m bench.daisy_grow 2000` writes docs/results/daisy-grow.md; without a number a
small run is printed.

Newcomers come at a rate that grows with the daisy, each beside two that are there, whom it names.
They leave without a word, the last first, as fast as they have come."""

import os
import platform
import random
import resource
import sys
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import msgspec

from antecede.groups.packets import Data
from antecede.order import Event, Notice, Packet
from antecede.overlays.daisy import Daisy
from antecede.simulate import Scenario, make_scenario
from antecede.simulate.books import Watched
from antecede.simulate.run import Simulation
from antecede.trace import TraceWriter, read_trace
from antecede.verify import verify_trace
from antecede.verify.holes import find_holes
from bench.docs import ROOT, markdown
from bench.made import signed

PAGE = ROOT / "docs" / "results" / "daisy-grow.md"
FIRST = 8
SMALL = 48
START_S = 2.0
GROWTH = 0.05
"""Newcomers a second, for each process that is there."""
HOLD_S = 10.0
REST_S = 30.0
RATE = 0.1
"""Messages a second of each process."""
OPTIONS = {
    "sizes": [8],
    "split_above": 12,
    "merge_below": 5,
    "split_servers_above": 12,
    "merge_servers_below": 4,
    "quorum": "survivors",
    "tick_s": 0.25,
    "suspect_after_s": 3.0,
    "forget_after_s": 20.0,
}


class Row(msgspec.Struct):
    """What there was at a time, and what it took since the row before."""

    time_s: float
    processes: int
    local: int
    servers: int
    levels: int
    largest: int
    vector: int
    packets: int
    cpu_s: float


def joins(size: int) -> list[dict[str, Any]]:
    """Who comes when, and beside whom."""
    chance = random.Random(1)
    return [
        {
            "process": process,
            "time_s": round(START_S + log(process / FIRST) / GROWTH, 3),
            "talks_with": chance.sample(range(max(FIRST, process // 2)), 2),
        }
        for process in range(FIRST, size)
    ]


def scenario_of(size: int, seed: int) -> Scenario:
    coming = joins(size)
    top_s = START_S + log(size / FIRST) / GROWTH + HOLD_S
    leaving = [
        {"process": process, "time_s": round(top_s + log(size / process) / GROWTH, 3)}
        for process in range(size - 1, FIRST - 1, -1)
    ]
    end_s = top_s + log(size / FIRST) / GROWTH + REST_S
    fields = {
        "protocol": "daisy",
        "processes": size,
        "seed": seed,
        "rate": RATE,
        "messages": round(RATE * size * end_s),  # those of who is away are not sent
        "patience_s": 2 * end_s,
        "joins": coming,
        "crashes": leaving,
        "options": OPTIONS,
        "workload": {"kind": "multicast", "size": 2},
        "network": {"delay": "exponential:0.01"},
    }
    return make_scenario(fields)


class Sampler:
    """Looks at all groups now and then, and at the vector of every packet."""

    def __init__(self, interval_s: float) -> None:
        self.simulation: Simulation | None = None
        self.rows: list[Row] = []
        self.longest = self.largest = 0
        self._interval_s = interval_s
        self._next_s = 0.0
        self._packets = self._vector = 0
        self._cpu_s = process_time()
        self._here = set(range(FIRST))

    def sent(self, packet: Packet[Any]) -> None:
        self._packets += 1
        body = None if packet.stamp.packet is None else packet.stamp.packet.body
        if isinstance(body, Data):
            self._vector = max(self._vector, len(body.vector))
        simulation = self.simulation
        if simulation is not None and simulation.now >= self._next_s:
            self._next_s = simulation.now + self._interval_s
            self._look(simulation)

    def noticed(self, notice: Notice, now: float) -> None:
        if notice.event is Event.VIEW:
            self.largest = max(self.largest, notice.members.bit_count())

    def struck(self, process: int, fault: str) -> None:
        (self._here.discard if fault == "crash" else self._here.add)(process)

    def _look(self, simulation: Simulation) -> None:
        sizes: dict[tuple[int, int], tuple[int, int]] = {}
        levels = 0
        for process in self._here:
            order = simulation.orders[process]
            if not isinstance(order, Daisy):
                raise TypeError("only a daisy has groups")
            for depth, layer in enumerate(order.layers()):
                if layer.view is not None and layer.is_in and len(layer.view.members) > 1:
                    sizes[layer.node.index, layer.state.epoch] = depth, len(layer.view.members)
                    levels = max(levels, depth + 1)
        local = sum(not depth for depth, _ in sizes.values())
        largest = max((count for _, count in sizes.values()), default=0)
        here, now = len(self._here), simulation.now
        cpu_s = process_time() - self._cpu_s
        counted = (largest, self._vector, self._packets, cpu_s)
        self.rows.append(Row(now, here, local, len(sizes) - local, levels, *counted))
        self.longest = max(self.longest, self._vector)
        self._packets = self._vector = 0
        self._cpu_s = process_time()


class Outcome(msgspec.Struct):
    """One run, and what the verifier says to it."""

    rows: list[Row]
    figures: dict[str, str]


def run(size: int, folder: Path, seed: int = 1) -> Outcome:
    """Run, write the trace, and verify that."""
    scenario = scenario_of(size, seed)
    trace = folder / "grow.parquet"
    sampler = Sampler(2.0)
    start_s = process_time()
    with TraceWriter(trace, scenario.run_name, scenario.process_names, {}) as writer:
        recorder = Watched(writer, None)
        simulation = Simulation(scenario, recorder, observer=sampler)
        sampler.simulation = simulation
        simulation.run()
    cpu_s = process_time() - start_s
    verdict = verify_trace(trace)
    holes = [hole for part in read_trace(trace).runs for hole in find_holes(part)]
    gaps = sum(notice.event is Event.GAP for notice in simulation.notices)
    leftover = simulation.leftover()
    packets = simulation.copies.packets + simulation.control.packets
    delay = recorder.delay_s.spread()
    figures = {
        "messages": f"{recorder.messages:,}",
        "deliveries": f"{recorder.deliveries:,}",
        "the verdict on their order": str(verdict.answer.value),
        "holes": f"{len(holes):,}",
        "gaps told": f"{gaps:,}",
        "undelivered": f"{recorder.copies_to_others - recorder.deliveries_to_others:,}",
        "of these, for processes that had crashed": f"{leftover.for_crashed:,}",
        "and from such, delivered by no survivor": f"{leftover.from_crashed:,}",
        "delay, mean and 99 %": f"{delay.mean:.2f} s, {delay.p99:.2f} s",
        "the largest view": f"{sampler.largest:,}",
        "the longest vector on a packet": f"{sampler.longest:,}",
        "packets": f"{packets:,}",
        "events of the simulator": f"{simulation.events:,}",
        "simulated time": f"{simulation.now:,.0f} s",
        "CPU time": f"{cpu_s:,.0f} s",
        "memory": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB",
    }
    return Outcome(sampler.rows, figures)


def table(rows: list[Row]) -> str:
    """Those rows in which the size has changed by a fifth or more, and where it turns."""
    shown, last = [], 0
    most = max(row.processes for row in rows)
    for row in rows:
        is_far = abs(row.processes - last) >= 0.2 * max(row.processes, last)
        if is_far or (row.processes == most and last != most) or row is rows[-1]:
            shown.append(row)
            last = row.processes
    columns = ("s", "processes", "local groups", "groups of servers", "levels", "largest group")
    cells = [
        [
            f"{row.time_s:.0f}",
            f"{row.processes:,}",
            f"{row.local:,}",
            f"{row.servers:,}",
            f"{row.levels}",
            f"{row.largest}",
            f"{row.vector}",
            f"{row.packets:,}",
            f"{row.cpu_s:.1f}",
        ]
        for row in shown
    ]
    return markdown((*columns, "longest vector", "packets", "CPU, s"), cells)


def page(size: int, outcome: Outcome) -> str:
    options = ", ".join(f"`{name}={value}`" for name, value in OPTIONS.items())
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"""# A daisy that grows and shrinks

Written by `python -m bench.daisy_grow {size}`; do not edit. One run: {FIRST} processes become
{size:,} and {FIRST} again. Every second {GROWTH:.0%} of those that are there come anew, each beside
two that it names; after {HOLD_S:g} s at the top they leave in the same way, without a word, the
last first. Every process sends {RATE:g} messages a second to 2 others, for as long as it is there.
{options}; exponential delays with a mean of 10 ms.
Machine: {machine}, not quiet: CPU times are rough, all else repeats.

A vector is as long as the view that it is sent in: *longest vector* is over all packets since the
look before, two seconds ago, as are *packets* and *CPU*; groups are counted at the moment, if they
have two members or more. Newcomers that come while a group is about to split make it larger than
its limit for a while; beside one of twice that size they wait, but for `forget_after_s` at most,
since such a group may never be split.

{table(outcome.rows)}
The whole run, judged by `antecede verify --holes`:

{markdown(("in all", ""), outcome.figures.items())}"""


def main() -> None:
    asked = [word for word in sys.argv[1:] if word.isdigit()]
    size = int(asked[0]) if asked else SMALL
    with TemporaryDirectory() as folder:
        outcome = run(size, Path(folder))
    print(table(outcome.rows))
    print(markdown(("in all", ""), outcome.figures.items()))
    if asked:
        PAGE.write_text(signed(page(size, outcome)), "utf-8")


if __name__ == "__main__":
    main()
