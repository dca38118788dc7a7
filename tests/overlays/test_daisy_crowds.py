"""More newcomers than groups can take in at once: they wait for a split, where there is one."""

from typing import Any

import pytest

from antecede.fuzzing.judging import judge
from antecede.order import Event
from antecede.overlays.daisy import layer
from antecede.simulate import Scenario, make_scenario
from antecede.simulate.recorder import Recorder
from antecede.simulate.run import Simulation

CAME = range(4, 16)


def crowd(**options: Any) -> Scenario:
    """Twelve newcomers within a second, all beside the same two."""
    return make_scenario(
        {
            "protocol": "daisy",
            "processes": CAME.stop,
            "options": {"sizes": [4], "split_above": 4, **options},
            "joins": [
                {"process": one, "time_s": 0.5 + one / 16, "talks_with": [0, 1]} for one in CAME
            ],
            "messages": 40,
            "rate": 0.2,
            "patience_s": 60.0,
            "workload": {"kind": "multicast", "size": 2},
            "network": {"delay": "exponential:0.03"},
        }
    )


def largest(scenario: Scenario) -> int:
    simulation = Simulation(scenario, Recorder(None, None))
    simulation.run()
    views = [notice.members for notice in simulation.notices if notice.event is Event.VIEW]
    return max(members.bit_count() for members in views)


def test_groups_stay_small_and_everybody_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = crowd(split_servers_above=4)
    assert judge(scenario).failure is None
    assert largest(scenario) <= 8
    monkeypatch.setattr(layer, "_CROWDED", 0)
    assert largest(scenario) > 8


def test_a_group_that_nobody_splits_lets_everybody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = crowd()
    assert judge(scenario).failure is None
    assert largest(scenario) == CAME.stop
    monkeypatch.setattr(layer, "_splits", lambda node, options: True)
    assert judge(scenario).failure is None  # though some have to wait for `forget_after_s`
    failure = judge(crowd(forget_after_s=300.0)).failure
    assert failure is not None
    assert failure.kind == "outside"
