"""Recordings that grow, read whenever: every event once, in the order of its process."""

import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.errors import BadFile, Misuse
from antecede.groups import MemberId
from antecede.live import finish, growing
from antecede.live.growing import Places, look, parts_between, read, read_evenly
from antecede.live.ordering.effects import Delivery
from antecede.live.recording import Recording
from antecede.recorder import record
from tests.cli.conftest import Antecede, antecede

__all__ = ["antecede"]  # a fixture
BOB = MemberId(1, 1)


def recorded(folder: Path) -> Path:
    """The log of a node that delivers 30 messages."""
    recording = Recording(folder, "g", "alice")
    recording.begin(7)
    for number in range(1, 31):
        recording.deliver(Delivery("bob", b"", number, lamport=number, member=BOB))
    recording.flush()
    return folder / "alice.7.events"


def news(folder: Path, since: Places, most: int | None = None) -> tuple[list[pa.Table], Places]:
    now = look(folder, since, most)
    parts = [
        pa.Table.from_batches(read(folder, *part), schema=growing.ROWS)
        for part in parts_between(since, now)
    ]
    return parts, now


@pytest.mark.parametrize("most", [None, 3])
def test_a_node_that_ends_while_it_is_read(most: int | None, tmp_path: Path) -> None:
    """Its log comes in pieces that end anywhere, and becomes a trace before all was read."""
    content = recorded(tmp_path / "whole").read_bytes()
    random = Random(3)
    folder = tmp_path / "growing"
    folder.mkdir()
    log = folder / "alice.7.events"
    found: list[pa.Table] = []
    places: Places = {}
    written = 0
    while written < len(content) * 2 // 3:
        written += random.randint(0, 60)
        log.write_bytes(content[:written])
        parts, places = news(folder, places, most)
        found += parts
    log.write_bytes(content)
    planned = look(folder, places, most)  # and then the node ends
    assert finish(folder) == [folder / "alice.7.parquet"]
    found += [pa.Table.from_batches(read(folder, *part)) for part in parts_between(places, planned)]
    parts, places = news(folder, planned)
    found += parts
    whole = pq.read_table(folder / "alice.7.parquet")
    assert len(found) > 2
    assert (
        pa.concat_tables(found)
        .select(whole.column_names)
        .equals(pq.read_table(folder / "alice.7.parquet"))
    )
    assert news(folder, places)[0] == []


def test_files_of_the_recorder(tmp_path: Path) -> None:
    """A file of two processes that is read within a line, and one that comes later."""
    with record(tmp_path / "whole", "p", run="r") as p:
        for number in range(20):
            p.send(f"m{number}", to=["q"])
            p.local("thinks")
            p.deliver(f"m{number}", at="q")
    content = (tmp_path / "whole").read_bytes()
    folder = tmp_path / "growing"
    folder.mkdir()
    found = []
    places: Places = {}
    for end in (0, 10, 300, 301, 1000, len(content) - 1, len(content)):
        (folder / "p.trace").write_bytes(content[:end])
        (folder / "notes.txt").write_text("no recording")
        parts, places = news(folder, places, most=7)
        found += parts
    with record(folder / "s.trace", "s", run="r") as s:
        s.crash()
    while (step := news(folder, places, most=7))[0]:
        found += step[0]
        places = step[1]
    rows = pa.concat_tables(found).to_pylist()
    expected = [{"process": name, "seq": n, "message": f"m{n}"} for name in "pq" for n in range(20)]
    expected.append({"process": "s", "seq": 0, "message": None})
    told = [{name: row[name] for name in expected[0]} for row in rows]
    assert sorted(told, key=lambda row: (row["process"], row["seq"])) == expected
    assert {row["run"] for row in rows} == {"r"}
    (folder / "p.trace").write_bytes(content[:50])
    with pytest.raises(Misuse, match="has become shorter"):
        look(folder, places)
    (folder / "p.trace").write_bytes(content.replace(b'"m3"', b"m3"))
    with pytest.raises(BadFile, match="is no line of a recording"):
        look(folder, {})


@pytest.mark.parametrize("most", [None, 1, 3])
def test_a_process_that_goes_on_in_another_file(most: int | None, tmp_path: Path) -> None:
    """As logs are rotated: its events are counted on, for each run. The names of the files do not
    say which was first."""
    for file in "ba":
        for run in ("r1", "r2"):
            with record(tmp_path / file, "p", run=run) as p:
                for number in range(3):
                    p.send(f"{file}{number}", to=["q"])
    found, places = [], Places()
    while (step := news(tmp_path, places, most))[0]:
        found += step[0]
        places = step[1]
    rows = pa.concat_tables(found).to_pylist()
    told = sorted((row["run"], row["seq"], row["message"]) for row in rows)
    names = [f"{file}{number}" for file in "ba" for number in range(3)]
    assert told == [(run, seq, name) for run in ("r1", "r2") for seq, name in enumerate(names)]
    with record(tmp_path / "b", "p", run="r1") as p:
        p.send("late", to=["q"])
    for since in (places, {}):
        with pytest.raises(Misuse, match="process 'p' of run 'r1' writes another file"):
            look(tmp_path, since)


def test_files_are_read_in_step(tmp_path: Path) -> None:
    """However long each is, so that few rows wait."""
    for name, count in (("p", 20_000), ("q", 60_000)):
        rows = [{"process": name, "seq": seq, "kind": "view"} for seq in range(count)]
        lines = [json.dumps(row) for row in rows]
        (tmp_path / name).write_text('{"antecede":"recording"}\n' + "\n".join(lines) + "\n")
    seen = {"p": 0, "q": 0}
    for batch in read_evenly(tmp_path, {}, look(tmp_path, {})):
        seen[batch["process"][0].as_py()] += len(batch)
        assert abs(seen["p"] / 20_000 - seen["q"] / 60_000) < 0.3
    assert seen == {"p": 20_000, "q": 60_000}


BROKEN = [
    {"process": "p", "kind": "send", "message": "m1", "destinations": ["q", "r"]},
    {"process": "q", "kind": "deliver", "message": "m1"},
    {"process": "q", "kind": "send", "message": "m2", "destinations": ["r"]},
    {"process": "r", "kind": "deliver", "message": "m2", "time": 3.5},
    {"process": "r", "kind": "deliver", "message": "m1"},
]


def test_the_command(antecede: Antecede, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [json.dumps(row) for row in BROKEN]
    for process in "pqr":
        own = [line for line in lines if line.startswith(f'{{"process": "{process}"')]
        (tmp_path / process).write_text("\n".join(['{"antecede":"recording"}', *own, ""]))
    told = antecede("watch", str(tmp_path), "--for", "0")
    assert told.status == 1
    assert "r delivered m2 at 3.5 s without m1, which m2 depends on" in told.out
    assert "causal order was BROKEN: 1 early delivery" in told.out
    (tmp_path / "q").unlink()
    told = antecede("watch", str(tmp_path), "--for", "0", "--json")
    assert told.status == 3
    assert json.loads(told.out)["doubts"] == ["nothing", "waiting"]
    assert "deliver of m2, which nobody sent" in told.out
    piped = tmp_path / "piped"
    piped.write_text("\n".join(lines[:3]) + "\n")
    with piped.open() as opened:
        monkeypatch.setattr("sys.stdin", opened)
        told = antecede("watch", "--stream")
    assert told.status == 0
    assert "causal order was kept" in told.out
    for words, why in (
        ([], "name a folder, or --stream"),
        ([str(tmp_path / "none")], "there is no such folder"),
        ([str(tmp_path), "--limit", "0"], "--limit are larger than 0"),
        (["--stream", "--for", "3"], "--stream ends with its input"),
        ([str(tmp_path), "--layer", "link"], "there is no layer 'link'"),
    ):
        told = antecede("watch", *words)
        assert told.status == 2
        assert why in told.err
