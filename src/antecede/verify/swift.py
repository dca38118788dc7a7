"""The verdict on a trace that is read only once, and never in memory as a whole."""

import os
from collections.abc import Iterable, Iterator
from itertools import groupby

import numpy as np
import pyarrow as pa

from antecede.trace.batches import Unusual, read_again, read_batches
from antecede.trace.loader import Names, filled
from antecede.trace.reader import count_rows
from antecede.trace.schema import DELIVER, KINDS, LAYERS, SEND
from antecede.verify.audit import delays_of, make_witness, trace_paths
from antecede.verify.intake import Source, TakenRun, TimesNeeded
from antecede.verify.kernel import NEVER
from antecede.verify.passes import last_predecessors
from antecede.verify.prepare import Joined, Offsets
from antecede.verify.verdict import WITNESS_LIMIT, Verdict, Witness
from antecede.verify.witness import first_early


def verify_swiftly(path: str | os.PathLike[str], layer: int) -> Verdict | None:
    """The verdict on all runs of a trace, or nothing: that says that the trace is not a usual one,
    be it allowed or broken."""
    try:
        try:
            return _verify(path, layer, times=False)
        except TimesNeeded:  # which the very first receptions tell
            return _verify(path, layer, times=True)
    except Unusual:
        return None


def _verify(path: str | os.PathLike[str], layer: int, *, times: bool) -> Verdict:
    verdict = Verdict()
    for run in take_runs(path, layer, times=times):
        verdict += judge_taken(run, layer, WITNESS_LIMIT - len(verdict.witnesses))
    return verdict


def take_runs(path: str | os.PathLike[str], layer: int, *, times: bool) -> Iterator[TakenRun]:
    """Every run as soon as it is complete."""
    steps = count_rows(path)
    run: TakenRun | None = None
    names: set[str] = set()
    for batch in read_batches(path, times=times):
        if run is None or batch.run != run.name:
            if run is not None:
                yield run
            if batch.run in names:
                raise Unusual("a run is in several pieces")
            names.add(batch.run)
            run = TakenRun(batch.run, layer, steps, timed=times)
        run.add(batch)
    if run is not None:
        yield run


def judge_taken(run: TakenRun, layer: int, witnesses: int) -> Verdict:
    """What `antecede.verify.audit` says of a run in memory."""
    joined = run.joined()
    prepared = joined.prepared
    last = last_predecessors(prepared)
    missing = prepared.column[prepared.rank == NEVER]
    return Verdict(
        runs=1,
        messages=len(joined.send),
        deliveries=run.deliveries,
        violations=int(np.count_nonzero(last > prepared.rank)),
        undelivered=len(missing),
        undelivered_at_crashed=int(np.count_nonzero(run.crashed[missing])),
        witnesses=_witnesses(run, layer, joined, first_early(joined, last, witnesses)),
        delays=delays_of(joined, last),
    )


def _witnesses(run: TakenRun, layer: int, joined: Joined, early: Offsets) -> tuple[Witness, ...]:
    if run.timed:
        times = joined.delivered[early].tolist()
    else:
        times = _look_up_times(run, layer, joined.delivery[early].tolist())
    told = []
    for time, (copy, path) in zip(times, trace_paths(joined, early), strict=True):
        process = run.processes[joined.prepared.column[copy]]
        names = tuple(run.message_name(joined, message) for message in path)
        told.append(make_witness(run.name, process, names, time))
    return tuple(told)


def _look_up_times(run: TakenRun, layer: int, events: Iterable[int]) -> list[float]:
    """When these events happened; those of one row group one behind the other."""
    times: list[float] = []
    for source, of_source in groupby(events, run.source):
        numbers = [event - source.first_event for event in of_source]
        table = read_again(source.file, source.group, ["time"])
        if table.num_columns:
            time = filled(table["time"], pa.float64(), np.nan)[source.first_row :]
            times += time[_rows_of_events(source, layer)[numbers]].tolist()
        else:
            times += [np.nan] * len(numbers)
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
