"""Whole campaigns on Spark: the tables, and what interruptions, changes and faults do to them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from antecede.campaigns import folder, tabulate
from antecede.campaigns.file import load_campaign
from antecede.campaigns.folder import Folder
from antecede.campaigns.plan import check_size, make_plan
from antecede.campaigns.student import half_width
from antecede.campaigns.tables import RUNS, TABLES, Table
from antecede.errors import CannotWrite, Misuse
from antecede.files import give_name
from antecede.pipeline.campaigns import campaign as pipeline
from antecede.pipeline.campaigns.campaign import Finished, Progress, run_campaign
from antecede.simulate import load_scenario, simulate
from tests.campaigns import faults
from tests.campaigns.files import SMALL, save

TIMINGS = {column.name for column in RUNS.columns if column.is_timing}


def run(
    file: Path,
    out: Path,
    session: Callable[[], SparkSession],
    tell: Callable[[Progress], object] = lambda _: None,
    **options: Any,
) -> Finished:
    campaign = load_campaign(file)
    plan = make_plan(campaign, str(file))
    return run_campaign(campaign, plan, file.read_text(), out, session, tell=tell, **options)


def no_session() -> SparkSession:
    pytest.fail("Spark was started, and there was nothing to do")


def rows_of(folder: Path, table: Table) -> list[dict[str, Any]]:
    """A table without what tells of the machine."""
    found = pq.read_table(folder / table.name)
    rows = found.select([name for name in found.column_names if name not in TIMINGS]).to_pylist()
    kept = [row for row in rows if row.get("measure") not in TIMINGS]
    return sorted(kept, key=lambda row: [str(value) for value in row.values()])


def outcome(folder: Path) -> dict[str, Any]:
    """All that a campaign leaves for people."""
    found: dict[str, Any] = {table.name: rows_of(folder, table) for table in TABLES}
    found["csv"] = (folder / "summary.csv").read_text()
    found["traces"] = sorted(path.name for path in (folder / "traces").iterdir())
    found["failed"] = sorted(path.name for path in (folder / "failed").iterdir())
    return found


class Camera:
    """Copies the folder of a campaign in mid-work. What a process that is killed leaves behind is
    what was on the disk at that moment."""

    def __init__(self, folder: Path, album: Path) -> None:
        self._folder = folder
        self._album = album
        self.pictures: dict[str, Path] = {}

    def take(self, name: str) -> None:
        if name not in self.pictures:
            self.pictures[name] = self._album / name
            # What is in the works is of no use to anybody later, and goes on changing.
            ignored = shutil.ignore_patterns("work", ".*partial*")
            shutil.copytree(self._folder, self.pictures[name], ignore=ignored)
            (self.pictures[name] / "results" / ".x.json.partial-1").touch()

    def tell(self, progress: Progress) -> None:
        if progress.stage == "runs" and 0 < progress.done < progress.total:
            self.take("mid-runs")
        elif progress.stage != "runs":
            self.take(progress.stage)


@pytest.fixture(scope="module")
def unbroken(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, dict[str, Path]]:
    """A campaign from start to end: its file, its folder, and pictures of it on the way."""
    place = tmp_path_factory.mktemp("unbroken")
    file, out = save(place), place / "out"
    camera = Camera(out, place)
    flush = tabulate._Writer._flush

    def flush_and_take(writer: tabulate._Writer) -> None:
        flush(writer)
        camera.take("mid-tables")

    def give_name_and_take(partial: Path, target: Path) -> None:
        give_name(partial, target)
        camera.take("mid-commit")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tabulate._Writer, "_flush", flush_and_take)
        patched.setattr(folder, "give_name", give_name_and_take)
        finished = run(file, out, lambda: spark, camera.tell)
    assert (finished.runs, finished.failed, finished.skipped, finished.broken) == (10, 0, 1, 0)
    return file, out, camera.pictures


def test_tables_have_the_columns_that_are_documented(
    unbroken: tuple[Path, Path, dict[str, Path]],
) -> None:
    _, out, _ = unbroken
    for table in TABLES:
        stored = pq.read_table(out / table.name).schema
        assert (stored.names, stored.types) == (table.schema.names, table.schema.types)
    assert {*Folder(out).path.iterdir()} == {
        *(out / table.name for table in TABLES),
        *(
            out / name
            for name in (
                *("campaign.toml", "campaign.json", "summary.csv", ".lock"),
                *("results", "failed", "traces"),
            )
        ),
    }


def test_the_summary_is_what_statistics_says(
    unbroken: tuple[Path, Path, dict[str, Path]],
) -> None:
    _, out, _ = unbroken
    runs = pq.read_table(out / "runs").to_pylist()
    summary = pq.read_table(out / "summary").to_pylist()
    assert len(summary) > 5 * 40
    for line in summary:
        key = ("variant", "network", "workload", "processes")
        values = [
            float(run[line["measure"]])
            for run in runs
            if [run[name] for name in key] == [line[name] for name in key]
        ]
        assert line["n"] == len(values) == 2
        assert line["mean"] == pytest.approx(fmean(values))
        assert line["sd"] == pytest.approx(stdev(values))
        half = half_width(1) * stdev(values) / 2**0.5
        interval = (fmean(values) - half, fmean(values) + half)
        assert (line["low"], line["high"]) == pytest.approx(interval)
        assert (line["min"], line["max"]) == (min(values), max(values))


def test_histograms_count_every_message_and_copy(
    unbroken: tuple[Path, Path, dict[str, Path]],
) -> None:
    _, out, _ = unbroken
    runs = {run["run"]: run for run in pq.read_table(out / "runs").to_pylist()}
    table = pq.read_table(out / "histograms")
    counts = table.group_by(["run", "measure"]).aggregate([("count", "sum")]).to_pylist()
    assert len(counts) == 10 * 8
    for line in counts:
        run = runs[line["run"]]
        expected = run["copies"] if line["measure"].endswith("_s") else run["messages"]
        assert line["count_sum"] == expected


def test_interesting_traces_are_kept(unbroken: tuple[Path, Path, dict[str, Path]]) -> None:
    _, out, _ = unbroken
    runs = pq.read_table(out / "runs").to_pylist()
    wanted = set()
    for variant in ("vector", "fifo", "none"):
        mine = [run for run in runs if run["variant"] == variant]
        wanted.add(max(mine, key=lambda run: run["delay_s_max"])["run"])
        early = [run["run"] for run in mine if run["violations"]]
        assert bool(early) == (variant != "vector")
        wanted |= {*early[:1]}
    assert {path.stem for path in (out / "traces").iterdir()} == wanted


def test_the_csv_has_a_line_a_setting(unbroken: tuple[Path, Path, dict[str, Path]]) -> None:
    _, out, _ = unbroken
    header, *lines = (out / "summary.csv").read_text().splitlines()
    assert header.startswith(
        "protocol,variant,options,network,workload,processes,n,warm_up,warm_up ±,"
    )
    assert len(lines) == 5
    assert lines[0].startswith("fifo,fifo,{},flat,broadcast,3,2,")


def test_a_finished_campaign_is_left_alone(unbroken: tuple[Path, Path, dict[str, Path]]) -> None:
    file, out, _ = unbroken
    before = outcome(out)
    assert run(file, out, no_session).runs == 10
    assert outcome(out) == before


@pytest.mark.parametrize("stage", ["plan", "mid-runs", "mid-tables", "mid-commit", "traces"])
def test_a_campaign_goes_on_after_a_kill_at_any_stage(
    spark: SparkSession, unbroken: tuple[Path, Path, dict[str, Path]], stage: str
) -> None:
    file, out, pictures = unbroken
    left = pictures[stage]
    assert not (left / "campaign.json").exists()
    stamps = {path: path.stat().st_mtime_ns for path in (left / "results").glob("*.json")}
    assert bool(stamps) == (stage != "plan")
    if stage == "mid-runs":
        cut_off, _ = stamps.popitem()
        cut_off.write_text("")
    run(file, left, lambda: spark)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps  # not done again
    assert outcome(left) == outcome(out)
    assert not [*left.rglob("*partial*")]


def test_a_changed_file_runs_only_what_is_new(
    spark: SparkSession, unbroken: tuple[Path, Path, dict[str, Path]], tmp_path: Path
) -> None:
    _, out, _ = unbroken
    copy = shutil.copytree(out, tmp_path / "copy")
    changed = SMALL.replace("seeds = 2", "seeds = [2, 3]").replace('"fifo", ', "")
    told: list[Progress] = []
    finished = run(save(tmp_path, changed), copy, lambda: spark, told.append)
    assert finished.runs == 6
    assert max(progress.total for progress in told if progress.stage == "runs") == 3
    assert {row["seed"] for row in rows_of(copy, RUNS)} == {2, 3}
    assert {row["variant"] for row in rows_of(copy, RUNS)} == {"vector", "none"}
    assert (copy / "campaign.toml").read_text() == changed


def test_a_failed_run_does_not_stop_the_others(spark: SparkSession, tmp_path: Path) -> None:
    """One of them gets an option that its protocol refuses."""
    campaign = load_campaign(save(tmp_path, SMALL.replace('"fifo"', '"bounded"')))
    plan = make_plan(campaign)
    bad = next(run for run in plan.runs if run.setting.protocol == "bounded")
    scenario = json.dumps({**json.loads(bad.scenario), "options": {"k": 1}})
    worse = msgspec.structs.replace(bad, scenario=scenario)
    plan = msgspec.structs.replace(
        plan, runs=tuple(worse if run == bad else run for run in plan.runs)
    )
    out = tmp_path / "out"
    finished = run_campaign(campaign, plan, SMALL, out, lambda: spark)
    assert (finished.runs, finished.failed) == (10, 1)
    (failed,) = [row for row in rows_of(out, RUNS) if row["status"] == "failed"]
    assert failed["run"] == bad.run
    assert failed["error"].startswith("Misuse: ")
    assert failed["messages"] is None
    with pytest.raises(Misuse) as caught:
        simulate(load_scenario(out / "failed" / f"{bad.run}.toml"))
    assert str(caught.value) in failed["error"]
    (line,) = [
        row
        for row in pq.read_table(out / "summary").to_pylist()
        if (row["variant"], row["workload"]) == ("bounded", bad.setting.workload)
        and row["measure"] == "messages"
    ]
    assert (line["n"], line["sd"], line["low"]) == (1, None, None)
    done_before = Folder(out).finished()
    (out / "campaign.json").unlink()
    run_campaign(campaign, make_plan(campaign), SMALL, out, lambda: spark, retry=True)
    assert Folder(out).finished() == done_before
    assert {row["status"] for row in rows_of(out, RUNS)} == {"ok"}
    assert [*(out / "failed").iterdir()] == []


def test_a_run_that_kills_its_worker_is_a_failed_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "execute", faults.die_at_none)
    text = SMALL.split('[[workloads]]\nname = "sets"')[0]
    finished = run(save(tmp_path, text), tmp_path / "out", lambda: spark)
    assert (finished.runs, finished.failed) == (6, 1)
    (failed,) = [row for row in rows_of(tmp_path / "out", RUNS) if row["status"] == "failed"]
    assert (failed["variant"], failed["seed"]) == ("none", 2)
    assert failed["error"] == pipeline.LOST


def test_a_full_disk_stops_the_campaign_which_can_be_resumed(
    spark: SparkSession,
    unbroken: tuple[Path, Path, dict[str, Path]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file, out, _ = unbroken
    again = tmp_path / "again"
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "execute", faults.find_no_space)
        with pytest.raises(CannotWrite, match="No space left on device"):
            run(file, again, lambda: spark)

    def block(progress: Progress) -> None:
        if progress.stage == "tables":
            Folder(again).tables_aside.write_text("in the way")

    with pytest.raises(CannotWrite, match=str(again)):
        run(file, again, lambda: spark, block)
    assert not (again / "campaign.json").exists()
    assert not (again / "work").exists()
    # A task of the first call may have been at work still when the second one began the same run;
    # then one of the two fails.
    run(file, again, lambda: spark, retry=True)
    assert outcome(again) == outcome(out)


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    file = save(tmp_path)
    with pytest.raises(CannotWrite, match="cannot write"):
        run(file, file / "out", no_session)
    with pytest.raises(Misuse, match="has other things in it"):
        run(file, tmp_path, no_session)
    assert {path.name for path in tmp_path.iterdir()} == {"campaign.toml"}


def test_a_folder_has_room_for_one_process(tmp_path: Path) -> None:
    file, out = save(tmp_path), tmp_path / "out"
    with Folder(out).locked(), pytest.raises(Misuse, match="another process is working in"):
        run(file, out, no_session)


def test_a_campaign_of_many_events_has_to_be_asked_for(tmp_path: Path) -> None:
    plan = make_plan(load_campaign(save(tmp_path)))
    check_size(plan, plan.events)
    with pytest.raises(Misuse, match=f"about {plan.events:,} events in 10 runs, .*--yes"):
        check_size(plan, plan.events - 1)


def test_a_process_that_is_killed_for_good(
    spark: SparkSession, unbroken: tuple[Path, Path, dict[str, Path]], tmp_path: Path
) -> None:
    """The command itself, by the signal that nobody can catch, once it has some results."""
    file, out, _ = unbroken
    killed = tmp_path / "killed"
    command = "import antecede.cli; antecede.cli.main()"
    arguments = ["campaign", "run", str(file), "--out", str(killed), "--master", "local[1]"]
    with subprocess.Popen([sys.executable, "-c", command, *arguments]) as process:
        results = killed / "results"
        while process.poll() is None and not (results.exists() and any(results.glob("*.json"))):
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (killed / "campaign.json").exists()
    run(file, killed, lambda: spark)
    assert outcome(killed) == outcome(out)
