"""Verdicts on a DataFrame: Spark brings the rows of a run together, and one task judges the run as
`antecede.verify.tables` judges a table. A run has to fit into the memory of that task. Plain reads
of files go a shorter way (`files`)."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from antecede.spark import files
from antecede.trace.assumed import Assumed, decode_assumed, merge_assumed
from antecede.trace.loader import STAMPS
from antecede.trace.schema import ORDERED, SCHEMA, check_schema
from antecede.verify import tables
from antecede.verify.check import layer_code

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOURCE: Final = "the DataFrame"

UNREAD: Final = Assumed(
    "footers",
    "footers of the Parquet files could not be read here",
    "what the maker of the trace assumed is not known; say it by assumed=",
)


def verify(
    df: "DataFrame", layer: str = "app", assumed: Iterable[Assumed] | None = None
) -> "DataFrame":
    """The verdicts on the runs of a trace, one row a run: `tables.VERDICTS`. What was `assumed`
    when it was made (`antecede.trace.read_assumed`) keeps *kept* from being said; unless it is
    given, the footers of the Parquet files that the DataFrame is made from are asked. A run that
    breaks a rule of the trace format cannot be told about, and the rule is its caveat.

    Raises `Misuse` for a layer that does not exist, and `BadFile` for columns that are missing or
    have a wrong type, and for a footer that is damaged.

        verify(spark.read.parquet("run.parquet")).select("run", "answer").show()
    """
    told = read_footers(df.inputFiles()) if assumed is None else merge_assumed(assumed)
    return _by_run(df, layer, tables.VERDICTS, partial(_verdict, layer=layer, told=told))


def violations(df: "DataFrame", layer: str = "app") -> "DataFrame":
    """All early deliveries, the first hundred of a run with their proofs: `tables.VIOLATIONS`. A
    run that breaks a rule of the trace format ends the query. Raises `Misuse` for a layer that does
    not exist, and `BadFile` for columns that are missing or have a wrong type.

        violations(spark.read.parquet("run.parquet")).select("sentence").show(truncate=False)
    """
    return _by_run(df, layer, tables.VIOLATIONS, partial(_violations, layer=layer))


def deliveries(df: "DataFrame", layer: str = "app") -> "DataFrame":
    """All deliveries at others than the sender, each with what it waited for: `tables.DELIVERIES`.
    A run that breaks a rule of the trace format ends the query. Raises as `violations` does.

        deliveries(spark.read.parquet("run.parquet")).groupBy("process").avg("forced_s").show()
    """
    return _by_run(df, layer, tables.DELIVERIES, partial(_deliveries, layer=layer))


def _verdict(rows: pa.Table, layer: str, told: tuple[Assumed, ...]) -> pa.Table:
    return tables.verdict_row(rows, rows["run"][0].as_py(), layer, told)


def _violations(rows: pa.Table, layer: str) -> pa.Table:
    return tables.violations(rows, layer)


def _deliveries(rows: pa.Table, layer: str) -> pa.Table:
    return tables.deliveries(rows, layer)


def _by_run(
    df: "DataFrame", layer: str, out: pa.Schema, judge: Callable[[pa.Table], pa.Table]
) -> "DataFrame":
    """What `judge` says of each run."""
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema  # noqa: PLC0415

    layer_code(layer)
    wanted = [name for name in (*SCHEMA.names, ORDERED) if name not in STAMPS]
    chosen = df.select([name for name in wanted if name in df.columns])
    columns = to_arrow_schema(chosen.schema)
    check_schema(SOURCE, columns, run_from_path=False)
    if (runs := files.find_runs(df, columns)) is not None:
        return files.judge_files(df, runs, columns.names, from_arrow_schema(out), judge)

    def task(rows):  # type: ignore[no-untyped-def] # Spark takes hints for another form
        return judge(rows)

    return chosen.groupBy("run").applyInArrow(task, from_arrow_schema(out))


def read_footers(files: Iterable[str]) -> tuple[Assumed, ...]:
    """What was assumed of the trace, by the footers of these files, which are addresses. Files of
    other formats have none."""
    found: list[Assumed] = []
    for file in files:
        if not file.endswith((".parquet", ".parq")):
            continue
        try:
            system, path = pafs.FileSystem.from_uri(file)
            with system.open_input_file(path) as opened:
                metadata = pq.read_metadata(opened).metadata or {}
        except (OSError, pa.ArrowException):
            return (UNREAD,)
        found += decode_assumed(metadata, file)
    return merge_assumed(found)
