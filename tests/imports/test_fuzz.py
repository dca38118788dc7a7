"""Broken logs of every kind: one clear error or a verdict, never a traceback, and nothing vanishes.

Real logs and small ones are mutated: cut, doubled, with strange bytes in them. More examples:
`HYPOTHESIS_EXAMPLES=5000 pytest tests/imports/test_fuzz.py`.
"""

import io
import json
import os
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.errors import BadFile, BadInput, Misuse
from antecede.imports import Imported, import_csv, import_graph, write_imported
from antecede.imports.detect import Format
from antecede.imports.logs import Wishes, import_logs
from antecede.imports.problems import TOLERABLE
from antecede.imports.reading import LONGEST
from antecede.verify import Answer, Verdict, verify_trace
from tests.cli.test_audit_logs import EARLY, FIELDS, as_csv, as_json_lines
from tests.imports import test_otlp

EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "60"))
REAL = Path(__file__).parent.parent / "data" / "shiviz" / "reliable-broadcast.log"
SPANS = "".join(json.dumps(one) + "\n" for one in test_otlp.EARLY)
RECORDED = '{"antecede":"recording","version":1}\n' + "".join(
    json.dumps(row) + "\n"
    for row in (
        {"process": "p", "kind": "send", "message": "m", "destinations": ["q"], "time": 1.5},
        {"process": "q", "kind": "deliver", "message": "m", "time": 2.5},
    )
)


def _as_parquet(rows: Sequence[tuple[str, ...]]) -> bytes:
    sink = io.BytesIO()
    columns = {name: [row[at] for row in rows] for at, name in enumerate(FIELDS)}
    pq.write_table(pa.table(columns), sink, row_group_size=2)
    return sink.getvalue()


GRAPH = "event,process,seq,parents\n0,a,1,\n1,b,1,0\n2,a,2,0 1\n"
LOGS: dict[str, bytes] = {
    "csv": as_csv(EARLY).encode(),
    "jsonl": as_json_lines(EARLY).encode(),
    "clocks": b"".join(REAL.read_bytes().splitlines(keepends=True)[:60]),
    "spans": SPANS.encode(),
    "recording": RECORDED.encode(),
    "parquet": _as_parquet(EARLY),
}
STRANGE = [b"\x00", b"\xff", b"\xef\xbb\xbf", b'"', b"\n", b"\r", b"{", b"}", b"[", b",", b";",
           b"-1", b"1e999", b"99999999999999999999", "\u202e東".encode(), b"null", b"\xed\xa0\x80",
           b"\\ud800", b"NaN", b"'", b"\x1f\x8b", b"PAR1", b""]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    """A log with a few wounds; most of those of a Parquet file hit its footer."""
    name = draw(st.sampled_from(sorted(LOGS)))
    content = LOGS[name]
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, len(content)))
        stop = draw(st.integers(first, min(len(content), first + 40)))
        match draw(st.sampled_from(["put", "replace", "cut", "double", "truncate"])):
            case "put":
                content = content[:first] + draw(st.sampled_from(STRANGE)) + content[first:]
            case "replace":
                content = content[:first] + draw(st.sampled_from(STRANGE)) + content[stop:]
            case "cut":
                content = content[:first] + content[stop:]
            case "double":
                content = content[:stop] + content[first:]
            case _:
                content = content[:first]
    return name, content


def judged(content: bytes, wishes: Wishes, *more: bytes) -> tuple[Imported, Verdict] | None:
    """What comes of a log, or of several; nothing if it is refused in words."""
    with TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        logs = [Path(folder) / f"log{number}" for number in range(1 + len(more))]
        for log, text in zip(logs, (content, *more), strict=True):
            log.write_bytes(text)
        try:
            imported = import_logs(logs, wishes).imported
            write_imported(imported, trace)
        except (BadInput, Misuse):
            return None
        return imported, verify_trace(trace)


@pytest.mark.parametrize("name", LOGS)
def test_the_logs_are_logs(name: str) -> None:
    """What is refused before it is mutated would prove nothing."""
    found = judged(LOGS[name], Wishes(tolerate=frozenset({"clocks"})))
    assert found is not None
    assert found[1].deliveries > 0


@settings(max_examples=EXAMPLES, deadline=None)
@given(mutated(), st.booleans(), st.booleans())
def test_a_verdict_or_an_error(log: tuple[str, bytes], tolerant: bool, broadcast: bool) -> None:
    tolerate = frozenset(TOLERABLE) if tolerant else frozenset[str]()
    found = judged(log[1], Wishes(broadcast=broadcast, tolerate=tolerate))
    if found is not None:
        imported, verdict = found
        assert verdict.assumed == tuple(imported.assumed)
        if verdict.answer is Answer.KEPT:
            assert verdict.deliveries > 0


@settings(max_examples=EXAMPLES, deadline=None)
@given(mutated(), mutated(), st.booleans())
def test_two_logs_of_one_system(
    first: tuple[str, bytes], second: tuple[str, bytes], tolerant: bool
) -> None:
    """One whole and one wounded, of one format; or of two, which is refused."""
    tolerate = frozenset(TOLERABLE) if tolerant else frozenset[str]()
    for other in (LOGS[first[0]], second[1]):
        found = judged(first[1], Wishes(tolerate=tolerate), other)
        if found is not None:
            imported, verdict = found
            assert verdict.assumed == tuple(imported.assumed)
            assert verdict.answer is not Answer.KEPT or verdict.deliveries > 0


LEFT_OUT = {"duplicates", "resends", "unknown-sends"}


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.sampled_from([*range(6), "torn", "", "{}", "3"]), min_size=1, max_size=12))
def test_nothing_vanishes(chosen: list[int | str]) -> None:
    """Every line is a row, a local event, or counted among what could not be read; what was left
    out is a local event that says so."""
    lines = as_json_lines(EARLY).splitlines()
    written = [lines[one] if isinstance(one, int) else one for one in chosen]
    wishes = Wishes(
        format=Format.JSONL,
        columns={"process": "node", "kind": "event", "message": "msg_id", "time": "timestamp"},
        kinds={"send": "SENT", "deliver": "RECV"},
        tolerate=frozenset(TOLERABLE),
    )
    found = judged(("\n".join(written) + "\n").encode(), wishes)
    if found is None:
        return
    imported, _ = found
    (table,) = imported.tables
    carriers = [kind == "join" for kind in table["kind"].to_pylist()]
    rows = table.num_rows - sum(carriers)
    local = [one["text"] or "" for name in ("before", "after") for row in table[name].to_pylist()
             for one in row or ()]  # fmt: skip
    counts = {one.what: one.count for one in imported.assumed}
    unread = counts.get("bad-rows", 0) + counts.get("truncated", 0)
    assert rows + len(local) + unread == sum(bool(line.strip()) for line in written)
    assert sum("left out" in text for text in local) == sum(counts.get(one, 0) for one in LEFT_OUT)


@pytest.mark.parametrize(
    ("format_", "start", "told"),
    [
        (Format.CSV, b"process,kind,message\np,", "line 2 is longer than"),
        (Format.JSONL, b'{"process": "', "line 1 is longer than"),
        (Format.OTLP, b'{"resourceSpans": [', "has more than"),
        (Format.OTLP, b'{"resourceSpans": []}\n{"', "line 2 is longer than"),
        (Format.SHIVIZ, b'a {"a":1}\nput\na {"', "has more than"),
    ],
)
def test_a_line_without_end_is_refused_in_bounded_memory(
    tmp_path: Path, format_: Format, start: bytes, told: str
) -> None:
    """A sparse file, as long as a gigabyte, is no line."""
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.write(start)
        file.truncate(1 << 30)
    tracemalloc.start()
    with pytest.raises(BadFile, match=told):
        import_logs([log], Wishes(format=format_))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * LONGEST


def test_a_million_columns(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    many = ",".join(f"c{number}" for number in range(1_000_000))
    log.write_text(f"process,kind,{many}\np,join{',' * 1_000_000}\n")
    assert import_csv(log).tables[0].num_rows == 1
    log.write_text(f"{many}\n")
    with pytest.raises(BadFile, match="there is no column 'process'") as caught:
        import_csv(log)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "rows",
    [
        ["p,deliver,m1,", "p,send,m1,p"],
        ["p,deliver,m2,", "p,send,m1,q", "q,deliver,m1,", "q,send,m2,p"],
    ],
)
def test_what_happens_before_itself(tmp_path: Path, rows: list[str]) -> None:
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["process,kind,message,destinations", *rows]) + "\n")
    with pytest.raises(BadFile, match="line 2"):
        write_imported(import_csv(log), tmp_path / "t.parquet")


NOTHING: dict[str, Callable[[Path], Imported]] = {
    "csv": lambda file: import_csv(_with(file, as_csv([EARLY[0]]).replace(";", "|")), delimiter="|",
                                   columns={"process": "node", "kind": "event", "message": "msg_id",
                                            "destinations": "to", "time": "timestamp"},
                                   kinds={"send": "SENT"}),
    "recording": lambda file: import_logs(
        [_with(file, "\n".join(RECORDED.splitlines()[:2]) + "\n")], Wishes()).imported,
    "spans": lambda file: import_logs(
        [_with(file, SPANS.splitlines()[0] + "\n")], Wishes()).imported,
    "clocks": lambda file: import_logs(
        [_with(file, 'a {"a":1}\nx\n')], Wishes(format=Format.SHIVIZ)).imported,
    "patterns": lambda file: import_logs(
        [REAL], Wishes(broadcast=True, patterns={"send": "RBBroadcast(?P<message>.*)",
                                                 "deliver": "no such (?P<message>text)"})).imported,
    "own": lambda file: import_csv(
        _with(file, "process,kind,message,destinations\np,send,m,q\np,deliver,m,\nq,join,,\n")),
    "graph": lambda file: import_graph(_with(file, GRAPH.partition("1,b")[0])),
}  # fmt: skip


def _with(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


@pytest.mark.parametrize("name", NOTHING)
def test_no_importer_lets_nothing_be_kept(tmp_path: Path, name: str) -> None:
    """Each gets a log without a delivery."""
    write_imported(NOTHING[name](tmp_path / "log"), tmp_path / "t.parquet")
    verdict = verify_trace(tmp_path / "t.parquet")
    assert (verdict.deliveries, verdict.answer) == (name == "own", Answer.CANNOT_TELL)
