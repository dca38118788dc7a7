"""A run in memory, fed to the one pass: to be held to the rules, or to be joined."""

from dataclasses import replace

import numpy as np

from antecede.errors import Misuse
from antecede.trace.batch import Unusual, batch_of
from antecede.trace.events import Codes, Events, Integers, Run
from antecede.trace.intake import Intake
from antecede.trace.joined import Joined
from antecede.trace.schema import APP, LAYERS, SEND, VIEW


def prepare(events: Events, processes: int) -> Joined:
    """Join the events of one layer of a run, or of a stretch of one, which have passed the rules of
    the format and stand in a linear extension of happened-before."""
    layer = int(events.layer[0]) if len(events) else APP
    steps = len(events) + len(events.destination)
    intake = Intake(layer, steps, timed=True, whole=False, located=True, ordered=True)
    # Nobody asks what processes are called.
    names = [str(process) for process in range(processes)]
    try:
        intake.add(batch_of(events, names))
    except Unusual as reason:
        raise Misuse(f"this run cannot be judged: {reason}") from reason
    return intake.joined()


def accept(run: Run) -> Run | None:
    """The run with its messages numbered, if its rows stand in the order of their positions and no
    rule is broken; else nothing."""
    events = run.events
    if not len(events) or int(events.kind.max()) > VIEW or int(events.layer.max()) >= len(LAYERS):
        return None
    intake = Intake(None, len(events) + len(events.destination), timed=False, numbered=True)
    try:
        intake.add(batch_of(events, run.processes))
    except Unusual:
        return None
    start, destination = sorted_destinations(events, len(run.processes))
    checked = replace(
        events,
        message=intake.message_of_row,
        destination_start=start,
        destination=destination,
    )
    return replace(run, events=checked)


def sorted_destinations(events: Events, processes: int) -> tuple[Integers, Codes]:
    """Every set of destinations in order, without repeats, and only on sends."""
    counts = np.diff(events.destination_start)
    in_order = np.diff(events.destination) > 0
    borders = events.destination_start[1:-1]
    in_order[borders[(borders > 0) & (borders < len(events.destination))] - 1] = True
    if in_order.all() and not counts[events.kind != SEND].any():
        return events.destination_start, events.destination
    holder = np.repeat(np.arange(len(events)), counts)
    on_send = (events.kind == SEND)[holder]
    addressed = np.unique(holder[on_send] * processes + events.destination[on_send])
    start = addressed.searchsorted(np.arange(len(events) + 1) * processes)
    return start, (addressed % processes).astype(np.int32)
