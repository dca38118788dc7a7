"""The questions of docs/tables.md get one answer from three engines, and exports lose nothing."""

import re
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from antecede.campaigns.export import export
from antecede.campaigns.tables import TABLES, VERSION_KEY
from antecede.errors import BadFile, Misuse
from antecede.report.results import read_results
from tests.campaigns.test_campaign import run

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text("utf-8")
CAMPAIGN = """name = "asked"
question = "Who pays?"
seeds = 2
processes = [4, 8]
protocols = ["vector", "matrix", "none"]
networks = [{ name = "flat", delay = "exponential:0.1" }]
workloads = [{ name = "broadcast", kind = "broadcast", messages = 30 }]
"""


@pytest.fixture(scope="module")
def campaign(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a folder of the name that the page has."""
    place = tmp_path_factory.mktemp("asked")
    (place / "asked.toml").write_text(CAMPAIGN)
    run(place / "asked.toml", place / "build" / "demo", lambda: spark)
    return place / "build" / "demo"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def rounded(rows: list[Any]) -> list[Any]:
    return [
        tuple(float(f"{x:.9g}") if isinstance(x, float) else x for x in map(_plain, row))
        for row in rows
    ]


def _plain(value: Any) -> Any:
    return int(value) if hasattr(value, "as_integer_ratio") and value == int(value) else value


def test_three_engines_agree(
    spark: SparkSession, campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(campaign.parents[1])
    for_duckdb, for_spark, for_polars, *by_polars = blocks("python")
    names: dict[str, Any] = {"spark": spark}
    relative = for_spark.replace("build/demo", str(campaign))  # Spark was started elsewhere
    for code in (for_duckdb, relative, for_polars):
        exec(code, names)
    questions = blocks("sql")
    assert len(questions) == len(by_polars) == 5
    for question, code in zip(questions, by_polars, strict=True):
        exec(code, names)
        answer: pl.DataFrame = names["answer"].collect()
        relation = duckdb.sql(question)
        assert relation is not None
        expected = rounded(relation.fetchall())
        assert len(expected) > 1
        assert rounded(answer.rows()) == expected
        assert rounded([tuple(row) for row in spark.sql(question).collect()]) == expected


def test_exports_have_every_row(campaign: Path, tmp_path: Path) -> None:
    for to in ("csv", "delta", "duckdb"):
        export(campaign, to, tmp_path / to)
        with pytest.raises(Misuse, match="exists already; use --force"):
            export(campaign, to, tmp_path / to)
        export(campaign, to, tmp_path / to, force=True)
    with duckdb.connect(str(tmp_path / "duckdb"), read_only=True) as database:
        for table in TABLES:
            rows = pq.read_table(campaign / table.name)
            assert rows.schema.metadata == {VERSION_KEY.encode(): b"1"}
            assert database.sql(f"FROM {table.name}").to_arrow_table().to_pylist() == (
                rows.to_pylist()
            )
            delta = pl.from_arrow(DeltaTable(tmp_path / "delta" / table.name).to_pyarrow_table())
            assert isinstance(delta, pl.DataFrame)
            assert delta.to_dicts() == rows.to_pylist()
            text = tmp_path / "csv" / f"{table.name}.csv"
            if len(rows):
                assert pcsv.read_csv(text).num_rows == len(rows)
            assert text.read_text().count('"') > 0


def test_refused(campaign: Path, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="there is no format 'excel'; say csv, delta or duckdb"):
        export(campaign, "excel", tmp_path / "x")
    with pytest.raises(BadFile, match="no finished campaign is there"):
        export(tmp_path, "csv", tmp_path / "x")
    with pytest.raises(Misuse, match="is in a store, but Delta tables"):
        export(campaign, "delta", "s3://bucket/x")


def test_tables_of_another_version(campaign: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for table in TABLES:
        (copy / table.name).mkdir()
        rows = pq.read_table(campaign / table.name)
        changed = rows.replace_schema_metadata({VERSION_KEY: "2"})
        pq.write_table(changed, copy / table.name / "table.parquet")
    (copy / "campaign.json").write_bytes((campaign / "campaign.json").read_bytes())
    with pytest.raises(BadFile, match="tables of version 2, and this reads 1"):
        read_results(copy)
