"""The page docs/results/daisy-scale.md: tables of `bench.daisy`, and what follows from them."""

import os
import platform
from collections.abc import Iterable
from math import prod

import msgspec

from antecede.simulate import Summary, make_scenario, simulate
from bench import daisy_counts as counts
from bench.daisy import DELAY_S, SEED, Failed, Result, Setting, measure_apart, together
from bench.daisy_counts import Sizes
from bench.docs import ROOT, markdown
from bench.made import signed

PAGE = ROOT / "docs" / "results" / "daisy-scale.md"
SEEDS = (1, 2, 3)
MESSAGES = {64: 200, 512: 60, 4096: 20}
"""With each seed, by the number of processes."""
STUDY: tuple[Sizes, ...] = ((8, 8), (16, 32), (8, 8, 8), (64, 64), (16, 16, 16), (8, 8, 8, 8))
"""The divisions that the study counts."""
BESIDES: tuple[Sizes, ...] = ((2, 2, 4, 4), (4, 4, 4, 8), (4, 8, 8, 16))
FEW, MORE = 1, 8
LOCAL: tuple[Sizes, ...] = ((8, 8), (8, 8, 8), (8, 8, 8, 8))
SHARES = (0.0, 0.1, 0.5, 1.0)
IN_GROUP = 4
"""Destinations where locality is varied: a group of 8 has room for them."""
RATES = (2.0, 20.0, 200.0, 2000.0)
LOADED: Sizes = (8, 8, 8)
SIMULATED_VECTOR = (64, 512)
SIMULATED_MATRIX = (64,)
MEMORY_LIMIT_MIB = 4096
INTRODUCTION = """# What a daisy costs as it grows

Written by `python -m bench.daisy --full`; do not edit. Traffic and delays of {seeds} seeds, with
each of them {messages}; exponential delays with a mean of {delay_ms:g} ms, nothing lost, nobody
crashes; a run goes on until every group is at rest. *Data* are packets that carry the message,
repetitions included; *control* are acknowledgements, word of what is stable and done, and
heartbeats while a group is at work; a group at rest says nothing. *Integers* are those of the
vectors and Lamport times on data packets. *Bytes* are everything but the application's payload: the
list of destinations counts, on every packet that carries the message. A group is written from the
bottom to the top: 8·16 is 16 local groups of 8. All figures are for one multicast unless something
else is said; destinations are drawn at random from all processes.
[The daisy's campaign](daisy.md) compares it with other protocols on one network.
"""
CLAIMS = """
## The claims

Baldoni, Friedman and van Renesse ("The hierarchical daisy architecture for causal delivery",
section 3.3) claim that a message carries one vector, as long as the group that it is sent in,
whatever the size of the system; they count vectors and leave out the list of destinations, the
acknowledgements and the heartbeats. They have no measurements. The table beside the simulation is
counted from the plan alone: the packets of all broadcasts in the groups that a message passes.
"""


def write(jobs: int) -> dict[Setting, Failed]:
    """Make all runs and the page; what has failed is on the page, and is the answer."""
    settings = [*_grid(), *_locality(), *_load()]
    runs = measure_apart((_with_seed(one, seed) for one in settings for seed in SEEDS), jobs)
    failures = {one: run for one, run in runs.items() if isinstance(run, Failed)}
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    aside = PAGE.with_suffix(".part")
    aside.write_text(signed(page(settings, runs)), "utf-8")
    aside.replace(PAGE)
    return failures


def page(settings: Iterable[Setting], runs: dict[Setting, Result | Failed]) -> str:
    found: dict[Setting, Result] = {}
    for setting in dict.fromkeys(settings):
        results = [runs[_with_seed(setting, seed)] for seed in SEEDS]
        whole = [result for result in results if isinstance(result, Result)]
        if len(whole) == len(SEEDS):
            found[setting] = together(whole)
    messages = [f"{count} messages among {n:,}" for n, count in MESSAGES.items()]
    text = INTRODUCTION.format(
        seeds=len(SEEDS),
        messages=", ".join(messages[:-1]) + f" and {messages[-1]} processes",
        delay_ms=DELAY_S * 1e3,
    )
    text += _failures(runs) + CLAIMS
    text += "".join((_costs(found), _flat(found), _suits(), _local(found), _loaded(found)))
    return text + _servers(found) + _speed(found) + _conclusions(found, runs)


def _with_seed(setting: Setting, seed: int) -> Setting:
    return msgspec.structs.replace(setting, seed=seed)


def _failures(runs: dict[Setting, Result | Failed]) -> str:
    rows = [
        [_name(one.sizes), *map(str, (one.destinations, one.global_share, one.rate, one.seed)), why]
        for one, run in runs.items()
        for why in ([run.reason] if isinstance(run, Failed) else [])
    ]
    if not rows:
        return ""
    columns = ("groups", "to", "global", "rate", "seed", "why")
    return (
        f"\n## Runs that failed\n\n{len(rows)} of {len(runs)} runs have no result; the tables say "
        "*failed* where they belong.\n\n" + markdown(columns, rows)
    )


def _cells(setting: Setting, found: dict[Setting, Result], *formats: str) -> list[str]:
    """What a result says, each part in its format."""
    if setting not in found:
        return ["failed"] * len(formats)
    return [one.format(r=found[setting], all_bytes=_bytes(found[setting])) for one in formats]


def _bytes(result: Result) -> float:
    return result.data_bytes + result.control_bytes


def _grid() -> list[Setting]:
    return [
        Setting(sizes, destinations, MESSAGES[prod(sizes)])
        for sizes in sorted((*STUDY, *BESIDES), key=lambda sizes: (prod(sizes), len(sizes)))
        for destinations in (FEW, MORE)
    ]


def _locality() -> list[Setting]:
    return [
        Setting(sizes, IN_GROUP, MESSAGES[prod(sizes)], share)
        for sizes in LOCAL
        for share in SHARES
    ]


def _load() -> list[Setting]:
    return [Setting(LOADED, IN_GROUP, 2 * MESSAGES[512], rate=rate) for rate in RATES]


def _name(sizes: Sizes) -> str:
    return "·".join(map(str, sizes))


def _costs(found: dict[Setting, Result]) -> str:
    rows = []
    for setting in _grid():
        counted = counts.daisy(setting.sizes, setting.destinations)
        rows.append(
            [
                f"{setting.processes:,}",
                _name(setting.sizes),
                str(setting.destinations),
                *_cells(setting, found, "{r.longest_vector}"),
                f"{counted.packets:.0f} / {counted.integers:,.0f}",
                *_cells(
                    *(setting, found, "{r.data:.0f} / {r.data_integers:,.0f}"),
                    *("{r.data_bytes:,.0f}", "{r.control:,.0f}", "{r.control_bytes:,.0f}"),
                    "{r.hops:.1f} (≤ " + f"{counts.hops(setting.sizes)})",
                    "{r.delay_s:.2f} ({r.delay_p99_s:.2f})",
                ),
            ]
        )
    columns = (
        *("n", "groups", "to", "longest vector", "counted: packets / integers"),
        *("data: packets / integers", "bytes", "control", "bytes", "hops", "delay, s (99 %)"),
    )
    return "\n## One multicast\n\n" + markdown(columns, rows)


def _flat(found: dict[Setting, Result]) -> str:
    """The flat protocols, simulated where that is possible."""
    rows = []
    per_integer: dict[str, float] = {}
    for n in MESSAGES:
        for name in ("vector", "matrix"):
            for to in (FEW, MORE):
                cost = counts.vector(n) if name == "vector" else counts.matrix(n, to)
                if n in (SIMULATED_VECTOR if name == "vector" else SIMULATED_MATRIX):
                    summary = _simulated(name, n, to)
                    size = summary.copies_stamp_bytes / summary.messages
                    per_integer[name] = size / cost.integers
                    how = "simulated"
                else:
                    size, how = cost.integers * per_integer[name], "counted"
                daisies = [
                    (_bytes(found[setting]), setting.sizes)
                    for setting in _grid()
                    if (setting.processes, setting.destinations) == (n, to) and setting in found
                ]
                least, sizes = min(daisies, default=(0.0, ()))
                ratio = f"{size / least:,.2f}, {_name(sizes)}" if least else "failed"
                rows.append(
                    [
                        *(f"{n:,}", name, str(to), f"{cost.packets:,.0f}"),
                        *(f"{cost.integers:,.0f}", f"{size:,.0f}", how, ratio),
                    ]
                )
    columns = ("n", "flat", "to", "packets", "integers", "bytes", "how", "bytes / daisy, groups")
    return (
        "\n## A flat vector and a matrix\n\nThe vector has to reach everybody, whomever a message "
        "is for. Neither does anything for reliability, while all that the daisy says counts "
        "against it. Where they are too large to simulate, their bytes are those of an integer in "
        "the largest simulation, times the integers.\n\n" + markdown(columns, rows)
    )


def _simulated(name: str, n: int, to: int) -> Summary:
    is_vector = name == "vector"
    workload = {"kind": "broadcast"} if is_vector else {"kind": "multicast", "size": to}
    messages = 8 if is_vector else 60
    data = {"protocol": name, "processes": n, "messages": messages, "workload": workload}
    return simulate(make_scenario({**data, "rate": 20.0 / n, "seed": SEED}), judged=False)


def _suits() -> str:
    """The divisions that are best, of all."""
    rows = []
    for n in MESSAGES:
        for to in dict.fromkeys((FEW, MORE, n // 8)):
            for levels in (2, 3, 4):
                every = [sizes for sizes in counts.choices(n, levels) if len(sizes) == levels]
                packets = min(every, key=lambda sizes: counts.daisy(sizes, to).packets)
                integers = min(every, key=lambda sizes: counts.daisy(sizes, to).integers)
                rows.append(
                    [
                        f"{n:,}",
                        str(to),
                        str(levels),
                        f"{_name(packets)}: {counts.daisy(packets, to).packets:,.0f}",
                        f"{_name(integers)}: {counts.daisy(integers, to).integers:,.0f}",
                    ]
                )
    columns = ("n", "to", "levels", "fewest data packets", "fewest integers")
    return (
        "\n## The group sizes that suit\n\nCounted, over all divisions into equal groups. A group "
        "of two cannot lose its senior member: the other one alone is no majority, and stops "
        "(unless the quorum is `survivors`). Where crashes count, groups of three are the "
        "smallest that suit.\n\n" + markdown(columns, rows)
    )


def _local(found: dict[Setting, Result]) -> str:
    rows = [
        [
            f"{setting.processes:,}",
            _name(setting.sizes),
            f"{setting.global_share:.0%}",
            *_cells(
                *(setting, found, "{r.data:.0f}", "{r.data_integers:,.0f}", "{r.control:,.0f}"),
                *("{all_bytes:,.0f}", "{r.hops:.1f}", "{r.delay_s:.2f}"),
            ),
        ]
        for setting in _locality()
    ]
    columns = ("n", "groups", "global", "data", "integers", "control", "bytes", "hops", "delay, s")
    return (
        f"\n## From all-local to all-global\n\nMessages to {IN_GROUP} processes: of the sender's "
        "own group, or (*global*) of all.\n\n" + markdown(columns, rows)
    )


def _loaded(found: dict[Setting, Result]) -> str:
    formats = ("{r.data:.0f}", "{r.control:,.0f}", "{all_bytes:,.0f}", "{r.delay_s:.2f}")
    rows = [[f"{setting.rate:g}", *_cells(setting, found, *formats)] for setting in _load()]
    columns = ("messages a second, all together", "data", "control", "bytes", "delay, s")
    return (
        f"\n## More traffic\n\n{prod(LOADED)} processes, {_name(LOADED)}, messages to "
        f"{IN_GROUP}: what is said about several messages goes into one packet.\n\n"
        + markdown(columns, rows)
    )


def _servers(found: dict[Setting, Result]) -> str:
    rows = [
        [
            f"{setting.processes:,}",
            _name(setting.sizes),
            str(setting.destinations),
            *_cells(setting, found, *(f"{{r.loads[{kind}]:.2f}}" for kind in range(3))),
        ]
        for setting in _grid()
    ]
    columns = ("n", "groups", "to", "servers at the top", "other servers", "all others")
    return (
        "\n## The load of the servers\n\nPackets sent and received by one process, data and "
        "control, for one multicast by anybody; the mean of each kind.\n\n"
        + markdown(columns, rows)
    )


def _speed(found: dict[Setting, Result]) -> str:
    rows = []
    for n in MESSAGES:
        runs = [result for setting, result in found.items() if setting.processes == n]
        if not runs:
            continue
        rate = sum(run.events for run in runs) / sum(run.cpu_s for run in runs)
        rows.append(
            [
                f"{n:,}",
                str(len(runs)),
                f"{max(run.peak_mib for run in runs):,}",
                f"{rate:,.0f}",
                f"{max(run.cpu_s for run in runs):.1f}",
            ]
        )
    columns = ("n", "settings", "peak memory, MiB", "events per CPU second", "longest, CPU s")
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return (
        f"\n## Memory and speed\n\n{machine}. A setting takes one run for each seed.\n\n"
        + markdown(columns, rows)
    )


def _conclusions(found: dict[Setting, Result], runs: dict[Setting, Result | Failed]) -> str:
    grid = {setting: found[setting] for setting in _grid() if setting in found}
    if not grid:
        return ""
    as_claimed = all(result.longest_vector == max(s.sizes) for s, result in grid.items())
    clean = not any(result.violations or result.undelivered for result in found.values())
    peak = max(result.peak_mib for result in found.values())
    repeated = [r.data / counts.daisy(s.sizes, s.destinations).packets for s, r in grid.items()]
    ratio = [result.control / result.data for result in grid.values()]
    local = [
        found[setting].data
        for setting in _locality()
        if not setting.global_share and setting in found
    ]
    holds = {True: "holds", False: "does not hold"}
    lines = [
        (
            f"the longest vector is as long as the largest group in all {len(grid)} settings: "
            f"{holds[as_claimed]};"
        ),
        (
            f"data packets are {min(repeated):.2f} to {max(repeated):.2f} times those counted "
            "(chance, and repetitions before an acknowledgement has come);"
        ),
        (
            f"with sparse traffic there are {min(ratio):.1f} to {max(ratio):.1f} control packets "
            "for one with data: this is the price of surviving crashes, which the paper does not "
            "count;"
        ),
        *_best(grid),
        (
            f"local traffic costs {min(local, default=0):.0f} to {max(local, default=0):.0f} data "
            "packets whatever the size of the system;"
        ),
        (
            f"with another seed, a setting takes up to {_spread(grid, runs):.0%} more packets in "
            "all than with the one that takes the fewest;"
        ),
        f"every message was delivered in these runs, and none too early: {holds[clean]};",
        (
            f"the largest run took {peak:,} MiB, "
            f"{'below' if peak < MEMORY_LIMIT_MIB else 'above'} the {MEMORY_LIMIT_MIB:,} allowed."
        ),
    ]
    return "\n## What follows\n\n" + "".join(f"- {line}\n" for line in lines)


def _spread(grid: Iterable[Setting], runs: dict[Setting, Result | Failed]) -> float:
    """How far the seeds are apart, at most."""
    ratios = []
    for setting in grid:
        results = [runs[_with_seed(setting, seed)] for seed in SEEDS]
        packets = [one.data + one.control for one in results if isinstance(one, Result)]
        ratios.append(max(packets) / min(packets) - 1)
    return max(ratios)


def _best(grid: dict[Setting, Result]) -> Iterable[str]:
    for n in MESSAGES:
        for to in (FEW, MORE):
            runs = {s.sizes: r for s, r in grid.items() if (s.processes, s.destinations) == (n, to)}
            if not runs:
                continue
            everything = {sizes: r.data + r.control for sizes, r in runs.items()}
            best = min(everything, key=lambda sizes: everything[sizes])
            fast = min(runs, key=lambda sizes: runs[sizes].delay_s)
            pairs = ", but a group of two cannot lose its senior member" if 2 in best else ""
            yield (
                f"n = {n:,}, to {to}: of those simulated, {_name(best)} takes the fewest packets "
                f"in all ({everything[best]:,.0f}{pairs}), {_name(fast)} the least time "
                f"({runs[fast].delay_s:.2f} s);"
            )
