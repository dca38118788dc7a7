"""`python -m bench.routed`: what R9 saves on the overlay, the table of docs/separators.md.

Counted on seeded runs of 1,500 messages to one random process each, mean delay of a hop 50 ms:
elements and bytes of ordering information on a hop message, and the mean causal history of a
process at the end. Prints the table, and with `--write` puts it into the page.
"""

import sys
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from antecede.simulate.loading import make_scenario
from antecede.simulate.recorder import Recorder
from antecede.simulate.run import Simulation
from bench.docs import ROOT, markdown, put_table

PAGE = ROOT / "docs" / "separators.md"
COMMAND = "python -m bench.routed --write"
MESSAGES = 1500
NETWORKS = {
    "`tree:2,3,4`": "tree:2,3,4",
    "`tree:2,3,4,2` (two routers everywhere)": "tree:2,3,4,2",
    "`ring:3,4,2`": "ring:3,4,2",
    "`internet:60,1`": "internet:60,1",
    "`clusters:4+28,1` (28 nodes all linked)": "clusters:4+28,1",
}
ALL_FORWARD = "tree:2,3,4,2"
COLUMNS = (
    *("topology", "without R9", "as printed", "own implied"),
    *("bytes without → with", "history without → with"),
)


class Cost(NamedTuple):
    entries: float
    bytes: float
    history: float


def cost(topology: str, **options: Any) -> Cost:
    """Of a hop message, and the history at the end."""
    recorder = Recorder(None, None)
    scenario = make_scenario(
        {
            "protocol": "separators",
            "topology": topology,
            "messages": MESSAGES,
            "workload": {"kind": "unicast"},
            "network": {"delay": "exponential:0.05"},
            "options": options,
            "seed": 1,
        }
    )
    simulation = Simulation(scenario, recorder)
    simulation.run()
    return Cost(
        recorder.hop_stamp_entries.spread().mean,
        recorder.hop_stamp_bytes.spread().mean,
        fmean(order.entries() for order in simulation.orders),
    )


def table() -> str:
    rows = []
    for title, topology in NETWORKS.items():
        without = cost(topology, filters="none")
        printed = cost(topology, own_implied=False, gateways=False)
        both = cost(topology)
        rows.append(
            (
                title,
                *(number(one.entries) for one in (without, printed, both)),
                f"{number(without.bytes)} → {number(both.bytes)}",
                f"{number(without.history)} → {number(both.history)}",
            )
        )
        if topology == ALL_FORWARD:
            every = cost(topology, forwarding="all")
            cells = (number(every.entries), f"→ {number(every.bytes)}")
            rows.append(("the same, all forward", "", "", *cells, f"→ {number(every.history)}"))
    return markdown(COLUMNS, rows)


def number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def main() -> int:
    found = table()
    print(found)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(put_table(Path(PAGE).read_text("utf-8"), COMMAND, found), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
