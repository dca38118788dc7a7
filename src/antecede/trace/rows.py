"""The one pass over the rows of a run: it holds them to the rules and joins deliveries with sends.

Rows come in the order of their positions, some at a time; whatever the pass has to remember is in a
record of named columns (`antecede.trace.intake` makes room there). It takes all rows that it is
given, or refuses. It does not say why: `antecede.trace.rules` does, which states every rule in its
own words, and a test holds the two together.

A record may begin anywhere in a run. Then nobody knows which number a process had reached, and rows
about messages that were sent before are set apart as *crossing*.
"""

from typing import Final, NamedTuple

import numpy as np

from antecede.trace.joined import NEVER, Column
from antecede.trace.schema import CRASH, DELIVER, RECEIVE, SEND, VIEW

TAKEN: Final = 0
REFUSED: Final = 1
TIMES_NEEDED: Final = 2
"""A reception, of which nobody gave the time."""

ORDER: Final = 1
"""What to do with rows, as bits: hold those of all layers to the rules about kinds, processes,
local order and positions, which is to be done once;"""
JOIN: Final = 2
"""join deliveries with sends, rather than only hold rows to the rules;"""
TIMED: Final = 4
"""keep receptions and times as well;"""
BY_ROW: Final = 8
"""take rows, counted from 1, for ranks."""

UNSEEN: Final = -1
"""A process of which no row has come so far, where the beginning of the run is not known."""
SHORT: Final = 32
"""Lists of destinations up to this length are searched from end to end: no branch to foretell."""

PROGRESS: Final = np.dtype(
    [
        (name, np.int64)
        for name in ("messages", "copies", "events", "deliveries", "crossings", "border", "marking")
    ]
)
"""How many of each there are so far. While `marking`, rows about messages before the one of number
`border` are put down as crossing, and those about messages that are not known at all."""


class Rows(NamedTuple):
    """Some rows as they come out of a file. Words are indices into a dictionary, of which a column
    of codes says what they mean here; null is the index behind the last word, and its code is one
    that no process has. What is an index here is unsigned, which spares the loop a look whether it
    counts from the end."""

    layer: Column
    """A single index stands for all rows."""
    layer_code: Column
    process: Column
    process_code: Column
    kind: Column
    kind_code: Column
    sender: Column
    sender_code: Column
    seq: Column
    number: Column
    position: Column
    time: Column
    listed: Column
    """A bit for each row that has a list of destinations, from bit `first_bit` on; empty if all
    have one."""
    first_bit: int
    destination_start: Column
    destination: Column
    destination_code: Column


class Record(NamedTuple):
    """What is known of one layer of a run so far. The first six belong to the run."""

    next_seq: Column
    first_seq: Column
    crashed: Column
    position: Column
    """The last position, a single one."""
    row: Column
    """How many rows there have been, those at hand included, a single number."""
    message_of_row: Column
    """The message of every row, or -1; empty if nobody asks for it."""
    sent: Column
    """By process: the number of its last message,"""
    base: Column
    """of its first one that is known,"""
    first: Column
    """and where its messages begin in"""
    message_of: Column
    """which has them in the order of their numbers."""
    handed_over: Column
    """The deliveries and the arrivals at every process so far."""
    progress: Column
    own_delivered: Column
    """By message: whether its sender has delivered it. The columns that follow are those of
    `antecede.trace.joined`, as far as they are wanted."""
    start: Column
    send: Column
    deliveries: Column
    at: Column
    message: Column
    event_row: Column
    column: Column
    rank: Column
    delivery: Column
    arrival: Column
    arrived: Column
    delivered: Column
    received: Column
    crossing: Column
    """Rows that are crossing."""


def take(rows: Rows, record: Record, wanted: int, todo: int) -> int:
    """The rows of one layer, or why they were not taken."""
    if todo & ORDER and not follow(rows, record):
        return REFUSED
    many_layers = len(rows.layer) > 1
    if len(rows.layer) == 1 and rows.layer_code[rows.layer[0]] != wanted:
        return TAKEN
    layer, layer_code = rows.layer, rows.layer_code
    kind, kind_code = rows.kind, rows.kind_code
    process, process_code = rows.process, rows.process_code
    sender, sender_code = rows.sender, rows.sender_code
    nobody = sender_code[len(sender_code) - 1]
    number, time = rows.number, rows.time
    listed, first_bit = rows.listed, rows.first_bit
    destination, destination_code = rows.destination, rows.destination_code
    destination_start = rows.destination_start
    # Whatever stands in a record costs a count of references each time it is taken out of there.
    sent, base, first, message_of = record.sent, record.base, record.first, record.message_of
    delivered_here, arrived_here = record.handed_over[0], record.handed_over[1]
    start, send, left = record.start, record.send, record.deliveries
    own_delivered, message_of_row = record.own_delivered, record.message_of_row
    at, message, event_row = record.at, record.message, record.event_row
    column, rank, delivery = record.column, record.rank, record.delivery
    arrival, arrived = record.arrival, record.arrived
    delivered, received, crossing = record.delivered, record.received, record.crossing
    progress = record.progress
    messages = progress[0]["messages"]
    copies = progress[0]["copies"]
    size = progress[0]["events"]
    deliveries = progress[0]["deliveries"]
    border = progress[0]["border"]
    marking = progress[0]["marking"] != 0
    before = record.row[0] - len(number)
    joins = todo & JOIN != 0
    timed = todo & TIMED != 0
    by_row = todo & BY_ROW != 0
    keeps_row = len(event_row) > 0
    numbers_rows = len(message_of_row) > 0
    for event in range(len(number)):
        if many_layers and layer_code[layer[event]] != wanted:
            continue
        what = kind_code[kind[event]]
        if what > DELIVER:
            continue
        p = process_code[process[event]]
        s = sender_code[sender[event]]
        n = number[event]
        if s == nobody or n < 1:
            return REFUSED
        if what == SEND:
            if s != p or (n != sent[s] + 1 and sent[s] != UNSEEN):
                return REFUSED
            bit = first_bit + event
            if len(listed) > 0 and not (listed[bit >> 3] >> (bit & 7)) & 1:
                return REFUSED
            begin = copies
            copies = address(
                destination,
                destination_code,
                destination_start[event],
                destination_start[event + 1],
                p,
                column,
                begin,
            )
            if copies < begin:
                return REFUSED
            for copy in range(begin, copies):
                rank[copy] = NEVER
                if joins:
                    delivery[copy] = -1
                if timed:
                    arrival[copy] = NEVER
                    arrived[copy] = arrived_here[column[copy]]
                    delivered[copy] = np.nan
                    received[copy] = np.nan
            if sent[s] == UNSEEN:
                base[s] = n
            sent[s] = n
            message_of[first[s] + n - base[s]] = messages
            start[messages + 1] = copies
            own_delivered[messages] = False
            if numbers_rows:
                message_of_row[before + event] = messages
            if joins:
                send[messages] = size
                left[messages] = 0
                at[size] = p
                message[size] = messages
                if keeps_row:
                    event_row[size] = before + event
                size += 1
            messages += 1
            continue
        if what == DELIVER:
            deliveries += 1
        if sent[s] == UNSEEN or n < base[s]:
            if marking:
                crossing[progress[0]["crossings"]] = before + event
                progress[0]["crossings"] += 1
            continue
        if n > sent[s]:
            return REFUSED
        m = np.int64(message_of[first[s] + n - base[s]])
        if marking and m < border:
            crossing[progress[0]["crossings"]] = before + event
            progress[0]["crossings"] += 1
        if numbers_rows:
            message_of_row[before + event] = m
        if p == s:
            if what == DELIVER:
                if own_delivered[m]:
                    return REFUSED
                own_delivered[m] = True
            continue
        copy = find_copy(column, start[m], start[m + 1], p)
        if copy < 0:
            return REFUSED
        if what == RECEIVE:
            if joins and not timed:
                return TIMES_NEEDED
            if timed and arrival[copy] == NEVER:
                arrived_here[p] += 1
                arrival[copy] = before + event + 1 if by_row else arrived_here[p]
                received[copy] = time[event]
            continue
        if rank[copy] != NEVER:
            return REFUSED
        if not joins:
            rank[copy] = 0
            continue
        delivered_here[p] += 1
        rank[copy] = before + event + 1 if by_row else delivered_here[p]
        delivery[copy] = size
        left[m] += 1
        at[size] = p
        message[size] = -1 - m
        if keeps_row:
            event_row[size] = before + event
        size += 1
        if timed:
            delivered[copy] = time[event]
            if arrival[copy] == NEVER:
                arrived_here[p] += 1
                arrival[copy] = before + event + 1 if by_row else arrived_here[p]
    progress[0]["messages"] = messages
    progress[0]["copies"] = copies
    progress[0]["events"] = size
    progress[0]["deliveries"] = deliveries
    return TAKEN


def follow(rows: Rows, record: Record) -> bool:
    """What concerns rows of all layers: known kinds, local order, positions that grow."""
    kind, kind_code = rows.kind, rows.kind_code
    process, process_code = rows.process, rows.process_code
    nobody = process_code[len(process_code) - 1]
    seq, position = rows.seq, rows.position
    next_seq, first_seq, crashed = record.next_seq, record.first_seq, record.crashed
    before = record.position[0]
    for event in range(len(seq)):
        what = kind_code[kind[event]]
        p = process_code[process[event]]
        if p == nobody or what > VIEW or position[event] <= before:
            return False
        if seq[event] != next_seq[p]:
            if next_seq[p] != UNSEEN or seq[event] < 0:
                return False
            first_seq[p] = seq[event]
        next_seq[p] = seq[event] + 1
        before = position[event]
        if what == CRASH:
            crashed[p] = True
    record.position[0] = before
    return True


def count_sends(rows: Rows, sends: Column) -> None:
    """Count the sends of every process, in whichever layer."""
    kind, kind_code = rows.kind, rows.kind_code
    process, process_code = rows.process, rows.process_code
    nobody = process_code[len(process_code) - 1]
    for event in range(len(kind)):
        p = process_code[process[event]]
        if kind_code[kind[event]] == SEND and p != nobody:
            sends[p] += 1


def address(
    destination: Column,
    code: Column,
    begin: int,
    stop: int,
    p: int,
    column: Column,
    first: int,
) -> int:
    """Put the destinations of a send at p, other than p, into `column` from `first` on, in order
    and each once; gives the end of them, or -1 if one is null."""
    nobody = code[len(code) - 1]
    end = first
    in_order = True
    before = -1
    for place in range(begin, stop):
        q = code[destination[place]]
        if q == nobody:
            return -1
        if q == p:
            continue  # a copy that a process sends to itself orders nothing
        in_order &= before < q
        before = q
        column[end] = q
        end += 1
    if in_order:
        return end
    gap = end - first
    while gap > 1:  # Shell's sort
        gap = 1 if gap < 5 else gap * 5 // 11
        for place in range(first + gap, end):
            q = column[place]
            to = place
            while to >= first + gap and column[to - gap] > q:
                column[to] = column[to - gap]
                to -= gap
            column[to] = q
    kept = first
    for copy in range(first, end):
        if kept == first or column[copy] != column[kept - 1]:
            column[kept] = column[copy]
            kept += 1
    return kept


def find_copy(column: Column, first: int, stop: int, p: int) -> int:
    """Which of the copies of a message, sorted by destination, goes to p; -1 if none does."""
    length = stop - first
    if length == 0:
        return -1
    copy = first
    if length <= SHORT:
        place, last = np.uint64(first), np.uint64(stop - 1)
        while place < last:
            copy += column[place] < p
            place += np.uint64(1)
    else:
        while length > 1:  # without a branch on what it finds, which nobody could foretell
            half = length >> 1
            copy += half if column[copy + half] <= p else 0
            length -= half
    return copy if column[copy] == p else -1
