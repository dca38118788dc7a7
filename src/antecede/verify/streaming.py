"""The runs of a trace as it is read: every row once, and never a run in memory as a whole."""

import os
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from antecede.trace.batch import Unusual
from antecede.trace.batches import begins_with_receptions, read_again, read_batches
from antecede.trace.intake import Intake, TimesNeeded
from antecede.trace.joined import Joined, Offsets, Times
from antecede.trace.names import Names, filled
from antecede.trace.reader import count_rows
from antecede.trace.schema import DELIVER, KINDS, LAYERS, SEND
from antecede.verify.audit import Subject


class Source(NamedTuple):
    """Some rows of a row group, and the events that were made of them."""

    file: Path
    group: int
    first_row: int
    rows: int
    first_event: int
    events: int


def stream_runs(path: str | os.PathLike[str], layer: int) -> Iterator[Subject]:
    """Every run as soon as it is complete. Raises `Unusual` where rows do not stand in the order of
    their positions or a run is in several pieces, and where a rule is broken."""
    done = 0
    try:
        for subject in take_runs(path, layer, times=begins_with_receptions(path)):
            yield subject
            done += 1
    except TimesNeeded:  # the first receptions came late
        for index, subject in enumerate(take_runs(path, layer, times=True)):
            if index >= done:
                yield subject


def take_runs(path: str | os.PathLike[str], layer: int, *, times: bool) -> Iterator[Subject]:
    """The same, with times or without; raises `TimesNeeded` where there should be some."""
    steps = count_rows(path)
    name: str | None = None
    names: set[str] = set()
    intake = Intake(layer, steps, timed=times)
    sources: list[Source] = []
    for batch in read_batches(path, times=times):
        if batch.run != name:
            if name is not None:
                yield _complete(name, intake, sources, layer)
            if batch.run in names:
                raise Unusual("a run is in several pieces")
            name = batch.run
            names.add(name)
            intake, sources = Intake(layer, steps, timed=times), []
        first_event = intake.wanted.count("events")
        intake.add(batch)
        events = intake.wanted.count("events") - first_event
        place = (batch.file, batch.group, batch.first_row)
        sources.append(Source(*place, len(batch), first_event, events))
    if name is not None:
        yield _complete(name, intake, sources, layer)


def _complete(name: str, intake: Intake, sources: list[Source], layer: int) -> Subject:
    joined = intake.joined()
    look_up = None if intake.timed else partial(_look_up_times, sources, layer, joined)
    deliveries = intake.wanted.count("deliveries")
    return Subject(name, intake.processes, joined, deliveries, intake.crashed, look_up)


def _look_up_times(sources: list[Source], layer: int, joined: Joined, copies: Offsets) -> Times:
    """When these copies were delivered, from the row groups that they were delivered in."""
    order = np.argsort(joined.delivery[copies], kind="stable")
    times = np.full(len(copies), np.nan)
    done = 0

    def source_of(event: int) -> Source:
        return sources[bisect_right(sources, event, key=lambda source: source.first_event) - 1]

    for source, events in groupby(joined.delivery[copies[order]].tolist(), source_of):
        numbers = [event - source.first_event for event in events]
        table = read_again(source.file, source.group, ["time"])
        if table.num_columns:
            time = filled(table["time"], pa.float64(), np.nan)[source.first_row :]
            times[order[done : done + len(numbers)]] = time[_rows_of_events(source, layer)[numbers]]
        done += len(numbers)
    return times


def _rows_of_events(source: Source, layer: int) -> Offsets:
    """The rows that became events: sends, and deliveries at others than the sender."""
    if source.events == source.rows:
        return np.arange(source.rows)
    table = read_again(source.file, source.group, ["layer", "kind", "process", "sender"])
    table = table.slice(source.first_row, source.rows)
    names = Names((*KINDS, *LAYERS))
    column = {name: names.codes(table[name]) for name in table.column_names}
    kind, is_event = column["kind"], np.ones(source.rows, bool)
    if "layer" in column:
        code = np.where(column["layer"] < 0, len(KINDS), column["layer"])
        is_event = code == len(KINDS) + layer
    crosses = (kind == DELIVER) & (column["process"] != column["sender"])
    return np.flatnonzero(is_event & ((kind == SEND) | crosses))
