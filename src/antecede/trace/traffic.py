"""The traffic of a recorded run: how many talk, how often, and who to whom."""

import os
from collections import Counter
from typing import NamedTuple

import numpy as np

from antecede.errors import Misuse
from antecede.trace.reader import read_trace
from antecede.trace.schema import APP, SEND

MOST = 10_000
"""So many different pairs of a sender and its destinations are told apart."""


class Measured(NamedTuple):
    """What the application sent in a run, by those who sent something or were addressed."""

    processes: int
    messages: int
    rate: float
    """Messages per second of each process."""
    fewest: int
    """Destinations of a message, without its sender: the fewest,"""
    mean: float
    most: int
    talks: dict[tuple[int, tuple[int, ...]], int]
    """By sender and destinations, how many messages there were; the most frequent ones, if there
    are very many."""
    told: float
    """Which part of all messages that is."""


def measure_traffic(path: str | os.PathLike[str]) -> Measured:
    """The traffic of the only run of a trace. Raises `Misuse` where there is more than one, or too
    little of one."""
    runs = read_trace(path).runs
    if len(runs) != 1:
        raise Misuse(f"{path} has {len(runs)} runs: traffic is measured from one")
    events = runs[0].layer(APP)
    sends = np.flatnonzero(events.kind == SEND)
    starts = events.destination_start
    found: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for one in sends:
        sender = int(events.sender[one])
        others = set(events.destination[starts[one] : starts[one + 1]].tolist()) - {sender}
        if others:
            found[sender, tuple(sorted(others))] += 1
    span_s = float(np.ptp(events.time[sends])) if len(sends) else 0.0
    if not found or not span_s > 0:
        raise Misuse(f"{path}: traffic is measured from messages to others, sent at several times")
    sizes = Counter[int]()
    for (_, to), count in found.items():
        sizes[len(to)] += count
    messages = sizes.total()
    # Routers and whoever takes no part have no number.
    present = sorted({process for sender, to in found for process in (sender, *to)})
    place = {process: number for number, process in enumerate(present)}
    kept = found.most_common(MOST)
    return Measured(
        len(present),
        messages,
        (messages - 1) / span_s / len(present),
        min(sizes),
        sum(size * count for size, count in sizes.items()) / messages,
        max(sizes),
        {(place[sender], tuple(place[one] for one in to)): count for (sender, to), count in kept},
        sum(count for _, count in kept) / messages,
    )
