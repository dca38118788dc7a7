"""A linear extension for a run without positions, in one pass and in bounded memory.

The rows have been sorted by process and local order. The pass reads all processes side by side, a
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
from antecede.trace.names import Names, filled
from antecede.trace.schema import APP, DELIVER, KINDS, LAYERS, SEND, VIEW

COLUMNS: Final = ("kind", "author", "number", "row", "position", "seq")
MEMORY_BYTES: Final = 256 * 2**20
OUTPUT: Final = 500_000
ENDED, WRITE, POSITIONS = -1, -2, -3
_READ: Final = ["kind", "layer", "sender", "number", "row", "position", "seq"]

ORDER: Final = pa.schema([("process", pa.int32())])
"""What comes out: the process of every event, in the order that was found."""

Column = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sorted:
    """The rows of a run by process and local order, a process in one file; the names of processes,
    in whose order they take turns. `positions` are files of all positions that are known, in
    order."""

    files: tuple[str, ...]
    names: tuple[str, ...]
    positions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stuck:
    """An event at which a process waits in vain, for a message that is sent later or for nothing
    but the events that have lower positions."""

    process: str
    row: int
    seq: int
    kind: int
    sender: str
    number: int
    waits_for_message: bool
    send_seq: int = -1
    """The local place of the send of that message, if there is one."""


def merge(run: Sorted, out: str, slot: int | None = None) -> list[Stuck]:
    """Write the order of the events to the file `out`; or, if there is none, who is stuck."""
    names = Names(run.names)
    count = len(run.names)
    slot = slot or max(16, min(100_000, MEMORY_BYTES // (8 * len(COLUMNS) * max(count, 1))))
    places = _places(run, names)
    files = {file: pa.memory_map(file) for file, _, rows in places if rows}
    readers = [
        _read(files[file], first, rows, slot, names) if rows else iter(())
        for file, first, rows in places
    ]
    positions = _read_positions(run.positions)
    slots = np.zeros((len(COLUMNS), count, slot), np.int64)
    cursor, ready = np.zeros(count, np.int64), np.zeros(count, np.int64)
    remaining = np.array([rows for _, _, rows in places], np.int64)
    ring = np.flatnonzero(remaining > 0)
    ring = np.concatenate([ring, np.zeros(count - len(ring), np.int64)])
    state = np.array([0, np.count_nonzero(remaining), 0, 0], np.int64)
    sent = np.zeros(len(LAYERS) * count, np.int64)
    links = np.full((4, len(sent)), -1, np.int64)
    known = next(positions, np.empty(0, np.int64))
    output = np.empty(OUTPUT, np.int64)
    loop = loop_for(take_turns, int(remaining.sum()))
    partial = Path(f"{out}.partial")
    with pq.ParquetWriter(partial, ORDER) as writer:
        while True:
            asked = loop(slots, cursor, ready, remaining, ring, state, sent, links, known, output)
            if asked >= 0:
                part = next(readers[asked])
                slots[:, asked, : part.shape[1]] = part
                cursor[asked], ready[asked] = 0, part.shape[1]
            elif asked == POSITIONS:
                known, state[3] = next(positions, known[:0]), 0
                _wake(slots, cursor, ring, state, links[3], known)
            else:
                size = int(state[2])
                writer.write_table(pa.table([output[:size].astype(np.int32)], schema=ORDER))
                state[2] = 0
            if asked == ENDED:
                break
    if remaining.any():
        partial.unlink()
        return _stuck(run.names, slots, cursor, remaining, sent, places)
    partial.replace(out)
    return []


def _places(run: Sorted, names: Names) -> list[tuple[str, int, int]]:
    """Of each process its file, the first row there and how many rows."""
    places = [("", 0, 0)] * len(run.names)
    for file in run.files:
        start = 0
        process = names.codes(pq.read_table(file, columns=["process"])["process"])
        for code, count in enumerate(np.bincount(process[process >= 0]).tolist()):
            if count:
                places[code] = (file, int(np.argmax(process == code)), count)
                start += count
    return places


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
        output[state[2]] = p
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
    names: Sequence[str],
    slots: npt.NDArray[np.int64],
    cursor: Column,
    remaining: Column,
    sent: Column,
    places: Sequence[tuple[str, int, int]],
) -> list[Stuck]:
    found = []
    for process in np.flatnonzero(remaining > 0).tolist():
        kind, author, number, row, _, seq = slots[:, process, cursor[process]].tolist()
        waits = SEND < kind <= DELIVER and int(sent[author]) < number
        sender = author % len(names)
        send_seq = -1
        if waits and places[sender][2]:
            file, first, rows = places[sender]
            everything = _read(pa.memory_map(file), first, rows, OUTPUT, Names(names))
            for part in everything:
                here = (part[0] == SEND) & (part[1] == author) & (part[2] == number)
                send_seq = int(part[5][np.argmax(here)]) if here.any() else send_seq
        event = (names[process], row, seq, kind, names[sender], number)
        found.append(Stuck(*event, waits, send_seq))
    return found


def _read(
    file: pa.MemoryMappedFile, first: int, rows: int, size: int, names: Names
) -> Iterator[Column]:
    """Some rows of a file in numbers, in parts of at most this size."""
    stop = first + rows
    parquet = pq.ParquetFile(file, read_dictionary=["layer", "kind", "sender"])
    start = 0
    for group in range(parquet.num_row_groups):
        end = start + parquet.metadata.row_group(group).num_rows
        if start < stop and end > first:
            place = start
            for batch in parquet.iter_batches(batch_size=size, row_groups=[group], columns=_READ):
                cut = slice(max(first - place, 0), max(min(stop - place, len(batch)), 0))
                place += len(batch)
                if cut.start < cut.stop:
                    yield _in_numbers(batch.slice(cut.start, cut.stop - cut.start), names)
        start = end


def _in_numbers(batch: pa.RecordBatch, names: Names) -> Column:
    """The columns of events. What breaks a rule is no message: it stands in nobody's way here, and
    is found later."""
    kind, layer = Names(KINDS).words(batch["kind"], VIEW), Names(LAYERS).words(batch["layer"], APP)
    sender = names.codes(batch["sender"])
    known = (sender >= 0) & (sender < len(names.names)) & (layer < len(LAYERS))
    author = np.where(known, layer.astype(np.int64) * len(names.names) + sender, 0)
    number, row, position, seq = (
        filled(batch[name], pa.int64(), NULL) for name in ("number", "row", "position", "seq")
    )
    return np.stack([np.where(known, kind, VIEW), author, number, row, position, seq])


def _read_positions(files: Sequence[str]) -> Iterator[Column]:
    for file in files:
        with pq.ParquetFile(file) as parquet:
            for batch in parquet.iter_batches(columns=["position"]):
                position: Column = filled(batch["position"], pa.int64(), NULL)
                if (position != NULL).any():
                    yield position[position != NULL]
