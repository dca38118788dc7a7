"""Fuzzing on Spark finds what fuzzing in one process finds, and no seed twice."""

from pathlib import Path

from pyspark.sql import SparkSession

from antecede.fuzzing import draw
from antecede.fuzzing.ledger import FAILURES, SLICES, Ledger
from antecede.fuzzing.slices import Done, Found, Slice
from antecede.pipeline.campaigns.fuzz import fuzz
from antecede.simulate import load_scenario

PROTOCOLS = ("fifo", "vector")


def test_executors_do_what_one_process_does(spark: SparkSession, tmp_path: Path) -> None:
    here, there = Ledger(), Ledger(tmp_path)
    assert fuzz(None, PROTOCOLS, here, runs=50) == []
    told: list[int] = []
    fuzz(spark, PROTOCOLS, there, runs=30, tell=lambda runs, events: told.append(runs))
    assert there.runs == told[-1] == 30
    fuzz(spark, PROTOCOLS, again := Ledger(tmp_path), runs=50)
    assert again.runs == 50
    assert (again.events, again.deliveries) == (here.events, here.deliveries)
    lines = (tmp_path / SLICES).read_text("utf-8").splitlines()
    assert len(lines) == 4  # two slices a protocol: the first 15 seeds, the other 10


def test_executors_shrink_what_failed(spark: SparkSession, tmp_path: Path) -> None:
    """The books say that a run failed, which it did not: it is tried, and kept as it was drawn."""
    ledger = Ledger(tmp_path)
    ledger.add(Done(Slice("fifo", 1, 1), 0, 0, 0, (Found("fifo", 1, "early", "not so"),)))
    (finding,) = fuzz(spark, ["fifo"], ledger, runs=1, shrink_runs=10)
    assert (tmp_path / FAILURES / finding.file_name).read_text("utf-8") == finding.scenario
    assert load_scenario(tmp_path / FAILURES / finding.file_name) == draw("fifo", 1)
