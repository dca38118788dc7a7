"""The rules of the format over a stretch of a run whose rows stand in the order of positions.

A task has a *window* of the rows, its own, and some rows before (*lead*) and behind it (*tail*).
Like `antecede.trace.quick` the pass either accepts the stretch or says nothing. What a rule says
about the rest of the run (that `seq` goes on where it stopped, that a message was sent at all) the
task cannot know; it gives back what it takes to find out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from antecede.compiled import loop_for
from antecede.pipeline.audit.columns import Columns
from antecede.pipeline.audit.flow import NONE
from antecede.trace.events import NULL, Codes, Events, Integers, Words, offsets_of
from antecede.trace.schema import DELIVER, LAYERS, SEND, VIEW

Flags = npt.NDArray[np.bool_]

UNSEEN = -1


@dataclass(frozen=True)
class Extent:
    """Which rows of a stretch are a task's own, and which of its own rows the task before surely
    has in its tail: those up to `near`, as far as messages sent from `previous` on go."""

    first: int
    stop: int
    previous: int
    near: int


@dataclass(frozen=True, eq=False)
class Examined:
    """A stretch that was accepted. Only own rows count, where nothing else is said."""

    events: Events
    """All of them; what belongs to a message sent before the stretch looks like a view."""
    extent: Extent
    next_seq: Integers
    """Behind the last own row: the next `seq` of each process, `UNSEEN` if it has no row so far."""
    sent: Integers
    """The same for the last number of every author, which is a layer and a process."""
    deliveries: int
    """In the layer that is judged."""
    last_delivery: Integers
    """The position of the last delivery of others' messages at each process in that layer."""
    late: Codes
    """Rows about messages sent elsewhere, unless the task before has surely seen them,"""
    late_kind: Words
    """what each is,"""
    late_send: Integers
    """and the row of the send, if it is in the stretch, else -1."""
    open: Integers
    """Places in `events.destination`: copies that have not been delivered at the end of the
    stretch."""


def examine(columns: Columns, processes: int, extent: Extent, judged: int) -> Examined | None:
    """Go over a stretch; nothing if something about it is not as it should be."""
    start = offsets_of(np.maximum(columns.listed, 0))
    destination = columns.destination
    is_send = columns.kind == SEND
    if (columns.listed[is_send] < 0).any():
        return None
    author = columns.layer[is_send].astype(np.int64) * processes + columns.process[is_send]
    authors = len(LAYERS) * processes
    if ((author < 0) | (author >= authors)).any():
        return None
    rows = len(columns)
    kind = columns.kind.copy()
    message = np.full(rows, -1, np.int32)
    next_seq, sent = np.full(processes, UNSEEN, np.int64), np.full(authors, UNSEEN, np.int64)
    delivered = np.zeros(len(destination), bool)
    last_delivery = np.full(processes, NONE)
    late, late_send = np.empty(rows, np.int32), np.empty(rows, np.int64)
    counts = np.zeros(2 + len(LAYERS), np.int64)
    state: tuple[Any, ...] = (
        *(next_seq, sent, np.zeros(authors, np.int64)),
        offsets_of(np.bincount(author, minlength=authors)),
        *(np.zeros(len(author), np.int64), np.zeros(len(author), bool), delivered),
        *(message, last_delivery, late, late_send, counts),
    )
    seen = []
    if not loop_for(in_order, len(destination))(start, destination):
        destination = _put_in_order(start, destination, processes)
    loop = loop_for(check, rows + len(destination))
    for begin, end in ((0, extent.stop), (extent.stop, rows)):
        if not loop(
            *(kind, columns.layer, columns.process, columns.seq, columns.sender),
            *(columns.number, columns.position, start, destination),
            *(begin, end, extent.first, extent.stop, extent.previous, extent.near, judged),
            *state,
        ):
            return None
        seen.append((next_seq.copy(), sent.copy()))
    own = slice(int(start[extent.first]), int(start[extent.stop]))
    missing = own.start + np.flatnonzero(~delivered[own])
    at_sender = columns.process[start.searchsorted(missing, side="right") - 1]
    missing = missing[destination[missing] != at_sender]
    nothing = np.broadcast_to(np.int64(NULL), rows)
    events = Events(
        *(columns.layer, columns.process, columns.seq, kind, columns.sender, columns.number),
        *(columns.time, columns.position, nothing, nothing, np.broadcast_to(np.int64(0), rows)),
        *(message, start, destination),
    )
    return Examined(
        events,
        extent,
        *seen[0],
        int(counts[0]),
        last_delivery,
        late[: counts[1]],
        columns.kind[late[: counts[1]]],
        late_send[: counts[1]],
        missing,
    )


def in_order(start: Integers, destination: Codes) -> bool:
    """Whether every list of destinations is sorted."""
    for event in range(len(start) - 1):
        for place in range(start[event] + 1, start[event + 1]):
            if destination[place] < destination[place - 1]:
                return False
    return True


def _put_in_order(start: Integers, destination: Codes, processes: int) -> Codes:
    keys = np.repeat(np.arange(len(start) - 1), np.diff(start)) * (processes + 1) + destination + 1
    keys.sort()
    return (keys % (processes + 1) - 1).astype(np.int32)


def check(
    kind: Words,
    layer: Words,
    process: Codes,
    seq: Integers,
    sender: Codes,
    number: Integers,
    position: Integers,
    destination_start: Integers,
    destination: Codes,
    begin: int,
    end: int,
    first_own: int,
    stop_own: int,
    previous: int,
    near: int,
    judged: int,
    next_seq: Integers,
    sent: Integers,
    base: Integers,
    first: Integers,
    send_of: Integers,
    own_delivered: Flags,
    delivered: Flags,
    message: Codes,
    last_delivery: Integers,
    late: Codes,
    late_send: Integers,
    counts: Integers,
) -> bool:
    """Whether every rule holds, as far as can be seen, in the rows from `begin` to `end`. The
    messages of an author begin with the number `base` and stand in `send_of` from `first` on.
    `counts` are deliveries, late rows and the messages of each layer so far."""
    size = len(next_seq)
    before = position[begin - 1] if begin > 0 else NULL
    for event in range(begin, end):
        what = kind[event]
        p = process[event]
        at = layer[event]
        if p < 0 or what < 0 or what > VIEW or at < 0 or at >= len(counts) - 2:
            return False
        if position[event] <= before or seq[event] < 0:
            return False
        if next_seq[p] != UNSEEN and seq[event] != next_seq[p]:
            return False
        next_seq[p] = seq[event] + 1
        before = position[event]
        start = destination_start[event]
        if what != SEND and start != destination_start[event + 1]:
            return False
        if what > DELIVER:
            continue
        s = sender[event]
        n = number[event]
        if s < 0 or n < 1:
            return False
        author = at * size + s
        if what == SEND:
            if s != p or (sent[author] != UNSEEN and n != sent[author] + 1):
                return False
            for place in range(start, destination_start[event + 1]):
                name = destination[place]
                if name < 0 or (place > start and name == destination[place - 1]):
                    return False
            if sent[author] == UNSEEN:
                base[author] = n
            sent[author] = n
            send_of[first[author] + n - base[author]] = event
            message[event] = counts[2 + at]
            counts[2 + at] += 1
            continue
        is_own = first_own <= event < stop_own
        if is_own and what == DELIVER and at == judged:
            counts[0] += 1
            if p != s:
                last_delivery[p] = position[event]
        if sent[author] == UNSEEN or n < base[author]:
            kind[event] = VIEW
            if is_own:
                late[counts[1]] = event
                late_send[counts[1]] = -1
                counts[1] += 1
            continue
        if n > sent[author]:
            return False
        slot = first[author] + n - base[author]
        send = send_of[slot]
        message[event] = message[send]
        if is_own and send < first_own and not (send >= previous and event < near):
            late[counts[1]] = event
            late_send[counts[1]] = send
            counts[1] += 1
        if p == s:
            if what == DELIVER:
                if own_delivered[slot]:
                    return False
                own_delivered[slot] = True
            continue
        copy = destination_start[send]
        length = destination_start[send + 1] - copy
        if length == 0:
            return False
        while length > 1:  # as in `antecede.trace.quick`
            half = length // 2
            copy += half if destination[copy + half] <= p else 0
            length -= half
        if destination[copy] != p:
            return False
        if what == DELIVER:
            if delivered[copy]:
                return False
            delivered[copy] = True
    return True
