"""Naming the culprits of the early deliveries that are reported, in flat memory, too.

The same passes as those of `antecede.verify.witness`, made for a log that comes in pieces: which of
the overtaken messages was sent first, and a shortest causal path from it.
"""

from collections.abc import Sequence

import numpy as np

from antecede.compiled import loop_for
from antecede.errors import BrokenInvariant
from antecede.pipeline.audit.flights import BEYOND, NO_PREDECESSOR, Early, Pass, Scale
from antecede.pipeline.audit.log import Copies, Flow, Integers, Log, Positions, forget_copies
from antecede.pipeline.audit.windows import NONE
from antecede.verify.witness import search_forth

Path = tuple[tuple[int, int], ...]
"""Messages as sender and number, each of which depends on the one before."""


def find_culprits(log: Log, early: Sequence[Early]) -> list[Path]:
    """A path to each of these from the first message that it overtook."""
    overtaken = first_overtaken(log, early)
    paths: dict[Early, Path] = {}
    for first in dict.fromkeys(overtaken):
        of_first = [one for one, send in zip(early, overtaken, strict=True) if send == first]
        paths |= find_paths(log, first, of_first)
    forget_copies()
    return [paths[one] for one in early]


def first_overtaken(log: Log, early: Sequence[Early]) -> list[int]:
    """For each early delivery the send of the earliest sent message that it overtook.

    Every one has a column of the kernel to itself. A copy that it may have overtaken enters there,
    with a rank that is the larger the earlier it was sent: so the maximum is what we look for.
    """
    if not early:
        return []
    first, stop = log.first, max(one.send for one in early) + 1
    scale = Scale(0, stop - first + 1)
    kernel = Pass(len(log.processes), len(early), scale)
    flow = Flow()
    found = [NONE] * len(early)
    for piece in log.read(first, stop):
        step = flow.take(piece.copies, piece.stop)
        copy, column, asks = _entries(piece.copies, early)
        # The later a send, the lower its rank.
        rank = np.where(asks, NO_PREDECESSOR, scale.ranks(stop - piece.copies.send[copy]))
        start = step.offsets(copy, len(piece.copies))
        last = scale.positions(kernel.feed(step, start, column, rank).astype(np.int64))
        for entry in np.flatnonzero(asks).tolist():
            found[int(column[entry])] = stop - int(last[entry]) if last[entry] != NONE else NONE
        kernel.keep(flow.keep(step, piece.stop))
    if NONE in found:
        raise BrokenInvariant(f"nothing was overtaken by {early[found.index(NONE)]}")
    return found


def _entries(
    copies: Copies, early: Sequence[Early]
) -> tuple[Positions, Integers, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Which copies enter which columns, in order, and which of them are the early ones that ask."""
    delivery = np.where(copies.delivery == NONE, BEYOND, copies.delivery)
    parts = []
    for column, one in enumerate(early):
        there = copies.destination == one.destination
        chosen = np.flatnonzero(there & (copies.send <= one.send) & (delivery >= one.delivery))
        asks = copies.send[chosen] == one.send
        parts.append((chosen, np.full(len(chosen), column, np.int32), asks))
    copy, columns, asking = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(copy, kind="stable")
    return copy[order], columns[order], asking[order]


def find_paths(log: Log, first: int, early: Sequence[Early]) -> dict[Early, Path]:
    """Shortest causal paths to early messages from the one sent at `first`."""
    flow = Flow()
    previous, steps = np.empty(0, np.int64), np.empty(0, np.int32)
    nearest = np.full((2, len(log.processes)), -1, np.int64)
    heads: list[Copies] = []
    for piece in log.read(first, max(one.send for one in early) + 1):
        step = flow.take(piece.copies, piece.stop)
        new = len(step.heads)
        previous = np.concatenate([previous, np.full(new, -1, np.int64)])
        steps = np.concatenate([steps, np.zeros(new, np.int32)])
        is_send = step.message >= 0
        number = step.number[np.where(is_send, step.message, -1 - step.message)]
        message = np.where(is_send, number, -1 - number)
        loop_for(search_forth, len(message))(step.process, message, 0, previous, steps, nearest)
        heads.append(piece.copies.take(step.heads))
        flow.keep(step, piece.stop)
    sends, senders, numbers = (
        np.concatenate([getattr(part, name) for part in heads])
        for name in ("send", "sender", "number")
    )
    paths: dict[Early, Path] = {}
    for one in early:
        path = [int(sends.searchsorted(one.send))]
        while path[-1] != 0:
            if previous[path[-1]] < 0:
                raise BrokenInvariant(f"{one} does not depend on the message sent at {first}")
            path.append(int(previous[path[-1]]))
        told = reversed(path)
        paths[one] = tuple((int(senders[message]), int(numbers[message])) for message in told)
    return paths
