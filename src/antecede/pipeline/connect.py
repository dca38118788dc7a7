"""Spark Connect: a session without a Spark context, by DataFrames alone.

What `spread` does with an accumulator on a classic session is done here with `mapInArrow` and
`toLocalIterator`, which brings the results of tasks one after the other. Items and results travel
as pickles, so the server's Python has the minor version of this one.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")


def is_connect(spark: "SparkSession") -> bool:
    """Whether this is a session of a Connect server."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def parallelism(spark: "SparkSession") -> int:
    """How many tasks run at a time, by what Spark says or, where nobody does, by trying."""
    return _count_tasks(spark) if is_connect(spark) else spark.sparkContext.defaultParallelism


@lru_cache(maxsize=4)
def _count_tasks(spark: "SparkSession") -> int:
    from pyspark.sql import functions as F  # noqa: PLC0415 - Spark takes long

    return spark.range(100_000).select(F.spark_partition_id()).distinct().count()


def stream(
    spark: "SparkSession", dealt: Sequence[Sequence[Item]], task: Callable[[Item], Result]
) -> Iterator[Result]:
    """The results of all items, which are dealt out to as many tasks as there are lists."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for items in batch["value"].to_pylist():
                done = pickle.dumps([task(item) for item in pickle.loads(items)])
                yield pa.RecordBatch.from_pydict({"value": [done]})

    rows = [[bytearray(pickle.dumps(list(items)))] for items in dealt]
    given = spark.createDataFrame(rows, "value binary").repartition(len(rows))
    tag = f"antecede-{uuid4()}"
    spark.addTag(tag)
    try:
        for row in given.mapInArrow(work, "value binary").toLocalIterator():
            yield from pickle.loads(bytes(row[0]))
    finally:
        spark.removeTag(tag)
        spark.interruptTag(tag)


def build(master: str, archive: str) -> Any:
    """A session of the server at this address; its workers get the package in this archive."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - Spark takes long

    session = SparkSession.builder.remote(master).getOrCreate()
    session.addArtifacts(archive, pyfile=True)
    return session
