"""The simulator against SimPy: events per second of protocol `none`, with and without a trace, and
of SimPy doing bare timeouts, nothing else.

An event is one entry of the event queue (a send, an arrival); a trace has more rows than that."""

import tempfile
from pathlib import Path
from statistics import median
from time import process_time

import simpy

from antecede.simulate import make_scenario, simulate

REPEATS = 3
TIMEOUTS = 300_000
SCENARIO = {
    "protocol": "none",
    "processes": 8,
    "messages": 60_000,
    "workload": {"kind": "broadcast"},
    "rate": 100.0,
}


def main() -> None:
    rates: dict[str, list[float]] = {"SimPy, bare timeouts": [], "no trace": [], "trace": []}
    rows = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(REPEATS):
            rates["SimPy, bare timeouts"].append(simpy_rate())
            rates["no trace"].append(simulated_rate(None)[0])
            rate, rows = simulated_rate(Path(folder) / "trace.parquet")
            rates["trace"].append(rate)
    base = median(rates["SimPy, bare timeouts"])
    for name, measured in rates.items():
        rate = median(measured)
        print(f"{name:24}{rate:>12,.0f} events/s{rate / base:>8.2f}x")
    print(f"\nThe trace got {rows:.1f} rows an event.")


def simpy_rate() -> float:
    environment = simpy.Environment()

    def ticks(period: float) -> simpy.events.ProcessGenerator:
        for _ in range(TIMEOUTS // 100):
            yield environment.timeout(period)

    for index in range(100):
        environment.process(ticks(1 + index / 100))
    start = process_time()
    environment.run()
    return TIMEOUTS / (process_time() - start)


def simulated_rate(out: Path | None) -> tuple[float, float]:
    """Events per second, and rows per event."""
    scenario = make_scenario(SCENARIO)
    start = process_time()
    summary = simulate(scenario, out, force=True)
    return summary.events / (process_time() - start), summary.rows / summary.events
