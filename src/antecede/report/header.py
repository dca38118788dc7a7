"""The head of the page, and, after its answer, what was run, in a few large numbers."""

from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import brief, count, duration, grouped
from antecede.report.results import Results


def header(results: Results, verdict: Markup) -> Markup:
    return tag(
        "header",
        ornament(),
        tag("p", "Antecede campaign", class_="kicker"),
        tag("h1", results.title),
        tag("p", results.question, class_="question") if results.question else None,
        verdict,
    )


def what_was_run(results: Results) -> Markup:
    return join(tag("dl", *_facts(results), class_="facts"), _grid(results))


def _facts(results: Results) -> list[Markup]:
    rows = results.rows("status", "messages", "deliveries", "events", "virtual_s", "seed")
    done = [row for row in rows if row["status"] == "ok"]
    seeds = len({row["seed"] for row in rows})
    facts = [
        (grouped(len(rows)), "run" if len(rows) == 1 else "runs"),
        *_protocols(results),
        (grouped(seeds), "seed" if seeds == 1 else "seeds"),
        (brief(sum(row["messages"] or 0 for row in done)), "messages"),
        (brief(sum(row["deliveries"] or 0 for row in done)), "deliveries"),
        (brief(sum(row["events"] or 0 for row in done)), "events simulated"),
        (duration(sum(row["virtual_s"] or 0.0 for row in done)), "of virtual time"),
    ]
    return [
        tag("div", tag("dt", noun), tag("dd", number))
        for number, noun in facts
        if number not in ("0", "0 s")
    ]


def _protocols(results: Results) -> list[tuple[str, str]]:
    """A protocol with two sets of options is one protocol, and two variants."""
    protocols, variants = len(set(results.protocols.values())), len(results.series)
    told = [(grouped(protocols), "protocol" if protocols == 1 else "protocols")]
    return told if protocols == variants else [*told, (grouped(variants), "variants of them")]


def _grid(results: Results) -> Markup:
    """The grid that the campaign spans, behind a line to open."""
    networks = sorted({facet.network for facet in results.facets})
    workloads = sorted({facet.workload for facet in results.facets})
    sizes = sorted({setting.processes for setting in results.settings})
    seeds = sorted({row["seed"] for row in results.rows("seed")})
    axes = (
        ("Protocols", list(results.series)),
        ("Networks", networks),
        ("Workloads", workloads),
        ("Processes", [grouped(size) for size in sizes]),
        ("Seeds", _ranges(seeds)),
    )
    parts = [
        tag("div", tag("dt", name), tag("dd", *_chips(values))) for name, values in axes if values
    ]
    counted = ", ".join(
        [
            ", ".join(f"{number} {noun}" for number, noun in _protocols(results)),
            count(len(networks), "network"),
            count(len(workloads), "workload"),
            count(len(sizes), "size"),
            count(len(seeds), "seed"),
        ]
    )
    return tag(
        "details",
        tag("summary", f"What was run: {counted}"),
        tag("dl", *parts, class_="grid-of-runs"),
        _file(results),
        class_="what",
    )


def _file(results: Results) -> Markup | None:
    """The campaign file: whoever has it can run the campaign again."""
    if not results.file:
        return None
    text = tag("pre", tag("code", results.file), tabindex=0, role="region", aria_label="File")
    return tag("details", tag("summary", "The campaign file"), text, class_="file")


def _chips(values: list[str]) -> list[Markup]:
    return [join(tag("span", value, class_="chip"), " ") for value in values]


def _ranges(seeds: list[int]) -> list[str]:
    """1, 2, 3, 7 as 1–3 and 7."""
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return [f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]


def ornament() -> Markup:
    """A space-time diagram: three processes, and messages between them."""
    heights = (22, 62, 102)
    arrows = (
        (20, 0, 66, 1),
        (78, 1, 140, 2),
        (34, 0, 190, 2),
        (204, 2, 250, 1),
        (152, 2, 226, 0),
        (262, 1, 306, 0),
        (262, 1, 318, 2),
    )
    lines = [tag("line", x1=0, x2=340, y1=y, y2=y, class_="time") for y in heights]
    for start, one, end, other in arrows:
        y1, y2 = heights[one], heights[other]
        lines.append(tag("line", x1=start, y1=y1, x2=end, y2=y2, class_="arrow"))
        lines.append(tag("circle", cx=start, cy=y1, r=3.5, class_="sent"))
        lines.append(tag("circle", cx=end, cy=y2, r=4.5, class_="delivered"))
    return tag(
        "svg", *lines, class_="ornament", viewBox="0 0 340 124", aria_hidden="true", width=340
    )
