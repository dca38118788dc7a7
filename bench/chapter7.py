"""`python -m bench.chapter7`: the simulations of chapter 7 of "Causal separators", run anew.

Runs experiments/chapter7.toml and writes docs/results/separators-chapter7.md. Everything is counted
on seeded runs: the same figures come out on every machine, in some minutes.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.chapter7_figures import gateway, histograms, ring
from bench.chapter7_readings import readings
from bench.chapter7_table import SCENARIOS, table_7_1
from bench.described import history, overlaid, stamps, wrapped
from bench.docs import ROOT, markdown

EXPERIMENT = ROOT / "experiments" / "chapter7.toml"
PAGE = ROOT / "docs" / "results" / "separators-chapter7.md"

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


if __name__ == "__main__":
    main()
