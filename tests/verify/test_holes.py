"""Persistent causal holes, by hand, planted into real runs, and by the definition."""

from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from antecede.simulate import make_scenario, simulate
from antecede.trace import read_trace, trace_from_tables
from antecede.verify.holes import Hole, find_holes
from tests.trace.builders import deliver, event, load, send

FIGURE_2 = [
    *[send("a", 1, "b"), send("a", 2, "c"), deliver("c", "a:2")],
    *[send("c", 1, "b"), event("crash", "a")],
]


def test_figure_2_has_one() -> None:
    [hole] = find_holes(load(*FIGURE_2))
    assert hole == Hole("r", "b", "a:1", ("c:1",), (), is_sender_crashed=True)
    assert hole.sentence() == "b never delivered a:1, whose sender crashed; c:1 waited for it"


def test_a_message_that_nothing_depends_on_opens_none() -> None:
    assert find_holes(load(send("a", 1, "b"), send("c", 1, "b"), deliver("b", "c:1"))) == []


def test_what_is_delivered_across_the_hole_is_a_gap() -> None:
    [hole] = find_holes(load(*FIGURE_2, deliver("b", "c:1")))
    assert (hole.waiting, hole.crossed) == ((), ("c:1",))
    assert hole.sentence().endswith("c:1 came without it")


def test_the_dead_are_owed_nothing() -> None:
    assert find_holes(load(*FIGURE_2, event("crash", "b"))) == []


def test_only_the_first_of_a_chain_opens_a_hole() -> None:
    rows = [send("a", number, "b") for number in (1, 2, 3)]
    [hole] = find_holes(load(*rows))
    assert (hole.message, hole.waiting) == ("a:1", ("a:2", "a:3"))
    assert not hole.is_sender_crashed


def test_one_who_came_back_is_owed_what_was_sent_with_word_of_that() -> None:
    back = [event("crash", "b"), event("join", "b")]
    unaware = [*back, send("a", 1, "b"), send("a", 2, "b"), deliver("b", "a:2")]
    assert find_holes(load(*unaware)) == []
    aware = [*back, send("b", 1, "a"), deliver("a", "b:1"), send("a", 1, "b"), send("a", 2, "b")]
    [hole] = find_holes(load(*aware))
    assert hole.message == "a:1"
    assert find_holes(load(*aware, deliver("b", "a:1"))) == []


@pytest.mark.parametrize("protocol", ["vector", "matrix"])
def test_a_lost_copy_is_found_in_a_run(protocol: str, tmp_path: Path) -> None:
    """Delivery rows are taken out of a trace without holes; each must be seen."""
    trace = tmp_path / "run.parquet"
    data = {"protocol": protocol, "processes": 5, "messages": 60, "seed": 2}
    simulate(make_scenario(data), trace)
    [run] = read_trace(trace).runs
    assert find_holes(run) == []
    rows = pq.read_table(trace).to_pylist()
    deliveries = [row for row in rows if row["kind"] == "deliver" and row["number"] <= 3]
    for lost in Random(1).sample(deliveries, 8):
        if lost["sender"] == lost["process"]:
            continue
        kept = [row for row in rows if row is not lost]
        for row in kept:
            if row["process"] == lost["process"] and row["seq"] > lost["seq"]:
                row.update(seq=row["seq"] - 1)
        planted = pq.read_table(trace).from_pylist(kept, schema=pq.read_schema(trace))
        [broken] = trace_from_tables([planted], "memory").runs
        holes = [(hole.process, hole.message) for hole in find_holes(broken)]
        assert holes == [(lost["process"], f"{lost['sender']}:{lost['number']}")]
        for row in kept:
            if row["process"] == lost["process"] and row["seq"] >= lost["seq"]:
                row.update(seq=row["seq"] + 1)


def test_a_plain_protocol_leaves_holes_behind_when_copies_are_lost(tmp_path: Path) -> None:
    trace = tmp_path / "run.parquet"
    data = {"protocol": "vector", "processes": 4, "messages": 40, "seed": 2}
    simulate(make_scenario({**data, "network": {"loss": 0.1}, "crashes": []}), trace)
    [run] = read_trace(trace).runs
    holes = find_holes(run)
    assert holes
    assert all(hole.waiting and not hole.crossed for hole in holes)
