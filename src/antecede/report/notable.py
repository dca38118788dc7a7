"""Single runs that deserve a look: the worst of each kind, and those that failed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from antecede.report.figure import Numbers, render_numbers
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import SECONDS, count, exact, grouped
from antecede.report.results import Results, Rows, natural

VIEWS = "views"
"""The folder of space-time diagrams beside the tables, one page a run."""
MOST_ERRORS = 30
SETTING = ("run", "variant", "network", "workload", "processes", "seed")


class Notable(NamedTuple):
    why: str
    row: dict[str, Any]
    value: str


def notable_runs(results: Results) -> list[Notable]:
    """The first violation of a promise, then the largest of everything that can be large."""
    measures = ("violations", "undelivered", "delay_s_max", "unnecessary_s_max", "queue_max")
    columns = (*SETTING, "status", "promised", *measures, "stamp_bytes_max")
    rows = [row for row in results.rows(*columns) if row["status"] == "ok"]
    rows.sort(key=lambda row: natural(" ".join(str(row[name]) for name in SETTING[1:])))
    return list(_pick(rows))


def _pick(rows: Rows) -> Iterator[Notable]:
    broken = next((row for row in rows if row["promised"] and row["violations"]), None)
    if broken:
        yield Notable("First broken promise", broken, f"{grouped(broken['violations'])} too early")
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
    return render_numbers(Numbers(columns, rows, words=5), "Runs to look at", kind="runs")


def failures_section(results: Results, beside: Path) -> Markup | None:
    """The errors, equal ones together."""
    failed = [r for r in results.rows(*SETTING, "status", "error") if r["status"] != "ok"]
    if not failed:
        return None
    failed.sort(key=lambda row: natural(" ".join(str(row[name]) for name in SETTING[1:])))
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


def _link(results: Results, row: dict[str, Any], beside: Path) -> Markup:
    """The run's identity; where there is a diagram of it, a link that works from the page's folder.
    Identities are hashes, but the table may come from anywhere: only a plain name is followed."""
    run = row["run"]
    name = tag("code", run[:12], title=run)
    page = results.folder / VIEWS / f"{run}.html"
    plain = run.isascii() and run.replace("-", "").replace("_", "").isalnum()
    if plain and page.is_file():
        way = os.path.relpath(page.resolve(), beside.resolve())
        return tag("a", name, href=quote(Path(way).as_posix()))
    return name
