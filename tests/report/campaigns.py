"""Made-up campaigns: tables of the right shape with numbers that a test can check."""

import json
import math
import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from antecede.campaigns.tables import HISTOGRAMS, RUNS, SKIPPED, SUMMARY, Table

Row = dict[str, Any]
Stamp = Callable[[int], float]

PROTOCOLS: dict[str, tuple[Stamp, float]] = {
    "none": (lambda n: 0, 0.0),
    "fifo": (lambda n: 1, 0.004),
    "vector": (lambda n: n, 0.012),
    "matrix": (lambda n: n * n, 0.012),
    "optimal": (lambda n: 1.5 * n**0.8, 0.013),
    "pairs": (lambda n: n * 1.4, 0.0128),
    "blocks-slow": (lambda n: 4, 0.031),
}
"""Elements of a stamp by the number of processes, and the mean seconds that a message is held."""


def make_campaign(
    folder: Path,
    protocols: Sequence[str] = tuple(PROTOCOLS),
    *,
    sizes: Sequence[int] = (4, 8, 16, 32),
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    networks: Sequence[str] = ("lan",),
    workloads: Sequence[str] = ("uniform",),
    ks: Sequence[int] = (),
    change: Callable[[Row], None] = lambda row: None,
    skipped: Sequence[Row] = (),
) -> Path:
    """Writes the tables. `change` may spoil a row of `runs` before the others are made from it."""
    variants: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in protocols]
    variants += [("bounded", {"k": k}) for k in ks]
    rows = [
        make_run(protocol, options, network, workload, size, seed)
        for protocol, options in variants
        for network in networks
        for workload in workloads
        for size in sizes
        for seed in seeds
    ]
    for row in rows:
        change(row)
    write(folder, RUNS, rows)
    write(folder, SUMMARY, summarise(rows))
    write(folder, HISTOGRAMS, [bucket for row in rows for bucket in spread(row)])
    write(folder, SKIPPED, skipped)
    (folder / "campaign.json").write_text("{}")
    return folder


def make_run(
    protocol: str, options: dict[str, Any], network: str, workload: str, size: int, seed: int
) -> Row:
    chance = random.Random(f"{protocol} {options} {network} {workload} {size} {seed}")
    k = options.get("k")
    elements, held = PROTOCOLS.get(protocol, (lambda n: 2 + (k or 0), 0.02))
    stamp = elements(size) * chance.uniform(0.95, 1.05)
    hold = held * math.log2(size) / 3 * chance.uniform(0.9, 1.1)
    forced = min(hold, 0.012) * 0.9
    row: Row = {column.name: None for column in RUNS.columns}
    row |= {
        "run": f"{chance.getrandbits(64):016x}",
        "protocol": protocol,
        "variant": f"{protocol} k={k}" if k is not None else protocol,
        "options": json.dumps(options),
        "network": network,
        "workload": workload,
        "processes": size,
        "seed": seed,
        "scenario": "{}",
        "status": "ok",
        "promised": protocol not in ("none", "fifo"),
        "messages": 500,
        "deliveries": 500 * size,
        "violations": chance.randrange(20, 60) if protocol in ("none", "fifo") else 0,
        "undelivered": 0,
        "owed": 0,
        "queue_mean": hold * 20,
        "queue_max": int(hold * 900),
        "control_per_message": 8 / k if k else 0.0,
        "ordering_bytes_per_message": stamp * 2.2 * size + (40 / k if k else 0),
        "virtual_s": 61.5,
        "events": 500 * size * 4,
    }
    scales = {"stamp_entries": 1.0, "stamp_bytes": 2.2, "state_bytes": 3.0 * size}
    for name, factor in scales.items():
        row[f"{name}_mean"] = stamp * factor
        for part in ("p50", "p95", "p99", "max"):
            if f"{name}_{part}" in row:
                row[f"{name}_{part}"] = stamp * factor * 1.6
    split = {
        "network_s": 0.05,
        "forced_s": forced,
        "inherited_s": (hold - forced) * 0.4,
        "unnecessary_s": (hold - forced) * 0.6,
        "hold_s": hold,
        "delay_s": 0.05 + hold,
    }
    for name, mean in split.items():
        row |= {f"{name}_mean": mean, f"{name}_p95": mean * 2.5, f"{name}_max": mean * 6}
    return row


def summarise(rows: Sequence[Row]) -> list[Row]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    keys = [column.name for column in SUMMARY.columns[:6]]
    for row in rows:
        if row["status"] == "ok":
            groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    summary = []
    for group, members in groups.items():
        for measure in RUNS.measures:
            values = [float(row[measure]) for row in members if row[measure] is not None]
            if not values:
                continue
            mean = statistics.fmean(values)
            several = len(values) > 1
            deviation = statistics.stdev(values) if several else None
            half = 2.0 * deviation / math.sqrt(len(values)) if deviation is not None else None
            summary.append(
                dict(zip(keys, group, strict=True))
                | {"measure": measure, "n": len(values), "mean": mean, "sd": deviation}
                | {"low": None if half is None else mean - half}
                | {"high": None if half is None else mean + half}
                | {"min": min(values), "max": max(values)}
            )
    return summary


def spread(row: Row) -> list[Row]:
    """Ten values of every distribution: stamps in buckets of whole numbers, delays in others."""
    if row["status"] != "ok":
        return []
    buckets = []
    mean = row["stamp_entries_mean"] or 0.0
    for step, count in enumerate((40, 110, 180, 120, 50)):
        low = float(int(mean * (0.5 + step / 4)))
        high = low + 1 if low else 0.0
        buckets.append(("stamp_entries", low, high, count))
    for step, count in enumerate((60, 200, 140, 70, 25, 5)):
        low = 0.02 * 1.35**step + (row["hold_s_mean"] or 0.0)
        buckets.append(("delay_s", low, low * 1.35, count))
    merged: dict[tuple[str, float, float], int] = {}
    for measure, low, high, count in buckets:
        merged[measure, low, high] = merged.get((measure, low, high), 0) + count
    return [
        {"run": row["run"], "measure": measure, "low": low, "high": high, "count": count}
        for (measure, low, high), count in merged.items()
    ]


def write(folder: Path, table: Table, rows: Sequence[Row]) -> None:
    (folder / table.name).mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.Table.from_pylist(list(rows), schema=table.schema),
        folder / table.name / "part-0.parquet",
    )
