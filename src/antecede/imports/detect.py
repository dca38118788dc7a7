"""What a log is, found out from its first bytes."""

import csv
import io
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.errors import BadFile
from antecede.imports.problems import Problems
from antecede.imports.reading import UNREADABLE, name_of, open_bytes, parse_json, unreadable
from antecede.trace.schema import OPTIONAL_COLUMNS, SCHEMA

HEAD: Final = 1 << 16
"""Bytes that are looked at."""
DELIMITERS: Final = ",;\t|"
CLOCKED: Final = re.compile(r'^(?:\S+|.*\]) \{\s*"[^"\n]*"\s*:\s*\d+', re.MULTILINE)
"""A line with a host and a vector clock."""


class Format(StrEnum):
    """What a log can be. `trace` is our own."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    SHIVIZ = "shiviz"
    OTLP = "otlp"
    RECORDING = "recording"
    TRACE = "trace"


OTLP_SIGNALS: Final = ("resourceSpans", "resourceLogs", "resourceMetrics", "resourceProfiles")
"""What a request of OpenTelemetry can hold; messages are in spans alone."""
NO_LINE: Final = "cannot be read: the compressed file is cut off in its first line"
PACKED: Final = re.compile(r"(BZh[1-9]1AY&SY|\ufffd7zXZ\0|PK\x03\x04)")
"""How files begin that are packed in other ways than gzip and zstd: bzip2, xz, zip."""
OTHER_SPANS: Final = {
    "OTLP in the names of protocol buffers": re.compile(r'\s*\{\s*"resource_spans"'),
    "spans of Jaeger": re.compile(r'\s*\{\s*"data"\s*:\s*\[\s*\{\s*"traceID"'),
}
"""Spans that are not read, and how they begin."""
RECORDING_START: Final = '{"antecede":'
"""How a file of `antecede.recorder` begins."""


def detect_format(path: Path) -> Format:
    """What a file is, or an error that shows how it begins."""
    problems = Problems()
    head = _head(path, problems)
    if head.startswith(b"PAR1"):
        return _of_parquet(path)
    text = decode_head(head)
    first = next((line for line in text.splitlines() if line.strip()), "").strip()
    if not first:
        is_cut = any(problems.assumed())
        raise BadFile(name_of(path), [NO_LINE if is_cut else "there is nothing in it"])
    if PACKED.match(text):
        detail = "this is compressed; decompress it first, or use gzip or zstd, which are read"
        raise BadFile(name_of(path), [detail])
    for name, start in OTHER_SPANS.items():
        if start.match(text):
            advice = "spans are read as OTLP JSON, which the collector's file exporter writes"
            raise BadFile(name_of(path), [f"this is JSON with {name}; {advice}"])
    if first.startswith(RECORDING_START):
        return Format.RECORDING
    if first == "{" and not _is_otlp(text):
        advice = "write one a line, as jq -c . FILE does"
        raise BadFile(name_of(path), [f"its JSON objects go over several lines; {advice}"])
    if first.startswith("{"):
        return Format.OTLP if _is_otlp(text) else Format.JSONL
    if CLOCKED.search(text):
        return Format.SHIVIZ
    if first.startswith("["):
        advice = "write one object a line, as jq -c '.[]' does"
        raise BadFile(name_of(path), [f"this is one JSON array; {advice}"])
    if find_delimiter(text):
        return Format.CSV
    shown = first if len(first) <= 80 else first[:77] + "..."
    if lines := _lines_before_table(text):
        detail = f"no table begins with {shown!r}; tail -n +{lines + 1} FILE skips to the table"
        raise BadFile(name_of(path), [detail])
    known = ", ".join(format_ for format_ in Format if format_ is not Format.TRACE)
    detail = f"its format is not known; it begins with {shown!r}; --format names it: {known}"
    raise BadFile(name_of(path), [detail])


def _head(path: Path, problems: Problems) -> bytes:
    try:
        with open_bytes(path, problems) as content:
            return content.read(HEAD)
    except UNREADABLE as error:
        raise unreadable(path, error) from error


def decode_head(head: bytes) -> str:
    """The first bytes as text, as far as they are."""
    encoding = "utf-16" if head[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    return head.decode(encoding, errors="replace")


def _of_parquet(path: Path) -> Format:
    try:
        names = set(pq.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise BadFile(name_of(path), [f"this is a damaged Parquet file: {error}"]) from error
    needed = set(SCHEMA.names) - {*OPTIONAL_COLUMNS, "run"}
    return Format.TRACE if needed <= names else Format.PARQUET


def _is_otlp(text: str) -> bool:
    try:
        found = parse_json(text.splitlines()[0])
    except (ValueError, RecursionError):
        return any(f'"{name}"' in text for name in OTLP_SIGNALS)
    return isinstance(found, dict) and not found.keys().isdisjoint(OTLP_SIGNALS)


def find_delimiter(text: str) -> str:
    """What stands between the fields of a CSV file: whatever gives its first lines as many fields
    as the header, and most; nothing if there is no such thing. A quote that is never closed hides
    none: whoever reads the rows tells where it is."""
    lines = text.splitlines(keepends=True)[:20]
    best, most = "", 1
    for delimiter in DELIMITERS:
        try:
            rows = list(csv.reader(io.StringIO("".join(lines), newline=""), delimiter=delimiter))
        except csv.Error:
            continue
        counts = [len(row) for row in rows if row]
        even = sum(count == counts[0] for count in counts) >= 0.8 * len(counts) if counts else False
        if even and counts[0] > most:
            best, most = delimiter, counts[0]
    return best or (find_delimiter(text.replace('"', "")) if '"' in text else "")


def _lines_before_table(text: str) -> int:
    """After how many lines, which have fewer fields, there is a table of some rows."""
    lines = text.splitlines(keepends=True)[:25]
    for at in range(1, min(6, len(lines) - 2)):
        if delimiter := find_delimiter("".join(lines[at:])):
            rows = (csv.reader([line], delimiter=delimiter) for line in lines[: at + 1])
            *before, fields = (len(next(row, ())) for row in rows)
            return at if max(before) < fields else 0
    return 0


def only_format(files: Sequence[Path], given: Format | None = None) -> Format:
    """The format that all files have."""
    if given is not None:
        return given
    found = {file: detect_format(file) for file in files}
    kinds = set(found.values())
    if len(kinds) > 1:
        first, *others = found.items()
        other, kind = next((file, kind) for file, kind in others if kind != first[1])
        told = (
            f"{name_of(first[0])} is {first[1]}, but {name_of(other)} is {kind}; audit them apart"
        )
        raise BadFile(name_of(other), [told])
    return kinds.pop()
