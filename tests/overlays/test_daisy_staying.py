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


def those_who_knew_die(seed: int, from_s: float) -> dict[str, Any]:
    """3 is cut off from its group for longer than messages are kept. The others of the group die,
    who alone know what it has missed. Its link to 0 is cut for good, at some time."""
    sides = [
        (1.374, 8.856, [[3]]),
        (9.392, 19.071, [[4, 5]]),
        (6.65, 13.009, [[3]]),
        (from_s, 1000.0, [[0], [3]]),
        (13.138, 24.075, [[4, 5]]),
        (3.353, 10.414, [[0, 2, 4, 5]]),
    ]
    cuts = [
        {"start_s": start_s, "end_s": end_s, "sides": these, "packets": "lost"}
        for start_s, end_s, these in sides
    ]
    return {
        "options": {"sizes": [3], "tick_s": 0.3, "forget_after_s": 4.192},
        "processes": 6,
        "seed": seed,
        "messages": 26,
        "rate": 0.272,
        "workload": {
            "kind": "talks",
            "talks": [{"sender": 4, "to": [0, 3]}, {"sender": 4, "to": [5]}],
        },
        "network": {"delay": "exponential:0.0126", "partitions": cuts},
        "crashes": [{"process": 5, "time_s": 8.503}, {"process": 4, "time_s": 12.109}],
        "patience_s": 56.893,
    }


SCHEDULES: dict[str, dict[str, Any]] = {
    "large-groups-of-servers-count-more": {
        "options": {"sizes": [2, 2, 2], "tick_s": 0.3},
        "processes": 18,
        "seed": 28000003265,
        "messages": 57,
        "workload": {"cascade": 0.314, "kind": "multicast", "size": 3},
        "rate": 0.41,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.011},
            "partitions": [
                {"start_s": 2.943, "end_s": 1002.943, "sides": [[8], [0]], "packets": "held"}
            ],
        },
        "patience_s": 210.0,
    },
    "two-gaps-for-one-loss": {
        "processes": 9,
        "seed": 90210,
        "messages": 57,
        "rate": 0.4,
        "workload": {"kind": "multicast", "size": 4, "cascade": 0.6},
        "options": {"forget_after_s": 12.0, "local": "server"},
        "network": {
            "delay": "exponential:0.02",
            "partitions": [
                {"start_s": 2.62, "end_s": 27.97, "sides": [[2, 0, 3]], "packets": "lost"},
                {"start_s": 5.83, "end_s": 37.56, "sides": [[3, 8, 0, 6]], "packets": "lost"},
            ],
            "loss": 0.2,
        },
        "patience_s": 200,
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
    "those-above-wait-no-longer": {
        **A_GROUP_DIES,
        "options": {"sizes": [3, 2], "quorum": "majority"},
        "seed": 8018572,
        "network": {"delay": "exponential:0.1"},
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
                {"start_s": 12.246, "end_s": 24.77, "sides": [[6]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 3, "time_s": 4.559}],
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
        "processes": 6,
        "seed": 741,
        "messages": 14,
        "workload": {
            "kind": "talks",
            "talks": [{"sender": 4, "to": [3]}, {"sender": 4, "to": [0]}, {"sender": 0, "to": [3]}],
        },
        "rate": 0.1,
        "network": {
            "delay": "exponential:0.1",
            "partitions": [_cut(1.756, 14.208, 3), _cut(10.639, 19.242, 4, 5)],
        },
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
                {"start_s": 4.542, "end_s": 10.483, "sides": [[1, 2, 8, 4]], "packets": "lost"},
                {"start_s": 3.198, "end_s": 4.648, "sides": [[3], [0, 6]], "packets": "lost"},
                {"start_s": 7.99, "end_s": 10.681, "sides": [[0, 7]], "packets": "lost"},
                {"start_s": 10.176, "end_s": 13.942, "sides": [[8, 4, 0, 3, 6]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 3, "time_s": 4.542}, {"process": 4, "time_s": 11.489}],
        "patience_s": 72.97800000000001,
    },
    "brings-what-comes-down": {
        "options": {
            "tidy_s": 0.0463,
            "sizes": [4],
            "quorum": "majority",
            "tick_s": 0.3,
            "forward": "received",
            "forget_after_s": 31.258,
        },
        "processes": 12,
        "seed": 366796824,
        "messages": 18,
        "workload": {"cascade": 0.356, "kind": "multicast", "size": 2},
        "rate": 1.18,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.062},
            "partitions": [
                {
                    "start_s": 0.02,
                    "end_s": 1.278,
                    "sides": [[0, 4, 8], [1, 2, 3]],
                    "packets": "lost",
                }
            ],
        },
        "crashes": [
            {"process": 0, "time_s": 1.178},
            {"process": 4, "time_s": 1.178},
            {"process": 8, "time_s": 1.178},
            {"process": 9, "time_s": 5.346},
        ],
        "patience_s": 62.516,
    },
    "servers-call-nobody-who-lacks-it": those_who_knew_die(10, from_s=1.465),
    "servers-sleep-though-one-lacks-it": those_who_knew_die(34000016460, from_s=13.45),
    "learns-last-what-it-has-missed-itself": {
        "options": {"local": "recipients", "copies": 6, "forget_after_s": 7.13},
        "processes": 6,
        "seed": 41000002887,
        "messages": 7,
        "rate": 0.0533,
        "workload": {"cascade": 0.0717, "kind": "multicast", "size": 3},
        "network": {
            "delay": "exponential:0.0279",
            "partitions": [_cut(11.494, 23.402, 4, 5), _cut(0.986, 17.728, 3)],
        },
        "patience_s": 66.676,
    },
}


@pytest.mark.parametrize("rule", STAYING, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    scenario = make_scenario({"protocol": "daisy", **SCHEDULES[rule.name]})
    assert judge(scenario).failure is None
    assert judge(scenario, mutated("daisy", rule)).failure is not None
