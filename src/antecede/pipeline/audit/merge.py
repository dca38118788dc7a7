"""A linear extension for a run without positions, in one pass and in bounded memory.

SQL has sorted the events by process and local order. The pass reads all processes side by side, a
few events of each at a time, and lets them take turns, as `antecede.trace.extension` does in
memory: it finds the same order. A message counts as sent when its sender has sent that many, so
nothing is kept about messages at all. If all processes wait for one another, there is a cycle.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.compiled import loop_for
from antecede.trace.events import NULL
from antecede.trace.schema import DELIVER, SEND

COLUMNS: Final = ("kind", "author", "number", "row", "position")
MEMORY_BYTES: Final = 256 * 2**20
OUTPUT: Final = 500_000
ENDED, WRITE, POSITIONS = -1, -2, -3

PLACED: Final = pa.schema([("row", pa.int64()), ("position", pa.int64())])

Column = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sorted:
    """The events of a run by process and local order: of each process its file, the first row there
    and how many rows. `positions` are files of all positions that are known, in order."""

    processes: tuple[tuple[str, int, int], ...]
    positions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stuck:
    """An event at which a process waits in vain, for a message that is sent later or for nothing
    but the events that have lower positions."""

    process: int
    row: int
    author: int
    number: int
    waits_for_message: bool


def merge(run: Sorted, authors: int, out: str, slot: int | None = None) -> list[Stuck]:
    """Write the place of every event to the file `out`; or, if there is no order, who is stuck."""
    count = len(run.processes)
    slot = slot or max(16, min(100_000, MEMORY_BYTES // (8 * len(COLUMNS) * max(count, 1))))
    files = {file: pa.memory_map(file) for file, _, rows in run.processes if rows}
    readers = [
        _read(files[file], first, rows, slot) if rows else iter(())
        for file, first, rows in run.processes
    ]
    positions = _read_positions(run.positions)
    slots = np.zeros((len(COLUMNS), count, slot), np.int64)
    cursor, filled = np.zeros(count, np.int64), np.zeros(count, np.int64)
    remaining = np.array([rows for _, _, rows in run.processes], np.int64)
    ring = np.flatnonzero(remaining > 0)
    ring = np.concatenate([ring, np.zeros(count - len(ring), np.int64)])
    state = np.array([0, np.count_nonzero(remaining), 0, 0], np.int64)
    sent = np.zeros(authors, np.int64)
    links = np.full((4, max(authors, count)), -1, np.int64)
    known = next(positions, np.empty(0, np.int64))
    output = np.empty(OUTPUT, np.int64)
    loop = loop_for(take_turns, int(remaining.sum()))
    placed = 0
    partial = Path(f"{out}.partial")
    with pq.ParquetWriter(partial, PLACED) as writer:
        while True:
            asked = loop(slots, cursor, filled, remaining, ring, state, sent, links, known, output)
            if asked >= 0:
                part = next(readers[asked])
                slots[:, asked, : part.shape[1]] = part
                cursor[asked], filled[asked] = 0, part.shape[1]
            elif asked == POSITIONS:
                known, state[3] = next(positions, known[:0]), 0
                _wake(slots, cursor, ring, state, links[3], known)
            else:
                size = int(state[2])
                place = np.arange(placed, placed + size)
                writer.write_table(pa.table([output[:size], place], schema=PLACED))
                placed, state[2] = placed + size, 0
            if asked == ENDED:
                break
    if remaining.any():
        partial.unlink()
        return _stuck(slots, cursor, remaining, sent)
    partial.replace(out)
    return []


def take_turns(
    slots: npt.NDArray[np.int64],
    cursor: Column,
    filled: Column,
    remaining: Column,
    ring: Column,
    state: Column,
    sent: Column,
    links: npt.NDArray[np.int64],
    known: Column,
    output: Column,
) -> int:
    """Go on until something is needed: more events of a process (its number is the answer), room
    for output, more positions, or nothing any more. `state`: the head of the ring of processes that
    may go on, how many there are, how much output, how many of the known positions are done.
    `links`: by author, the first and the last process that waits for one of its messages; by
    process, the next one that waits for the same author, and whether it waits for positions."""
    turns = len(ring)
    first, final, following, parked = links[0], links[1], links[2], links[3]
    while True:
        if state[3] == len(known) and state[3] > 0:
            return POSITIONS
        if state[1] == 0:
            return ENDED
        if state[2] == len(output):
            return WRITE
        p = ring[state[0]]
        if cursor[p] == filled[p]:
            return int(p)
        at = cursor[p]
        kind = slots[0, p, at]
        author = slots[1, p, at]
        number = slots[2, p, at]
        position = slots[4, p, at]
        state[0] = (state[0] + 1) % turns
        state[1] -= 1
        if SEND < kind <= DELIVER and sent[author] < number:
            if first[author] < 0:
                first[author] = p
            else:
                following[final[author]] = p
            final[author] = p
            following[p] = -1
            continue
        if position != NULL and len(known) > 0 and position != known[state[3]]:
            parked[p] = 1  # until the positions have come that far
            continue
        output[state[2]] = slots[3, p, at]
        state[2] += 1
        cursor[p] += 1
        remaining[p] -= 1
        if remaining[p] > 0:
            ring[(state[0] + state[1]) % turns] = p
            state[1] += 1
        if kind == SEND:
            sent[author] += 1
            before = -1
            waiting = first[author]
            while waiting >= 0:
                after = following[waiting]
                if slots[2, waiting, cursor[waiting]] <= sent[author]:
                    if before < 0:
                        first[author] = after
                    else:
                        following[before] = after
                    if final[author] == waiting:
                        final[author] = before
                    ring[(state[0] + state[1]) % turns] = waiting
                    state[1] += 1
                else:
                    before = waiting
                waiting = after
        if position != NULL and len(known) > 0:
            state[3] += 1
            if state[3] < len(known):
                for q in range(turns):
                    if parked[q] > 0 and slots[4, q, cursor[q]] == known[state[3]]:
                        parked[q] = -1
                        ring[(state[0] + state[1]) % turns] = q
                        state[1] += 1


def _wake(
    slots: npt.NDArray[np.int64],
    cursor: Column,
    ring: Column,
    state: Column,
    parked: Column,
    known: Column,
) -> None:
    """Let the process go on that waits for the first of some positions."""
    for q in np.flatnonzero(parked[: len(ring)] > 0).tolist() if len(known) else ():
        if slots[4, q, cursor[q]] == known[0]:
            parked[q] = -1
            ring[(state[0] + state[1]) % len(ring)] = q
            state[1] += 1


def _stuck(
    slots: npt.NDArray[np.int64], cursor: Column, remaining: Column, sent: Column
) -> list[Stuck]:
    found = []
    for process in np.flatnonzero(remaining > 0).tolist():
        kind, author, number, row, _ = slots[:, process, cursor[process]].tolist()
        waits = SEND < kind <= DELIVER and int(sent[author]) < number
        found.append(Stuck(process, row, author, number, waits))
    return found


def _read(file: pa.MemoryMappedFile, first: int, rows: int, size: int) -> Iterator[Column]:
    """Some rows of a file, in parts of at most this size."""
    stop = first + rows
    parquet = pq.ParquetFile(file)
    start = 0
    for group in range(parquet.num_row_groups):
        end = start + parquet.metadata.row_group(group).num_rows
        if start < stop and end > first:
            place = start
            for batch in parquet.iter_batches(
                batch_size=size, row_groups=[group], columns=list(COLUMNS)
            ):
                cut = slice(max(first - place, 0), max(min(stop - place, len(batch)), 0))
                place += len(batch)
                if cut.start < cut.stop:
                    yield np.stack([_column(batch, name)[cut] for name in COLUMNS])
        start = end


def _read_positions(files: Sequence[str]) -> Iterator[Column]:
    for file in files:
        with pq.ParquetFile(file) as parquet:
            for batch in parquet.iter_batches(columns=["position"]):
                if len(batch):
                    yield _column(batch, "position")


def _column(batch: pa.RecordBatch, name: str) -> Column:
    column: Column = batch[name].cast(pa.int64()).fill_null(NULL).to_numpy(zero_copy_only=False)
    return column
