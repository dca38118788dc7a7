"""Passes of the kernel: over a whole run, or over some destinations only.

Every pass gives `last`: for each copy the rank of the last predecessor of its message at its
destination, as the kernel's module says. Passes over parts add up by `numpy.maximum`:

- *Shards.* Cells of different destinations never meet, so `shard` may leave columns out.
- *Stragglers.* `enter_only` makes a pass in which only the chosen copies count as predecessors.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from antecede.compiled import loop_for
from antecede.verify.kernel import NEVER, lowest_ranks, scan
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


def enter_only(prepared: Prepared, chosen: Chosen) -> Prepared:
    """The same with only the chosen copies as predecessors of others."""
    # Rank 0 is below every other, so entering it changes no cell.
    return replace(prepared, rank=np.where(chosen, prepared.rank, 0).astype(np.int32))
