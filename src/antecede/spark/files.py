"""The short way for a DataFrame that is a plain read of Parquet files: no row goes through Spark.

Where every row group holds rows of one run, as all that Antecede writes does, the driver reads the
footers and hands out which row groups make a run; tasks read them with pyarrow. A DataFrame that is
anything but the files as they are (a filter, a projection, a join, another schema, Spark Connect,
where plans cannot be looked at) goes the long way, and so do files that this process cannot read.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import msgspec
import pyarrow as pa

from antecede.errors import AntecedeError
from antecede.files import path_of
from antecede.trace.batches import constant_of
from antecede.trace.loader import STAMPS
from antecede.trace.reader import HIVE_NULL, open_checked, read_tables, run_from_path
from antecede.trace.schema import ORDERED, SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILES: Final = 2_000
"""With more than that, the footers would take the driver long."""
TASKS: Final = 256
"""At most; each judges its runs one after the other."""
_RELATION: Final = "LogicalRelation"
_FILES: Final = "HadoopFsRelation"
_FORMAT: Final = "ParquetFileFormat"
_WHERE: Final = "where"


class RunFiles(msgspec.Struct, frozen=True):
    """Where the rows of a run are: files, and row groups of each."""

    run: str
    groups: list[tuple[str, list[int]]]
    rows: int


def find_runs(df: "DataFrame", columns: pa.Schema) -> list[RunFiles] | None:
    """The runs of a DataFrame that is nothing but Parquet files, the longest first; None if it is
    anything else. `columns` are those that will be used, with the types that Spark gives them."""
    if not _is_plain(df):
        return None
    files = df.inputFiles()
    if not files or len(files) > FILES:
        return None
    found: dict[str, RunFiles] = {}
    try:
        for address in files:
            for run, group, rows in _groups(unquote(address), columns):
                known = found.setdefault(run, RunFiles(run, [], 0))
                if not known.groups or known.groups[-1][0] != unquote(address):
                    known.groups.append((unquote(address), []))
                known.groups[-1][1].append(group)
                found[run] = msgspec.structs.replace(known, rows=known.rows + rows)
    except (AntecedeError, OSError, _NotPlain):
        return None
    return sorted(found.values(), key=lambda run: (-run.rows, run.run))


class _NotPlain(Exception):
    """The files are not the rows of the DataFrame, or hold several runs in a row group."""


def _is_plain(df: "DataFrame") -> bool:
    """Whether the plan is a read of Parquet files and nothing else."""
    frame = getattr(df, "_jdf", None)
    if frame is None:
        return False
    plan = frame.queryExecution().analyzed()
    if plan.getClass().getSimpleName() != _RELATION or frame.isStreaming():
        return False
    relation = plan.relation()
    if relation.getClass().getSimpleName() != _FILES:
        return False
    is_parquet = relation.fileFormat().getClass().getSimpleName() == _FORMAT
    # Other columns that come from the names of folders may hide those of the files.
    return is_parquet and set(relation.partitionSchema().fieldNames()) <= {"run"}


def _groups(address: str, columns: pa.Schema) -> Iterator[tuple[str, int, int]]:
    """Of each row group of a file the run, the number and how many rows it has."""
    file = path_of(address)
    parquet = open_checked(file)
    _check_columns(parquet.schema_arrow, columns)
    named = run_from_path(file)
    if named is not None and "run" in parquet.schema_arrow.names:
        raise _NotPlain  # Spark takes the name of the folder, our readers the column
    for group in range(parquet.num_row_groups):
        run = constant_of(parquet, group, "run") if named is None else named
        if run is None or run == HIVE_NULL:
            raise _NotPlain
        yield run, group, parquet.metadata.row_group(group).num_rows


def _check_columns(present: pa.Schema, columns: pa.Schema) -> None:
    """Spark's columns are the file's, under the same names and with the same types. What Spark
    leaves out is left out of the file, too, or the file would say more than the DataFrame."""
    for name in (*SCHEMA.names, ORDERED):
        if name in STAMPS or (name == "run" and name not in present.names):
            continue  # nobody asks for it, or it comes from the name of the folder
        here, there = (
            _bare(schema.field(name).type) if name in schema.names else None
            for schema in (present, columns)
        )
        if here != there:
            raise _NotPlain


def _bare(kind: pa.DataType) -> str:
    """A type without what makes no difference to its values."""
    if pa.types.is_dictionary(kind):
        return _bare(kind.value_type)
    return f"list of {_bare(kind.value_type)}" if pa.types.is_list(kind) else str(kind)


def judge_files(
    df: "DataFrame",
    runs: list[RunFiles],
    only: list[str],
    out: Any,
    judge: Callable[[pa.Table], pa.Table],
) -> "DataFrame":
    """What `judge` says of each run, read from its files."""
    spark = df.sparkSession
    specs = [[msgspec.json.encode(run)] for run in runs]
    given = spark.createDataFrame(specs, f"{_WHERE} binary")

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for text in batch[_WHERE].to_pylist():
                rows = _read(msgspec.json.decode(text, type=RunFiles), only)
                yield from judge(rows).to_batches()

    return given.repartition(max(1, min(TASKS, len(specs)))).mapInArrow(task, out)


def _read(run: RunFiles, only: list[str]) -> pa.Table:
    """On a worker: the rows of a run."""
    parts = [
        table.select([name for name in only if name in table.column_names])
        for file, groups in run.groups
        for table in read_tables(path_of(file), False, groups, only)
    ]
    return pa.concat_tables(parts).unify_dictionaries()
