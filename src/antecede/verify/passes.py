"""Passes of the kernel: over a whole run, or over some destinations only.

Every pass gives `last`: for each copy the rank of the last predecessor of its message at its
destination, as the kernel's module says. Passes over parts add up by `numpy.maximum`:

- *Shards.* Cells of different destinations never meet, so `shard` may leave columns out.
- *Stragglers.* `enter_only` makes a pass in which only the chosen copies count as predecessors.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from antecede.compiled import loop_for
from antecede.errors import Misuse
from antecede.trace.joined import NEVER, Integers, Offsets, Prepared
from antecede.verify.kernel import Cells, lowest_ranks, scan

NARROW_FROM: Final = 256
"""Columns from which on cells of 16 bits are faster than cells of 32."""
SHARD: Final = 2048
"""Destinations from which on Spark deals them out to several tasks."""

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
    is_narrow = cells.itemsize < 4
    base = _first_ranks(prepared) if is_narrow else np.zeros(prepared.width, np.int64)
    state = empty_cells(len(prepared.column_of), prepared.width, cells)._replace(
        base=base,
        here=base.copy(),
        row_of=np.empty(len(prepared.deliveries), np.int32),
        left=prepared.deliveries.copy(),
        last=np.zeros(len(prepared.rank), np.int32),
        stragglers=np.empty(len(prepared.rank) if is_narrow else 0, np.int32),
    )
    state = scan_to_the_end(prepared, state, infinity)
    return state.last, state.stragglers[: state.progress[2]]


def scan_to_the_end(prepared: Prepared, state: Cells, infinity: int | None = None) -> Cells:
    """Let the kernel go over all events, with as many rows as that takes."""
    end = int(np.iinfo(state.rows.dtype).max) if infinity is None else infinity
    loop = loop_for(scan, len(prepared.process) * (state.rows.shape[1] + 10))
    while True:
        loop(prepared, state, end)
        if state.progress[0] == len(prepared.process):
            return state
        # Every row is in use: as many again.
        count = len(state.rows)
        state.progress[1] = count
        more = np.arange(count, 2 * count, dtype=np.int32)
        state = state._replace(
            rows=np.concatenate([state.rows, np.zeros_like(state.rows)]),
            free=np.concatenate([more, np.empty(len(state.free), np.int32)]),
        )


def empty_cells(processes: int, width: int, cells: np.dtype[Any]) -> Cells:
    """The cells of a pass that is yet to begin, without what belongs to its messages."""
    pool = max(4, processes)
    nothing = np.empty(0, np.int32)
    try:
        rows = np.zeros((processes + pool, width), cells)
    except MemoryError as error:
        needed = (processes + pool) * width * cells.itemsize / 2**30
        raise Misuse(
            f"{processes:,} processes take up to {needed:,.0f} GiB of memory, more than there is; "
            f"--engine spark judges {SHARD:,} destinations at a time"
        ) from error
    return Cells(
        rows=rows,
        base=np.zeros(width, np.int64),
        here=np.zeros(width, np.int64),
        row_of=nothing,
        left=nothing,
        free=np.arange(processes, processes + pool, dtype=np.int32),
        last=nothing,
        stragglers=nothing,
        progress=np.array([0, pool, 0], np.int64),
    )


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
    narrow = prepared._replace(
        start=start,
        column=column[kept],
        rank=prepared.rank[kept],
        floor=prepared.floor[kept] if len(prepared.floor) else prepared.floor,
        column_of=column_of,
    )
    return narrow, kept


def enter_only(prepared: Prepared, chosen: Chosen) -> Prepared:
    """The same with only the chosen copies as predecessors of others."""
    # Rank 0 is below every other, so entering it changes no cell.
    return prepared._replace(rank=np.where(chosen, prepared.rank, 0).astype(np.int32))
