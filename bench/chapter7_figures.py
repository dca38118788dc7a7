"""Figures 7.2 to 7.7 of "Causal separators"."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bench.chapter7_table import SCENARIOS, first_local
from bench.described import history, measure, stamps
from bench.docs import markdown
from bench.hops import Counted, mean


def histograms(experiment: Mapping[str, Any]) -> str:
    """Figures 7.2 to 7.4."""
    text = (
        "\n## Figures 7.2 to 7.4\n\nThe pictures are lost, so there is nothing to compare with. "
        "In per cent of all hop messages, or of the events at a process; "
        f"{experiment['readings']['seeds']} seeds.\n"
    )
    watched = ("p3", "d2", "d3")
    seeds, local = experiment["readings"]["seeds"], first_local(experiment)
    history_rows, stamp_rows = [], []
    for network in ("six", "ten"):
        for name, chosen in SCENARIOS.items():
            runs = measure(experiment, network, chosen, seeds=seeds, local=local, watched=watched)
            if network == "six":
                for place, process in enumerate(watched):
                    each = [list(one.histories.values())[place] for one in runs]
                    history_rows.append([process, name, *shares(sum(each, Counter[int]()))])
            total = sum((one.stamps for one in runs), Counter[int]())
            figure = "7.3, 6 processes" if network == "six" else "7.4, 10 processes"
            stamp_rows.append([figure, name, *shares(total)])
    sizes = [*map(str, range(LAST)), f"{LAST} or more", "mean"]
    return (
        text
        + "\nFigure 7.2: elements of the causal history, 6 processes.\n\n"
        + markdown(("at", "rule", *sizes), history_rows)
        + "\nFigures 7.3 and 7.4: elements of a timestamp.\n\n"
        + markdown(("figure", "rule", *sizes), stamp_rows)
    )


LAST = 9
"""Histories and stamps of so many elements and more share a column."""


def shares(counts: Counter[int]) -> list[str]:
    """In per cent, and the mean."""
    total = max(1, counts.total())
    binned = [counts[size] for size in range(LAST)]
    binned.append(total - sum(binned))
    return [*(f"{100 * times / total:.1f}" for times in binned), f"{mean(counts):.2f}"]


RULES: dict[str, tuple[bool, dict[str, Any]]] = {
    "no R9": (False, {}),
    "R9 as printed": (True, {"own_implied": False, "gateways": False}),
    "own membership implied": (True, {"own_implied": True, "gateways": False}),
    "and A ⊆ B ∪ S": (True, {"own_implied": True, "gateways": True}),
}


def _by_rule(
    experiment: Mapping[str, Any], network: str, watched: Sequence[str], senders: Sequence[str]
) -> dict[str, list[Counted]]:
    names = experiment[network]["separators"]
    return {
        rule: measure(
            {**experiment, "messages": experiment["figures"]["messages"]},
            network,
            names if is_on else (),
            seeds=experiment["figures"]["seeds"],
            watched=watched,
            senders=senders,
            **options,
        )
        for rule, (is_on, options) in RULES.items()
    }


def _rule_table(found: Mapping[str, Sequence[Counted]]) -> str:
    rows = [[rule, str(stamps(runs)), str(history(runs))] for rule, runs in found.items()]
    return markdown(("rule", "elements of a timestamp", "elements of the history"), rows)


def gateway(experiment: Mapping[str, Any]) -> str:
    """Figure 7.5."""
    small = experiment["gateway"]["groups"]["G1"]
    found = _by_rule(experiment, "gateway", small, small)
    runs = list(found.values())
    return (
        f"\n## Figure 7.5: a small group and a large one\n\nA broadcast network of 4 processes and "
        f"one of 28, with one gateway between; the groups are G1 (the 4), G2 (the 28), and G3 and "
        f"G4 of one process of each. What processes of G1 send and what they keep, "
        f"{experiment['figures']['seeds']} seeds. The paper: from 32 elements to fewer than 5.\n\n"
        + _rule_table(found)
        + f"\nThe paper's 32 and 5 are near the histories ({history(runs[0]).value:.1f} and "
        f"{history(runs[-1]).value:.1f}), which are what a timestamp has without R7; with R7, "
        f"timestamps are small from the start.\n"
    )


SAME_RULES = """
The repairs change nothing here. Every hop to a gateway is one multicast to both gateways of a
network and to nobody else. So of a separator both members have been told of a message, or neither:
the own membership is never all that is missing. And what is addressed to gateways is addressed to
no process beside them, and R8 forgets it as soon as both have been told.
"""


def _are_same(found: Sequence[Sequence[Counted]]) -> bool:
    return all(runs == found[0] for runs in found)


def ring(experiment: Mapping[str, Any]) -> str:
    """Figures 7.6 and 7.7."""
    found = _by_rule(experiment, "ring", ["p1"], ["p1..p10"])
    plain, filtered = found["no R9"], list(found.values())[-1]
    sizes = [*map(str, range(LAST)), f"{LAST} or more", "mean"]
    rows = []
    for name, runs in (("no R9", plain), ("R9, repaired", filtered)):
        total = sum((one.stamps for one in runs), Counter[int]())
        kept = sum((each for one in runs for each in one.histories.values()), Counter[int]())
        rows += [["timestamps in G1", name, *shares(total)], ["history of p1", name, *shares(kept)]]
    return (
        f"\n## Figures 7.6 and 7.7: three broadcast networks\n\nThree broadcast networks of 10 "
        f"processes, each with two gateways that hear all outgoing traffic; the gateways of all "
        f"three are linked, and both forward. Each network is a group, and three groups of two "
        f"join them. What processes of the first network send, and what p1 keeps, "
        f"{experiment['figures']['seeds']} seeds. The paper gives no numbers, only that the "
        f"history of p1 is much larger without separators.\n\n"
        + _rule_table(found)
        + (SAME_RULES if _are_same(list(found.values())[1:]) else "")
        + "\nFigure 7.7, in per cent:\n\n"
        + markdown(("of", "rule", *sizes), rows)
    )
