"""Why a message was held, or how it broke order: one small trace for each answer."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.errors import Misuse
from antecede.verify import Explanation, Predecessor, explain, explanation
from antecede.verify.verdict import Answer
from tests.pipeline.traces import long_rows, write
from tests.trace.builders import Row, deliver, positioned, receive, send, table

HELD = [
    *[send("p", 1, "qr", time=0.0), receive("r", "p:1", time=1.0), deliver("r", "p:1", time=1.0)],
    *[send("r", 1, "q", time=1.0), receive("q", "r:1", time=2.0)],
    *[receive("q", "p:1", time=5.0), deliver("q", "p:1", time=6.0), deliver("q", "r:1", time=9.0)],
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "t.parquet"


def explained(trace: Path, *rows: Row, process: str = "q", message: str = "r:1") -> Explanation:
    pq.write_table(table(*positioned(*rows)), trace)
    return explain(trace, process, message)


def test_the_parts_of_a_wait(trace: Path) -> None:
    """r:1 arrives at 2, p:1 at 5; p:1 is delivered at 6, r:1 at 9."""
    found = explained(trace, *HELD)
    assert found.waited_for == (Predecessor("p:1", 5.0, 6.0),)
    assert (found.held_s, found.forced_s, found.inherited_s, found.own_s) == (7.0, 3.0, 1.0, 3.0)
    assert found.violation is None
    assert found.sentences() == [
        "q received r:1 at 2 s and delivered it at 9 s: held for 7 s.",
        "While it waited, q delivered what it depends on: p:1 (arrived at 5 s, delivered at 6 s).",
        (
            "Of the wait, 3 s was forced: a message that it depends on had not arrived. 1 s was "
            "inherited from messages that were held longer than needed. 3 s was its own: causality "
            "did not require it."
        ),
    ]


def test_not_held(trace: Path) -> None:
    found = explained(trace, *HELD, process="r", message="p:1")
    assert found.sentences() == ["r received p:1 at 1 s and delivered it at 1 s: at once."]
    assert (found.forced_s, found.own_s) == (0.0, 0.0)


def test_held_for_nothing(trace: Path) -> None:
    found = explained(trace, *HELD, process="q", message="p:1")
    assert found.sentences()[1] == "It waited for no other message."
    assert found.own_s == 1.0


def test_what_came_before_its_arrival_did_not_keep_it_waiting(trace: Path) -> None:
    found = explained(
        trace,
        *[send("p", 1, "q", time=0.0), deliver("q", "p:1", time=1.0), send("p", 2, "q", time=1.0)],
        *[receive("q", "p:2", time=2.0), deliver("q", "p:2", time=3.0)],
        message="p:2",
    )
    assert found.waited_for == ()
    assert found.own_s == 1.0


def test_how_it_broke_order(trace: Path) -> None:
    found = explained(
        trace,
        *[send("p", 1, "q"), send("p", 2, "q"), send("p", 3, "q")],
        *[deliver("q", "p:3", time=3.1), deliver("q", "p:1")],
        message="p:3",
    )
    assert [missed.message for missed in found.missing] == ["p:1", "p:2"]
    assert found.sentences() == [
        "Nobody noted when q received p:3; it delivered it at 3.1 s.",
        (
            "Causal order was BROKEN: q delivered p:3 at 3.1 s without p:1, which p:3 directly "
            "depends on."
        ),
        "It also overtook p:2.",
    ]


def test_never_delivered(trace: Path) -> None:
    found = explained(
        trace,
        *[send("p", 1, "q"), send("p", 2, "q"), receive("q", "p:2", time=4.0)],
        message="p:2",
    )
    assert found.sentences() == [
        "q received p:2 at 4 s and never delivered it.",
        "It depends on what is missing there: p:1.",
    ]
    assert (found.held_s, found.forced_s, found.violation) == (None, None, None)


def test_json(trace: Path) -> None:
    told = json.loads(json.dumps(explained(trace, *HELD).to_json()))
    assert told["waited_for"] == [{"message": "p:1", "received_s": 5.0, "delivered_s": 6.0}]
    assert (told["held_s"], told["own_s"], told["violation"]) == (7.0, 3.0, None)


@pytest.mark.parametrize(
    ("process", "message", "mistake"),
    [
        ("x", "p:1", "there is no process 'x' in run 'r'"),
        ("q", "x:1", "there is no process 'x' in run 'r'"),
        ("q", "p:2", "p sends no message 2; it sends 1"),
        ("q", "p", "'p' is no message; write it as SENDER:NUMBER"),
        ("p", "r:1", "r:1 is not addressed to p"),
        ("p", "p:1", "p sent p:1 itself: its own copy waits for nothing"),
    ],
)
def test_mistakes(trace: Path, process: str, message: str, mistake: str) -> None:
    with pytest.raises(Misuse, match=mistake):
        explained(trace, *HELD, process=process, message=message)


def test_runs(trace: Path) -> None:
    rows = positioned(*HELD)
    pq.write_table(pa.concat_tables([table(*rows, run="one"), table(*rows, run="two")]), trace)
    assert explain(trace, "q", "r:1", run="two").run == "two"
    with pytest.raises(Misuse, match="there is more than one run; name one of one, two with --run"):
        explain(trace, "q", "r:1")
    with pytest.raises(Misuse, match="there is no run 'three'"):
        explain(trace, "q", "r:1", run="three")
    pq.write_table(table(*rows).slice(0, 0), trace)
    with pytest.raises(Misuse, match="the trace is empty"):
        explain(trace, "q", "r:1")


@pytest.mark.parametrize("seed", range(6))
def test_around_the_message(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long trace gives the answer of the whole one from some of its rows, unless something was
    lost long before; then it says that it has not looked there."""
    rows = positioned(*long_rows(seed))
    trace = write(tmp_path / "run.parquet", ("r", rows), group=5)
    asked = [row for row in rows if row["kind"] == "send" and row["destinations"]][seed::9]
    whole, some = 0, 0
    for row in asked:
        message, process = f"{row['sender']}:{row['number']}", row["destinations"][-1]
        if process == row["sender"]:
            continue
        expected = explain(trace, process, message)
        with monkeypatch.context() as patch:
            patch.setattr(explanation, "WHOLE", 1)
            patch.setattr(explanation, "REACH", 20)
            patch.setattr(explanation, "FARTHEST", 80)
            found = explain(trace, process, message)
        if found.looked_at is None:
            whole += 1
            assert found == expected
            continue
        some += 1
        assert found.looked_at[0] < found.looked_at[1] == len(rows)
        assert any("rows say" in told for told in found.sentences())
        assert found.answer in (Answer.BROKEN, Answer.CANNOT_TELL)
        if found.answer is Answer.BROKEN:
            assert expected.answer is Answer.BROKEN
        lost = set(expected.missing) - set(found.missing)
        assert found.held_s == expected.held_s
        if not lost and not expected.violation:
            assert replace(found, looked_at=None) == expected
    assert some > 0


def test_around_no_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rows around cannot tell is asked of all."""
    trace = write(tmp_path / "run.parquet", ("r", positioned(*long_rows(1))), group=5)
    monkeypatch.setattr(explanation, "WHOLE", 1)
    with pytest.raises(Misuse, match="a sends no message 999; it sends"):
        explain(trace, "b", "a:999")
    with pytest.raises(Misuse, match="there is no process 'zoe'"):
        explain(trace, "zoe", "a:1")
