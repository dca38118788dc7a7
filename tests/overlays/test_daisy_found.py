"""Schedules that chance has found, each made as small as it gets (`antecede fuzz`)."""

from typing import Any

import pytest

from antecede.fuzzing.judging import judge
from antecede.order import Event
from antecede.protocols import find
from antecede.simulate import make_scenario
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import FOUND_BY_CHANCE, STOPS
from tests.overlays.test_daisy_scenarios import a_merge_of_all_groups

ALL_SERVERS_MERGE: dict[str, Any] = {
    "protocol": "daisy",
    "processes": 4,
    "seed": 20725,
    "messages": 89,
    "options": {"merge_below": 3, "sizes": [2, 4, 3], "tidy_s": 0.0271},
    "workload": {"kind": "unicast", "cascade": 0.329},
    "network": {"delay": "lognormal:0.00833333,0.655"},
}
"""There are two servers. The one that decides on the merge knows that both have heard of it before
the other does, which waits for word of that."""

TWO_GROUPS_REPORT_AT_ONCE: dict[str, Any] = {
    "protocol": "daisy",
    "processes": 12,
    "seed": 10,
    "messages": 47,
    "rate": 60.2,
    "options": {"split_above": 4, "merge_below": 3, "sizes": [2, 4], "quorum": "survivors"},
    "workload": {"kind": "unicast", "cascade": 0.0558},
    "crashes": [{"process": 8, "time_s": 0.14, "back_s": 1.33}],
}
"""After a flush, the server of the servers hears of several groups at once that have to change."""

A_GROUP_OF_NEWS_IS_MERGED: dict[str, Any] = {
    "protocol": "daisy",
    "processes": 10,
    "seed": 14,
    "messages": 11,
    "rate": 0.304,
    "options": {"split_above": 4, "merge_below": 3, "sizes": [4, 3, 3], "detours": False},
    "workload": {"kind": "multicast", "probability": 0.925, "cascade": 0.0223},
    "network": {"delay": "exponential:0.1", "loss": 0.243},
}
"""Two groups are split; halves of them are merged, and do not know of each other."""

THOSE_WHO_KNEW_DIE: dict[str, Any] = {
    "protocol": "daisy",
    "processes": 12,
    "groups": [[2, 3], [3, 4, 5], [5, 6, 7], [7, 8], [8, 9], [9, 10]],
    "seed": 130621,
    "messages": 7,
    "rate": 0.545,
    "patience_s": 30.0,
    "options": {"merge_below": 3, "sizes": [2, 3, 2], "quorum": "survivors"},
    "network": {"delay": "lognormal:0.008333333333333333,1.9"},
    "crashes": [
        {"process": 0, "time_s": 0.325},
        {"process": 2, "time_s": 0.325, "back_s": 1.037},
    ],
}
"""Of three servers, two have their groups merged; then all servers are gone. The next server of the
third group has not heard of the merged one, which looks for the servers."""

ONE_COMES_INTO_A_GROUP_THAT_GIVES_WAY: dict[str, Any] = {
    "protocol": "daisy",
    "processes": 11,
    "groups": [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5, 6], [6, 7], [7, 8], [8, 9, 10]],
    "seed": 6,
    "messages": 22,
    "rate": 0.576,
    "options": {"split_above": 4, "sizes": [4, 2], "tidy_s": 0.0806, "quorum": "survivors"},
    "workload": {"kind": "groups", "cascade": 0.527},
    "crashes": [{"process": 8, "time_s": 0.674, "back_s": 1.069}],
}
"""The others wait for one that has joined to say that it sends nothing more in the old group."""

ONE_FOLLOWS_INTO_A_MERGED_GROUP: dict[str, Any] = {
    "protocol": "daisy",
    "processes": 8,
    "seed": 98,
    "messages": 116,
    "rate": 19.7,
    "payload_bytes": 2,
    "patience_s": 30.0,
    "options": {
        "split_above": 4,
        "merge_below": 3,
        "sizes": [2],
        "tidy_s": 0.223,
        "quorum": "survivors",
        "detours": False,
    },
    "workload": {"kind": "multicast", "probability": 0.0579, "cascade": 0.697},
    "network": {
        "delay": "exponential:0.0106",
        "loss": 0.0125,
        "links": [{"from": [5], "to": [3], "delay": "constant:0.5"}],
    },
    "crashes": [
        {"process": 2, "time_s": 0.0869, "back_s": 0.2679},
        {"process": 5, "time_s": 0.2906},
    ],
}
"""One that has come late is in a group that is merged before its roll is called again: it follows,
and what was for it has to wait."""

ONE_LAGS_BEHIND_IN_A_MERGE: dict[str, Any] = {**ONE_FOLLOWS_INTO_A_MERGED_GROUP, "seed": 115}
"""Of two groups that are merged one goes on for a while, and has more from the servers than what
they have given to the new one."""

ONE_IS_CUT_OFF_DURING_A_MERGE: dict[str, Any] = {
    "protocol": "daisy",
    "processes": 6,
    "groups": [[3, 4], [4, 5], [5, 0, 1, 2, 3]],
    "seed": 19,
    "messages": 24,
    "rate": 4.77,
    "patience_s": 32.5,
    "options": {"split_above": 4, "merge_below": 3, "sizes": [2, 2], "forget_after_s": 32.5},
    "workload": {"kind": "groups", "cascade": 0.0245},
    "network": {
        "delay": "constant:0.00169",
        "partitions": [
            {"start_s": 0.573, "end_s": 2.709, "sides": [[0, 4, 5]]},
            {"start_s": 0.18, "end_s": 0.296, "sides": [[0, 1, 3, 4, 5]]},
        ],
    },
}
"""It lacks one of the batches, and has put aside what all others have delivered."""

ONE_IS_CUT_OFF_DURING_A_SPLIT: dict[str, Any] = {
    "protocol": "daisy",
    "processes": 11,
    "seed": 1,
    "messages": 128,
    "rate": 9.79,
    "payload_bytes": 12,
    "patience_s": 34.0,
    "options": {
        "split_above": 4,
        "merge_below": 3,
        "sizes": [4, 2],
        "tidy_s": 0.717,
        "forget_after_s": 34.0,
    },
    "workload": {"kind": "unicast", "cascade": 0.302},
    "network": {
        "delay": "constant:0.00106",
        "partitions": [
            {"start_s": 0.705, "end_s": 0.821, "sides": [[4, 9]]},
            {"start_s": 0.114, "end_s": 4.114, "sides": [[2, 3, 5]]},
        ],
    },
}
"""What its own group kept for it comes from beyond its group now, and has never been with the
servers; a later message of the same process has."""

SERVERS_THAT_WERE_DECIDE: dict[str, Any] = {
    "protocol": "daisy",
    "processes": 13,
    "seed": 1001,
    "messages": 20,
    "rate": 0.129,
    "patience_s": 72.381,
    "options": {
        "sizes": [4],
        "split_above": 4,
        "split_rate": 3.0,
        "load_window_s": 0.5,
        "tick_s": 0.3,
    },
    "workload": {"kind": "unicast", "cascade": 0.105},
    "network": {
        "delay": "exponential:0.052",
        "partitions": [{"start_s": 0.859, "end_s": 13.24, "sides": [[0, 8]], "packets": "held"}],
    },
    "crashes": [{"process": 0, "time_s": 11.083}, {"process": 4, "time_s": 11.362}],
}
"""0 and 8, cut off together, are most of three servers and decide on a split, of which the group
that is split never hears. Those who follow them decide on another, under the same number."""

TWO_LEVELS_GO_DURING_A_CUT: dict[str, Any] = {
    "protocol": "daisy",
    "processes": 8,
    "seed": 42278,
    "messages": 56,
    "rate": 0.311,
    "patience_s": 75.458,
    "options": {
        "sizes": [2, 2],
        "split_above": 4,
        "merge_below": 3,
        "split_servers_above": 3,
        "merge_servers_below": 2,
        "tidy_s": 0.0252,
        "forget_after_s": 45.458,
    },
    "workload": {"kind": "multicast", "size": 1},
    "network": {
        "delay": "exponential:0.0559",
        "partitions": [
            {
                "start_s": 2.567,
                "end_s": 18.025,
                "sides": [[0, 1, 4, 5], [2, 6, 7], [3]],
                "packets": "lost",
            }
        ],
    },
}
"""Groups merge, their servers dissolve, and what is left is one group. 2 and 3 come back and have
to hear of all of that, some of which nobody saw who tells them."""

NEEDS = {
    "remembers-half-of-its-past": TWO_LEVELS_GO_DURING_A_CUT,
    "what-never-came-about": SERVERS_THAT_WERE_DECIDE,
    "released-by-who-never-had-it": ONE_IS_CUT_OFF_DURING_A_SPLIT,
    "from-above-is-not-last": ONE_LAGS_BEHIND_IN_A_MERGE,
    "stable-before-all-have-merged": ONE_IS_CUT_OFF_DURING_A_MERGE,
    "merges-without-followers": ONE_FOLLOWS_INTO_A_MERGED_GROUP,
    "decides-twice-at-once": TWO_GROUPS_REPORT_AT_ONCE,
    "news": A_GROUP_OF_NEWS_IS_MERGED,
    "those-who-knew-die": THOSE_WHO_KNEW_DIE,
    "stays-in-a-group-that-gives-way": ONE_COMES_INTO_A_GROUP_THAT_GIVES_WAY,
}


@pytest.mark.parametrize("name", NEEDS)
def test_the_schedules_pass(name: str) -> None:
    assert judge(make_scenario(NEEDS[name])).failure is None


@pytest.mark.parametrize("rule", FOUND_BY_CHANCE, ids=lambda rule: rule.name)
def test_they_fail_without_the_rule(rule: Mutant) -> None:
    assert judge(make_scenario(NEEDS[rule.name]), mutated("daisy", rule)).failure is not None


@pytest.mark.parametrize("rule", [None, *STOPS], ids=lambda rule: rule.name if rule else "whole")
def test_who_leaves_the_servers_leaves_them_a_quorum(rule: Mutant | None) -> None:
    order = find("daisy") if rule is None else mutated("daisy", rule)
    assert judge(make_scenario(ALL_SERVERS_MERGE), order).failure is None
    lab = a_merge_of_all_groups(order, quorum="majority")
    assert lab.faults() == []
    assert bool(lab.told(Event.STOPPED)) == (rule is not None)
