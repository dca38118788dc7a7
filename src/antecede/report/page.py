"""The page as a whole: one file that needs nothing else."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from antecede.report.answer import answer_section
from antecede.report.comparison import comparisons, overview
from antecede.report.distributions import SPREADS, distribution_figures
from antecede.report.figure import UNSTEADY, Figure, render
from antecede.report.figures import (
    QUEUES,
    STAMPS,
    TRAFFIC,
    Measure,
    delay_split,
    growth,
    space_against_delay,
)
from antecede.report.header import header, what_was_run
from antecede.report.markup import Markup, join, tag
from antecede.report.notable import failures_section, notable_section, skipped_section
from antecede.report.numbers import count
from antecede.report.parameters import parameter_figures
from antecede.report.results import Results
from antecede.report.steady import steady_section
from antecede.report.verdicts import banner, tally, verdict_table

ANSWER_FIRST = "answer"
"""The section that the page begins with."""
MOST_OPEN = 6
"""So many figures of one kind stand in the page; the others wait behind a line to open."""


class Section(NamedTuple):
    name: str
    title: str
    lead: str
    content: Markup | None
    is_open: bool = False
    """Whether it stands in the page; the others wait behind their headings."""


def render_page(results: Results, beside: Path, remarks: Sequence[str] = ()) -> Markup:
    """The page, for a file in the folder `beside`. Remarks stand at its end."""
    sections = [section for section in _sections(results, beside) if section.content]
    if not any(section.is_open for section in sections):
        sections[:1] = [section._replace(is_open=True) for section in sections[:1]]
    style = read_resource("charts.css") + read_resource("style.css")
    script = read_resource("script.js")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="antecede"),
        tag("title", f"{results.title}: Antecede campaign"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Markup(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to the results", href="#results", class_="skip"),
        header(results, banner(tally(results))),
        tag("main", *_contents(results, sections), id="results"),
        _footer(remarks),
        tag("script", Markup(script)),
    )
    return join(Markup("<!doctype html>\n"), tag("html", head, body, lang="en"), Markup("\n"))


def _contents(results: Results, sections: Sequence[Section]) -> Iterator[Markup | None]:
    """The answer, and only then what was run, the contents, the key to the charts, and the rest."""
    answers = [section for section in sections if section.name == ANSWER_FIRST]
    yield from map(_render_section, answers)
    yield what_was_run(results)
    yield _navigation(sections)
    yield _switches(results)
    yield from (_render_section(section) for section in sections if section not in answers)


def all_figures(results: Results) -> Iterator[tuple[str, Sequence[Figure]]]:
    """The figures by the section they belong to; several environments give several of one kind."""
    for measure in STAMPS:
        yield "space", _growth(results, measure)
    yield "time", _present(delay_split(results, facet) for facet in results.drawn)
    yield "trade", _present(space_against_delay(results, facet) for facet in results.drawn)
    for measure in TRAFFIC:
        yield "traffic", _growth(results, measure)
    yield "traffic", parameter_figures(results)
    for measure in QUEUES:
        yield "time", _growth(results, measure)
    for spread in SPREADS:
        yield "distributions", distribution_figures(results, spread)


def _growth(results: Results, measure: Measure) -> list[Figure]:
    return _present(growth(results, facet, measure) for facet in results.drawn)


def _present(figures: Iterator[Figure | None]) -> list[Figure]:
    return [figure for figure in figures if figure]


def _sections(results: Results, beside: Path) -> Iterator[Section]:
    drawn: dict[str, list[Markup]] = {}
    for section, figures in all_figures(results):
        if figures:
            drawn.setdefault(section, []).append(_family(figures))
    pictures = {name: join(*parts) for name, parts in drawn.items()}
    yield Section(ANSWER_FIRST, "The answer", ANSWER, answer_section(results), is_open=True)
    yield Section("verdicts", "Verdicts", VERDICTS, verdict_table(tally(results)))
    yield Section("comparison", "Side by side", COMPARISON, comparisons(results))
    if len(results.facets) > len(results.drawn):
        yield Section("environments", "All environments", _many(results), overview(results))
    yield Section("space", "Space", SPACE, pictures.get("space"))
    yield Section("time", "Time", TIME, pictures.get("time"))
    yield Section("trade", "The trade-off", TRADE, pictures.get("trade"))
    yield Section("traffic", "Extra messages", TRAFFIC_LEAD, pictures.get("traffic"))
    yield Section("distributions", "Distributions", DISTRIBUTIONS, pictures.get("distributions"))
    yield Section("steady", "Not steady", STEADY, steady_section(results))
    yield Section("notable", "Runs to look at", NOTABLE, notable_section(results, beside))
    yield Section("failures", "Runs that failed", FAILURES, failures_section(results, beside))
    yield Section("skipped", "What was left out", SKIPPED, skipped_section(results))


def _many(results: Results) -> str:
    return (
        f"The campaign has {count(len(results.facets), 'environment')}. Figures follow for the "
        f"first {len(results.drawn)}; here are all of them, at their largest sizes."
    )


ANSWER = (
    "Of the variants that kept causal order, each environment (a network and a workload) at its "
    "largest size; means over seeds, ± half the 95 % confidence interval. Details are behind the "
    "headings below."
)
VERDICTS = (
    "Every run was verified: a delivery is too early when a message that causally precedes it, and "
    "is addressed to the same process, had not been delivered there yet."
)
COMPARISON = (
    "Means over seeds, ± half the 95 % confidence interval. A click on a heading sorts. "
    f"{UNSTEADY} marks what is not known to be a steady state."
)
STEADY = (
    f"Measures marked {UNSTEADY} are of runs that still changed after their warm-up, or were too "
    "short to tell: longer runs would give other values, and nothing is concluded from them. The "
    "drift is the difference between the second half and the first of what was measured."
)
SPACE = (
    "What ordering costs in bytes and memory. Lines are means over the seeds, bands their 95 % "
    "confidence intervals."
)
TIME = (
    "A delay has four parts. The network takes the first. A wait is forced while a causal "
    "predecessor is still on its way, inherited when predecessors were themselves held needlessly, "
    "and unnecessary when the message could have been delivered."
)
TRADE = "What is saved in space is often paid for in time, and the other way round."
TRAFFIC_LEAD = "What a protocol sends beside the messages of the application."
DISTRIBUTIONS = "Behind every mean stands a distribution. Counts of all runs are added up."
NOTABLE = (
    "The worst of each kind. Every run can be repeated from its scenario in the table of runs."
)
FAILURES = "A failed run does not stop a campaign and does not count in any figure."
SKIPPED = "Settings that a protocol cannot run."


def _render_section(section: Section) -> Markup:
    title = tag("h2", section.title, id=f"{section.name}-title")
    lead = tag("p", section.lead, class_="lead") if section.lead else None
    if section.is_open:
        content = join(title, lead, section.content)
    else:
        inside = tag("div", lead, section.content)
        content = tag("details", tag("summary", title), inside, class_="folded")
    return tag("section", content, id=section.name, aria_labelledby=f"{section.name}-title")


def _family(figures: Sequence[Figure]) -> Markup:
    """Figures of one kind in different environments: a heading, and cards under it."""
    if len(figures) == 1 and not figures[0].facet:
        return render(figures[0])
    same = len({figure.title for figure in figures}) == 1
    notes = {figure.note for figure in figures}
    if len(notes) == 1:
        figures = [replace(figure, note="") for figure in figures]
    first, rest = figures[:MOST_OPEN], figures[MOST_OPEN:]
    shown = tag("div", *(_member(figure, same=same) for figure in first), class_="members")
    hidden = None
    if rest:
        others = tag("div", *(_member(figure, same=same) for figure in rest), class_="members")
        hidden = tag("details", tag("summary", f"{len(rest)} more"), others)
    return tag(
        "div",
        tag("h3", figures[0].title) if same else None,
        tag("p", notes.pop(), class_="note") if len(notes) == 1 else None,
        shown,
        hidden,
        class_="family several" if same else "family",
    )


def _member(figure: Figure, *, same: bool) -> Markup:
    return render(figure, title=figure.facet if same else figure.full_title, heading="h4")


def _navigation(sections: Sequence[Section]) -> Markup:
    links = [tag("li", tag("a", each.title, href=f"#{each.name}")) for each in sections]
    return tag("nav", tag("ul", *links), aria_label="Sections")


def _switches(results: Results) -> Markup | None:
    """A button for every protocol, which is also the key to the charts."""
    if not results.series:
        return None
    buttons = [
        tag(
            "button",
            series.sample(),
            tag("span", series.name),
            type="button",
            aria_pressed="true",
            data_switch=series.place,
        )
        for series in results.series.values()
    ]
    group = tag(
        "div", *buttons, class_="switches", role="group", aria_label="Show or hide protocols"
    )
    return tag("div", group, class_="bar")


def _footer(remarks: Sequence[str]) -> Markup:
    return tag(
        "footer",
        *(tag("p", remark) for remark in remarks),
        tag(
            "p",
            "Made by ",
            tag("code", "antecede campaign report"),
            " from the tables ",
            tag("code", "runs"),
            ", ",
            tag("code", "summary"),
            " and ",
            tag("code", "histograms"),
            ", which are Parquet and yours to query.",
        ),
    )


def read_resource(name: str) -> str:
    return (files("antecede.report") / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing but our own style and script may run, and nothing may be fetched."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
