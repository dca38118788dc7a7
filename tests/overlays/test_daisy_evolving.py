"""Groups that split, merge, dissolve and freeze while others are cut off, die or come: schedules
that chance has found.

Each passes with all rules, and fails without the one that it is named after."""

from typing import Any

import pytest

from antecede.fuzzing import judge
from antecede.simulate import make_scenario
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import EVOLVING

HEARD_OUT_OF_TURN: dict[str, Any] = {
    "options": {
        "tidy_s": 0.103,
        "sizes": [2, 2],
        "quorum": "majority",
        "tick_s": 0.3,
        "split_above": 4,
        "merge_below": 3,
        "split_servers_above": 6,
        "merge_servers_below": 3,
        "forget_after_s": 10.0,
    },
    "processes": 8,
    "seed": 3000010797,
    "messages": 12,
    "workload": {"cascade": 0.264, "kind": "broadcast"},
    "rate": 0.11,
    "network": {"delay": "exponential:0.115"},
    "crashes": [
        {"process": 0, "time_s": 6.451},
        {"process": 2, "time_s": 9.901},
        {"process": 4, "time_s": 13.362},
        {"process": 7, "time_s": 1.415},
    ],
    "patience_s": 50.0,
}
"""Groups merge under servers into which others have dissolved. 1 hears of the merge first, and of
the servers that dissolved later."""
THE_ONE_WHO_CALLS_DIES: dict[str, Any] = {
    "options": {
        "tidy_s": 0.201,
        "sizes": [2],
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 7.382,
        "split_servers_above": 3,
        "merge_servers_below": 2,
    },
    "processes": 6,
    "seed": 3000009648,
    "messages": 9,
    "workload": {"cascade": 0.183, "kind": "multicast", "size": 3},
    "rate": 0.0824,
    "network": {
        "delay": "exponential:0.0279",
        "loss": 0.0876,
        "partitions": [
            {"start_s": 3.661, "end_s": 14.982, "sides": [[0, 1, 2, 5]], "packets": "lost"},
            {"start_s": 1.024, "end_s": 11.789, "sides": [[3, 4]], "packets": "held"},
        ],
    },
    "joins": [{"process": 4, "time_s": 4.755}],
    "crashes": [{"process": 2, "time_s": 17.632}],
    "patience_s": 43.958,
}
"""3 was cut off, has missed something and sleeps. 2, which serves its group, dies when nothing
goes on any more."""
SPLIT_WHEN_THE_SERVERS_ARE_LEFT: dict[str, Any] = {
    "options": {
        "tidy_s": 0.268,
        "local": "broadcast",
        "forward": "stable",
        "split_above": 4,
        "merge_below": 3,
        "sizes": [2],
        "split_servers_above": 4,
        "merge_servers_below": 2,
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 10.0,
    },
    "processes": 5,
    "seed": 4,
    "messages": 27,
    "workload": {"cascade": 0.204, "kind": "multicast", "size": 2},
    "rate": 0.949,
    "network": {"delay": "exponential:0.0747"},
    "joins": [{"process": 4, "time_s": 1.237}],
    "crashes": [{"process": 2, "time_s": 2.04, "back_s": 4.131}],
    "patience_s": 40.0,
}
"""All groups merge, newcomers come, and the one group that is left is split before its server has
left the servers that were."""
A_CROWD_WAITS_FOR_A_SPLIT: dict[str, Any] = {
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
        "forget_after_s": 41.328,
    },
    "processes": 9,
    "seed": 4,
    "messages": 53,
    "workload": {"kind": "multicast", "size": 1},
    "rate": 0.369,
    "network": {
        "delay": "exponential:0.0402",
        "loss": 0.0195,
        "partitions": [
            {"start_s": 1.171, "end_s": 3.687, "sides": [[2, 3, 7, 8]], "packets": "lost"},
            {"start_s": 3.468, "end_s": 6.675, "sides": [[0, 3, 6, 7, 8]], "packets": "held"},
            {"start_s": 9.082, "end_s": 12.499, "sides": [[0, 7, 8]], "packets": "held"},
        ],
    },
    "joins": [{"process": 2, "time_s": 6.296}, {"process": 6, "time_s": 3.521}],
    "patience_s": 71.328,
}
"""One group is left, twice as large as it should be. 8 is away, and is let in only when it is
split."""
FROZEN_AND_MERGED: dict[str, Any] = {
    "options": {
        "tidy_s": 0.286,
        "local": "broadcast",
        "forward": "stable",
        "split_above": 4,
        "merge_below": 3,
        "sizes": [4, 4],
        "split_servers_above": 3,
        "merge_servers_below": 2,
        "quorum": "survivors",
        "forget_after_s": 10.0,
    },
    "processes": 10,
    "seed": 10,
    "messages": 57,
    "workload": {"cascade": 0.517, "kind": "unicast"},
    "rate": 3.28,
    "network": {
        "delay": "uniform:0,0.0378",
        "loss": 0.125,
        "links": [
            {"from": [8], "to": [1], "delay": "constant:0.166667"},
            {"from": [8], "to": [9], "delay": "constant:0.001"},
        ],
    },
    "crashes": [{"process": 5, "time_s": 1.45}, {"process": 6, "time_s": 1.78, "back_s": 1.957}],
    "patience_s": 50.0,
}
"""Four groups are too many for their servers, which freeze; then two of them are merged."""
MERGED_BEHIND_A_CUT: dict[str, Any] = {
    "options": {
        "sizes": [2],
        "quorum": "majority",
        "tick_s": 0.3,
        "split_above": 4,
        "merge_below": 3,
        "forget_after_s": 40.554,
    },
    "processes": 6,
    "seed": 3000012088,
    "messages": 18,
    "workload": {"cascade": 0.336, "kind": "unicast"},
    "rate": 0.156,
    "network": {
        "delay": "exponential:0.0221",
        "partitions": [
            {"start_s": 3.958, "end_s": 14.512, "sides": [[0, 2, 5]], "packets": "lost"}
        ],
    },
    "crashes": [{"process": 0, "time_s": 7.545}, {"process": 1, "time_s": 7.545}],
    "patience_s": 70.554,
}
"""Behind a cut, a part of a group is merged with others, who die. The rest of it does not
know."""
A_FOUNDER_DIES_IN_A_SPLIT: dict[str, Any] = {
    "options": {
        "tidy_s": 0.03,
        "local": "broadcast",
        "forward": "stable",
        "split_above": 4,
        "merge_below": 3,
        "sizes": [4, 3],
        "split_servers_above": 3,
        "merge_servers_below": 2,
        "quorum": "survivors",
        "forget_after_s": 10.0,
    },
    "processes": 9,
    "seed": 3100006513,
    "messages": 19,
    "workload": {"cascade": 0.36, "kind": "multicast", "probability": 0.295},
    "rate": 5.26,
    "network": {
        "delay": "exponential:0.0605",
        "links": [
            {"from": [5], "to": [8], "delay": "constant:0.5"},
            {"from": [1], "to": [4], "delay": "constant:0.5"},
        ],
    },
    "crashes": [{"process": 6, "time_s": 0.327}],
    "patience_s": 50.0,
}
"""The first founder of a half dies: it takes the others ten seconds to be among the servers."""
FORGOTTEN_BY_SERVERS_THAT_END: dict[str, Any] = {
    "options": {
        "tidy_s": 0.456,
        "sizes": [2, 2],
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 7.911,
        "split_servers_above": 6,
        "merge_servers_below": 3,
        "split_above": 4,
        "merge_below": 3,
    },
    "processes": 8,
    "seed": 3100001189,
    "messages": 25,
    "workload": {"cascade": 0.125, "kind": "multicast", "size": 3},
    "rate": 0.3,
    "network": {
        "delay": "exponential:0.0371",
        "partitions": [
            {"start_s": 2.001, "end_s": 5.507, "sides": [[4, 6, 7]], "packets": "lost"},
            {"start_s": 1.259, "end_s": 4.095, "sides": [[2, 4]], "packets": "lost"},
            {"start_s": 7.165, "end_s": 17.919, "sides": [[0, 2, 4, 5]], "packets": "lost"},
        ],
    },
    "patience_s": 46.66,
}
"""Servers that dissolve forget a group which is cut off: it is below others from then on."""
BACK_WHEN_THE_SERVERS_HAVE_ENDED: dict[str, Any] = {
    "options": {
        "sizes": [2, 2],
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 5.266,
        "split_servers_above": 5,
        "merge_servers_below": 3,
    },
    "processes": 8,
    "seed": 3,
    "messages": 29,
    "workload": {"kind": "multicast", "size": 2},
    "rate": 0.274,
    "network": {
        "delay": "exponential:0.0612",
        "partitions": [
            {"start_s": 1.145, "end_s": 7.639, "sides": [[3, 4]], "packets": "lost"},
            {"start_s": 1.195, "end_s": 12.161, "sides": [[5, 6, 7]], "packets": "lost"},
        ],
    },
    "patience_s": 4.0,
}
"""6 was cut off from servers that have dissolved meanwhile, and has sent something there in
vain."""
SPLIT_BEHIND_A_CUT: dict[str, Any] = {
    "options": {
        "tidy_s": 0.318,
        "local": "broadcast",
        "forward": "stable",
        "split_above": 4,
        "merge_below": 3,
        "sizes": [4],
        "split_rate": 0.615,
        "load_window_s": 0.927,
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 72.24799999999999,
    },
    "processes": 12,
    "seed": 3100000752,
    "messages": 31,
    "workload": {"cascade": 0.189, "kind": "unicast"},
    "rate": 0.142,
    "network": {
        "delay": "exponential:0.0534",
        "loss": 0.116,
        "partitions": [
            {
                "start_s": 2.807,
                "end_s": 15.493,
                "sides": [[2, 3], [0, 4, 5, 6, 7], [1, 8, 9, 10, 11]],
                "packets": "lost",
            },
            {
                "start_s": 15.37,
                "end_s": 45.055,
                "sides": [[2, 3], [0, 4, 5, 6, 7], [1, 8, 9, 10, 11]],
                "packets": "lost",
            },
        ],
    },
    "joins": [{"process": 7, "time_s": 5.862}, {"process": 8, "time_s": 2.346}],
    "patience_s": 102.24799999999999,
}
"""5 and 6 are to be split from 9, 10 and 11, who do not know and go on without them. Some of what
10 sends goes to 6 alone, and what it sends later to others."""
MERGED_AND_DISSOLVED_AT_ONCE: dict[str, Any] = {
    "options": {
        "sizes": [2],
        "quorum": "majority",
        "tick_s": 0.3,
        "merge_below": 3,
        "split_above": 4,
        "split_servers_above": 6,
        "merge_servers_below": 3,
        "forget_after_s": 39.576,
        "tidy_s": 0.0255,
    },
    "processes": 5,
    "seed": 232,
    "messages": 16,
    "workload": {"kind": "multicast", "size": 1},
    "rate": 0.196,
    "network": {
        "delay": "exponential:0.0146",
        "partitions": [
            {"start_s": 1.693, "end_s": 10.657, "sides": [[1]], "packets": "held"},
            {"start_s": 1.081, "end_s": 8.187, "sides": [[1, 2]], "packets": "held"},
        ],
    },
    "joins": [{"process": 2, "time_s": 1.592}],
    "patience_s": 69.576,
}
"""0 is alone among the servers when all groups merge; its own group has not heard of that."""
STOPPED_AMONG_SERVERS_THAT_WERE: dict[str, Any] = {
    "options": {
        "sizes": [2],
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 6.867,
        "split_servers_above": 3,
        "merge_servers_below": 2,
    },
    "processes": 8,
    "seed": 3100003536,
    "messages": 21,
    "workload": {"cascade": 0.0924, "kind": "unicast"},
    "rate": 0.178,
    "network": {
        "delay": "exponential:0.0671",
        "partitions": [
            {"start_s": 2.101, "end_s": 16.731, "sides": [[4]], "packets": "lost"},
            {"start_s": 3.432, "end_s": 10.754, "sides": [[0, 7]], "packets": "lost"},
        ],
    },
    "patience_s": 44.63,
}
"""4 was cut off from servers that were split meanwhile, and tells what the group it serves has
missed."""
MERGED_WHEN_IT_HAS_MISSED: dict[str, Any] = {
    "options": {
        "tidy_s": 0.456,
        "sizes": [2, 2],
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 7.911,
        "split_servers_above": 6,
        "merge_servers_below": 3,
        "split_above": 4,
        "merge_below": 3,
    },
    "processes": 8,
    "seed": 3100001189,
    "messages": 35,
    "workload": {"cascade": 0.125, "kind": "multicast", "size": 3},
    "rate": 0.3,
    "network": {
        "delay": "exponential:0.0371",
        "partitions": [
            {"start_s": 2.001, "end_s": 8.374, "sides": [[4, 6, 7]], "packets": "lost"},
            {"start_s": 18.778, "end_s": 21.614, "sides": [[2, 4]], "packets": "lost"},
            {"start_s": 8.354, "end_s": 14.738, "sides": [[0, 3]], "packets": "lost"},
            {"start_s": 6.418, "end_s": 14.938, "sides": [[4, 6, 7]], "packets": "lost"},
            {"start_s": 14.903, "end_s": 20.909, "sides": [[2, 4, 5]], "packets": "lost"},
        ],
    },
    "patience_s": 49.613,
}
"""Servers forget a group, which is merged with another before they hear of it again."""
ALL_OF_A_MERGED_GROUP_DIE: dict[str, Any] = {
    "options": {
        "sizes": [2],
        "quorum": "majority",
        "tick_s": 0.3,
        "split_above": 4,
        "merge_below": 3,
        "split_servers_above": 5,
        "merge_servers_below": 3,
        "forget_after_s": 42.103,
        "tidy_s": 0.0969,
    },
    "processes": 6,
    "seed": 2549,
    "messages": 21,
    "workload": {"cascade": 0.435, "kind": "unicast"},
    "rate": 0.182,
    "network": {
        "delay": "exponential:0.0401",
        "partitions": [
            {"start_s": 2.572, "end_s": 5.197, "sides": [[3, 4]], "packets": "held"},
            {"start_s": 3.495, "end_s": 14.675, "sides": [[1, 3, 5]], "packets": "held"},
        ],
    },
    "crashes": [
        {"process": 0, "time_s": 9.127, "back_s": 10.945},
        {"process": 2, "time_s": 8.487},
        {"process": 4, "time_s": 10.716},
    ],
    "patience_s": 72.10300000000001,
}
"""Those who are left are outside, and so is one who comes: nobody could let them in."""


TOLD_OF_A_MERGE_IN_A_CUT: dict[str, Any] = {
    "processes": 6,
    "seed": 9100001448,
    "messages": 28,
    "rate": 0.39,
    "crashes": [{"process": 5, "time_s": 7.039}],
    "patience_s": 41.765,
    "options": {
        "tidy_s": 0.543,
        "local": "broadcast",
        "forward": "stable",
        "split_above": 4,
        "merge_below": 3,
        "sizes": [2],
        "pack_s": 0.043,
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 4.997,
    },
    "workload": {"cascade": 0.0615, "kind": "multicast", "size": 2},
    "network": {
        "delay": {"kind": "exponential", "mean_s": 0.0117},
        "partitions": [
            {"start_s": 3.907, "end_s": 11.775, "sides": [[0, 3, 5]], "packets": "lost"},
            {"start_s": 0.01, "end_s": 8.431, "sides": [[2, 3, 1]], "packets": "held"},
            {"start_s": 5.668, "end_s": 9.822, "sides": [[1, 5]], "packets": "lost"},
        ],
    },
}
"""Six processes, three cuts, one crash."""
SERVERS_DIE_IN_A_SPLIT: dict[str, Any] = {
    "processes": 5,
    "seed": 6000001875,
    "messages": 26,
    "rate": 1.03,
    "joins": [{"process": 2, "time_s": 1.955}, {"process": 3, "time_s": 1.713}],
    "crashes": [{"process": 0, "time_s": 2.227}],
    "patience_s": 34.76,
    "options": {
        "tidy_s": 0.0185,
        "local": "broadcast",
        "forward": "stable",
        "split_above": 4,
        "merge_below": 3,
        "sizes": [2],
        "split_servers_above": 4,
        "merge_servers_below": 2,
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 4.76,
    },
    "workload": {"cascade": 0.12, "kind": "multicast", "size": 4},
    "network": {"delay": {"kind": "exponential", "mean_s": 0.0304}},
}
"""Five processes, one crash, two newcomers."""
MERGED_AND_BACK_IN_TIME: dict[str, Any] = {
    "processes": 10,
    "seed": 6100013928,
    "messages": 39,
    "rate": 0.893,
    "crashes": [{"process": 1, "time_s": 3.947}],
    "patience_s": 41.405,
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
    "workload": {"cascade": 0.279, "kind": "unicast"},
    "network": {
        "loss": 0.0106,
        "delay": {"kind": "uniform", "low_s": 0.0, "high_s": 0.0694},
        "partitions": [
            {"start_s": 1.624, "end_s": 13.029, "sides": [[3, 4, 5, 8, 9]], "packets": "held"}
        ],
    },
}
"""Ten processes, one cut, one crash."""
MERGED_ONE_BY_ONE: dict[str, Any] = {
    "processes": 5,
    "seed": 31001181,
    "messages": 15,
    "rate": 0.253,
    "patience_s": 107.92,
    "options": {
        "sizes": [2],
        "quorum": "majority",
        "tick_s": 0.3,
        "merge_below": 3,
        "forget_after_s": 38.96,
    },
    "workload": {"cascade": 0.507, "kind": "multicast", "size": 3},
    "network": {
        "loss": 0.289,
        "delay": {"kind": "exponential", "mean_s": 0.0172},
        "partitions": [
            {"start_s": 1.148, "end_s": 3.368, "sides": [[0]], "packets": "lost"},
            {"start_s": 3.815, "end_s": 10.108, "sides": [[3, 4]], "packets": "lost"},
        ],
    },
}
"""Five processes, two cuts."""
COMES_AS_ITS_GROUP_GIVES_WAY: dict[str, Any] = {
    "processes": 17,
    "seed": 9400000364,
    "messages": 41,
    "rate": 0.241,
    "crashes": [{"process": 3, "time_s": 0.961}, {"process": 1, "time_s": 3.329}],
    "patience_s": 68.563,
    "options": {
        "tidy_s": 0.0118,
        "sizes": [4],
        "quorum": "majority",
        "split_above": 4,
        "merge_below": 3,
        "forget_after_s": 38.563,
    },
    "workload": {"cascade": 0.483, "kind": "multicast", "size": 3},
    "network": {
        "delay": {"kind": "exponential", "mean_s": 0.0576},
        "partitions": [
            {
                "start_s": 6.062,
                "end_s": 8.952,
                "sides": [[2, 3, 9, 4, 7, 8, 14, 16]],
                "packets": "lost",
            },
            {"start_s": 8.092, "end_s": 13.866, "sides": [[3, 6]], "packets": "lost"},
            {
                "start_s": 8.729,
                "end_s": 14.625,
                "sides": [[2, 3, 9, 4, 7, 8, 14, 16]],
                "packets": "lost",
            },
            {
                "start_s": 9.64,
                "end_s": 10.978,
                "sides": [[3, 4, 8, 14, 16, 0, 15]],
                "packets": "lost",
            },
        ],
    },
    "joins": [
        {"process": 7, "time_s": 1.175, "talks_with": [0, 1]},
        {"process": 8, "time_s": 0.681, "talks_with": [0, 1]},
        {"process": 9, "time_s": 0.899, "talks_with": [0, 1]},
        {"process": 10, "time_s": 0.848, "talks_with": [0, 1]},
        {"process": 11, "time_s": 8.189, "talks_with": [0, 1]},
        {"process": 12, "time_s": 0.214, "talks_with": [0, 1]},
        {"process": 13, "time_s": 1.235, "talks_with": [0, 1]},
        {"process": 15, "time_s": 0.899, "talks_with": [0, 1]},
        {"process": 16, "time_s": 0.626, "talks_with": [0, 1]},
    ],
}
"""17 processes, four cuts, two crashes, nine newcomers.""" """Nine processes, three cuts."""
KNOWS_WHAT_OTHERS_MISSED: dict[str, Any] = {
    "processes": 7,
    "seed": 9900036428,
    "messages": 24,
    "rate": 0.193,
    "patience_s": 43.777,
    "options": {
        "sizes": [2],
        "quorum": "majority",
        "tick_s": 0.1,
        "forget_after_s": 7.633,
        "split_above": 4,
        "merge_below": 3,
        "suspect_after_s": 0.7633,
        "flush_timeout_s": 0.38165,
    },
    "workload": {"cascade": 0.0, "kind": "multicast", "size": 1},
    "network": {
        "loss": 0.0172,
        "delay": {"kind": "exponential", "mean_s": 0.011},
        "partitions": [
            {"start_s": 3.711, "end_s": 14.427, "sides": [[0, 2, 5]], "packets": "held"},
            {"start_s": 0.65, "end_s": 11.82, "sides": [[1, 2, 5, 6]], "packets": "lost"},
        ],
    },
}
"""Seven processes, two cuts."""
ONE_GIVES_WAY_AND_HAS_YET_TO_BRING: dict[str, Any] = {
    "options": {
        "sizes": [2, 2],
        "tidy_s": 0.303,
        "tick_s": 0.1,
        "suspect_after_s": 0.6,
        "flush_timeout_s": 0.3,
        "forget_after_s": 6.0,
        "merge_below": 3,
        "merge_servers_below": 3,
    },
    "processes": 8,
    "seed": 46000027281,
    "messages": 27,
    "rate": 0.678,
    "workload": {"kind": "broadcast", "cascade": 0.0569},
    "network": {"delay": "exponential:0.0237"},
    "crashes": [
        {"process": 0, "time_s": 3.338, "back_s": 6.515},
        {"process": 6, "time_s": 1.364},
    ],
    "patience_s": 54.0,
}
"""2 lets another serve a merged group for which it has yet to bring what the servers keep."""

SCHEDULES: dict[str, dict[str, Any]] = {
    "brings-a-batch-though-it-leaves": ONE_GIVES_WAY_AND_HAS_YET_TO_BRING,
    "merges-without-groups-that-may-have-left": {
        "options": {
            "tidy_s": 0.0176,
            "split_above": 4,
            "merge_below": 3,
            "sizes": [4, 2],
            "pack_s": 0.0627,
            "forget_after_s": 6.0,
            "split_servers_above": 3,
            "merge_servers_below": 2,
            "suspect_after_s": 0.6,
            "flush_timeout_s": 0.3,
        },
        "processes": 10,
        "seed": 7700000015,
        "messages": 39,
        "workload": {"cascade": 0.279, "kind": "unicast"},
        "rate": 0.28,
        "network": {
            "delay": {"kind": "uniform", "low_s": 0.0, "high_s": 0.0694},
            "loss": 0.0106,
            "partitions": [
                {"start_s": 2.479, "end_s": 21.297, "sides": [[3, 4, 5, 8, 9]], "packets": "held"}
            ],
        },
        "patience_s": 52.742,
    },
    "done-is-not-said-after-a-merge": BACK_WHEN_THE_SERVERS_HAVE_ENDED,
    "stays-in-a-group-that-gives-way": COMES_AS_ITS_GROUP_GIVES_WAY,
    "waits-for-the-servers-for-ever": SERVERS_DIE_IN_A_SPLIT,
    "keeps-to-itself-what-others-missed": KNOWS_WHAT_OTHERS_MISSED,
}
OTHERS = [
    TOLD_OF_A_MERGE_IN_A_CUT,
    MERGED_ONE_BY_ONE,
    A_CROWD_WAITS_FOR_A_SPLIT,
    THE_ONE_WHO_CALLS_DIES,
    MERGED_AND_BACK_IN_TIME,
    HEARD_OUT_OF_TURN,
    SPLIT_WHEN_THE_SERVERS_ARE_LEFT,
    FROZEN_AND_MERGED,
    MERGED_BEHIND_A_CUT,
    A_FOUNDER_DIES_IN_A_SPLIT,
    FORGOTTEN_BY_SERVERS_THAT_END,
    SPLIT_BEHIND_A_CUT,
    MERGED_AND_DISSOLVED_AT_ONCE,
    MERGED_WHEN_IT_HAS_MISSED,
    STOPPED_AMONG_SERVERS_THAT_WERE,
    ALL_OF_A_MERGED_GROUP_DIE,
]
"""They show no rule any more, or never did."""


@pytest.mark.parametrize("rule", EVOLVING, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    scenario = make_scenario({"protocol": "daisy", **SCHEDULES[rule.name]})
    assert judge(scenario).failure is None
    assert judge(scenario, mutated("daisy", rule)).failure is not None


@pytest.mark.parametrize("fields", OTHERS)
def test_others_pass(fields: dict[str, Any]) -> None:
    assert judge(make_scenario({"protocol": "daisy", **fields})).failure is None
