"""Traces like those of `bench.synthetic`, of any length: made piece by piece."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from antecede.message import process_set
from antecede.trace import DELIVER, NO_STAMP, RECEIVE, SEND, TraceWriter
from antecede.trace.encoder import ROW_TYPE
from bench.synthetic import FAULT_SHARE, rows_of

PIECE = 50_000
GROUP = 65_536


def write_long_trace(
    path: Path, processes: int, deliveries: int, fan_out: int = 8, seed: int = 1
) -> None:
    """A trace of about so many deliveries of multicasts to `fan_out` others, with receptions."""
    random = np.random.default_rng(seed)
    delay_to = processes * (1 + random.random(processes))
    counts = np.zeros(processes, np.int64)
    waiting = np.empty(0, ROW_TYPE)
    now = 0.0
    with TraceWriter(path, "synthetic", [f"process {p}" for p in range(processes)]) as writer:
        for first in range(0, deliveries // fan_out, PIECE):
            messages = min(PIECE, deliveries // fan_out - first)
            sender = random.integers(processes, size=messages)
            number = _count_on(sender, counts)
            sent = now + np.cumsum(random.exponential(1.0, messages))
            now = float(sent[-1])
            shift = random.permuted(np.tile(np.arange(1, processes), (1000, 1)), axis=1)
            to = sender[:, None] + shift[np.arange(messages) % 1000, :fan_out]
            to %= processes
            delay = delay_to[to]
            delay[random.random(to.shape) < FAULT_SHARE] *= 3
            senders, numbers = np.repeat(sender, fan_out), np.repeat(number, fan_out)
            parts = [waiting, rows_of(SEND, sender, sender, number, sent)]
            for kind, share in ((RECEIVE, random.random(to.shape)), (DELIVER, 1.0)):
                time = np.repeat(sent, fan_out) + (delay * share).ravel()
                parts.append(rows_of(kind, to.ravel(), senders, numbers, time))
            rows = np.concatenate(parts)
            rows = rows[np.argsort(rows["time"], kind="stable")]
            done = int(rows["time"].searchsorted(now, side="right"))
            sets = [(process_set(members), NO_STAMP, NO_STAMP) for members in to.tolist()]
            _write(writer, rows[:done], sets)
            waiting = rows[done:]
        _write(writer, waiting, [])


def _write(
    writer: TraceWriter, rows: npt.NDArray[np.void], sends: list[tuple[int, int, int]]
) -> None:
    """In row groups of the size that a recorder makes."""
    done = 0
    for first in range(0, len(rows), GROUP):
        chunk = rows[first : first + GROUP]
        until = done + int(np.count_nonzero(chunk["kind"] == SEND))
        writer.extend(chunk.tobytes(), sends[done:until])
        done = until


def _count_on(
    sender: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The number of each message among those of its sender, which `counts` has up to now."""
    by_sender = np.argsort(sender, kind="stable")
    new = np.bincount(sender, minlength=len(counts))
    number = np.empty(len(sender), np.int64)
    within = np.arange(len(sender)) - np.repeat(np.cumsum(new) - new, new)
    number[by_sender] = within + np.repeat(counts, new) + 1
    counts += new
    return number
