"""Every rule of the format has a trace that breaks it, and an error that says where."""

from typing import Any

import pytest

from antecede.errors import BadTrace
from antecede.trace import rules, trace_from_tables
from antecede.trace.extension import LINEAR_EXTENSION, NO_CYCLE
from tests.trace.builders import (
    Row,
    deliver,
    event,
    load,
    positioned,
    receive,
    send,
    shown,
    table,
)


@pytest.mark.parametrize(
    ("rows", "rule", "process", "row", "detail"),
    [
        pytest.param(
            [send("p", 1, "q"), event("explode", "q")],
            rules.KNOWN_KIND, "q", 1, "unknown kind 'explode'",
            id="unknown kind",
        ),
        pytest.param(
            [send("p", 1, "q", layer="wire")],
            rules.KNOWN_KIND, "p", 0, "unknown layer 'wire'",
            id="unknown layer",
        ),
        pytest.param(
            [send("p", 1, "q"), {**deliver("q", "p:1"), "kind": None}],
            rules.NOT_NULL, "q", 1, "column 'kind' is null",
            id="no kind",
        ),
        pytest.param(
            [{**event("crash", "p"), "process": None}],
            rules.NOT_NULL, "(null)", 0, "column 'process' is null",
            id="no process",
        ),
        pytest.param(
            [send("p", 1, "q", seq=None)],
            rules.NOT_NULL, "p", 0, "column 'seq' is null",
            id="no seq",
        ),
        pytest.param(
            [send("p", 1, "q"), {**deliver("q", "p:1"), "sender": None}],
            rules.NOT_NULL, "q", 1, "column 'sender' is null",
            id="no sender",
        ),
        pytest.param(
            [send("p", 1, "q"), {**receive("q", "p:1"), "number": None}],
            rules.NOT_NULL, "q", 1, "column 'number' is null",
            id="no number",
        ),
        pytest.param(
            [{**send("p", 1, "q"), "destinations": None}],
            rules.NOT_NULL, "p", 0, "column 'destinations' is null",
            id="no destinations",
        ),
        pytest.param(
            [{**send("p", 1, "q"), "destinations": ["q", None]}],
            rules.NOT_NULL, "p", 0, "column 'destinations' is null",
            id="null among destinations",
        ),
        pytest.param(
            [send("p", 1, "q"), event("join", "q"), send("p", 2, "q", seq=2)],
            rules.SEQ, "p", 2, "seq is 2, expected 1",
            id="gap in seq",
        ),
        pytest.param(
            [send("p", 1, "q"), event("join", "q"), send("p", 2, "q", seq=0)],
            rules.SEQ, "p", 2, "seq is 0, expected 1",
            id="repeat in seq",
        ),
        pytest.param(
            [send("p", 1, "q", seq=1)],
            rules.SEQ, "p", 0, "seq is 1, expected 0",
            id="seq starts late",
        ),
        pytest.param(
            [{**send("p", 1, "q"), "sender": "q"}],
            rules.SEND_AT_SENDER, "p", 0, "sends q:1, a message of another process",
            id="send elsewhere",
        ),
        pytest.param(
            [send("p", 1, "q"), send("p", 2, "q"), send("p", 1, "q")],
            rules.SENT_ONCE, "p", 2, "sends p:1 again, after row 0 of memory",
            id="sent twice",
        ),
        pytest.param(
            [send("p", 1, "q"), send("p", 3, "q")],
            rules.NUMBERS, "p", 1, "sends p:3, expected number 2",
            id="gap in numbers",
        ),
        pytest.param(
            [send("p", 0, "q")],
            rules.NUMBERS, "p", 0, "sends p:0, expected number 1",
            id="numbers from 0",
        ),
        pytest.param(
            [send("p", 2, "q"), send("p", 1, "q")],
            rules.NUMBERS, "p", 0, "sends p:2, expected number 1",
            id="numbers out of order",
        ),
        pytest.param(
            [send("p", 1, "q"), deliver("q", "p:2")],
            rules.HAS_SEND, "q", 1, "deliver of p:2, which nobody sent",
            id="deliver without send",
        ),
        pytest.param(
            [send("p", 1, "q"), receive("p", "q:1")],
            rules.HAS_SEND, "p", 1, "receive of q:1, which nobody sent",
            id="receive without send",
        ),
        pytest.param(
            [send("p", 1, "q", layer="hop"), deliver("q", "p:1")],
            rules.HAS_SEND, "q", 1, "deliver of p:1, which nobody sent",
            id="send in another layer",
        ),
        pytest.param(
            [send("p", 1, "q"), deliver("q", "p:1"), deliver("q", "p:1")],
            rules.DELIVERED_ONCE, "q", 2, "delivers p:1 again, after row 1 of memory",
            id="delivered twice",
        ),
        pytest.param(
            [send("p", 1, "p"), deliver("p", "p:1"), deliver("p", "p:1")],
            rules.DELIVERED_ONCE, "p", 2, "delivers p:1 again, after row 1 of memory",
            id="own copy delivered twice",
        ),
        pytest.param(
            [send("p", 1, "q"), deliver("r", "p:1")],
            rules.AT_DESTINATION, "r", 1, "deliver of p:1, which is not addressed to it",
            id="delivered elsewhere",
        ),
        pytest.param(
            [send("p", 1, ()), receive("q", "p:1")],
            rules.AT_DESTINATION, "q", 1, "receive of p:1, which is not addressed to it",
            id="received elsewhere",
        ),
        pytest.param(
            [send("p", 1, "q", position=5), deliver("q", "p:1", position=5)],
            LINEAR_EXTENSION, "q", 1, "position 5 is also that of row 0 of memory",
            id="position twice",
        ),
        pytest.param(
            [send("p", 1, "q", position=1), deliver("q", "p:1", position=0)],
            LINEAR_EXTENSION, "q", 1,
            "position 0 does not come after 1, the position of its send, row 0 of memory",
            id="deliver placed before its send",
        ),
        pytest.param(
            [send("p", 1, "q", position=1), send("p", 2, "q", position=0)],
            LINEAR_EXTENSION, "p", 1,
            "position 0 does not come after 1, the position of the event before it there, "
            "row 0 of memory",
            id="position against local order",
        ),
        pytest.param(
            # p:1 has no position, so that only the whole shows the contradiction.
            [event("join", "p", position=9), send("p", 1, "q"), deliver("q", "p:1", position=4)],
            LINEAR_EXTENSION, "p", 0,
            "no order of the events respects the positions that are given",
            id="positions with a hole",
        ),
        pytest.param(
            [deliver("p", "p:1"), send("p", 1, "p")],
            NO_CYCLE, "p", 0, "p has the deliver of p:1 (seq 0) before the send of p:1 (seq 1)",
            id="own copy before its send",
        ),
        pytest.param(
            [deliver("p", "q:1"), send("p", 1, "q"), receive("q", "p:1"), send("q", 1, "p")],
            NO_CYCLE, "p", 0,
            "p has the deliver of q:1 (seq 0) before the send of p:1 (seq 1), "
            "q has the receive of p:1 (seq 0) before the send of q:1 (seq 1)",
            id="cycle of two",
        ),
    ],
)  # fmt: skip
def test_broken_rule(rows: list[Row], rule: str, process: str, row: int, detail: str) -> None:
    with pytest.raises(BadTrace) as caught:
        load(*rows)
    assert caught.value.rule == rule
    assert caught.value.where == f"run 'r', process '{process}', row {row} of memory"
    assert str(caught.value) == f"{caught.value.where}: {detail} (rule: {rule})"


def test_run_null() -> None:
    with pytest.raises(BadTrace) as caught:
        trace_from_tables([table(send("p", 1, "q")), table(send("p", 1, "q"), run=None)], "memory")
    assert caught.value.rule == rules.NOT_NULL
    assert str(caught.value).startswith("row 1 of memory: column 'run' is null")


def test_cycle_leaves_out_who_only_waits_for_it() -> None:
    """c waits for a, which is in the cycle, but nothing of the cycle waits for c."""
    with pytest.raises(BadTrace) as caught:
        load(
            *[deliver("c", "a:1"), send("c", 1, "a")],
            *[deliver("a", "b:1"), send("a", 1, ["b", "c"])],
            *[deliver("b", "a:1"), send("b", 1, "a")],
        )
    assert caught.value.rule == NO_CYCLE
    assert caught.value.where == "run 'r', process 'a', row 2 of memory"
    assert "c has" not in str(caught.value)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([send("p", 1, "q"), deliver("p", "p:1")], id="own message not addressed"),
        pytest.param(
            [send("p", 1, "q"), receive("q", "p:1"), receive("q", "p:1")], id="received twice"
        ),
        pytest.param([send("p", 1, "qq"), deliver("q", "p:1")], id="addressed twice"),
        pytest.param([send("p", 1, ())], id="addressed to nobody"),
        pytest.param(
            [send("p", 1, "q"), deliver("q", "p:1", destinations=["q", None])],
            id="destinations beside a send",
        ),
        pytest.param([event(kind, "p") for kind in ("join", "view", "crash", "leave")], id="view"),
        pytest.param(
            [send("p", 1, "q"), send("p", 1, "q", layer="hop"), deliver("q", "p:1", layer="hop")],
            id="layers count apart",
        ),
    ],
)
def test_allowed(rows: list[Row]) -> None:
    assert len(load(*rows).events) == len(rows)


def test_positions_give_the_order() -> None:
    rows = positioned(
        send("p", 1, "q"), send("q", 1, "p"), deliver("p", "q:1"), deliver("q", "p:1")
    )
    expected = ["p send p:1", "q send q:1", "p deliver q:1", "q deliver p:1"]
    assert shown(load(*rows)) == expected
    by_process = sorted(rows, key=lambda row: str(row["process"]))
    assert shown(load(*by_process)) == expected


def test_order_is_computed_where_positions_are_missing() -> None:
    """The processes take turns; a delivery waits for its send."""
    rows: list[dict[str, Any]] = [
        *[deliver("q", "p:2"), deliver("q", "p:1"), send("q", 1, "p")],
        *[send("p", 1, "q"), send("p", 2, "q"), deliver("p", "q:1")],
    ]
    assert shown(load(*rows)) == [
        *["p send p:1", "p send p:2", "q deliver p:2"],
        *["q deliver p:1", "q send q:1", "p deliver q:1"],
    ]


def test_the_positions_that_are_given_are_kept() -> None:
    rows = [
        send("p", 1, (), position=7),
        send("q", 1, (), position=3),
        send("q", 2, ()),
        send("r", 1, (), position=5),
    ]
    order = [text for text in shown(load(*rows)) if text != "q send q:2"]
    assert order == ["q send q:1", "r send r:1", "p send p:1"]


def test_messages_are_numbered_per_layer_in_the_order_of_their_sends() -> None:
    run = load(
        *positioned(
            send("q", 1, "p"),
            send("p", 1, "q", layer="hop"),
            send("p", 1, "q"),
            event("view", "p"),
            deliver("q", "p:1"),
            deliver("q", "p:1", layer="hop"),
        )
    )
    assert run.events.message.tolist() == [0, 0, 1, -1, 1, 0]
    assert run.layer(0).message.tolist() == [0, 1, -1, 1]
    assert run.layer(1).message.tolist() == [0, 0]
