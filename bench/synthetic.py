"""Large traces for the verifier, made column by column.

A copy to process q takes a delay that depends on q alone, which keeps causal order all by itself;
its arrival falls somewhere on the way. A few copies, the planted faults, take longer.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from antecede.message import process_set
from antecede.trace import DELIVER, NO_STAMP, RECEIVE, SEND, TraceWriter
from antecede.trace.encoder import ROW_TYPE
from antecede.trace.writer import GROUP_ROWS

FAULT_SHARE = 1e-5


def write_trace(
    path: Path,
    processes: int,
    deliveries: int,
    fan_out: int = 8,
    receptions: bool = True,
    seed: int = 1,
) -> None:
    """A trace of about so many deliveries of multicasts to `fan_out` others."""
    fan_out = min(fan_out, processes - 1)
    random = np.random.default_rng(seed)
    messages = deliveries // fan_out
    sender = random.integers(processes, size=messages)
    number = _count(sender)
    sent = np.cumsum(random.exponential(1.0, messages))
    shift = random.permuted(np.tile(np.arange(1, processes), (min(messages, 1000), 1)), axis=1)
    to = (sender[:, None] + shift[np.arange(messages) % len(shift), :fan_out]) % processes
    # A process sends every `processes` seconds or so; a message is under way for about that long.
    delay = (processes * (1 + random.random(processes)))[to]
    delay[random.random(to.shape) < FAULT_SHARE] *= 3
    parts = [rows_of(SEND, sender, sender, number, sent)]
    senders, numbers = np.repeat(sender, fan_out), np.repeat(number, fan_out)
    times = np.repeat(sent, fan_out)
    for kind, share in ((RECEIVE, random.random(to.shape)), (DELIVER, np.ones(to.shape))):
        if kind == DELIVER or receptions:
            time = times + (delay * share).ravel()
            parts.append(rows_of(kind, to.ravel(), senders, numbers, time))
    rows = np.concatenate(parts)
    order = np.argsort(rows["time"], kind="stable")
    sets = [process_set(members) for members in to.tolist()]
    with TraceWriter(path, "synthetic", [f"process {p}" for p in range(processes)]) as writer:
        done = 0
        for first in range(0, len(order), GROUP_ROWS):
            chunk = rows[order[first : first + GROUP_ROWS]]
            until = done + int(np.count_nonzero(chunk["kind"] == SEND))
            writer.extend(chunk.tobytes(), [(s, NO_STAMP, NO_STAMP) for s in sets[done:until]])
            done = until


def _count(sender: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The number of each message among those of its sender."""
    by_sender = np.argsort(sender, kind="stable")
    counts = np.bincount(sender)
    number = np.empty(len(sender), np.int64)
    number[by_sender] = np.arange(len(sender)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    return number


def rows_of(
    kind: int,
    process: npt.NDArray[np.int64],
    sender: npt.NDArray[np.int64],
    number: npt.NDArray[np.int64],
    time: npt.NDArray[np.float64],
) -> npt.NDArray[np.void]:
    """Events as the writer of traces wants them."""
    rows = np.zeros(len(process), ROW_TYPE)
    rows["kind"] = kind
    rows["process"], rows["sender"], rows["number"], rows["time"] = process, sender, number, time
    return rows
