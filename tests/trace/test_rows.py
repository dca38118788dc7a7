"""The one pass accepts what the rules accept, gives the same, and refuses everything else."""

from dataclasses import fields
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede import compiled
from antecede.errors import BadTrace
from antecede.trace import KINDS, LAYERS, Events, Run, rules, trace_from_tables
from antecede.trace.batch import Unusual
from antecede.trace.batches import batch_of_table
from antecede.trace.extension import NO_CYCLE
from antecede.trace.intake import Intake
from antecede.trace.prepare import accept
from antecede.trace.rows import SHORT
from tests.trace import test_rules as rule_by_rule
from tests.trace.builders import Row, deliver, event, positioned, receive, send, table
from tests.verify.executions import random_execution


def unchecked(rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run as the loader makes it, before any rule."""
    with monkeypatch.context() as patch:
        patch.setattr("antecede.trace.loader.check_run", lambda run, *_: run)
        (run,) = trace_from_tables([table(*rows)], "memory").runs
    return run


def same(one: Events, other: Events) -> bool:
    return all(
        np.array_equal(getattr(one, f.name), getattr(other, f.name), equal_nan=f.name == "time")
        for f in fields(Events)
    )


def cases(test: Any) -> list[Any]:
    (mark,) = [mark for mark in test.pytestmark if mark.name == "parametrize"]
    return list(mark.args[1])


@pytest.mark.parametrize("rows", [case.values[0] for case in cases(rule_by_rule.test_broken_rule)])
def test_broken_rules_are_refused(rows: list[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    """With positions, without which it would refuse anyway."""
    unaddressed = any(row["kind"] == "send" and row["destinations"] is None for row in rows)
    run = unchecked([*positioned(*rows)], monkeypatch)
    # Whether a list of destinations was there at all is not in the columns: the caller asks.
    assert unaddressed or accept(run) is None


@pytest.mark.parametrize("rows", [case.values[0] for case in cases(rule_by_rule.test_allowed)])
def test_what_is_allowed_is_accepted_or_left_to_the_rules(
    rows: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = unchecked([*positioned(*rows)], monkeypatch)
    expected = rules.check_each_rule(run, KINDS, LAYERS, np.empty(0, np.int64))
    accepted = accept(run)
    assert accepted is None or same(accepted.events, expected.events)


def test_random_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(200):
        execution = random_execution(Random(seed))
        times = execution.times(Random(seed))
        rows: list[Row] = []
        for happened in sorted(times, key=times.__getitem__):
            process, message = happened.process, happened.message
            if happened.kind == "send":
                to = Random(seed).sample(sorted(happened.destinations), len(happened.destinations))
                rows.append(send(process, message.number, to))
            elif happened.kind == "crash":
                rows.append(event("crash", process))
            else:
                row = deliver if happened.kind == "deliver" else receive
                rows.append(row(process, str(message)))
        run = unchecked(positioned(*rows), monkeypatch)
        accepted = accept(run)
        assert accepted is not None
        expected = rules.check_each_rule(run, KINDS, LAYERS, np.empty(0, np.int64))
        assert same(accepted.events, expected.events)


def test_long_lists_out_of_order(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"p{index}" for index in range(SHORT + 10)]
    rows = [event("join", name) for name in names]
    rows += [send("p0", 1, names[::-1]), *(deliver(name, "p0:1") for name in names)]
    run = unchecked(positioned(*rows), monkeypatch)
    expected = rules.check_each_rule(run, KINDS, LAYERS, np.empty(0, np.int64))
    accepted = accept(run)
    assert accepted is not None
    assert same(accepted.events, expected.events)


def test_errors_are_the_same_after_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is long enough for the quick pass."""
    monkeypatch.setattr(rules, "MUCH", 0)
    for case in cases(rule_by_rule.test_broken_rule):
        rule_by_rule.test_broken_rule(*case.values)
    for case in cases(rule_by_rule.test_allowed):
        rule_by_rule.test_allowed(*case.values)


def test_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "MUCH", 0)
    monkeypatch.setattr(rules, "MUCH", 0)
    for case in cases(rule_by_rule.test_broken_rule):
        rule_by_rule.test_broken_rule(*case.values)
    test_random_runs(monkeypatch)


def taken(rows: list[Row]) -> bool:
    """Whether the pass takes rows as they stand."""
    batch = batch_of_table(table(*rows))
    try:
        Intake(None, len(rows), timed=False).add(batch)
    except Unusual:
        return False
    return True


def told(seed: int) -> list[Row]:
    """The rows of a random execution, with copies to senders and membership."""
    random = Random(seed)
    execution = random_execution(random)
    times = execution.times(random)
    rows: list[Row] = []
    for happened in sorted(times, key=times.__getitem__):
        process, message = happened.process, happened.message
        if happened.kind == "send":
            to = sorted(happened.destinations)
            rows.append(send(process, message.number, to + to[: message.number % 2 == 0]))
            own = process not in to and random.random() < 0.3  # else it delivers it anyway
            rows += [deliver(process, str(message))] * own
        elif happened.kind == "crash":
            rows.append(event("crash", process))
        else:
            row = deliver if happened.kind == "deliver" else receive
            rows.append(row(process, str(message)))
    complete: list[Row] = table(*positioned(*rows)).to_pylist()
    return complete


def damage(random: Random, rows: list[Row]) -> None:
    """One thing about one row becomes another."""
    row = random.choice(rows)
    other = random.choice(rows)
    column = random.choice(
        ["kind", "layer", "process", "sender", "number", "seq", "position", "destinations", "row"]
    )
    if column == "row":
        rows.insert(rows.index(row), {**other})
    elif random.random() < 0.2:
        row[column] = None
    elif column in {"number", "seq", "position"}:
        row[column] = (row[column] or 0) + random.choice([-1, 1, 7, 2**40, -(2**40)])
    elif column == "destinations":
        row[column] = [*(row[column] or []), random.choice([other["process"], None, "nobody"])]
    else:
        words = {"kind": "explode", "layer": random.choice(["hop", "lower"])}
        row[column] = random.choice([other[column], words.get(column, "nobody")])


def check_damage(seed: int) -> str | None:
    """What the rules say of damaged rows; the pass refuses exactly these, and such as are allowed
    but out of order."""
    random = Random(seed)
    rows = told(seed % 100)
    for _ in range(random.choice([1, 1, 2])):
        damage(random, rows)
    broken = rule_broken_by(rows)
    positions = [row["position"] for row in rows]
    usual = None not in positions and positions == sorted({*positions})
    if broken or usual:
        assert taken(rows) == (broken is None)
    return broken


def rule_broken_by(rows: list[Row]) -> str | None:
    try:
        trace_from_tables([table(*rows)], "memory")
    except BadTrace as error:
        return error.rule
    return None


@settings(max_examples=100, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_the_pass_refuses_what_the_rules_refuse(seed: int) -> None:
    check_damage(seed)


def test_every_rule_is_broken_in_some_trace() -> None:
    """But for cycles: rows in order have none."""
    broken = {check_damage(seed) for seed in range(500)}
    assert broken >= {None, *rules.RULES} - {NO_CYCLE}


def test_a_long_trace_that_is_broken_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MUCH", 0)
    rows = [row for n in range(1, 50) for row in (send("p", n, "q"), deliver("q", f"p:{n}"))]
    rows[60]["seq"] = 99
    with pytest.raises(BadTrace, match="row 62 of memory: seq is 31, expected 30"):
        trace_from_tables([table(*positioned(*rows))], "memory")
