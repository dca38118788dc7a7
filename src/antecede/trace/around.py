"""The rows of a long run around one message, so that a question about it needs no others.

The footers of the files say which row groups may hold the send; from there, rows are taken on both
sides. What is about messages that were sent before the first of them is left out.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.files import path_of
from antecede.trace.batch import Unusual, batch_of
from antecede.trace.batches import constant_of
from antecede.trace.events import Run
from antecede.trace.intake import Intake
from antecede.trace.loader import Loader
from antecede.trace.prepare import sorted_destinations
from antecede.trace.reader import find_files, open_checked, read_tables, run_from_path
from antecede.trace.schema import APP, DELIVER, KINDS, LAYERS, SEND, VIEW


@dataclass(frozen=True, eq=False)
class Around:
    """Some rows of a run, held to the rules as far as can be seen from these."""

    run: Run
    rows: int
    """How many rows the run has in all."""
    cut_off: frozenset[str]
    """The processes that have rows, behind the send of the message, about messages of which the
    sends are not among these."""
    at_start: bool
    at_end: bool
    """Whether these are the first, and the last, rows of the run."""


@dataclass(frozen=True)
class _Group:
    file: Path
    index: int
    first_row: int
    """Counted in its file."""
    rows: int
    run: str | None
    numbers: tuple[int, int] | None
    """The smallest and the largest `number`, if that is known."""


def read_around(
    path: str | os.PathLike[str], run: str | None, message: str, layer: int, reach: int
) -> Around | None:
    """About so many rows on either side of the send of a message, SENDER:NUMBER in this layer;
    nothing if that takes a look at all rows: where row groups hold several runs, rows are out of
    order, or there is no such message."""
    groups = list(_groups(path_of(path)))
    names = {group.run for group in groups}
    if None in names or (run is None and len(names) != 1):
        return None
    chosen = [group for group in groups if run is None or group.run == run]
    sender, _, number = message.rpartition(":")
    if not number.isdecimal():
        return None
    at = _find_send(chosen, sender, int(number), layer)
    if at is None:
        return None
    first, stop = at, at + 1
    while first > 0 and sum(group.rows for group in chosen[first:at]) < reach:
        first -= 1
    while stop < len(chosen) and sum(group.rows for group in chosen[at + 1 : stop]) < reach:
        stop += 1
    loader = Loader()
    for group in chosen[first:stop]:
        for table in read_tables(group.file, True, [group.index]):
            loader.add(str(group.file), table, group.first_row)
    ((found, _, _, unaddressed),) = loader.unchecked()
    if len(unaddressed):
        return None
    total = sum(group.rows for group in chosen)
    ends = (first == 0, stop == len(chosen))
    return _hold_to_rules(found, (sender, int(number), layer), total, *ends)


def find_first_send(path: str | os.PathLike[str], run: str | None, layer: int | None) -> str | None:
    """The first message of a run, in any layer or this one, by the rows as they stand, or nothing
    if the first row group of the run has none."""
    for group in _groups(path_of(path)):
        if run is None or group.run == run:
            parquet = open_checked(group.file)
            table = _read_sends(parquet, group.index, layer)
            sends = table.slice(0, 1).to_pylist()
            return f"{sends[0]['sender']}:{sends[0]['number']}" if sends else None
    return None


def _hold_to_rules(
    run: Run, wanted: tuple[str, int, int], rows: int, at_start: bool, at_end: bool
) -> Around | None:
    sender, number, layer = wanted
    events = run.events
    if int(events.kind.max()) > VIEW or int(events.layer.max()) >= len(LAYERS):
        return None
    steps = len(events) + len(events.destination)
    intake = Intake(None, steps, timed=False, whole=at_start, numbered=True)
    try:
        intake.add(batch_of(events, run.processes))
    except Unusual:
        return None
    message = intake.message_of_row
    unknown = (events.kind <= DELIVER) & (message < 0)
    start, destination = sorted_destinations(events, len(run.processes))
    held = replace(events, message=message, destination_start=start, destination=destination)
    sends = (events.kind == SEND) & (events.sender == list(run.processes).index(sender))
    sends &= events.layer == layer
    behind = np.arange(len(events)) > np.argmax(sends & (events.number == number))
    cut_off = {run.processes[code] for code in np.unique(events.process[unknown & behind])}
    kept = replace(run, events=held.take(np.flatnonzero(~unknown)))
    return Around(kept, rows, frozenset(cut_off), at_start, at_end)


def _groups(root: Path) -> Iterator[_Group]:
    """All row groups that have rows."""
    for file in find_files(root):
        parquet = open_checked(file)
        named = None if "run" in parquet.schema_arrow.names else run_from_path(file)
        first_row = 0
        for index in range(parquet.num_row_groups):
            rows = parquet.metadata.row_group(index).num_rows
            run = named if named is not None else constant_of(parquet, index, "run")
            if rows:
                yield _Group(file, index, first_row, rows, run, _numbers(parquet, index))
            first_row += rows


def _numbers(parquet: pq.ParquetFile, index: int) -> tuple[int, int] | None:
    group = parquet.metadata.row_group(index)
    for column in range(group.num_columns):
        if group.column(column).path_in_schema == "number":
            told = group.column(column).statistics
            return (told.min, told.max) if told is not None and told.has_min_max else None
    return None


def _find_send(groups: list[_Group], sender: str, number: int, layer: int) -> int | None:
    """The row group that has the send of a message."""
    for at, group in enumerate(groups):
        if group.numbers is not None and not group.numbers[0] <= number <= group.numbers[1]:
            continue
        parquet = open_checked(group.file)
        table = _read_sends(parquet, group.index, layer)
        found = pc.and_(pc.equal(table["number"], number), pc.equal(table["sender"], sender))
        if pc.any(found).as_py():
            return at
    return None


def _read_sends(parquet: pq.ParquetFile, group: int, layer: int | None) -> pa.Table:
    """The sends of a row group, in any layer or this one."""
    wanted = ("kind", "sender", "number", "layer")
    columns = [name for name in wanted if name in parquet.schema_arrow.names]
    table = parquet.read_row_group(group, columns=columns)
    table = table.filter(pc.equal(table["kind"], KINDS[SEND]))
    if layer is None:
        return table
    if "layer" not in columns:
        return table.slice(0, len(table) if layer == APP else 0)
    of = pc.fill_null(table["layer"].cast(pa.string()), LAYERS[APP])
    return table.filter(pc.equal(of, LAYERS[layer]))
