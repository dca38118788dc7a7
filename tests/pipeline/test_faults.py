"""What is wrong with a file is said of the file, on Spark, too; and the command line."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from antecede.cli import app
from antecede.errors import BadFile, BadTrace
from antecede.pipeline.audit.job import Limits
from antecede.pipeline.audit.verify import verify_on_spark
from antecede.trace import Assumed, TraceWriter, encode_assumed
from antecede.verify import Answer, Verdict, verify_trace
from tests.pipeline.traces import random_rows, write
from tests.trace.builders import deliver, event, positioned, send, table

HUGE = Limits(run_rows=0)


def test_damaged_file(spark: SparkSession, tmp_path: Path) -> None:
    trace = tmp_path / "run.parquet"
    with TraceWriter(trace, "r", ["p", "q"]) as writer:
        for number in range(1, 20_000):
            writer.send(0, number, number / 7, 0b10)
    content = bytearray(trace.read_bytes())
    for place in range(2000, 4000):
        content[place] ^= 0xFF
    trace.write_bytes(content)
    with pytest.raises(BadFile, match="a damaged one"):
        verify_on_spark(spark, trace)


def test_no_parquet(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "run.parquet").write_text("no")
    with pytest.raises(BadFile, match="this is no Parquet file"):
        verify_on_spark(spark, tmp_path)


def test_wrong_columns(spark: SparkSession, tmp_path: Path) -> None:
    wrong = table(send("p", 1, "q")).drop_columns(["sender"])
    wrong = wrong.set_column(3, "seq", pa.array(["zero"]))
    pq.write_table(wrong, tmp_path / "run.parquet")
    with pytest.raises(BadFile, match="column 'sender' is missing") as caught:
        verify_on_spark(spark, tmp_path)
    assert len(caught.value.mistakes) == 2


def test_empty(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "run.parquet")
    verdict = verify_on_spark(spark, tmp_path)
    assert (verdict, verdict.answer) == (Verdict(), Answer.CANNOT_TELL)


def test_what_was_assumed(spark: SparkSession, tmp_path: Path) -> None:
    """In windows or as a whole, the footer's doubts are the verdict's."""
    doubt = Assumed("clocks", "only clocks were there", count=3)
    notes = {f"antecede.{key}": text for key, text in encode_assumed([doubt]).items()}
    rows = positioned(send("p", 1, "q"), deliver("q", "p:1"))
    pq.write_table(table(*rows).replace_schema_metadata(notes), tmp_path / "run.parquet")
    for limits in (HUGE, Limits()):
        verdict = verify_on_spark(spark, tmp_path, limits=limits)
        assert (verdict.answer, verdict.doubts) == (Answer.CANNOT_TELL, (doubt,))


def test_one_event(spark: SparkSession, tmp_path: Path) -> None:
    trace = write(tmp_path / "run.parquet", ("r", positioned(event("join", "p"))))
    assert verify_on_spark(spark, trace, limits=HUGE) == verify_trace(trace) == Verdict(runs=1)


def test_the_first_broken_run_is_named(spark: SparkSession, tmp_path: Path) -> None:
    """With runs of both sizes, and a row that two files back stands for it."""
    write(tmp_path / "a.parquet", ("good", random_rows(1)), ("small", [send("p", 2, "q")]))
    write(tmp_path / "b.parquet", ("huge", [send("p", 3, "q")] * 50))
    with pytest.raises(BadTrace) as local:
        verify_trace(tmp_path)
    with pytest.raises(BadTrace) as on_spark:
        verify_on_spark(spark, tmp_path, limits=Limits(run_rows=40))
    assert str(on_spark.value) == str(local.value)
    pq.write_table(table(send("p", 1, "q"), run=None), tmp_path / "c.parquet")
    with pytest.raises(BadTrace, match=r"row 0 of .*c\.parquet: column 'run' is null"):
        verify_on_spark(spark, tmp_path)


def test_command_line(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antecede.pipeline.session.build_session", lambda *_, **__: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    trace = write(tmp_path / "run.parquet", *[(f"r{n}", random_rows(n)) for n in range(8)])
    out = tmp_path / "out"
    arguments = ["verify", str(trace), "--json", "--engine"]
    runner = CliRunner()
    by_spark = runner.invoke(app, [*arguments, "spark", "--out", str(out)])
    local = runner.invoke(app, [*arguments, "local"])
    assert by_spark.exit_code == local.exit_code == 1
    told, expected = json.loads(by_spark.stdout), json.loads(local.stdout)
    assert told.pop("delays") == pytest.approx(expected.pop("delays"))  # sums, in another order
    assert told == expected
    assert runner.invoke(app, [*arguments, "auto"]).stdout == local.stdout
    assert json.loads((out / "verdict.json").read_text()) == json.loads(by_spark.stdout)
    again = runner.invoke(app, [*arguments, "spark", "--out", str(out)])
    assert "use --force" in str(again.exception)
