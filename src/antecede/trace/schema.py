"""The columns of a trace file, version 1, and the words that may stand in them.

The simulator, the live runtime and the importers write this schema, the verifier, the Spark
pipeline and the viewer read it; inside, a kind and a layer are the small integers defined here.
"""

from typing import Final

import pyarrow as pa

from antecede.errors import BadFile

VERSION: Final = "1"
METADATA_PREFIX: Final = "antecede."
VERSION_KEY: Final = METADATA_PREFIX + "trace"

SEND: Final = 0
RECEIVE: Final = 1
DELIVER: Final = 2
CRASH: Final = 3
JOIN: Final = 4
LEAVE: Final = 5
VIEW: Final = 6
KINDS: Final = ("send", "receive", "deliver", "crash", "join", "leave", "view")
"""Their names, by number. The first three concern a message, the others membership."""

APP: Final = 0
HOP: Final = 1
LAYERS: Final = ("app", "hop")

SCHEMA: Final = pa.schema(
    [
        ("run", pa.string()),
        ("layer", pa.string()),
        ("process", pa.string()),
        ("seq", pa.int64()),
        ("kind", pa.string()),
        ("sender", pa.string()),
        ("number", pa.int64()),
        ("destinations", pa.list_(pa.field("element", pa.string()))),
        ("time", pa.float64()),
        ("position", pa.int64()),
        ("stamp_entries", pa.int32()),
        ("stamp_bytes", pa.int32()),
    ]
)

ORDERED: Final = "ordered"
"""A column that a file may have besides: what a message is ordered with respect to. Who does not
know it reads the rest (`antecede.verify.scopes`)."""

_LOCAL: Final = pa.list_(
    pa.struct([("text", pa.string()), ("time", pa.float64()), ("place", pa.string())])
)
EXTRA: Final = pa.schema(
    [
        ("message", pa.string()),
        ("text", pa.string()),
        ("place", pa.string()),
        ("before", _LOCAL),
        ("after", _LOCAL),
    ]
)
"""Columns that traces made from logs have besides: the log's own name of the message, what it says
of the event and where, and what the process did by itself right before and after. Nothing is judged
by them."""

CLOCK_KEY: Final = "clock"
UNIX: Final = "unix"
"""In the footer: times are seconds since 1970 (UTC), and are shown as times."""

STRING_COLUMNS: Final = ("run", "layer", "process", "kind", "sender")
OPTIONAL_COLUMNS: Final = ("layer", "time", "position", "stamp_entries", "stamp_bytes")
"""A file may leave these out; they then read as null."""


def check_schema(file: str, schema: pa.Schema, run_from_path: bool) -> None:
    """Refuse a file that lacks a column or has one of a wrong type, naming all of them at once.
    `run_from_path` says that a Hive folder name stands in for the column `run`."""
    mistakes = []
    for field in SCHEMA:
        if field.name in schema.names:
            found = schema.field(field.name).type
            if not _readable_as(found, field.type):
                mistakes.append(
                    f"column '{field.name}' has type {found}, expected {_shown(field.type)}"
                )
        elif field.name not in OPTIONAL_COLUMNS and not (field.name == "run" and run_from_path):
            mistakes.append(f"column '{field.name}' is missing, expected {_shown(field.type)}")
    if ORDERED in schema.names and not _readable_as(schema.field(ORDERED).type, pa.string()):
        mistakes.append(
            f"column '{ORDERED}' has type {schema.field(ORDERED).type}, expected string"
        )
    if mistakes:
        raise BadFile(file, mistakes)


def _readable_as(found: pa.DataType, expected: pa.DataType) -> bool:
    """Whether the values are the expected ones, however wide or encoded. A column of type null is
    what many writers make of a column without values."""
    if pa.types.is_null(found):
        return True
    if pa.types.is_list(expected):
        is_list = pa.types.is_list(found) or pa.types.is_large_list(found)
        return is_list and _readable_as(found.value_type, expected.value_type)
    if pa.types.is_string(expected):
        text = found.value_type if pa.types.is_dictionary(found) else found
        return bool(
            pa.types.is_string(text)
            or pa.types.is_large_string(text)
            or pa.types.is_string_view(text)
        )
    if pa.types.is_integer(expected):
        return bool(pa.types.is_integer(found))
    return bool(pa.types.is_floating(found))


def _shown(expected: pa.DataType) -> str:
    """A type as the format's description spells it."""
    return "list<string>" if pa.types.is_list(expected) else str(expected)
