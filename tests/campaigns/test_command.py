"""`antecede campaign`, as far as it needs no Spark."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from antecede.campaigns import plan
from antecede.cli import app
from antecede.cli._campaign import describe
from antecede.errors import BadFile, CannotWrite, Misuse
from antecede.orders.none import Unordered
from antecede.pipeline.campaigns.campaign import Progress
from antecede.simulate import make_scenario, simulate
from antecede.simulate.duty import owed_of
from tests.campaigns.files import SMALL, save


@pytest.mark.parametrize("command", ["run", "plan", "report"])
def test_help_has_an_example(command: str) -> None:
    told = CliRunner().invoke(app, ["campaign", command, "--help"])
    assert told.exit_code == 0
    assert f"Example: antecede campaign {command}" in told.output


def test_plan_says_what_would_run_and_what_not(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["campaign", "plan", str(save(tmp_path))])
    assert told.exit_code == 0
    assert "10 runs, about " in told.output
    assert "left out: 1 setting that a protocol cannot run" in told.output
    assert "  vector: workload: 'multicast' addresses any set of processes" in told.output


def test_plan_for_machines(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["campaign", "plan", str(save(tmp_path)), "--json"])
    found = json.loads(told.output)
    assert (found["name"], found["runs"]) == ("small", 10)
    assert sum(setting["runs"] for setting in found["settings"]) == 10
    assert [cell["variant"] for cell in found["skipped"]] == ["vector"]


def invoke(*arguments: str) -> None:
    CliRunner().invoke(app, ["campaign", *arguments], catch_exceptions=False)


def test_what_is_wrong_is_said_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antecede.pipeline.session.build_session", None)
    file, out = save(tmp_path), tmp_path / "out"
    with pytest.raises(CannotWrite, match="cannot write"):
        invoke("run", str(file), "--out", str(file / "out"))
    with pytest.raises(BadFile, match="no such file"):
        invoke("run", str(tmp_path / "other.toml"), "--out", str(out))
    monkeypatch.setattr(plan, "EVENTS_LIMIT", 100)
    with pytest.raises(Misuse, match="--yes runs it all the same"):
        invoke("run", str(file), "--out", str(out))
    assert not out.exists()


def test_a_report_needs_a_campaign(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=str(tmp_path)):
        invoke("report", str(tmp_path))


@pytest.mark.parametrize("text", [SMALL, SMALL.replace('"small"', '"räum"')])
def test_files_are_read_as_utf_8(tmp_path: Path, text: str) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(text, encoding="utf-8")
    told = CliRunner().invoke(app, ["campaign", "plan", str(file), "--json"])
    assert json.loads(told.output)["name"] in text


def test_progress_tells_runs_events_and_the_time_left() -> None:
    assert describe(Progress("runs", 0, 20), 3.0) == "0 of 20 runs"
    found = describe(Progress("runs", 5, 20, events=9000, share=0.25), 30.0)
    assert found == "5 of 20 runs, 300 events/s, 1:30 left"


HERE = ("--master", "here")


def test_a_small_campaign_needs_no_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does going on with it, in a folder called as its file; and a page can be made of it."""
    monkeypatch.setattr("antecede.pipeline.session.build_session", None)
    monkeypatch.chdir(tmp_path)
    file = save(tmp_path)
    out = tmp_path / file.stem
    told = CliRunner().invoke(app, ["campaign", "run", str(file), *HERE])
    assert told.exit_code == 0, told.output
    assert "small: 10 runs, " in told.output
    assert "every protocol kept its promise in every run\n" in told.output
    assert told.output.endswith(f"next: antecede campaign report {file.stem}\n")
    assert len([*out.glob("traces/*.parquet")]) > 0
    before = {path: path.stat().st_mtime_ns for path in out.glob("results/*.json")}
    file = save(tmp_path, SMALL.replace("seeds = 2", "seeds = 3"))
    told = CliRunner().invoke(app, ["campaign", "run", str(file), "--out", str(out), *HERE])
    assert "small: 15 runs, " in told.output
    assert {path: path.stat().st_mtime_ns for path in before} == before
    invoke("report", str(out))
    assert (out / "report.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(("loss", "delivers"), [("0.0", False), ("0.3", False), ("0.3", True)])
def test_undelivered_messages_are_a_fault_where_they_are_owed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: str, delivers: bool
) -> None:
    """A protocol that delivers nothing of others owes what has arrived, whatever is lost."""
    if not delivers:
        monkeypatch.setattr(Unordered, "receive", lambda *_: [])
    text = SMALL.replace('["vector", "fifo", "none"]', '["none"]')
    text = text.replace('exponential:0.2"', f'exponential:0.2"\nloss = {loss}')
    out = str(tmp_path / "out")
    told = CliRunner().invoke(
        app, ["campaign", "run", str(save(tmp_path, text)), "--out", out, *HERE]
    )
    stalled = "UNDELIVERED that are owed in 4 runs" in told.output
    assert (stalled, told.exit_code) == ((False, 0) if delivers else (True, 1))


LOSING = """
name = "losing"
seeds = 2
processes = [8]
[[protocols]]
name = "separators"
options = { routes = ["direct", "flood", "shortest"] }
[[networks]]
name = "losing"
topology = "tree:2,2,2,2"
crashes = [{ process = "o1.r1", time_s = 1.0 }]
[[workloads]]
kind = "unicast"
messages = 40
"""


def test_a_campaign_owes_what_simulate_says_is_owed(tmp_path: Path) -> None:
    """A crash that leaves a way between all who live excuses nothing."""
    out = tmp_path / "out"
    file = save(tmp_path, LOSING)
    told = CliRunner().invoke(app, ["campaign", "run", str(file), "--out", str(out), *HERE])
    rows = pq.read_table(out / "runs", columns=["scenario", "undelivered", "owed"]).to_pylist()
    assert len(rows) == 6
    for row in rows:
        scenario = make_scenario(json.loads(row["scenario"]))
        assert row["owed"] == owed_of(scenario, simulate(scenario).leftover)
        assert 0 < row["owed"] <= row["undelivered"]
    assert "UNDELIVERED that are owed in 6 runs" in told.output
    assert told.exit_code == 1
