"""A trace as Spark reads it: its files, looked at on the driver, and its rows, never there.

Every row keeps its place: `row` counts over all files as the local reader does, so an error found
by SQL names the same row as one found in memory.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from antecede.errors import BadFile
from antecede.trace import schema
from antecede.trace.events import Sources
from antecede.trace.reader import find_files, open_file, run_from_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS: Final = StructType(
    [
        StructField("run", StringType()),
        StructField("layer", StringType()),
        StructField("process", StringType()),
        StructField("seq", LongType()),
        StructField("kind", StringType()),
        StructField("sender", StringType()),
        StructField("number", LongType()),
        StructField("destinations", ArrayType(StringType())),
        StructField("time", DoubleType()),
        StructField("position", LongType()),
        StructField("stamp_entries", IntegerType()),
        StructField("stamp_bytes", IntegerType()),
    ]
)
"""The trace format as Spark spells it; a test holds it to `antecede.trace.schema`."""

USED: Final = tuple(name for name in EVENTS.names if not name.startswith("stamp_"))
ROW: Final = "row"

_PATH, _INDEX, _FIRST, _FOLDER_RUN = "_path", "_index", "_first", "_folder_run"


@dataclass(frozen=True)
class Source:
    """The files of a trace, all of which have passed the check of their columns."""

    root: str
    files: Sequence[str]
    rows: Sequence[int]
    bytes_stored: int

    @property
    def first_rows(self) -> list[int]:
        return [sum(self.rows[:index]) for index in range(len(self.rows))]

    @property
    def total_rows(self) -> int:
        return sum(self.rows)

    @property
    def sources(self) -> Sources:
        return Sources(self.files, self.first_rows)


def look_at(path: str | os.PathLike[str]) -> Source:
    """Find the files of a trace and read their footers."""
    files = find_files(Path(path))
    rows, size = [], 0
    for file in files:
        parquet = open_file(file)
        schema.check_version(str(file), parquet.metadata.metadata)
        in_folder = run_from_path(file) is not None
        schema.check_schema(str(file), parquet.schema_arrow, run_from_path=in_folder)
        rows.append(parquet.metadata.num_rows)
        size += file.stat().st_size
    return Source(str(path), [str(file) for file in files], rows, size)
