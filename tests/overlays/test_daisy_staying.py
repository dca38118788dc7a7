"""Groups that stay, in which messages do not take the usual way or who is missing does not come
back: schedules as chance has found them.

Each passes with all rules, and fails without the one that it is named after."""

from typing import Any

import pytest

from antecede.fuzzing import judge
from antecede.simulate import make_scenario
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import STAYING


def _cut(start_s: float, end_s: float, *side: int) -> dict[str, Any]:
    return {"start_s": start_s, "end_s": end_s, "sides": [list(side)], "packets": "lost"}


A_GROUP_DIES: dict[str, Any] = {
    "processes": 12,
    "messages": 52,
    "workload": {"cascade": 0.592, "kind": "multicast", "size": 4},
    "rate": 0.405,
    "crashes": [
        {"process": 9, "time_s": 8.03},
        {"process": 11, "time_s": 2.414},
        {"process": 10, "time_s": 8.473},
        {"process": 6, "time_s": 1.678},
    ],
    "patience_s": 90.0,
}
"""With the server of the group beside it, which then waits for it."""

SCHEDULES: dict[str, dict[str, Any]] = {
    "calls-nobody-it-has-forgotten": {
        "options": {"forget_after_s": 3.248},
        "processes": 6,
        "seed": 6,
        "messages": 1,
        "workload": {"kind": "broadcast"},
        "rate": 0.149,
        "network": {"delay": "exponential:0.1", "partitions": [_cut(1.186, 12.879, 1, 4)]},
        "crashes": [{"process": 0, "time_s": 6.258}, {"process": 1, "time_s": 6.258}],
        "patience_s": 40.0,
    },
    "forgets-before-it-has-called": {
        "options": {
            "tidy_s": 0.384,
            "local": "recipients",
            "forward": "delivered",
            "sizes": [3, 2],
            "quorum": "majority",
            "tick_s": 0.3,
            "forget_after_s": 49.36,
            "copies": 12,
        },
        "processes": 12,
        "seed": 20005212,
        "messages": 55,
        "workload": {"cascade": 0.12, "kind": "unicast"},
        "rate": 0.247,
        "network": {
            "delay": "exponential:0.0374",
            "partitions": [
                _cut(1.561, 7.243, 4, 5, 7, 8, 10, 11),
                _cut(12.451, 14.947, 0, 1),
                _cut(3.604, 9.47, 0, 1),
                _cut(18.225, 20.921, 0, 2, 7, 8, 9),
            ],
        },
        "patience_s": 197.44,
    },
    "looks-for-a-lone-stray": {
        "options": {
            "local": "recipients",
            "forward": "delivered",
            "sizes": [3, 2],
            "forget_after_s": 44.945,
            "copies": 12,
        },
        "processes": 12,
        "seed": 7,
        "messages": 55,
        "workload": {"cascade": 0.12, "kind": "unicast"},
        "rate": 0.247,
        "network": {
            "delay": "exponential:0.1",
            "partitions": [_cut(2.272, 7.954, 4, 5, 7, 8, 10, 11)],
        },
        "patience_s": 119.89,
    },
    "looks-for-servers-in-silence": {
        "options": {"sizes": [3, 2], "quorum": "majority"},
        "processes": 12,
        "seed": 6,
        "messages": 52,
        "workload": {"cascade": 0.592, "kind": "multicast", "size": 4},
        "rate": 0.269,
        "network": {"delay": "exponential:0.1"},
        "crashes": [
            {"process": 7, "time_s": 0.856},
            {"process": 6, "time_s": 4.958, "back_s": 17.854},
            {"process": 9, "time_s": 3.199},
            {"process": 8, "time_s": 4.188},
        ],
        "patience_s": 97.083,
    },
    "nobody-watches-who-is-to-tell": {
        "options": {"forget_after_s": 5.188, "local": "recipients", "copies": 9},
        "processes": 9,
        "seed": 19000034435,
        "messages": 16,
        "workload": {
            "kind": "talks",
            "talks": [
                {"sender": 2, "to": [8], "share": 1.0},
                {"sender": 2, "to": [0], "share": 1.0},
            ],
        },
        "rate": 0.336,
        "network": {
            "delay": "exponential:0.0136",
            "partitions": [_cut(1.394, 12.278, 6), _cut(3.662, 26.262, 3, 4, 5, 8)],
        },
        "crashes": [{"process": 0, "time_s": 14.783}, {"process": 3, "time_s": 5.224}],
        "patience_s": 54.868,
    },
    "tells-a-gap-before-it-goes-on": {
        "options": {"local": "server", "sizes": [2], "quorum": "survivors"},
        "processes": 4,
        "seed": 19,
        "messages": 20,
        "workload": {"cascade": 0.0311, "kind": "unicast"},
        "rate": 97.7,
        "network": {"delay": "exponential:0.0109", "loss": 0.165},
        "crashes": [{"process": 2, "time_s": 0.063}],
        "patience_s": 120.0,
    },
    "the-senior-alone-forgets": {
        "options": {
            "tidy_s": 0.121,
            "forward": "delivered",
            "sizes": [3],
            "quorum": "majority",
            "tick_s": 0.3,
            "forget_after_s": 50.94,
        },
        "processes": 12,
        "seed": 4,
        "messages": 52,
        "workload": {"cascade": 0.0996, "kind": "multicast", "size": 4},
        "rate": 0.405,
        "network": {
            "delay": "exponential:0.0114",
            "loss": 0.143,
            "duplication": 0.017,
            "partitions": [
                _cut(8.609, 16.221, 3, 4, 5),
                {"start_s": 1.746, "end_s": 2.259, "sides": [[11], [4]], "packets": "lost"},
                _cut(15.721, 22.686, 3, 4, 5),
            ],
        },
        "crashes": [
            {"process": 9, "time_s": 8.03},
            {"process": 10, "time_s": 0.289},
            {"process": 2, "time_s": 1.678},
            {"process": 1, "time_s": 2.053},
        ],
        "patience_s": 101.88,
    },
    "those-above-wait-no-longer": {
        **A_GROUP_DIES,
        "options": {"sizes": [3, 2], "quorum": "majority"},
        "seed": 8018572,
        "network": {"delay": "exponential:0.1"},
    },
    "waits-for-groups-that-are-forgotten": {
        "options": {"sizes": [2], "forget_after_s": 7.111, "local": "recipients", "copies": 7},
        "processes": 7,
        "seed": 2,
        "messages": 21,
        "workload": {"cascade": 0.385, "kind": "multicast", "size": 4},
        "rate": 0.167,
        "network": {
            "delay": "exponential:0.1",
            "partitions": [_cut(3.006, 14.566, 2, 4), _cut(1.917, 5.909, 1, 2, 4)],
        },
        "crashes": [{"process": 0, "time_s": 11.622, "back_s": 18.015}],
        "patience_s": 42.649,
    },
    "waits-for-servers-no-longer-than-they-do": {
        **A_GROUP_DIES,
        "options": {
            "tidy_s": 0.121,
            "local": "server",
            "forward": "delivered",
            "sizes": [3, 2],
            "quorum": "majority",
            "tick_s": 0.3,
        },
        "seed": 7,
        "network": {"delay": "exponential:0.1", "loss": 0.143, "duplication": 0.017},
    },
    "waits-for-servers-that-have-stopped": {
        "options": {"local": "recipients", "copies": 6, "forget_after_s": 6.119},
        "processes": 6,
        "seed": 3,
        "messages": 8,
        "workload": {"cascade": 0.0939, "kind": "multicast", "size": 3},
        "rate": 0.1,
        "network": {"delay": "exponential:0.1", "partitions": [_cut(3.673, 12.279, 1, 2, 4, 5)]},
        "crashes": [{"process": 1, "time_s": 13.135}],
        "patience_s": 40.0,
    },
}


@pytest.mark.parametrize("rule", STAYING, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    scenario = make_scenario({"protocol": "daisy", **SCHEDULES[rule.name]})
    assert judge(scenario).failure is None
    assert judge(scenario, mutated("daisy", rule)).failure is not None
