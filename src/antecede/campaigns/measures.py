"""What one run comes to: from its summary, its samples and its trace to the measures of
`tables.RUNS`. All are of what comes after the warm-up, except those that say otherwise."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from antecede.campaigns import steady
from antecede.campaigns.buckets import Histogram, Values, count_delays, count_sizes
from antecede.campaigns.steady import AUTO, Series
from antecede.campaigns.tables import (
    DELAY_PARTS,
    DELAYS,
    SAMPLED_PARTS,
    STAMP_PARTS,
    STAMPS,
    WATCHED,
)
from antecede.simulate import StateSampler, Summary
from antecede.simulate.sampling import Carried
from antecede.trace import APP, HOP, NULL, SEND, Run
from antecede.verify.copies import Copies

WarmUp = int | str
"""So many messages, or `auto`."""


def distributions(run: Run, copies: Copies) -> dict[str, Series]:
    """All values of stamps and delays in a run, in the order of the messages that they belong to;
    empty where it has none."""
    events = run.events
    is_send = events.kind == SEND
    sent = np.sort(events.time[is_send & (events.layer == APP)], kind="stable")
    found: dict[str, Series] = {}
    for prefix, layer in (("", APP), ("hop_", HOP)):
        sends = is_send & (events.layer == layer)
        for name in ("stamp_entries", "stamp_bytes"):
            values = getattr(events, name)[sends]
            has_stamp = values != NULL
            times = events.time[sends][has_stamp]
            found[prefix + name] = _in_order(values[has_stamp].astype(float), times, sent)
    parts = {
        "delay_s": copies.delivered - copies.sent,
        "network_s": copies.received - copies.sent,
        "hold_s": copies.delivered - copies.received,
        "forced_s": copies.split.forced_s,
        "inherited_s": copies.split.inherited_s,
        "unnecessary_s": copies.split.own_s,
    }
    is_delivered = ~np.isnan(copies.split.own_s)
    times = copies.sent[is_delivered]
    return found | {
        name: _in_order(part[is_delivered], times, sent) for name, part in parts.items()
    }


def _in_order(values: Values, times: Values, sent: Values) -> Series:
    """Each value belongs to the last message sent by then."""
    order = np.argsort(times, kind="stable")
    messages = np.searchsorted(sent, times[order], side="right") - 1
    return Series(values[order], messages.astype(np.int64))


def histograms(values: Mapping[str, Values]) -> dict[str, Histogram]:
    """How the values of a run are distributed, those that it has."""
    return {
        name: count_sizes(found) if name in STAMPS else count_delays(found)
        for name, found in values.items()
        if len(found)
    }


class Steady(NamedTuple):
    """The part of a run that is measured."""

    warm_up: int
    """Messages that are left out."""
    values: dict[str, Values]
    """Of stamps and delays, what is left."""
    drifts: dict[str, steady.Drift]


def after_warm_up(
    series: Mapping[str, Series], states: StateSampler, warm_up: WarmUp = 0
) -> Steady:
    """What is left of a run when its warm-up is cut off, and whether it still drifts."""
    watched = _watched(series, states)
    cut = (
        steady.warm_up(watched, len(states.carried))
        if warm_up == AUTO
        else min(int(warm_up), len(states.carried))
    )
    drifts = {
        name: steady.drift(one.after(cut)) for name, one in watched.items() if len(one.values)
    }
    return Steady(cut, {name: one.after(cut) for name, one in series.items()}, drifts)


def _watched(series: Mapping[str, Series], states: StateSampler) -> dict[str, Series]:
    """The series of `tables.WATCHED`. What is sent after the last message is part of none."""
    carried = np.array(states.carried, float).reshape(-1, len(Carried._fields))
    each = np.diff(carried, axis=0)
    numbers = np.arange(len(each))
    looks = np.array(states.looks, np.int64).reshape(-1, 3)
    stamp_bytes = each[
        :, [Carried._fields.index(n) for n in ("copies_stamp_bytes", "control_bytes")]
    ]
    return {
        "stamp_entries": series["stamp_entries"],
        "stamp_bytes": series["stamp_bytes"],
        "ordering_bytes": Series(stamp_bytes.sum(axis=1), numbers),
        "control": Series(each[:, Carried._fields.index("control_packets")], numbers),
        "hop_stamp_bytes": series["hop_stamp_bytes"],
        "delay": series["delay_s"],
        "hold": series["hold_s"],
        "state_bytes": Series(looks[:, 2].astype(float), looks[:, 0] - 1),
    }


def measure(summary: Summary, states: StateSampler, part: Steady) -> dict[str, Any]:
    """The measures of a run, by column; null where it has no such values."""
    values, cut = part.values, part.warm_up
    has_hops = len(values["hop_stamp_bytes"]) > 0
    traffic, measured = _traffic(summary, states, cut)
    start_s = states.carried[cut].time if cut < len(states.carried) else 0.0
    looks = [look for look in states.looks if look.messages > cut] or states.looks[-1:]
    return {
        "messages": summary.messages,
        "deliveries": summary.deliveries,
        "taken_back": summary.undone.taken_back if summary.undone else None,
        "void": summary.undone.void if summary.undone else None,
        "warm_up": cut,
        "measured_messages": measured,
        "measured_s": traffic.time,
        "queue_mean": float(values["hold_s"].sum())
        / ((summary.virtual_s - (start_s if cut else 0.0)) or 1.0)
        / summary.processes,
        "queue_max": summary.peak_queue,
        **{name: getattr(traffic, name) for name in Carried._fields[1:]},
        "control_per_message": traffic.control_packets / measured,
        "packets_per_message": (traffic.copies + traffic.control_packets) / measured,
        "ordering_bytes_per_message": (traffic.copies_stamp_bytes + traffic.control_bytes)
        / measured,
        "hops": len(values["hop_stamp_bytes"]) if has_hops else None,
        "hops_per_message": len(values["hop_stamp_bytes"]) / max(1, summary.messages - cut)
        if has_hops
        else None,
        "virtual_s": summary.virtual_s,
        "events": summary.events,
        "rows": summary.rows,
        **_sampled("state_entries", [look.entries for look in looks]),
        **_sampled("state_bytes", [look.bytes for look in looks]),
        **{
            f"{name}_{part}": value
            for names, parts in ((STAMPS, STAMP_PARTS), (DELAYS, DELAY_PARTS))
            for name in names
            for part, value in spread_over(values[name], parts).items()
        },
        **_drifts(part.drifts),
    }


def _traffic(summary: Summary, states: StateSampler, cut: int) -> tuple[Carried, int]:
    """What was sent after the warm-up, up to the last message, and in how many messages; without a
    warm-up, all that was sent."""
    if 0 < cut < len(states.carried) - 1:
        first, last = states.carried[cut], states.carried[-1]
        parts = [after - before for before, after in zip(first, last, strict=True)]
        return Carried(parts[0], *map(int, parts[1:])), len(states.carried) - 1 - cut
    whole = Carried(
        summary.virtual_s,
        summary.copies,
        summary.copies_stamp_bytes,
        summary.control_packets,
        summary.control_bytes,
    )
    return whole, max(1, summary.messages)


def _drifts(drifts: Mapping[str, steady.Drift]) -> dict[str, Any]:
    drifting = [name for name, drift in drifts.items() if drift.is_drifting]
    short = [name for name, drift in drifts.items() if drift.share is None]
    shares = {f"drift_{name}": None for name in WATCHED}
    return {
        "unsteady": len(drifting),
        "drifting": " ".join(drifting),
        "short": " ".join(short),
        **shares,
        **{f"drift_{name}": drift.share for name, drift in drifts.items()},
    }


def spread_over(values: Values, parts: tuple[str, ...]) -> dict[str, float | None]:
    """Mean, maximum and percentiles; a percentile is the smallest value that so many per cent of
    the values do not exceed."""
    if not len(values):
        return dict.fromkeys(parts)
    ordered = np.sort(values)
    found: dict[str, float | None] = {"mean": float(values.mean()), "max": float(ordered[-1])}
    for part in parts:
        if part not in found:
            rank = -(-int(part[1:]) * len(ordered) // 100)
            found[part] = float(ordered[rank - 1])
    return {part: found[part] for part in parts}


def _sampled(name: str, values: list[int]) -> dict[str, float]:
    mean = sum(values) / len(values) if values else 0.0
    known = {"mean": mean, "max": float(max(values, default=0))}
    return {f"{name}_{part}": known[part] for part in SAMPLED_PARTS}
