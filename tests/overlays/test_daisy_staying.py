"""Groups that stay as they are: schedules as chance has found them.

Each passes with all rules, and fails without the one that it is named after."""

from typing import Any

import pytest

from antecede.fuzzing import judge
from antecede.simulate import make_scenario
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import STAYING

SCHEDULES: dict[str, dict[str, Any]] = {
    "no-batch-is-no-group": {
        "options": {
            "tidy_s": 0.0224,
            "tick_s": 0.3,
            "suspect_after_s": 0.6,
            "forget_after_s": 39.787,
        },
        "processes": 9,
        "seed": 19000031014,
        "messages": 9,
        "workload": {
            "kind": "talks",
            "talks": [
                {"sender": 1, "to": [2, 4, 6], "share": 1.0},
                {"sender": 1, "to": [8], "share": 1.0},
                {"sender": 1, "to": [2, 4], "share": 1.0},
                {"sender": 1, "to": [0], "share": 1.0},
            ],
        },
        "rate": 0.0527,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0392},
            "loss": 0.201,
            "partitions": [
                {"start_s": 0.894, "end_s": 7.27, "sides": [[0, 7]], "packets": "lost"},
                {"start_s": 4.542, "end_s": 4.642, "sides": [[1, 2, 8, 4]], "packets": "lost"},
                {"start_s": 3.198, "end_s": 4.642, "sides": [[3], [0, 6]], "packets": "lost"},
                {"start_s": 7.99, "end_s": 10.681, "sides": [[0, 7]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 3, "time_s": 4.542}, {"process": 4, "time_s": 11.489}],
        "patience_s": 69.787,
    },
    "each-server-begins-to-wait": {
        "options": {
            "tidy_s": 0.0224,
            "tick_s": 0.3,
            "suspect_after_s": 0.6,
            "forget_after_s": 50.604,
        },
        "processes": 9,
        "seed": 1,
        "messages": 9,
        "workload": {
            "kind": "talks",
            "talks": [
                {"sender": 1, "to": [2, 4, 6], "share": 1.0},
                {"sender": 1, "to": [8], "share": 1.0},
                {"sender": 1, "to": [2, 4], "share": 1.0},
                {"sender": 1, "to": [0], "share": 1.0},
            ],
        },
        "rate": 0.0733,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.1},
            "loss": 0.201,
            "partitions": [
                {"start_s": 4.542, "end_s": 10.786, "sides": [[1, 2, 8, 4]], "packets": "lost"},
                {"start_s": 12.246, "end_s": 25.146, "sides": [[6]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 3, "time_s": 4.542}],
        "patience_s": 84.25200000000001,
    },
    "a-later-epoch-takes-all-groups": {
        "options": {"sizes": [2], "tick_s": 0.3, "forget_after_s": 7.128},
        "processes": 7,
        "seed": 47,
        "messages": 4,
        "workload": {"cascade": 0.0, "kind": "broadcast"},
        "rate": 0.214,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.1},
            "partitions": [
                {"start_s": 2.99, "end_s": 15.382, "sides": [[0, 1, 5, 6]], "packets": "held"},
                {"start_s": 4.479, "end_s": 12.314, "sides": [[0, 1, 3, 4]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 0, "time_s": 13.024}],
        "patience_s": 42.391999999999996,
    },
    "sends-down-though-behind": {
        "options": {"forget_after_s": 3.104},
        "processes": 6,
        "seed": 6,
        "messages": 9,
        "workload": {"cascade": 0.0, "kind": "broadcast"},
        "rate": 0.138,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.1},
            "partitions": [
                {"start_s": 1.044, "end_s": 15.962, "sides": [[3]], "packets": "lost"},
                {"start_s": 12.232, "end_s": 31.218, "sides": [[4, 5]], "packets": "lost"},
            ],
        },
        "patience_s": 88.956,
    },
    "begun-when-they-meet": {
        "options": {
            "tidy_s": 0.0224,
            "sizes": [3],
            "quorum": "majority",
            "tick_s": 0.3,
            "forward": "stable",
            "suspect_after_s": 0.6,
            "forget_after_s": 54.252,
        },
        "processes": 9,
        "seed": 760887812,
        "messages": 9,
        "workload": {
            "kind": "talks",
            "talks": [
                {"sender": 1, "to": [2, 4, 6], "share": 1.0},
                {"sender": 1, "to": [8], "share": 1.0},
                {"sender": 1, "to": [2, 4], "share": 1.0},
                {"sender": 1, "to": [0], "share": 1.0},
            ],
        },
        "rate": 0.0733,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0169},
            "loss": 0.201,
            "partitions": [
                {"start_s": 0.894, "end_s": 7.27, "sides": [[0, 7]], "packets": "lost"},
                {"start_s": 4.542, "end_s": 10.786, "sides": [[1, 2, 8, 4]], "packets": "lost"},
                {"start_s": 2.949, "end_s": 5.563, "sides": [[3], [0, 6]], "packets": "lost"},
                {"start_s": 12.246, "end_s": 25.146, "sides": [[6]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 3, "time_s": 4.542}, {"process": 4, "time_s": 13.061}],
        "patience_s": 84.25200000000001,
    },
    "only-who-serves-counts": {
        "options": {
            "tidy_s": 0.0224,
            "quorum": "majority",
            "tick_s": 0.3,
            "forward": "stable",
            "suspect_after_s": 0.6,
            "forget_after_s": 42.978,
        },
        "processes": 9,
        "seed": 7400000435,
        "messages": 4,
        "workload": {
            "kind": "talks",
            "talks": [
                {"sender": 1, "to": [2, 4, 6], "share": 1.0},
                {"sender": 1, "to": [8], "share": 1.0},
                {"sender": 1, "to": [2, 4], "share": 1.0},
                {"sender": 1, "to": [0], "share": 1.0},
            ],
        },
        "rate": 0.0527,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0392},
            "loss": 0.201,
            "partitions": [
                {"start_s": 0.894, "end_s": 7.27, "sides": [[0, 7]], "packets": "lost"},
                {"start_s": 4.542, "end_s": 10.786, "sides": [[1, 2, 8, 4]], "packets": "lost"},
                {"start_s": 3.198, "end_s": 4.642, "sides": [[3], [0, 6]], "packets": "lost"},
                {"start_s": 7.99, "end_s": 10.681, "sides": [[0, 7]], "packets": "lost"},
                {"start_s": 10.176, "end_s": 13.872, "sides": [[8, 4, 0, 3, 6]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 3, "time_s": 4.542}, {"process": 4, "time_s": 11.489}],
        "patience_s": 72.97800000000001,
    },
}


@pytest.mark.parametrize("rule", STAYING, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    scenario = make_scenario({"protocol": "daisy", **SCHEDULES[rule.name]})
    assert judge(scenario).failure is None
    assert judge(scenario, mutated("daisy", rule)).failure is not None
