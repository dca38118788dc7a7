"""Streams to be killed: `python -m tests.spark.stream FOLDER` puts FOLDER/in, a file a batch, into
causal order in FOLDER/out, and watches FOLDER/recordings, a few rows of each a batch, into
FOLDER/watched."""

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import antecede.spark
from antecede.pipeline.session import build_session

ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SCHEMA = (
    "group string, sender string, number bigint, after map<string, bigint>, time double, "
    "payload array<int>"
)
FEW = 4


def ordered(df: DataFrame, patience: float | None = None) -> DataFrame:
    return antecede.spark.resequence(
        df,
        group="group",
        sender="sender",
        number="number",
        after="after",
        time="time",
        patience=patience,
        buckets=2,
    )


def start(df: DataFrame, folder: Path, name: str) -> StreamingQuery:
    """Write everything that is there."""
    out = df.writeStream.format("parquet").option("path", str(folder / name))
    out = out.option("checkpointLocation", str(folder / f"kept-{name}"))
    return out.trigger(availableNow=True).start()


def start_both(spark: SparkSession, folder: Path, rows: int) -> list[StreamingQuery]:
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKS_DB)
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    growing = spark.readStream.format("antecede").option("maxRowsPerTrigger", rows)
    return [
        start(ordered(files.parquet(str(folder / "in"))), folder, "out"),
        start(antecede.spark.watch(growing.load(str(folder / "recordings"))), folder, "watched"),
    ]


if __name__ == "__main__":
    session = build_session("local[2]", short=True, partitions=2)
    for query in start_both(session, Path(sys.argv[1]), FEW):
        query.awaitTermination()
