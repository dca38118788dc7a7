"""CSV and JSON lines, with columns and words of their own."""

import json
from pathlib import Path

import pytest

from antecede.errors import BadFile, Misuse
from antecede.imports import import_csv, import_json_lines, write_imported
from antecede.imports.tabular import NO_DESTINATIONS
from antecede.trace import read_metadata
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
    assert imported.warnings == ()
    verdict = verify_trace(tmp_path / "t.parquet")
    assert (verdict.violations, verdict.undelivered) == (1, 1)
    assert verdict.witnesses[0].sentence() == (
        "q delivered p:2 at 3 s without p:1, which p:2 directly depends on"
    )


def test_without_destinations(tmp_path: Path) -> None:
    """r's copy of m1 cannot be missed any more, and the import says so."""
    columns = {name: field for name, field in COLUMNS.items() if name != "destinations"}
    imported = import_csv(written(tmp_path, *EARLY), columns, KINDS)
    write_imported(imported, tmp_path / "t.parquet")
    assert imported.warnings == (NO_DESTINATIONS,)
    assert read_metadata(tmp_path / "t.parquet")["warnings"] == NO_DESTINATIONS
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
    lines = [
        "process,kind,message,time,seq",
        ",send,m,,",
        "p,explode,m,,",
        "p,send,m,noon,",
        "p,deliver,,,",
    ]
    with pytest.raises(BadFile) as caught:
        import_csv(written(tmp_path, *lines))
    assert caught.value.mistakes == [
        "line 2: field 'process' is missing; --column process=... names another",
        (
            "line 3: field 'kind' is 'explode', none of send, receive, deliver, crash, join, "
            "leave, view; --kind send=explode maps it"
        ),
        "line 4: field 'time' is no number: 'noon'",
        "line 5: field 'message' is missing; --column message=... names another",
    ]


@pytest.mark.parametrize(
    ("lines", "mistake"),
    [
        (["p,send,m,q", "p,send,m,q"], "line 3: message 'm' is sent again"),
        (["p,send,m,q", "q,deliver,n,"], "line 3: nobody sends the message 'n'"),
        (
            ["p,send,m,q", "r,deliver,m,"],
            "line 3: deliver of p:1, which is not addressed to it",
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
    row = {"process": "p", "kind": "send", "message": "m", "destinations": 3}
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
        ('{"layer": 5}', "unknown layer '5'"),
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
