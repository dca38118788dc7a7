"""A stream in causal order: the batch order, also where its driver is killed in the middle."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import antecede.spark
from antecede.errors import Misuse
from tests.spark import test_holdback as holdback
from tests.spark import test_watching as watching
from tests.spark.stream import ordered, start_both

BATCHES = 8
GROUPS = "uvwxyz"


def assert_batch_order(found: DataFrame, rows: list[holdback.Row]) -> None:
    """Every row once, column for column, in the order of the definition."""
    out: list[dict[str, Any]] = found.toArrow().to_pylist()
    assert {one["kind"] for one in out} == {"message"}
    assert len(out) == len(rows)
    for group in GROUPS:
        got = [{name: one[name] for name in rows[0]} for one in holdback.of(out, group)]
        assert got == holdback.batch_order(rows, group)


def test_a_driver_killed_in_mid_stream(spark: SparkSession, tmp_path: Path) -> None:
    """While it puts a stream into order, and watches recordings (tests/spark/test_watching.py)."""
    rows = holdback.arriving(holdback.traffic(7, 240, GROUPS), 7)
    (tmp_path / "in").mkdir()
    size = len(rows) // BATCHES
    for batch in range(BATCHES):
        part = pa.Table.from_pylist(rows[batch * size :][:size], schema=holdback.SCHEMA)
        file = tmp_path / "in" / f"{batch}.parquet"
        pq.write_table(part, file)
        os.utime(file, (1_000_000 + batch, 1_000_000 + batch))  # the source goes by age
    expected = watching.record_run(tmp_path / "recordings")
    command = [sys.executable, "-m", "tests.spark.stream", str(tmp_path)]
    begun = [tmp_path / kept / "commits" / "2" for kept in ("kept-out", "kept-watched")]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE) as first:
        until = monotonic() + 240
        while not all(map(Path.exists, begun)) and first.poll() is None and monotonic() < until:
            sleep(0.02)
        os.killpg(first.pid, signal.SIGKILL)
    assert first.returncode == -signal.SIGKILL
    for query in start_both(spark, tmp_path, watching.EVENTS):
        query.awaitTermination()
    assert (tmp_path / "kept-out" / "commits" / str(BATCHES - 1)).exists()
    assert_batch_order(spark.read.parquet(str(tmp_path / "out")), rows)
    watching.check(spark.read.parquet(str(tmp_path / "watched")), expected)


def test_a_table_at_once(spark: SparkSession) -> None:
    """With plain dependencies in the place of a vector, and a timestamp."""
    rows = holdback.arriving(holdback.traffic(8, 100, GROUPS), 8)
    df = spark.createDataFrame(pa.Table.from_pylist(rows, schema=holdback.SCHEMA)).repartition(3)
    assert_batch_order(ordered(df), rows)
    plain = df.selectExpr(
        "group",
        "sender",
        "number",
        "transform(map_entries(after), x -> struct(x.key AS s, x.value AS n)) AS after",
        "timestamp_micros(cast(time * 1000000 as bigint)) AS time",
    )
    names = ("group", "sender", "number", "kind", "position")
    same = [sorted(ordered(one).select(*names).collect()) for one in (df, plain)]
    assert same[0] == same[1]


def test_refused_in_words(spark: SparkSession) -> None:
    df = spark.createDataFrame(pa.Table.from_pylist([], schema=holdback.SCHEMA))
    named: dict[str, Any] = {name: name for name in ("group", "sender", "number", "after", "time")}
    for change, told in (
        ({"sender": "from"}, "sender='from': there is no such column"),
        ({"number": "sender"}, "number='sender' has type string: it has to be an integer"),
        ({"time": "sender"}, "time='sender' has type string"),
        ({"after": "time"}, "after='time' has type double: say a map, or a list of structs"),
    ):
        with pytest.raises(Misuse, match=told):
            antecede.spark.resequence(df, **{**named, **change})
    with pytest.raises(Misuse, match="patience=0: say how many seconds"):
        antecede.spark.resequence(df, **named, patience=0)
    with pytest.raises(Misuse, match="rename the column 'kind'"):
        antecede.spark.resequence(df.withColumnRenamed("payload", "kind"), **named)
