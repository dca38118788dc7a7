"""Did the protocols keep their promises? The first thing a reader wants to know."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from antecede.report.figure import Numbers, render_numbers
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import count, grouped
from antecede.report.results import Results

HELD, BROKEN, OWING = "held", "broken", "owing"
NO_PROMISE, UNKNOWN = "no-promise", "unknown"
SYMBOLS = {HELD: "✓", BROKEN: "✗", OWING: "✗", NO_PROMISE: "○", UNKNOWN: "?"}
WORDS = {
    HELD: "order held",
    BROKEN: "order broken",
    OWING: "messages owed",
    NO_PROMISE: "no promise",
    UNKNOWN: "not judged",
}


@dataclass
class Tally:
    """What became of the runs of one variant."""

    variant: str
    runs: int = 0
    failed: int = 0
    promised: int = 0
    broken: int = 0
    """Runs that promised causal order and did not keep it."""
    unordered: int = 0
    """Runs with violations, promised or not."""
    violations: int = 0
    undelivered: int = 0
    owing: int = 0
    """Runs that did not deliver all that they had to."""
    messages: int = 0
    deliveries: int = 0
    verdict: str = field(init=False, default=UNKNOWN)

    def add(self, row: dict[str, Any]) -> None:
        self.runs += 1
        if row["status"] != "ok":
            self.failed += 1
            return
        violations = row["violations"] or 0
        self.promised += bool(row["promised"])
        self.broken += bool(row["promised"]) and violations > 0
        self.unordered += violations > 0
        self.violations += violations
        self.undelivered += row["undelivered"] or 0
        self.owing += bool(row["owed"])
        self.messages += row["messages"] or 0
        self.deliveries += row["deliveries"] or 0

    def judge(self) -> None:
        if self.broken:
            self.verdict = BROKEN
        elif self.owing:
            self.verdict = OWING
        elif self.runs == self.failed or not self.deliveries:
            self.verdict = UNKNOWN
        else:
            self.verdict = HELD if self.promised else NO_PROMISE


COLUMNS = (
    *("variant", "status", "promised", "violations"),
    *("undelivered", "owed", "messages", "deliveries"),
)


def tally(results: Results) -> list[Tally]:
    tallies = {variant: Tally(variant) for variant in results.series}
    for row in results.rows(*COLUMNS):
        tallies[row["variant"]].add(row)
    for each in tallies.values():
        each.judge()
    return list(tallies.values())


def banner(tallies: Iterable[Tally]) -> Markup:
    """The verdict on the whole campaign, in one sentence with a sign."""
    tallies = list(tallies)
    failed, runs = sum(t.failed for t in tallies), sum(t.runs for t in tallies)
    promised, broken = sum(t.promised for t in tallies), sum(t.broken for t in tallies)
    if broken:
        kind = BROKEN
        headline = f"Causal order was broken in {count(broken, 'run')}"
        detail = f"{count(promised, 'run')} promised it. See which below."
    elif owing := sum(t.owing for t in tallies):
        kind = OWING
        headline = f"What had to be delivered was not in {count(owing, 'run')}"
        detail = "No promise of causal order was broken. See which below." if promised else ""
    elif promised and not (deliveries := sum(t.deliveries for t in tallies if t.promised)):
        kind = UNKNOWN
        headline = "Whether order was kept cannot be told"
        detail = f"{count(promised, 'run')} promised it, and nothing was delivered there."
    elif promised:
        kind = HELD
        headline = "Every promise of causal order was kept"
        detail = (
            f"{count(promised, 'run')} promised it, and none of their "
            f"{count(deliveries, 'delivery', 'deliveries')} came too early."
        )
    elif runs == failed:
        kind = UNKNOWN
        headline = "No run finished" if runs else "Nothing was run"
        detail = "There is nothing to judge: see the errors below."
    else:
        kind = NO_PROMISE
        headline = "No protocol here promises causal order"
        detail = f"{count(sum(t.unordered for t in tallies), 'run')} went without it."
    if lost := sum(t.undelivered for t in tallies):
        detail += f" {count(lost, 'copy', 'copies')} never arrived or were held to the end."
    if failed and runs != failed:
        detail += f" {count(failed, 'run')} of {grouped(runs)} failed."
    return tag(
        "div",
        tag("span", SYMBOLS[kind], class_="sign", aria_hidden="true"),
        tag("div", tag("strong", headline), tag("p", detail)),
        class_=f"banner {kind}",
        role="status",
    )


def verdict_table(tallies: Iterable[Tally]) -> Markup:
    rows = [
        (
            each.variant,
            badge(each.verdict),
            grouped(each.runs),
            grouped(each.failed) if each.failed else "0",
            grouped(each.messages),
            grouped(each.deliveries),
            grouped(each.violations),
            grouped(each.undelivered),
        )
        for each in tallies
    ]
    columns = ("protocol", "verdict", "runs", "failed", "messages", "deliveries", "too early")
    return render_numbers(
        Numbers((*columns, "undelivered"), rows, words=2), "Verdicts", kind="verdicts"
    )


def badge(verdict: str) -> Markup:
    return tag(
        "span",
        tag("span", SYMBOLS[verdict], aria_hidden="true"),
        join(f" {WORDS[verdict]}"),
        class_=f"badge {verdict}",
    )
