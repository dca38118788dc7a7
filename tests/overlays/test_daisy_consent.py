"""Groups that agree to give way, and what is brought from one to the next: schedules that chance
has found.

Each passes with all rules, and fails without the one that it is named after."""

from collections.abc import Callable
from typing import Any

import pytest

from antecede.fuzzing import judge
from antecede.order import Event, Order
from antecede.overlays.daisy.items import Change, Proposal, decode_items
from antecede.protocols import find
from antecede.simulate import make_scenario
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import CONSENT
from tests.overlays.daisy_lab import Copy, Lab
from tests.overlays.test_daisy_evolving import SPLIT_WHEN_THE_SERVERS_ARE_LEFT
from tests.overlays.test_daisy_found import THOSE_WHO_KNEW_DIE

AGREED_IN_A_CUT: dict[str, Any] = {
    "processes": 7,
    "seed": 9900036480,
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
SPLIT_IN_A_CUT: dict[str, Any] = {
    "processes": 9,
    "seed": 6100000058,
    "messages": 40,
    "rate": 0.135,
    "joins": [
        {"process": 1, "time_s": 10.746},
        {"process": 6, "time_s": 2.955},
        {"process": 8, "time_s": 2.55},
        {"process": 7, "time_s": 29.595},
    ],
    "patience_s": 86.898,
    "options": {
        "tidy_s": 0.634,
        "local": "broadcast",
        "forward": "stable",
        "split_above": 4,
        "merge_below": 3,
        "sizes": [3],
        "pack_s": 0.00873,
        "split_servers_above": 3,
        "merge_servers_below": 2,
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 56.897999999999996,
    },
    "workload": {"cascade": 0.0, "kind": "multicast", "size": 2},
    "network": {
        "delay": {"kind": "exponential", "mean_s": 0.0668},
        "partitions": [
            {"start_s": 1.444, "end_s": 28.342, "sides": [[1, 2, 4, 5, 6]], "packets": "lost"},
            {"start_s": 7.39, "end_s": 19.204, "sides": [[0, 6, 7, 8]], "packets": "lost"},
        ],
    },
}
"""Nine processes, two cuts, four newcomers."""
FROZEN_DURING_TWO_CUTS: dict[str, Any] = {
    "processes": 8,
    "seed": 6000000613,
    "messages": 26,
    "rate": 0.269,
    "crashes": [
        {"process": 3, "time_s": 5.386},
        {"process": 4, "time_s": 9.015, "back_s": 10.754},
        {"process": 6, "time_s": 8.377},
    ],
    "patience_s": 37.44,
    "options": {
        "sizes": [2],
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 3.776,
        "split_servers_above": 3,
        "merge_servers_below": 2,
    },
    "workload": {"cascade": 0.0, "kind": "multicast", "size": 4},
    "network": {
        "delay": {"kind": "exponential", "mean_s": 0.0929},
        "partitions": [
            {"start_s": 1.364, "end_s": 8.804, "sides": [[0, 4, 6]], "packets": "lost"},
            {"start_s": 3.525, "end_s": 8.34, "sides": [[1, 2, 6, 7]], "packets": "lost"},
        ],
    },
}
"""Eight processes, two cuts, three crashes."""
THE_LAST_VIEW_IS_SMALL: dict[str, Any] = {
    "processes": 9,
    "seed": 9900310717,
    "messages": 52,
    "rate": 0.393,
    "joins": [{"process": 4, "time_s": 7.111}, {"process": 8, "time_s": 3.518}],
    "patience_s": 81.057,
    "options": {
        "tidy_s": 0.0423,
        "local": "broadcast",
        "forward": "stable",
        "split_above": 4,
        "merge_below": 3,
        "sizes": [3],
        "split_rate": 10.801,
        "load_window_s": 2.302,
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 51.057,
    },
    "workload": {"cascade": 0.0, "kind": "unicast"},
    "network": {
        "loss": 0.0177,
        "delay": {"kind": "exponential", "mean_s": 0.0479},
        "partitions": [
            {"start_s": 3.589, "end_s": 5.031, "sides": [[4, 5, 6, 8]], "packets": "lost"},
            {"start_s": 6.714, "end_s": 16.746, "sides": [[4, 6, 7, 8]], "packets": "lost"},
            {"start_s": 14.228, "end_s": 17.115, "sides": [[4, 1, 3, 5]], "packets": "lost"},
            {"start_s": 17.734, "end_s": 24.646, "sides": [[4, 7, 8, 0, 2]], "packets": "lost"},
        ],
    },
}
"""Nine processes, four cuts, two newcomers."""
NOBODY_HAS_THE_LINE: dict[str, Any] = {
    "processes": 8,
    "seed": 9800302747,
    "messages": 10,
    "rate": 0.305,
    "crashes": [{"process": 4, "time_s": 0.773}],
    "patience_s": 70.0,
    "options": {
        "tidy_s": 0.0683,
        "local": "broadcast",
        "forward": "stable",
        "split_above": 4,
        "merge_below": 3,
        "sizes": [2, 2],
        "split_servers_above": 3,
        "merge_servers_below": 2,
        "quorum": "majority",
        "tick_s": 0.3,
        "forget_after_s": 20.0,
    },
    "workload": {"cascade": 0.0, "kind": "multicast", "size": 4},
    "network": {"delay": {"kind": "exponential", "mean_s": 0.0323}},
}
"""Eight processes, one crash."""
SIXTEEN_BEHIND_FOUR_CUTS: dict[str, Any] = {
    "processes": 16,
    "seed": 9600301994,
    "messages": 41,
    "rate": 0.148,
    "patience_s": 65.237,
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
    "workload": {"cascade": 0.0, "kind": "multicast", "size": 4},
    "network": {
        "loss": 0.0205,
        "delay": {"kind": "exponential", "mean_s": 0.0319},
        "partitions": [
            {"start_s": 0.01, "end_s": 7.67, "sides": [[0, 2, 5, 7, 14]], "packets": "lost"},
            {"start_s": 7.865, "end_s": 25.396, "sides": [[0, 2, 5, 12, 14]], "packets": "lost"},
            {"start_s": 3.417, "end_s": 6.056, "sides": [[3]], "packets": "lost"},
            {"start_s": 24.728, "end_s": 35.247, "sides": [[0, 14]], "packets": "lost"},
        ],
    },
}
"""16 processes, four cuts."""
OTHERS_HAVE_LEFT = {**SIXTEEN_BEHIND_FOUR_CUTS, "seed": 9600301436}
"""The same with other luck."""
FORGOTTEN_AND_BELOW_OTHERS: dict[str, Any] = {
    "processes": 16,
    "seed": 509011111,
    "messages": 41,
    "rate": 0.148,
    "patience_s": 65.237,
    "options": {
        "tidy_s": 0.412,
        "split_above": 4,
        "merge_below": 3,
        "sizes": [2, 2, 2],
        "forget_after_s": 8.771,
        "split_servers_above": 3,
        "merge_servers_below": 2,
        "suspect_after_s": 0.8771000000000001,
        "flush_timeout_s": 0.43855000000000005,
    },
    "workload": {"cascade": 0.0, "kind": "multicast", "size": 4},
    "network": {
        "loss": 0.0205,
        "delay": {"kind": "exponential", "mean_s": 0.0319},
        "partitions": [
            {"start_s": 0.01, "end_s": 7.67, "sides": [[0, 2, 5, 7, 14]], "packets": "lost"},
            {"start_s": 7.85, "end_s": 25.381, "sides": [[0, 2, 5, 12, 14]], "packets": "lost"},
            {"start_s": 24.728, "end_s": 35.247, "sides": [[0, 14]], "packets": "lost"},
        ],
    },
}
"""16 processes, three cuts."""
AGREED_WHEN_SERVERS_COME: dict[str, Any] = {
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
SAID_IN_AN_EARLIER_VIEW: dict[str, Any] = {
    "processes": 8,
    "seed": 9900302331,
    "messages": 16,
    "rate": 0.403,
    "patience_s": 68.69,
    "options": {
        "tidy_s": 0.238,
        "sizes": [2],
        "quorum": "majority",
        "tick_s": 0.3,
        "split_servers_above": 3,
        "merge_servers_below": 2,
        "forget_after_s": 38.69,
    },
    "workload": {"cascade": 0.0, "kind": "multicast", "size": 1},
    "network": {
        "delay": {"kind": "exponential", "mean_s": 0.0184},
        "partitions": [
            {"start_s": 1.278, "end_s": 4.684, "sides": [[0, 1, 4, 5, 6]], "packets": "held"},
            {"start_s": 4.824, "end_s": 9.218, "sides": [[0, 1, 4, 5, 6]], "packets": "held"},
            {"start_s": 0.528, "end_s": 5.296, "sides": [[4, 5, 6, 2, 7]], "packets": "held"},
            {"start_s": 4.064, "end_s": 5.515, "sides": [[0, 1, 4, 5, 6]], "packets": "held"},
        ],
    },
}
"""Eight processes, four cuts."""
LOST_TO_THE_SERVERS: dict[str, Any] = {
    "processes": 7,
    "seed": 9700300010,
    "messages": 29,
    "rate": 0.416,
    "patience_s": 70.88,
    "options": {
        "tidy_s": 0.546,
        "sizes": [2],
        "quorum": "majority",
        "tick_s": 0.3,
        "merge_below": 3,
        "forget_after_s": 40.88,
    },
    "workload": {"cascade": 0.147, "kind": "unicast"},
    "network": {
        "delay": {"kind": "exponential", "mean_s": 0.0308},
        "partitions": [
            {"start_s": 1.167, "end_s": 5.162, "sides": [[0, 3]], "packets": "lost"},
            {"start_s": 5.487, "end_s": 12.047, "sides": [[0, 3, 4]], "packets": "lost"},
        ],
    },
}
"""Seven processes, two cuts."""

SCHEDULES: dict[str, dict[str, Any]] = {
    "agrees-before-all-know": AGREED_IN_A_CUT,
    "splits-before-all-know": SPLIT_IN_A_CUT,
    "goes-on-without-a-line": THE_LAST_VIEW_IS_SMALL,
    "a-line-waits-for-founders-alone": THE_LAST_VIEW_IS_SMALL,
    "a-line-is-awaited-for-ever": NOBODY_HAS_THE_LINE,
    "stays-where-it-is-lost": SPLIT_WHEN_THE_SERVERS_ARE_LEFT,
    "moves-by-itself": THOSE_WHO_KNEW_DIE,
    "says-again-what-not-all-know": AGREED_WHEN_SERVERS_COME,
    "brings-what-lost-servers-had": LOST_TO_THE_SERVERS,
}


def proposals(copy: Copy) -> list[Proposal]:
    """What is proposed or answered in a packet."""
    packet = copy[2].packet
    payload = getattr(packet.body, "payload", b"") if packet else b""
    items = decode_items(payload) if payload else ()
    return [item for item in items if isinstance(item, Proposal)]


def two_small_groups(order: type[Order]) -> Lab:
    groups = [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12], [13, 14, 15]]
    return Lab(order, size=16, groups=groups, quorum="majority", merge_below=4)


def one_is_proposed_before_another_is_decided(order: type[Order]) -> bool:
    lab, proposed = two_small_groups(order), set[Change]()
    lab.before = lambda copy: proposed.update(one.change for one in proposals(copy))
    lab.send(0, 1)
    lab.run(1.0)
    return len(proposed) > 1


def groups_that_have_agreed_wait_for_ever(order: type[Order]) -> bool:
    """The server of the servers dies when a group has agreed to a merge. Is there never one?"""
    lab = two_small_groups(order)

    def before(copy: Copy) -> None:
        if any(one.node is not None for one in proposals(copy)):
            lab.crash(0)

    lab.before = before
    lab.send(0, 1)
    lab.run(20.0)
    lab.send(1, 6)
    lab.run(20.0)
    return not lab.told(Event.MERGE)


IN_THE_LAB: dict[str, Callable[[type[Order]], bool]] = {
    "agrees-only-once": groups_that_have_agreed_wait_for_ever,
    "proposes-two-changes-at-once": one_is_proposed_before_another_is_decided,
}


def is_wrong(name: str, order: type[Order]) -> bool:
    if name in IN_THE_LAB:
        return IN_THE_LAB[name](order)
    return judge(make_scenario({"protocol": "daisy", **SCHEDULES[name]}), order).failure is not None


@pytest.mark.parametrize("rule", CONSENT, ids=lambda rule: rule.name)
def test_every_rule_is_needed(rule: Mutant) -> None:
    assert not is_wrong(rule.name, find("daisy"))
    assert is_wrong(rule.name, mutated("daisy", rule))


@pytest.mark.parametrize("fields", [FROZEN_DURING_TWO_CUTS, SAID_IN_AN_EARLIER_VIEW])
def test_schedules_that_rules_had_pass(fields: dict[str, Any]) -> None:
    """A group is frozen during two cuts; or its end was said in an earlier view."""
    assert judge(make_scenario({"protocol": "daisy", **fields})).failure is None
