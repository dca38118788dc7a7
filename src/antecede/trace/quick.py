"""All rules of the format in one pass, for a run whose rows stand in the order of their positions.

That is how a recorder with a global view writes them. The pass either accepts a run or says
nothing: whoever is told nothing asks rule by rule (`antecede.trace.rules`), which takes many times
as long, puts rows in order where they are not, and knows what is wrong and where.
"""

from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from antecede.compiled import loop_for
from antecede.trace.events import NULL, Codes, Integers, Run, Words
from antecede.trace.schema import DELIVER, LAYERS, SEND, VIEW

SHORT: Final = 32
"""Lists of destinations up to this length are put in order on the way."""

Flags = npt.NDArray[np.bool_]


def accept(run: Run) -> Run | None:
    """The run with its messages numbered, or nothing."""
    events = run.events
    size = len(run.processes)
    sends = int(np.count_nonzero(events.kind == SEND))
    addressed = len(events.destination)
    message = np.full(len(events), -1, np.int32)
    destination = events.destination.copy()
    accepted = loop_for(check, len(events) + addressed)(
        events.kind,
        events.layer,
        events.process,
        events.seq,
        events.sender,
        events.number,
        events.position,
        events.destination_start,
        destination,
        np.zeros(size, np.int64),
        np.zeros(len(LAYERS), np.int32),
        _numbers(run),
        np.zeros(sends, np.int64),
        np.zeros(addressed, bool),
        np.zeros(sends, bool),
        message,
    )
    if not accepted:
        return None
    return replace(run, events=replace(events, message=message, destination=destination))


def _numbers(run: Run) -> Integers:
    """Room for the messages of every layer and process, one behind the other: where each starts, as
    a table of layers and processes with one more entry; then the sends, in that order."""
    events = run.events
    is_send = events.kind == SEND
    known = is_send & (events.process >= 0) & (events.layer < len(LAYERS)) & (events.layer >= 0)
    author = events.layer[known].astype(np.int64) * len(run.processes) + events.process[known]
    counts = np.bincount(author, minlength=len(LAYERS) * len(run.processes))
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


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
    next_seq: Integers,
    next_message: Codes,
    first: Integers,
    send_of: Integers,
    delivered: Flags,
    own_delivered: Flags,
    message: Codes,
) -> bool:
    """Whether every rule holds and positions grow from row to row. Sorts the lists in `destination`
    and fills `message`. `first[author]` is the place in `send_of` of an author's first message."""
    size = len(next_seq)
    before = NULL
    sent = np.zeros(len(first), np.int64)
    for event in range(len(kind)):
        what = kind[event]
        p = process[event]
        if p < 0 or seq[event] != next_seq[p] or position[event] <= before:
            return False
        if what < 0 or what > VIEW or layer[event] < 0 or layer[event] >= len(next_message):
            return False
        next_seq[p] += 1
        before = position[event]
        start = destination_start[event]
        stop = destination_start[event + 1]
        if what > DELIVER:
            if start != stop:
                return False
            continue
        s = sender[event]
        n = number[event]
        if s < 0:
            return False
        author = layer[event] * size + s
        if what == SEND:
            if s != p or n != sent[author] + 1:
                return False
            for place in range(start, stop):
                name = destination[place]
                to = place
                while to > start and destination[to - 1] > name:
                    if stop - start > SHORT:
                        return False
                    destination[to] = destination[to - 1]
                    to -= 1
                destination[to] = name
                if name < 0 or (to > start and destination[to - 1] == name):
                    return False
            sent[author] = n
            send_of[first[author] + n - 1] = event
            message[event] = next_message[layer[event]]
            next_message[layer[event]] += 1
            continue
        if start != stop or n < 1 or n > sent[author]:
            return False
        place = first[author] + n - 1
        send = send_of[place]
        message[event] = message[send]
        if p == s:
            if what == DELIVER:
                if own_delivered[place]:
                    return False
                own_delivered[place] = True
            continue
        copy = destination_start[send]
        length = destination_start[send + 1] - copy
        if length == 0:
            return False
        while length > 1:  # without a branch on what it finds, which nobody could foretell
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
