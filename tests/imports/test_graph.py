"""Causal graphs: causal in the order of the file, broken in the order of their authors' clocks."""

import csv
import gzip
from importlib import resources
from pathlib import Path

import pytest

from antecede.errors import BadFile
from antecede.imports import import_graph, write_imported
from antecede.trace import Run
from antecede.verify import audit, verify_trace
from tests.trace.builders import shown

EVENTS = 400


@pytest.fixture
def commits(tmp_path: Path) -> Path:
    """The beginning of a real graph: all of it makes two million deliveries."""
    whole = resources.files("antecede") / "data" / "git-makefile.dag.csv.gz"
    with whole.open("rb") as packed, gzip.open(packed, "rt") as text:
        lines = [line for line, _ in zip(text, range(EVENTS + 1), strict=False)]
    file = tmp_path / "commits.dag.csv"
    file.write_text("".join(lines))
    return file


def test_the_order_of_the_file_is_causal(tmp_path: Path, commits: Path) -> None:
    write_imported(import_graph(commits), tmp_path / "t.parquet")
    verdict = verify_trace(tmp_path / "t.parquet")
    assert verdict.messages == EVENTS
    assert verdict.deliveries > 10 * EVENTS
    assert (verdict.violations, verdict.undelivered) == (0, 0)


def test_the_order_of_author_time_is_not(commits: Path) -> None:
    """A process that sends only its first message delivers everything else by author time: early
    is what has something in its past with a later one."""
    (run,) = import_graph(commits, order="author_time").runs()
    verdict = audit(run, witnesses=10**9)
    with commits.open() as text:
        rows = list(csv.DictReader(text))
    times = [int(row["author_time"]) for row in rows]
    pasts: list[set[int]] = []
    last: dict[str, int] = {}
    for event, row in enumerate(rows):
        causes = {*map(int, row["parents"].split())} | {last.get(row["process"], event)} - {event}
        pasts.append(causes.union(*(pasts[cause] for cause in causes)))
        last[row["process"]] = event
    only = [
        row["process"] for row in rows if sum(r["process"] == row["process"] for r in rows) == 1
    ]
    process = only[0]
    own = next(event for event, row in enumerate(rows) if row["process"] == process)
    batches = (pasts[own], set(range(EVENTS)) - pasts[own] - {own})
    expected = {
        event
        for batch in batches
        for event in batch
        if any((times[cause], cause) > (times[event], event) for cause in pasts[event] & batch)
    }
    found = [witness for witness in verdict.witnesses if witness.process == process]
    assert expected
    assert len(found) == len(expected)


def graph(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "g.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_deliveries_come_when_they_are_needed(tmp_path: Path) -> None:
    file = graph(tmp_path, "event,process,seq,parents", "0,a,1,", "1,b,1,", "2,c,1,0", "3,b,2,2")
    (run,) = import_graph(file).runs()

    def at(process: str) -> list[str]:
        return [text[2:] for text in shown(run) if text.startswith(process)]

    assert at("c") == ["deliver a:1", "send c:1", "deliver b:1", "deliver b:2"]
    assert at("b") == ["send b:1", "deliver a:1", "deliver c:1", "send b:2"]


def test_sessions_are_runs(tmp_path: Path) -> None:
    file = graph(
        tmp_path, "channel,event,process,seq,parents", "one two,0,a,1,", "x/y,0,a,1,", "x/y,1,b,1,0"
    )
    runs: list[Run] = write_imported(import_graph(file), tmp_path / "out")
    assert [run.name for run in runs] == ["one two", "x/y"]
    assert verify_trace(tmp_path / "out").runs == 2


@pytest.mark.parametrize(
    ("lines", "mistake"),
    [
        (["event,process,parents"], "line 1: there is no column 'seq' among event, process"),
        (["event,process,seq,parents", "0,a,1,x"], "line 2: event and parents must be numbers"),
        (["event,process,seq,parents", "1,a,1,"], "line 2: event is 1, expected 0"),
        (["event,process,seq,parents", "0,a,1,0"], "line 2: parents must be events that stand"),
        (["event,process,seq,parents"], "there is no event in it"),
    ],
)
def test_mistakes(tmp_path: Path, lines: list[str], mistake: str) -> None:
    with pytest.raises(BadFile, match=mistake):
        write_imported(import_graph(graph(tmp_path, *lines)), tmp_path / "t.parquet")
    assert not (tmp_path / "t.parquet").exists()


def test_unreadable(tmp_path: Path) -> None:
    (tmp_path / "g.csv.gz").write_bytes(b"\x1f\x8bnot gzipped")
    with pytest.raises(BadFile, match="cannot be read"):
        import_graph(tmp_path / "g.csv.gz")
    with pytest.raises(BadFile, match="there is no column 'author_time'"):
        import_graph(graph(tmp_path, "event,process,seq,parents"), order="author_time")
