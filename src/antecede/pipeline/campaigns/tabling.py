"""From the results of runs to the tables of a campaign: each stage takes a DataFrame and gives one.

Schemas are those of `antecede.campaigns.tables`. Nothing depends on how rows are dealt out to
tasks: a sum over seeds is made in one order, so that the same runs always give the same tables.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from antecede.campaigns.folder import Folder
from antecede.campaigns.plan import PlannedRun, Skipped
from antecede.campaigns.runs import OK, read_result
from antecede.campaigns.student import half_width
from antecede.campaigns.tables import HISTOGRAMS, RUNS, SETTING, SKIPPED, SUMMARY, Table
from antecede.errors import BrokenInvariant

SETTING_NAMES: Final = tuple(column.name for column in SETTING)
PLAN: Final = pa.schema(
    [RUNS.schema.field(name) for name in ("run", *SETTING_NAMES, "seed", "scenario", "promised")]
)
"""What is known of a run before it is done."""


def spark_schema(schema: pa.Schema) -> StructType:
    return from_arrow_schema(schema)


def plan_frame(spark: SparkSession, runs: Sequence[PlannedRun]) -> DataFrame:
    """The plan, in its order, in as many stretches as there are cores."""
    rows = [
        {
            **msgspec.structs.asdict(run.setting),
            **{name: getattr(run, name) for name in ("run", "seed", "scenario", "promised")},
        }
        for run in runs
    ]
    return spark.createDataFrame(pa.Table.from_pylist(rows, PLAN), spark_schema(PLAN))


def read_table(spark: SparkSession, folder: Path, table: Table) -> DataFrame:
    """A table that was written."""
    return spark.read.schema(spark_schema(table.schema)).parquet(str(folder / table.name))


def skipped_frame(spark: SparkSession, skipped: Sequence[Skipped]) -> DataFrame:
    rows = [{**msgspec.structs.asdict(cell.setting), "reason": cell.reason} for cell in skipped]
    schema = SKIPPED.schema
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema), spark_schema(schema))
    return frame.coalesce(1)


def runs_of(plan: DataFrame, folder: str) -> DataFrame:
    """The plan with the results of its runs."""
    return plan.mapInArrow(partial(_read_runs, folder), spark_schema(RUNS.schema))


def histograms_of(plan: DataFrame, folder: str) -> DataFrame:
    """The distributions in the results of the runs of a plan, which has each of them once."""
    return plan.select("run").mapInArrow(
        partial(_read_histograms, folder), spark_schema(HISTOGRAMS.schema)
    )


def summarise(runs: DataFrame, most_seeds: int) -> DataFrame:
    """Every measure of every setting over its runs, of which there are so many at most."""
    values = [f.col(name).cast("double").alias(name) for name in RUNS.measures]
    found = (
        runs.where(f.col("status") == OK)
        .select(*SETTING_NAMES, *values)
        .unpivot([*SETTING_NAMES], [*RUNS.measures], "measure", "value")
        .where(f.col("value").isNotNull())
        .groupBy(*SETTING_NAMES, "measure")
        .agg(f.array_sort(f.collect_list("value")).alias("values"))
        .withColumn("n", f.size("values").cast("bigint"))
        .withColumn("mean", _total(f.col("values")) / f.col("n"))
    )
    squares = f.transform("values", lambda value: f.pow(value - f.col("mean"), f.lit(2.0)))
    deviation = f.sqrt(_total(squares) / (f.col("n") - 1))
    half = f.col("t") * f.col("sd") / f.sqrt("n")
    return (
        found.withColumn("sd", f.when(f.col("n") > 1, deviation))
        .join(f.broadcast(_half_widths(runs.sparkSession, most_seeds)), "n", "left")
        .withColumn("low", f.col("mean") - half)
        .withColumn("high", f.col("mean") + half)
        .withColumn("min", f.array_min("values"))
        .withColumn("max", f.array_max("values"))
        .select(*SUMMARY.schema.names)
        .coalesce(1)
        .sortWithinPartitions(*SETTING_NAMES, "measure")
    )


def _total(values: Column) -> Column:
    return f.aggregate(values, f.lit(0.0), lambda total, value: total + value)


def _half_widths(spark: SparkSession, most: int) -> DataFrame:
    rows = [(count, half_width(count - 1)) for count in range(2, most + 1)]
    return spark.createDataFrame(rows, "n bigint, t double")


def _read_runs(folder: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    places = Folder(folder)
    for batch in batches:
        rows = []
        for planned in batch.to_pylist():
            result = _result(places, planned["run"])
            rows.append({name: (planned | result).get(name) for name in RUNS.schema.names})
        yield from pa.Table.from_pylist(rows, RUNS.schema).to_batches()


def _read_histograms(folder: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    places = Folder(folder)
    for batch in batches:
        for run in batch.column("run").to_pylist():
            for measure, (low, high, counts) in _result(places, run).get("histograms", {}).items():
                names = [[run] * len(low), [measure] * len(low)]
                columns = [
                    pa.array(values, field.type)
                    for values, field in zip(
                        (*names, low, high, counts), HISTOGRAMS.schema, strict=True
                    )
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=HISTOGRAMS.schema)


def _result(places: Folder, run: str) -> dict[str, Any]:
    result = read_result(places, run)
    if result is None:
        raise BrokenInvariant(f"run {run} has no result in {places.results}")
    return result
