"""Reading a trace: find its files, check that they are whole and have the right columns.

What stands in the columns is the business of `antecede.trace.loader` and `antecede.trace.rules`.
"""

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.errors import BadFile
from antecede.files import path_of
from antecede.trace import schema
from antecede.trace.events import Trace
from antecede.trace.loader import STAMPS, Loader

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def read_trace(path: str | os.PathLike[str], *, stamps: bool = True) -> Trace:
    """The trace in a Parquet file or a folder of Parquet files, checked against every rule of the
    format. Without `stamps`, how much ordering information messages carried is left out."""
    root = path_of(path)
    files = find_files(root)
    loader = Loader(stamps=stamps, rows=count_rows(root))
    for file in files:
        for table in read_tables(file, stamps):
            loader.add(str(file), table)
    return Trace(str(root), loader.runs())


def trace_from_tables(tables: Iterable[pa.Table], source: str) -> Trace:
    """The trace in Arrow tables, checked in the same way; errors call it `source`."""
    loader = Loader()
    for table in tables:
        schema.check_schema(source, table.schema, run_from_path=False)
        loader.add(source, table)
    return Trace(source, loader.runs())


def count_rows(path: str | os.PathLike[str]) -> int:
    """How many rows a trace has, by the footers of its files."""
    return sum(open_file(file).metadata.num_rows for file in find_files(path_of(path)))


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """What the recorder noted about the run in the footer of a trace file."""
    return told_by(open_file(path_of(path)).metadata.metadata or {}, str(path))


def told_by(metadata: Mapping[bytes, bytes], source: str) -> dict[str, str]:
    """The notes among the metadata of a file, or of a table that was read from one."""
    prefix, version = schema.METADATA_PREFIX.encode(), schema.VERSION_KEY.encode()
    try:
        return {
            key.removeprefix(prefix).decode(): text.decode()
            for key, text in metadata.items()
            if key.startswith(prefix) and key != version
        }
    except UnicodeDecodeError as error:
        raise BadFile(source, [f"a note in the footer is no UTF-8 text: {error}"]) from None


def find_files(root: Path) -> list[Path]:
    """The file itself, or the Parquet files under a folder. Names that start with a dot or an
    underscore are unfinished files and the housekeeping of Spark."""
    if not root.exists():
        raise BadFile(str(root), ["there is no such file or folder"])
    if not root.is_dir():
        return [root]
    found = [
        file
        for file in sorted(root.rglob("*.parquet"))
        if file.is_file() and not any(p[0] in "._" for p in file.relative_to(root).parts)
    ]
    # Spark leaves only this mark when it writes a partitioned table without rows.
    if not found and not (root / "_SUCCESS").exists():
        raise BadFile(str(root), ["there is no file *.parquet in this folder"])
    return found


def open_file(file: Path) -> pq.ParquetFile:
    try:
        metadata = pq.read_metadata(file)
        leaves = [metadata.schema.column(index) for index in range(metadata.num_columns)]
        strings = [
            leaf.path
            for leaf in leaves
            if leaf.path.partition(".")[0] in (*schema.STRING_COLUMNS, "destinations")
            and leaf.physical_type == "BYTE_ARRAY"
        ]
        return pq.ParquetFile(
            file, metadata=metadata, read_dictionary=strings, page_checksum_verification=True
        )
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file, error) from error


def unreadable(file: Path, error: Exception) -> BadFile:
    reason = str(error).partition("\n")[0].rstrip(".")
    told = f"this is no Parquet file, or a damaged one: {reason}; `antecede audit` takes other logs"
    return BadFile(str(file), [told])


def open_checked(file: Path) -> pq.ParquetFile:
    """A file of this version of the format that has the right columns."""
    parquet = open_file(file)
    version = (parquet.metadata.metadata or {}).get(schema.VERSION_KEY.encode())
    if version not in {None, schema.VERSION.encode()}:
        raise BadFile(
            str(file),
            [f"trace format {version.decode()}, but this is a reader of {schema.VERSION}"],
        )
    in_folder = run_from_path(file) is not None
    schema.check_schema(str(file), parquet.schema_arrow, run_from_path=in_folder)
    return parquet


def read_tables(
    file: Path,
    stamps: bool,
    groups: Iterable[int] | None = None,
    only: Container[str] = schema.SCHEMA.names,
) -> Iterator[pa.Table]:
    """The row groups of a file, or those chosen, each with a column `run`; and of the others all
    but `ordered`, or only some."""
    parquet = open_checked(file)
    run = run_from_path(file)
    known = (*schema.SCHEMA.names, schema.ORDERED)
    wanted = [name for name in known if name in only or name == "run"]
    wanted = [name for name in wanted if stamps or name not in STAMPS]
    columns = [name for name in wanted if name in parquet.schema_arrow.names]
    for group in range(parquet.num_row_groups) if groups is None else groups:
        try:
            table = parquet.read_row_group(group, columns=columns)
        except (pa.ArrowException, OSError) as error:
            raise unreadable(file, error) from error
        if "run" not in columns:
            value = None if run == HIVE_NULL else run
            table = table.append_column("run", pa.repeat(pa.scalar(value, pa.string()), len(table)))
        yield table


def run_from_path(file: Path) -> str | None:
    """The run that a Hive folder name such as `run=seed%207` gives to the files in it."""
    for part in reversed(file.parts[:-1]):
        if part.startswith("run="):
            return unquote(part.removeprefix("run="))
    return None
