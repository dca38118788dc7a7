"""A trace as Spark reads it: its files, looked at on the driver, and its rows, never there.

Every row keeps its place: `row` counts over all files as the local reader does, so an error found
by SQL names the same row as one found in memory.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from antecede.trace.events import Sources
from antecede.trace.reader import HIVE_NULL, find_files, open_checked, run_from_path

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

_SCHEME: Final = "^file:/+"
"""Spark writes it in two ways."""


@dataclass(frozen=True)
class File:
    """A file of a trace, and which of the columns it has, of which types."""

    path: str
    first_row: int
    """The number of its first row over all files."""
    groups: tuple[int, ...]
    """How many rows its row groups have."""
    types: tuple[tuple[str, pa.DataType], ...]
    run: str | None
    """The run that the name of its folder gives, if it has no such column."""

    @property
    def rows(self) -> int:
        return sum(self.groups)


@dataclass(frozen=True)
class Source:
    """The files of a trace, all of which have passed the check of their columns."""

    root: str
    files: Sequence[File]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def sources(self) -> Sources:
        return Sources([file.path for file in self.files], [file.first_row for file in self.files])


def look_at(path: str | os.PathLike[str]) -> Source:
    """Find the files of a trace and read their footers."""
    files: list[File] = []
    first_row = 0
    for file in find_files(Path(path)):
        parquet = open_checked(file)
        metadata = parquet.metadata
        groups = tuple(metadata.row_group(g).num_rows for g in range(metadata.num_row_groups))
        plain = pq.read_schema(file)
        types = tuple(
            (name, plain.field(name).type)
            for name in USED
            if name in plain.names and not pa.types.is_null(plain.field(name).type)
        )
        run = None if "run" in plain.names else run_from_path(file)
        run = None if run == HIVE_NULL else run
        files.append(File(str(file), first_row, groups, types, run))
        first_row += sum(groups)
    return Source(str(path), files)


def read_events(spark: SparkSession, source: Source) -> DataFrame:
    """All rows of a trace: the columns in use, and `row`."""
    by_types: dict[tuple[tuple[str, pa.DataType], ...], list[File]] = {}
    for file in source.files:
        if file.rows:
            by_types.setdefault(file.types, []).append(file)
    parts = [_read_alike(spark, types, files) for types, files in by_types.items()]
    if not parts:
        return spark.createDataFrame([], _with_row())
    return reduce(DataFrame.unionByName, parts)


def _with_row() -> StructType:
    used = [field for field in EVENTS.fields if field.name in USED]
    return StructType([*used, StructField(ROW, LongType())])


def _read_alike(
    spark: SparkSession, types: tuple[tuple[str, pa.DataType], ...], files: Sequence[File]
) -> DataFrame:
    """The rows of files that have the same columns."""
    stored = StructType([StructField(name, _stored_as(kind)) for name, kind in types])
    frame = spark.read.schema(stored).option("recursiveFileLookup", "true")
    rows = frame.parquet(*(_escaped(file.path) for file in files))
    absent = {name: F.lit(None) for name in USED if name not in stored.names}
    rows = rows.select(
        *stored.names,
        F.regexp_replace("_metadata.file_path", _SCHEME, "/").alias("_path"),
        F.col("_metadata.row_index").alias("_index"),
    )
    if len(files) == 1:
        (file,) = files
        rows = rows.withColumn("_first", F.lit(file.first_row).cast("bigint"))
        rows = rows.withColumn("_run", F.lit(file.run))
    else:
        rows = rows.join(F.broadcast(_places(spark, rows, files)), "_path", "left")
    if "run" in absent:
        absent["run"] = F.col("_run")
    return rows.select(
        *(
            absent.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name)
            for field in EVENTS.fields
            if field.name in USED
        ),
        (F.col("_first") + F.col("_index")).alias(ROW),
    )


def _places(spark: SparkSession, rows: DataFrame, files: Sequence[File]) -> DataFrame:
    """Where the rows of every file start, by the name that Spark has for the file."""
    by_path = {str(Path(file.path).absolute()): file for file in files}
    places = []
    for uri in rows.inputFiles():
        encoded = re.sub(_SCHEME, "/", uri)
        file = by_path[unquote(encoded)]
        places.append((encoded, file.first_row, file.run))
    return spark.createDataFrame(places, "_path string, _first bigint, _run string")


def _escaped(path: str) -> str:
    """A path in which Spark sees no pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", str(Path(path).absolute()))


def _stored_as(kind: pa.DataType) -> DataType:
    """How Spark reads a column that Arrow sees with this type."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ArrayType(_stored_as(kind.value_type))
    for is_kind, stored in _STORED:
        if is_kind(kind):
            return stored
    return StringType()


_STORED: Final[tuple[tuple[Callable[[pa.DataType], bool], DataType], ...]] = (
    (pa.types.is_int8, ByteType()),
    (pa.types.is_int16, ShortType()),
    (pa.types.is_int32, IntegerType()),
    (pa.types.is_int64, LongType()),
    (pa.types.is_uint8, ShortType()),
    (pa.types.is_uint16, IntegerType()),
    (pa.types.is_uint32, LongType()),
    (pa.types.is_uint64, DecimalType(20, 0)),
    (pa.types.is_float32, FloatType()),
    (pa.types.is_float64, DoubleType()),
)
