"""Space-time diagrams of the runs that deserve a look, where the campaign kept their traces."""

from pathlib import Path

from antecede.errors import AntecedeError
from antecede.report.notable import trace_of, view_of, worth_drawing
from antecede.report.results import Results


def write_views(results: Results) -> list[str]:
    """Writes the missing diagrams beside the tables. Returns what could not be drawn, and why: a
    broken trace is no reason to go without a report."""
    from antecede.view import write_view  # noqa: PLC0415 - it brings the whole verifier

    failures = []
    for row in worth_drawing(results):
        trace, page = trace_of(results, row["run"]), view_of(results, row["run"])
        if _is_current(page, trace):
            continue
        try:
            page.parent.mkdir(exist_ok=True)
            write_view(trace, page, force=True)
        except (AntecedeError, OSError) as error:
            failures.append(f"There is no diagram of the run {row['run']}: {error}")
    return failures


def _is_current(page: Path, trace: Path) -> bool:
    return page.exists() and page.stat().st_mtime >= trace.stat().st_mtime
