"""The page on which one drops a log, in a real browser: its reading and its judgement, written in
JavaScript, are held to Python's on thousands of logs and runs, and planted faults show that this
can fail.

More of them: `ANTECEDE_DROPPED=5000 pytest tests/view/test_drop.py`.
"""

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from antecede.imports.detect import Format
from antecede.imports.imported import write_imported
from antecede.view import dataset
from antecede.view.drop import FRAMED, MODULES, PAGE, WORKER, write_drop_page
from antecede.view.page import MODULES as VIEWER
from antecede.view.page import joined_modules, write_view
from tests.browser import Visit, Visitor
from tests.imports.test_order import DIGITS, ELSEWHERE, HEAD, NEWEST, SURE, THROUGH, UNITS
from tests.view.dropped import (
    CLOCK_PATTERNS,
    JUDGED,
    Dropped,
    drawn_log,
    drawn_runs,
    imported,
    judged_by_python,
    masked,
    told_by_python,
    wounded,
)
from tests.view.misread import drawn_misreads, drawn_omissions

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LOGS = int(os.environ.get("ANTECEDE_DROPPED", "100"))
RUNS = 6
"""Logs of a hundred runs each."""
HARNESS = """
const wish = (wishes) => ({ columns: {}, kinds: {}, patterns: {}, broadcast: false, ...wishes,
                            tolerate: new Set(wishes.tolerate) });
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const audited = ({ files, wishes }) => auditFiles(
  Object.entries(files).map(([name, text]) => ({ name, bytes: bytes(text) })), wish(wishes));
const bare = ({ row, sentence, isSure, names, ...witness }) =>
  names.every((name, at) => name === witness.path[at]) ? witness : { ...witness, names };

async function tell(log) {
  try {
    const { verdict, lines, judged } = await audited(log);
    const early = judged.map(({ run, counts }) => [run.name, counts.violations]);
    return { ...verdict, witnesses: verdict.witnesses.map(bare), understood: lines,
             sentences: verdict.witnesses.map((one) => one.sentence),
             "early by run": Object.fromEntries(early) };
  } catch (error) {
    if (error instanceof BadLog) return { refused: error.mistakes };
    if (error instanceof Asked) return { asked: error.message };
    return { failed: String(error.stack) };
  }
}

async function judge(log) {
  const { judged } = await audited(log);
  return Object.fromEntries(judged.map(({ run, counts, witnesses }) => [run.name, { ...counts,
    witnesses: witnesses.map((one) => { const { names, place, ...rest } = bare(one); return rest; })
  }]));
}

async function draw(log) {
  const { judged, assumed, isAbsolute } = await audited(log);
  const { header, columns, texts, names } = pictureOf(judged[0], "trace", assumed, isAbsolute);
  const listed = Object.entries(columns).map(([name, column]) => [name, Array.from(column)]);
  return { ...header, texts: { ...texts }, names, columns: Object.fromEntries(listed) };
}

window.all = async (how, logs) => {
  const told = [];
  for (const log of logs) told.push(await { tell, judge, draw }[how](log));
  return JSON.stringify(told);
};
"""
ORDERS = """timestamp;node;event;msg_id;to
2024-05-01T12:00:00Z;shop;SENT;o-1;billing,shipping
2024-05-01T12:00:01Z;billing;RECV;o-1;
2024-05-01T12:00:02Z;billing;SENT;paid-1;shipping
2024-05-01T12:00:03Z;shipping;RECV;paid-1;
2024-05-01T12:00:04Z;shipping;TICK;;
2024-05-01T12:00:05Z;shipping;RECV;o-1;
"""


def told_by_spans(parent: str) -> bytes:
    """What is sent while something is consumed begins with it, and is exported first."""
    return as_requests(
        ("p", "7", 4, 1, {}),
        ("q", "2", 4, 2, {"parentSpanId": parent}),
        ("q", "1", 5, 2, {"links": [{"spanId": "7"}]}),
        ("r", "3", 5, 3, {"links": [{"spanId": "2"}]}),
        ("r", "4", 5, 4, {"links": [{"spanId": "7"}]}),
    )


def as_requests(*spans: tuple[str, str, int, int, dict[str, Any]]) -> bytes:
    lines = b""
    for service, number, kind, at, more in spans:
        span = {"spanId": number, "kind": kind, "startTimeUnixNano": at, **more}
        name = [{"key": "service.name", "value": {"stringValue": service}}] if service else []
        request = {"resource": {"attributes": name}, "scopeSpans": [{"spans": [span]}]}
        lines += json.dumps({"resourceSpans": [request]}).encode() + b"\n"
    return lines


CLOCKED = 'a {"a":1}\nsend 1\nb {"a":1,"b":1}\ndeliver 1\n'
PLAIN = "process,kind,message,destinations\n"
ODD = [
    Dropped({"a.csv": f'{PLAIN}p,send,"m,q\nq,deliver,m,\n'.encode()}),
    Dropped({"a.csv": b"process,kind,message,kind\np,zap,m,zap\n"}),
    Dropped({"a.csv": f"{PLAIN}p,send,m,q\np,send,n,q\n".encode()}),
    Dropped({"a.csv": f"{PLAIN}q,deliver,m,\nq,deliver,n,\n".encode()}),
    Dropped({"a.csv": PLAIN.encode()}),
    *(
        Dropped(
            {
                f"{name}.csv": f"at,{PLAIN}{rows}".encode()
                for name, rows in (
                    ("a", "1,p,send,m,q\n1,q,deliver,m,\n"),
                    ("b", f"1,p,send,n,q\n{at},q,deliver,n,\n"),
                )
            }
        )
        for at in (1, 2)
    ),
    Dropped({"a.csv": b"p,send,m,q\nq,deliver,m,\n"}),
    Dropped({"a.csv": PLAIN.encode()}, {"columns": {"where": "process"}}),
    Dropped({"a.csv": PLAIN.encode()}, {"kinds": {"call": "send"}}),
    Dropped({"a.csv": PLAIN.encode()}, {"patterns": CLOCK_PATTERNS}),
    Dropped({"a.csv": f"{PLAIN}p,send,m,x\np,send,n,x\nq,consume,n,\nq,recv,m,\n".encode()},
            {"broadcast": True}),
    *(Dropped({"a.jsonl": b'{"process":"p","kind":"send","message":"m","to":"q"}\n'}, wishes)
      for wishes in ({"delimiter": ";"}, {"kinds": {"deliver": "zap,zip", "local": "*"}})),
    Dropped({"a.trace": b'{"antecede":"recording","version":1}\n'}, {"kinds": {"send": "put"}}),
    *(
        Dropped({"a.csv": f"{name},{PLAIN}12:01,p,send,m,q\n12:02,q,deliver,m,\n".encode()}, wishes)
        for name in ("time", "layer")
        for wishes in ({}, {"columns": {name: ""}})
    ),
    *(
        Dropped({"a.csv": ORDERS.replace(";", between).encode()}, {"format": Format.CSV, **wishes})
        for between, wishes in (
            ("^", {}),
            ("^", {"delimiter": "^"}),
            ("\t", {"delimiter": r"\t"}),
            (";", {"delimiter": ""}),
            (";", {"delimiter": ";;"}),
            (";", {"delimiter": '"'}),
        )
    ),
    *(
        Dropped({"a.log": b'a {"a":1}\nput 1\nreply {"code": 200,\n' + end}, {"tolerate": kinds})
        for end in (b'b {"a":1, "b', b'a {"a":2\ngot 2\n', b'x/a] {"a": 2')
        for kinds in ([], ["truncated", "bad-rows"])
    ),
    *(
        Dropped({"a.log": log.encode()}, {"tolerate": kinds, "patterns": CLOCK_PATTERNS})
        for log in (
            f'{CLOCKED}a {{"a":2}}',
            f'{CLOCKED}a {{"a":2}}\n',
            f'{CLOCKED}a {{"a":2}}\nreply {{"code":200}}',
            f'{CLOCKED}a {{"a":2}}\nb {{"a":1,"b":2}}\nsend 2\n',
            'send 1\na {"a":1}\ndeliver 1\nb {"a":1,"b":1}\nsend 2',
            'a {"a":1}\nsend 1\nx\nb {"a":1,"b":1}\nsend 2\nc {"c":1}\ndeliver 2 deliver 1\nz',
            '[x/a] {"a":1} send 1\n[x/b] {"a":1,"b":1} deliver 1\n[x/a] {"a":2}',
        )
        for kinds in ([], ["truncated", "bad-rows"])
    ),
    *(
        Dropped({"a.csv": f"seq,{PLAIN}{rows}".encode()})
        for rows in (
            "1,p,send,m,q\n1,p,send,n,q\n1,q,deliver,m,\n2,q,deliver,n,\n",
            "2,p,send,m,q\n1,p,send,n,q\n1,q,deliver,n,\n2,q,deliver,m,\n",
            "2,p,send,m,q\n1,p,send,n,q\n1,q,deliver,m,\n,q,deliver,n,\n",
            "1,p,send,m,q\n2,p,send,n,q\n5,q,deliver,m,\n0,q,deliver,n,\n",
        )
    ),
    *(
        Dropped({"a.csv": "\n".join(rows).encode() + b"\n"}, {"tolerate": ["bad-rows", "resends"]})
        for rows in (
            [f"{PLAIN}p,send,m,q", "p,send,n,q", "q,deliver,m,,oops", "q,deliver,n,"],
            [f"{PLAIN}p,send,m,q", "p,send,n,q", "oops", "q,deliver,n,", "q,deliver,m,"],
            [f"{PLAIN}p,send,m,q", "p,send,n,q", "oops", "q,receive,m,", "q,deliver,n,"],
            [f"{PLAIN}p,send,l,q", "p,send,m,r", "x,send,m,r", "r,deliver,m,", "r,send,n,q",
             "q,deliver,n,", "q,deliver,l,"],
        )
    ),
    *(
        Dropped({"a.csv": f"{PLAIN}p,send,m,q\np,send,n,q\n{rows}".encode()}, wishes)
        for rows, wishes in (
            ("q,recv,m,\nq,recv_urgent,n,\n", {}),
            ("q,recv,n,\nq,recv_urgent,m,\n", {"kinds": {"local": "recv_urgent"}}),
            ("q,recv,m,\nq,Delivered,n,\n", {}),
            ("".join(f"q,w{number},,\n" for number in range(600)) + "q,Delivered,n,\n", {}),
            ('q,"say, it",m,\nq,tick,m,\n', {}),
            ('q,"say, it",m,\nq,"say, it",n,\n', {"kinds": {"deliver": "say, it"}}),
        )
    ),
    *(
        Dropped({"a.jsonl": f'{{"my node":1,"kind":{send},"id":7,"to":2}}\n'
                            f'{{"my node":2,"kind":{got},"id":7}}\n'.encode()}, wishes)
        for send, got, wishes in (
            ('["send"]', '["recv"]', {"columns": {"process": "my node"}}),
            ("true", "0", {"columns": {"process": "my node", "kind": "kind"}}),
            ("true", "0", {"columns": {"process": "my node", "kind": "kind"},
                           "kinds": {"send": "true", "deliver": "0"}}),
            ("true", "0", {}),
        )
    ),
    *(
        Dropped({"a.csv": f"time,seq,session,{PLAIN}1,1,s,p,send,m,q\n2,2,t,p,send,n,q\n"
                          "3,2,t,q,deliver,n,\n4,1,s,q,deliver,m,\n".encode()}, wishes)
        for wishes in ({}, *({"columns": columns} for columns in (
            {"seq": "seq"}, {"seq": ""}, {"run": "session", "seq": ""}, {"kind": ""})))
    ),
    *(
        Dropped({f"a{end}": ("".join(f"{row}\n" for row in rows)).encode()})
        for end, rows in (
            (".csv", [f"time,{PLAIN}4,q,deliver,m,", "3,p,send,m,q", "1,p,send,n,q"]),
            (".csv", [f"time,{PLAIN}4,q,deliver,m,", "4,q,deliver,n,", "2,p,send,m,q",
                      "3,p,send,n,q"]),
            (".csv", [f"message,{PLAIN}m,p,send,m,q"]),
            (".csv", ['process,kind,message,to,seq', 'p,send,m,"q, r",1.0', "q,deliver,m,,1.0",
                      "r,deliver,m,,1.5"]),
            (".jsonl", ['{"process":"p","kind":"send","message":1,"to":2}',
                        '{"process":2,"kind":"recv","message":1}']),
            (".trace", ['{"antecede":"recording","version":1}',
                        '{"process":"p","kind":"send","message":"m","destinations":["q"],"time":3}',
                        '{"process":"p","kind":"send","message":"n","destinations":["q"],"time":2}',
                        '{"process":"q","kind":"deliver","message":"m","time":1}']),
        )
    ),
    Dropped({"a.csv": f"{PLAIN}q,deliver,m,\n".encode()}, {"tolerate": ["unknown-sends"]}),
    Dropped({"a.csv": f"{PLAIN}p,send,m,q\n".encode(), "b.csv": b"host,kind\nq,join\n"}),
    *(
        Dropped({"a.jsonl": b'{"a":{"at":"p"},"kind":"send","message":1,"to":["q"]}\n'
                            b'{"a":{"at":"q"},"kind":"recv","message":1}\n'}, wishes)
        for wishes in ({}, {"columns": {"process": "a.at"}})
    ),
    Dropped({"a.json": as_requests(("p", "1", 4, 0, {}), ("p", "2", 4, 2, {}),
                                   ("q", "3", 5, 3, {"links": [{"spanId": "2"}]}),
                                   ("q", "4", 5, 4, {"links": [{"spanId": "1"}]}))}),
    *(Dropped({"a.json": told_by_spans(parent)}, {"broadcast": True}) for parent in ("1", "")),
    *(
        Dropped({"a.json": as_requests(
            ("p", "1", 4, 1, {}), ("p", "2", 4, 2, {}),
            ("p", "3", 4, 3, {"links": [{"spanId": "1"}, {"spanId": "2"}]}),
            ("q", "4", 5, 4, {"links": [{"spanId": consumed}]}),
            (service, "5", kind, 5, {"parentSpanId": parent, "links": links}))},
            {"broadcast": True})
        for consumed, service, kind, parent, links in (
            ("3", "q", 2, "", []), ("1", "", 2, "", []), ("2", "q", 2, "x", []),
            ("2", "q", 1, "x", []), ("2", "q", 1, "", [{"spanId": "1"}]),
            ("2", "q", 5, "1", [{"spanId": "x"}]))
    ),
    Dropped({"a.csv": f"{PLAIN}p,send,m,q\nq,recv,m,\nr,join,,\n".encode()}, {"broadcast": True}),
    Dropped({"a.log": b'a {"a":1}\nsend 1\na {"a":2}\nsend 2\nb {"b":1,"a":2}\ndeliver 2\n'
                      b'b {"b":3,"a":2}\ndeliver 1\n'},
            {"tolerate": ["clocks"], "patterns": CLOCK_PATTERNS}),
    *(
        Dropped({f"{at}.csv": f"{HEAD}{one}".encode() for at, one in enumerate(contents)})
        for contents in (*(one[0] for one in (*UNITS.values(), *NEWEST.values())),
                         *([one] for one in (SURE, SURE + ELSEWHERE, THROUGH, DIGITS)))
    ),
    *(
        Dropped({"a.csv": content.encode()}, wishes)
        for content in (f"sep=;\n{ORDERS}", f"{PLAIN}p,send,m\n", f"{PLAIN}p,send,m\n" * 2,
                        '{"antecede":"recording","version":2}\n', '{\n "a": 1\n}\n',
                        f"# by x\n# at y\n{ORDERS}", f'"\n#\n{ORDERS}',
                        ORDERS.replace("\n", "\r"), "2024-05-01 12:00:00,123 [p] send m\n" * 3)
        for wishes in ({}, {"format": Format.CSV})
    ),
    *(Dropped({"a.json": line}) for line in (b'{"resourceMetrics":[]}', b'{"resourceLogs":[]}\n',
                                             b'{"resource_spans":[]}\n',
                                             b'{"data":[\n {"traceID":"1","spans":[]}]}',
                                             b"BZh91AY&SY\0", b"\xfd7zXZ\0\0", b"PK\3\4a,b\n")),
    *(
        Dropped({"a.jsonl": b'{"process":"p","kind":"send","message":"m","to":"q"}\n'
                            b'{"process":"q","kind":"recv","message":"m"' + more + b"}\n"})
        for more in (b',"message":"n"', b',"message" :"n"', b',"x":{"a":1,"a":1}', b',"x":"\\": :"',
                     b',"x":[{"a":1},{"a":1}]', b',"x":{"y":1},"x.y":1',
                     b',"__proto__":{"a":1}', b',"n":1.0,"n":1.0')
    ),
    *(
        Dropped({"a.log": CLOCKED.replace('"b":1', f'"b":{count}').encode()},
                {"patterns": CLOCK_PATTERNS})
        for count in ("1.5", "1.0", "true", '"1"', "1e400", '1,"b":1', '1,"c":-1')
    ),
    *(
        Dropped({"a.csv": content.encode()}, wishes)
        for content in (f"{PLAIN}p,put,m,q\np,put,l,q\np,send,n,q\nq,deliver,n,\n \n",
                        "at,zone,kind,id\n1,p,send,m\n2,q,recv,m\n",
                        "at,zone,kind,id\n,p,send,m\n12:00,q,recv,m\n",
                        "at,zone,kind,id\np,1,send,m\nq,2,recv,m\n",
                        "svc,direction,id,peer\np,out,m,q\nq,in,m,p\n",
                        'id| at |kind |to\nm | p | send | q\n" m"|q |" recv"|\n')
        for wishes in ({}, {"broadcast": True})
    ),
    *(
        Dropped({"a.json": as_requests(
            ("p", "1", 4, 1, {"traceId": "s"}), ("p", "1", 4, 2, {"traceId": "t"}),
            ("q", "2", 5, 3, {"traceId": "s", **more}),
            ("q", "3", 5, 4, {"traceId": "t", "parentSpanId": "1"})).replace(*change)},
            {"broadcast": True})
        for more in ({"parentSpanId": "1"}, {"links": [{"spanId": "1"}]},
                     {"links": [{"spanId": "1", "traceId": "u"}]},
                     {"links": None, "parentSpanId": "1", "kind": 5.0})
        for change in ((b"", b""), (b"scopeSpans", b"instrumentationLibrarySpans"),
                       (b"scopeSpans", b"scope_spans"),
                       (b'{"spanId": "2"', b'{"attributes": null, "spanId": "2"'),
                       (b'Nano": 1', b'Nano": 1.5'), (b'"kind": 4', b'"kind": true'),
                       (b'"kind": 4', b'"kind": "PRODUCER"'))
    ),
    *(
        Dropped({"a.csv.gz": gzip.compress(ORDERS.encode(), mtime=0)[:-cut]}, {"tolerate": kinds})
        for cut in (8, 40)
        for kinds in ([], ["truncated"], ["truncated", "unknown-sends"])
    ),
]  # fmt: skip


def judge_page(browser: "Browser", script: str) -> "Page":
    page = browser.new_page()
    page.set_content(f"<!doctype html><script>{script}\n{HARNESS}</script>")
    return page


def by_page(page: "Page", logs: Sequence[Dropped], how: str = "tell") -> list[dict[str, Any]]:
    given = [log.to_page() for log in logs]
    told: list[dict[str, Any]] = json.loads(
        page.evaluate("(a) => all(...a)", [how, given]),
        parse_int=lambda text: int(text) if len(text) < 17 else float(text),
    )
    for one in told if how == "tell" else ():
        if "refused" in one:
            one["refused"] = [masked(mistake) for mistake in one["refused"]]
        if "asked" in one:
            one["asked"] = masked(one["asked"])
    return told


def is_same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether two say the same. Which of a damaged log's faults is met first may differ."""
    damaged = {"refused": ["cannot be read"]}
    return found == expected or (found == damaged and "refused" in expected)


@pytest.fixture(scope="module")
def script() -> str:
    return joined_modules(MODULES, "drop")


@pytest.fixture(scope="module")
def logs() -> list[Dropped]:
    random = Random(19)
    clean = [drawn_log(random) for _ in range(LOGS)]
    misread = [log for log, _ in drawn_misreads(LOGS)]
    misread += [log for log, _ in drawn_omissions(LOGS // 4)]
    return [*ODD, *clean, *misread, *(wounded(random, drawn_log(random)) for _ in range(LOGS))]


@pytest.fixture(scope="module")
def expected(logs: list[Dropped]) -> list[dict[str, Any]]:
    return [told_by_python(log) for log in logs]


@pytest.fixture(scope="module")
def page(browser: "Browser", script: str) -> Iterator["Page"]:
    page = judge_page(browser, script)
    yield page
    page.close()


def test_the_page_says_what_python_says(
    page: "Page", logs: list[Dropped], expected: list[dict[str, Any]]
) -> None:
    """Answer, reasons, counts, witnesses, sentences, and how the log was understood; or the same
    error."""
    answers = Counter(one.get("answer", next(iter(one))) for one in expected)
    assert min(answers[one] for one in ("kept", "broken", "cannot tell", "refused", "asked")) > 3
    for log, found, wanted in zip(logs, by_page(page, logs), expected, strict=True):
        assert is_same(found, wanted), log


def test_it_judges_thousands_of_runs_as_python_does(page: "Page") -> None:
    random = Random(20)
    logs = [drawn_runs(random, 100) for _ in range(RUNS)]
    found = by_page(page, logs, "judge")
    broken = 0
    for log, told in zip(logs, found, strict=True):
        bare = {run: {name: one[name] for name in JUDGED} for run, one in told.items()}
        assert bare == judged_by_python(log)
        broken += sum(one["violations"] > 0 for one in told.values())
    assert 100 < broken < 500


def test_it_draws_what_python_draws(
    page: "Page",
    logs: list[Dropped],
    expected: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The columns of the picture, whatever they mean, are those of `antecede view`."""
    packed: list[dict[str, Any]] = []

    def keep(header: dict[str, Any], columns: dict[str, Any]) -> str:
        listed = {name: column.tolist() for name, column in columns.items()}
        packed.append({**header, "columns": listed})
        return ""

    monkeypatch.setattr(dataset, "pack", keep)
    judged = [log for log, one in zip(logs, expected, strict=True) if one.get("runs") == 1][:60]
    for log in judged:
        write_imported(imported(log, tmp_path).imported, tmp_path / "trace", force=True)
        write_view(tmp_path / "trace", tmp_path / "page.html", force=True)
    for found, wanted in zip(by_page(page, judged, "draw"), packed, strict=True):
        times = wanted["columns"]["time"]
        wanted["columns"]["time"] = [None if np.isnan(time) else time for time in times]
        assert found == wanted


MUTANTS = {
    "a predecessor that never came is forgotten": (
        "if (rank[copy] !== NEVER) last[copy] = row[q];",
        "if (rank[copy] !== NEVER) last[copy] = row[q] === NEVER ? 0 : row[q];",
    ),
    "a message carries what its sender learns later": (
        "(carried[m] = rowFor()).set(row)",
        "carried[m] = row",
    ),
    "who delivers forgets": ("if (other[q] > row[q]) row[q] = other[q];", "row[q] = other[q];"),
    "own copies are judged": ("if (one !== run.process[row]) columns.push(one)",
                              "columns.push(one)"),
    "deliveries need no send": ("needed !== row && !done[needed]", "false"),
    "any overtaken message is the first": ("> rank[early]) found = m;", "> rank[early]) return m;"),
    "any path is the shortest": ("steps[m - first] < away[p]", "true"),
    "duplicates count": ("else if (seen.size === before)", "else if (false)"),
    "nobody delivers his own": ("|| process === log.process[known.sendOf[m]]", ""),
    "quotes are not doubled": ("line[stop + 1] === '\"'", "false"),
    "milliseconds are seconds": ('"milliseconds", 1e3]', '"milliseconds", 1]'),
    "each number has its own unit": ("if (!isClear) scale", "if (false) scale"),
    "nothing is later than the clock": ("size <= LATEST * count", "true"),
    "a day has no hours": ("OF_DAY.test(value)", "false"),
    "files tell times alike": ("[MIXED, joined.filter(", "[MIXED, [].filter("),
    "no hour comes twice": ("apart <= 3600 &&", "false &&"),
    "seconds are as fine as any": ("0 < apart && apart < grain", "false"),
    "two falls are enough": ("const FALLS = 3;", "const FALLS = 2;"),
    "a file is turned whole": ("any = any.concat(withoutOrder(log, own))", ""),
    "one time has an order": ("(steps.isFlat && isTurnedSomewhere)", "false"),
    "spans begin when they begin": ("[NO_START, spans.filter(", "[NO_START, [].filter("),
    "a link that leads nowhere": ("[APART, known.apart(spans)],", ""),
    "no proof is sure": ("return [...new Set(found.flatMap((one) => one.processes))]",
                         "return found.length ? null : []"),
    "every proof is sure": ("!used.some((one) => unsure.includes(one))", "true"),
    "who is unsure is nobody": ("if (found.some((one) => !one.processes.length)) return null;", ""),
    "the sender's order is no proof": ("used = [process, ...path", "used = [process, ...[]"),
    "numbers are JavaScript's": ("DELICATE.test(text)", "false"),
    "received is never delivered": ("const isMoved =", "const isMoved = false &&"),
    "what another knew is learned again": ("(other.clock.get(one.host) ?? 0) >= one.own", "false"),
    "spans stand in the order of the file": ("spans.sort(", "[].sort("),
    "what is tolerated leaves no doubt": ("doubt: !NO_DOUBT.has(name)", "doubt: false"),
    "none is found, so it was kept": ('doubts.length ? "cannot tell" : "kept"', '"kept"'),
    "silent processes are heard": ("if (!heard[one])", "if (false)"),
    "rows are sorted already": ("const isSorted =", "const isSorted = true ||"),
    "half of a pair is the pair": ("this.first[id] === first && this.second[id] === second",
                                   "this.first[id] === first"),
    "layers are one": ("log.run[event] * layers + log.layer[event]", "log.run[event] * layers"),
    "the same number is a larger one": ("seq[event] <= largest", "seq[event] < largest"),
    "numbers that fall are in order": ("if (seq[event] <= largest) found", "if (isSame) found"),
    "files agree in time": ("file[event] !== file[before])", "false)"),
    "times never run backwards": ("seq[event] === null && time[event] < time", "false && time"),
    "the oldest is first": ("if (own > now) falls++;", ""),
    "recordings may be turned": ("order: IN_FILE", "order: SEEMS"),
    "spans never begin together": ("if (before && isSameStart(before, span) &&", "if (false &&"),
    "a span begins after what is within it": ("|| one.depth - other.depth", ""),
    "half a clock vanishes": ("isLast || hosts.has(host)", "false"),
    "a clock without its event vanishes": ('clock.includes(`"${host}"`)', "false"),
    "a clock at the end has an event": ('match[0].endsWith("\\n")', "false"),
    "the last text needs no clock": ("!left.length && rest", "false"),
    "what is packed was never cut": ("    if (isCut)\n", "    if (false)\n"),
    "nothing is nested": ("found[way] = of;", ";"),
    "words are what they seem": ("told.assumed.push(...doubtfulWords", "[].push(...doubtfulWords"),
    "after many words none is known": ("if (!isFew && !", "if (!isFew || !"),
    "a batch is a message": ("this.batches.set(span.id, created)", ";"),
    "nobody is called from elsewhere": ("span.kind === SERVER && span.parent &&", "false &&"),
    "links call nobody": ("return span.causes.some((one) => this.byId.has(one) &&",
                          "return [span.parent].some((one) => this.byId.has(one) &&"),
    "files begin together": ("[STARTS, joined.filter(", "[STARTS, [].filter("),
    "clocks hide nothing": ("if (isHidden) found", "if (false) found"),
    "one name in a text counts": ("return found.filter(", "return found.slice(0, 1).filter("),
    "what was left out was no delivery": (
        'problems.has("bad-rows", "clocks", ...unnamed)', "false"
    ),
    "what is torn came last": ("&& !isAtEnd", "&& false"),
    "names are nobody's alone": ("if (senders.get(m) === sender) continue;", "continue;"),
    "numbers are those of events": ("= guessedSeq ?", "= false ?"),
    "what is unsure is broken": ("witnesses.some((one) => one.isSure)", "true"),
    "a name may come twice": ("if (Object.hasOwn(found, name)) throw", "if (false) throw"),
    "spans have ids of their own": ("this.traces.get(found) === where ?", "true ?"),
    "a time is a place": ("free = free.filter((name) => mayBeProcess(name, rows));", ""),
    "the first candidate is the process": ("if (free.slice(1).some(", "if ([].some("),
    "the first word counts": ("if (spoken.length > 1) throw", "if (false) throw"),
    "addresses count that are none": ("=== null || isForAny ||", "=== null ||"),
    "what a span delivers has a name": ("order === GIVEN ? [\"unknown-sends\"]", "false ? []"),
    "two ways are one": ("if (Object.hasOwn(found, way)) return", "if (false) return"),
    "less than nothing is done": ("number === null || number < 0", "number === null"),
    "what nobody sends is nothing": ("...perhapsSent(log, rows.filter(isUnsent))", ""),
    "halves count": ("return Number.isInteger(number) ? number : null",
                     "return typeof number === 'number' ? Math.trunc(number) : null"),
    "addresses are not asked for": ("if (!hasAddresses) continue;", "continue;"),
    "what failed was sent": ("...perhapsFailed(log, lost),", ""),
    "who joins was there": ("broadcast ? run.joined() :", "broadcast ? [] :"),
    "a name is one message": ("[[REUSED, found]]", "[]"),
    "a batch is in order": ("[AT_ONCE, spans.filter(", "[AT_ONCE, [].filter("),
}  # fmt: skip


FIND = """
window.remember = async (source, logs) => {
  const { tell } = new Function(source)();
  Object.assign(window, { source, logs, told: [] });
  for (const log of logs) told.push(JSON.stringify(await tell(log)));
};
window.differs = async (good, bad) => {
  const { tell } = new Function(source.replace(good, () => bad))();
  for (const [at, log] of logs.entries())
    if (JSON.stringify(await tell(log)) !== told[at]) return true;
  return false;
};
"""


@pytest.fixture(scope="module")
def fault_page(browser: "Browser", script: str, logs: list[Dropped]) -> Iterator["Page"]:
    """A page that knows what it says of all logs, as long as nothing is wrong with it."""
    page = browser.new_page()
    page.set_content(f"<!doctype html><script>{FIND}</script>")
    source = f"{script}\n{HARNESS}\nreturn {{ tell }};"
    page.evaluate("(given) => remember(...given)", [source, [log.to_page() for log in logs]])
    yield page
    page.close()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_fault_is_found(fault_page: "Page", script: str, name: str) -> None:
    good, bad = MUTANTS[name]
    assert script.count(good) == 1
    assert fault_page.evaluate("(given) => differs(...given)", [good, bad])


# The page itself


@pytest.fixture
def opened(visit: Visitor, tmp_path: Path) -> Visit:
    visited = visit(write_drop_page(tmp_path / "audit.html"))
    visited.page.wait_for_selector("body[data-ready]")
    return visited


def drop(page: "Page", *paths: Path, pictures: int = 1) -> str:
    """Choose files; what the page then says."""
    page.set_input_files("#files", list(paths))
    page.wait_for_selector(f'body[data-pictures="{pictures}"]')
    return page.inner_text("#told")


def test_a_log_that_is_dropped_is_judged_and_drawn(opened: Visit) -> None:
    page = opened.page
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "orders.csv"));
          document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
        }""",
        ORDERS,
    )
    page.wait_for_selector('body[data-pictures="1"]')
    told = page.inner_text("#told")
    assert "Causal order was broken." in told
    assert "1 run, 2 messages, 3 deliveries, 1 early, 0 undelivered" in told
    sentence = "shipping delivered paid-1 at 2024-05-01 12:00:03Z (line 5) without o-1"
    page.click(f"text={sentence}")
    frame = page.frame_locator("iframe")
    assert "paid-1" in frame.locator("#panel").inner_text()
    assert frame.locator("#title").inner_text() == "orders.csv"
    assert page.evaluate("frames[0].antecede.selection.event") == 3
    assert opened.complaints == []


def test_it_asks_and_goes_on(opened: Visit, tmp_path: Path) -> None:
    page, log = opened.page, tmp_path / "steps.jsonl"
    log.write_text('{"zone": "a", "evt": "publish", "mid": 1}\n'
                   '{"zone": "b", "evt": "zap", "mid": 1}\n')  # fmt: skip
    page.set_input_files("#files", log)
    page.click("text=go on with --column process=zone")
    page.click("text=go on with --kind deliver=zap")
    page.wait_for_selector('body[data-pictures="1"]')
    assert "cannot be told" in page.inner_text("#told")
    page.click("text=go on with --broadcast")
    page.wait_for_selector('body[data-pictures="2"]')
    assert "Causal order was kept." in page.inner_text("#told")
    flags = "--column process=zone --kind deliver=zap --broadcast"
    assert page.input_value("#flags") == flags
    assert page.locator("iframe").count() == 1
    assert opened.complaints == []


def test_packed_logs_several_runs_and_what_a_browser_does_not_read(
    opened: Visit, tmp_path: Path
) -> None:
    page = opened.page
    packed, table = tmp_path / "orders.csv.gz", tmp_path / "table.parquet"
    rows = ORDERS.splitlines()
    doubled = [rows[0] + ";run"] + [f"{row};{run}" for run in "ab" for row in rows[1:]]
    packed.write_bytes(gzip.compress("\n".join(doubled).encode()))
    assert "2 runs" in drop(page, packed)
    page.click("text=b: shipping delivered paid-1")
    page.wait_for_selector('body[data-pictures="2"]')
    assert page.frame_locator("iframe").locator("#runName").inner_text() == "b"
    table.write_bytes(b"PAR1")
    page.set_input_files("#files", table)
    page.wait_for_selector("text=this page does not read Parquet")
    page.fill("#flags", "--nonsense 1")
    page.press("#flags", "Enter")
    page.wait_for_selector("text=there is no flag --nonsense here")
    assert opened.complaints == []


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits(visit: Visitor, tmp_path: Path, width: int, dark: bool) -> None:
    visited = visit(write_drop_page(tmp_path / "audit.html"), width=width, dark=dark)
    visited.page.click("#example")
    visited.page.wait_for_selector('body[data-pictures="1"]')
    assert not visited.scrolls_sideways()
    assert visited.complaints == []


def test_the_page_may_not_connect_to_anything(opened: Visit) -> None:
    tried = opened.page.evaluate(
        "fetch('https://example.org/').then(() => 'sent', (error) => String(error))"
    )
    assert "Failed to fetch" in tried
    assert any("Content Security Policy" in one for one in opened.complaints)
    assert not any("asked the network" in one for one in opened.complaints)


def test_every_module_is_joined_after_what_it_imports() -> None:
    folder = Path(str(files("antecede.view") / "drop"))
    order = [*MODULES, WORKER, *PAGE, FRAMED]
    assert sorted(order) == sorted(path.stem for path in folder.glob("*.js"))
    for at, name in enumerate(order):
        source = (folder / f"{name}.js").read_text(encoding="utf-8")
        body = re.sub(r"^import [^;]*;$", "", source, flags=re.M)
        for names, module in re.findall(r'^import \{([^}]*)\} from "([^"]+)\.js";$', source, re.M):
            assert module == "../page/start" or module.removeprefix("./") in order[:at], name
            exported = (folder / f"{module}.js").resolve().read_text(encoding="utf-8")
            for one in filter(None, map(str.strip, names.split(","))):
                assert re.search(rf"\b{one}\b", body), (name, one, "is not used")
                word = rf"^export (?:async )?(?:function|class|const)\b[^;]*?\b{one}\b"
                assert re.search(word, exported, re.M), (name, one)
    assert "start" in VIEWER
