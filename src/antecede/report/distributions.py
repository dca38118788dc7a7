"""Histograms: the counts of all runs of a setting added up, on bins that a reader can see."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import pyarrow.compute as pc

from antecede.report.charts.bins import (
    Bucket,
    are_whole,
    choose_edges,
    edge_scale,
    mean_of,
    rebin,
    share_beyond,
    without_zeros,
)
from antecede.report.charts.histogram import Histogram, draw_histograms
from antecede.report.figure import Figure, Numbers
from antecede.report.numbers import BYTES, ELEMENTS, SECONDS, Unit, grouped, percent
from antecede.report.results import Facet, Results, Setting


class Spread(NamedTuple):
    measure: str
    title: str
    axis: str
    unit: Unit
    note: str


SPREADS = (
    Spread(
        "stamp_entries",
        "How large the stamps are",
        "Stamp",
        ELEMENTS,
        "Share of the messages; the line marks the mean.",
    ),
    Spread(
        "hop_stamp_entries",
        "How large the stamps of hop messages are",
        "Stamp of a hop message",
        ELEMENTS,
        "Share of the hop messages; the line marks the mean.",
    ),
    Spread(
        "stamp_bytes",
        "How many bytes the stamps take",
        "Stamp",
        BYTES,
        "Share of the messages; the line marks the mean.",
    ),
    Spread(
        "delay_s",
        "How long messages take",
        "From send to delivery",
        SECONDS,
        "Share of the copies that were delivered; the line marks the mean.",
    ),
    Spread(
        "hold_s",
        "How long messages are held",
        "From arrival to delivery",
        SECONDS,
        "Share of the copies that were delivered; the line marks the mean.",
    ),
)


def distribution_figures(results: Results, spread: Spread) -> list[Figure]:
    """One for each environment, at its largest size."""
    counted = _add_up(results, spread.measure)
    figures = []
    for facet in results.drawn:
        sizes = {size for _, at, size in counted if at == facet}
        if not sizes:
            continue
        found = {
            variant: buckets
            for (variant, at, size), buckets in counted.items()
            if at == facet and size == max(sizes)
        }
        if any(high for buckets in found.values() for _, high, _ in buckets):
            figures.append(_draw(results, spread, facet, max(sizes), found))
    return figures


def _add_up(results: Results, measure: str) -> dict[tuple[str, Facet, int], list[Bucket]]:
    """The buckets of every setting, over its runs, from low to high."""
    keys = ["variant", "network", "workload", "processes"]
    mine = results.histograms.filter(pc.equal(results.histograms["measure"], measure))
    joined = mine.join(results.runs.select(["run", *keys]), "run", join_type="inner")
    summed = joined.group_by([*keys, "low", "high"]).aggregate([("count", "sum")])
    ordered = summed.sort_by([(key, "ascending") for key in (*keys, "low", "high")])
    settings: dict[tuple[str, Facet, int], list[Bucket]] = {}
    for row in ordered.to_pylist():
        setting = (row["variant"], Facet(row["network"], row["workload"]), row["processes"])
        settings.setdefault(setting, []).append((row["low"], row["high"], row["count_sum"]))
    return settings


def _draw(
    results: Results, spread: Spread, facet: Facet, size: int, found: dict[str, list[Bucket]]
) -> Figure:
    whole = are_whole(list(found.values()))
    shown = {name: without_zeros(buckets)[0] for name, buckets in found.items()}
    shown = {name: buckets for name, buckets in shown.items() if buckets}
    if not spread.unit.seconds:
        shown = found
    edges, log = choose_edges(list(shown.values()), whole=whole)
    histograms = []
    for name, series in results.series.items():
        if name not in shown:
            continue
        known = results.estimate(Setting(name, facet, size), f"{spread.measure}_mean")
        mean = known.mean if known else mean_of(found[name], whole=whole)
        total = sum(number for _, _, number in found[name])
        zeros = without_zeros(found[name])[1] if spread.unit.seconds else 0.0
        remark = f" · {percent(zeros)} at once" if zeros else ""
        histograms.append(Histogram(series, rebin(shown[name], edges), mean, total, remark))
    name = results.name(facet)
    title = f"{spread.title} ({name})" if name else spread.title
    return Figure(
        name=f"histogram-{spread.measure.replace('_', '-')}-{results.facets.index(facet) + 1}",
        title=spread.title,
        facet=name,
        note=_note(spread, size, found, shown, edges[-1]),
        draw=partial(
            draw_histograms,
            histograms,
            title,
            (spread.axis, spread.unit),
            lambda ticks: edge_scale(edges, log=log, ticks=ticks),
            whole=whole,
        ),
        numbers=_numbers(spread, histograms, edges),
    )


def _note(
    spread: Spread,
    size: int,
    found: dict[str, list[Bucket]],
    shown: dict[str, list[Bucket]],
    end: float,
) -> str:
    """What the figure shows, and what it does not."""
    note = f"With {size} processes. {spread.note}"
    beyond = max(share_beyond(buckets, end) for buckets in shown.values())
    if beyond:
        note += f" Up to {percent(beyond)} lie beyond the right edge."
    nothing = [name for name in found if name not in shown]
    return f"{note} Always 0 with {', '.join(nothing)}." if nothing else note


def _numbers(spread: Spread, histograms: Sequence[Histogram], edges: Sequence[float]) -> Numbers:
    unit = spread.unit.fitted(edges[-1])
    return Numbers(
        (f"from, {unit.name}", "below", *(histogram.series.name for histogram in histograms)),
        [
            (
                unit.number(low),
                unit.number(high),
                *(grouped(round(histogram.bins[place][2])) for histogram in histograms),
            )
            for place, (low, high) in enumerate(pairwise(edges))
        ],
    )
