"""Real logs are dirty: what is tolerated is counted, and the verdict says what it means."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from antecede.errors import BadFile, Misuse
from antecede.imports import Imported, import_csv, import_json_lines, import_shiviz, write_imported
from antecede.imports.problems import TOLERABLE, parse_tolerance
from antecede.imports.times import parse_time
from antecede.trace import read_trace
from antecede.verify import Answer, explain, verify_trace

HEADER = "process,kind,message,destinations,time,text"


def log(tmp_path: Path, *rows: str, end: str = "\n") -> Path:
    file = tmp_path / "log.csv"
    file.write_text("\n".join([HEADER, *rows]) + end)
    return file


GOOD = ("p,send,m1,q,1,", "q,deliver,m1,,2,")
DIRTY = {
    "duplicates": (*GOOD, "q,deliver,m1,,3,"),
    "resends": (*GOOD, "p,send,m1,q,3,"),
    "unknown-sends": (*GOOD, "q,deliver,m0,,3,"),
    "no-addresses": (*GOOD, "p,send,m2,,3,"),
    "unaddressed": (*GOOD, "r,deliver,m1,,3,"),
    "bad-rows": (*GOOD, "q,deliver,m1,,noon,"),
}


@pytest.mark.parametrize("kind", DIRTY)
def test_what_may_be_tolerated(tmp_path: Path, kind: str) -> None:
    """Without the flag an error that names it, with it a verdict that may leave a doubt."""
    file = log(tmp_path, *DIRTY[kind])
    with pytest.raises(BadFile, match=f"line 4: .*--tolerate {kind} ") as caught:
        import_csv(file)
    assert len(caught.value.mistakes) == 1
    imported = import_csv(file, tolerate=[kind])
    assert [(one.what, one.count, one.first) for one in imported.assumed] == [(kind, 1, "line 4")]
    write_imported(imported, tmp_path / "t.parquet")
    verdict = verify_trace(tmp_path / "t.parquet")
    expected = Answer.CANNOT_TELL if TOLERABLE[kind].doubt else Answer.KEPT
    assert (verdict.answer, verdict.deliveries) == (expected, 2 if kind == "unaddressed" else 1)


@pytest.mark.parametrize("end", ["q,del", '{"process": "q", "ki'])
def test_a_file_that_ends_in_mid_line(tmp_path: Path, end: str) -> None:
    if end.startswith("{"):
        file, reader = tmp_path / "log.jsonl", import_json_lines
        file.write_text('{"process": "p", "kind": "join"}\n' + end)
    else:
        file, reader = log(tmp_path, *GOOD, end, end=""), import_csv
    with pytest.raises(BadFile, match="--tolerate truncated leaves it out"):
        reader(file)
    assert [one.what for one in reader(file, tolerate=["truncated"]).assumed] == ["truncated"]


@pytest.mark.parametrize(
    ("end", "kind", "told"),
    [
        ('b {"a":1, "b', "truncated", "is not closed"),
        ('a {"a":2\ngot 2\n', "bad-rows", "is not closed"),
        ('b {"a":1, "b":1}', "truncated", "has no event"),
        ('b {"a":1, "b":1}\n', "truncated", "has no event"),
        ('b {"a":1, "b":1}\na {"a":2}\ngot\n', "bad-rows", "has no event"),
    ],
)
def test_half_an_event_does_not_vanish(tmp_path: Path, end: str, kind: str, told: str) -> None:
    """A clock that is torn, or without its text, is told, and what is left is no ground."""
    file = tmp_path / "log.log"
    file.write_text('a {"a":1}\nput 1\nreply {"code": 200,\n' + end)
    for send, deliver in ((None, None), ("put (?P<message>.)", "got(?P<message>.)")):
        with pytest.raises(BadFile, match=f"{told}; --tolerate {kind} leaves"):
            import_shiviz(file, send=send, deliver=deliver)
        found = import_shiviz(file, send=send, deliver=deliver, tolerate=[kind]).assumed
        assert [one.count for one in found if one.what == kind] == [1]


NUMBERED = "process,kind,message,destinations,seq,time"
UNORDERED = {
    "a process has events with the same seq": (
        ("p,send,m1,q,1", "p,send,m2,q,1", "q,deliver,m1,,1", "q,deliver,m2,,2"),
        ("p,send,m1,q,1", "p,send,m2,q,2", "q,deliver,m1,,1", "q,deliver,m2,,1"),
        ("p,send,m1,q,2", "p,local,,,1", "p,send,m2,q,2", "q,deliver,m1,,1", "q,deliver,m2,,2"),
    ),
    "some events have no seq": (
        ("p,send,m2,q,2", "p,send,m1,q,1", "q,deliver,m2,,1", "q,deliver,m1,,"),
        ("p,send,m2,q,2", "p,local,,,", "p,send,m1,q,1", "q,deliver,m2,,1", "q,deliver,m1,,2"),
    ),
    "times of a process run backwards": (
        ("p,send,m1,q,,1", "p,send,m2,q,,2", "q,deliver,m1,,,4", "q,deliver,m2,,,3"),
        ("p,send,m1,q,,5", "q,deliver,m1,,,4", "p,send,m2,q,,2", "q,deliver,m2,,,6"),
    ),
    "the few times of a file fall": (
        ("q,deliver,m2,,,4", "q,deliver,m1,,,3", "p,send,m2,q,,2", "p,send,m1,q,,1"),
    ),
    "the times of a file fall": (
        ("q,deliver,m1,,,4", "q,deliver,m2,,,4", "p,send,m1,q,,1", "p,send,m2,q,,1"),
        ("q,deliver,m3,,,5", "q,deliver,m1,,,4", "q,deliver,m2,,,4", "p,send,m3,q,,3",
         "p,send,m2,q,,2", "p,send,m1,q,,1"),
    ),
    "": (
        ("p,send,m1,q,1,2", "p,send,m2,q,2,1", "q,deliver,m1,,1,4", "q,deliver,m2,,2,3"),
        ("q,deliver,m2,,,4", "q,deliver,m1,,,3", "p,send,m2,q,,2", "p,send,m1,q,,1",
         "p,local,,,,0"),
        ("p,send,m2,q,2", "q,deliver,m2,,2", "q,deliver,m1,,1", "p,send,m1,q,1"),
        ("p,send,m1,q,1", "q,deliver,m1,,1", "q,local,,,1"),
        ("p,send,m1,q,1", "q,deliver,m1,,", "p,send,m2,q,2", "q,deliver,m2,,4"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("told", "rows"), [(told, rows) for told, all_ in UNORDERED.items() for rows in all_]
)
def test_what_has_no_order_is_not_kept(tmp_path: Path, told: str, rows: Sequence[str]) -> None:
    """Rows of a process that neither `seq` nor the file orders might be the other way round."""
    file = tmp_path / "log.csv"
    rows = [row if row.count(",") == 5 else f"{row}," for row in rows]
    file.write_text("\n".join([NUMBERED, *rows]) + "\n")
    write_imported(import_csv(file), tmp_path / "t.parquet")
    verdict = verify_trace(tmp_path / "t.parquet")
    assert verdict.answer is (Answer.CANNOT_TELL if told else Answer.KEPT)
    assert [one.happened.partition(told)[1] for one in verdict.doubts] == ([told] if told else [])


def test_clocks_that_disagree(tmp_path: Path) -> None:
    file = tmp_path / "log.log"
    file.write_text('a {"a":1}\nx\na {"a":3}\ny\nb {"b":1, "a":2}\nz\nb {"b":2, "a":3}\nw\n')
    with pytest.raises(BadFile) as caught:
        import_shiviz(file)
    assert [line.partition(";")[0] for line in caught.value.mistakes] == [
        "line 3: the own entry of 'a' is 3, expected 2",
        "line 5: the log has no event 2 of 'a'",
    ]
    imported = import_shiviz(file, tolerate=["clocks"])
    assert [(one.what, one.count) for one in imported.assumed] == [("clocks", 0), ("clocks", 2)]
    assert len(imported.runs()[0].events) == 2


def test_an_unclosed_quote_swallows_no_rows(tmp_path: Path) -> None:
    never_closed = ("p,send,m1,q,1,", 'q,"deliver,m1,,2,')
    closed_later = ('p,send,"m1,q,1,', 'q,deliver",m1,,2,,')
    for rows in (never_closed, closed_later):
        with pytest.raises(BadFile, match="quote"):
            import_csv(log(tmp_path, *rows))


def test_a_missing_column_is_one_error(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("host,kind\n" + "p,join\n" * 1000)
    with pytest.raises(BadFile) as caught:
        import_csv(file)
    assert caught.value.mistakes == [
        "there is no column 'process' among host, kind; --column process=FIELD names another"
    ]


def test_long_fields_and_packed_files(tmp_path: Path) -> None:
    """A field of a megabyte is a field."""
    file = log(tmp_path, GOOD[0] + "x" * 1_000_000, GOOD[1])
    (table,) = import_csv(file).tables
    assert len(table["text"][0].as_py()) == 1_000_000
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert import_csv(packed).tables[0].num_rows == 2
    with pa.CompressedOutputStream(str(packed), "zstd") as out:
        out.write(file.read_bytes())
    assert import_csv(packed).tables[0].num_rows == 2


def test_the_newest_line_may_be_first(tmp_path: Path) -> None:
    """As log viewers export it: read as it stands, q would not know m1 when it sends m2."""
    rows = ("p,send,m1,q r,1,", "q,deliver,m1,,2,", "q,send,m2,r,3,", "r,deliver,m2,,4,",
            "r,deliver,m1,,5,", "p,local,,,6,")  # fmt: skip
    for some in (rows, rows[::-1]):
        imported = import_csv(log(tmp_path, *some))
        write_imported(imported, tmp_path / "t.parquet", force=True)
        verdict = verify_trace(tmp_path / "t.parquet")
        assert verdict.answer is Answer.BROKEN
        assert [one.what for one in imported.assumed] == ["newest-first"] * (some != rows)


def test_names_words_and_times_survive(tmp_path: Path) -> None:
    rows = (
        "p,local,,,,warming up",
        "p,send,order 7,q,2024-05-01T12:00:00Z,buy",
        "p,send,order 8,q,2024-05-01T14:00:01.5+02:00,buy more",
        "q,deliver,order 8,,2024-05-01T12:00:02,got it",
        "q,local,,,,idle",
        "r,local,,,,alone",
    )
    imported = import_csv(log(tmp_path, *rows))
    trace = tmp_path / "t.parquet"
    write_imported(imported, trace)
    verdict = verify_trace(trace)
    assert verdict.witnesses[0].sentence() == (
        "q delivered order 8 at 2024-05-01 12:00:02Z (line 5) without order 7, "
        "which order 8 directly depends on"
    )
    assert [one.what for one in verdict.assumed] == ["zone"]
    told = explain(trace, "q", "order 8")
    assert (told.message, told.answer) == ("p:2", Answer.BROKEN)
    assert told.sentences()[0] == (
        "Nobody noted when q received order 8; it delivered it at 2024-05-01 12:00:02Z."
    )
    assert sorted(local_texts(imported)) == ["alone", "idle", "warming up"]
    assert sorted(read_trace(trace).runs[0].processes) == ["p", "q", "r"]


def local_texts(imported: Imported) -> list[str]:
    return [
        local["text"]
        for table in imported.tables
        for name in ("before", "after")
        for row in table[name].to_pylist()
        for local in row or ()
    ]


def test_every_event_of_a_shiviz_log_stays(tmp_path: Path) -> None:
    """The text before the clock, as some write it; most events concern nobody else."""
    lines = [f'step {n}\nmain {{"main":{n}}}  ' for n in range(1, 41)]
    lines.append('hello\nworker {"worker":1, "main":7, "idle":0}  ')
    lines.append('bye\nworker {"worker":2, "main":7}')
    file = tmp_path / "log.log"
    file.write_text("\n".join(lines) + "\n")
    imported = import_shiviz(file)
    (table,) = imported.tables
    assert (table.num_rows, len(local_texts(imported))) == (2, 40)
    assert table["text"].to_pylist() == ["step 7", "hello"]
    assert table["message"].to_pylist() == ["main event 7"] * 2


def test_which_problems_there_are() -> None:
    assert parse_tolerance(["duplicates, resends", "clocks"]) == {"duplicates", "resends", "clocks"}
    assert parse_tolerance(["all"]) == set(TOLERABLE)
    with pytest.raises(Misuse, match="--tolerate dirt: there is no such kind; there are duplic"):
        parse_tolerance(["dirt"])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (12.5, 12.5),
        ("12.5", 12.5),
        *[(1_714_564_800 * unit, 1_714_564_800.0) for unit in (1, 10**3, 10**6, 10**9)],
        ("1714564800123", 1_714_564_800.123),
        ("2024-05-01T12:00:00Z", 1_714_564_800.0),
        ("2024-05-01 14:00:00,250+02:00", 1_714_564_800.25),
        ("2024-05-01T12:00:00.123456789Z", 1_714_564_800.123456),
        ("2024-05-01", 1_714_521_600.0),
    ],
)
def test_times(text: object, seconds: float) -> None:
    assert parse_time(text).seconds == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize("text", ["noon", "nan", True, None, [], "1e999", "2024-13-01"])
def test_what_is_no_time(text: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        parse_time(text)
