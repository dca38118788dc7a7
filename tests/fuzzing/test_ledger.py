"""The books of a fuzzing: nothing is run twice, and a kill costs a line at most."""

import re
from pathlib import Path

import pytest

from antecede.errors import BadFile, CannotWrite
from antecede.fuzzing import judge
from antecede.fuzzing.ledger import AS_DRAWN, FAILURES, SLICES, Ledger
from antecede.fuzzing.slices import Done, Found, Slice
from antecede.pipeline.campaigns.fuzz import SHRUNK, fuzz
from antecede.simulate import load_scenario
from tests.fuzzing.planted import planted_bugs

FOUND = Found("fifo", 7, "early", "p1 delivered p0:2 before p0:1")
DONE = Done(Slice("fifo", 1, 10), 100, 20, 40, (FOUND,))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "new" / "folder")
    ledger.add(DONE)
    again = Ledger(tmp_path / "new" / "folder")
    assert again.done == [DONE]
    assert (again.runs, again.events, again.messages, again.deliveries) == (10, 100, 20, 40)
    assert again.found == [FOUND]


def test_half_a_line_does_not_count(tmp_path: Path) -> None:
    Ledger(tmp_path).add(DONE)
    file = tmp_path / SLICES
    whole = file.read_bytes()
    for cut in (1, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole + whole[:cut])
        ledger = Ledger(tmp_path)
        assert ledger.done == [DONE]
        ledger.add(DONE)
        assert Ledger(tmp_path).done == [DONE, DONE]


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / SLICES).write_text('{"slice": 3}\n', encoding="utf-8")
    with pytest.raises(BadFile, match=r"slices.jsonl: 1 mistake\n.*line 1: .*run again"):
        Ledger(tmp_path)


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match="cannot write"):
        Ledger(tmp_path / "file")


def test_fuzzing_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    """After every slice but the last one, in turn."""
    unbroken = Ledger()
    fuzz(None, ["fifo"], unbroken, runs=25, size=10)
    for kill in (1, 2):
        folder = tmp_path / str(kill)

        def killed(runs: int, events: int, limit: int = 10 * kill) -> None:
            if runs >= limit:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fuzz(None, ["fifo"], Ledger(folder), runs=25, size=10, tell=killed)
        resumed = Ledger(folder)
        assert resumed.runs == 10 * kill
        fuzz(None, ["fifo"], resumed, runs=25, size=10)
        assert resumed.done == unbroken.done == Ledger(folder).done


def test_time_is_a_limit(tmp_path: Path) -> None:
    """No time at all is enough for one slice; the next call goes on behind it."""
    for slices in (1, 2):
        fuzz(None, ["none", "fifo"], Ledger(tmp_path), minutes=0, size=5)
        assert len(Ledger(tmp_path).done) == slices
    first, second = Ledger(tmp_path).done
    assert first.slice != second.slice


def test_failures_are_shrunk_once(tmp_path: Path) -> None:
    """Some of each kind get a file; what has one is not shrunk again."""
    planted = next(one for one in planted_bugs() if str(one) == "none-delivered-twice")
    ledger = Ledger(tmp_path)
    findings = fuzz(None, ["none"], ledger, runs=20, shrink_runs=50, order_type=planted.order)
    assert len(ledger.found) > len(findings) == SHRUNK
    files = sorted(file.name for file in (tmp_path / FAILURES).glob("*.toml"))
    assert files == sorted(finding.file_name for finding in findings)
    for finding in findings:
        text = (tmp_path / FAILURES / finding.file_name).read_text("utf-8")
        assert re.match(r"# BrokenInvariant: none: message \d:\d: .* delivers it twice\n", text)
    (tmp_path / FAILURES / files[0]).unlink()
    again = fuzz(
        None, ["none"], Ledger(tmp_path), runs=20, shrink_runs=50, order_type=planted.order
    )
    assert [finding.file_name for finding in again] == files[:1]


def test_a_failure_has_a_file_when_it_is_found(tmp_path: Path) -> None:
    """Long before the search is over, and whether or not it is shrunk then."""
    planted = next(one for one in planted_bugs() if str(one) == "none-delivered-twice")
    seen: list[int] = []
    drawn = tmp_path / FAILURES / AS_DRAWN

    def look(runs: int, events: int) -> None:
        seen.append(len(list(drawn.iterdir())))

    ledger = Ledger(tmp_path)
    fuzz(None, ["none"], ledger, runs=20, size=5, order_type=planted.order, tell=look)
    assert 0 < seen[0] < seen[-1] == len(ledger.found)
    found = ledger.found[-1]
    file = ledger.file_of(found, AS_DRAWN)
    assert file is not None
    failure = judge(load_scenario(file), planted.order).failure
    assert failure is not None
    assert (failure.kind, failure.sentence) == (found.kind, found.sentence)
