"""Which settings were not known to be in a steady state, and by how much they drifted."""

from antecede.campaigns.steady import Verdict
from antecede.report.figure import Numbers, render_numbers
from antecede.report.markup import Markup, join, tag
from antecede.report.numbers import count, grouped
from antecede.report.results import Results, Setting

MOST_ROWS = 60


def steady_section(results: Results) -> Markup | None:
    """A row for each setting and series that is not steady; nothing where all are."""
    found = [
        (setting, series, verdict)
        for setting in results.settings
        for series, verdict in results.steadiness.get(setting, {}).items()
        if verdict is not Verdict.STEADY
    ]
    if not found:
        return None
    rows = [
        (setting.variant, *setting.facet, series, verdict, *_numbers(results, setting, series))
        for setting, series, verdict in found[:MOST_ROWS]
    ]
    columns = ("protocol", "network", "workload", "series", "why", "processes", "messages")
    numbers = Numbers((*columns, "of which warm-up", "drift"), rows, words=5)
    more = len(found) - len(rows)
    return join(
        render_numbers(numbers, "Not steady", kind="runs"),
        tag("p", f"{count(more, 'more row')} in the table of runs.") if more > 0 else None,
    )


def _numbers(results: Results, setting: Setting, series: str) -> tuple[str, str, str, str]:
    messages, warm_up, drift = (
        results.estimate(setting, name) for name in ("messages", "warm_up", f"drift_{series}")
    )
    return (
        grouped(setting.processes),
        grouped(round(messages.mean)) if messages else "–",
        grouped(round(warm_up.mean)) if warm_up else "–",
        f"{drift.mean:+.1%}" if drift else "–",
    )
