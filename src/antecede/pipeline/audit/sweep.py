"""One window of a run whose rows stand in order: what its task does, from row groups to findings.

Everything that matters for a message sent in the window, and every causal path to it, lies between
the first send that is still in flight and its last delivery. If the stretch that the task reads
covers that, its findings stand; whether it does, for all windows, is seen from what they give back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.errors import BadInput
from antecede.pipeline.audit.examine import Examined
from antecede.pipeline.audit.flow import NONE
from antecede.pipeline.audit.stretch import Layout, Span, Stretch, find_stretch
from antecede.trace.events import Events, Integers
from antecede.trace.joined import Joined
from antecede.trace.prepare import prepare
from antecede.trace.schema import CRASH, LAYERS, SEND
from antecede.verify.audit import Subject, find_witnesses, judge_copies
from antecede.verify.delays import Delays
from antecede.verify.findings import findings_of, write_findings
from antecede.verify.verdict import WITNESS_LIMIT, Witness
from antecede.verify.witness import first_early

WIDEST: Final = 4096
"""Processes beyond which rows of one cell each do not fit into a worker."""

OPEN: Final = pa.schema(
    [
        ("layer", pa.int16()),
        ("sender", pa.int32()),
        ("number", pa.int64()),
        ("destination", pa.int32()),
        ("send", pa.int64()),
    ]
)
"""Copies sent in a window and not delivered in its stretch; `send` is a position."""
LATE: Final = pa.schema(
    [
        ("layer", pa.int16()),
        ("sender", pa.int32()),
        ("number", pa.int64()),
        ("process", pa.int32()),
        ("kind", pa.int16()),
        ("position", pa.int64()),
        ("time", pa.float64()),
        ("send", pa.int64()),
    ]
)
"""Events of a window about messages of earlier ones; `send` is `NONE` where the stretch does not
have it."""


@dataclass(frozen=True, eq=False)
class Swept:
    """What a task gives back. Columns go by process or, `sends` and `last_number`, by layer and
    process; processes are counted as the task came across them."""

    span: Span
    names: tuple[str, ...]
    events: Integers
    next_seq: Integers
    sends: Integers
    last_number: Integers
    first: int
    last: int
    """The positions of its first and its last own row,"""
    start: int
    end: int
    """and of the first and the last row that it has seen."""
    crashed: tuple[int, ...]
    deliveries: int
    last_delivery: Integers
    undelivered: Integers
    open: int
    late: int
    """How many rows the files of `OPEN` and `LATE` have."""
    judged: bool
    violations: int
    delays: Delays
    witnesses: tuple[tuple[int, Witness], ...]
    """The first of them, with the positions of the early deliveries."""


def sweep_window(layout: Layout, folder: str, keep: bool, window: int) -> Swept | BadInput | None:
    """Judge a window; nothing if rows are not in order or something breaks a rule. What is left
    over goes to files in `folder`, as do all findings, if they are to be kept."""
    try:
        stretch = find_stretch(layout, window)
    except BadInput as error:
        return error
    except UnicodeDecodeError:
        return None
    if stretch is None:
        return None
    examined = stretch.examined
    _write_open(Path(folder) / f"open-{window}.parquet", examined)
    _write_late(Path(folder) / f"late-{window}.parquet", examined)
    if len(stretch.names) > WIDEST:
        return _digest(stretch, layout.judged)
    file = Path(folder) / f"findings-{window}.parquet" if keep else None
    return _judge(stretch, layout, file)


def in_layer(events: Events, layer: int) -> Events:
    if (events.layer == layer).all():
        return events
    return events.take(np.flatnonzero(events.layer == layer))


def own_copies(examined: Examined, judged: int, joined: Joined) -> slice:
    """The copies of the messages sent in the window."""
    extent = examined.extent
    is_send = (examined.events.kind == SEND) & (examined.events.layer == judged)
    before = int(np.count_nonzero(is_send[: extent.first]))
    until = before + int(np.count_nonzero(is_send[extent.first : extent.stop]))
    start = joined.prepared.start
    return slice(int(start[before]), int(start[until]))


def _judge(stretch: Stretch, layout: Layout, file: Path | None) -> Swept:
    examined = stretch.examined
    events = in_layer(examined.events, layout.judged)
    joined = prepare(events, len(stretch.names), whole=False)
    own = own_copies(examined, layout.judged, joined)
    judged = judge_copies(joined, own)
    subject = Subject(layout.run, stretch.names, joined, 0, np.empty(0, bool))
    told = first_early(joined, judged.early, WITNESS_LIMIT)
    positions = events.position[joined.row[joined.delivery[told]]].tolist()
    witnesses = tuple(zip(positions, find_witnesses(subject, told), strict=True))
    if file and len(judged.early):
        write_findings(file, findings_of(subject, judged.early))
    return _digest(
        stretch,
        layout.judged,
        np.bincount(judged.missing, minlength=len(stretch.names)),
        violations=len(judged.early),
        delays=judged.delays,
        witnesses=witnesses,
    )


def _digest(
    stretch: Stretch,
    judged: int,
    undelivered: Integers | None = None,
    *,
    violations: int = 0,
    delays: Delays | None = None,
    witnesses: Sequence[tuple[int, Witness]] = (),
) -> Swept:
    examined, size = stretch.examined, len(stretch.names)
    events, own = examined.events, slice(examined.extent.first, examined.extent.stop)
    sends = events.kind[own] == SEND
    author = events.layer[own][sends].astype(np.int64) * size + events.process[own][sends]
    first, last, start, end = events.position[[own.start, own.stop - 1, 0, -1]].tolist()
    crashed = np.unique(events.process[own][events.kind[own] == CRASH])
    return Swept(
        stretch.span,
        stretch.names,
        np.bincount(events.process[own], minlength=size),
        examined.next_seq,
        np.bincount(author, minlength=len(LAYERS) * size),
        examined.sent,
        *(first, last, start, end),
        tuple(crashed.tolist()),
        examined.deliveries,
        examined.last_delivery,
        np.zeros(size, np.int64) if undelivered is None else undelivered,
        len(examined.open),
        len(examined.late),
        undelivered is not None,
        violations,
        delays or Delays(),
        tuple(witnesses),
    )


def _write_open(file: Path, examined: Examined) -> None:
    if not len(examined.open):
        return
    events = examined.events
    row = events.destination_start.searchsorted(examined.open, side="right") - 1
    columns = [
        *(events.layer[row], events.sender[row], events.number[row]),
        *(events.destination[examined.open], events.position[row]),
    ]
    _write(file, pa.table(columns, schema=OPEN))


def _write_late(file: Path, examined: Examined) -> None:
    if not len(examined.late):
        return
    events, row, send = examined.events, examined.late, examined.late_send
    columns = [
        *(events.layer[row], events.sender[row], events.number[row], events.process[row]),
        *(examined.late_kind, events.position[row], events.time[row]),
        np.where(send < 0, NONE, events.position[send]),
    ]
    _write(file, pa.table(columns, schema=LATE))


def _write(file: Path, table: pa.Table) -> None:
    """Under another name first, for a task may be tried twice."""
    partial = file.with_name(f".{file.name}.partial")
    pq.write_table(table, partial)
    partial.replace(file)
