"""A linear extension of happened-before: the recorder's own where it gave one, computed otherwise.

Everything that judges a run walks over its events in such an order. Two things order events here:
the local order of a process, and a message, whose send comes before its receptions and deliveries.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from antecede.compiled import loop_for
from antecede.trace.events import NULL, Integers, Run
from antecede.trace.schema import DELIVER, KINDS, LAYERS, SEND

LINEAR_EXTENSION: Final = "position is a linear extension of happened-before"
NO_CYCLE: Final = "happened-before has no cycle"


def linear_extension(run: Run, by_process: Integers, send: Integers) -> Integers:
    """The indices of the run's events in an order that respects happened-before. `by_process` sorts
    them by process and local order, `send` is the send of each event's message, or -1."""
    by_position = check_distinct(run)
    if len(by_position) == len(send):
        check_local_positions(run, by_process)
        check_send_positions(run, send)
        return by_position
    order, stuck = _merge(run, by_process, send, by_position)
    if stuck:
        _, cyclic = _merge(run, by_process, send, by_position[:0])
        rule, one, detail = why_no_order(stuck, cyclic)
        raise run.breaks(rule, one.row, detail)
    return order


def check_distinct(run: Run) -> Integers:
    """The events whose positions are known, in the order of these, all of which differ."""
    position = run.events.position
    known = np.flatnonzero(position != NULL)
    by_position: Integers = known[np.argsort(position[known], kind="stable")]
    same = np.flatnonzero(np.diff(position[by_position]) == 0)
    if len(same):
        before, again = (int(event) for event in by_position[same[0] : same[0] + 2])
        detail = f"position {position[again]} is also that of {run.place_of(before)}"
        raise run.breaks(LINEAR_EXTENSION, again, detail)
    return by_position


def check_local_positions(run: Run, by_process: Integers) -> None:
    """Every event comes after the one before it at its process."""
    local = np.full(len(by_process), -1)
    same_process = np.diff(run.events.process[by_process]) == 0
    local[by_process[1:]] = np.where(same_process, by_process[:-1], -1)
    _check_after(run, local, "the event before it there")


def check_send_positions(run: Run, send: Integers) -> None:
    """Every event comes after its send."""
    _check_after(run, np.where(send == np.arange(len(send)), -1, send), "its send")


def _check_after(run: Run, before: Integers, relation: str) -> None:
    position = run.events.position
    wrong = (before >= 0) & (position <= position[before])
    if wrong.any():
        event = int(np.argmax(wrong))
        detail = (
            f"position {position[event]} does not come after {position[before[event]]}, "
            f"the position of {relation}, {run.place_of(int(before[event]))}"
        )
        raise run.breaks(LINEAR_EXTENSION, event, detail)


class Stuck(NamedTuple):
    """An event at which a process waits in vain, for a message that is sent later or for nothing
    but the events that have lower positions."""

    process: str
    row: int
    seq: int
    kind: int
    sender: str
    number: int
    waits_for_message: bool
    send_seq: int = -1
    """The local place of the send of that message, if there is one."""


def why_no_order(stuck: Sequence[Stuck], cyclic: Sequence[Stuck]) -> tuple[str, Stuck, str]:
    """The rule that is broken where events are stuck, the event to blame, and how. `cyclic` are
    those that are stuck even if no position is given: at a process, the next event waits for a send
    further on at another process that is stuck, and so on until one comes round again."""
    if not cyclic:
        detail = "no order of the events respects the positions that are given"
        return LINEAR_EXTENSION, min(stuck, key=lambda one: one.row), detail
    at = {one.process: one for one in cyclic}
    walk = [min(cyclic, key=lambda one: one.row)]
    while (following := at[walk[-1].sender]) not in walk:
        walk.append(following)
    cycle = walk[walk.index(following) :]
    steps = [
        f"{one.process} has the {KINDS[one.kind]} of {one.sender}:{one.number} (seq {one.seq}) "
        f"before the send of {previous.sender}:{previous.number} (seq {previous.send_seq})"
        for previous, one in zip([cycle[-1], *cycle[:-1]], cycle, strict=True)
    ]
    return NO_CYCLE, cycle[0], ", ".join(steps)


def _merge(
    run: Run, by_process: Integers, send: Integers, by_position: Integers
) -> tuple[Integers, list[Stuck]]:
    """An order in which an event comes after the one before it at its process, after its send and
    after all with lower positions; and where processes got stuck, if they did."""
    events, count = run.events, len(run.processes)
    author = np.where(events.kind <= DELIVER, events.layer * np.int64(count) + events.sender, 0)
    columns = (events.kind, author, events.number, np.arange(len(events)), events.position)
    slots = np.stack([column[by_process].astype(np.int64) for column in columns])
    remaining = np.bincount(events.process, minlength=count)
    turns = Turns.begin(remaining)
    ends = np.cumsum(remaining)
    turns.cursor[:], turns.filled[:] = ends - remaining, ends
    order = np.empty(len(events), np.int64)
    known, owner = events.position[by_position], events.process[by_position].astype(np.int64)
    loop = loop_for(take_turns, len(events))
    while loop(slots, turns, known, owner, order) != ENDED:
        known, turns.state[3] = known[:0], 0  # all positions have come
    stuck = []
    for process in np.flatnonzero(turns.remaining).tolist():
        event = int(slots[3, turns.cursor[process]])
        waits = turns.waits(slots, process)
        told = (run.name_of(process), event, int(events.seq[event]), int(events.kind[event]))
        sent = (run.name_of(int(events.sender[event])), int(events.number[event]))
        stuck.append(Stuck(*told, *sent, waits, int(events.seq[send[event]])))
    return order, stuck


ENDED, WRITE, POSITIONS = -1, -2, -3


class Turns(NamedTuple):
    """How far a merge of processes has come. Columns go by process, if nothing else is said."""

    cursor: Integers
    """Where its next event stands,"""
    filled: Integers
    """where those end that are at hand, and"""
    remaining: Integers
    """how many there are in all."""
    ring: Integers
    """The processes that may go on."""
    state: Integers
    """Where the ring begins, how long it is, how much output there is, and how many of the known
    positions are done."""
    sent: Integers
    """By author: how many messages it has sent,"""
    waiting: Integers
    """and the first and the last process that waits for one of them."""
    following: Integers
    """The next process that waits for the same author."""
    parked: Integers
    """Whether it waits until the positions have come that far."""

    @classmethod
    def begin(cls, remaining: Integers) -> "Turns":
        count = len(remaining)
        ring = np.zeros(count, np.int64)
        ready = np.flatnonzero(remaining)
        ring[: len(ready)] = ready
        authors = len(LAYERS) * count
        return cls(
            *(np.zeros(count, np.int64), np.zeros(count, np.int64), remaining.astype(np.int64)),
            *(ring, np.array([0, len(ready), 0, 0], np.int64), np.zeros(authors, np.int64)),
            *(np.full((2, authors), -1), np.full(count, -1), np.zeros(count, np.int64)),
        )

    def waits(self, slots: Integers, process: int) -> bool:
        """Whether a process waits for a message."""
        kind, author, number = slots[:3, self.cursor[process]].tolist()
        return bool(SEND < kind <= DELIVER and self.sent[author] < number)


def take_turns(
    slots: Integers, turns: Turns, known: Integers, owner: Integers, output: Integers
) -> int:
    """Kahn's algorithm, with the processes taking turns, so that the order stays close to how the
    run may have gone; a message counts as sent when its author has sent that many. `slots` are the
    kind, author, number, name and position of events. `known` are the next positions that are
    given, to be kept, and `owner` the processes of their events.

    Goes on until something is needed: more events of a process (its number is the answer), room for
    output, more positions, or nothing any more."""
    cursor, filled, remaining, ring = turns.cursor, turns.filled, turns.remaining, turns.ring
    state, sent, parked = turns.state, turns.sent, turns.parked
    first, final, following = turns.waiting[0], turns.waiting[1], turns.following
    size = len(ring)
    while True:
        if len(known) > 0:
            if state[3] == len(known):
                return POSITIONS
            p = owner[state[3]]
            if parked[p] > 0 and slots[4, cursor[p]] == known[state[3]]:
                parked[p] = 0
                ring[(state[0] + state[1]) % size] = p
                state[1] += 1
        if state[1] == 0:
            return ENDED
        if state[2] == len(output):
            return WRITE
        p = ring[state[0]]
        if cursor[p] == filled[p]:
            return int(p)
        at = cursor[p]
        kind = slots[0, at]
        author = slots[1, at]
        position = slots[4, at]
        state[0] = (state[0] + 1) % size
        state[1] -= 1
        if SEND < kind <= DELIVER and sent[author] < slots[2, at]:
            if first[author] < 0:
                first[author] = p
            else:
                following[final[author]] = p
            final[author] = p
            following[p] = -1
            continue
        if position != NULL and len(known) > 0:
            if position != known[state[3]]:
                parked[p] = 1
                continue
            state[3] += 1
        output[state[2]] = slots[3, at]
        state[2] += 1
        cursor[p] += 1
        remaining[p] -= 1
        if remaining[p] > 0:
            ring[(state[0] + state[1]) % size] = p
            state[1] += 1
        if kind == SEND:
            sent[author] += 1
            before = -1
            waiting = first[author]
            while waiting >= 0:
                after = following[waiting]
                if slots[2, cursor[waiting]] <= sent[author]:
                    if before < 0:
                        first[author] = after
                    else:
                        following[before] = after
                    if final[author] == waiting:
                        final[author] = before
                    ring[(state[0] + state[1]) % size] = waiting
                    state[1] += 1
                else:
                    before = waiting
                waiting = after
