"""The tables of a campaign in other forms: for DuckDB, as Delta tables, as CSV."""

import os
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from antecede.campaigns.folder import Folder
from antecede.campaigns.tables import TABLES
from antecede.errors import BadFile, Misuse
from antecede.files import (
    aside,
    complaining,
    make_folder,
    path_of,
    refuse_existing,
    refuse_stored,
    write_whole,
)

FORMATS: Final = ("csv", "delta", "duckdb")


def export(
    campaign: str | os.PathLike[str], to: str, out: str | os.PathLike[str], *, force: bool = False
) -> Path:
    """Write the four tables of a finished campaign: as `NAME.csv` or a Delta table `NAME` in the
    folder `out`, or as tables of the DuckDB database `out`."""
    if to not in FORMATS:
        raise Misuse(f"there is no format '{to}'; say {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    target, tables = path_of(out), _read(campaign)
    if to == "duckdb":
        _write_duckdb(tables, target, force)
    elif to == "delta":
        _write_delta(tables, target, force)
    else:
        for name in tables:
            refuse_existing(target / f"{name}.csv", force)
        make_folder(target)
        for name, table in tables.items():
            sink = pa.BufferOutputStream()
            pcsv.write_csv(table, sink)
            write_whole(target / f"{name}.csv", sink.getvalue().to_pybytes())
    return target


def _read(campaign: str | os.PathLike[str]) -> dict[str, pa.Table]:
    folder = Folder(campaign)
    if folder.read_about() is None:
        fix = "run `antecede campaign run` to its end (it resumes where it stopped)"
        raise BadFile(str(folder.path), [f"no finished campaign is there; {fix}"])
    return {table.name: pq.read_table(folder.path / table.name) for table in TABLES}


def _write_duckdb(tables: dict[str, pa.Table], target: Path, force: bool) -> None:
    try:
        import duckdb  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise Misuse("DuckDB is not installed; pip install 'antecede[tables]'") from error
    refuse_existing(target, force)
    make_folder(target.parent)
    with aside(target) as partial, duckdb.connect(str(partial)) as database:
        for name, table in tables.items():
            database.register("given", table)
            database.execute(f"CREATE TABLE {name} AS FROM given")
            database.unregister("given")


def _write_delta(tables: dict[str, pa.Table], target: Path, force: bool) -> None:
    try:
        from deltalake import write_deltalake  # noqa: PLC0415 - of an extra
    except ImportError as error:
        raise Misuse("deltalake is not installed; pip install 'antecede[tables]'") from error
    refuse_stored(target, "Delta tables are written with renames")
    if target.exists() and not force:
        raise Misuse(f"{target} exists already; use --force to replace its tables")
    make_folder(target)
    with complaining(target):
        for name, table in tables.items():
            write_deltalake(str(target / name), table, mode="overwrite", schema_mode="overwrite")
