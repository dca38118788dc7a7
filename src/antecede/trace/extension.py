"""A linear extension of happened-before: the recorder's own where it gave one, computed otherwise.

Everything that judges a run walks over its events in such an order. Two things order events here:
the local order of a process, and a message, whose send comes before its receptions and deliveries.
"""

from typing import Final

import numpy as np

from antecede.compiled import loop_for
from antecede.errors import BadTrace
from antecede.trace.events import NULL, Integers, Run
from antecede.trace.schema import KINDS

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
    order, stuck = _schedule(run, by_process, [send])
    if stuck:
        raise _cycle(run, stuck)
    if len(by_position):
        earlier = np.full(len(send), -1)
        earlier[by_position[1:]] = by_position[:-1]
        order, stuck = _schedule(run, by_process, [send, earlier])
        if stuck:
            event = min(stuck)
            detail = "no order of the events respects the positions that are given"
            raise run.breaks(LINEAR_EXTENSION, event, detail)
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


def _schedule(
    run: Run, by_process: Integers, needs: list[Integers]
) -> tuple[Integers, dict[int, int]]:
    """An order in which an event comes after the one before it at its process and after
    `need[event]` for every need; and the events that got stuck, with what each waits for."""
    size = len(by_process)
    process = run.events.process[by_process]
    is_last = np.append(np.diff(process) != 0, True)
    follower = np.full(size, -1)
    follower[by_process[~is_last]] = by_process[1:][~is_last[:-1]]
    needed = np.stack([np.where(need == np.arange(size), -1, need) for need in needs])
    starters = by_process[np.append(True, is_last[:-1])]
    order = np.empty(size, np.int64)
    waits_for = np.full(size, -1)
    links = np.full((3, size), -1)
    scheduled = loop_for(schedule, size * len(needs))(
        starters, follower, needed, order, waits_for, links
    )
    stuck = np.flatnonzero(waits_for >= 0)
    return order[:scheduled], dict(zip(stuck.tolist(), waits_for[stuck].tolist(), strict=True))


def schedule(
    starters: Integers,
    follower: Integers,
    needed: Integers,
    order: Integers,
    waits_for: Integers,
    links: Integers,
) -> int:
    """Kahn's algorithm, with the processes taking turns, so that the order stays close to how the
    run may have gone. Every process has one event on its mind: ready, in a ring, or waiting for an
    event elsewhere, in a list. `links` are the first and the last event that waits for an event,
    and the next that waits for the same. Gives the number of events that found their place."""
    turns = len(starters)
    ring = starters.copy()
    head = 0
    ready = turns
    done = np.zeros(len(follower), np.bool_)
    first, final, following = links[0], links[1], links[2]
    scheduled = 0
    while ready > 0:
        event = ring[head]
        head = (head + 1) % turns
        ready -= 1
        missing = -1
        for need in range(len(needed)):
            before = needed[need, event]
            if missing < 0 and before >= 0 and not done[before]:
                missing = before
        waits_for[event] = missing
        if missing >= 0:
            if first[missing] < 0:
                first[missing] = event
            else:
                following[final[missing]] = event
            final[missing] = event
            following[event] = -1
            continue
        done[event] = True
        order[scheduled] = event
        scheduled += 1
        if follower[event] >= 0:
            ring[(head + ready) % turns] = follower[event]
            ready += 1
        waiting = first[event]
        while waiting >= 0:
            ring[(head + ready) % turns] = waiting
            ready += 1
            waiting = following[waiting]
    return scheduled


def _cycle(run: Run, stuck: dict[int, int]) -> BadTrace:
    """The error that shows a cycle. At a process that is stuck, the next event waits for a send
    further on at another process that is stuck, and so on until one comes round again."""
    process = run.events.process
    stuck_at = {int(process[event]): event for event in stuck}
    walk = [min(stuck)]
    while (following := stuck_at[int(process[stuck[walk[-1]]])]) not in walk:
        walk.append(following)
    cycle = walk[walk.index(following) :]
    steps = []
    for previous, event in zip([cycle[-1], *cycle[:-1]], cycle, strict=True):
        sent = stuck[previous]
        steps.append(
            f"{run.name_of(int(process[event]))} has the {KINDS[run.events.kind[event]]} of "
            f"{run.message_of(event)} (seq {run.events.seq[event]}) before the send of "
            f"{run.message_of(sent)} (seq {run.events.seq[sent]})"
        )
    return run.breaks(NO_CYCLE, cycle[0], ", ".join(steps))
