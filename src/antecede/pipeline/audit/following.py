"""The prepared copies of a window (`store`), straight from its rows: for a run
with stragglers, which need a second look."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.compiled import loop_for
from antecede.errors import BrokenInvariant
from antecede.pipeline.audit.flow import NONE, Copies, Integers, Positions, Times
from antecede.pipeline.audit.settle import PATCH
from antecede.pipeline.audit.store import COPIES
from antecede.pipeline.audit.stretch import Layout, Span, read_stretch
from antecede.pipeline.audit.sweep import in_layer
from antecede.trace.events import Events
from antecede.trace.schema import DELIVER, RECEIVE, SEND

GROUP: Final = 500_000


def write_window(
    layout: Layout, names: tuple[str, ...], patches: str, folder: str, span: Span
) -> None:
    """Write the copies of the messages sent in a window, with what is known of their fate from
    elsewhere."""
    examined = read_stretch(layout, span, names)
    if examined is None:
        raise BrokenInvariant(f"window {span.window} of run '{layout.run}' has changed")
    rows = examined.extent
    first, last = examined.events.position[[rows.first, rows.stop - 1]].tolist()
    copies = follow_copies(in_layer(examined.events, layout.judged), first, last)
    patch = Path(patches) / f"patch-{span.window}.parquet"
    if patch.exists():
        apply_patch(copies, pq.read_table(patch, schema=PATCH), len(names))
    file = Path(folder) / f"part-{span.window:06}.parquet"
    partial = file.with_name(f".{file.name}.partial")
    pq.write_table(_table(copies), partial, row_group_size=GROUP, compression="zstd")
    partial.replace(file)


def follow_copies(events: Events, first: int, last: int) -> Copies:
    """The copies of the messages sent between two positions, from the events of one layer."""
    places = len(events.destination)
    delivery, arrival = np.full(places, NONE), np.full(places, NONE)
    delivered, received = np.full(places, np.nan), np.full(places, np.nan)
    loop_for(follow, len(events) + places)(
        *(events.kind, events.process, events.sender, events.message),
        *(events.position, events.time, events.destination_start, events.destination),
        np.flatnonzero(events.kind == SEND),
        *(delivery, arrival, delivered, received),
    )
    row = np.repeat(np.arange(len(events)), np.diff(events.destination_start))
    send = events.position[row]
    chosen = (send >= first) & (send <= last) & (events.destination != events.sender[row])
    row = row[chosen]
    return Copies(
        send[chosen],
        events.sender[row],
        events.number[row],
        events.destination[chosen],
        *(column[chosen] for column in (delivery, arrival, delivered, received)),
    )


def follow(
    kind: npt.NDArray[np.int16],
    process: Integers,
    sender: Integers,
    message: Integers,
    position: Positions,
    time: Times,
    destination_start: Positions,
    destination: Integers,
    send_of: Positions,
    delivery: Positions,
    arrival: Positions,
    delivered: Times,
    received: Times,
) -> None:
    """Fill in what happened to every copy; its place is that of its destination."""
    for event in range(len(kind)):
        what = kind[event]
        p = process[event]
        if what == SEND or what > DELIVER or p == sender[event]:
            continue
        send = send_of[message[event]]
        copy = destination_start[send]
        length = destination_start[send + 1] - copy
        while length > 1:
            half = length // 2
            copy += half if destination[copy + half] <= p else 0
            length -= half
        if arrival[copy] == NONE:
            arrival[copy] = position[event]
            if what == RECEIVE:
                received[copy] = time[event]
        if what == DELIVER:
            delivery[copy] = position[event]
            delivered[copy] = time[event]


def apply_patch(copies: Copies, patch: pa.Table, processes: int) -> None:
    """Enter what happened to some of the copies later."""
    column: dict[str, npt.NDArray[Any]] = {name: patch[name].to_numpy() for name in PATCH.names}
    keys = _keys(copies.sender, copies.number, copies.destination, processes)
    order = np.argsort(keys)
    wanted = _keys(column["sender"], column["number"], column["destination"], processes)
    copy = order[keys[order].searchsorted(wanted)]
    late = column["delivery"] != NONE
    copies.delivery[copy[late]] = column["delivery"][late]
    copies.delivered[copy[late]] = column["delivered"][late]
    new = copies.arrival[copy] == NONE
    is_received = column["reception"] != NONE
    is_received &= ~late | (column["reception"] < column["delivery"])
    arrival = np.where(is_received, column["reception"], column["delivery"])
    copies.arrival[copy[new]] = arrival[new]
    copies.received[copy[new & is_received]] = column["received"][new & is_received]


def _keys(sender: Integers, number: Positions, destination: Integers, processes: int) -> Positions:
    keys: Positions = (number * processes + sender) * processes + destination
    return keys


def _table(copies: Copies) -> pa.Table:
    columns = []
    for field in COPIES:
        values = getattr(copies, field.name)
        unknown = np.isnan(values) if values.dtype.kind == "f" else values == NONE
        columns.append(pa.array(values, field.type, mask=unknown))
    return pa.table(columns, schema=COPIES)
