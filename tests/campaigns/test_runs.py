"""One run on an executor: its result, its failures, what the disk refuses."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antecede import compiled
from antecede.campaigns import runs
from antecede.campaigns.file import load_campaign
from antecede.campaigns.folder import Folder
from antecede.campaigns.plan import PlannedRun, make_plan
from antecede.campaigns.tables import RUNS
from antecede.simulate import load_scenario
from antecede.trace.reader import read_metadata
from antecede.verify import verify_trace
from tests.campaigns.files import save


@pytest.fixture
def planned(tmp_path: Path) -> PlannedRun:
    return make_plan(load_campaign(save(tmp_path))).runs[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    """The folder of a campaign. What an executor expects is not to be expected ever after."""
    monkeypatch.setattr(compiled, "_done", None)
    folder = Folder(tmp_path / "out")
    with folder.locked():
        yield folder


def do(planned: PlannedRun, folder: Folder, *, keep_trace: bool = False) -> runs.Outcome:
    return runs.execute(planned, folder=str(folder.path), keep_trace=keep_trace)


def test_a_run_leaves_its_result_and_nothing_else(planned: PlannedRun, folder: Folder) -> None:
    outcome = do(planned, folder)
    result = runs.read_result(folder, planned.run)
    assert result is not None
    assert outcome.events == result["events"] > 0
    assert {*RUNS.measures} <= {*result}
    left = [path.relative_to(folder.path) for path in folder.path.rglob("*") if path.is_file()]
    assert sorted(map(str, left)) == [".lock", f"results/{planned.run}.json"]


def test_a_finished_run_is_not_done_again(
    planned: PlannedRun, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = do(planned, folder)
    monkeypatch.setattr(runs, "simulate", None)
    assert do(planned, folder) == first


def test_a_result_that_was_cut_off_is_none(planned: PlannedRun, folder: Folder) -> None:
    do(planned, folder)
    for text in ("", '{"run": ', "[]", '{"run": "another"}'):
        folder.result(planned.run).write_text(text)
        assert runs.read_result(folder, planned.run) is None


def test_traces_are_kept_at_once_or_made_again(planned: PlannedRun, folder: Folder) -> None:
    do(planned, folder, keep_trace=True)
    trace = folder.trace(planned.run)
    before = trace.read_bytes()
    assert verify_trace(trace).violations == 0
    assert "scenario" in read_metadata(trace)
    trace.unlink()
    runs.keep_trace(planned, folder=str(folder.path))
    assert trace.read_bytes() == before


@pytest.mark.parametrize("error", [KeyError("a bug"), MemoryError(), ZeroDivisionError("x" * 9999)])
def test_a_failed_run_is_recorded_with_its_scenario(
    planned: PlannedRun, folder: Folder, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(runs, "simulate", fail)
    assert do(planned, folder).failed
    result = runs.read_result(folder, planned.run)
    assert result is not None
    assert result["status"] == "failed"
    assert result["error"].startswith(type(error).__name__)
    assert len(result["error"]) <= runs.LONGEST_ERROR
    scenario = load_scenario(folder.failure(planned.run))
    assert (scenario.protocol, scenario.seed, scenario.run) == ("vector", 1, planned.run)


def test_a_full_disk_is_no_result(
    planned: PlannedRun, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is the trace or the result that does not fit any more."""
    full = OSError(errno.ENOSPC, "No space left on device")

    def fail(*_: Any, **__: Any) -> None:
        raise full

    with monkeypatch.context() as patched:
        patched.setattr(runs, "write_whole", fail)
        assert do(planned, folder).cannot_write == (str(folder.path), full.strerror)
    with monkeypatch.context() as patched:
        patched.setattr("pyarrow.parquet.ParquetWriter.write_batch", fail)
        outcome = do(planned, folder)
    assert outcome.cannot_write is not None
    assert outcome.cannot_write[1] == full.strerror
    assert folder.finished() == set()
    assert [*folder.work.iterdir()] == []
    assert do(planned, folder).cannot_write is None


def test_many_small_loops_are_worth_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    def loop(steps: int) -> int:
        return steps

    def fast(steps: int) -> int:
        return steps

    monkeypatch.setattr(compiled, "_done", None)
    monkeypatch.setattr(compiled, "_compiled", {loop: fast})
    half = compiled.MUCH // 2
    assert [compiled.loop_for(loop, half) for _ in range(3)] == [loop, loop, loop]
    compiled.expect_many_traces()
    assert [compiled.loop_for(loop, half) for _ in range(3)] == [loop, fast, fast]
    compiled.expect_many_traces()  # which forgets nothing
    assert compiled.loop_for(loop, 1) is fast
