"""Logs of whatever format, understood without being told."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from antecede.errors import BadFile, Misuse, counted
from antecede.imports.columns import checked_delimiter, make_reading
from antecede.imports.detect import HEAD, Format, decode_head, find_delimiter, only_format
from antecede.imports.guess import guess_reading
from antecede.imports.imported import Imported
from antecede.imports.kept import KeptRows
from antecede.imports.local_order import Order
from antecede.imports.otlp import import_otlp
from antecede.imports.problems import Problems
from antecede.imports.reading import name_of, open_bytes
from antecede.imports.shiviz import import_shiviz
from antecede.imports.tables import (
    Reader,
    csv_rows,
    json_rows,
    parquet_fields,
    parquet_rows,
    recording_rows,
)
from antecede.imports.tabular import import_rows
from antecede.trace import Assumed

READERS: Mapping[Format, Reader] = {
    Format.CSV: csv_rows,
    Format.JSONL: json_rows,
    Format.PARQUET: parquet_rows,
    Format.RECORDING: recording_rows,
}

TABLES: frozenset[Format] = frozenset({Format.CSV, Format.JSONL, Format.PARQUET})


def keeping_readers() -> Mapping[Format, Reader]:
    """Readers for files that grow: they keep what they have read."""
    kept = {name: KeptRows(reader) for name, reader in READERS.items()}
    return {**kept, Format.PARQUET: parquet_rows}


@dataclass(frozen=True)
class Wishes:
    """What the caller says of the logs; nothing is needed."""

    format: Format | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    separator: str | None = None
    delimiter: str | None = None
    patterns: Mapping[str, Any] = field(default_factory=dict)
    """`pattern`, `send`, `deliver` and `crash`, for logs with vector clocks."""
    broadcast: bool = False
    tolerate: frozenset[str] = frozenset()
    readers: Mapping[Format, Reader] = field(default_factory=lambda: READERS)
    assumed: Sequence[Assumed] = ()
    """What the caller has had to assume already."""


@dataclass(frozen=True)
class Understood:
    """A log as runs, and in which way it was read."""

    imported: Imported
    lines: Sequence[str]


def import_logs(files: Sequence[Path], wishes: Wishes) -> Understood:
    """The runs in some files of one format, which is found out."""
    found = _import_logs(files, wishes)
    assumed = [*found.imported.assumed, *wishes.assumed]
    return Understood(replace(found.imported, assumed=assumed), found.lines)


def refuse_unused(format_: Format, wishes: Wishes) -> None:
    """Refuse what the caller says of logs of another format: nobody would heed it."""
    if (wishes.columns or wishes.kinds) and format_ not in TABLES:
        raise Misuse(f"--column and --kind are for tables; this is {format_}")
    if wishes.separator and format_ not in TABLES:
        raise Misuse(f"--separator is for tables; this is {format_}")
    if wishes.delimiter is not None and format_ is not Format.CSV:
        raise Misuse(f"--delimiter is for CSV; this is {format_}")
    if wishes.patterns and format_ is not Format.SHIVIZ:
        named = ", ".join(f"--{name}" for name in wishes.patterns)
        raise Misuse(f"{named}: that is for logs with vector clocks; this is {format_}")
    if wishes.broadcast and format_ is Format.TRACE:
        raise Misuse("--broadcast is for logs; a trace says whom messages are for")


def _import_logs(files: Sequence[Path], wishes: Wishes) -> Understood:
    format_ = only_format(files, wishes.format)
    refuse_unused(format_, wishes)
    shared: dict[str, Any] = {"broadcast": wishes.broadcast, "tolerate": wishes.tolerate}
    what = files[0].name if len(files) == 1 else f"{len(files)} files"
    if format_ is Format.RECORDING:
        # A process that was killed may have been at its last line.
        tolerated = {**shared, "tolerate": wishes.tolerate | {"truncated"}}
        reader = wishes.readers[format_]
        imported = import_rows(
            files, reader, make_reading(None, None), order=Order.IN_FILE, **tolerated
        )
        return Understood(imported, [f"{what}: recorded by antecede.recorder"])
    if format_ in wishes.readers:
        return _import_table(files, format_, wishes, what, shared)
    if format_ is Format.SHIVIZ:
        imported = import_shiviz(files, **dict(wishes.patterns), **shared)
        how = "messages by --send and --deliver" if wishes.patterns.get("send") else "clocks alone"
        return Understood(imported, [f"{what}: a log with vector clocks, {how}"])
    if format_ is Format.OTLP:
        return Understood(import_otlp(files, **shared), [f"{what}: OpenTelemetry spans"])
    raise BadFile(name_of(files[0]), [f"{format_} is no log to be imported"])


def _import_table(
    files: Sequence[Path], format_: Format, wishes: Wishes, what: str, shared: dict[str, Any]
) -> Understood:
    reader = wishes.readers[format_]
    delimiter, fields = ",", list[str]()
    if format_ is Format.CSV:
        delimiter, fields = _header(files[0], wishes.delimiter)
        if len(fields) == 1:
            told = f"which character stands between fields? The first line is {fields[0][:80]!r}."
            raise Misuse(f"{told}\n  --delimiter CHARACTER says it")
    elif format_ is Format.PARQUET:
        fields = parquet_fields(pq.read_schema(files[0]))
    guess = guess_reading(
        files, reader, wishes.columns, wishes.kinds, wishes.separator, delimiter, fields
    )
    named = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}.get(delimiter, delimiter)
    names = {Format.CSV: f"CSV with {named}", Format.JSONL: "JSON lines", Format.PARQUET: "Parquet"}
    lines = [f"{what}: {names[format_]}, {counted(guess.rows, 'row')}", *guess.lines()]
    return Understood(import_rows(files, reader, guess.reading, **shared), lines)


def _header(file: Path, delimiter: str | None) -> tuple[str, list[str]]:
    with open_bytes(file, Problems()) as content:
        text = decode_head(content.read(HEAD))
    between = checked_delimiter(delimiter or find_delimiter(text) or ",")
    first = next((line for line in text.splitlines() if line.strip()), "")
    fields = next(csv.reader([first], delimiter=between), [])
    return between, [name.strip(" ") for name in fields]
