"""Groups of servers that are held up: by a group below, by each other, by a change that is told a
moment too late.

Each schedule passes with all rules, and fails without the one that it is named after."""

from collections.abc import Callable
from typing import Any

import pytest

from antecede.order import Order
from antecede.protocols import find
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import HELD_UP
from tests.overlays.daisy_lab import Lab
from tests.overlays.test_daisy_cuts import drawn

TOLD_OF_ITS_END: dict[str, Any] = {
    "protocol": "daisy",
    "options": {
        "tidy_s": 0.279,
        "sizes": [2, 2],
        "tick_s": 0.3,
        "split_above": 4,
        "merge_below": 3,
        "split_servers_above": 6,
        "merge_servers_below": 3,
        "forget_after_s": 38.533,
    },
    "processes": 8,
    "seed": 19000038528,
    "messages": 9,
    "workload": {"cascade": 0.155, "kind": "multicast", "size": 1},
    "rate": 0.137,
    "network": {
        "delay": {"kind": "exponential", "mean_s": 0.121},
        "partitions": [
            {"start_s": 1.755, "end_s": 3.142, "sides": [[0, 7]], "packets": "lost"},
            {"start_s": 3.31, "end_s": 5.706, "sides": [[2, 3, 4]], "packets": "lost"},
            {"start_s": 4.24, "end_s": 8.893, "sides": [[0, 7, 2, 3, 4, 5]], "packets": "lost"},
            {"start_s": 5.28, "end_s": 10.288, "sides": [[0, 5, 6]], "packets": "lost"},
        ],
    },
    "patience_s": 68.533,
}
"""A group of servers has told the one above that it ends when somebody leaves: it goes on, and must
not change what is below it before it knows what came of that."""
MERGED_AND_BELOW_ANOTHER: dict[str, Any] = {
    "protocol": "daisy",
    "options": {
        "split_above": 4,
        "merge_below": 3,
        "sizes": [2, 2, 2],
        "split_servers_above": 4,
        "merge_servers_below": 2,
        "tick_s": 0.3,
        "forget_after_s": 41.419,
    },
    "processes": 19,
    "seed": 19000032134,
    "messages": 15,
    "workload": {"cascade": 0.199, "kind": "multicast", "size": 3},
    "rate": 0.0841,
    "network": {
        "delay": {"kind": "exponential", "mean_s": 0.012},
        "loss": 0.0237,
        "partitions": [
            {
                "start_s": 3.951,
                "end_s": 8.434,
                "sides": [[1, 2, 3, 4, 8, 9, 11, 16, 17, 18]],
                "packets": "lost",
            },
            {
                "start_s": 7.815,
                "end_s": 15.37,
                "sides": [[1, 3, 5, 6, 7, 9, 10, 15, 17, 18]],
                "packets": "lost",
            },
        ],
    },
    "patience_s": 71.419,
}
"""Some know that a group of servers has dissolved, which others found anew over the group that is
left below it. That one is made by a merge, too: there are two ways back from it."""
MERGED_AND_TWO_ARE_CUT_OFF: dict[str, Any] = {
    "protocol": "daisy",
    "options": {
        "tidy_s": 0.953,
        "split_above": 4,
        "merge_below": 3,
        "split_servers_above": 4,
        "merge_servers_below": 2,
        "sizes": [2, 2, 2],
        "forget_after_s": 40.664,
    },
    "processes": 16,
    "seed": 19000026490,
    "messages": 18,
    "workload": {"cascade": 0.55, "kind": "multicast", "size": 2},
    "rate": 0.129,
    "network": {
        "delay": {"kind": "exponential", "mean_s": 0.0236},
        "partitions": [
            {
                "start_s": 3.549,
                "end_s": 7.255,
                "sides": [[1, 2, 4, 6, 7, 12, 14, 15]],
                "packets": "lost",
            },
            {
                "start_s": 1.595,
                "end_s": 12.259,
                "sides": [[3, 4, 6, 10, 11, 13, 12]],
                "packets": "lost",
            },
        ],
    },
    "crashes": [{"process": 4, "time_s": 2.624, "back_s": 7.912}],
    "patience_s": 192.656,
}
"""Groups have merged when two processes are cut off for good, each by itself: those that are left
are the half that counts for more."""
ONE_LINK_OF_TWO_SERVERS: dict[str, Any] = {
    "protocol": "daisy",
    "options": {
        "split_above": 4,
        "merge_below": 3,
        "sizes": [2, 2, 2],
        "split_servers_above": 3,
        "merge_servers_below": 2,
        "forget_after_s": 30.0,
    },
    "processes": 17,
    "seed": 18000060077,
    "messages": 18,
    "workload": {"cascade": 0.258, "kind": "unicast"},
    "rate": 0.187,
    "network": {
        "delay": {"kind": "exponential", "mean_s": 0.056},
        "partitions": [
            {"start_s": 3.565, "end_s": 1003.565, "sides": [[8], [12]], "packets": "lost"}
        ],
    },
    "patience_s": 60.0,
}
"""The link between the servers of two groups is cut for good. The senior one goes on, and its group
is the first one, though it was made by a merge and has the higher number: the junior one stops."""
FOUNDED_WITHOUT_A_GROUP_THAT_DIED: dict[str, Any] = {
    "protocol": "daisy",
    "options": {
        "tidy_s": 0.138,
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
    "seed": 19000000403,
    "messages": 37,
    "workload": {"cascade": 0.449, "kind": "groups"},
    "rate": 1.24,
    "network": {
        "delay": {"kind": "uniform", "low_s": 0.0, "high_s": 0.0385},
        "loss": 0.055,
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
}
"""One of the groups below some servers dies, and these lose their quorum. They are founded anew
when that group has been waited for; the servers above them keep what is for them until then."""


def a_group_is_lost(order: type[Order]) -> list[str]:
    """Four groups of three are one too many. Two of the second die when something is on its way to
    them: its server, who is left, cannot say that it has come."""
    lab = Lab(order, size=12, quorum="majority", split_servers_above=3)
    lab.send(0, 4)
    lab.crash(4, 5)
    lab.run(5.0)
    lab.send(1, 7)
    return lab.run(30.0).faults()


def the_group_of_the_first_server_is_lost(order: type[Order]) -> list[str]:
    """The same where the server of the servers is the one who is left."""
    lab = Lab(order, size=12, quorum="majority", split_servers_above=3)
    lab.send(3, 1)
    lab.crash(1, 2)
    lab.run(5.0)
    lab.send(4, 7)
    return lab.run(30.0).faults()


NEVER_SPLIT: dict[str, Any] = {
    "protocol": "daisy",
    "processes": 14,
    "seed": 56000048994,
    "messages": 21,
    "rate": 0.15,
    "crashes": [{"process": 3, "time_s": 7.679}],
    "patience_s": 153.22,
    "options": {
        "sizes": [3],
        "quorum": "majority",
        "split_above": 4,
        "split_servers_above": 4,
        "merge_servers_below": 2,
        "forget_after_s": 38.305,
    },
    "workload": {"cascade": 0.0, "kind": "multicast", "size": 1},
    "network": {
        "loss": 0.0,
        "duplication": 0.0,
        "fifo": False,
        "links": [],
        "delay": {"kind": "exponential", "mean_s": 0.0407},
        "partitions": [
            {
                "start_s": 1.485,
                "end_s": 9.79,
                "sides": [[0, 8, 9, 12, 13]],
                "packets": "lost",
                "one_way": False,
            }
        ],
    },
    "joins": [
        {"process": 5, "time_s": 0.489, "talks_with": [0, 1]},
        {"process": 6, "time_s": 1.62, "talks_with": [0, 1]},
        {"process": 7, "time_s": 0.875, "talks_with": [0, 1]},
        {"process": 8, "time_s": 0.286, "talks_with": [0, 1]},
        {"process": 9, "time_s": 1.5, "talks_with": [0, 1]},
        {"process": 10, "time_s": 0.451, "talks_with": [0, 1]},
        {"process": 11, "time_s": 1.467, "talks_with": [0, 1]},
        {"process": 12, "time_s": 1.408, "talks_with": [0, 1]},
        {"process": 13, "time_s": 1.534, "talks_with": [0, 1]},
    ],
}
"""The servers are founded anew without a group that has lost its majority: no group below them is
split any more, and newcomers wait for a split."""


SCHEDULES: dict[str, Callable[[type[Order]], object]] = {
    "a-merged-group-counts-once": drawn(MERGED_AND_TWO_ARE_CUT_OFF),
    "frozen-by-a-server-that-is-lost": the_group_of_the_first_server_is_lost,
    "frozen-while-a-group-is-lost": a_group_is_lost,
    "waits-for-room-for-ever": drawn(NEVER_SPLIT),
}
OTHERS = [
    TOLD_OF_ITS_END,
    MERGED_AND_BELOW_ANOTHER,
    ONE_LINK_OF_TWO_SERVERS,
]
"""They show no rule any more."""


@pytest.mark.parametrize("fields", OTHERS)
def test_schedules_that_rules_had_pass(fields: dict[str, Any]) -> None:
    assert not drawn(fields)(find("daisy"))


@pytest.mark.parametrize("rule", HELD_UP, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    assert not SCHEDULES[rule.name](find("daisy"))
    assert SCHEDULES[rule.name](mutated("daisy", rule))
