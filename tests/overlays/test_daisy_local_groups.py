"""Local groups that split and merge, who is away from them, who serves them: schedules as chance
has found them.

Each passes with all rules, and fails without the one that it is named after."""

from typing import Any

import pytest

from antecede.fuzzing import judge
from antecede.simulate import make_scenario
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import LOCAL_GROUPS

SCHEDULES: dict[str, dict[str, Any]] = {
    "only-the-server-gives-notice": {
        "options": {
            "tidy_s": 0.711,
            "sizes": [2],
            "forget_after_s": 6.0,
            "merge_below": 3,
            "suspect_after_s": 0.6,
            "flush_timeout_s": 0.3,
        },
        "processes": 4,
        "seed": 507909288,
        "messages": 23,
        "workload": {"cascade": 0.0, "kind": "unicast"},
        "rate": 1.41,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0906},
            "loss": 0.123,
            "partitions": [
                {"start_s": 1.886, "end_s": 3.28, "sides": [[0], [1, 2]], "packets": "lost"}
            ],
        },
        "crashes": [{"process": 0, "time_s": 3.28, "back_s": 10.148}],
        "patience_s": 43.394,
    },
    "the-forgotten-are-not-called": {
        "options": {
            "sizes": [3],
            "forget_after_s": 5.0,
            "suspect_after_s": 0.5,
            "flush_timeout_s": 0.25,
        },
        "processes": 6,
        "seed": 4,
        "messages": 3,
        "workload": {"cascade": 0.0, "kind": "broadcast"},
        "rate": 0.15,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.05},
            "partitions": [{"start_s": 2.09, "end_s": 14.09, "sides": [[5]], "packets": "lost"}],
        },
        "crashes": [
            {"process": 0, "time_s": 0.5},
            {"process": 1, "time_s": 0.5},
            {"process": 2, "time_s": 0.5},
        ],
        "patience_s": 40.0,
    },
    "followers-are-newcomers": {
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
            "forget_after_s": 50.021,
        },
        "processes": 9,
        "seed": 7720000421,
        "messages": 53,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 1},
        "rate": 0.369,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0402},
            "loss": 0.0195,
            "partitions": [
                {"start_s": 1.171, "end_s": 3.687, "sides": [[2, 3, 7, 8]], "packets": "lost"},
                {"start_s": 3.468, "end_s": 6.675, "sides": [[0, 3, 6, 7, 8]], "packets": "held"},
                {"start_s": 9.082, "end_s": 12.499, "sides": [[0, 7, 8]], "packets": "held"},
                {"start_s": 12.786, "end_s": 21.192, "sides": [[0, 7, 8]], "packets": "held"},
                {
                    "start_s": 12.041,
                    "end_s": 13.972,
                    "sides": [[0, 7, 8, 1, 2, 3, 5, 6]],
                    "packets": "held",
                },
            ],
        },
        "joins": [
            {"process": 2, "time_s": 6.296, "talks_with": []},
            {"process": 6, "time_s": 3.521, "talks_with": []},
        ],
        "patience_s": 130.042,
    },
    "followers-wait-until-it-begins": {
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
            "forget_after_s": 50.021,
        },
        "processes": 9,
        "seed": 7720000421,
        "messages": 53,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 1},
        "rate": 0.369,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0402},
            "loss": 0.0195,
            "partitions": [
                {"start_s": 1.171, "end_s": 3.687, "sides": [[2, 3, 7, 8]], "packets": "lost"},
                {"start_s": 3.468, "end_s": 6.675, "sides": [[0, 3, 6, 7, 8]], "packets": "held"},
                {"start_s": 9.082, "end_s": 12.807, "sides": [[0, 7, 8]], "packets": "held"},
                {"start_s": 12.786, "end_s": 21.192, "sides": [[0, 7, 8]], "packets": "held"},
            ],
        },
        "joins": [
            {"process": 2, "time_s": 6.296, "talks_with": []},
            {"process": 6, "time_s": 3.521, "talks_with": []},
        ],
        "patience_s": 130.042,
    },
    "dissolves-in-silence": {
        "options": {
            "sizes": [2, 2],
            "forget_after_s": 6.0,
            "split_above": 4,
            "merge_below": 3,
            "split_servers_above": 6,
            "merge_servers_below": 3,
            "suspect_after_s": 0.6,
            "flush_timeout_s": 0.3,
        },
        "processes": 9,
        "seed": 384371429,
        "messages": 7,
        "workload": {"cascade": 0.0, "kind": "unicast"},
        "rate": 0.0542,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0321},
            "partitions": [
                {"start_s": 1.384, "end_s": 10.726, "sides": [[0]], "packets": "lost"},
                {"start_s": 1.114, "end_s": 16.466, "sides": [[1, 2]], "packets": "lost"},
                {"start_s": 11.196, "end_s": 21.458, "sides": [[1, 2, 6]], "packets": "lost"},
                {"start_s": 15.949, "end_s": 29.766, "sides": [[3, 5, 7]], "packets": "lost"},
                {"start_s": 11.545, "end_s": 15.799, "sides": [[2, 3, 4]], "packets": "lost"},
            ],
        },
        "patience_s": 76.652,
    },
    "the-first-group-goes-on": {
        "options": {
            "sizes": [2, 2],
            "forget_after_s": 6.0,
            "split_above": 4,
            "merge_below": 3,
            "split_servers_above": 6,
            "merge_servers_below": 3,
            "suspect_after_s": 0.6,
            "flush_timeout_s": 0.3,
        },
        "processes": 9,
        "seed": 520694,
        "messages": 9,
        "workload": {"cascade": 0.0, "kind": "unicast"},
        "rate": 0.0542,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0321},
            "partitions": [
                {"start_s": 1.384, "end_s": 10.726, "sides": [[0]], "packets": "lost"},
                {"start_s": 1.114, "end_s": 16.466, "sides": [[1, 2]], "packets": "lost"},
                {"start_s": 11.196, "end_s": 21.458, "sides": [[1, 2, 6]], "packets": "lost"},
                {"start_s": 15.949, "end_s": 29.766, "sides": [[3, 5, 7]], "packets": "lost"},
                {"start_s": 11.545, "end_s": 15.799, "sides": [[2, 3, 4]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 0, "time_s": 11.868}, {"process": 2, "time_s": 12.551}],
        "patience_s": 58.652,
    },
    "moves-empty-handed": {
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
    "forgets-before-it-is-told": {
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
        "seed": 2,
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
        "patience_s": 41.405,
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
                {"start_s": 9.59, "end_s": 18.036, "sides": [[6]], "packets": "lost"},
            ],
        },
        "patience_s": 46.042,
    },
}


@pytest.mark.parametrize("rule", LOCAL_GROUPS, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    scenario = make_scenario({"protocol": "daisy", **SCHEDULES[rule.name]})
    assert judge(scenario).failure is None
    assert judge(scenario, mutated("daisy", rule)).failure is not None
