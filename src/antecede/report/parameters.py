"""Figures against a protocol's own parameter, such as the k of `bounded`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from antecede.report.charts.canvas import Estimate
from antecede.report.charts.lines import Line, draw_lines
from antecede.report.charts.looks import Series
from antecede.report.figure import Figure, Numbers, with_interval
from antecede.report.figures import Measure
from antecede.report.numbers import BYTES, PLAIN, SECONDS
from antecede.report.results import Facet, Results, Setting

MEASURES = (
    Measure(
        "control_per_message",
        "Extra messages against {option}",
        "Extra packets for one message",
        PLAIN,
        "Packets of the protocol's own.",
    ),
    Measure(
        "ordering_bytes_per_message",
        "Ordering bytes against {option}",
        "Ordering bytes for one message",
        BYTES,
        "All ordering information on copies and on the protocol's own packets.",
    ),
    Measure(
        "hold_s_mean",
        "Waiting against {option}",
        "Time held before delivery",
        SECONDS,
        "From arrival to delivery, mean over copies.",
    ),
)


class Sweep(NamedTuple):
    """A protocol whose option takes several values in one environment."""

    protocol: str
    option: str
    facet: Facet
    points: tuple[tuple[float, Setting], ...]


def sweeps(results: Results) -> Iterator[Sweep]:
    """Every option of a protocol that takes at least two numeric values."""
    for facet in results.drawn:
        inside = results.settings_in(facet)
        for protocol in sorted(set(results.protocols.values())):
            mine = [s for s in inside if results.protocols[s.variant] == protocol]
            for option in sorted({name for s in mine for name in results.options[s.variant]}):
                points = tuple(
                    (value, setting)
                    for setting in mine
                    if (value := results.option(setting.variant, option, setting.processes))
                    is not None
                )
                if len({setting.variant for _, setting in points}) > 1:
                    yield Sweep(protocol, option, facet, points)


def parameter_figures(results: Results) -> list[Figure]:
    return [
        figure
        for number, sweep in enumerate(sweeps(results), 1)
        for measure in MEASURES
        if (figure := _against_option(results, sweep, measure, number))
    ]


def _against_option(results: Results, sweep: Sweep, measure: Measure, number: int) -> Figure | None:
    found = [
        (value, setting, estimate)
        for value, setting in sweep.points
        if (estimate := results.estimate(setting, measure.column))
    ]
    if not any(estimate.mean for _, _, estimate in found):
        return None
    lines = [
        *_lines(sweep, found, len(results.series)),
        *_references(results, sweep, measure, found),
    ]
    environments = results.name(sweep.facet)
    title = measure.title.format(option=sweep.option)
    facet = f"{sweep.protocol}, {environments}" if environments else sweep.protocol
    ordered = sorted(found, key=lambda row: (row[1].processes, row[0]))
    unit = measure.unit.fitted(max(estimate.mean for _, _, estimate in found))
    suffix = f", {unit.name}" if unit.name else ""
    return Figure(
        name=f"against-{number}-{measure.column.replace('_', '-')}",
        title=title,
        facet=facet,
        note=measure.note,
        draw=partial(
            draw_lines,
            lines,
            f"{title} ({facet})",
            (f"{sweep.option}", PLAIN),
            (measure.axis, measure.unit),
        ),
        numbers=Numbers(
            ("protocol", "processes", sweep.option, f"mean{suffix}", "runs"),
            [
                (
                    setting.variant,
                    str(setting.processes),
                    PLAIN.fitted(1).number(value),
                    with_interval(estimate, unit),
                    str(estimate.runs),
                )
                for value, setting, estimate in ordered
            ],
        ),
    )


def _lines(sweep: Sweep, found: Sequence[tuple[float, Setting, Estimate]], free: int) -> list[Line]:
    """One line for each number of processes, with looks from a place on that is free."""
    sizes = sorted({setting.processes for _, setting, _ in found})
    return [
        Line(
            Series(f"{sweep.protocol}, n = {size}", free + place),
            [(value, estimate) for value, setting, estimate in found if setting.processes == size],
        )
        for place, size in enumerate(sizes)
    ]


def _references(
    results: Results,
    sweep: Sweep,
    measure: Measure,
    found: Sequence[tuple[float, Setting, Estimate]],
) -> list[Line]:
    """What the other protocols come to at the largest size, as level lines to compare with."""
    sizes = sorted({setting.processes for _, setting, _ in found})
    values = [value for value, _, _ in found]
    ends = (min(values), max(values))
    others = [
        (setting.variant, estimate)
        for setting in results.settings_in(sweep.facet)
        if setting.processes == sizes[-1]
        and results.protocols[setting.variant] != sweep.protocol
        and setting.variant in results.ordered
        and (estimate := results.estimate(setting, measure.column))
        and estimate.mean
    ]
    return [
        Line(
            replace(results.series[variant], name=f"{variant}, n = {sizes[-1]}"),
            [(end, replace(estimate, low=estimate.mean, high=estimate.mean)) for end in ends],
        )
        for variant, estimate in others
    ]
