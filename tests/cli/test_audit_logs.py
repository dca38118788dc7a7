"""`antecede audit`: from anybody's logs to a verdict, without being told what they are."""

import bz2
import gzip
import io
import json
import lzma
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.cli import _audit
from antecede.trace import SCHEMA
from antecede.view.audited import audit_logs
from tests.cli.conftest import Antecede

EARLY = [
    ("2024-05-01T12:00:00Z", "shop", "SENT", "o-1", "billing,shipping"),
    ("2024-05-01T12:00:01Z", "billing", "RECV", "o-1", ""),
    ("2024-05-01T12:00:02Z", "billing", "SENT", "paid-1", "shipping"),
    ("2024-05-01T12:00:03Z", "shipping", "RECV", "paid-1", ""),
    ("2024-05-01T12:00:04Z", "shipping", "TICK", "", ""),
    ("2024-05-01T12:00:05Z", "shipping", "RECV", "o-1", ""),
]
FIELDS = ("timestamp", "node", "event", "msg_id", "to")
WITNESS = "shipping delivered paid-1 at 2024-05-01 12:00:03Z (line 5) without o-1, which paid-1"


def as_csv(rows: Sequence[tuple[str, ...]], delimiter: str = ";") -> str:
    return "\n".join(delimiter.join(row) for row in (FIELDS, *rows)) + "\n"


def as_json_lines(rows: Sequence[tuple[str, ...]]) -> str:
    return "".join(json.dumps(dict(zip(FIELDS, row, strict=True))) + "\n" for row in rows)


PACKED = gzip.compress(as_csv(EARLY).encode(), mtime=0)


def test_one_command_from_a_log_to_a_page(antecede: Antecede, tmp_path: Path) -> None:
    log, out = tmp_path / "orders.log", tmp_path / "out"
    log.write_text(as_csv(EARLY))
    told = antecede("audit", log, "--out", out)
    assert told.status == 1
    assert told.out.splitlines()[:6] == [
        "orders.log: CSV with semicolons, 6 rows",
        "  process      node",
        "  kind         event: RECV = deliver (3), SENT = send (2), TICK = local (1)",
        "  message      msg_id",
        "  destinations to, with ',' between names",
        "  time         timestamp",
    ]
    assert WITNESS in told.out
    assert (out / "page.html").stat().st_size > 10_000
    assert antecede("audit", tmp_path, "--out", out, "--force").status == 1
    again = antecede("audit", log, "--out", out)
    assert (again.status, "exists already" in again.err) == (2, True)
    trace = antecede("audit", out / "trace.parquet", "--out", tmp_path / "second", "--json")
    assert (trace.status, json.loads(trace.out)["answer"]) == (1, "broken")


def test_formats_and_packings(antecede: Antecede, tmp_path: Path) -> None:
    """The same events, however they are written, have the same verdict."""
    columns = dict(zip(FIELDS, zip(*EARLY, strict=True), strict=True))
    log = tmp_path / "log"
    contents = [
        as_csv(EARLY, "|").encode(),
        gzip.compress(as_json_lines(EARLY).encode()),
        as_csv(EARLY, "\t").encode("utf-16"),
    ]
    for content in contents:
        log.write_bytes(content)
        told = antecede("audit", log, "--out", tmp_path / "out", "--force")
        assert (told.status, "paid-1" in told.out) == (1, True), told
    pq.write_table(pa.table({name: pa.array(found) for name, found in columns.items()}), log)
    told = antecede("audit", log, "--out", tmp_path / "out", "--force")
    assert (told.status, "log: Parquet, 6 rows" in told.out) == (1, True)


def test_several_files_are_one_run(antecede: Antecede, tmp_path: Path) -> None:
    """A log a process, or one that was rotated; times say what came first where it matters."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for number, row in enumerate(reversed(EARLY)):
        (folder / f"app.log.{number}").write_text(as_csv([row]))
    (folder / "app.log").touch()
    (folder / "README.md").write_text("Of last week.")
    told = antecede("audit", folder, "--out", tmp_path / "out")
    assert (told.status, "(app.log.2 line 2) without o-1" in told.out) == (1, True), told
    assert "README.md is skipped: it is not named as logs are" in told.err
    for file in folder.glob("app.log.*"):
        file.write_text(file.read_text().replace("timestamp", "unknown"))
    told = antecede("audit", folder, "--out", tmp_path / "out", "--force")
    assert told.status == 2
    assert "nothing says what came first; --column time=FIELD" in told.err
    assert (
        antecede("audit", folder, "--column", "time=unknown", "--out", tmp_path / "n").status == 1
    )


def test_the_order_of_files_decides_nothing(antecede: Antecede, tmp_path: Path) -> None:
    """What a process did at the same time by two files may have been either way round."""
    for name, message in (("a", "m1"), ("b", "m2")):
        rows = [("1", "p", "SENT", message, "q"), ("1", "q", "RECV", message, "")]
        (tmp_path / name).write_text(as_csv(rows))
    told = antecede("audit", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "out")
    assert (told.status, "at the same time in several files" in told.out) == (3, True)
    for name, rows in (
        ("a", [("5.0", "p", "SENT", "m1", "q"), ("5.1", "q", "RECV", "m1", "")]),
        ("b", [("0.5", "p", "SENT", "m2", "q"), ("9.6", "q", "RECV", "m2", "")]),
    ):
        (tmp_path / name).write_text(as_csv(rows))
    told = antecede("audit", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "starts")
    assert (told.status, "count from some start, taken for the same" in told.out) == (3, True)
    (tmp_path / "b").write_text(as_csv(EARLY).replace("node", "host"))
    told = antecede("audit", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "other")
    assert (told.status, "there is no column 'node' among timestamp, host" in told.err,
            "a has it: logs that are audited together need the same names" in told.err) == (
            2, True, True)  # fmt: skip


@pytest.mark.parametrize(
    ("content", "flags", "status", "said"),
    [
        (as_csv(EARLY).encode(), [], 1, "standard input: CSV with semicolons, 6 rows"),
        (b"nothing", [], 2, "antecede: standard input: 1 mistake"),
        (
            PACKED[:-9],
            [],
            2,
            "the end of standard input: the compressed file is cut off; --tolerate",
        ),
        (PACKED[:-9], ["--tolerate", "truncated"], 1, "causal order was BROKEN"),
    ],
)
def test_standard_input(
    antecede: Antecede,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    flags: list[str],
    status: int,
    said: str,
) -> None:
    """It is called so, whatever file holds it; what is packed may be cut off."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    told = antecede("audit", "-", *flags, "--out", tmp_path / "out")
    assert (told.status, said in told.out + told.err) == (status, True)


def test_a_trace_that_is_piped_in_stays(
    antecede: Antecede, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").write_text(as_csv(EARLY))
    antecede("audit", tmp_path / "log", "--out", tmp_path / "first")
    content = (tmp_path / "first" / "trace.parquet").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    told = antecede("audit", "-", "--out", tmp_path / "out", "--json")
    assert (told.status, json.loads(told.out)["understood"]) == (1, ["standard input: a trace"])
    assert Path(json.loads(told.out)["trace"]).read_bytes() == content


def test_what_cannot_be_known_is_asked_for(antecede: Antecede, tmp_path: Path) -> None:
    """One flag at a time, and following the advice leads on."""
    log = tmp_path / "log.jsonl"
    rows = [{"zone": "a", "evt": "publish", "mid": 1}, {"zone": "b", "evt": "zap", "mid": 1}]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments: list[str] = []
    for advice, shown in (
        ("--column process=zone", "kind publish, message 1, process a"),
        ("--kind deliver=zap", "would take 1 row with 'zap' for deliveries"),
    ):
        told = antecede("audit", log, *arguments, "--out", tmp_path / "out")
        assert told.status == 2
        assert advice in told.err
        assert shown in told.err
        arguments += advice.split()
    unsure = antecede("audit", log, *arguments, "--out", tmp_path / "out")
    assert (unsure.status, "--broadcast says so" in unsure.out) == (3, True)
    sure = antecede("audit", log, *arguments, "--broadcast", "--out", tmp_path / "out", "--force")
    assert (sure.status, "causal order was kept" in sure.out) == (0, True)


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        (b"", "there is nothing in it"),
        (b"once upon a time", "its format is not known; it begins with 'once upon a time'"),
        (b"[1]", "this is one JSON array; write one object a line"),
        (b"PAR1 no", "this is a damaged Parquet file"),
        (b"\x1f\x8b\x08 no", "cannot be read"),
        (b"a,b\n\xff\xfe,x\n", "iconv -f latin1 -t utf-8 FILE makes UTF-8 of it"),
        (b'{"resourceMetrics": []}\n', "there is no span in it; messages are seen in spans"),
        (b"1,p,send,m\n2,q,deliver,m\n", "put a line with names before it"),
        (b"process,kind,message\n", "there is no event in it"),
        (
            b'a,b,c\np,send,"m\np,send,n\n',
            "line 2: this is no CSV: unexpected end of data; a quote",
        ),
        (f"sep=;\n{as_csv(EARLY)}".encode(), "tail -n +2 FILE skips to the table"),
        (f"# by x\n# at y\n{as_csv(EARLY)}".encode(), "tail -n +3 FILE skips to the table"),
        (b'{"antecede":"recording","version":2}\n', "has version 2, and 1 is known; a newer"),
        (b'{\n "a": 1\n}\n', "write one a line, as jq -c . FILE does"),
        (b"2024-05-01 12:00:00,123 [p] send m\n", "put a line with names before it"),
        (b'{"a": ' * 50_000, "line 1: this is no JSON"),
        (b'{"pid":1,"kind":"send","id":7,"id":8,"to":2}\n', "JSON: an object has 'id' twice"),
        (bz2.compress(as_csv(EARLY).encode()), "this is compressed; decompress it first"),
        (lzma.compress(as_csv(EARLY).encode()), "this is compressed; decompress it first"),
        (b"svc,direction,id,peer\na,out,m,b\nb,in,m,a\n", "which column says where an event"),
        (b"at,svc,kind,id\n1,p,send,m\n2,q,recv,m\n", "--column process=svc would mean"),
    ],
)
def test_what_is_no_log(antecede: Antecede, tmp_path: Path, content: bytes, mistake: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(content)
    told = antecede("audit", log, "--out", tmp_path / "out")
    assert (told.status, told.out) == (2, "")
    assert mistake in told.err


def test_a_log_without_sends_or_without_deliveries(antecede: Antecede, tmp_path: Path) -> None:
    """Nothing is asked for that is not there."""
    log = tmp_path / "log.csv"
    log.write_text(as_csv([row for row in EARLY if row[2] == "SENT"]))
    told = antecede("audit", log, "--out", tmp_path / "out")
    assert (told.status, "there is no delivery to judge" in told.out) == (3, True)
    log.write_text(as_csv([row for row in EARLY if row[2] == "RECV"]))
    told = antecede("audit", log, "--out", tmp_path / "none")
    assert (told.status, "--tolerate unknown-sends leaves them out" in told.err) == (2, True)
    flags = ["--tolerate", "unknown-sends", "--out", tmp_path / "none"]
    told = antecede("audit", log, *flags)
    assert (told.status, "there is no delivery to judge" in told.out) == (3, True)
    empty = tmp_path / "empty.parquet"
    pq.write_table(SCHEMA.empty_table(), empty)
    told = antecede("audit", empty, "--out", tmp_path / "empty")
    assert (told.status, told.out.endswith("empty.parquet, there is nothing to draw\n")) == (
        3,
        True,
    )


def in_parquet(**columns: list[Any]) -> bytes:
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


ODD = b"time,node,kind,id,to,layer\n12:00:01,p,send,m,q,net\n12:00:02,q,recv,m,,net\n"
SESSIONS = (
    b"time,node,kind,id,to,session\n1,p,send,m1,q r,s1\n2,q,deliver,m1,,s1\n3,q,send,m2,r,s2\n"
    b"4,r,deliver,m2,,s2\n5,r,deliver,m1,,s1\n"
)
NUMBERS = (
    b"time,node,kind,id,to,seq\n1,p,send,m,q,1\n2,p,send,n,q,2\n3,q,recv,n,,2\n4,q,recv,m,,1\n"
)


def lacking(*rows: str, end: bytes = b"\n") -> bytes:
    return "\n".join(["node,kind,id,to", "p,send,m,q", "p,send,n,q", *rows]).encode() + end


@pytest.mark.parametrize(
    ("content", "flags", "status"),
    [
        (b'node,kind,id,to\np,send,m,"q, r"\nq,recv,m,\nr,recv,m,\n', [], 0),
        (b"node,kind,id,to,seq\np,send,m,q,1.0\nq,recv,m,,1.0\n", [], 0),
        (b"node,kind,id,id,to\np,send,m,n,q\nq,recv,m,o,\n", [], 2),
        (b'{"pid":1,"kind":"send","id":7,"to":2}\n{"pid":2,"kind":"recv","id":7}\n', [], 0),
        (in_parquet(at=[{"pod": "p"}, {"pod": "q"}], kind=["send", "recv"], id=[1, 1],
                    to=[["q"], None]), ["--column", "process=at.pod"], 0),
        # Columns that mean something else than their names say.
        (SESSIONS, [], 1),
        (SESSIONS, ["--column", "run=session"], 0),
        (ODD, [], 2),
        (ODD, ["--column", "time=", "--column", "layer="], 0),
        (NUMBERS, [], 3),
        (NUMBERS, ["--column", "seq="], 1),
        (NUMBERS, ["--column", "seq=seq"], 0),
        (b"node,kind,id,to,seq\np,send,m,q,1\np,send,n,q,2\nq,recv,m,,5\nq,recv,n,,0\n", [], 3),
        # Words that nobody knows, or that are not what they seem; however many others there are.
        (lacking("q,recv,m,", "q,recv_urgent,n,"), [], 3),
        (lacking("q,recv,n,", "q,recv_urgent,m,"), [], 3),
        (lacking("q,recv,n,", "q,recv_urgent,m,"), ["--kind", "local=recv_urgent"], 1),
        (lacking("q,recv,m,", "q,Delivered,n,"), [], 3),
        (lacking("q,recv,m,", "q,Delivered,n,"), ["--kind", "deliver=recv,Delivered"], 0),
        (lacking(*(f"q,w{number},," for number in range(600)), "q,Delivered,n,"), [], 1),
        (b'{"pid":1,"kind":["send"],"id":7,"to":2}\n{"pid":2,"kind":["recv"],"id":7}\n', [], 0),
        (b'{"pid":1,"kind":true,"id":7,"to":2}\n{"pid":2,"kind":0,"id":7}\n',
         ["--kind", "send=true", "--kind", "deliver=0"], 0),
        (b'my node,kind,id,to\np,"say, it",m,q\nq,recv,m,\n',
         ["--column", "process=my node", "--kind", "send=say, it"], 0),
        # They may be sends: nobody got what was sent first.
        (lacking("p,put,l,q", "p,send,k,q", "q,recv,m,", "q,recv,n,", "q,recv,k,"), [], 3),
        (lacking("p,put,l,q", "p,send,k,q", "q,recv,m,", "q,recv,n,", "q,recv,k,"),
         ["--kind", "send=put"], 1),
        (lacking("p,put,l,q", "p,send,k,q", "q,recv,m,", "q,recv,n,", "q,recv,k,"),
         ["--kind", "local=put"], 0),
        # What was not sent after all kept nobody waiting.
        (lacking("p,send_failed,m,", "q,recv,n,"), [], 3),
        (lacking("p,send_failed,m,", "q,recv,n,"), ["--kind", "local=send_failed"], 1),
        (lacking("p,acked,m,", "q,recv,m,", "q,recv,n,"), [], 0),
        # Who joins later has missed nothing.
        (lacking("q,recv,m,", "q,recv,n,", "r,join,,", "p,send,o,", "q,recv,o,", "r,recv,o,"),
         ["--broadcast"], 3),
        (lacking("q,recv,n,", "  ", "q,recv,m,"), [], 1),
        (lacking("q,recv,n,", "q,recv,m,").replace(b",", b" , "), [], 1),
        (in_parquet(pod=[b"p", b"q"], kind=[b"send", b"recv"], id=[b"m", b"\xff"],
                    to=[[b"q"], None]),
         [], 2),
        (in_parquet(pod=[b"p", b"q"], kind=[b"send", b"recv"], id=[b"m", b"m"], to=[[b"q"], None],
                    body=[b"", b"\xff"]),
         [], 0),
        (b"at,kind,id,to\np,send,m,q\nq,recv,m,\n", [], 0),
        # What was left out may have been the delivery.
        (lacking("q,recv,m,,oops", "q,recv,n,"), ["--tolerate", "bad-rows"], 3),
        (lacking("oops", "q,recv,n,", "q,recv,m,"), ["--tolerate", "bad-rows"], 1),
        (lacking("q,recv,n,", "q,rec", end=b""), ["--tolerate", "truncated"], 1),
        (lacking("q,recv,m,", "x,send,n,q", "q,recv,n,"), ["--tolerate", "resends"], 3),
    ],
)  # fmt: skip
def test_what_is_meant(
    antecede: Antecede, tmp_path: Path, content: bytes, flags: list[str], status: int
) -> None:
    """Odd, but clear; or not clear, and refused."""
    (tmp_path / "log").write_bytes(content)
    assert antecede("audit", tmp_path / "log", *flags, "--out", tmp_path / "o").status == status


@pytest.mark.parametrize(
    ("flags", "status", "said"),
    [
        (["--delimiter", "^"], 1, "CSV with ^, 6 rows"),
        ([], 2, "which character stands between fields? The first line is 'timestamp^node^"),
        (["--delimiter", "||"], 2, r"is one character and no quote; a tab is \t"),
        (["--delimiter", '"'], 2, "is one character and no quote"),
        (["--delimiter", "^", "--column", "where=node"], 2, "no column 'where' in a trace"),
    ],
)
def test_delimiters(
    antecede: Antecede, tmp_path: Path, flags: list[str], status: int, said: str
) -> None:
    log = tmp_path / "log"
    log.write_text(as_csv(EARLY, "^"))
    told = antecede("audit", log, "--format", "csv", *flags, "--out", tmp_path / "out")
    assert (told.status, said in told.out + told.err) == (status, True)
    log.write_text(as_csv(EARLY, "\t"))
    tabs = ["--delimiter", r"\t", "--out", tmp_path / "tabs"]
    assert antecede("audit", log, *tabs).status == 1


@pytest.mark.parametrize("recorded", [True, False])
def test_what_is_torn_may_have_come_before(
    antecede: Antecede, tmp_path: Path, recorded: bool
) -> None:
    """Behind the end of a file that was rotated there may be the delivery that seems to lack."""
    rows = [{"process": "p", "kind": "send", "message": name, "destinations": ["q"], "time": 1}
            for name in "mn"]  # fmt: skip
    rows[1]["time"] = 2
    start = '{"antecede":"recording","version":1}\n' if recorded else ""
    torn, whole = tmp_path / "a", tmp_path / "b"
    torn.write_text(start + "".join(json.dumps(row) + "\n" for row in rows) + '{"proc')
    got = {"process": "q", "kind": "deliver", "message": "n", "time": 3}
    whole.write_text(start + json.dumps(got) + "\n")
    flags = [] if recorded else ["--tolerate", "truncated"]
    told = antecede("audit", torn, whole, *flags, "--out", tmp_path / "out")
    assert (told.status, "count as not addressed there (1)" in told.out) == (3, True)
    whole.write_text(whole.read_text() + json.dumps({**got, "message": "m", "time": 4}) + "\n")
    told = antecede("audit", torn, whole, *flags, "--out", tmp_path / "out", "--force")
    assert (told.status, "q delivered n" in told.out) == (1, True)


def test_flags_that_nobody_would_heed(antecede: Antecede, tmp_path: Path) -> None:
    log, out = tmp_path / "log", tmp_path / "out"
    log.write_text(as_csv(EARLY))
    told = antecede("audit", log, "--crash", "x", "--out", out)
    assert (told.status, "--crash: that is for logs with vector clocks" in told.err) == (2, True)
    antecede("audit", log, "--out", out)
    for flags in (["--broadcast"], ["--kind", "send=SENT"]):
        told = antecede("audit", out / "trace.parquet", *flags, "--out", tmp_path / "second")
        assert (told.status, " for " in told.err) == (2, True)


def test_formats_are_not_mixed(antecede: Antecede, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(as_csv(EARLY))
    (tmp_path / "b").write_text(as_json_lines(EARLY))
    told = antecede("audit", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "out")
    assert (told.status, "audit them apart" in told.err) == (2, True)


RUNS = "run,process,kind,message,to\n"


def test_what_was_audited_before_is_replaced(antecede: Antecede, tmp_path: Path) -> None:
    """Runs of another log are not judged again, and what cannot be written leaves all as it was."""
    log, out = tmp_path / "log.csv", tmp_path / "out"
    kept = "{0},p,send,m,q\n{0},q,deliver,m,\n"
    broken = "{0},p,send,m,q\n{0},p,send,n,q\n{0},q,deliver,n,\n"
    told = []
    for rows in (kept.format("a") + broken.format("b"),
                 kept.format("a") + kept.format("c"),
                 kept.format("a") + broken.format("x" * 300),
                 kept.format("a")):  # fmt: skip
        log.write_text(RUNS + rows)
        told.append(antecede("audit", log, "--out", out, "--force"))
        inside = sorted(str(one.relative_to(out)) for one in out.rglob("*.parquet"))
        assert inside == (["trace/a.parquet", f"trace/{'b' if len(told) == 1 else 'c'}.parquet"]
                          if len(told) < 4 else ["trace.parquet"])  # fmt: skip
    assert [one.status for one in told] == [1, 0, 2, 0]
    assert "2 runs, 2 messages" in told[1].out
    assert "--column run=FIELD names another" in told[2].err
    (out / "trace").mkdir()
    (out / "trace" / "mine.txt").touch()
    assert antecede("audit", log, "--out", out, "--force").status == 2
    assert (out / "trace" / "mine.txt").exists()


def test_follow(tmp_path: Path) -> None:
    """The verdict changes while the log grows."""
    log = tmp_path / "log.csv"
    log.write_text(as_csv(EARLY[:2]))
    command = ["audit", str(log), "--out", str(tmp_path / "out"), "--follow", "--for", "600"]
    with subprocess.Popen(
        [sys.executable, "-m", "antecede", *command], stdout=subprocess.PIPE, text=True
    ) as audit:
        assert audit.stdout is not None
        for line in audit.stdout:
            if line.startswith("the trace is"):
                break
        with log.open("a") as file:
            file.write("".join(";".join(row) + "\n" for row in EARLY[2:]) + "2024-05")
        told = audit.stdout.readline() + audit.stdout.readline()
        audit.terminate()
    assert "2 messages, 3 deliveries: broken, 1 early" in told
    assert "shipping delivered paid-1" in told


def test_follow_a_pipe(tmp_path: Path) -> None:
    """Reports while it comes, and the verdict on all of it when it ends."""
    command = ["audit", "-", "--out", str(tmp_path / "out"), "--follow"]
    with subprocess.Popen(
        [sys.executable, "-m", "antecede", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as audit:
        assert audit.stdin is not None
        assert audit.stdout is not None
        audit.stdin.write(as_csv(EARLY[:2]))
        audit.stdin.flush()
        first = audit.stdout.readline()
        audit.stdin.write("".join(";".join(row) + "\n" for row in EARLY[2:]))
        audit.stdin.close()
        told = audit.stdout.read()
    assert "1 message, 1 delivery: cannot tell" in first.replace("messages", "message").replace(
        "deliveries", "delivery"
    )
    assert WITNESS in told
    assert audit.returncode == 1


@pytest.mark.parametrize(("first", "status"), [(EARLY, 1), (EARLY[:2], 3)])
def test_follow_a_log_that_shrinks(
    antecede: Antecede,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: Sequence[tuple[str, ...]],
    status: int,
) -> None:
    """What was found stays found, and what was lost is a doubt, though the log grows again."""
    log = tmp_path / "log.csv"
    log.write_text(as_csv(first))
    contents = iter([EARLY[2:4], [*EARLY[2:4], *EARLY[4:5] * 9]])

    def rewrite(_: float) -> None:
        if (rows := next(contents, None)) is None:
            raise KeyboardInterrupt
        log.write_text(as_csv(rows))

    clock = SimpleNamespace(sleep=rewrite, monotonic=time.monotonic)
    monkeypatch.setattr(_audit, "time", clock)  # other threads sleep, too
    told = antecede("audit", log, "--out", tmp_path / "out", "--follow")
    assert (told.status, "lost what it had said before" in told.err) == (status, True)
    assert antecede("verify", tmp_path / "out" / "trace.parquet").status == 3


@pytest.mark.parametrize(("first", "status"), [(EARLY, 1), (EARLY[:2], 3)])
def test_a_log_that_shrinks_beside_a_pipe(
    antecede: Antecede,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: Sequence[tuple[str, ...]],
    status: int,
) -> None:
    """The verdict at the end of the pipe knows of it; also if the log vanishes for a while."""
    log = tmp_path / "log.csv"
    log.write_text(as_csv(first))
    kept = [("2024-05-01T12:00:00Z", "a", "SENT", "x", "b"),
            ("2024-05-01T12:00:01Z", "b", "RECV", "x", "")]  # fmt: skip
    piped = as_csv(kept).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
    steps: Iterator[Callable[[], object]] = iter(
        [lambda: None, log.unlink, lambda: log.write_text(as_csv(EARLY[1:2]))]
    )

    class Ended(Event):
        def wait(self, timeout: float | None = None) -> bool:
            while not self.is_set():  # until all of the pipe is copied
                time.sleep(0.01)
            if (step := next(steps, None)) is not None:
                step()
            return step is None

    monkeypatch.setattr(_audit, "Event", Ended)
    flags = ["--follow", "--tolerate", "unknown-sends", "--out", tmp_path / "out"]
    told = antecede("audit", "-", log, *flags)
    assert (told.status, "lost what it had said before" in told.out) == (status, True)
    assert ("BROKEN in what a log has lost" in told.err) == (status == 1)
    assert "there is no such file or folder" in told.err


def test_follow_misses_nothing_that_comes_while_it_reads(
    antecede: Antecede, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that has grown since it was read, and never again, is judged once more."""
    log = tmp_path / "log.csv"
    log.write_text(as_csv(EARLY[:2]))
    tell_briefly = _audit._tell_briefly

    def judge_while_it_grows(*given: Any) -> Any:
        found = audit_logs(*given)
        log.write_text(as_csv(EARLY))
        return found

    def tell_and_end(verdict: Any) -> None:
        tell_briefly(verdict)
        raise KeyboardInterrupt

    monkeypatch.setattr(_audit, "audit_logs", judge_while_it_grows)
    monkeypatch.setattr(_audit, "_tell_briefly", tell_and_end)
    told = antecede("audit", log, "--out", tmp_path / "out", "--follow", "--for", "60")
    assert (told.status, "2 messages, 3 deliveries: broken, 1 early" in told.out) == (1, True)
