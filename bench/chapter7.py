"""`python -m bench.chapter7`: the simulations of chapter 7 of "Causal separators", run anew.

Runs experiments/chapter7.toml and writes docs/results/separators-chapter7.md. Everything is counted
on seeded runs: the same figures come out on every machine, in some minutes.
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.described import Described, Estimate, history, measure, overlaid, stamps, wrapped
from bench.docs import ROOT, markdown
from bench.hops import Counted, Local, mean

EXPERIMENT = ROOT / "experiments" / "chapter7.toml"
PAGE = ROOT / "docs" / "results" / "separators-chapter7.md"
SCENARIOS: dict[str, tuple[str, ...]] = {
    "no R9": (),
    "R9 at S2": ("S2",),
    "R9 at S1, S2 and S3": ("S1", "S2", "S3"),
}
FITS = 0.05
"""What counts as a fit: a difference of so much, or within the confidence interval."""

INTRODUCTION = """# Chapter 7 of "Causal separators", run anew

Written by `python -m bench.chapter7` from `experiments/chapter7.toml`; do not edit. Everything is
counted on seeded runs, so the same figures come out everywhere.

L. Rodrigues and P. Verissimo measured on a simulator how many elements a timestamp has, with and
without topological timestamps (rule R9). The text of their report gives the table below and some
figures of other networks; the pictures of the networks, which would complete the description, are
lost. What the text says: messages are sent to groups; every process sends 10 messages a second; a
hop takes 50 ms on average; the separators are S1 = {d1, d2}, S2 = {d3} and S3 = {n3}; a message
from p1 to p6 takes the way p1, n1, {d1, d2}, d3, n3, p6.

What is assumed here, since the text does not say it:

- where the processes live and who is in which group: n1 has p1 and p2, n2 has p3 and p4, n3 has p5
  and p6; G_A = {p1, p2, p3}, G_B = {p3, p4, p5}, G_C = {p1, p6}, G_D = {p5, p6}; n2 is linked to
  d3;
- a process picks one of its groups at random; sends are a Poisson process, delays exponential, and
  links reorder;
- d1 and d2 both forward, and copies are dropped where they meet;
- hops inside a node and out of it are separate messages: a process sends to others of its node
  directly, and to the server of the node what is to leave it;
- of S2, one side is n1, the other n2 and n3, and R9 filters both ways;
- the mean is taken over all hop messages, those of servers and routers included;
- R7 is applied, and the union of R6.3 runs over all of the history; R9 has the repair without which
  it hardly applies: a member of a separator counts as told of what it knows itself.

The section "What it hangs on" shows what becomes of the table when some of this is read otherwise.
A range after ± is half of the 95 % confidence interval of the mean over the seeds.
"""


def main() -> None:
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(wrapped(page(load())), "utf-8")
    print(f"written: {PAGE.relative_to(ROOT)}")


def load(path: Path = EXPERIMENT) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def page(experiment: Mapping[str, Any]) -> str:
    return (
        INTRODUCTION
        + shipped(experiment)
        + table_7_1(experiment)
        + readings(experiment)
        + histograms(experiment)
        + gateway(experiment)
        + ring(experiment)
    )


# The parts of the page.

SHIPPED = """
## Through the overlay that ships

The networks of the chapter as zones of `separators`, with R9 at the sets that are named; everything
else is the overlay's own doing: a hop is one multicast to all next sets, so a process reaches the
others of its node and the server in one, and each set filters every one of its sides from all
others. Both routers of a set forward, or always the same one. A test holds the model that the
sections below need for other readings of the text to this overlay: where both can do the same, they
send the same stamps.

"""


def shipped(experiment: Mapping[str, Any], seeds: int | None = None) -> str:
    """Table 7.1 and figures 7.5 and 7.6, by the overlay."""
    seeds = seeds or experiment["readings"]["seeds"]
    paper = experiment["paper"]
    table = [
        ["paper, n = 6", "", *(f"{value:.2f}" for value in paper["n6"])],
        ["paper, n = 10", "", *(f"{value:.2f}" for value in paper["n10"])],
    ]
    for network, title in (("six", "n = 6"), ("ten", "n = 10")):
        for who, forwarding in experiment["readings"]["forwarding"].items():
            runs = [
                overlaid(experiment, network, chosen, seeds=seeds, forwarding=forwarding)
                for chosen in SCENARIOS.values()
            ]
            table.append([title, who, *(str(stamps(one)) for one in runs)])
    figures = []
    for figure, network, watched, senders in FIGURES:
        for who, forwarding in experiment["readings"]["forwarding"].items():
            if network == "gateway" and forwarding == "one":
                continue  # its only router forwards anyway
            row = [figure, who if network != "gateway" else "the one"]
            for chosen in ((), tuple(experiment[network]["separators"])):
                runs_of = overlaid(
                    {**experiment, "messages": experiment["figures"]["messages"]},
                    network,
                    chosen,
                    seeds=seeds,
                    forwarding=forwarding,
                    watched=watched,
                    senders=senders,
                )
                row += [str(stamps(runs_of)), str(history(runs_of))]
            figures.append(row)
    heads = ("figure", "forward", "timestamp, no R9", "history, no R9", "timestamp, R9")
    return (
        SHIPPED
        + f"Table 7.1, elements of a timestamp, {seeds} seeds:\n\n"
        + markdown(("network", "forward", *SCENARIOS), table)
        + f"\nFigures 7.5 and 7.6: what the processes of the first network send, and what its "
        f"processes (7.5) or p1 (7.6) keep, {seeds} seeds:\n\n"
        + markdown((*heads, "history, R9"), figures)
    )


FIGURES = (
    ("7.5", "gateway", ["p1", "p2", "p3", "p4"], ["p1..p4"]),
    ("7.6", "ring", ["p1"], ["p1..p10"]),
)


def table_7_1(experiment: Mapping[str, Any], seeds: int | None = None) -> str:
    paper = experiment["paper"]
    local = first_local(experiment)
    seeds = seeds or experiment["seeds"]
    six, printed, ten, unknown = (
        row_of_three(experiment, network, seeds=seeds, local=local, **options)
        for network, options in (
            ("six", {}),
            ("six", {"own_implied": False, "gateways": False}),
            ("ten", {}),
            ("ten", {"unknown": experiment["ten"]["newcomers"]}),
        )
    )
    sizes = [Described(experiment[name], local, "all") for name in ("six", "ten")]
    rows = [
        ["matrix clock", *_both(str(one.applications**2) for one in sizes)],
        [
            "vector clocks",
            *_both(str(sum(g.bit_count() for g in one.groups.values())) for one in sizes),
        ],
    ]
    for place, name in enumerate(SCENARIOS):
        n6, n10 = f"{paper['n6'][place]:.2f}", f"{paper['n10'][place]:.2f}"
        here = (six[place], printed[place])
        rows.append([name, n6, *map(str, here), n10, str(ten[place]), str(unknown[place])])
    heads = (
        "elements, mean",
        "paper, n = 6",
        "here",
        "R9 as printed",
        "paper, n = 10",
        "here",
        "newcomers unknown to F and B",
    )
    verdicts = [
        *_verdicts("6 processes", paper["n6"], six),
        *_verdicts("10 processes", paper["n10"], ten),
        *_verdicts("10 processes, newcomers unknown", paper["n10"], unknown),
    ]
    return (
        f"\n## Table 7.1\n\n{seeds} seeds, {experiment['messages']} messages each.\n\n"
        + markdown(heads, rows)
        + "\nWhat fits (within 5 %, or within the interval), and what does not:\n\n"
        + "".join(f"- {line}\n" for line in verdicts)
        + _reading_of_table(six, ten, unknown, paper)
    )


def _both(values: Iterable[str]) -> list[str]:
    six, ten = values
    return [six, "", "", ten, "", ""]


def _verdicts(title: str, paper: Sequence[float], here: Sequence[Estimate]) -> list[str]:
    found = []
    for name, theirs, own in zip(SCENARIOS, paper, here, strict=True):
        off = own.value / theirs - 1
        is_fit = abs(off) <= FITS or abs(own.value - theirs) <= own.half
        word = "fits" if is_fit else "does not fit"
        found.append(f"{title}, {name}: {word} ({own.value:.2f} for {theirs:.2f}, {off:+.0%})")
    return found


def _reading_of_table(
    six: Sequence[Estimate],
    ten: Sequence[Estimate],
    unknown: Sequence[Estimate],
    paper: Mapping[str, Sequence[float]],
) -> str:
    def saving(row: Sequence[float]) -> str:
        return f"{1 - row[1] / row[0]:.0%} at S2 and {1 - row[2] / row[0]:.0%} at all three"

    plain, hidden, small = ([one.value for one in row] for row in (ten, unknown, six))
    return (
        f"\nR9 saves {saving(small)} with 6 processes; in the paper, {saving(paper['n6'])}. With "
        f"10 processes it saves {saving(plain)}; in the paper, {saving(paper['n10'])}. The last "
        f"column supposes that the newcomers were not entered in F and B, so that nothing is left "
        f"out for their sake: {saving(hidden)}. That is a guess made after seeing the misfit, and "
        f"the text gives no hint of it.\n"
    )


def first_local(experiment: Mapping[str, Any]) -> Local:
    first: Local = next(iter(experiment["readings"]["local"].values()))
    return first


def row_of_three(
    experiment: Mapping[str, Any], network: str, *, seeds: int, **options: Any
) -> list[Estimate]:
    return [
        stamps(measure(experiment, network, chosen, seeds=seeds, **options))
        for chosen in SCENARIOS.values()
    ]


class Reading(NamedTuple):
    """One way to take what the text leaves open, and the table for 6 processes that it gives."""

    words: tuple[str, ...]
    local: Local
    forwarding: str
    s2: Sequence[Sequence[str]]
    is_repaired: bool
    found: Sequence[Estimate]

    def furthest(self, paper: Sequence[float]) -> float:
        """The largest difference from the paper."""
        return max(abs(o.value / p - 1) for o, p in zip(self.found, paper, strict=True))


def readings(experiment: Mapping[str, Any]) -> str:
    """The table for 6 processes under other readings of the text."""
    paper = experiment["paper"]["n6"]
    found = list(_readings(experiment))
    rows = [
        [*one.words, *(f"{each.value:.2f}" for each in one.found), f"{one.furthest(paper):.0%}"]
        for one in found
    ]
    rows.append(["the paper", "", "", "", *(f"{value:.2f}" for value in paper), ""])
    heads = ("processes of a node reach each other", "forward", "S2 separates", "R9")
    return (
        f"\n## What it hangs on\n\nThe table for 6 processes under other readings, "
        f"{experiment['readings']['seeds']} seeds each. *Forward*: whether d1 and d2 both do, or "
        f"always the same one. *Furthest*: the largest difference from the paper.\n\n"
        + markdown((*heads, *SCENARIOS, "furthest"), rows)
        + _reading_of_readings([[each.value for each in one.found] for one in found], paper)
        + _fits(experiment, found)
        + REBUILT
        + _delays(experiment)
    )


def _readings(experiment: Mapping[str, Any]) -> Iterator[Reading]:
    open_ = experiment["readings"]
    for how, local in open_["local"].items():
        for who, forwarding in open_["forwarding"].items():
            changed = {**experiment, "forwarding": forwarding}
            options: dict[str, Any] = {"seeds": open_["seeds"], "local": local}
            plain = stamps(measure(changed, "six", (), **options))
            for sides, parts in open_["S2"].items():
                for rule, is_repaired in (("repaired", True), ("as printed", False)):
                    options |= {"s2": parts, "own_implied": is_repaired, "gateways": is_repaired}
                    filtered = [
                        stamps(measure(changed, "six", chosen, **options))
                        for chosen in list(SCENARIOS.values())[1:]
                    ]
                    words = (how, who, sides, rule)
                    yield Reading(words, local, forwarding, parts, is_repaired, [plain, *filtered])


def _reading_of_readings(rows: Sequence[Sequence[float]], paper: Sequence[float]) -> str:
    def span(values: Sequence[float]) -> str:
        return f"{min(values):.0%} to {max(values):.0%}"

    ordered = sum(row[0] > row[1] > row[2] for row in rows)
    plain = [row[0] for row in rows]
    return (
        f"\nThe order (no R9, then S2, then all three) comes out under {ordered} of {len(rows)} "
        f"readings. R9 at S2 saves {span([1 - row[1] / row[0] for row in rows])}, at all three "
        f"{span([1 - row[2] / row[0] for row in rows])}; in the paper it is "
        f"{1 - paper[1] / paper[0]:.0%} and {1 - paper[2] / paper[0]:.0%}. Without R9 the readings "
        f"give {min(plain):.2f} to {max(plain):.2f} elements for the paper's {paper[0]:.2f}, and "
        f"that hangs on how processes of a node reach each other and on who forwards; what R9 "
        f"saves at S2 hangs on what S2 is taken to separate. The first reading was taken for the "
        f"other tables after those where both forward had been seen, for its figures with R9: "
        f"that these fit is no confirmation.\n"
    )


def _fits(experiment: Mapping[str, Any], found: Sequence[Reading]) -> str:
    """Which readings fit all three figures, and what the closest gives for 10 processes."""
    paper = experiment["paper"]
    fits = sorted(
        (one for one in found if one.furthest(paper["n6"]) <= FITS),
        key=lambda one: one.furthest(paper["n6"]),
    )
    if not fits:
        return f"\nNo reading fits all three figures within {FITS:.0%}.\n"
    best = fits[0]
    options: dict[str, Any] = {
        "seeds": experiment["figures"]["seeds"],
        "local": best.local,
        "s2": best.s2,
        "own_implied": best.is_repaired,
        "gateways": best.is_repaired,
    }
    changed = {**experiment, "forwarding": best.forwarding}
    six, ten = (row_of_three(changed, network, **options) for network in ("six", "ten"))
    unknown = row_of_three(changed, "ten", unknown=experiment["ten"]["newcomers"], **options)
    rows = [
        ["paper, n = 6", *(f"{value:.2f}" for value in paper["n6"])],
        ["here", *map(str, six)],
        ["paper, n = 10", *(f"{value:.2f}" for value in paper["n10"])],
        ["here", *map(str, ten)],
        ["here, newcomers unknown to F and B", *map(str, unknown)],
    ]
    verdicts = [
        *_verdicts("10 processes", paper["n10"], ten),
        *_verdicts("10 processes, newcomers unknown", paper["n10"], unknown),
    ]
    return (
        f"\nAll three figures for 6 processes are met within {FITS:.0%} by {len(fits)} of "
        f"{len(found)} readings:\n\n"
        + "".join(f"- {_in_words(one)}: {one.furthest(paper['n6']):.1%}\n" for one in fits)
        + f"\nThis was found after the fact, among {len(found)} readings and with three figures "
        f"to meet: it shows that the description can give the paper's figures, not that the "
        f"authors read it so. The closest of them with {experiment['figures']['seeds']} seeds, "
        f"and for 10 processes, which had no part in the choice:\n\n"
        + markdown(("elements, mean", *SCENARIOS), rows)
        + "\n"
        + "".join(f"- {line}\n" for line in verdicts)
        + NEWCOMERS
    )


def _in_words(reading: Reading) -> str:
    how, who, sides, rule = reading.words
    return f"{how}; {who} forward{'s' if who == 'one' else ''}; S2 separates {sides}; R9 {rule}"


NEWCOMERS = """
That the newcomers are unknown is the guess of the section before, made to mend the misfit for 10
processes: its fit is no test of this reading.
"""
REBUILT = """
An earlier rebuild from the same description, independent of this one, got 3.53, 2.65 and 2.12 (no
R9, at S2, at all three; both forward, own membership implied), and for figure 7.6 timestamps of 4.9
elements without R9 and 2.6 with it, and histories of 32.9 and 4.8. This page does not reproduce
these figures, and what the two do differently is not known; with one router of a set forwarding,
the histories of figure 7.6 come near (in the first section).
"""


def _delays(experiment: Mapping[str, Any]) -> str:
    rows = []
    furthest = 0.0
    found = {}
    for delay_s in experiment["readings"]["delays_s"]:
        found[delay_s] = row_of_three(
            experiment,
            "six",
            seeds=experiment["readings"]["seeds"],
            local=first_local(experiment),
            mean_delay_s=delay_s,
        )
    base = found[experiment["mean_delay_s"]]
    for delay_s, row in found.items():
        off = max(abs(one.value / other.value - 1) for one, other in zip(row, base, strict=True))
        furthest = max(furthest, off)
        rows.append([f"{1000 * delay_s:g} ms", *(f"{one.value:.2f}" for one in row), f"{off:.0%}"])
    return (
        "\nThe paper says that other network delays change the values by less than 5 %:\n\n"
        + markdown(("mean delay of a hop", *SCENARIOS, "furthest from 50 ms"), rows)
        + f"\nHere that {'fits' if furthest <= FITS else 'does not fit'}: the difference is up to "
        f"{furthest:.0%}. Longer delays make smaller stamps.\n"
    )


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


if __name__ == "__main__":
    main()
