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

from typing import NamedTuple

from antecede.trace.joined import NEVER, Column, Prepared


class Cells(NamedTuple):
    """What a pass keeps. The first rows are those of the processes, the others come from a pool."""

    rows: Column
    base: Column
    """What the cells of a column are relative to,"""
    here: Column
    """and the rank that its process has reached."""
    row_of: Column
    """The row of each message in flight,"""
    left: Column
    """and how many of its deliveries are to come."""
    free: Column
    """`free[: progress[1]]` are the rows that nobody uses."""
    last: Column
    """Comes out: the rank of the last predecessor of each copy, 0 if its destination had reached
    that when it was sent."""
    stragglers: Column
    """Comes out: `stragglers[: progress[2]]` are copies that were not entered."""
    progress: Column
    """The next event, the free rows, the stragglers."""


def scan(log: Prepared, cells: Cells, infinity: int) -> None:
    """Go over the events from `progress[0]` on, until the end or until there is no free row.
    `infinity` is the cell of `NEVER`."""
    process, message, start = log.process, log.message, log.start
    column, rank, floor, column_of = log.column, log.rank, log.floor, log.column_of
    rows, base, here = cells.rows, cells.base, cells.here
    row_of, left, free, last = cells.row_of, cells.left, cells.free, cells.last
    width = rows.shape[1]
    counts = len(floor) == 0
    spare = cells.progress[1]
    late = cells.progress[2]
    event = cells.progress[0]
    while event < len(process):
        p = process[event]
        m = message[event]
        if m >= 0:
            if left[m] > 0 and spare == 0:
                break
            row = rows[p]
            for copy in range(start[m], start[m + 1]):
                q = column[copy]
                if not counts:
                    here[q] = floor[copy]
                    if here[q] - base[q] > infinity // 2:
                        rebase(rows, base, here, q, infinity)
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
                    cells.stragglers[late] = copy
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
            if counts and column_of[p] >= 0:
                q = column_of[p]
                here[q] += 1
                if here[q] - base[q] > infinity // 2:
                    rebase(rows, base, here, q, infinity)
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
    cells.progress[0] = event
    cells.progress[1] = spare
    cells.progress[2] = late


def rebase(rows: Column, base: Column, here: Column, q: int, infinity: int) -> None:
    """Let the cells of a column be relative to what has been reached there."""
    moved = here[q] - base[q]
    base[q] = here[q]
    for row in range(len(rows)):
        cell = rows[row, q]
        if cell != infinity:
            rows[row, q] = cell - moved if cell > moved else 0


def lowest_ranks(column: Column, rank: Column, lowest: Column) -> None:
    """Bring down `lowest` to the smallest rank above 0 in each column."""
    for copy in range(len(rank)):
        if 0 < rank[copy] < lowest[column[copy]]:
            lowest[column[copy]] = rank[copy]
