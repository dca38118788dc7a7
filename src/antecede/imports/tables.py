"""The rows of tables, a format at a time: CSV, JSON lines, recordings and Parquet."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.errors import BadFile
from antecede.imports.columns import COLUMNS, NO_FIELD, Reading
from antecede.imports.problems import Problems
from antecede.imports.reading import (
    LONGEST,
    UNREADABLE,
    name_of,
    open_text,
    parse_json,
    read_lines,
    unreadable,
)
from antecede.recorder import VERSION

BATCH: Final = 10_000
NESTED: Final = 5
"""How deep an object is looked into."""

Row = tuple[int, Mapping[str, Any]]
"""A line, and its fields."""
Reader = Callable[[Path, Reading, Problems, Callable[[int], str]], Iterator[Row]]


def csv_rows(
    path: Path, how: Reading, problems: Problems, place: Callable[[int], str]
) -> Iterator[Row]:
    """The rows of a CSV file, parsed strictly; all have as many fields as the header. Spaces around
    a field, which may align columns, are none of it."""
    csv.field_size_limit(LONGEST)
    start, header, wanted = 1, 0, dict[str, int]()
    try:
        with open_text(path, problems) as text:
            lines = _Watched(read_lines(text, name_of(path)))
            reader = csv.reader(lines, delimiter=how.delimiter, strict=True)
            for fields in reader:
                line, start = start, reader.line_num + 1
                if not fields or (len(fields) == 1 < header and not fields[0].strip()):
                    continue
                if not header:
                    names = [name.strip(" ") for name in fields]
                    header, wanted = len(fields), _header(path, names, how)
                elif len(fields) != header:
                    name = "bad-rows" if lines.is_whole else "truncated"
                    detail = f"there are {len(fields):,} fields, but {header:,} in the header"
                    problems.add(name, place(line), detail, "length")
                else:
                    yield line, {name: fields[at].strip(" ") for name, at in wanted.items()}
    except csv.Error as error:
        open_quote = "a quote is opened there and never closed, or closed in the middle of a field"
        detail = f"{place(start)}: this is no CSV: {error}; {open_quote}"
        raise BadFile(name_of(path), [detail]) from error
    except UNREADABLE as error:
        raise unreadable(path, error) from error


def _header(path: Path, fields: Sequence[str], how: Reading) -> dict[str, int]:
    """Where the wanted columns stand. One that is missing is one error, not one a row."""
    check_columns(path, fields, how)
    wanted = set(fields if how.is_open else how.columns.values())
    return {name: at for at, name in reversed(list(enumerate(fields))) if name in wanted}


def check_columns(path: Path, fields: Sequence[str], how: Reading) -> None:
    """Refuse a table without the columns that every row needs, or that the caller names."""
    if how.is_open:
        return
    needed = [
        name
        for name in COLUMNS
        if name in {"process", "kind"} or how.columns[name] not in {name, NO_FIELD}
    ]
    shown = ", ".join(fields[:20]) + (" ..." if len(fields) > 20 else "")
    if missing := [name for name in needed if how.columns[name] not in fields]:
        raise BadFile(
            name_of(path),
            [
                f"there is no column '{how.columns[name]}' among {shown}; {how.advice(name)}"
                for name in missing
            ],
        )
    refuse_twice(path, fields, how.columns.values())


def refuse_twice(path: Path, fields: Sequence[str], used: Iterable[str]) -> None:
    """Refuse a table in which it is not clear which column is meant."""
    if twice := [name for name in dict.fromkeys(used) if fields.count(name) > 1]:
        raise BadFile(
            name_of(path),
            [f"there are {fields.count(name):,} columns '{name}'; rename one" for name in twice],
        )


class _Watched:
    """Lines, of which one wants to know whether the last one had an end."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.is_whole = True

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.is_whole = line.endswith(("\n", "\r"))
        return line


def json_rows(
    path: Path, how: Reading, problems: Problems, place: Callable[[int], str]
) -> Iterator[Row]:
    """The objects of a file of JSON lines."""
    del how
    try:
        with open_text(path, problems) as text:
            for line, content in enumerate(read_lines(text, name_of(path)), 1):
                if not content.strip():
                    continue
                name = "bad-rows" if content.endswith("\n") else "truncated"
                try:
                    row = parse_json(content)
                except (ValueError, RecursionError) as error:
                    reason = getattr(error, "msg", "") or str(error)
                    problems.add(name, place(line), f"this is no JSON: {reason}", "json")
                    continue
                if not isinstance(row, dict):
                    problems.add("bad-rows", place(line), "this is no JSON object", "object")
                    continue
                try:
                    nested = _with_nested(row)
                except _Twice as error:
                    problems.add("bad-rows", place(line), str(error), "twice")
                    continue
                yield line, nested
    except UNREADABLE as error:
        raise unreadable(path, error) from error


class _Twice(ValueError):
    """Two ways lead to one name, and nothing says which is meant."""


def _with_nested(row: dict[str, Any], depth: int = NESTED) -> dict[str, Any]:
    """An object with the fields of those within it, too, by their ways: `a.b`."""
    if not depth or not any(isinstance(value, dict) for value in row.values()):
        return row
    found = dict(row)
    for name, value in row.items():
        for inner, of in _with_nested(value, depth - 1).items() if isinstance(value, dict) else ():
            if (way := f"{name}.{inner}") in found:
                raise _Twice(f"there are two fields '{way}', one within '{name}'")
            found[way] = of
    return found


def recording_rows(
    path: Path, how: Reading, problems: Problems, place: Callable[[int], str]
) -> Iterator[Row]:
    """The events in a file of `antecede.recorder`, without the lines that begin a recording."""
    for line, row in json_rows(path, how, problems, place):
        if "antecede" not in row:
            yield line, row
        elif (version := row.get("version")) != VERSION:
            told = f"this recording has version {json.dumps(version)}, and {VERSION} is known"
            raise BadFile(name_of(path), [f"{place(line)}: {told}; a newer antecede reads it"])


def parquet_fields(schema: Iterable[pa.Field], depth: int = NESTED) -> list[str]:
    """The columns of a table; those within others by their ways."""
    found = []
    for column in schema:
        if depth and pa.types.is_struct(column.type):
            found += [f"{column.name}.{one}" for one in parquet_fields(column.type, depth - 1)]
        else:
            found.append(column.name)
    return found


def parquet_rows(
    path: Path, how: Reading, problems: Problems, place: Callable[[int], str]
) -> Iterator[Row]:
    """The rows of a Parquet file that is no trace; they count from 1."""
    del problems, place
    line = 0
    try:
        parquet = pq.ParquetFile(path)
        check_columns(path, parquet_fields(parquet.schema_arrow), how)
        wanted = {column.partition(".")[0] for column in how.columns.values()}
        wanted |= {*how.columns.values()}
        columns = [name for name in parquet.schema_arrow.names if how.is_open or name in wanted]
        has_bytes = "binary" in str(parquet.schema_arrow.types)
        for batch in parquet.iter_batches(BATCH, columns=columns):
            for row in batch.to_pylist():
                line += 1
                yield line, _with_nested(_as_text(row) if has_bytes else row)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadFile(name_of(path), [f"cannot be read as Parquet: {error}"]) from error


def _as_text(value: Any) -> Any:
    """A value with text for bytes, as which some programs write it."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:  # it is none
            return value
    if isinstance(value, list):
        return [_as_text(one) for one in value]
    if isinstance(value, dict):
        return {name: _as_text(one) for name, one in value.items()}
    return value
