"""Advice follows from what was measured, and from what protocols promise."""

import json
import subprocess
import sys

import pytest

from antecede import advise as module
from antecede.advise import Advice, Matters, advise
from antecede.errors import Misuse
from antecede.message import Membership
from antecede.protocols import find, is_overlay, names, parse_options

UNICAST = {"processes": 4, "workload": {"kind": "unicast"}}


@pytest.fixture(scope="module")
def unicast() -> Advice:
    return advise(UNICAST)


def test_the_best_comes_first(unicast: Advice) -> None:
    values = [one.value(Matters.BYTES) for one in unicast.finalists]
    assert values == sorted(values)
    assert 1 < len(values) <= 4
    assert all(value <= 2 * values[0] for value in values[2:])
    assert all(one.value(Matters.BYTES) >= values[0] for one in unicast.others)


def test_what_cannot_do_it_is_ruled_out_with_a_reason(unicast: Advice) -> None:
    reasons = {out.protocol: out.reason for out in unicast.ruled_out}
    assert reasons["none"] == reasons["fifo"] == "does not promise causal order"
    assert "can address only whole groups" in reasons["vector"]
    compared = {one.protocol for one in (*unicast.finalists, *unicast.others)}
    assert not compared & reasons.keys()
    assert {"optimal", "matrix", "pairs", "daisy"} <= compared


def test_what_matters_changes_the_advice(unicast: Advice) -> None:
    """Unless nothing is steady, and no advice is worth more than another."""
    by_delay = advise(UNICAST, Matters.DELAY)
    delays = [one.delay_s for one in (*by_delay.finalists, *by_delay.others)]
    assert delays[0] == min(delays)
    assert by_delay.finalists[0].delay_s <= unicast.finalists[0].delay_s


def test_crashes_leave_few() -> None:
    found = advise({"processes": 4, "workload": {"kind": "broadcast"}}, crashes=True)
    able = {one.name: one for one in (*found.finalists, *found.others)}
    assert set(able) == {"daisy", "pairs recovery=rollback"}
    assert able["pairs recovery=rollback"].takes_back


def test_among_many_what_a_short_run_shows_to_be_hopeless_runs_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And it is told how long the others take."""
    monkeypatch.setattr(module, "MANY", 3)
    monkeypatch.setattr(module, "DOUBTFUL", 2.0)
    monkeypatch.setattr(module, "MOST_COPIES", 300)
    told: list[str] = []
    found = advise(UNICAST, tell=lambda now, *_: told.append(now))
    assert 8 in {one.messages for one in found.others}
    assert {one.messages for one in found.finalists} <= {200, 300}
    assert "left" not in told[0]
    assert "about" in told[-1]


@pytest.mark.parametrize("processes", range(2, 8))
def test_the_options_that_are_compared_are_allowed(processes: int) -> None:
    """Also among few processes, where 4n is more than n²."""
    for name in names():
        for options in find(name).options_type.compared(processes):
            allowed = parse_options(name, options, processes)
            if not is_overlay(name):
                find(name).variant(allowed)(0, Membership(processes), allowed)


def test_a_scenario_that_is_wrong_is_refused_once() -> None:
    with pytest.raises(Misuse, match="needs at least 2 processes"):
        advise({"processes": 1, "workload": {"kind": "unicast"}})


def test_the_command() -> None:
    words = ["advise", "--processes", "4", "--workload", "unicast", "--loss", "0.1", "--json"]
    told = subprocess.check_output([sys.executable, "-m", "antecede", *words], text=True)
    found = json.loads(told)
    assert found["finalists"][0]["protocol"] in ("daisy", "piggyback")
    assert {"protocol": "vector", "reason": found["ruled_out"][-1]["reason"]} in found["ruled_out"]
