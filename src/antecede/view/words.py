"""What the log that a trace was made from says: names of messages, texts, and local events, which
become events of the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq

from antecede.trace import SEND, Run
from antecede.trace.events import Integers, offsets_of
from antecede.trace.reader import find_files, open_checked
from antecede.trace.schema import EXTRA
from antecede.view.waits import NOTHING, Waits

LOCAL: Final = 7
"""The kind of a local event on the page; a trace has none."""
LONGEST: Final = 300
"""Characters of a text that a page shows."""


@dataclass(frozen=True, eq=False)
class Words:
    """What is said of the events of a run, by their places in it."""

    names: Sequence[str] = ()
    """Of every message, in the order of their sends; empty where the trace has none."""
    texts: Mapping[int, str] = field(default_factory=dict)


def add_words(trace: Path, run: Run, waits: Waits, limit: int) -> tuple[Run, Waits, Words]:
    """The run with its local events, and what the log says; the run itself where that is nothing,
    or more than a page holds."""
    columns = [name for name in EXTRA.names if name != "place"]
    tables = []
    for file in find_files(trace):
        present = set(open_checked(file).schema_arrow.names)
        if "message" not in present and "text" not in present and "before" not in present:
            return run, waits, Words()
        tables.append(pq.read_table(file, columns=[name for name in columns if name in present]))
    rows = run.events.row.tolist()
    said = {name: _column(tables, name, rows) for name in columns}
    total = len(rows) + sum(len(found or ()) for found in (*said["before"], *said["after"]))
    if total > limit:
        return run, waits, Words()
    return _insert(run, waits, said)


def _column(tables: Sequence[Any], name: str, rows: list[int]) -> list[Any]:
    whole: list[Any] = []
    for table in tables:
        has = name in table.column_names
        whole += table[name].to_pylist() if has else [None] * table.num_rows
    return [whole[row] for row in rows]


def _insert(run: Run, waits: Waits, said: Mapping[str, list[Any]]) -> tuple[Run, Waits, Words]:
    """Each event with what its process did before and after it."""
    owner: list[int] = []
    told: list[dict[str, Any] | None] = []
    for event, (before, after) in enumerate(zip(said["before"], said["after"], strict=True)):
        around = [*(before or ()), None, *(after or ())]
        owner += [event] * len(around)
        told += around
    is_local = np.array([one is not None for one in told], bool)
    place = np.flatnonzero(~is_local)
    larger = _with_locals(run, np.array(owner, np.int64), is_local, told)
    texts = {
        at: text[:LONGEST]
        for at, (event, one) in enumerate(zip(owner, told, strict=True))
        if (text := said["text"][event] if one is None else one["text"])
    }
    sends = np.flatnonzero(run.events.kind == SEND).tolist()
    names = [said["message"][event] for event in sends]
    known = names if any(names) else []
    return larger, _moved(waits, place, len(told)), Words(known, texts)


def _with_locals(run: Run, owner: Integers, is_local: Any, told: Sequence[Any]) -> Run:
    events = run.events
    columns = {
        column.name: getattr(events, column.name)[owner]
        for column in fields(events)
        if not column.name.startswith("destination")
    }
    columns["kind"][is_local] = LOCAL
    columns["layer"][is_local] = 0
    for name in ("sender", "message"):
        columns[name][is_local] = -1
    times = [one["time"] for one in told if one is not None]
    columns["time"][is_local] = [np.nan if time is None else time for time in times]
    counts = np.where(is_local, 0, np.diff(events.destination_start)[owner])
    larger = replace(events, **columns, destination_start=offsets_of(counts))
    return Run(run.name, run.processes, larger, run.sources)


def _moved(waits: Waits, place: Integers, size: int) -> Waits:
    """The same waits, where events have other places."""

    def moved(awaited: Integers) -> Integers:
        column = np.full(size, NOTHING)
        column[place] = np.where(awaited >= 0, place[awaited], awaited)
        return column

    missing = waits.missing.copy()
    missing[0] = place[missing[0]]
    return Waits(moved(waits.delivered), moved(waits.arrived), missing)
