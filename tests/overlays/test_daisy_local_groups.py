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
    "nobody-says-that-a-server-is-sought": {
        "options": {"sizes": [3], "tick_s": 0.3, "forget_after_s": 5.68},
        "processes": 6,
        "seed": 4,
        "messages": 6,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 4},
        "rate": 0.3,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.02},
            "partitions": [
                {"start_s": 0.9, "end_s": 10.5, "sides": [[3]], "packets": "lost"},
                {"start_s": 0.9, "end_s": 18.5, "sides": [[4, 5]], "packets": "lost"},
                {"start_s": 17.3, "end_s": 1017.3, "sides": [[0], [3]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 5, "time_s": 0.9}],
        "patience_s": 60.0,
    },
    "nobody-passes-a-call-on": {
        "options": {
            "sizes": [2],
            "tick_s": 0.3,
            "split_above": 4,
            "merge_below": 3,
            "forget_after_s": 52.808,
        },
        "processes": 7,
        "seed": 510522,
        "messages": 6,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 3},
        "rate": 0.189,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.117},
            "partitions": [
                {"start_s": 2.695, "end_s": 13.905, "sides": [[0, 1, 3]], "packets": "lost"},
                {"start_s": 5.927, "end_s": 1005.927, "sides": [[0], [3]], "packets": "lost"},
            ],
        },
        "joins": [{"process": 2, "time_s": 3.218, "talks_with": []}],
        "patience_s": 135.616,
    },
    "groups-are-called-by-servers-alone": {
        "options": {
            "tidy_s": 0.0913,
            "sizes": [2],
            "tick_s": 0.3,
            "merge_below": 3,
            "forget_after_s": 53.261,
        },
        "processes": 6,
        "seed": 25000001717,
        "messages": 9,
        "workload": {"cascade": 0.14, "kind": "multicast", "size": 4},
        "rate": 0.17,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0187},
            "partitions": [
                {"start_s": 3.045, "end_s": 14.285, "sides": [[0, 5, 1]], "packets": "lost"},
                {"start_s": 2.086, "end_s": 1002.086, "sides": [[0], [3]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 2, "time_s": 7.713}],
        "patience_s": 159.783,
    },
    "all-levels-wait-alike": {
        "options": {
            "tidy_s": 0.138,
            "local": "broadcast",
            "forward": "stable",
            "split_above": 4,
            "merge_below": 3,
            "sizes": [2, 3, 4],
            "pack_s": 0.0579,
            "split_servers_above": 4,
            "merge_servers_below": 2,
            "forget_after_s": 34.516,
        },
        "processes": 10,
        "groups": [[0, 1, 2, 6, 7, 8, 9], [0, 1, 3, 5, 6, 8, 9]],
        "seed": 10,
        "messages": 74,
        "workload": {"cascade": 0.449, "kind": "groups"},
        "rate": 1.24,
        "network": {
            "delay": {"kind": "uniform", "low_s": 0.0, "high_s": 0.0385},
            "duplication": 0.0925,
            "partitions": [
                {
                    "start_s": 0.645,
                    "end_s": 2.8850000000000002,
                    "sides": [[0, 1, 2, 4, 5, 6, 8, 9]],
                    "packets": "held",
                },
                {
                    "start_s": 2.46,
                    "end_s": 3.891,
                    "sides": [[0, 1, 2, 4, 5, 6, 8, 9]],
                    "packets": "held",
                },
            ],
        },
        "crashes": [{"process": 6, "time_s": 3.451}, {"process": 4, "time_s": 5.248}],
        "patience_s": 168.064,
    },
    "comes-back-as-the-same": {
        "options": {
            "tidy_s": 0.217,
            "local": "broadcast",
            "forward": "stable",
            "split_above": 4,
            "merge_below": 3,
            "sizes": [4],
            "pack_s": 0.18,
            "split_rate": 1.332,
            "load_window_s": 0.423,
            "split_servers_above": 3,
            "merge_servers_below": 2,
            "quorum": "majority",
            "forget_after_s": 43.557,
        },
        "processes": 12,
        "seed": 21000020145,
        "messages": 26,
        "workload": {"cascade": 0.281, "kind": "multicast", "size": 2},
        "rate": 0.123,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0202},
            "partitions": [
                {"start_s": 3.88, "end_s": 8.86, "sides": [[0, 5, 6, 7]], "packets": "lost"}
            ],
        },
        "crashes": [{"process": 4, "time_s": 6.439}],
        "patience_s": 130.671,
    },
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
    "leaves-no-word-of-what-was-let-go": {
        "options": {
            "sizes": [2],
            "tick_s": 0.1,
            "forget_after_s": 6.0,
            "merge_below": 3,
            "suspect_after_s": 0.6,
            "flush_timeout_s": 0.3,
        },
        "processes": 7,
        "seed": 8800792,
        "messages": 9,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 2},
        "rate": 0.105,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0298},
            "partitions": [
                {"start_s": 3.805, "end_s": 6.587, "sides": [[0, 1, 5, 6]], "packets": "lost"},
                {"start_s": 5.254, "end_s": 14.328, "sides": [[0, 2, 3, 4]], "packets": "lost"},
            ],
        },
        "patience_s": 62.146,
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
        "seed": 7720689171,
        "messages": 53,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 1},
        "rate": 0.369,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0402},
            "loss": 0.0195,
            "partitions": [
                {"start_s": 1.576, "end_s": 4.01, "sides": [[2, 3, 7, 8]], "packets": "lost"},
                {"start_s": 3.703, "end_s": 7.149, "sides": [[0, 3, 6, 7, 8]], "packets": "held"},
                {"start_s": 9.428, "end_s": 12.335, "sides": [[0, 7, 8]], "packets": "held"},
                {"start_s": 12.884, "end_s": 21.116, "sides": [[0, 7, 8]], "packets": "held"},
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
        "seed": 7720838301,
        "messages": 53,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 1},
        "rate": 0.369,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0402},
            "loss": 0.0195,
            "partitions": [
                {"start_s": 1.2, "end_s": 3.288, "sides": [[2, 3, 7, 8]], "packets": "lost"},
                {"start_s": 3.468, "end_s": 6.675, "sides": [[0, 3, 6, 7, 8]], "packets": "held"},
                {"start_s": 9.282, "end_s": 12.822, "sides": [[0, 7, 8]], "packets": "held"},
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
    "serves-though-nobody-hears-it": {
        "options": {
            "sizes": [2],
            "tick_s": 0.3,
            "split_above": 4,
            "merge_below": 3,
            "forget_after_s": 52.808,
        },
        "processes": 7,
        "seed": 510522,
        "messages": 6,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 3},
        "rate": 0.189,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.117},
            "partitions": [
                {"start_s": 2.695, "end_s": 13.905, "sides": [[0, 1, 3]], "packets": "lost"},
                {"start_s": 5.927, "end_s": 1005.927, "sides": [[0], [3]], "packets": "lost"},
            ],
        },
        "joins": [{"process": 2, "time_s": 3.218, "talks_with": []}],
        "patience_s": 135.61599999999999,
    },
    "serves-until-its-group-begins": {
        "options": {"sizes": [2], "tick_s": 0.3, "merge_below": 3},
        "processes": 7,
        "seed": 510282,
        "messages": 8,
        "workload": {"cascade": 0.0, "kind": "multicast", "size": 3},
        "rate": 0.189,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.117},
            "partitions": [
                {"start_s": 2.695, "end_s": 13.905, "sides": [[0, 1, 3]], "packets": "lost"},
                {"start_s": 5.927, "end_s": 1005.927, "sides": [[0], [3]], "packets": "lost"},
            ],
        },
        "joins": [{"process": 2, "time_s": 3.218, "talks_with": []}],
        "crashes": [{"process": 2, "time_s": 13.957}],
        "patience_s": 135.61599999999999,
    },
    "keeps-to-itself-who-lacks-it": {
        "options": {
            "sizes": [2],
            "quorum": "majority",
            "tick_s": 0.1,
            "forget_after_s": 6.0,
            "merge_below": 3,
            "suspect_after_s": 0.6,
            "flush_timeout_s": 0.3,
        },
        "processes": 4,
        "seed": 31000011170,
        "messages": 9,
        "workload": {"cascade": 0.483, "kind": "multicast", "size": 1},
        "rate": 0.187,
        "network": {
            "delay": {"kind": "exponential", "mean_s": 0.0273},
            "partitions": [
                {"start_s": 0.73, "end_s": 8.775, "sides": [[0, 3]], "packets": "lost"},
                {"start_s": 2.461, "end_s": 9.662, "sides": [[0, 3]], "packets": "lost"},
                {"start_s": 9.037, "end_s": 10.392, "sides": [[2], [3]], "packets": "lost"},
            ],
        },
        "crashes": [{"process": 2, "time_s": 10.392}],
        "patience_s": 51.662,
    },
}


@pytest.mark.parametrize("rule", LOCAL_GROUPS, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    scenario = make_scenario({"protocol": "daisy", **SCHEDULES[rule.name]})
    assert judge(scenario).failure is None
    assert judge(scenario, mutated("daisy", rule)).failure is not None


@pytest.mark.parametrize("name", sorted({*SCHEDULES} - {rule.name for rule in LOCAL_GROUPS}))
def test_schedules_that_rules_had_pass(name: str) -> None:
    assert judge(make_scenario({"protocol": "daisy", **SCHEDULES[name]})).failure is None


def test_another_serves_where_the_only_two_servers_lose_their_link_for_good() -> None:
    cut = {"start_s": 2.0, "end_s": 1000.0, "sides": [[0], [3]], "packets": "lost"}
    fields: dict[str, Any] = {
        "options": {"sizes": [3]},
        "processes": 6,
        "seed": 1,
        "messages": 20,
        "workload": {"kind": "multicast", "size": 3},
        "rate": 0.5,
        "network": {"delay": {"kind": "exponential", "mean_s": 0.05}, "partitions": [cut]},
    }
    outcome = judge(make_scenario({"protocol": "daisy", **fields}))
    assert outcome.failure is None
    assert outcome.deliveries == 3 * outcome.messages
