"""Rows as they come out of a file: held to the rules of the format and joined, in one go.

The same as `antecede.trace.quick` and `antecede.verify.prepare` do one after the other to a run in
memory, for rows of which neither the later ones nor, except for what is kept here, the earlier ones
are at hand. A pass either takes all rows that it is given or refuses; it does not say why.
"""

from typing import Final

import numpy as np

from antecede.trace.schema import CRASH, DELIVER, RECEIVE, SEND, VIEW
from antecede.verify.kernel import NEVER, Column

SHORT: Final = 32
"""Lists of destinations up to this length are searched from end to end: no branch to foretell."""

TAKEN: Final = 0
REFUSED: Final = 1
TIMES_NEEDED: Final = 2
"""A reception, of which nobody gave the time."""

CHECK: Final = 0
"""What to do with the rows of a layer: hold them to the rules,"""
JOIN: Final = 1
"""join deliveries with their sends as well, or"""
JOIN_TIMED: Final = 2
"""keep receptions and times as well."""

MESSAGES: Final = 0
COPIES: Final = 1
EVENTS: Final = 2
DELIVERIES: Final = 3
TOTALS: Final = 4
"""How many totals of a layer there are; those before are their places."""


def check_rows(
    kind: Column,
    kind_codes: Column,
    process: Column,
    process_codes: Column,
    seq: Column,
    position: Column,
    next_seq: Column,
    crashed: Column,
    sends: Column,
    before: int,
) -> tuple[bool, int]:
    """What concerns rows of all layers: known kinds, local order, positions that grow from the one
    `before`. Counts `sends` and gives the last position. Codes are looked up; null, which is -1,
    finds the last."""
    for event in range(len(kind)):
        what = kind_codes[kind[event]]
        p = process_codes[process[event]]
        if p < 0 or seq[event] != next_seq[p] or position[event] <= before:
            return False, before
        if what < 0 or what > VIEW:
            return False, before
        next_seq[p] += 1
        before = position[event]
        if what == SEND:
            sends[p] += 1
        elif what == CRASH:
            crashed[p] = True
    return True, before


def take_rows(
    wanted: int,
    layer: Column,
    layer_codes: Column,
    kind: Column,
    kind_codes: Column,
    process: Column,
    process_codes: Column,
    sender: Column,
    sender_codes: Column,
    number: Column,
    time: Column,
    listed: Column,
    first_bit: int,
    destination_start: Column,
    destination: Column,
    destination_codes: Column,
    todo: int,
    handed_over: Column,
    sent: Column,
    first: Column,
    message_of: Column,
    totals: Column,
    start: Column,
    send: Column,
    deliveries: Column,
    own_delivered: Column,
    at: Column,
    message: Column,
    arrived: Column,
    column: Column,
    rank: Column,
    arrival: Column,
    delivery: Column,
    delivered: Column,
    received: Column,
) -> int:
    """The rows of one layer. `handed_over` are the deliveries and the arrivals at every process so
    far, `sent` its sends; message n of process s is `message_of[first[s] + n - 1]`. The rest are
    the columns of `antecede.verify.prepare.Joined`, with room for whatever the rows may bring."""
    step = 0 if len(layer) == 1 else 1
    messages = totals[MESSAGES]
    copies = totals[COPIES]
    size = totals[EVENTS]
    deliveries_seen = totals[DELIVERIES]
    delivered_here = handed_over[0]
    arrived_here = handed_over[1]
    for event in range(len(kind)):
        if layer_codes[layer[event * step]] != wanted:
            continue
        what = kind_codes[kind[event]]
        begin = destination_start[event]
        stop = destination_start[event + 1]
        if what > DELIVER:
            if begin != stop:
                return REFUSED
            continue
        p = process_codes[process[event]]
        s = sender_codes[sender[event]]
        n = number[event]
        if s < 0:
            return REFUSED
        if what == SEND:
            if s != p or n != sent[s] + 1:
                return REFUSED
            bit = first_bit + event
            if len(listed) > 0 and not (listed[bit >> 3] >> (bit & 7)) & 1:
                return REFUSED
            lowest = copies
            in_order = True
            before = -1
            for place in range(begin, stop):
                q = destination_codes[destination[place]]
                if q < 0:
                    return REFUSED
                if q == p:
                    continue  # a copy that a process sends to itself orders nothing
                in_order &= before < q
                before = q
                column[copies] = q
                rank[copies] = NEVER
                if todo != CHECK:
                    delivery[copies] = -1
                if todo == JOIN_TIMED:
                    arrival[copies] = NEVER
                    delivered[copies] = np.nan
                    received[copies] = np.nan
                copies += 1
            gap = 0 if in_order else copies - lowest
            while gap > 1:  # Shell's sort
                gap = 1 if gap < 5 else gap * 5 // 11
                for place in range(lowest + gap, copies):
                    q = column[place]
                    to = place
                    while to >= lowest + gap and column[to - gap] > q:
                        column[to] = column[to - gap]
                        to -= gap
                    column[to] = q
            if not in_order:
                for copy in range(lowest + 1, copies):
                    if column[copy] == column[copy - 1]:
                        return REFUSED
            sent[s] = n
            message_of[first[s] + n - 1] = messages
            start[messages + 1] = copies
            own_delivered[messages] = False
            if todo != CHECK:
                send[messages] = size
                deliveries[messages] = 0
                at[size] = p
                message[size] = messages
                if todo == JOIN_TIMED:
                    arrived[size] = 0
                size += 1
            messages += 1
            continue
        if begin != stop or n < 1 or n > sent[s]:
            return REFUSED
        m = message_of[first[s] + n - 1]
        if what == DELIVER:
            deliveries_seen += 1
        if p == s:
            if what == DELIVER:
                if own_delivered[m]:
                    return REFUSED
                own_delivered[m] = True
            continue
        copy = start[m]
        length = start[m + 1] - copy
        if length == 0:
            return REFUSED
        if length <= SHORT:
            less = 0
            for place in range(copy, copy + length - 1):
                less += column[place] < p
            copy += less
            length = 1
        while length > 1:
            half = length >> 1
            copy += half if column[copy + half] <= p else 0
            length -= half
        if column[copy] != p:
            return REFUSED
        if todo == CHECK:
            if what == DELIVER:
                if rank[copy] != NEVER:
                    return REFUSED
                rank[copy] = 0
            continue
        if what == RECEIVE and todo == JOIN:
            return TIMES_NEEDED
        if todo == JOIN_TIMED and arrival[copy] == NEVER:
            arrived_here[p] += 1
            arrival[copy] = arrived_here[p]
            if what == RECEIVE:
                received[copy] = time[event]
        if what == DELIVER:
            if rank[copy] != NEVER:
                return REFUSED
            delivered_here[p] += 1
            rank[copy] = delivered_here[p]
            delivery[copy] = size
            deliveries[m] += 1
            at[size] = p
            message[size] = -1 - m
            if todo == JOIN_TIMED:
                delivered[copy] = time[event]
                arrived[size] = arrived_here[p]
            size += 1
    totals[MESSAGES] = messages
    totals[COPIES] = copies
    totals[EVENTS] = size
    totals[DELIVERIES] = deliveries_seen
    return TAKEN
