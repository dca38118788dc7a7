"""`python -m bench.docs`: write the generated parts of docs/ anew.

Everything measured here is counted, not timed, on seeded simulations: the same figures come out on
every machine.
"""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from antecede.campaigns import tables
from antecede.cli._protocols import COLUMNS, row
from antecede.order import Addressing
from antecede.protocols import find, ours
from antecede.simulate import Summary, make_scenario, simulate
from antecede.verify import verify_trace
from antecede.verify.delays import Delays
from bench.reference import write_reference

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "protocols.md"
CAMPAIGNS = ROOT / "docs" / "campaigns.md"
TABLES_BEGIN = "<!-- tables: written by `make docs` -->\n"
TABLES_END = "<!-- end of tables -->"

SIZES = (8, 32)
TRAFFIC: dict[str, tuple[Addressing, dict[str, Any]]] = {
    "Unicast between all pairs": (Addressing.SETS, {"workload": {"kind": "unicast"}}),
    "Broadcast in one group": (Addressing.ONE_GROUP, {"workload": {"kind": "broadcast"}}),
    "A ring of overlapping groups of 5": (
        Addressing.GROUPS,
        {"workload": {"kind": "groups"}, "groups": {"layout": "ring", "size": 5}},
    ),
}
INTRODUCTION = """# The protocols

Written by `make docs`; do not edit. Everything is counted on seeded simulations, so the same
figures come out everywhere.

## What each needs and gives

*Prompt*: it never holds a message whose causal predecessors have all been delivered (`blocks-fast`
and `blocks-relative` are prompt in a single group). *Survives*: the faults after which deliveries
go on among the others; *repaired*: what is lost is sent again. *State*: the
bound on the ordering information that one process keeps, which the conformance suite checks after
every event. *Options* are given with `--option NAME=VALUE`.

"""
MEASURED = """
## What each costs

Poisson traffic, {rate:g} messages per second and process, exponential delays with a mean of
{delay_ms:g} ms, {per_process} messages a process, seed {seed}. Every protocol sees the same
messages and, where it allows links that reorder, the same delays. *Elements* and *bytes*: ordering
information on a message, mean. *Control*: packets of the protocol's own per message, and their
bytes. *Held*: from arrival to delivery, in mean network delays; *needless*: the part of it that
causality did not require, as `antecede verify` finds it in the trace; *late*: from sending to
delivery, likewise. Protocols on FIFO links wait a part of that in the link. `daisy` does more than
order, and is measured apart ([results](results/daisy.md)).
"""
RATE = 10.0
DELAY_S = 0.1
PER_PROCESS = 40
SEED = 1


def main() -> None:
    PAGE.write_text(needs_and_gives() + measured(), "utf-8")
    write_reference()
    CAMPAIGNS.write_text(with_campaign_tables(CAMPAIGNS.read_text("utf-8")), "utf-8")


def with_campaign_tables(page: str) -> str:
    """docs/campaigns.md with the columns as the code has them."""
    before, found, rest = page.partition(TABLES_BEGIN)
    if not found or TABLES_END not in rest:
        raise SystemExit(f"{CAMPAIGNS.name} lacks {TABLES_BEGIN.strip()} and {TABLES_END}")
    return f"{before}{TABLES_BEGIN}{tables.markdown()}{rest[rest.index(TABLES_END) :]}"


def put_table(page: str, command: str, table: str) -> str:
    """The page with this table in the place of the one that the command has made before."""
    marker = f"<!-- table: {command} -->\n"
    before, found, rest = page.partition(marker)
    if not found:
        raise SystemExit(f"the page lacks the line {marker.strip()}")
    _, end, after = rest.lstrip("\n").partition("\n\n")
    return f"{before}{marker}{table}{end[:1]}{after}"


def needs_and_gives() -> str:
    """The first part of the page."""
    columns = (*COLUMNS[:-1], "prompt", "options")
    rows = []
    for name in ours():
        order = find(name)
        *cells, options = row(order)
        rows.append([*cells, "yes" if order.traits.prompt else "no", options])
    return INTRODUCTION + markdown(columns, rows)


def measured() -> str:
    """The second part of the page: one table a kind of traffic and size."""
    page = MEASURED.format(rate=RATE, delay_ms=DELAY_S * 1e3, per_process=PER_PROCESS, seed=SEED)
    for title, (needs, fields) in TRAFFIC.items():
        for size in SIZES:
            rows = [
                measured_row(*run(name, size, fields))
                for name in ours()
                if find(name).traits.addressing >= needs and not find(name).traits.survives_crashes
            ]
            columns = (
                *("protocol", "elements", "bytes", "control", "bytes"),
                *("held", "needless", "late"),
            )
            page += f"\n### {title}, {size} processes\n\n" + markdown(columns, rows)
    return page


def run(name: str, size: int, fields: dict[str, Any]) -> tuple[Summary, Delays]:
    """A protocol on this traffic, and what the auditor says of its delays."""
    groups = fields.get("groups")
    fields = {**fields, "groups": {**groups, "count": size // 4}} if groups else fields
    scenario = make_scenario(
        {
            "protocol": name,
            "processes": size,
            "messages": PER_PROCESS * size,
            "seed": SEED,
            "rate": RATE,
            "network": {"delay": f"exponential:{DELAY_S}"},
            **fields,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.parquet"
        return simulate(scenario, trace), verify_trace(trace).delays


def measured_row(summary: Summary, delays: Delays) -> list[str]:
    needless_s = delays.mean(delays.inherited_s + delays.own_s)
    control = summary.control_packets / summary.messages
    control_bytes = summary.control_bytes / summary.messages
    return [
        summary.protocol + (" (FIFO links)" if summary.fifo_added else ""),
        f"{summary.stamp_entries.mean:.1f}",
        f"{summary.stamp_bytes.mean:.1f}",
        f"{control:.2f}",
        f"{control_bytes:.1f}",
        f"{summary.hold_s.mean / DELAY_S:.2f}",
        f"{needless_s / DELAY_S:.2f}",
        f"{summary.delay_s.mean / DELAY_S:.2f}",
    ]


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    main()
