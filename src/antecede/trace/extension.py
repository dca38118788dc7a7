"""A linear extension of happened-before: the recorder's own where it gave one, computed otherwise.

Everything that judges a run walks over its events in such an order. Two things order events here:
the local order of a process, and a message, whose send comes before its receptions and deliveries.
"""

from collections import deque
from typing import Final

import numpy as np

from antecede.errors import BadTrace
from antecede.trace.events import NULL, Integers, Run
from antecede.trace.schema import KINDS

LINEAR_EXTENSION: Final = "position is a linear extension of happened-before"
NO_CYCLE: Final = "happened-before has no cycle"


def linear_extension(run: Run, by_process: Integers, send: Integers) -> Integers:
    """The indices of the run's events in an order that respects happened-before. `by_process` sorts
    them by process and local order, `send` is the send of each event's message, or -1."""
    known = np.flatnonzero(run.events.position != NULL)
    by_position = known[np.argsort(run.events.position[known], kind="stable")]
    _check_distinct(run, by_position)
    if len(known) == len(send):
        _check_positions(run, by_process, send)
        return by_position
    order, stuck = _schedule(run, by_process, [send])
    if stuck:
        raise _cycle(run, stuck)
    if len(known):
        earlier = np.full(len(send), -1)
        earlier[by_position[1:]] = by_position[:-1]
        order, stuck = _schedule(run, by_process, [send, earlier])
        if stuck:
            event = min(stuck)
            detail = "no order of the events respects the positions that are given"
            raise BadTrace(LINEAR_EXTENSION, run.where(event), detail)
    return np.array(order, np.int64)


def _check_distinct(run: Run, by_position: Integers) -> None:
    position = run.events.position
    same = np.flatnonzero(np.diff(position[by_position]) == 0)
    if len(same):
        before, again = (int(event) for event in by_position[same[0] : same[0] + 2])
        detail = f"position {position[again]} is also that of {run.place_of(before)}"
        raise BadTrace(LINEAR_EXTENSION, run.where(again), detail)


def _check_positions(run: Run, by_process: Integers, send: Integers) -> None:
    """Every event comes after the one before it at its process, and after its send."""
    local = np.full(len(send), -1)
    same_process = np.diff(run.events.process[by_process]) == 0
    local[by_process[1:]] = np.where(same_process, by_process[:-1], -1)
    remote = np.where(send == np.arange(len(send)), -1, send)
    position = run.events.position
    for before, relation in ((local, "the event before it there"), (remote, "its send")):
        wrong = (before >= 0) & (position <= position[before])
        if wrong.any():
            event = int(np.argmax(wrong))
            detail = (
                f"position {position[event]} does not come after {position[before[event]]}, "
                f"the position of {relation}, {run.place_of(int(before[event]))}"
            )
            raise BadTrace(LINEAR_EXTENSION, run.where(event), detail)


def _schedule(
    run: Run, by_process: Integers, needs: list[Integers]
) -> tuple[list[int], dict[int, int]]:
    """Kahn's algorithm, with the processes taking turns, so that the order stays close to how the
    run may have gone. An event comes after the one before it at its process and after `need[event]`
    for every need. Gives the order, and the events that got stuck with what each waits for."""
    process = run.events.process[by_process]
    is_last = np.append(np.diff(process) != 0, True)
    follower = np.full(len(process), -1)
    follower[by_process[~is_last]] = by_process[1:][~is_last[:-1]]
    followers = follower.tolist()
    needed = [np.where(need == np.arange(len(need)), -1, need).tolist() for need in needs]
    is_first = np.append(True, is_last[:-1])
    ready = deque(by_process[is_first].tolist())
    waiting: dict[int, list[int]] = {}
    done = bytearray(len(process))
    order = []
    while ready:
        event = ready.popleft()
        for need in needed:
            before = need[event]
            if before >= 0 and not done[before]:
                waiting.setdefault(before, []).append(event)
                break
        else:
            done[event] = True
            order.append(event)
            if followers[event] >= 0:
                ready.append(followers[event])
            ready.extend(waiting.pop(event, ()))
    return order, {event: before for before, events in waiting.items() for event in events}


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
    return BadTrace(NO_CYCLE, run.where(cycle[0]), ", ".join(steps))
