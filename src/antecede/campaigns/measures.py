"""What one run comes to: from its summary and its trace to the measures of `tables.RUNS`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from antecede.campaigns.buckets import Histogram, Values, count_delays, count_sizes
from antecede.campaigns.tables import DELAY_PARTS, DELAYS, SAMPLED_PARTS, STAMP_PARTS, STAMPS
from antecede.simulate import Spread, StateSampler, Summary
from antecede.trace import APP, HOP, NULL, SEND, Run
from antecede.verify.copies import Copies


def distributions(run: Run, copies: Copies) -> dict[str, Values]:
    """All values of stamps and delays in a run; empty where it has none."""
    events = run.events
    found: dict[str, Values] = {}
    for prefix, layer in (("", APP), ("hop_", HOP)):
        sends = (events.kind == SEND) & (events.layer == layer)
        for name in ("stamp_entries", "stamp_bytes"):
            values = getattr(events, name)[sends]
            found[prefix + name] = values[values != NULL].astype(float)
    parts = {
        "delay_s": copies.delivered - copies.sent,
        "network_s": copies.received - copies.sent,
        "hold_s": copies.delivered - copies.received,
        "forced_s": copies.split.forced_s,
        "inherited_s": copies.split.inherited_s,
        "unnecessary_s": copies.split.own_s,
    }
    is_delivered = ~np.isnan(copies.split.own_s)
    return found | {name: values[is_delivered] for name, values in parts.items()}


def histograms(values: Mapping[str, Values]) -> dict[str, Histogram]:
    """How the values of a run are distributed, those that it has."""
    return {
        name: count_sizes(found) if name in STAMPS else count_delays(found)
        for name, found in values.items()
        if len(found)
    }


def measure(summary: Summary, states: StateSampler, values: Mapping[str, Values]) -> dict[str, Any]:
    """The measures of a run, by column; null where it has no such values."""
    has_hops = len(values["hop_stamp_bytes"]) > 0
    held_s = float(values["hold_s"].sum())
    messages = max(1, summary.messages)
    return {
        "messages": summary.messages,
        "deliveries": summary.deliveries,
        "queue_mean": held_s / (summary.virtual_s or 1.0) / summary.processes,
        "queue_max": summary.peak_queue,
        "copies": summary.copies,
        "copies_stamp_bytes": summary.copies_stamp_bytes,
        "control_packets": summary.control_packets,
        "control_bytes": summary.control_bytes,
        "control_per_message": summary.control_packets / messages,
        "ordering_bytes_per_message": (summary.copies_stamp_bytes + summary.control_bytes)
        / messages,
        "hops": summary.hops if has_hops else None,
        "hops_per_message": summary.hops / messages if has_hops else None,
        "virtual_s": summary.virtual_s,
        "events": summary.events,
        "rows": summary.rows,
        **_sampled("state_entries", states.entries.spread()),
        **_sampled("state_bytes", states.bytes.spread()),
        **{
            f"{name}_{part}": value
            for names, parts in ((STAMPS, STAMP_PARTS), (DELAYS, DELAY_PARTS))
            for name in names
            for part, value in spread_over(values[name], parts).items()
        },
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


def _sampled(name: str, spread: Spread) -> dict[str, float]:
    known = {"mean": spread.mean, "max": spread.maximum}
    return {f"{name}_{part}": known[part] for part in SAMPLED_PARTS}
