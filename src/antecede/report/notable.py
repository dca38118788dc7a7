"""Single runs that deserve a look: the worst of each kind, and those that failed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from antecede.files import is_stored
from antecede.report.figure import Numbers, render_numbers
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import SECONDS, count, exact, grouped
from antecede.report.results import Results, Rows, natural

TRACES, VIEWS = "traces", "views"
"""The folders of the traces that were kept and of their diagrams, by run."""
MOST_VIEWS = 24
MOST_ERRORS = 30
SETTING = ("run", "variant", "network", "workload", "processes", "seed")


class Notable(NamedTuple):
    why: str
    row: dict[str, Any]
    value: str


def notable_runs(results: Results) -> list[Notable]:
    """The first violation of a promise, then the largest of everything that can be large."""
    measures = ("violations", "undelivered", "delay_s_max", "unnecessary_s_max", "queue_max")
    columns = (*SETTING, "status", "promised", "owed", *measures, "stamp_bytes_max")
    rows = [row for row in results.rows(*columns) if row["status"] == "ok"]
    return list(_pick(_in_order(rows)))


def _pick(rows: Rows) -> Iterator[Notable]:
    broken = next((row for row in rows if row["promised"] and row["violations"]), None)
    if broken:
        yield Notable("First broken promise", broken, f"{grouped(broken['violations'])} too early")
    owing = next((row for row in rows if row["owed"]), None)
    if owing:
        what = count(owing["owed"], "copy", "copies")
        yield Notable("First that owes a delivery", owing, what)
    largest: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
        ("violations", "Most deliveries too early", lambda v: count(v, "delivery", "deliveries")),
        ("undelivered", "Most undelivered", lambda v: count(v, "copy", "copies")),
        ("delay_s_max", "Longest delay", _seconds),
        ("unnecessary_s_max", "Longest unnecessary wait", _seconds),
        ("queue_max", "Longest queue", lambda v: count(v, "message")),
        ("stamp_bytes_max", "Largest stamp", lambda v: f"{exact(v)} bytes"),
    )
    for column, why, words in largest:
        worst = max(rows, key=lambda row: row[column] or 0, default=None)
        if worst and worst[column]:
            yield Notable(why, worst, words(worst[column]))


def _seconds(value: float) -> str:
    return SECONDS.fitted(value).quantity(value)


def notable_section(results: Results, beside: Path) -> Markup | None:
    """The table of notable runs, with links to their diagrams."""
    found = notable_runs(results)
    if not found:
        return None
    rows = [
        (why, value, row["variant"], *_where(row), _link(results, row, beside))
        for why, row, value in found
    ]
    columns = ("what", "value", "protocol", "network", "workload", "processes", "seed", "run")
    return join(
        render_numbers(Numbers(columns, rows, words=5), "Runs to look at", kind="runs"),
        _kept(results, beside),
    )


def worth_drawing(results: Results) -> list[dict[str, Any]]:
    """The runs to draw: the notable ones first, then others whose traces were kept, but not more
    than `MOST_VIEWS` in all."""
    found = {row["run"]: row for _, row, _ in notable_runs(results)}
    for row in _in_order(results.rows(*SETTING)):
        found.setdefault(row["run"], row)
    kept = [row for run, row in found.items() if is_plain(run) and trace_of(results, run).exists()]
    return kept[:MOST_VIEWS]


def is_plain(run: str) -> bool:
    """Identities are hashes, but a table may come from anywhere: others name no file."""
    return run.isascii() and run.replace("-", "").replace("_", "").isalnum()


def trace_of(results: Results, run: str) -> Path:
    return results.folder / TRACES / f"{run}.parquet"


def view_of(results: Results, run: str) -> Path:
    return results.folder / VIEWS / f"{run}.html"


def _kept(results: Results, beside: Path) -> Markup | None:
    """Links to the diagrams there are."""
    rows = [row for row in worth_drawing(results) if view_of(results, row["run"]).is_file()]
    if not rows:
        return None
    links = [
        tag(
            "li",
            _link(results, row, beside, f"{row['variant']}, n = {row['processes']}"),
            f" {row['network']} · {row['workload']} · seed {row['seed']}",
        )
        for row in sorted(rows, key=lambda row: natural(f"{row['variant']} {row['processes']}"))
    ]
    return join(tag("h3", "Diagrams of runs whose traces were kept"), tag("ul", *links))


def _in_order(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: natural(" ".join(str(row[name]) for name in SETTING[1:])))


def failures_section(results: Results, beside: Path) -> Markup | None:
    """The errors, equal ones together."""
    rows_of_runs = results.rows(*SETTING, "status", "error")
    failed = _in_order([row for row in rows_of_runs if row["status"] != "ok"])
    if not failed:
        return None
    errors: dict[tuple[str, str], Rows] = {}
    for row in failed:
        errors.setdefault((row["error"] or "no message", row["variant"]), []).append(row)
    rows = [
        (
            variant,
            grouped(len(each)),
            tag("code", error, class_="error"),
            *_where(each[0]),
            _link(results, each[0], beside),
        )
        for (error, variant), each in list(errors.items())[:MOST_ERRORS]
    ]
    columns = ("protocol", "runs", "error", "network", "workload", "processes", "seed", "first run")
    more = len(errors) - len(rows)
    return join(
        render_numbers(Numbers(columns, rows, words=5), "Failed runs", kind="runs"),
        tag("p", f"{count(more, 'more error')} in the table of runs.") if more > 0 else None,
    )


def skipped_section(results: Results) -> Markup | None:
    """What no protocol could be asked to do, and why."""
    if not results.skipped:
        return None
    reasons: dict[tuple[str, str], Rows] = {}
    for row in results.skipped:
        reasons.setdefault((row["variant"], row["reason"]), []).append(row)
    rows = [
        (variant, reason, grouped(len(each)))
        for (variant, reason), each in sorted(reasons.items(), key=lambda item: natural(item[0][0]))
    ]
    return render_numbers(
        Numbers(("protocol", "why", "settings"), rows, words=2), "Left out", kind="runs"
    )


def _where(row: dict[str, Any]) -> tuple[str, str, str, str]:
    return (row["network"], row["workload"], grouped(row["processes"]), str(row["seed"]))


def _link(results: Results, row: dict[str, Any], beside: Path, text: str | None = None) -> Markup:
    """The run, by its identity or the text; where there is a diagram of it, a link that works from
    the page's folder."""
    run = row["run"]
    name = tag("span", text) if text else tag("code", run[:12], title=run)
    view = view_of(results, run)
    if is_plain(run) and is_stored(view) == is_stored(beside) and view.is_file():
        way = os.path.relpath(view.resolve(), beside.resolve())
        # The page opens at what makes the run notable.
        place = "#early" if row.get("violations") else "#worst"
        return tag("a", name, href=quote(Path(way).as_posix()) + place)
    return name
