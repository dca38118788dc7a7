"""`python -m bench.resequence_spark [ROWS]`: what causal order costs in Structured Streaming.

Rows go through three queries: `antecede.spark.resequence` (*causal*); the same operator, packing,
shuffle and state included, that gives the rows as they came (*unordered*); and the usual way, rows
of a window sorted when a watermark has passed it (*sorted*), which drops what is later. CPU time is
that of all processes, Java included, after a small run of the same kind; the sink drops everything.
"""

import os
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import antecede.spark
from antecede.pipeline.session import build_session
from antecede.spark.packed import blobs_frame, from_bytes, packer, to_bytes, unpack
from antecede.spark.resequencing import order_bucket
from bench.resequence import COLUMNS, arrivals
from bench.spark import tree_of

ROWS = 200_000
BATCHES = 4
GROUPS = (1, 10, 1_000, 100_000)
BUCKETS = 2
HELD = 10_000
SCHEMA = (
    "group string, sender string, number bigint, after map<string, bigint>, time double, "
    "payload binary"
)
ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def causal(df: DataFrame) -> DataFrame:
    return antecede.spark.resequence(df, **COLUMNS._asdict(), buckets=BUCKETS)


def unordered(df: DataFrame) -> DataFrame:
    def give(_key: Any, parts: Any, state: Any) -> Any:
        tables = [from_bytes(blob) for part in parts for blob in part["rows"]]
        state.update((b"",))
        yield blobs_frame([to_bytes(pa.concat_tables(tables))])

    bucket = F.pmod(F.xxhash64("group"), F.lit(BUCKETS)).cast("int")
    packed = df.withColumn("bucket", bucket).mapInArrow(packer("bucket"), "bucket int, rows binary")
    given = packed.groupBy("bucket").applyInPandasWithState(
        give, "rows binary", "known binary", "append", "NoTimeout"
    )
    return given.mapInArrow(unpack, df.schema)


def sorted_late(df: DataFrame) -> DataFrame:
    """By windows of a thousand times the mean distance of messages."""
    at = df.withColumn("at", F.timestamp_seconds("time")).withWatermark("at", "100 seconds")
    after = F.map_entries("after").alias("after")  # maps cannot be sorted
    rows = F.sort_array(F.collect_list(F.struct("time", "sender", "number", after, "payload")))
    windows = at.groupBy("group", F.window("at", "1000 seconds")).agg(rows.alias("rows"))
    return windows.select("group", F.inline("rows"))


WAYS = {"causal": causal, "unordered": unordered, "sorted": sorted_late}


def main(rows: int = ROWS) -> None:
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        spark = build_session("local[2]", partitions=BUCKETS)
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKS_DB)
        print(f"{held_bytes():.0f} bytes of state a held row, 32 of them its payload\n")
        print(
            "| groups | causal, rows a CPU s | unordered | sorted | causal / unordered | "
            "batch of causal, s | of unordered | of sorted |\n" + "|---:" * 8 + "|"
        )
        _make(folder / "small", 10, 2_000)
        for way in WAYS:
            _run(spark, folder / "small", way)
        for groups in GROUPS:
            _make(folder / str(groups), groups, rows)
            told = [_run(spark, folder / str(groups), way) for way in WAYS]
            speeds = [rows / cpu_s for cpu_s, _ in told]
            cells = [f"{speed:,.0f}" for speed in speeds]
            cells += [f"{speeds[1] / speeds[0]:.1f}", *(f"{batch_s:.1f}" for _, batch_s in told)]
            print(f"| {groups:,} | {' | '.join(cells)} |", flush=True)
        spark.stop()


def held_bytes() -> float:
    """What the state grows by for a row that waits."""
    rows = arrivals(1, HELD + 1)
    numbers = rows["number"].to_pylist()
    senders = rows["sender"].to_pylist()
    # Without the first message of each sender nothing can leave.
    kept = [at for at in range(len(rows)) if numbers[at] > 1]
    assert len(kept) == len(rows) - len(set(senders))
    known, _ = order_bucket(COLUMNS, None, None, [rows.take(pa.array(kept))])
    return len(known) / len(kept)


def _make(folder: Path, groups: int, rows: int) -> None:
    folder.mkdir()
    table = arrivals(groups, rows)
    size = rows // BATCHES
    for batch in range(BATCHES):
        file = folder / f"{batch}.parquet"
        pq.write_table(table.slice(batch * size, size), file)
        os.utime(file, (1_000_000 + batch, 1_000_000 + batch))  # the source goes by age


def _run(spark: SparkSession, folder: Path, way: str) -> tuple[float, float]:
    """CPU seconds of a query over all of it, and the seconds of a batch in the median."""
    java = int(spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
    ordered = WAYS[way](files)
    begin = tree_of(java)[0] + process_time()
    with TemporaryDirectory() as kept:
        out = ordered.writeStream.format("noop").option("checkpointLocation", kept)
        query = out.trigger(availableNow=True).start()
        query.awaitTermination()
        told = [one["durationMs"]["triggerExecution"] for one in query.recentProgress]
    return tree_of(java)[0] + process_time() - begin, median(told) / 1e3


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
