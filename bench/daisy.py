"""What a daisy costs as it grows: vectors, packets, bytes, hops, delay, the load of the servers, on
64, 512 and 4,096 processes in two to four levels, against a flat vector and a matrix.

A run goes on until every group is at rest, so that all that is said about a message counts: data
packets carry it, control packets are acknowledgements, word of stability, and heartbeats. Bytes
include the list of destinations. `python -m bench.daisy --full` writes the page of docs/results;
each of its runs is a process of its own, for the memory that it takes."""

import json
import random
import resource
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from math import prod
from statistics import fmean
from time import process_time
from typing import Any

import msgspec

from antecede.message import NO_GROUP, members, process_set
from antecede.order import Transmit
from antecede.overlays.daisy.plan import Plan, plan
from antecede.simulate import make_scenario
from antecede.simulate.recorder import Recorder
from antecede.simulate.run import Simulation
from antecede.simulate.scenario import Scenario
from antecede.simulate.workload import Send, Traffic
from antecede.verify import OnlineOracle
from bench.daisy_counts import Sizes, daisy

DELAY_S = 0.05
QUIET_S = 60.0
"""For how long after the last delivery the groups may need to come to rest."""
SEED = 1


class Setting(msgspec.Struct, frozen=True):
    """One run. `global_share` of the messages go to any processes, the others to the group of their
    sender. `rate` is in messages a second, of all processes together. The seed draws traffic and
    network."""

    sizes: Sizes
    destinations: int
    messages: int
    global_share: float = 1.0
    rate: float = 20.0
    seed: int = SEED

    @property
    def processes(self) -> int:
        return prod(self.sizes)


class Result(msgspec.Struct, frozen=True):
    """Per message where nothing else is said. Loads are packets sent and received by one process:
    at the top, at other servers, at all others."""

    longest_vector: int
    data: float
    data_integers: float
    data_bytes: float
    control: float
    control_bytes: float
    hops: float
    most_hops: int
    delay_s: float
    delay_p99_s: float
    loads: tuple[float, float, float]
    violations: int
    undelivered: int
    events: int
    cpu_s: float
    peak_mib: int


class Mixed(Traffic):
    """Poisson traffic of a given locality."""

    reacts = False

    def __init__(self, setting: Setting, groups: Plan) -> None:
        self._setting = setting
        self._plan = groups

    def opening(self) -> Iterator[Send]:
        setting, draws = self._setting, random.Random(self._setting.seed)
        n, now = setting.processes, 0.0
        for tag in range(setting.messages):
            now += draws.expovariate(setting.rate)
            sender = draws.randrange(n)
            is_global = draws.random() < setting.global_share
            within = range(n) if is_global else members(self._plan.leaf(sender).processes)
            others = [process for process in within if process != sender]
            chosen = draws.sample(others, min(setting.destinations, len(others)))
            yield Send(now, sender, process_set(chosen), NO_GROUP, tag)

    def delivered(self, process: int, tag: int, now: float, own: bool) -> Iterable[Send]:
        return ()


class Counting(Simulation):
    """A run that counts, and goes on until the groups are at rest."""

    def __init__(self, scenario: Scenario, recorder: Recorder, traffic: Mixed) -> None:
        super().__init__(scenario, recorder)
        self._traffic = traffic
        self._opening = traffic.opening()
        self.handled = [0] * scenario.membership.size
        self.longest = 0
        self.data_integers = 0

    def _transmit(self, process: int, effect: Transmit, now: float) -> None:
        destinations = list(members(effect.to))
        self.handled[process] += len(destinations)
        for destination in destinations:
            self.handled[destination] += 1
        stamp = effect.packet.stamp
        if stamp.messages():
            vector = getattr(stamp.packet.body, "vector", ())  # what is told one member has none
            self.longest = max(self.longest, len(vector))
            self.data_integers += stamp.entries() * len(destinations)
        super()._transmit(process, effect, now)

    def _is_over(self, now: float) -> bool:
        return super()._is_over(now) and now > self._last_progress[1] + QUIET_S


def measure(setting: Setting, **options: Any) -> Result:
    """One run of the daisy, with these options besides the sizes of its groups."""
    data = {
        "protocol": "daisy",
        "processes": setting.processes,
        "options": {"sizes": list(setting.sizes[:-1]), **options},
        "messages": setting.messages,
        "network": {"delay": f"exponential:{DELAY_S}"},
        "workload": {"kind": "unicast"},  # in whose place Mixed comes
        "seed": setting.seed,
    }
    scenario = make_scenario(data)
    groups = plan(setting.processes, setting.sizes[:-1], (), ())
    traffic = Mixed(setting, groups)
    recorder = Recorder(None, OnlineOracle(scenario.process_names))
    start = process_time()
    run = Counting(scenario, recorder, traffic)
    run.run()
    cpu_s = process_time() - start
    hops = [
        distance(groups, send.process, to)
        for send in traffic.opening()
        for to in members(send.destinations)
    ]
    per, delay = setting.messages, recorder.delay_s.spread()
    return Result(
        longest_vector=run.longest,
        data=run.copies.packets / per,
        data_integers=run.data_integers / per,
        data_bytes=run.copies.stamp_bytes / per,
        control=run.control.packets / per,
        control_bytes=run.control.stamp_bytes / per,
        hops=sum(hops) / len(hops),
        most_hops=max(hops),
        delay_s=delay.mean,
        delay_p99_s=delay.p99,
        loads=loads(groups, [handled / per for handled in run.handled]),
        violations=recorder.violations,
        undelivered=recorder.copies_to_others - recorder.deliveries_to_others,
        events=run.events,
        cpu_s=cpu_s,
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    )


def distance(groups: Plan, sender: int, to: int) -> int:
    """In how many groups one after the other a message is broadcast on its way."""
    node, steps = groups.leaf(sender), 1
    while not node.processes >> to & 1 and node.parent is not None:
        node, steps = groups.nodes[node.parent], steps + 2
    return steps


def loads(groups: Plan, handled: list[float]) -> tuple[float, float, float]:
    """Of the servers at the top, of those elsewhere, and of all others, the mean."""
    top = set(max(groups.nodes.values(), key=lambda node: node.level).founders)
    servers = {node.founders[0] for node in groups.nodes.values()} - top
    kinds: tuple[list[float], list[float], list[float]] = ([], [], [])
    for process, packets in enumerate(handled):
        kinds[0 if process in top else 1 if process in servers else 2].append(packets)
    first, second, third = (sum(kind) / len(kind) if kind else 0.0 for kind in kinds)
    return first, second, third


def together(results: Sequence[Result]) -> Result:
    """Runs of one setting with several seeds as one: sums of what is counted by run, means of what
    is counted by message, the largest of what is the largest."""

    def of(field: str) -> Any:
        values = [getattr(result, field) for result in results]
        if field in _LARGEST:
            return max(values)
        if field in _SUMS:
            return sum(values)
        if field == "loads":
            return tuple(map(fmean, zip(*values, strict=True)))
        return fmean(values)

    return Result(**{field: of(field) for field in Result.__struct_fields__})


_LARGEST = ("longest_vector", "most_hops", "delay_p99_s", "peak_mib")
_SUMS = ("violations", "undelivered", "events", "cpu_s")


class Failed(msgspec.Struct, frozen=True):
    """Why there is no result of a run."""

    reason: str


def measure_apart(settings: Iterable[Setting], at_once: int = 1) -> dict[Setting, Result | Failed]:
    """Each run in a process of its own; one that fails does not take the others with it."""
    chosen = list(dict.fromkeys(settings))
    with ThreadPoolExecutor(at_once) as pool:
        return dict(zip(chosen, pool.map(_in_a_process, chosen), strict=True))


def _in_a_process(setting: Setting) -> Result | Failed:
    command = [sys.executable, "-m", "bench.daisy", "--one", msgspec.json.encode(setting).decode()]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["nothing"]
        return Failed(f"it ended with status {done.returncode} and said: {said[-1]}")
    return msgspec.json.decode(done.stdout, type=Result)


SMALL = (
    Setting((8, 8), 1, 40),
    Setting((8, 8), 8, 40),
    Setting((8, 8), 4, 40, global_share=0.0),
    Setting((8, 8, 8), 1, 20),
)


def main() -> None:
    """A few small runs."""
    print(f"{'groups':10}{'to':>4}{'global':>8}{'data':>8}{'counted':>9}{'control':>9}", end="")
    print(f"{'bytes':>8}{'hops':>6}{'delay s':>9}{'events/s':>10}")
    for setting in SMALL:
        result = measure(setting)
        is_global = setting.global_share == 1.0
        counted = f"{daisy(setting.sizes, setting.destinations).packets:.1f}" if is_global else "-"
        print(
            f"{'·'.join(map(str, setting.sizes)):10}{setting.destinations:>4}"
            f"{setting.global_share:>8.0%}{result.data:>8.1f}{counted:>9}{result.control:>9.1f}"
            f"{result.data_bytes + result.control_bytes:>8,.0f}{result.hops:>6.2f}"
            f"{result.delay_s:>9.2f}{result.events / result.cpu_s:>10,.0f}"
        )


def run() -> int:
    parser = ArgumentParser("python -m bench.daisy", description=__doc__)
    parser.add_argument("--full", action="store_true", help="write docs/results/daisy-scale.md")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once, with --full")
    parser.add_argument("--one", help="one run, given and answered in JSON")
    chosen = parser.parse_args()
    if chosen.one:
        setting = msgspec.convert(json.loads(chosen.one), Setting)
        print(msgspec.json.encode(measure(setting)).decode())
    elif chosen.full:
        page = import_module("bench.daisy_page")  # which needs this module
        failures = page.write(chosen.jobs)
        print(f"written: {page.PAGE}")
        for setting, failure in failures.items():
            print(f"failed: {setting}: {failure.reason}", file=sys.stderr)
        return 1 if failures else 0
    else:
        main()
    return 0


if __name__ == "__main__":
    sys.exit(run())
