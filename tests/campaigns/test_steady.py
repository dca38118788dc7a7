"""Warm-up and drift, on series whose transient is known, and on a run that fills up."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antecede.campaigns import steady
from antecede.campaigns.file import Campaign
from antecede.campaigns.measures import after_warm_up, distributions, measure
from antecede.campaigns.plan import make_plan
from antecede.campaigns.steady import Series, Verdict, drift, judge, series_of, truncation, verdicts
from antecede.campaigns.tables import RUNS, WATCHED
from antecede.errors import BadFile
from antecede.simulate import StateSampler, make_scenario, simulate
from antecede.trace import read_trace
from antecede.verify.copies import examine

LENGTH = 2000


def noise(seed: int, length: int = LENGTH, correlation: float = 0.5) -> steady.Values:
    """An autoregressive series around zero, as costs of messages are."""
    random = np.random.default_rng(seed)
    values = np.zeros(length)
    for place in range(1, length):
        values[place] = correlation * values[place - 1] + random.normal()
    return values


def filling(seed: int, until: int, height: float = 20.0) -> steady.Values:
    """Grows from 0 to `height` in so many messages, and stays there."""
    ramp = np.minimum(np.arange(LENGTH) / until, 1.0)
    return height * ramp + noise(seed)


def test_mser_is_what_the_paper_defines() -> None:
    """Against the definition, batch by batch."""
    values = filling(1, 300)
    means = [values[start : start + 5].mean() for start in range(0, LENGTH, 5)]
    errors = [
        float(((left := np.array(means[cut:])) - left.mean()) @ (left - left.mean()))
        / len(left) ** 2
        for cut in range(len(means) - 5)
    ]
    assert truncation(values) == 5 * int(np.argmin(errors))


@pytest.mark.parametrize("until", [50, 200, 500])
def test_a_transient_is_cut_off(until: int) -> None:
    cuts = [truncation(filling(seed, until)) for seed in range(20)]
    assert all(cut is not None and 0.7 * until <= cut <= until + 250 for cut in cuts)


def test_without_a_transient_little_is_cut_off() -> None:
    cuts = [truncation(10 + noise(seed)) for seed in range(20)]
    assert sum(cut is not None and cut <= LENGTH // 10 for cut in cuts) >= 17


def test_a_series_that_fills_up_to_its_end_is_too_short() -> None:
    assert all(truncation(filling(seed, LENGTH)) is None for seed in range(20))
    assert truncation(np.ones(20)) is None


def test_the_longest_warm_up_counts_and_no_more_than_half() -> None:
    numbers = np.arange(LENGTH)
    short, long = Series(filling(1, 50), numbers), Series(filling(2, 400), numbers)
    assert steady.warm_up({"a": short, "b": long}, LENGTH) == truncation(long.values)
    endless = Series(filling(3, LENGTH), numbers)
    assert steady.warm_up({"a": short, "b": endless}, LENGTH) == LENGTH // 2
    hops = Series(filling(4, 400)[::2], numbers[::2])  # one observation for two messages
    assert steady.warm_up({"a": hops}, LENGTH) == 2 * (truncation(hops.values) or 0)


def test_drift_is_found_and_not_invented() -> None:
    steady_ones = [drift(10 + noise(seed)) for seed in range(100)]
    assert sum(one.is_drifting for one in steady_ones) <= 3
    growing = [drift(10 + np.linspace(0, 1.5, LENGTH) + noise(seed)) for seed in range(20)]
    assert all(one.is_drifting for one in growing)
    assert all(one.share is not None and 0.04 < one.share < 0.1 for one in growing)
    assert drift(np.ones(39)).share is None
    assert drift(np.zeros(100)) == (0.0, False)
    small = drift(100 + np.linspace(0, 1, LENGTH))  # beyond chance, and of no consequence
    assert small.is_beyond_chance
    assert not small.is_drifting


def test_a_setting_is_judged_by_all_its_runs() -> None:
    assert judge([0.03, 0.031, 0.029], [False] * 3) is Verdict.DRIFTING
    assert judge([0.03, -0.03, 0.01], [True, True, False]) is Verdict.STEADY
    assert judge([0.001, 0.0011], [True, True]) is Verdict.STEADY
    assert judge([None, None], []) is Verdict.SHORT
    assert judge([0.5], [True]) is Verdict.DRIFTING
    assert judge([0.5], [False]) is Verdict.STEADY


def test_every_measure_of_a_steady_state_has_its_series() -> None:
    whole = {"messages", "deliveries", "violations", "undelivered", "owed", "warm_up"}
    whole |= {"measured_messages", "measured_s", "unsteady"}
    whole |= {"taken_back", "void", "virtual_s", "events", "rows"} | {
        f"drift_{name}" for name in WATCHED
    }
    for name in RUNS.measures:
        is_whole = name in whole or RUNS.column(name).is_timing
        assert (series_of(name) is None) == is_whole, name
    assert {series_of(name) for name in RUNS.measures} - {None} == set(WATCHED)
    assert series_of("control_packets") == series_of("control_per_message") == "control"
    assert series_of("hop_stamp_bytes_mean") == "hop_stamp_bytes"


# Runs.


def run_of(folder: Path, messages: int, **fields: Any) -> tuple[Any, StateSampler, Any, Any]:
    scenario = {"processes": 8, "messages": messages, "rate": 1.0, "protocol": "bounded"}
    scenario |= {"workload": {"kind": "unicast"}, "options": {"k": 64}, "seed": 1} | fields
    states = StateSampler()
    file = folder / "trace.parquet"
    summary = simulate(make_scenario(scenario), file, judged=False, states=states, force=True)
    (run,) = read_trace(file).runs
    return summary, states, distributions(run, examine(run)), run


def test_measures_are_of_what_comes_after_the_warm_up(tmp_path: Path) -> None:
    summary, states, series, run = run_of(tmp_path, 400, options={"k": 8})
    found = measure(summary, states, after_warm_up(series, states, 100))
    sends = run.events.kind == 0
    sizes = run.events.stamp_bytes[sends][np.argsort(run.events.time[sends])][100:]
    assert found["stamp_bytes_mean"] == pytest.approx(float(sizes.mean()))
    assert found["warm_up"] == 100
    # Counted by hand: what was sent between message 100 and the last one.
    first, last = states.carried[100], states.carried[399]
    assert found["control_packets"] == last.control_packets - first.control_packets
    assert found["control_per_message"] == found["control_packets"] / 299
    bytes_ = last.copies_stamp_bytes + last.control_bytes
    bytes_ -= first.copies_stamp_bytes + first.control_bytes
    assert found["ordering_bytes_per_message"] == bytes_ / 299
    assert found["copies"] == 299
    whole = measure(summary, states, after_warm_up(series, states))
    assert whole["control_packets"] == summary.control_packets
    assert whole["ordering_bytes_per_message"] < found["ordering_bytes_per_message"]
    assert found["delay_s_mean"] == pytest.approx(float(series["delay_s"].after(100).mean()))


def test_a_run_that_still_fills_up_says_so(tmp_path: Path) -> None:
    """A matrix of 8 processes fills in some hundred messages. Planted: measured from the start, 120
    of them are no steady state; after 400, 1200 more are."""
    _, states, series, _ = run_of(tmp_path, 120)
    drifts = after_warm_up(series, states).drifts
    assert drifts["stamp_bytes"].is_drifting
    assert drifts["ordering_bytes"].is_drifting
    summary, states, series, _ = run_of(tmp_path, 1600)
    part = after_warm_up(series, states, 400)
    assert not part.drifts["stamp_bytes"].is_drifting
    assert measure(summary, states, part)["unsteady"] == 0
    automatic = after_warm_up(series, states, "auto")
    assert 50 < automatic.warm_up <= 800
    assert not automatic.drifts["ordering_bytes"].is_drifting


def test_what_grows_for_ever_never_settles(tmp_path: Path) -> None:
    """Whole messages that nobody clears away."""
    off = {"protocol": "piggyback", "options": {"cleanup": "off"}}
    for messages in (200, 800):
        _, states, series, _ = run_of(tmp_path, messages, **off)
        part = after_warm_up(series, states, "auto")
        assert part.warm_up == messages // 2
        assert part.drifts["stamp_bytes"].is_drifting


def test_rows_of_runs_are_judged() -> None:
    row: dict[str, Any] = {"status": "ok", "drifting": "", "short": "delay"}
    row |= {f"drift_{name}": None for name in WATCHED}
    rows = [{**row, "drift_control": share} for share in (0.1, 0.11, 0.12)]
    assert verdicts(rows) == {"control": Verdict.DRIFTING, "delay": Verdict.SHORT}
    assert verdicts([{**rows[0], "drifting": "control"}])["control"] is Verdict.DRIFTING
    assert verdicts([rows[0]])["control"] is Verdict.STEADY


# Campaign files.


def plan_of(warm_up: Any, load: dict[str, Any] | None = None) -> Any:
    fields = {"name": "c", "seeds": 1, "processes": [4], "protocols": ["fifo"]}
    workload = {"kind": "unicast", "messages": "10n", **(load or {})}
    return make_plan(
        Campaign.model_validate({**fields, "warm_up": warm_up, "workloads": [workload]})
    )


@pytest.mark.parametrize(
    ("warm_up", "planned"), [(0, 0), (7, 7), ("2n", 8), ("50%", 20), ("auto", "auto")]
)
def test_what_a_file_may_ask_for(warm_up: Any, planned: Any) -> None:
    (run,) = plan_of(warm_up).runs
    assert run.warm_up == planned
    assert "warm_up" not in json.loads(run.scenario)
    (other,) = plan_of(0, {"warm_up": warm_up}).runs
    assert (other.warm_up, other.run) == (planned, run.run)


def test_another_warm_up_is_another_run() -> None:
    runs = [plan_of(warm_up).runs[0].run for warm_up in (0, 4, "auto")]
    assert len({*runs}) == 3
    assert plan_of("n").runs[0].run == runs[1]


@pytest.mark.parametrize("warm_up", [-1, "100%", "some", 1.5, True])
def test_what_a_file_may_not_ask_for(warm_up: Any) -> None:
    with pytest.raises(ValueError, match="nor 'auto'"):
        plan_of(warm_up)


def test_a_warm_up_of_all_messages_is_refused() -> None:
    with pytest.raises(BadFile, match="leaves out 40 messages of 40"):
        plan_of("10n")
