"""A campaign's runs as a DataFrame: no folder, no files, only rows."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from antecede.campaigns.file import Campaign, load_campaign, make_campaign
from antecede.campaigns.plan import EVENTS_LIMIT, PlannedRun, make_plan
from antecede.campaigns.runs import do_run
from antecede.campaigns.tables import RUNS
from antecede.campaigns.tabulate import run_row
from antecede.errors import Misuse
from antecede.pipeline.campaigns.elsewhere import name_fully
from antecede.shipped import find as find_shipped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASKS: Final = 64
"""At most, for a campaign; each does its runs one after the other."""
SOURCE: Final = "the grid"
_PLANNED: Final = "planned"


def simulate(
    spark: "SparkSession",
    grid: str | os.PathLike[str] | Mapping[str, Any] | Campaign,
    *,
    tasks: int = TASKS,
    limit: int = EVENTS_LIMIT,
) -> "DataFrame":
    """Every run of a campaign, simulated, verified and measured: a row each, with the columns of
    the table `runs` (docs/campaigns.md). The `grid` is a campaign file, the name of one that ships,
    or what such a file says, as a dict. Runs whose setting a protocol cannot do are left out, as
    `antecede campaign plan` lists them; one that fails is a row with the status `failed`.

    Spark does the runs whenever it needs the rows, so keep them: `.cache()`, or write them to a
    table. Raises `Misuse` for a plan of more than `limit` events and a name that does not ship, and
    `BadFile` for a grid with mistakes, all of which it names.

        runs = simulate(spark, "demo").cache()
        runs.groupBy("variant", "processes").avg("stamp_bytes_mean").show()
    """
    campaign, name = _campaign(grid)
    plan = make_plan(campaign, name)
    if plan.events > limit:
        raise Misuse(
            f"{name} makes about {plan.events:,} events, more than {limit:,}; limit= says how many "
            "there may be"
        )
    runs, _ = name_fully(plan.runs)
    runs.sort(key=lambda run: -run.events)
    dealt = [[msgspec.json.encode(run)] for run in runs]
    planned = spark.createDataFrame(dealt, f"{_PLANNED} binary")
    count = max(1, min(tasks, len(dealt)))
    return planned.repartition(count).mapInArrow(_do_runs, _spark_schema())


def _campaign(grid: str | os.PathLike[str] | Mapping[str, Any] | Campaign) -> tuple[Campaign, str]:
    if isinstance(grid, Campaign):
        return grid, SOURCE
    if isinstance(grid, Mapping):
        return make_campaign(grid), SOURCE
    file = find_shipped("campaigns", grid)
    return load_campaign(file), str(file)


def _spark_schema() -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - Spark takes long

    return from_arrow_schema(RUNS.schema)


def _do_runs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """On a worker."""
    for batch in batches:
        for text in batch[_PLANNED].to_pylist():
            planned = msgspec.json.decode(text, type=PlannedRun)
            row = run_row(planned, do_run(planned))
            yield pa.RecordBatch.from_pylist([row], schema=RUNS.schema)
