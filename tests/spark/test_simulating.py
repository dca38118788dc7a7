"""A campaign as a DataFrame has the rows that the command writes."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import antecede.spark
from antecede.campaigns.tables import RUNS
from antecede.errors import BadFile, Misuse
from tests.campaigns.test_campaign import run

GRID: dict[str, Any] = {
    "name": "grid",
    "question": "Who waits?",
    "seeds": 2,
    "processes": [3],
    "protocols": ["vector", "none"],
    "networks": [{"name": "flat", "delay": "exponential:0.1"}],
    "workloads": [{"name": "broadcast", "kind": "broadcast", "messages": 20}],
}
TOML = """name = "grid"
question = "Who waits?"
seeds = 2
processes = [3]
protocols = ["vector", "none"]
networks = [{ name = "flat", delay = "exponential:0.1" }]
workloads = [{ name = "broadcast", kind = "broadcast", messages = 20 }]
"""


def test_as_the_command_does_it(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(TOML)
    run(file, tmp_path / "out", lambda: spark)
    timing = {column.name for column in RUNS.columns if column.is_timing}

    def told(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        kept = [{k: v for k, v in row.items() if k not in timing} for row in rows]
        return sorted(kept, key=lambda row: (row["variant"], row["seed"]))

    expected = pq.read_table(tmp_path / "out" / "runs")
    assert len(expected) == 4
    for grid in (GRID, str(file)):
        found = antecede.spark.simulate(spark, grid, tasks=2).toArrow()
        assert found.schema.names == expected.schema.names
        assert told(found.to_pylist()) == told(expected.to_pylist())


def test_refused_before_any_job(spark: SparkSession) -> None:
    with pytest.raises(BadFile, match=r"the campaign: 1 mistake\n.*protocols.*'nobody'"):
        antecede.spark.simulate(spark, {**GRID, "protocols": ["nobody"]})
    with pytest.raises(Misuse, match="no campaign of that name ships"):
        antecede.spark.simulate(spark, "nothing")
    with pytest.raises(Misuse, match="more than 10; limit= says"):
        antecede.spark.simulate(spark, GRID, limit=10)
