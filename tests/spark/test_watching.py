"""`watch` finds what `verify` finds, on streams and on tables; taps as streams."""

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import antecede.spark
from antecede.errors import Misuse
from antecede.groups import MemberId
from antecede.live.ordering.effects import Delivery
from antecede.live.tap import Tap, segments
from antecede.recorder import record
from antecede.spark.watching import WATCHED, watch_run
from antecede.verify.tables import violations
from tests.spark.stream import start

EVENTS = 1_000
"""More than `record_run` makes in a file."""


def rows_of_run(messages: int, seed: int) -> list[dict[str, Any]]:
    """Three processes that broadcast, and deliver anyhow."""
    random = Random(seed)
    rows: list[dict[str, Any]] = []
    sent: list[tuple[str, int]] = []
    seqs = dict.fromkeys("pqr", 0)

    def add(process: str, kind: str, sender: str, number: int) -> None:
        to = [name for name in "pqr" if name != process] if kind == "send" else None
        row = {"run": "r", "process": process, "seq": seqs[process], "kind": kind}
        rows.append({**row, "sender": sender, "number": number, "destinations": to})
        seqs[process] += 1

    left: list[tuple[str, str, int]] = []
    for _ in range(messages):
        process = random.choice("pqr")
        number = 1 + sum(name == process for name, _ in sent)
        sent.append((process, number))
        add(process, "send", process, number)
        left += [(other, process, number) for other in "pqr" if other != process]
        while left and random.random() < 0.6:
            other, sender, number = left.pop(random.randrange(min(3, len(left))))
            add(other, "deliver", sender, number)
    return rows


def record_run(folder: Path) -> list[tuple[str, str, int]]:
    """A run as three files of the recorder; gives what came early, as `verify` sees it."""
    folder.mkdir()
    rows = rows_of_run(60, 5)
    recorders = {name: record(folder / f"{name}.trace", name, run="r") for name in "pqr"}
    for row in rows:
        message = f"{row['sender']}:{row['number']}"
        if row["kind"] == "send":
            recorders[row["process"]].send(message, to=row["destinations"])
        else:
            recorders[row["process"]].deliver(message)
    for recorder in recorders.values():
        recorder.close()
    return early(violations(pa.Table.from_pylist(rows)))


def early(found: pa.Table) -> list[tuple[str, str, int]]:
    columns = found.select(["process", "sender", "number"]).to_pylist()
    return sorted(tuple(row.values()) for row in columns)


def check(watched: DataFrame, expected: list[tuple[str, str, int]]) -> None:
    found = watched.toArrow()
    assert set(found["kind"].to_pylist()) == {"early"}
    assert early(found) == expected
    assert len(expected) > 5


def test_in_any_batches() -> None:
    """Without Spark, as its workers do it: the state goes through bytes after each batch."""
    for seed in range(20):
        check_batches(Random(seed), seed)


def check_batches(random: Random, seed: int) -> None:
    rows = rows_of_run(30, seed)
    arriving = sorted(rows, key=lambda row: row["seq"] + 10 * random.random())
    known, found = None, []
    while arriving:
        size = random.randint(1, 20)
        part = pa.Table.from_pylist(arriving[:size], schema=pa.Table.from_pylist(rows).schema)
        known, more = watch_run("r", "app", 1_000, known, [part])
        found.append(more)
        arriving = arriving[size:]
    assert early(pa.concat_tables(found)) == early(violations(pa.Table.from_pylist(rows)))


def test_a_problem_ends_a_run() -> None:
    rows = pa.Table.from_pylist(rows_of_run(30, 1))
    known, found = watch_run("r", "app", 1_000, None, [rows, rows.slice(0, 1)])
    assert found["kind"].to_pylist()[-1] == "problem"
    assert "was there already" in found["sentence"][-1].as_py()
    assert watch_run("r", "app", 1_000, known, [rows]) == (b"", WATCHED.empty_table())


def test_a_table_at_once(spark: SparkSession) -> None:
    rows = rows_of_run(60, 9)
    lost = [row for row in rows_of_run(30, 1) if (row["process"], row["seq"]) != ("p", 0)]
    table = pa.Table.from_pylist([*rows, *({**row, "run": "s"} for row in lost)])
    df = spark.createDataFrame(table).repartition(3)
    found = antecede.spark.watch(df)
    check(found.where("run = 'r'"), early(violations(pa.Table.from_pylist(rows))))
    told = found.where("run = 's' and kind = 'problem'").collect()
    assert "seq is 1, expected 0" in told[0]["sentence"]
    with pytest.raises(Misuse, match="there is no column 'seq'"):
        antecede.spark.watch(df.drop("seq"))
    with pytest.raises(Misuse, match="limit=0"):
        antecede.spark.watch(df, limit=0)


def test_a_tap_as_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Read, restarted, read on; what is committed goes."""
    folder = tmp_path / "tap"
    count = 0
    source = spark.readStream.format("antecede").option("prune", "true")
    for _ in range(2):
        tap = Tap(folder, "g", "alice", segment_bytes=300)
        for _ in range(30):
            count += 1
            tap.append(Delivery("bob", b"%d" % count, count, member=MemberId(1, 1)))
            if tap.is_full:
                tap.roll()
        tap.close()
        start(source.load(str(folder)), tmp_path, "out").awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).orderBy("position").toArrow()
    assert [int(one) for one in found["payload"].to_pylist()] == list(range(1, count + 1))
    assert found["position"].to_pylist() == list(range(1, count + 1))
    assert set(found["member"].to_pylist()) == {"alice"}
    assert segments(folder)[0] > 20  # of the batch before the last, at least
    here = spark.read.format("antecede").load(str(folder))
    assert here.count() == count + 1 - segments(folder)[0]
