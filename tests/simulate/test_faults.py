"""Crashes, returns and partitions as scenarios and the command line give them; what is told."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from antecede.cli import app
from antecede.errors import Misuse
from antecede.simulate import Summary, make_scenario, simulate
from antecede.trace import CRASH, JOIN, VIEW, read_trace
from antecede.verify import audit, judge
from antecede.verify.holes import find_holes

DAISY = {"protocol": "daisy", "processes": 9, "messages": 60, "seed": 3}


def run(out: Path | None = None, **fields: Any) -> Summary:
    return simulate(make_scenario({**DAISY, **fields}), out)


def test_who_comes_back_is_a_new_process(tmp_path: Path) -> None:
    trace = tmp_path / "run.parquet"
    crash = {"process": 4, "time_s": 0.2, "back_s": 1.0}
    summary = run(trace, crashes=[crash], network={"loss": 0.1}, rate=2.0)
    [found] = read_trace(trace).runs
    assert list(found.processes)[-1] == "p4'"
    kinds = {kind: found.events.process[found.events.kind == kind] for kind in (CRASH, JOIN, VIEW)}
    assert kinds[CRASH].tolist() == [4]
    assert kinds[JOIN].tolist() == [9]
    assert set(kinds[VIEW].tolist()) > {9}
    assert summary.violations == 0
    assert summary.undelivered == summary.undelivered_at_crashed > 0
    assert audit(found).violations == judge(found).violations == 0
    assert find_holes(found) == []
    deliveries = found.events.process[found.events.kind == 2]
    assert (deliveries == 9).any()


def test_what_is_undelivered_is_told_apart() -> None:
    """A sender crashes with its last messages lost: those for the living, what waits for them, and
    what was for the sender itself."""
    network = {"loss": 0.3}
    crash = {"process": 0, "time_s": 0.3}
    fields = {"protocol": "fifo", "processes": 3, "messages": 90, "rate": 50.0}
    summary = simulate(make_scenario({**fields, "crashes": [crash], "network": network}))
    of, at = summary.undelivered_of_crashed, summary.undelivered_at_crashed
    assert min(of, at) > 0
    assert of + at < summary.undelivered
    sure = run(crashes=[crash], network={"loss": 0.1})
    assert sure.undelivered == sure.undelivered_at_crashed + sure.undelivered_of_crashed


def test_views_and_failovers_are_told() -> None:
    summary = run(crashes=[{"process": 0, "time_s": 0.5}])
    told = " ".join(summary.notices)
    assert "group 0 installs view 2: p1, p2" in told
    assert "group 0 has another server: p1" in told


def test_nobody_comes_back_to_a_protocol_that_lets_nobody_in() -> None:
    crashes = [{"process": 1, "time_s": 1.0, "back_s": 2.0}]
    with pytest.raises(Misuse, match=r"back_s: vector lets nobody back in"):
        make_scenario({"protocol": "vector", "processes": 3, "crashes": crashes})
    with pytest.raises(Misuse, match=r"crashes at 3.0 and is back at 2.0"):
        run(crashes=[{"process": 1, "time_s": 3.0, "back_s": 2.0}])


def test_latecomers_follow_from_crashes() -> None:
    """As an option they would be processes that nobody lets in."""
    with pytest.raises(Misuse, match=r"options: latecomers: .* back_s in crashes"):
        make_scenario({"protocol": "daisy", "processes": 4, "options": {"latecomers": [3]}})


def test_the_flags() -> None:
    arguments = ["simulate", "--protocol", "daisy", "--processes", "9", "--messages", "60"]
    faults = ["--crash", "0@0.5", "--crash", "4@0.6..2", "--partition", "7@1..4", "--loss", "0.1"]
    result = CliRunner().invoke(app, [*arguments, *faults])
    assert result.exit_code == 0, result.output
    assert "has another server" in result.output
    assert "p4'" in result.output
    assert "for processes that crashed" in result.output


@pytest.mark.parametrize(
    "flags",
    [["--crash", "0"], ["--crash", "0@x"], ["--partition", "0@1"], ["--partition", "@1..2"]],
)
def test_a_fault_written_wrongly_is_refused(flags: list[str]) -> None:
    arguments = ["simulate", "--protocol", "daisy", "--processes", "4", *flags]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code != 0


def test_views_that_come_and_go_are_no_progress() -> None:
    """One link is slower than patience with a silent member: it is suspected, comes back and is
    suspected again, for ever; the run ends all the same."""
    slow = {"delay": "constant:0.1", "links": [{"from": [1], "to": [0], "delay": "constant:3"}]}
    patience_s = 20.0
    fields = {"processes": 2, "messages": 5, "rate": 1.0, "patience_s": patience_s}
    summary = simulate(make_scenario({"protocol": "daisy", **fields, "network": slow}))
    assert summary.undelivered
    views = [sentence for sentence in summary.notices if "installs view" in sentence]
    assert len(views) > 4
    assert summary.virtual_s < 5 * patience_s
