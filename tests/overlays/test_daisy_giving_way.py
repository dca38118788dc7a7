"""Groups that give way, and who has missed something meanwhile: schedules as chance has found them.

Each passes with all rules, and fails without the one that it is named after."""

from typing import Any

import pytest

from antecede.fuzzing import judge
from antecede.simulate import make_scenario
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import GIVING_WAY

SCHEDULES: dict[str, dict[str, Any]] = {
    "a-lone-group-waits-for-who-waits": {
        "options": {
            "tidy_s": 0.0398,
            "local": "broadcast",
            "forward": "stable",
            "split_above": 4,
            "merge_below": 3,
            "sizes": [3],
            "split_servers_above": 4,
            "merge_servers_below": 2,
            "quorum": "majority",
            "tick_s": 0.3,
            "forget_after_s": 48.804,
        },
        "processes": 9,
        "seed": 4,
        "messages": 53,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 1},
        "rate": 0.369,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0402},
            "loss": 0.0195,
            "partitions": [
                {"start_s": 1.171, "end_s": 3.687, "sides": [[2, 3, 7, 8]], "packets": "lost"},
                {"start_s": 4.0, "end_s": 7.207, "sides": [[0, 3, 6, 7, 8]], "packets": "held"},
                {"start_s": 9.082, "end_s": 12.499, "sides": [[0, 7, 8]], "packets": "held"},
                {"start_s": 13.265, "end_s": 18.971, "sides": [[1, 2, 4]], "packets": "held"},
                {"start_s": 12.116, "end_s": 19.975, "sides": [[0, 7, 8]], "packets": "held"},
            ],
        },
        "joins": [
            {"process": 2, "time_s": 6.296, "talks_with": []},
            {"process": 6, "time_s": 3.521, "talks_with": []},
        ],
        "patience_s": 127.608,
    },
    "agreed-for-ever": {
        "options": {
            "tidy_s": 0.543,
            "local": "broadcast",
            "forward": "stable",
            "split_above": 4,
            "merge_below": 3,
            "sizes": [2],
            "pack_s": 0.043,
            "quorum": "majority",
            "tick_s": 0.1,
            "forget_after_s": 6.0,
            "suspect_after_s": 0.6,
            "flush_timeout_s": 0.3,
        },
        "processes": 6,
        "seed": 7700000115,
        "messages": 28,
        "workload": {"cascade": 0.0615, "kind": "multicast", "size": 2},
        "rate": 0.39,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0117},
            "partitions": [
                {"start_s": 3.907, "end_s": 10.277, "sides": [[0, 3, 5]], "packets": "lost"},
                {"start_s": 0.01, "end_s": 8.431, "sides": [[2, 3, 1]], "packets": "held"},
                {"start_s": 5.668, "end_s": 9.822, "sides": [[1, 5]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 1, "time_s": 7.039}],
        "patience_s": 42.0,
    },
    "agrees-only-once": {
        "options": {
            "tidy_s": 0.0176,
            "local": "broadcast",
            "forward": "stable",
            "split_above": 4,
            "merge_below": 3,
            "sizes": [4, 2],
            "pack_s": 0.0627,
            "forget_after_s": 5.093,
            "split_servers_above": 3,
            "merge_servers_below": 2,
        },
        "processes": 10,
        "seed": 19,
        "messages": 39,
        "workload": {"cascade": 0.279, "kind": "unicast"},
        "rate": 0.893,
        "network": {
            "delay": {"kind": "uniform", "low_s": 0.0, "high_s": 0.0694},
            "loss": 0.0106,
            "partitions": [
                {"start_s": 1.624, "end_s": 13.029, "sides": [[3, 4, 5, 8, 9]], "packets": "held"}
            ],
        },
        "crashes": [{"process": 1, "time_s": 3.947}],
        "patience_s": 7.0,
    },
    "done-though-it-gives-way": {
        "options": {
            "sizes": [2, 2],
            "quorum": "majority",
            "tick_s": 0.1,
            "forget_after_s": 6.0,
            "split_above": 4,
            "merge_below": 3,
            "split_servers_above": 6,
            "merge_servers_below": 3,
            "suspect_after_s": 0.6,
            "flush_timeout_s": 0.3,
        },
        "processes": 9,
        "seed": 16,
        "messages": 9,
        "workload": {"cascade": 0.0, "kind": "unicast"},
        "rate": 0.0542,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0321},
            "partitions": [
                {"start_s": 1.384, "end_s": 10.726, "sides": [[0]], "packets": "lost"},
                {"start_s": 1.384, "end_s": 16.736, "sides": [[1]], "packets": "lost"},
                {"start_s": 1.425, "end_s": 11.441, "sides": [[1, 5]], "packets": "lost"},
                {"start_s": 11.47, "end_s": 25.857, "sides": [[0, 6, 8, 1]], "packets": "lost"},
                {"start_s": 6.947, "end_s": 8.688, "sides": [[3], [7, 8]], "packets": "lost"},
                {"start_s": 9.374, "end_s": 11.105, "sides": [[3], [7, 8]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 1, "time_s": 1.384}],
        "patience_s": 54.473,
    },
    "proposes-two-changes-at-once": {
        "options": {
            "tidy_s": 0.412,
            "local": "broadcast",
            "forward": "stable",
            "split_above": 4,
            "merge_below": 3,
            "sizes": [2, 2, 2],
            "forget_after_s": 8.771,
            "split_servers_above": 3,
            "merge_servers_below": 2,
            "quorum": "majority",
            "tick_s": 0.3,
        },
        "processes": 16,
        "seed": 7,
        "messages": 41,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 4},
        "rate": 0.148,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0319},
            "loss": 0.0205,
            "partitions": [
                {"start_s": 0.01, "end_s": 7.67, "sides": [[0, 2, 5, 7, 14]], "packets": "lost"},
                {
                    "start_s": 7.865,
                    "end_s": 25.396,
                    "sides": [[0, 2, 5, 12, 14]],
                    "packets": "lost",
                },
                {"start_s": 3.417, "end_s": 6.056, "sides": [[3]], "packets": "lost"},
                {"start_s": 24.728, "end_s": 35.247, "sides": [[0, 14]], "packets": "lost"},
            ],
        },
        "patience_s": 65.237,
    },
    "relabelled-in-silence": {
        "options": {
            "sizes": [2],
            "forget_after_s": 6.0,
            "merge_below": 3,
            "suspect_after_s": 0.6,
            "flush_timeout_s": 0.3,
        },
        "processes": 7,
        "seed": 305970747,
        "messages": 9,
        "workload": {"cascade": 0.0, "kind": "broadcast"},
        "rate": 0.791,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0149},
            "partitions": [
                {"start_s": 0.922, "end_s": 3.504, "sides": [[0, 4]], "packets": "lost"},
                {"start_s": 2.929, "end_s": 10.017, "sides": [[3, 4, 5, 6]], "packets": "lost"},
                {"start_s": 4.016, "end_s": 18.078, "sides": [[0, 5]], "packets": "lost"},
                {"start_s": 18.216, "end_s": 24.642, "sides": [[0, 5]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 1, "time_s": 1.646}],
        "patience_s": 53.72,
    },
    "splits-below-those-it-has-not-left": {
        "options": {
            "sizes": [2],
            "quorum": "majority",
            "tick_s": 0.3,
            "merge_below": 3,
            "split_above": 4,
            "split_servers_above": 6,
            "merge_servers_below": 3,
            "tidy_s": 0.0255,
            "forget_after_s": 40.152,
        },
        "processes": 5,
        "seed": 220591868,
        "messages": 16,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 1},
        "rate": 0.196,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0146},
            "partitions": [
                {"start_s": 1.693, "end_s": 4.52, "sides": [[1]], "packets": "held"},
                {"start_s": 1.081, "end_s": 11.233, "sides": [[1, 2]], "packets": "held"},
            ],
        },
        "joins": [{"process": 2, "time_s": 2.92, "talks_with": []}],
        "patience_s": 110.304,
    },
    "tells-founders-alone": {
        "options": {
            "tidy_s": 0.412,
            "local": "broadcast",
            "forward": "stable",
            "split_above": 4,
            "merge_below": 3,
            "sizes": [2, 2, 2],
            "forget_after_s": 8.771,
            "split_servers_above": 3,
            "merge_servers_below": 2,
            "quorum": "majority",
            "tick_s": 0.3,
        },
        "processes": 16,
        "seed": 9600301436,
        "messages": 41,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 4},
        "rate": 0.148,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0319},
            "loss": 0.0205,
            "partitions": [
                {"start_s": 0.01, "end_s": 7.67, "sides": [[0, 2, 5, 7, 14]], "packets": "lost"},
                {
                    "start_s": 7.865,
                    "end_s": 25.396,
                    "sides": [[0, 2, 5, 12, 14]],
                    "packets": "lost",
                },
                {"start_s": 3.417, "end_s": 6.056, "sides": [[3]], "packets": "lost"},
                {"start_s": 24.728, "end_s": 35.247, "sides": [[0, 14]], "packets": "lost"},
            ],
        },
        "patience_s": 65.237,
    },
    "told-to-one-that-was-replaced": {
        "options": {"sizes": [3], "forget_after_s": 5.0, "tidy_s": 0.05},
        "processes": 9,
        "seed": 695,
        "messages": 26,
        "workload": {"cascade": 0.3, "kind": "multicast", "size": 2},
        "rate": 0.15,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.1},
            "partitions": [
                {"start_s": 1.994, "end_s": 9.366, "sides": [[0, 1, 2, 4, 8]], "packets": "lost"},
                {"start_s": 8.782, "end_s": 16.36, "sides": [[0, 3, 4, 7, 8]], "packets": "lost"},
            ],
        },
        "patience_s": 120.0,
    },
}


OTHERS = ["proposes-two-changes-at-once", "tells-founders-alone"]
"""They show those rules no more."""


@pytest.mark.parametrize("rule", GIVING_WAY, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    scenario = make_scenario({"protocol": "daisy", **SCHEDULES[rule.name]})
    assert judge(scenario).failure is None
    assert judge(scenario, mutated("daisy", rule)).failure is not None


@pytest.mark.parametrize("name", sorted({*SCHEDULES} - {rule.name for rule in GIVING_WAY}))
def test_schedules_that_rules_had_pass(name: str) -> None:
    assert judge(make_scenario({"protocol": "daisy", **SCHEDULES[name]})).failure is None
