"""Macêdo."""

from statistics import fmean
from typing import Any

from antecede.simulate import Summary, make_scenario, simulate
from tests.papers import test_blocks_relative as relative
from tests.papers.blocks import orders_of, planted, random_run
from tests.papers.harness import Send, early, run, undelivered

RING_A = [[2 * k, 2 * k + 1, (2 * k + 2) % 16] for k in range(8)]
RING_B = [[(2 * k + member) % 16 for member in range(4)] for k in range(8)]
SEEDS = (1, 2, 3)
TWINS = [{0, 1, 2}, {0, 1, 2}]


def rings() -> list[str]:
    """Macêdo: Causal Order Protocols for Group Communication"""
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "`vector`": ("vector", {}),
        "`blocks-fast`": ("blocks-fast", {"silence_s": 0.5}),
        "`blocks-relative`": ("blocks-relative", {"silence_s": 0.5}),
        "`blocks-slow`": ("blocks-slow", {"silence_s": 0.5}),
        "`blocks-slow`, `total`": ("blocks-slow", {"silence_s": 0.5, "total": True}),
    }
    rows = []
    for name, (protocol, options) in kinds.items():
        cells = []
        for groups in (RING_A, RING_B):
            runs = [_simulated(protocol, options, groups, 16, 2000, 0.5, s) for s in SEEDS]
            copies = fmean(one.control_packets / one.messages for one in runs)
            cells.append(
                [
                    f"{fmean(one.stamp_entries.mean for one in runs):.1f}",
                    f"{fmean(one.stamp_bytes.mean for one in runs):.1f}",
                    f"{fmean(one.hold_s.mean for one in runs):.2f}",
                    f"{copies:.2f}",
                ]
            )
        pairs = [f"{a} / {b}" for a, b in zip(*cells, strict=True)]
        rows.append(f"| {name} | {' | '.join(pairs)} |")
    return rows


def _simulated(
    protocol: str,
    options: dict[str, Any],
    groups: list[list[int]],
    processes: int,
    messages: int,
    rate: float,
    seed: int,
) -> Summary:
    """Delays have a mean of 1."""
    scenario = {
        "protocol": protocol,
        "options": options,
        "processes": processes,
        "groups": groups,
        "messages": messages,
        "rate": rate,
        "seed": seed,
        "network": {"delay": "exponential:1", "fifo": True},
    }
    summary = simulate(make_scenario(scenario))
    assert (summary.violations, summary.undelivered) == (0, 0)
    return summary


def one_group() -> list[str]:
    """Slow: who owes a null, and where"""
    found = {}
    for rate in (0.2, 1.0):
        for protocol, options in (("blocks-slow", {"silence_s": 0.5}), ("vector", {})):
            group = [list(range(8))]
            found[protocol, rate] = _simulated(protocol, options, group, 8, 400, rate, 1)
    nulls = [found["blocks-slow", r].control_packets / 7 / 400 for r in (0.2, 1.0)]
    waits = [found[p, r].hold_s.mean for p in ("blocks-slow", "vector") for r in (0.2, 1.0)]
    return [
        (
            f"{nulls[0]:.2f} nulls for each message when a process sends 0.2 messages in a mean "
            f"delay, {nulls[1]:.2f} when it sends one; the wait is {waits[0]:.2f} and "
            f"{waits[1]:.2f}, where `vector` has {waits[2]:.2f} and {waits[3]:.2f}"
        )
    ]


def last_block_only() -> list[str]:
    """Relative: "complete, and its messages delivered\""""
    order = planted("blocks-relative", relative.LAST_BLOCK_ONLY)
    groups = [{0, 1, 2, 3}, {0, 1, 2}]
    wrong = 0
    for seed in range(300):
        assert not early(random_run("blocks-relative", groups, 12, seed))
        wrong += bool(early(random_run(order, groups, 12, seed)))
    return [f"finds it in {wrong or 'none'} of 300 runs of 12 messages"]


def deadlocks() -> list[str]:
    """Relative: C02 deadlocks"""
    program = [Send(sender, (0, 1, 2), group) for sender, group in ((0, 0), (0, 1), (1, 1), (1, 0))]
    blocked = {}
    for c02 in ("printed", "predecessors"):
        blocked[c02] = 0
        for seed in range(2000):
            orders = orders_of("blocks-relative", TWINS, c02=c02)
            blocked[c02] += bool(undelivered(run(orders, program, seed, fifo=True)))
    return [
        f"It blocks {blocked['printed']} of 2,000 random runs of these four messages",
        f"repaired, {blocked['predecessors'] or 'none'} of these runs",
    ]
