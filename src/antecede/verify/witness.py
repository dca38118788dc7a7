"""Naming the culprits, for the early deliveries that are reported and for no others.

The kernel knows that a delivery overtook something, not what. Two narrow passes over the log find
out, both confined to the stretch in which the overtaken messages were in flight: one backwards, for
the earliest sent message that each delivery overtook, and one forwards for each of these, for a
shortest causal path from it.
"""

from collections.abc import Iterator

import numpy as np

from antecede.compiled import loop_for
from antecede.errors import BrokenInvariant
from antecede.trace.joined import Column, Joined, Offsets


def first_early(joined: Joined, early: Offsets, limit: int) -> Offsets:
    """The first so many of the early copies, in the order of delivery."""
    return early[np.argsort(joined.delivery[early], kind="stable")][:limit]


def overtaken_messages(joined: Joined, copies: Offsets) -> Offsets:
    """For each of these early copies the earliest sent message that it overtook."""
    prepared = joined.prepared
    message = np.searchsorted(prepared.start, copies, side="right") - 1
    last = joined.send[message].astype(np.int64)
    oldest = np.searchsorted(prepared.start, _candidates(joined, copies), side="right") - 1
    first = joined.send[oldest].astype(np.int64)
    found = np.full(len(copies), -1, np.int64)
    for together in _overlapping(first, last):
        # Going backwards, a copy joins in where its message was sent.
        order = together[np.argsort(-last[together], kind="stable")]
        stretch = int(first[together].min()), int(last[together].max()) + 1
        messages = int(oldest[together].min()), int(message[together].max()) + 1
        found[order] = _overtaken(joined, copies[order], message[order], stretch, messages)
    return found


def _candidates(joined: Joined, copies: Offsets) -> Offsets:
    """For each of these early copies the first one to the same process that is delivered later, or
    never: it overtook nothing that was sent before."""
    prepared = joined.prepared
    destination, rank = prepared.column[copies], prepared.rank[copies]
    order = np.lexsort((rank, destination))
    first_of = np.searchsorted(destination[order], np.arange(len(prepared.column_of) + 1))
    found = np.full(len(copies), -1, np.int64)
    loop_for(find_later, len(prepared.rank))(
        prepared.column, prepared.rank, rank[order], first_of[:-1].copy(), first_of[1:], found
    )
    if (found < 0).any():
        raise BrokenInvariant("a delivery is early, but overtook nothing")
    candidates = np.empty_like(found)
    candidates[order] = found
    return candidates


def find_later(
    column: Column, rank: Column, early_rank: Column, begin: Column, end: Column, found: Column
) -> None:
    """The early copies to q are those from `begin[q]` to `end[q]`, by their ranks: find for each
    the first of all copies that has a larger one."""
    left = len(early_rank)
    for copy in range(len(rank)):
        if left == 0:
            break
        q = column[copy]
        while begin[q] < end[q] and early_rank[begin[q]] < rank[copy]:
            found[begin[q]] = copy
            begin[q] += 1
            left -= 1


def _overlapping(first: Offsets, last: Offsets) -> Iterator[Offsets]:
    """The stretches from `first` to `last`, those together that overlap."""
    order = np.argsort(first, kind="stable")
    reach = np.maximum.accumulate(last[order])
    borders = np.flatnonzero(first[order][1:] > reach[:-1]) + 1
    if len(order):
        yield from np.split(order, borders)


def _overtaken(
    joined: Joined,
    copies: Offsets,
    message: Offsets,
    stretch: tuple[int, int],
    messages: tuple[int, int],
) -> Offsets:
    """The same for copies that come in the reverse order of their sends, given in which stretch of
    the log to look, and which messages are sent there."""
    prepared = joined.prepared
    lanes = (len(copies) + 63) // 64
    destination = prepared.column[copies]
    by_destination = np.argsort(destination, kind="stable")
    found = np.full(len(copies), -1, np.int64)
    # Many short stretches are as much work as a long one.
    loop_for(search_back, len(prepared.process))(
        prepared.process,
        prepared.message,
        prepared.start,
        prepared.column,
        prepared.rank,
        by_destination,
        np.searchsorted(destination[by_destination], np.arange(len(prepared.column_of) + 1)),
        message,
        prepared.rank[copies],
        np.zeros((len(prepared.column_of), lanes), np.uint64),
        np.zeros((messages[1] - messages[0], lanes), np.uint64),
        *stretch,
        messages[0],
        found,
    )
    return found


def search_back(
    process: Column,
    message: Column,
    start: Column,
    column: Column,
    rank: Column,
    by_destination: Column,
    first_of: Column,
    early_message: Column,
    early_rank: Column,
    lanes_of_process: Column,
    lanes_of_message: Column,
    first: int,
    stop: int,
    first_message: int,
    found: Column,
) -> None:
    """From the last event down to `first`. Every early copy has a lane of bits: its bit is set at a
    process when what the process did up to here is in the past of the copy's message, and at a
    message when a delivery of it is. A send with the bit set is in that past; the last one found
    that was overtaken is the earliest sent. The early copies to q are those in
    `by_destination[first_of[q] : first_of[q + 1]]`. `first_message` is the first one sent here."""
    joining = 0
    one = np.uint64(1)
    for event in range(stop - 1, first - 1, -1):
        p = process[event]
        m = message[event]
        if m < 0:
            place = -1 - m - first_message
            for lane in range(lanes_of_process.shape[1] if place >= 0 else 0):
                lanes_of_message[place, lane] |= lanes_of_process[p, lane]
            continue
        for lane in range(lanes_of_process.shape[1]):
            lanes_of_process[p, lane] |= lanes_of_message[m - first_message, lane]
        for copy in range(start[m], start[m + 1]):
            for place in range(first_of[column[copy]], first_of[column[copy] + 1]):
                early = by_destination[place]
                if (
                    rank[copy] > early_rank[early]
                    and (lanes_of_process[p, early // 64] >> np.uint64(early % 64)) & one
                ):
                    found[early] = m
        # A message is no predecessor of itself: its own lanes begin with what came before.
        while joining < len(early_message) and early_message[joining] == m:
            lanes_of_process[p, joining // 64] |= one << np.uint64(joining % 64)
            joining += 1


def shortest_path(joined: Joined, first: int, second: int) -> list[int]:
    """A shortest causal path from one message to another that depends on it, both included: each
    was sent by a process after it had sent or delivered the one before."""
    prepared = joined.prepared
    begin, end = int(joined.send[first]), int(joined.send[second])
    previous = np.full(second - first + 1, -1, np.int64)
    steps = np.zeros(second - first + 1, np.int32)
    nearest = np.full((2, len(prepared.column_of)), -1, np.int64)
    loop_for(search_forth, len(prepared.process))(
        prepared.process[begin : end + 1],
        prepared.message[begin : end + 1],
        first,
        previous,
        steps,
        nearest,
    )
    path = [second]
    while path[-1] != first:
        if previous[path[-1] - first] < 0:
            raise BrokenInvariant(f"message {second} does not depend on message {first}")
        path.append(int(previous[path[-1] - first]))
    return path[::-1]


def search_forth(
    process: Column,
    message: Column,
    first: int,
    previous: Column,
    steps: Column,
    nearest: Column,
) -> None:
    """Over the events from the send of `first` on: for every process the message nearest to `first`
    that it has sent or delivered, and how many steps away (`nearest`); a message that it sends is
    one step further (`previous` and `steps`, counted from `first`)."""
    for event in range(len(process)):
        p = process[event]
        m = message[event]
        if m == first:
            nearest[0, p] = m
            nearest[1, p] = 0
        elif m >= 0:
            if nearest[0, p] >= 0:
                previous[m - first] = nearest[0, p]
                steps[m - first] = nearest[1, p] + 1
        else:
            m = -1 - m
            if m < first:
                continue
            away = steps[m - first]
            reached = m == first or previous[m - first] >= 0
            if reached and (nearest[0, p] < 0 or away < nearest[1, p]):
                nearest[0, p] = m
                nearest[1, p] = away
