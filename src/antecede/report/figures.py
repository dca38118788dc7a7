"""The figures of a report, made from the results of a campaign."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from antecede.report.charts.bars import Bar, draw_bars
from antecede.report.charts.canvas import Estimate
from antecede.report.charts.dots import draw_dots
from antecede.report.charts.lines import Line, draw_lines
from antecede.report.charts.scatter import Spot, draw_scatter, unbeaten
from antecede.report.figure import UNSTEADY, Figure, Numbers, with_interval
from antecede.report.numbers import BYTES, ELEMENTS, PLAIN, PROCESSES, SECONDS, Unit
from antecede.report.results import Facet, Results, Setting


class Measure(NamedTuple):
    """A measure of the summary as a figure shows it."""

    column: str
    title: str
    axis: str
    unit: Unit
    note: str = ""
    zero_is_none: bool = False
    """Whether a protocol with zeros only is named instead of drawn."""


STAMPS = (
    Measure(
        "stamp_bytes_mean",
        "Stamp size in bytes",
        "Stamp",
        BYTES,
        "What a message carries as it sets out, encoded as it would be sent; mean over messages.",
    ),
    Measure(
        "stamp_entries_mean",
        "Stamp size in elements",
        "Stamp",
        ELEMENTS,
        "As the papers count them: identifiers, integers, pairs; mean over messages.",
    ),
    Measure(
        "hop_stamp_entries_mean",
        "Stamp size on hop messages",
        "Stamp of a hop message",
        ELEMENTS,
        "For protocols that go hop by hop: what routers and servers exchange.",
    ),
    Measure(
        "ordering_bytes_per_message",
        "All ordering bytes for one message",
        "Ordering bytes for one message",
        BYTES,
        "On all copies of it and on the protocol's own packets.",
    ),
    Measure(
        "state_bytes_mean",
        "Memory of a process",
        "State of a process",
        BYTES,
        "The size of a snapshot of the protocol's state, sampled over the run.",
    ),
)
TRAFFIC = (
    Measure(
        "control_per_message",
        "Packets of the protocol's own",
        "Extra packets for one message",
        PLAIN,
        "Extra and null messages, acknowledgements: whatever carries no application message.",
        zero_is_none=True,
    ),
    Measure("hops_per_message", "Hop messages", "Hop messages for one message", PLAIN),
)
QUEUES = (
    Measure(
        "queue_max",
        "Longest queue",
        "Messages held at one process",
        PLAIN,
        "The most that one process ever held, averaged over the seeds.",
    ),
)
PARTS = {
    "network_s_mean": "network",
    "forced_s_mean": "forced",
    "inherited_s_mean": "inherited",
    "unnecessary_s_mean": "unnecessary",
}
MOST_GROUPS = 4
MOST_BARS = 28


def growth(results: Results, facet: Facet, measure: Measure) -> Figure | None:
    """A measure against the number of processes, or one dot each where there is one size only.
    None where it is zero or missing everywhere."""
    found = _estimates(results, facet, measure.column)
    shown = _nonzero(found) if measure.zero_is_none else found
    if not any(estimate.mean for _, estimate in found):
        return None
    sizes = sorted({setting.processes for setting, _ in shown})
    axis = (measure.axis, measure.unit)
    name = results.name(facet)
    title = f"{measure.title} ({name})" if name else measure.title
    if len(sizes) > 1:
        lines = [
            Line(series, points)
            for series in results.series.values()
            if (
                points := [
                    (float(setting.processes), estimate)
                    for setting, estimate in shown
                    if setting.variant == series.name
                ]
            )
        ]
        draw = partial(draw_lines, lines, title, ("Processes", PROCESSES), axis)
    else:
        dots = sorted(
            ((results.series[setting.variant], estimate) for setting, estimate in shown),
            key=lambda row: (row[1].mean, row[0].place),
        )
        draw = partial(draw_dots, dots, title, axis)
    return Figure(
        name=_anchor(measure.column, results, facet),
        title=measure.title,
        facet=name,
        note=f"{measure.note} {_without(found, measure)}".strip(),
        draw=lambda width: draw(width=width),
        numbers=_by_size(results, found, measure),
    )


def delay_split(results: Results, facet: Facet) -> Figure | None:
    """Where the time from send to delivery goes, stacked."""
    rows = [
        (setting, tuple(each.mean for each in parts if each))
        for setting in results.settings_in(facet)
        if all(parts := [results.estimate(setting, column) for column in PARTS])
    ]
    if not rows:
        return None
    sizes = sorted({setting.processes for setting, _ in rows})
    shown = _some(sizes, MOST_BARS // len({setting.variant for setting, _ in rows}))
    bars = [
        Bar(results.series[setting.variant], f"{size} processes", values)
        for size in shown
        for setting, values in sorted(rows, key=lambda row: sum(row[1]))
        if setting.processes == size
    ]
    unit = SECONDS.fitted(max(sum(values) for _, values in rows))
    name = results.name(facet)
    title = f"Delay and its parts ({name})" if name else "Delay and its parts"
    note = f"Mean over the copies that were delivered, with {_listed(shown)} processes."
    return Figure(
        name=_anchor("delay-split", results, facet),
        title="Delay and its parts",
        facet=name,
        note=note if len(shown) == len(sizes) else f"{note} The other sizes are in the table.",
        draw=partial(
            draw_bars, bars, list(PARTS.values()), title, ("From send to delivery", SECONDS)
        ),
        numbers=Numbers(
            ("protocol", "processes", *(f"{part}, {unit.name}" for part in PARTS.values()), "all"),
            [
                (
                    setting.variant,
                    str(setting.processes),
                    *(unit.number(value) for value in values),
                    unit.number(sum(values)),
                )
                for setting, values in rows
            ],
        ),
    )


def space_against_delay(results: Results, facet: Facet) -> Figure | None:
    """Bytes against seconds, at the largest size."""
    sizes = [s.processes for s, _ in _estimates(results, facet, "delay_s_mean")]
    if not sizes:
        return None
    spots = [
        Spot(results.series[setting.variant], space, delay)
        for setting, delay in _estimates(results, facet, "delay_s_mean")
        if setting.processes == max(sizes)
        and (space := results.estimate(setting, "stamp_bytes_mean"))
    ]
    if len(spots) < 2:
        return None
    seconds = SECONDS.fitted(max(spot.up.mean for spot in spots))
    ordered = [spot for spot in spots if spot.series.name in results.ordered]
    are_steady = not any(s.across.is_unsteady or s.up.is_unsteady for s in ordered)
    front = unbeaten(ordered) if are_steady else []
    best = ", ".join(spot.series.name for spot in front)
    name = results.name(facet)
    title = "Space against delay"
    return Figure(
        name=_anchor("space-delay", results, facet),
        title=title,
        facet=name,
        note=f"With {max(sizes)} processes; nearer to the lower left corner is better."
        + (f" Of those that kept causal order, none beats {best} in both ways." if best else "")
        + ("" if are_steady else f" Not all are steady ({UNSTEADY}): none is called better."),
        draw=partial(
            draw_scatter,
            spots,
            front,
            f"{title} ({name})" if name else title,
            ("Stamp size", BYTES),
            ("Delay from send to delivery", SECONDS),
        ),
        numbers=Numbers(
            ("protocol", "stamp, bytes", f"delay, {seconds.name}", "runs"),
            [
                (
                    spot.series.name,
                    with_interval(spot.across, BYTES.fitted(1)),
                    with_interval(spot.up, seconds),
                    str(spot.up.runs),
                )
                for spot in sorted(spots, key=lambda spot: spot.across.mean)
            ],
        ),
    )


def _estimates(results: Results, facet: Facet, column: str) -> list[tuple[Setting, Estimate]]:
    return [
        (setting, estimate)
        for setting in results.settings_in(facet)
        if (estimate := results.estimate(setting, column))
    ]


def _nonzero(found: Sequence[tuple[Setting, Estimate]]) -> list[tuple[Setting, Estimate]]:
    some = {setting.variant for setting, estimate in found if estimate.mean}
    return [(setting, estimate) for setting, estimate in found if setting.variant in some]


def _without(found: Sequence[tuple[Setting, Estimate]], measure: Measure) -> str:
    if not measure.zero_is_none:
        return ""
    drawn = {setting.variant for setting, _ in _nonzero(found)}
    names = dict.fromkeys(s.variant for s, _ in found if s.variant not in drawn)
    return f"None with {', '.join(names)}." if names else ""


def _by_size(
    results: Results, found: Sequence[tuple[Setting, Estimate]], measure: Measure
) -> Numbers:
    """A row for each protocol, a column for each size."""
    sizes = sorted({setting.processes for setting, _ in found})
    values = {(setting.variant, setting.processes): estimate for setting, estimate in found}
    unit = measure.unit.fitted(max(estimate.mean for _, estimate in found))
    suffix = f", {unit.name}" if unit.name else ""
    return Numbers(
        ("protocol", *(f"n = {size}{suffix}" for size in sizes), "runs"),
        [
            (
                variant,
                *(with_interval(values.get((variant, size)), unit) for size in sizes),
                str(sum(e.runs for (name, _), e in values.items() if name == variant)),
            )
            for variant in results.series
            if any((variant, size) in values for size in sizes)
        ],
    )


def _some(sizes: Sequence[int], room: int) -> list[int]:
    """All of them where there is room, else some from the smallest to the largest, or that one."""
    number = max(1, min(room, MOST_GROUPS))
    if len(sizes) <= number:
        return list(sizes)
    last = len(sizes) - 1
    return [sizes[last - round(place * last / max(number - 1, 1))] for place in range(number)][::-1]


def _listed(sizes: Sequence[int]) -> str:
    *others, last = map(str, sizes)
    return f"{', '.join(others)} and {last}" if others else last


def _anchor(figure: str, results: Results, facet: Facet) -> str:
    """Made of our own words and a number: names of networks may hold anything."""
    return f"{figure.replace('_', '-')}-{results.facets.index(facet) + 1}"
