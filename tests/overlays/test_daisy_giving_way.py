"""Groups that give way, and who has missed something meanwhile: schedules as chance has found them.

Each passes with all rules, and fails without the one that it is named after."""

from typing import Any

import pytest

from antecede.fuzzing import judge
from antecede.simulate import make_scenario
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import GIVING_WAY

WHAT_HAS_STRAYED: dict[str, Any] = {
    "options": {
        "sizes": [2],
        "quorum": "majority",
        "tick_s": 0.1,
        "tidy_s": 0.0217,
        "forget_after_s": 9.5,
        "split_servers_above": 3,
        "merge_servers_below": 2,
        "suspect_after_s": 0.7973,
        "flush_timeout_s": 0.39865,
    },
    "processes": 8,
    "seed": 52000073232,
    "messages": 30,
    "workload": {"cascade": 0.088, "kind": "multicast", "size": 4},
    "rate": 0.182,
    "network": {
        "delay": "exponential:0.0793",
        "partitions": [
            {"start_s": 0.926, "end_s": 19.645, "sides": [[2]], "packets": "held"},
            {"start_s": 2.26, "end_s": 27.48, "sides": [[1, 2, 3, 4, 5, 6]], "packets": "lost"},
        ],
    },
    "patience_s": 90.0,
}
"""The servers are split, as 0 alone hears, and the others found them anew without its group. 2 is
back with a message of 6 that follows one which it has never had."""

SCHEDULES: dict[str, dict[str, Any]] = {
    "leaves-with-what-is-for-its-group": WHAT_HAS_STRAYED,
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
    "keeps-to-itself-what-batches-tell": {
        "options": {
            "tidy_s": 0.0106,
            "local": "broadcast",
            "forward": "stable",
            "split_above": 4,
            "merge_below": 3,
            "sizes": [3, 2],
            "pack_s": 0.0148,
            "split_servers_above": 4,
            "merge_servers_below": 2,
            "quorum": "majority",
            "tick_s": 0.3,
            "forget_after_s": 43.829,
        },
        "processes": 12,
        "seed": 56000039286,
        "messages": 45,
        "workload": {"cascade": 0.272, "kind": "unicast"},
        "rate": 0.185,
        "network": {
            "loss": 0.0543,
            "delay": {"kind": "exponential", "mean_s": 0.0221},
            "partitions": [
                {"start_s": 2.594, "end_s": 8.908, "sides": [[3, 6, 9]], "packets": "lost"},
                {"start_s": 8.194, "end_s": 16.423, "sides": [[0, 10]], "packets": "lost"},
            ],
        },
        "joins": [
            {"process": 3, "time_s": 6.662},
            {"process": 6, "time_s": 7.79},
            {"process": 11, "time_s": 6.851},
        ],
        "crashes": [{"process": 1, "time_s": 2.609, "back_s": 9.37}],
        "patience_s": 239.145,
    },
}


OTHERS = ["proposes-two-changes-at-once", "tells-founders-alone"]
"""They show those rules no more."""


@pytest.mark.parametrize("rule", GIVING_WAY, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    scenario = make_scenario({"protocol": "daisy", **SCHEDULES[rule.name]})
    assert judge(scenario).failure is None
    assert judge(scenario, mutated("daisy", rule)).failure is not None
