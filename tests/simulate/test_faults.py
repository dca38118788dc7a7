"""Crashes, returns and partitions as scenarios and the command line give them; what is told."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from antecede.cli import app
from antecede.errors import Misuse
from antecede.simulate import Scenario, Summary, make_scenario, simulate
from antecede.simulate.leftover import Leftover
from antecede.trace import CRASH, JOIN, VIEW, read_trace
from antecede.verify import audit, judge
from antecede.verify.holes import find_holes

Fields = dict[str, Any]
DAISY: Fields = {"protocol": "daisy", "processes": 9, "messages": 60, "seed": 3}


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
    assert summary.undelivered == summary.leftover.for_crashed > 0
    assert audit(found).violations == judge(found).violations == 0
    assert find_holes(found) == []
    deliveries = found.events.process[found.events.kind == 2]
    assert (deliveries == 9).any()


LOSS = {"loss": 0.3}
CUT = {"partitions": [{"start_s": 0.1, "end_s": 500.0, "sides": [[0, 1, 2]], "packets": "lost"}]}
BACK = {"partitions": [{**CUT["partitions"][0], "end_s": 50.0}]}
SMALL = {"processes": 4, "messages": 200, "rate": 50.0, "seed": 1}
CRASHES = [{"process": 0, "time_s": 0.2}, {"process": 1, "time_s": 0.2}]


@pytest.mark.parametrize(
    ("fields", "reasons"),
    [
        ({"protocol": "fifo", "network": LOSS}, {"waiting", "missing"}),
        (
            {**SMALL, "protocol": "fifo", "network": LOSS, "crashes": CRASHES[:1]},
            {"for_crashed", "from_crashed", "disagreed", "waiting", "missing"},
        ),
        ({"crashes": CRASHES[:1]}, {"for_crashed"}),
        ({"crashes": CRASHES}, {"for_crashed", "stopped", "behind_stopped"}),
        ({"network": CUT}, {"stopped", "behind_stopped"}),
        ({"processes": 6, "network": BACK}, {"gap"}),
    ],
)
def test_the_reasons_of_what_is_undelivered_add_up(fields: Fields, reasons: set[str]) -> None:
    summary = run(**fields)
    left = summary.leftover
    assert sum(left) == summary.undelivered > 0
    assert {reason for reason, count in left._asdict().items() if count} == reasons
    assert summary.as_dict()["leftover"] == left._asdict()
    assert bool(summary.stopped) == ("stopped" in reasons)


@pytest.mark.parametrize(
    ("fields", "told", "untold"),
    [
        ({"crashes": CRASHES}, ["0.200 s: p0 crashes", "p2 is cut off from most of group 0"], []),
        (
            {"crashes": [{"process": "p4", "time_s": 900.0}]},
            ["before the crash of p4 at 900 s"],
            [],
        ),
        (
            {"crashes": [{"process": 4, "time_s": 0.2, "back_s": 900.0}], "rate": 2.0},
            ["0.200 s: p4 crashes", "the run is over, before the return of p4 at 900 s"],
            ["is back as"],
        ),
        (
            {"crashes": [{"process": 4, "time_s": 0.2, "back_s": 1.0}], "rate": 2.0},
            ["1.000 s: p4 is back as p4'"],
            ["before"],
        ),
        ({"protocol": "vector", "crashes": CRASHES[:1]}, ["0.200 s: p0 crashes"], ["before"]),
        (
            {"network": {"partitions": [{"start_s": 700, "end_s": 800, "sides": [[0]]}]}},
            ["before the partition at 700 s"],
            ["cut off"],
        ),
        ({}, [], ["the run is over"]),
    ],
)
def test_faults_are_told(fields: Fields, told: list[str], untold: list[str]) -> None:
    notices = "\n".join(run(**fields).notices)
    assert all(sentence in notices for sentence in told), notices
    assert not any(sentence in notices for sentence in untold), notices


def test_who_stops_is_named_and_until_when() -> None:
    cut = {"start_s": 1.0, "end_s": 9.0, "sides": [[0, 1, 2]], "packets": "lost"}
    notices = run(processes=12, network={"partitions": [cut]}).notices
    [stop] = [sentence for sentence in notices if "stops" in sentence]
    [back] = [sentence for sentence in notices if "view 3 of" in sentence]
    words = r"\d+\.\d+ s: p0 is cut off from most of servers 4 and stops, until (\d+\.\d+) s"
    found = re.fullmatch(words, stop)
    assert found
    assert float(found[1]) >= float(back.split()[0])
    assert "1.000 s to 9.000 s: p0, p1, p2 are cut off from the others" in notices
    assert list(notices) == sorted(notices, key=lambda sentence: float(sentence.split()[0]))


def test_views_and_failovers_are_told() -> None:
    summary = run(crashes=[{"process": 0, "time_s": 0.5}])
    told = " ".join(summary.notices)
    assert "view 2 of group 0: p1, p2" in told
    assert "a new server for group 0: p1" in told


def test_nobody_comes_back_to_a_protocol_that_lets_nobody_in() -> None:
    crashes = [{"process": 1, "time_s": 1.0, "back_s": 2.0}]
    with pytest.raises(Misuse, match=r"back_s: vector lets nobody back in"):
        make_scenario({"protocol": "vector", "processes": 3, "crashes": crashes})
    with pytest.raises(Misuse, match=r"crashes at 3.0 and is back at 2.0"):
        run(crashes=[{"process": 1, "time_s": 3.0, "back_s": 2.0}])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"crashes": [{"process": "p0", "time_s": 1.0}, {"process": 0, "time_s": 2.0}]},
            r"crashes\[1\].process: 0 crashes at 1 s and again at 2 s; drop one",
        ),
        (
            {
                "crashes": [
                    {"process": 0, "time_s": 1.0, "back_s": 2.0},
                    {"process": 0, "time_s": 3.0},
                ]
            },
            r"crashes\[1\].process: .* who is back is another process",
        ),
        (
            {"network": {"partitions": [{"start_s": 1, "end_s": 2, "sides": [list(range(9))]}]}},
            r"network.partitions\[0\].sides: all 9 processes are on one side",
        ),
        (
            {"network": {"partitions": [{"start_s": 1, "end_s": 2, "sides": [[0], ["p0", 1]]}]}},
            r"network.partitions\[0\].sides: a process stands on two sides",
        ),
    ],
)
def test_faults_that_cannot_be_are_refused(fields: Fields, words: str) -> None:
    with pytest.raises(Misuse, match=words):
        make_scenario({**DAISY, **fields})


def test_latecomers_follow_from_crashes() -> None:
    """As an option they would be processes that nobody lets in."""
    with pytest.raises(Misuse, match=r"options: latecomers: .* joins and crashes \(back_s\)"):
        make_scenario({"protocol": "daisy", "processes": 4, "options": {"latecomers": [3]}})


def test_the_flags() -> None:
    arguments = ["simulate", "--protocol", "daisy", "--processes", "9", "--messages", "60"]
    faults = ["--crash", "0@0.5", "--crash", "4@0.6..2", "--partition", "7@1..4", "--loss", "0.1"]
    result = CliRunner().invoke(app, [*arguments, *faults])
    assert result.exit_code == 0, result.output
    assert "a new server for" in result.output
    assert "p4'" in result.output
    assert "daisy: undelivered: " in result.output
    assert " for crashed processes" in result.output


FLAGS = ["simulate", "--protocol", "daisy", "--processes", "6", "--messages", "60"]


def test_what_a_gap_excuses_is_no_failure() -> None:
    result = CliRunner().invoke(app, [*FLAGS, "--partition", "0,1,2@0.1..50"])
    assert result.exit_code == 0, result.output
    assert "that are lost, as was told (a gap)." in result.output


@pytest.mark.parametrize(
    ("protocol", "loss", "left", "owed"),
    [
        ("daisy", 0.1, Leftover(disagreed=1), 1),
        ("daisy", 0.1, Leftover(waiting=2, missing=1), 3),
        ("daisy", 0.1, Leftover(1, 1, 1, 1, 1), 0),
        ("vector", 0.0, Leftover(missing=1), 1),
        ("vector", 0.1, Leftover(waiting=3, missing=1), 0),
        ("piggyback", 0.1, Leftover(waiting=1, missing=3), 1),
    ],
)
def test_the_exit_status_is_about_what_is_owed(
    monkeypatch: pytest.MonkeyPatch, protocol: str, loss: float, left: Leftover, owed: int
) -> None:
    def leaves(scenario: Scenario, *_: Any, **__: Any) -> Summary:
        summary = simulate(scenario)
        change = {"undelivered": sum(left), "leftover": left, "stopped": ("p1", "p2")}
        return msgspec.structs.replace(summary, **change)

    monkeypatch.setattr("antecede.cli._simulate.run_scenario", leaves)
    flags = ["simulate", "--protocol", protocol, "--processes", "4", "--messages", "5"]
    result = CliRunner().invoke(app, [*flags, "--loss", str(loss)])
    assert result.exit_code == bool(owed), result.output
    assert (f" (owed: {owed})." in result.output) == bool(owed)
    is_excused = (left.waiting or left.missing) and not owed
    assert ("(not owed: not promised under these faults)." in result.output) == bool(is_excused)


def test_what_all_protocols_tell_is_printed_once() -> None:
    flags = ["simulate", "--protocol", "all", "--processes", "4", "--messages", "20"]
    result = CliRunner().invoke(app, [*flags, "--crash", "p1@0.2"])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert [line for line in lines if "p1 crashes" in line] == ["all: 0.200 s: p1 crashes"]
    together = [line for line in lines if "histories, matrix" in line and "undelivered: " in line]
    assert len(together) == 1


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
    slow = {"delay": "constant:0.1", "links": [{"from": [1], "to": [0], "delay": "constant:5"}]}
    patience_s = 20.0
    fields = {"processes": 2, "messages": 20, "rate": 1.0, "patience_s": patience_s}
    summary = simulate(make_scenario({"protocol": "daisy", **fields, "network": slow}))
    assert summary.undelivered
    views = [sentence for sentence in summary.notices if " view " in sentence]
    assert len(views) > 4
    assert summary.virtual_s < 5 * patience_s
