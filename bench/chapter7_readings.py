"""Table 7.1 of "Causal separators" under other readings of the text, and with other delays."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench.chapter7_table import FITS, SCENARIOS, first_local, row_of_three, verdicts_on
from bench.described import Estimate, measure, stamps
from bench.docs import markdown
from bench.hops import Local


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
        *verdicts_on("10 processes", paper["n10"], ten),
        *verdicts_on("10 processes, newcomers unknown", paper["n10"], unknown),
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
