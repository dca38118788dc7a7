"""Passes of the kernel: over a whole run, over a window of it, over some destinations only.

Every pass gives `last`: for each copy the rank of the last predecessor of its message at its
destination, as the kernel's module says. Passes over parts add up by `numpy.maximum`:

- *Shards.* Cells of different destinations never meet, so `shard` may leave columns out.
- *Windows.* A predecessor matters as long as it is in flight, and every causal path from it to the
  message that it matters for lies within that stretch of the log. So a pass over a `window` may
  start with empty rows, and is right about every copy whose predecessors fly no longer than its
  lead; `stragglers` finds the copies that do.
- *Stragglers.* `enter_only` makes a pass in which only the chosen copies count as predecessors. It
  may be confined to their destinations and to the stretch of the log in which they fly.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from antecede.compiled import loop_for
from antecede.verify.kernel import NEVER, UNKNOWN, lowest_ranks, scan
from antecede.verify.prepare import Integers, Offsets, Prepared

NARROW_FROM: Final = 256
"""Columns from which on cells of 16 bits are faster than cells of 32."""

Chosen = npt.NDArray[np.bool_]


def last_predecessors(
    prepared: Prepared, cells: npt.DTypeLike | None = None, infinity: int | None = None
) -> Integers:
    """One pass, with its stragglers looked after. `cells` is the type of a cell, int32 or a
    narrower unsigned one; `infinity` is the value that ends its range, its largest."""
    if cells is None:
        cells = np.uint16 if prepared.width >= NARROW_FROM else np.int32
    last, late = scan_all(prepared, np.dtype(cells), infinity)
    if len(late):
        is_late = np.zeros(len(last), bool)
        is_late[late] = True
        add_stragglers(last, prepared, is_late)
    return last


def add_stragglers(last: Integers, prepared: Prepared, late: Chosen) -> None:
    """Bring to `last` what a pass without these copies has missed, by a pass of nothing else."""
    narrow, kept = shard(enter_only(prepared, late), prepared.column[late])
    more, _ = scan_all(narrow, np.dtype(np.int32))
    more[prepared.rank[kept] == NEVER] = 0
    last[kept] = np.maximum(last[kept], more)


def scan_all(
    prepared: Prepared, cells: np.dtype[Any], infinity: int | None = None
) -> tuple[Integers, Integers]:
    """One pass and its stragglers, which it did not take into account."""
    processes, width = len(prepared.column_of), prepared.width
    last = np.zeros(len(prepared.rank), np.int32)
    stragglers = np.empty(len(prepared.rank) if cells.itemsize < 4 else 0, np.int32)
    pool = max(4, processes)
    rows = np.zeros((processes + pool, width), cells)
    free = np.arange(processes, processes + pool, dtype=np.int32)
    progress = np.array([0, pool, 0], np.int64)
    base = _first_ranks(prepared) if cells.itemsize < 4 else np.zeros(width, np.int64)
    here = base.copy()
    row_of = np.empty(len(prepared.deliveries), np.int32)
    left = prepared.deliveries.copy()
    end = int(np.iinfo(cells).max) if infinity is None else infinity
    loop = loop_for(scan, len(prepared.process) * (width + 10))
    while True:
        loop(
            prepared.process,
            prepared.message,
            prepared.reached,
            prepared.start,
            prepared.column,
            prepared.rank,
            prepared.column_of,
            *(rows, base, here, row_of, left, free),
            *(last, stragglers, progress, end),
        )
        if progress[0] == len(prepared.process):
            return last, stragglers[: progress[2]]
        # Every row is in use: as many again.
        more = np.arange(len(rows), 2 * len(rows), dtype=np.int32)
        rows = np.concatenate([rows, np.zeros_like(rows)])
        free = np.concatenate([more, np.empty(len(free), np.int32)])
        progress[1] = len(more)


def _first_ranks(prepared: Prepared) -> Offsets:
    """Where to count from in each column: right before the first rank that is asked for."""
    first = np.full(prepared.width, NEVER, np.int64)
    loop_for(lowest_ranks, len(prepared.rank))(prepared.column, prepared.rank, first)
    return np.where(first == NEVER, 0, first - 1)


def shard(prepared: Prepared, processes: npt.ArrayLike) -> tuple[Prepared, Offsets]:
    """The same for these destinations only, and which of the copies those are."""
    wanted = np.asarray(processes)
    is_wanted = np.isin(prepared.column_of, wanted) & (prepared.column_of >= 0)
    column_of = np.where(is_wanted, np.cumsum(is_wanted) - 1, -1).astype(np.int32)
    renamed = np.full(prepared.width, -1, np.int32)
    renamed[prepared.column_of[is_wanted]] = column_of[is_wanted]
    column = renamed[prepared.column]
    kept = np.flatnonzero(column >= 0)
    start = kept.searchsorted(prepared.start)
    narrow = replace(
        prepared, start=start, column=column[kept], rank=prepared.rank[kept], column_of=column_of
    )
    return narrow, kept


def window(prepared: Prepared, first: int, stop: int) -> tuple[Prepared, slice]:
    """The events from `first` up to `stop`, as if nothing had happened before, and which of the
    copies they send."""
    before = int(np.count_nonzero(prepared.message[:first] >= 0))
    message = prepared.message[first:stop]
    start = prepared.start[before : before + np.count_nonzero(message >= 0) + 1]
    copies = slice(int(start[0]), int(start[-1]))
    part = replace(
        prepared,
        process=prepared.process[first:stop],
        message=message,
        reached=prepared.reached[first:stop],
        start=start - start[0],
        column=prepared.column[copies],
        rank=prepared.rank[copies],
    )
    return renumber(part, before), copies


def renumber(part: Prepared, before: int) -> Prepared:
    """A part whose events still have the numbers of the whole run, so many messages of which were
    sent before: with its own numbers and its own counts of deliveries."""
    is_send = part.message >= 0
    local = np.where(is_send, part.message - before, part.message + before)
    local[~is_send & (local >= 0)] = UNKNOWN
    known = -1 - local[(local < 0) & (local != UNKNOWN)]
    deliveries = np.bincount(known, minlength=len(part.start) - 1)
    return replace(part, message=local, deliveries=deliveries.astype(np.int32))


def enter_only(prepared: Prepared, chosen: Chosen) -> Prepared:
    """The same with only the chosen copies as predecessors of others."""
    # Rank 0 is below every other, so entering it changes no cell.
    return replace(prepared, rank=np.where(chosen, prepared.rank, 0).astype(np.int32))


def flights(prepared: Prepared, delivery: Integers) -> Integers:
    """For how many events each copy can matter: from its send to its `delivery` or, if that never
    comes, to the last delivery at its destination."""
    is_delivery = prepared.message < 0
    last_at = np.zeros(max(prepared.width, 1), np.int32)
    last_at[prepared.column_of[prepared.process[is_delivery]]] = np.flatnonzero(is_delivery)
    end = np.where(delivery >= 0, delivery, last_at[prepared.column])
    return np.maximum(end - sends_of_copies(prepared), 0).astype(np.int32)


def sends_of_copies(prepared: Prepared) -> Offsets:
    """Which event the send of each copy is."""
    return np.repeat(np.flatnonzero(prepared.message >= 0), np.diff(prepared.start))


def last_by_windows(
    prepared: Prepared, flight: Integers, borders: list[int], lead: int
) -> Integers:
    """The same as one pass over everything, in windows with these borders, each of which starts
    `lead` events early, and one pass for the copies that fly for longer. What a cluster does, in
    one process."""
    last = np.zeros(len(prepared.rank), np.int32)
    for own, stop in pairwise([0, *borders, len(prepared.process)]):
        part, copies = window(prepared, max(0, own - lead), stop)
        _, owned = window(prepared, own, stop)
        last[owned] = last_predecessors(part)[owned.start - copies.start :]
    late = flight > lead
    if late.any():
        sent = sends_of_copies(prepared)[late]
        first, stop = int(sent.min()), int((sent + flight[late]).max())
        part, copies = window(prepared, first, stop)
        add_stragglers(last[copies], part, late[copies])
    return last
