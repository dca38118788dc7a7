"""CSV and JSON lines, with columns and words of their own."""

import json
from pathlib import Path

import pytest

from antecede.errors import BadFile, Misuse
from antecede.imports import import_csv, import_json_lines, write_imported
from antecede.imports.imported import NO_ADDRESSES
from antecede.trace import read_assumed
from antecede.verify import verify_trace
from tests.trace.builders import shown


def written(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "log.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


EARLY = [
    "host,what,id,to,when",
    "p,SND,m1,q r,1.5",
    "p,SND,m2,q,2",
    "q,RCV,m2,,3",
    "q,RCV,m1,,4",
]
COLUMNS = {"process": "host", "kind": "what", "message": "id", "destinations": "to", "time": "when"}
KINDS = {"send": "SND", "deliver": "RCV"}


def test_csv(tmp_path: Path) -> None:
    imported = import_csv(written(tmp_path, *EARLY), COLUMNS, KINDS)
    (run,) = write_imported(imported, tmp_path / "t.parquet")
    assert (run.name, run.events.time.tolist()) == ("log", [1.5, 2.0, 3.0, 4.0])
    assert imported.assumed[0].sentence() == (
        "processes are addressed, but the log has no event of theirs: r (1): "
        "what they delivered is not known"
    )
    verdict = verify_trace(tmp_path / "t.parquet")
    assert (verdict.violations, verdict.undelivered) == (1, 1)
    (witness,) = verdict.witnesses
    assert (witness.second, witness.path) == ("p:2", ("p:1", "p:2"))
    assert witness.sentence() == (
        "q delivered m2 at 3 s (line 4) without m1, which m2 directly depends on"
    )


def test_without_destinations(tmp_path: Path) -> None:
    """r's copy of m1 cannot be missed any more, and the import says so."""
    columns = {name: field for name, field in COLUMNS.items() if name != "destinations"}
    imported = import_csv(written(tmp_path, *EARLY), columns, KINDS)
    write_imported(imported, tmp_path / "t.parquet")
    assert imported.assumed == (NO_ADDRESSES,)
    assert read_assumed(tmp_path) == (NO_ADDRESSES,)
    assert verify_trace(tmp_path / "t.parquet").undelivered == 0


def test_json_lines(tmp_path: Path) -> None:
    rows = [
        {"process": "q", "kind": "deliver", "sender": "p", "number": 1, "seq": 1},
        {"process": "q", "kind": "join", "seq": 0},
        {"process": "p", "kind": "send", "sender": "p", "number": 1, "seq": 0, "destinations": "q"},
    ]
    rows[2]["destinations"] = ["q"]
    (run,) = import_json_lines(written(tmp_path, *map(json.dumps, rows), "")).runs()
    assert shown(run) == ["p send p:1", "q join", "q deliver p:1"]


def test_names_in_other_scripts_and_with_spaces(tmp_path: Path) -> None:
    lines = [
        "process,kind,message,destinations",
        "Zoë Å,send,один,東京;مكتب 2",
        "東京,deliver,один,",
        "مكتب 2,deliver,один,",
    ]
    imported = import_csv(written(tmp_path, *lines), separator=";")
    (run,) = write_imported(imported, tmp_path / "t.parquet")
    assert run.processes == ["Zoë Å", "東京", "مكتب 2"]
    assert verify_trace(tmp_path / "t.parquet").deliveries == 2


def test_several_runs(tmp_path: Path) -> None:
    lines = ["run,process,kind,message,destinations", "a,p,send,m,q", "b,p,send,m,q"]
    write_imported(import_csv(written(tmp_path, *lines)), tmp_path / "out")
    assert verify_trace(tmp_path / "out").runs == 2
    (tmp_path / "file").touch()
    with pytest.raises(Misuse, match="is a file; 2 runs need a folder"):
        write_imported(import_csv(written(tmp_path, *lines)), tmp_path / "file")


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    """One line a kind, with a count and the first place; the advice works when it is followed."""
    lines = [
        "process,kind,message,time,seq",
        ",send,m,,",
        "p,boom,m,,",
        "p,boom,m,,",
        "p,bang,m,,",
        "p,send,m,noon,",
        "p,deliver,,,",
        "p,deliver,,,,",
    ]
    file = written(tmp_path, *lines)
    with pytest.raises(BadFile) as caught:
        import_csv(file)
    leave = "--tolerate bad-rows leaves them out"
    assert caught.value.mistakes == [
        f"line 2: field 'process' is missing; --column process=FIELD names another; {leave}",
        (
            "line 3: field 'kind' is 'boom', none of send, receive, deliver, crash, join, leave, "
            "view, local, and 2 more like it; the words are 'boom' (2), 'bang' (1): say which "
            "deliver and which send, --kind deliver=boom; --kind local=* keeps all others as "
            f"local events; {leave}"
        ),
        f"line 6: field 'time' is no time: 'noon'; --column time= goes on without times; {leave}",
        f"line 7: field 'message' is missing; --column message=FIELD names another; {leave}",
        f"line 8: there are 6 fields, but 5 in the header; {leave}",
    ]
    with pytest.raises(BadFile) as fewer:
        import_csv(file, kinds={"local": "*"})
    assert len(fewer.value.mistakes) == 4
    left = import_csv(file, kinds={"local": "*"}, tolerate=["bad-rows"])
    assert [(one.what, one.count) for one in left.assumed] == [("bad-rows", 4)]


@pytest.mark.parametrize(
    ("lines", "mistake"),
    [
        (["p,send,m,q", "p,send,m,q"], "line 3: message 'm' is sent again"),
        (["p,send,m,q", "q,deliver,n,"], "line 3: nobody sends the message 'n'"),
        (
            ["p,send,m,q", "r,deliver,m,"],
            "line 3: 'r' delivers 'm', which is not addressed to it",
        ),
        (["q,deliver,m,", "q,send,m,q"], "line 2: q has the deliver of q:1"),
    ],
)
def test_what_cannot_have_happened(tmp_path: Path, lines: list[str], mistake: str) -> None:
    with pytest.raises(BadFile, match=mistake):
        import_csv(written(tmp_path, "process,kind,message,destinations", *lines)).runs()


def test_files_that_are_something_else(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="line 2: this is no JSON"):
        import_json_lines(written(tmp_path, '{"process": "p", "kind": "join"}', "{"))
    with pytest.raises(BadFile, match="line 1: this is no JSON object"):
        import_json_lines(written(tmp_path, "3"))
    row = {"process": "p", "kind": "send", "message": "m", "destinations": True}
    with pytest.raises(BadFile, match="field 'destinations' is no list of names"):
        import_json_lines(written(tmp_path, json.dumps(row)))
    with pytest.raises(BadFile, match="cannot be read"):
        import_csv(tmp_path / "absent.csv")
    with pytest.raises(BadFile, match="there is no event in it"):
        write_imported(import_csv(written(tmp_path, "process,kind")), tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("row", "mistake"),
    [
        ('{"number": Infinity}', "field 'number' is no number: inf"),
        ('{"number": 1.5}', "field 'number' is no number: 1.5"),
        ('{"number": 99999999999999999999}', "field 'number' is no number: 99999999999999999999"),
        (r'{"process": "\ud800"}', "has a character that is none"),
        ('{"layer": 5}', "field 'layer' is '5', none of app, hop"),
    ],
)
def test_values_that_fit_nowhere(tmp_path: Path, row: str, mistake: str) -> None:
    usual = {"process": "p", "kind": "send", "sender": "p", "number": 1, "destinations": "q"}
    with pytest.raises(BadFile, match=mistake):
        import_json_lines(written(tmp_path, json.dumps(usual | json.loads(row)))).runs()


def test_runs_that_are_numbers(tmp_path: Path) -> None:
    rows = [{"run": run, "process": "p", "kind": "join"} for run in (0, 1)]
    runs = import_json_lines(written(tmp_path, *map(json.dumps, rows))).runs()
    assert [run.name for run in runs] == ["0", "1"]


def test_a_byte_order_mark(tmp_path: Path) -> None:
    """Spreadsheets write one."""
    (run,) = import_csv(written(tmp_path, "\ufeffprocess,kind", "p,join")).runs()
    assert run.processes == ["p"]


def test_misuse(tmp_path: Path) -> None:
    file = written(tmp_path, "process,kind")
    with pytest.raises(Misuse, match="no column 'host' in a trace; there are run, process"):
        import_csv(file, {"host": "process"})
    with pytest.raises(Misuse, match="no kind 'SND' in a trace; there are send"):
        import_csv(file, kinds={"SND": "send"})
    with pytest.raises(Misuse, match="separator"):
        import_csv(file, separator="")


def test_several_runs_and_layers(tmp_path: Path) -> None:
    """A run whose name begins with an underscore is judged, too; of one of which nothing is left,
    what was left out is seen; what was assumed of the log counts once; a message of the hops lends
    nobody its name."""
    log = written(
        tmp_path,
        "run,layer,process,kind,message,destinations",
        "a,,p,send,m1,q",
        "a,app,p,send,m2,q",
        "a,hop,p,send,h1,q",
        "a,,q,deliver,m2,",
        "a,,q,deliver,m1,",
        "a,,q,deliver,m1,",
        "_b,,p,send,m1,q",
        "_b,,p,send,m2,q",
        "_b,,q,deliver,m2,",
        "lost,,q,deliver,m0,",
    )
    imported = import_csv(log, tolerate=["duplicates", "unknown-sends"])
    assert len(write_imported(imported, tmp_path / "t")) == len(imported.tables) == 3
    verdict = verify_trace(tmp_path / "t")
    assert [(one.run, one.names) for one in verdict.witnesses] == [
        ("_b", ("m1", "m2")),
        ("a", ("m1", "m2")),
    ]
    assert {one.what: one.count for one in verdict.assumed} == {"duplicates": 1, "unknown-sends": 1}


@pytest.mark.parametrize("text", ["2024-05-01T12:00:00:00", "2024-05-01T12:00:00.5e9Z", "2024-5-1"])
def test_what_only_looks_like_a_time(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadFile, match="is no time"):
        import_csv(written(tmp_path, "process,kind,time", f"p,join,{text}"))
