"""What a log calls the messages of the trace that was made from it, and where it speaks of them.

The columns `message` and `place` are read only for the few messages that somebody is to be told of,
row group by row group.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from antecede.errors import Misuse
from antecede.files import path_of
from antecede.trace.reader import find_files, open_checked, read_metadata, run_from_path, unreadable
from antecede.trace.schema import APP, CLOCK_KEY, KINDS, LAYERS, SEND, UNIX

_WANTED: Final = ("run", "layer", "process", "kind", "sender", "number", "message", "place")

MessageKey = tuple[str, str]
"""A run, and a message as SENDER:NUMBER."""


@dataclass(frozen=True)
class Called:
    """By run and message, the log's own names; by run, process and message, where it says of its
    delivery."""

    names: dict[MessageKey, str] = field(default_factory=dict)
    places: dict[tuple[str, str, str], str] = field(default_factory=dict)


def read_called(
    path: str | os.PathLike[str], wanted: Collection[MessageKey], layer: str = LAYERS[APP]
) -> Called:
    """The names of these messages of a layer, as far as the trace has them."""
    called = Called()
    if not wanted:
        return called
    numbers = pa.array(sorted({int(message.rpartition(":")[2]) for _, message in wanted}))
    for row in _rows(path_of(path), lambda table: pc.is_in(table["number"], numbers)):
        message = f"{row['sender']}:{row['number']}"
        if (row["run"], message) not in wanted or _layer_of(row) != layer:
            continue
        if row["message"] is not None:
            called.names[row["run"], message] = row["message"]
        if row["kind"] == "deliver" and row.get("place") is not None:
            called.places[row["run"], row["process"], message] = row["place"]
    return called


def _layer_of(row: dict[str, Any]) -> str:
    return row.get("layer") or LAYERS[APP]


def find_called(
    path: str | os.PathLike[str], name: str, run: str | None, layer: str = LAYERS[APP]
) -> tuple[str | None, str]:
    """Run and message, as SENDER:NUMBER, where the log calls one of the layer so; else the same
    again."""
    rows = _rows(path_of(path), lambda table: pc.equal(table["message"], name))
    called = [
        (row["run"], f"{row['sender']}:{row['number']}")
        for row in rows
        if row["kind"] == KINDS[SEND] and _layer_of(row) == layer and run in {None, row["run"]}
    ]
    if len(called) > 1:
        runs = dict.fromkeys(one for one, _ in called)
        which = ", ".join([*runs][:5] if len(runs) > 1 else [message for _, message in called][:5])
        how = "name a run with --run" if len(runs) > 1 else "say which as SENDER:NUMBER"
        raise Misuse(f"several messages are called '{name}'; {how}: {which}")
    return called[0] if called else (run, name)


def _rows(root: Path, chosen: Any) -> Iterator[dict[str, Any]]:
    for file in find_files(root):
        parquet = open_checked(file)
        present = [name for name in _WANTED if name in parquet.schema_arrow.names]
        if "message" not in present:
            continue
        for group in range(parquet.num_row_groups):
            try:
                table = parquet.read_row_group(group, columns=present)
            except (pa.ArrowException, OSError) as error:
                raise unreadable(file, error) from error
            for row in table.filter(pc.fill_null(chosen(table), False)).to_pylist():
                yield {"run": run_from_path(file), **row}


def is_absolute(path: str | os.PathLike[str]) -> bool:
    """Whether the times of a trace count from 1970, as its footers say."""
    files = find_files(path_of(path))
    return bool(files) and all(read_metadata(file).get(CLOCK_KEY) == UNIX for file in files)


def time_text(seconds: float, *, absolute: bool) -> str:
    """A time for a person: of the day, or in seconds."""
    if not absolute:
        return f"{seconds:.6g} s"
    try:
        told = datetime.fromtimestamp(round(seconds, 6), UTC)
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.6g} s"
    return told.isoformat(sep=" ").replace("+00:00", "Z")
