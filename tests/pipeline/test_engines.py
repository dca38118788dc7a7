"""Local and Spark give the same verdict on the same traces."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from antecede.errors import BadTrace
from antecede.pipeline.audit.job import Limits
from antecede.pipeline.audit.verify import verify_on_spark
from antecede.verify import Verdict, verify_into, verify_trace
from tests.pipeline.traces import crash, crossing, long_rows, random_rows, write
from tests.trace import test_rules
from tests.trace.builders import Row, deliver, positioned, receive, send, table
from tests.verify.test_incomplete import KINDS, Execution, kept

CUT_UP = Limits(run_rows=0, windows=5, reach=2, shard=2)
"""So that a trace of some rows is a huge one: windows, long flights and shards."""
SCRIPTS = {"a": "Αλέξανδρος", "b": "边缘 节点", "c": "سرور", "d": "n/4 [x]", "e": "e=5%"}


def assert_same(found: Verdict, expected: Verdict) -> None:
    """Equal but for the last digits of sums."""
    for part in ("forced_s", "inherited_s", "own_s"):
        assert getattr(found.delays, part) == pytest.approx(getattr(expected.delays, part))
    assert replace(found, delays=expected.delays) == expected
    assert found.delays.deliveries == expected.delays.deliveries


def test_many_runs(spark: SparkSession, tmp_path: Path) -> None:
    """In several files, some runs in a folder that names them, some spread over two files."""
    folder = tmp_path / "trace of many"
    (folder / "run=seed%207").mkdir(parents=True)
    runs = {f"run {seed}": random_rows(seed, SCRIPTS) for seed in range(30)}
    write(folder / "one.parquet", *list(runs.items())[:10])
    split = runs.pop("run 29")
    seqs = table(*split)["seq"].to_pylist()
    split = [{**row, "seq": seq} for row, seq in zip(split, seqs, strict=True)]
    half = len(split) // 2
    write(folder / "three [3].parquet", *list(runs.items())[10:], ("run 29", split[half:]))
    write(folder / "two.parquet", ("run 29", split[:half]))
    named = table(*random_rows(77)).drop_columns(["run", "layer", "stamp_bytes"])
    pq.write_table(named, folder / "run=seed%207" / "part.parquet")
    expected = verify_trace(folder)
    assert expected.runs == 31
    assert expected.violations > 5
    assert_same(verify_on_spark(spark, folder), expected)
    all_but_one = sorted(len(rows) for rows in runs.values())[-2]
    limits = replace(CUT_UP, run_rows=all_but_one)
    found = verify_on_spark(spark, folder, limits=limits, out=tmp_path / "spark")
    assert_same(found, expected)
    verify_into(folder, tmp_path / "local")
    tables = [pq.read_table(tmp_path / engine / "findings") for engine in ("spark", "local")]
    rows = [sorted(map(str, found.to_pylist())) for found in tables]
    assert rows[0] == rows[1]
    assert len(rows[0]) == expected.violations


@pytest.mark.parametrize("seed", [100, 600])
def test_one_run_in_many_parts(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rows = positioned(*long_rows(seed), crash("a"))
    Random(seed).shuffle(rows)  # positions say where they belong
    seqs: dict[str, int] = {}
    for row in sorted(rows, key=lambda row: int(row["position"])):
        row["seq"] = seqs[row["process"]] = seqs.get(row["process"], -1) + 1
    trace = write(tmp_path / "run.parquet", ("r", rows), group=10)
    expected = verify_trace(trace)
    assert expected.violations > 0
    assert expected.undelivered_at_crashed > 0
    assert_same(verify_on_spark(spark, trace, limits=CUT_UP), expected)


def test_what_processes_tell_themselves(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        row
        for number in range(1, 31)
        for row in (send("p", number, "pqq"), deliver("p", f"p:{number}"))
    ]
    trace = write(tmp_path / "run.parquet", ("r", positioned(*rows)), group=10)
    expected = verify_trace(trace)
    assert [one.what for one in expected.doubts] == ["own"]
    assert_same(verify_on_spark(spark, trace, limits=CUT_UP), expected)


def test_what_messages_are_ordered_with_respect_to(spark: SparkSession, tmp_path: Path) -> None:
    """Exactly that is judged, run by run; also where a run would be a huge one."""
    folder = tmp_path / "trace"
    folder.mkdir()
    executions = [Execution(seed, kinds) for kinds in KINDS for seed in range(6)]
    for index, execution in enumerate(executions):
        execution.write(folder / f"{index:02}.parquet", f"run {index}")
    expected = verify_trace(folder)
    early = sorted(one for execution in executions for one in execution.findings())
    assert len(early) == expected.violations > 20
    for limits in (None, CUT_UP):
        out = tmp_path / "out"
        found = verify_on_spark(spark, folder, limits=limits, out=out, force=True)
        assert_same(found, expected)
        assert kept(out) == early


def test_the_other_layer(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        *[send("p", 1, "qr"), send("p", 1, "q", layer="hop"), send("p", 2, "q", layer="hop")],
        *[deliver("q", "p:2", layer="hop"), receive("q", "p:1"), deliver("q", "p:1")],
        *[deliver("q", "p:1", layer="hop"), deliver("p", "p:1"), crash("r")],
    ]
    trace = write(tmp_path / "run.parquet", ("r", positioned(*rows)))
    for layer, violations in (("app", 0), ("hop", 1)):
        expected = verify_trace(trace, layer)
        assert expected.violations == violations
        assert_same(verify_on_spark(spark, trace, layer, limits=CUT_UP), expected)


@pytest.mark.parametrize("known", [0.0, 0.5])
def test_positions_are_computed(spark: SparkSession, tmp_path: Path, known: float) -> None:
    rows = positioned(*long_rows(300))
    random = Random(4)
    rows = [row if random.random() < known else {**row, "position": None} for row in rows]
    trace = write(tmp_path / "run.parquet", ("r", rows))
    expected = verify_trace(trace)
    assert expected.violations > 0
    assert_same(verify_on_spark(spark, trace, limits=CUT_UP), expected)


(CASES,) = vars(test_rules.test_broken_rule)["pytestmark"]
BY_RULE = {case.values[1]: case for case in reversed(CASES.args[1])}
"""The first case of each rule: a job on Spark takes seconds."""


@pytest.mark.parametrize(
    "rows", [pytest.param(case.values[0], id=case.id) for case in BY_RULE.values()]
)
def test_broken_rule(spark: SparkSession, tmp_path: Path, rows: list[Row]) -> None:
    """The same error, word for word."""
    trace = write(tmp_path / "run.parquet", ("r", rows))
    with pytest.raises(BadTrace) as local:
        verify_trace(trace)
    with pytest.raises(BadTrace) as on_spark:
        verify_on_spark(spark, trace, limits=CUT_UP)
    assert str(on_spark.value) == str(local.value)


@pytest.mark.parametrize(
    ("reach", "steps"),
    [(100, ["windows"]), (0, ["windows", "long flights", "witnesses"])],
    ids=["all in reach", "long flights"],
)
def test_a_run_in_order_is_not_put_in_order(
    spark: SparkSession, tmp_path: Path, reach: int, steps: list[str]
) -> None:
    """Whether there are long flights or not."""
    trace = write(tmp_path / "run.parquet", ("r", crossing(8)), group=5)
    told: list[str] = []
    limits = Limits(run_rows=0, windows=3, reach=reach)
    found = verify_on_spark(spark, trace, limits=limits, out=tmp_path / "out", tell=told.append)
    assert_same(found, verify_trace(trace))
    assert found.violations == 1
    assert told == ["runs", "small runs", *steps]
    assert pq.read_table(tmp_path / "out" / "findings").num_rows == 1
