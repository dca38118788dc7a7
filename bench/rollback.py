"""What a failure costs with `pairs` and rollback, `piggyback` and `daisy`, on the same traffic and
the same faults: the page docs/results/rollback.md. `python -m bench.rollback` writes it, in a few
minutes."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from antecede.orders.pairs import PairsOptions
from antecede.simulate import Summary, make_scenario, simulate
from bench.docs import ROOT, markdown

PAGE = ROOT / "docs" / "results" / "rollback.md"
SEEDS = range(1, 7)
PROCESSES, MESSAGES, RATE, CRASH_S = 8, 400, 4.0, 4.0
LOSSES = (0.0, 0.02, 0.1)
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "`pairs`": ("pairs", {}),
    "`pairs recovery=rollback`": ("pairs", {"recovery": "rollback"}),
    "`piggyback`": ("piggyback", {}),
    "`daisy`": ("daisy", {"quorum": "survivors"}),
}
TRAFFIC: dict[str, dict[str, Any]] = {
    "To one process": {"kind": "unicast", "cascade": 0.3},
    "To three processes": {"kind": "multicast", "size": 3, "cascade": 0.1},
}
COLUMNS = (
    *("loss", "protocol", "messages", "rounds", "void", "taken back", "set back, s", "stopped, s"),
    *("owed copies undelivered", "delay, ms", "99 %", "control", "bytes"),
)
INTRODUCTION = f"""# What a failure costs, with rollback and without

Written by `python -m bench.rollback`; do not edit. {PROCESSES} processes, {MESSAGES} messages,
{RATE:g} a second and process, so that the run goes on for some 8 s after the crash; a delivery
causes another message now and then; delays of 50 ms in the mean; process 1 crashes at {CRASH_S:g}
s, with the copies of its last messages perhaps lost. Means over {len(SEEDS)} seeds; everybody
sees the same traffic and, of what the application sends, the same losses. No violation of causal
order was found, in the final histories and in those that were taken back. Everything is counted
on seeded simulations: the same figures come out on every machine.

*Messages* are those of the final history; *rounds*: agreements on a time of failure; *void*,
those that the survivors agreed never to have been sent; *taken back*: deliveries that were
undone, some of them made again later. *Set back* and *stopped*: the longest that a process lost
of its past, and that it sent nothing for the survivors to agree; the silence of {{suspect:g}} s
after which a crash is noticed is part of the first. *Owed copies undelivered*: from survivors to
survivors, or delivered by one survivor and not by another. *Control*: packets of the protocol's
own a message, repetitions not among them; *bytes*: ordering information a message, with those
packets, what `piggyback` carries along and repetitions included.
"""


def write() -> Path:
    text = introduction()
    for title in TRAFFIC:
        rows = [measured(title, loss, way) for loss in LOSSES for way in WAYS]
        text += f"\n## {title}\n\n" + markdown(COLUMNS, rows)
    PAGE.write_text(text + CONCLUSION, "utf-8")
    return PAGE


def introduction() -> str:
    return INTRODUCTION.format(suspect=PairsOptions().suspect_after_s)


def measured(title: str, loss: float, way: str) -> list[str]:
    """One line of a table."""
    return row(loss, way, [_run(title, loss, way, seed) for seed in SEEDS])


CONCLUSION = """
## What it says

Without recovery a single copy that is lost blocks `pairs`, and what the survivors owe each other
piles up: nothing is sent again, be its sender alive or not. With `recovery=rollback` the living
send again, so only what the failed process took to the grave makes anything void. Rollback
delivers all that it owes, at the price of what it makes void: the more was said since, the more.
`piggyback` needs neither agreement nor repetition, but it does not send again what is lost when
nothing follows it. `daisy` takes nothing back and loses nothing; it pays with delay: a message
passes through groups, and waits while one agrees on a new view.
"""


def _plain(title: str, loss: float, way: str, seed: int) -> dict[str, Any]:
    protocol, options = WAYS[way]
    return {
        "protocol": protocol,
        "options": options,
        "processes": PROCESSES,
        "messages": MESSAGES,
        "seed": seed,
        "rate": RATE,
        "workload": TRAFFIC[title],
        "network": {"delay": "exponential:0.05", "loss": loss},
        "crashes": [{"process": 1, "time_s": CRASH_S}],
        "patience_s": 20.0,
    }


def _run(title: str, loss: float, way: str, seed: int) -> Summary:
    summary = simulate(make_scenario(_plain(title, loss, way, seed)))
    if summary.violations:
        raise SystemExit(f"{way}, {title}, loss {loss}, seed {seed}: out of order")
    return summary


def row(loss: float, way: str, found: Sequence[Summary]) -> list[str]:
    undone = [summary.undone for summary in found if summary.undone is not None]

    def mean(values: Sequence[float], digits: int = 1) -> str:
        return f"{fmean(values):,.{digits}f}" if values else "–"

    owed = [one.leftover.disagreed + one.leftover.waiting + one.leftover.missing for one in found]
    return [
        f"{loss:.0%}",
        way,
        mean([summary.messages for summary in found], 0),
        mean([one.agreements for one in undone]),
        mean([one.void for one in undone]),
        mean([one.taken_back for one in undone]),
        mean([one.lost_s for one in undone], 2),
        mean([one.stopped_s for one in undone], 2),
        mean(owed),
        mean([summary.delay_s.mean * 1e3 for summary in found], 0),
        mean([summary.delay_s.p99 * 1e3 for summary in found], 0),
        mean([summary.control_packets / summary.messages for summary in found]),
        mean(
            [(one.copies_stamp_bytes + one.control_bytes) / one.messages for one in found],
            0,
        ),
    ]


if __name__ == "__main__":
    print(f"wrote {write()}")
