"""The measures of one run, against the auditor, the simulator's summary and plain arithmetic."""

from itertools import pairwise
from math import isclose
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from antecede.campaigns.buckets import EXACT, count_delays, count_sizes
from antecede.campaigns.measures import after_warm_up, distributions, measure, spread_over
from antecede.campaigns.student import coverage, half_width
from antecede.campaigns.tables import DELAYS, RUNS, STAMPS
from antecede.simulate import StateSampler, make_scenario, simulate
from antecede.trace import read_trace
from antecede.verify import audit
from antecede.verify.copies import examine

MADE_ELSEWHERE = {"violations", "undelivered", "owed"} | {
    column.name for column in RUNS.columns if column.is_timing
}


def run_of(folder: Path, **fields: Any) -> tuple[Any, ...]:
    fields = {"processes": 5, "messages": 120, "rate": 30.0, **fields}
    states = StateSampler()
    file = folder / "trace.parquet"
    summary = simulate(make_scenario(fields), file, states=states, force=True)
    (run,) = read_trace(file).runs
    return summary, states, run


@pytest.mark.parametrize("protocol", ["vector", "none", "blocks-slow", "separators", "piggyback"])
@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_copies_add_up_to_what_the_auditor_says(tmp_path: Path, protocol: str, loss: float) -> None:
    _, _, run = run_of(tmp_path, protocol=protocol, network={"loss": loss})
    copies, verdict = examine(run), audit(run)
    assert (copies.violations, copies.undelivered) == (verdict.violations, verdict.undelivered)
    total = copies.split.total()
    assert total.deliveries == verdict.delays.deliveries
    for part in ("forced_s", "inherited_s", "own_s"):
        assert isclose(getattr(total, part), getattr(verdict.delays, part), abs_tol=1e-9)


@pytest.mark.parametrize("protocol", ["vector", "separators"])
def test_measures_agree_with_the_summary(tmp_path: Path, protocol: str) -> None:
    summary, states, run = run_of(tmp_path, protocol=protocol)
    found = measure(summary, states, after_warm_up(distributions(run, examine(run)), states))
    assert {*found} - {"drifting", "short"} | MADE_ELSEWHERE == {*RUNS.measures}
    for name in ("stamp_entries", "stamp_bytes"):
        spread = getattr(summary, name)
        assert isclose(found[f"{name}_mean"], spread.mean)
        assert (found[f"{name}_p99"], found[f"{name}_max"]) == (spread.p99, spread.maximum)
    for name in ("delay_s", "hold_s"):
        assert isclose(found[f"{name}_mean"], getattr(summary, name).mean, abs_tol=1e-12)
    parts = [found[f"{name}_mean"] for name in ("forced_s", "inherited_s", "unnecessary_s")]
    assert isclose(sum(parts), found["hold_s_mean"], abs_tol=1e-9)
    assert isclose(found["network_s_mean"] + found["hold_s_mean"], found["delay_s_mean"])
    assert (found["hops"] is None) == (protocol == "vector")
    assert (found["hop_stamp_entries_p50"] is None) == (protocol == "vector")


def test_the_mean_queue_is_the_time_held(tmp_path: Path) -> None:
    """By Little's law; here against a count of the held messages after every event."""
    summary, states, run = run_of(tmp_path, protocol="vector")
    copies = examine(run)
    found = measure(summary, states, after_warm_up(distributions(run, copies), states))
    times = sorted({*copies.received.tolist(), *copies.delivered.tolist(), summary.virtual_s})
    held = 0.0
    for now, then in pairwise(times):
        waiting = (copies.received <= now) & (copies.delivered > now)
        held += np.count_nonzero(waiting) * (then - now)
    assert isclose(found["queue_mean"], held / summary.virtual_s / 5, rel_tol=1e-9)
    assert 0 < found["queue_mean"] < found["queue_max"]


def test_states_are_sampled_and_the_run_stays_the_same(tmp_path: Path) -> None:
    summary, states, _ = run_of(tmp_path, protocol="matrix", messages=400)
    assert {look.entries for look in states.looks} == {30}  # the matrix, the vector of deliveries
    assert all(look.bytes > 30 for look in states.looks)
    unsampled = simulate(make_scenario({**_plain(summary), "protocol": "matrix"}))
    assert unsampled.events == summary.events
    assert unsampled.delay_s == summary.delay_s


def _plain(summary: Any) -> dict[str, Any]:
    return {"processes": summary.processes, "messages": summary.messages, "rate": 30.0}


def test_percentiles_are_values_that_occur() -> None:
    values = np.arange(1.0, 201.0)
    assert spread_over(values, ("mean", "p50", "p95", "p99", "max")) == {
        "mean": 100.5,
        "p50": 100.0,
        "p95": 190.0,
        "p99": 198.0,
        "max": 200.0,
    }
    assert spread_over(np.array([]), ("mean", "p50")) == {"mean": None, "p50": None}


def test_buckets_hold_every_value_once() -> None:
    random = np.random.default_rng(1)
    sizes = random.integers(0, 3000, 5000).astype(float)
    delays = np.concatenate([np.zeros(7), random.exponential(0.1, 5000), [1e-9]])
    for values, found in ((sizes, count_sizes(sizes)), (delays, count_delays(delays))):
        assert sum(found.counts) == len(values)
        for low, high, count in zip(*found, strict=True):
            inside = (values >= low) & (values < high) if high else values == 0
            if low == found.low[1] and high and low < 1e-5:
                continue  # what is shorter than the smallest bucket is in it, too
            assert np.count_nonzero(inside) == count
    exact = [low for low in count_sizes(sizes).low if low < EXACT]
    assert exact == sorted({value for value in sizes.tolist() if value < EXACT})


def test_borders_of_buckets_do_not_depend_on_the_values() -> None:
    few, many = count_delays(np.array([0.01, 0.5])), count_delays(np.array([0.01, 0.5, 77.0]))
    assert few.low == many.low[:2]
    assert few.high == many.high[:2]


def test_a_histogram_has_a_name_in_the_tables(tmp_path: Path) -> None:
    _, _, run = run_of(tmp_path, protocol="separators")
    assert {*distributions(run, examine(run))} == {*STAMPS, *DELAYS}


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.7062), (2, 4.3027), (4, 2.7764), (9, 2.2622), (30, 2.0423)]
)
def test_half_widths_are_those_of_the_printed_tables(freedom: int, t: float) -> None:
    assert isclose(half_width(freedom), t, abs_tol=5e-5)


def test_coverage_against_draws() -> None:
    """Means of five normal values lie within the interval as often as it says."""
    random = np.random.default_rng(2)
    draws = random.normal(size=(20_000, 5))
    t = np.abs(draws.mean(1)) / (draws.std(1, ddof=1) / 5**0.5)
    inside = fmean((t < 2.0).tolist())
    assert abs(inside - coverage(2.0, 4)) < 0.01
