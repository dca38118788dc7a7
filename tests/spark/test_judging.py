"""DataFrames are judged as the local engine judges the same rows, in any order and partitioning."""

from copy import deepcopy
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import antecede.spark
from antecede.errors import BadFile, Misuse
from antecede.pipeline.audit.verify import verify_on_spark
from antecede.spark import files
from antecede.spark.judging import UNREAD, read_footers
from antecede.trace import Assumed, encode_assumed
from antecede.verify import tables, verify_trace
from tests.pipeline.traces import random_rows, write
from tests.trace.builders import deliver, positioned, send, table

RUNS = [(f"r{seed:02}", random_rows(seed)) for seed in range(40, 70)]


def listed(found: DataFrame | pa.Table) -> list[str]:
    """The rows, but for the last digits of sums."""
    rows = found if isinstance(found, pa.Table) else found.toArrow()
    return sorted(
        str([round(x, 9) if isinstance(x, float) else x for x in row.values()])
        for row in rows.to_pylist()
    )


def test_as_the_local_engine(spark: SparkSession, tmp_path: Path) -> None:
    trace = write(tmp_path / "t.parquet", *RUNS)
    rows = pa.concat_tables([table(*run, run=name) for name, run in RUNS])
    order = list(range(len(rows)))
    Random(1).shuffle(order)
    read = spark.read.parquet(str(trace))
    given = spark.createDataFrame(rows.take(order)).repartition(5)
    expected = verify_trace(trace)
    assert expected.violations > 10
    for df in (read, given):
        assert listed(antecede.spark.verify(df)) == listed(tables.verdicts(rows))
        assert listed(antecede.spark.violations(df)) == listed(tables.violations(rows))
        assert listed(antecede.spark.deliveries(df)) == listed(tables.deliveries(rows))
    counts = antecede.spark.verify(given).agg(F.sum("violations"), F.sum("deliveries")).first()
    assert counts is not None
    assert tuple(counts) == (expected.violations, expected.deliveries)
    assert verify_on_spark(spark, trace).violations == expected.violations


def test_plain_files_are_read_without_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whatever is not the files as they are is not."""
    runs = [(f"r{seed}", random_rows(seed)) for seed in (41, 42, 43)]
    (tmp_path / "plain").mkdir()
    for name, rows in runs:
        (tmp_path / "folders" / f"run={name}").mkdir(parents=True)
        write(tmp_path / "plain" / f"{name}.parquet", (name, rows))
        part = write(tmp_path / "folders" / f"run={name}" / "odd %20?.parquet", (name, rows))
        pq.write_table(pq.read_table(part, partitioning=None).drop_columns("run"), part)
    write(tmp_path / "mixed.parquet", *runs, group=10_000)
    plain = spark.read.parquet(str(tmp_path / "plain"))
    folders = spark.read.parquet(str(tmp_path / "folders"))
    long_way = antecede.spark.verify(plain.filter("seq >= 0"))
    assert "MapInArrow" not in plan_of(long_way)
    for df in (plain, folders):
        short_way = antecede.spark.verify(df)
        assert "MapInArrow" in plan_of(short_way)
        assert listed(short_way) == listed(long_way)
        found = antecede.spark.deliveries(df)
        assert listed(found) == listed(antecede.spark.deliveries(df.filter("seq >= 0")))
    more = deepcopy(plain.schema).add("ordered", "string")
    layered = plain.withColumn("level", F.lit("x")).write.partitionBy("level")
    layered.parquet(str(tmp_path / "level"))
    for df in (
        plain.limit(3),
        plain.select("*").where("process = 'a'"),
        plain.union(plain),
        spark.read.schema(more).parquet(str(tmp_path / "plain")),
        spark.read.parquet(str(tmp_path / "mixed.parquet")),
        spark.read.parquet(str(tmp_path / "level")),
    ):
        assert "MapInArrow" not in plan_of(antecede.spark.verify(df))
    monkeypatch.setattr(files, "FILES", 2)
    assert "MapInArrow" not in plan_of(antecede.spark.verify(plain))


def plan_of(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().analyzed().toString())


def test_caveats_from_the_footers(spark: SparkSession, tmp_path: Path) -> None:
    doubt = Assumed("guess", "a guess was made")
    rows = table(*positioned(send("a", 1, "b"), deliver("b", "a:1")))
    footer = {f"antecede.{key}": text for key, text in encode_assumed([doubt]).items()}
    pq.write_table(rows.replace_schema_metadata(footer), tmp_path / "t.parquet")
    df = spark.read.parquet(str(tmp_path)).filter("seq >= 0")
    (row,) = antecede.spark.verify(df).collect()
    assert (row.answer, row.doubts, row.caveats) == ("cannot tell", ["guess"], ["a guess was made"])
    (row,) = antecede.spark.verify(df, assumed=[]).collect()
    assert (row.answer, row.doubts) == ("kept", [])
    assert read_footers([f"file://{tmp_path}/none.parquet"]) == (UNREAD,)
    assert read_footers(["nowhere://x/y.parquet"]) == (UNREAD,)
    assert read_footers(["hdfs://x/y.json"]) == ()


def test_a_run_that_breaks_a_rule(spark: SparkSession) -> None:
    """Its verdict cannot be told, others' can; its deliveries are not left out in silence."""
    good = table(*positioned(send("a", 1, "b"), deliver("b", "a:1")), run="good")
    bad = table(*positioned(deliver("b", "a:1")), run="bad")
    nameless = table(*positioned(send("a", 1, "b")), run=None)
    df = spark.createDataFrame(pa.concat_tables([good, bad, nameless]))
    told = {row.run: row for row in antecede.spark.verify(df).collect()}
    assert {name: row.answer for name, row in told.items()} == {
        "good": "kept",
        "bad": "cannot tell",
        None: "cannot tell",
    }
    assert told["bad"].doubts == ["rule"]
    assert "run 'bad', process 'b'" in told["bad"].caveats[0]
    assert "column 'run' is null" in told[None].caveats[0]
    with pytest.raises(PythonException, match="run 'bad', process 'b'"):
        antecede.spark.violations(df.filter("run = 'bad'")).collect()


def test_refused_before_any_job(spark: SparkSession) -> None:
    df = spark.createDataFrame(table(*positioned(send("a", 1, "b"))))
    with pytest.raises(BadFile, match=r"the DataFrame: 1 mistake\s+- column 'kind' is missing"):
        antecede.spark.verify(df.drop("kind"))
    with pytest.raises(BadFile, match="column 'number' has type string, expected int64"):
        antecede.spark.violations(df.withColumn("number", F.col("number").cast("string")))
    with pytest.raises(Misuse, match="there is no layer 'top'"):
        antecede.spark.deliveries(df, "top")
