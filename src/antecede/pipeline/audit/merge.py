"""A linear extension for a run without positions, in one pass and in bounded memory.

The rows have been sorted by process and local order. The pass reads all processes side by side, a
few events of each at a time, and lets them take turns by the loop that `antecede.trace.extension`
uses in memory: it finds the same order. A message counts as sent when its sender has sent that
many, so nothing is kept about messages at all. If all processes wait for one another, there is a
cycle.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.compiled import loop_for
from antecede.files import aside, path_of
from antecede.trace.events import NULL
from antecede.trace.extension import ENDED, POSITIONS, WRITE, Stuck, Turns, take_turns
from antecede.trace.names import Names, filled
from antecede.trace.schema import APP, KINDS, LAYERS, SEND, VIEW

COLUMNS: Final = ("kind", "author", "number", "row", "position", "seq")
MEMORY_BYTES: Final = 256 * 2**20
OUTPUT: Final = 500_000
_READ: Final = ["kind", "layer", "sender", "number", "row", "position", "seq"]
NEEDED: Final = ("process", *_READ)
"""The columns of rows that have a say."""

FOUND: Final = np.dtype("<i8")
"""What comes out: a file of numbers, the position of every row of the trace."""

Column = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sorted:
    """The rows of a run by process and local order, a process in one file; the names of processes,
    in whose order they take turns; how many rows the trace has. `positions` are files of all
    positions that are known, in order."""

    files: tuple[str, ...]
    names: tuple[str, ...]
    rows: int
    positions: tuple[str, ...] = ()


def merge(run: Sorted, out: str, slot: int | None = None) -> list[Stuck]:
    """Write the positions that are found to the file `out`; or, if there are none, tell who is
    stuck."""
    names = Names(run.names)
    count = len(run.names)
    slot = slot or max(16, min(100_000, MEMORY_BYTES // (8 * len(COLUMNS) * max(count, 1))))
    places = _places(run, names)
    files = {file: pa.memory_map(file) for file, _, rows in places if rows}
    readers = [
        _read(files[file], first, rows, slot, names) if rows else iter(())
        for file, first, rows in places
    ]
    positions = _read_positions(run.positions, names)
    nothing = (np.empty(0, np.int64), np.empty(0, np.int64))
    slots = np.zeros((len(COLUMNS), count * slot), np.int64)
    turns = Turns.begin(np.array([rows for _, _, rows in places], np.int64))
    known, owner = next(positions, nothing)
    output = np.empty(OUTPUT, np.int64)
    loop = loop_for(take_turns, int(turns.remaining.sum()))
    with aside(path_of(out)) as partial:
        found = np.memmap(partial, FOUND, "w+", shape=(run.rows,))
        done, asked = 0, WRITE
        while asked != ENDED:
            asked = loop(slots, turns, known, owner, output)
            if asked >= 0:
                part, start = next(readers[asked]), asked * slot
                end = start + part.shape[1]
                slots[:, start:end] = part
                turns.cursor[asked], turns.filled[asked] = start, end
            elif asked == POSITIONS:
                (known, owner), turns.state[3] = next(positions, nothing), 0
            else:
                size = int(turns.state[2])
                found[output[:size]] = np.arange(done, done + size)
                done += size
                turns.state[2] = 0
        found.flush()
        if turns.remaining.any():
            partial.unlink()
            return _stuck(run.names, slots, turns, places)
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


def _stuck(
    names: Sequence[str],
    slots: npt.NDArray[np.int64],
    turns: Turns,
    places: Sequence[tuple[str, int, int]],
) -> list[Stuck]:
    found = []
    for process in np.flatnonzero(turns.remaining).tolist():
        kind, author, number, row, _, seq = slots[:, turns.cursor[process]].tolist()
        waits = turns.waits(slots, process)
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


def _read_positions(files: Sequence[str], names: Names) -> Iterator[tuple[Column, Column]]:
    """The positions that are given, in order, and the processes of their events."""
    for file in files:
        with pq.ParquetFile(file, read_dictionary=["process"]) as parquet:
            for batch in parquet.iter_batches(columns=["position", "process"]):
                position: Column = filled(batch["position"], pa.int64(), NULL)
                given = position != NULL
                if given.any():
                    owner = names.codes(batch["process"]).astype(np.int64)
                    yield position[given], owner[given]
