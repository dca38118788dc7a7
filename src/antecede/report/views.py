"""Space-time diagrams of the runs that deserve a look, where the campaign kept their traces."""

import re
from pathlib import Path

from antecede.errors import AntecedeError
from antecede.report.notable import VIEWS, notable_runs
from antecede.report.results import Results

TRACES = "traces"
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def write_views(results: Results) -> list[str]:
    """Writes the missing diagrams beside the tables. Returns what could not be drawn, and why: a
    broken trace is no reason to go without a report."""
    from antecede.view import write_view  # noqa: PLC0415 (it brings the whole verifier)

    failures = []
    for run in dict.fromkeys(row["run"] for _, row, _ in notable_runs(results)):
        if not _PLAIN.fullmatch(run):
            continue
        trace = results.folder / TRACES / f"{run}.parquet"
        page = results.folder / VIEWS / f"{run}.html"
        if not trace.exists() or _is_newer(page, trace):
            continue
        try:
            page.parent.mkdir(exist_ok=True)
            write_view(trace, page, force=True)
        except (AntecedeError, OSError) as error:
            failures.append(f"no diagram of {run}: {error}")
    return failures


def _is_newer(page: Path, trace: Path) -> bool:
    return page.exists() and page.stat().st_mtime >= trace.stat().st_mtime
