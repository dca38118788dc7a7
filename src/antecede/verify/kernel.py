"""Early deliveries and what every delivery had to wait for, in one pass over a run.

Let the deliveries at a process q have ranks 1, 2, 3 ... For every process p there is one row of
cells: the cell of q is the largest rank, at q, of all messages addressed to q whose send is in p's
past. A send of m at p reads the cell of each destination q: that is the rank of the last of m's
*predecessors* there. Then it enters the ranks of m itself; m carries a copy of the row, and a
process that delivers m takes, cell by cell, the larger value. Ranks at q are distinct and a maximum
does not mind by how many paths a predecessor is known, so m came too early at q exactly when its
last predecessor has a larger rank there than m. A copy that is never delivered has rank `NEVER`.

Only ranks that q has not reached yet matter: whoever sends now is delivered there later. So a cell
may hold the rank relative to a base that follows q along, which lets 16 bits do. A rank too far
ahead of the base is not entered, but listed as a *straggler*; `antecede.verify.passes` looks after
those in a second, narrow pass.

Run on ranks of arrival in place of delivery, the same pass gives the predecessor that arrived last.
"""

from typing import Any, Final

import numpy as np

NEVER: Final = int(np.iinfo(np.int32).max)
UNKNOWN: Final = int(np.iinfo(np.int32).min)
"""Marks the delivery of a message that was sent before the pass begins."""

Column = np.ndarray[Any, Any]


def scan(
    process: Column,
    message: Column,
    reached: Column,
    start: Column,
    column: Column,
    rank: Column,
    column_of: Column,
    rows: Column,
    base: Column,
    here: Column,
    row_of: Column,
    left: Column,
    free: Column,
    last: Column,
    stragglers: Column,
    progress: Column,
    infinity: int,
) -> None:
    """Go over the events from `progress[0]` on, until the end or until there is no free row.

    Events: `message` m >= 0 is the send of m at `process`, -1 - m its delivery there; with a
    delivery, `reached` is the rank that its process has reached; if it is empty, every delivery
    reaches the next one, from the beginning of the run. The copies of m are those from
    `start[m]` to `start[m + 1]`, with `column` and `rank` of the destination. Process p has the row
    p, and the column `column_of[p]` or -1. Cells are relative to `base`, `infinity` is the cell of
    `NEVER`; `here` is what has been reached at a column. `row_of` and `left` give the row of a
    message in flight and how many deliveries it has to come; `free[:progress[1]]` are the rows that
    nobody uses. Out come `last`, the rank of the last predecessor of each copy, 0 if its
    destination has reached that already, and `stragglers[:progress[2]]`.
    """
    width = rows.shape[1]
    spare = progress[1]
    late = progress[2]
    event = progress[0]
    while event < len(process):
        p = process[event]
        m = message[event]
        if m >= 0:
            if left[m] > 0 and spare == 0:
                break
            row = rows[p]
            for copy in range(start[m], start[m + 1]):
                q = column[copy]
                cell = row[q]
                r = rank[copy]
                if r == NEVER:
                    row[q] = infinity
                    continue
                if cell == infinity:
                    last[copy] = NEVER
                    continue
                known = base[q] + cell
                if known > here[q]:
                    last[copy] = known
                ahead = r - base[q]
                if ahead >= infinity:
                    stragglers[late] = copy
                    late += 1
                elif ahead > cell:
                    row[q] = ahead
            if left[m] > 0:
                spare -= 1
                row_of[m] = free[spare]
                carried = rows[free[spare]]
                for q in range(width):
                    carried[q] = row[q]
        else:
            q = column_of[p]
            if q >= 0:
                here[q] = max(here[q], reached[event]) if len(reached) > 0 else here[q] + 1
                moved = here[q] - base[q]
                if moved > infinity // 2:
                    base[q] += moved
                    for any_row in range(len(rows)):
                        cell = rows[any_row, q]
                        if cell != infinity:
                            rows[any_row, q] = cell - moved if cell > moved else 0
            if m != UNKNOWN:
                m = -1 - m
                row = rows[p]
                carried = rows[row_of[m]]
                for q in range(width):
                    row[q] = carried[q] if carried[q] > row[q] else row[q]
                left[m] -= 1
                if left[m] == 0:
                    free[spare] = row_of[m]
                    spare += 1
        event += 1
    progress[0] = event
    progress[1] = spare
    progress[2] = late


def lowest_ranks(column: Column, rank: Column, lowest: Column) -> None:
    """Bring down `lowest` to the smallest rank above 0 in each column."""
    for copy in range(len(rank)):
        if 0 < rank[copy] < lowest[column[copy]]:
            lowest[column[copy]] = rank[copy]
