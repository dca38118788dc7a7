"""Windows, shards and stragglers against the local engine, without Spark."""

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from antecede.pipeline.audit.culprits import find_culprits
from antecede.pipeline.audit.flow import Positions
from antecede.pipeline.audit.store import Store
from antecede.pipeline.audit.windows import (
    Findings,
    Plan,
    check_stragglers,
    check_window,
    choose_lead,
    flights,
)
from antecede.trace import Run
from antecede.verify import audit
from tests.pipeline.copies import last_deliveries, write_store
from tests.trace.builders import deliver, load, positioned, send
from tests.verify.executions import random_execution


def timed(run: Run, random: Random) -> Run:
    """The run with a time at every event; clocks grow, and now and then stand still."""
    events = run.events
    clock = np.zeros(len(run.processes))
    time = np.empty(len(events))
    for event, process in enumerate(events.process.tolist()):
        clock[process] += random.choice([0.0, 0.5, 1.0])
        time[event] = clock[process]
    return replace(run, events=replace(events, time=time))


def judge_in_parts(
    store: Store, plan: Plan, last_at: Positions, folder: Path, late_shards: int = 2
) -> Findings:
    """What the cluster does, one task after the other."""
    late = [str(folder / f"late-{shard}.parquet") for shard in range(late_shards)]
    pieces = [piece.copies for piece in store.read(plan.first, None)]
    stragglers = [
        int(send) for copies in pieces for send in copies.send[flights(copies, last_at) > plan.lead]
    ]
    if stragglers:
        plan = replace(plan, stragglers_from=min(stragglers))
        for shard, file in enumerate(late):
            check_stragglers(store, plan, shard, late_shards, last_at, file)
    return sum(
        (
            check_window(store, plan, window, shard, late if stragglers else [], None)
            for window in range(len(plan.windows()))
            for shard in range(plan.shards)
        ),
        Findings(),
    )


@pytest.mark.parametrize("seed", range(60))
def test_parts_agree_with_the_whole(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    run = timed(random_execution(random).to_run(), random)
    expected = audit(run)
    store = write_store(tmp_path, run, random.choice([1, 3, 100]))
    size = len(run.events)
    borders = sorted(random.sample(range(1, size), min(size - 1, random.randint(0, 6))))
    plan = Plan(
        processes=len(run.processes),
        first=0,
        last=size if random.random() < 0.8 else 2**40,  # as far apart as 64 bits need
        lead=random.choice([0, 2, 5, size]),
        arrivals=True,
        borders=tuple(borders),
        shards=random.choice([1, 2, 3]),
        piece=random.choice([1, 4, 1000]),
    )
    found = judge_in_parts(store, plan, last_deliveries(run), tmp_path)
    assert found.violations == expected.violations
    assert found.delays.deliveries == expected.delays.deliveries
    for part in ("forced_s", "inherited_s", "own_s"):
        assert getattr(found.delays, part) == pytest.approx(getattr(expected.delays, part))
    culprits = find_culprits(store, len(run.processes), found.early, 0)
    told = [
        (
            run.processes[culprit.early.destination],
            tuple(f"{run.processes[sender]}:{number}" for sender, number in culprit.path),
            culprit.delivered,
        )
        for culprit in culprits
    ]
    assert told == [(w.process, w.path, w.time) for w in expected.witnesses]


def crossing() -> Run:
    """a:1 is overtaken by b:1, which depends on it through c, sent far behind a border."""
    filler = [row for n in range(1, 11) for row in (send("d", n, "e"), deliver("e", f"d:{n}"))]
    return load(
        *positioned(
            send("a", 1, ["b", "c"]),
            deliver("b", "a:1"),
            *filler,
            send("b", 1, ["c"]),
            deliver("c", "b:1"),
            deliver("c", "a:1"),
        )
    )


def test_a_window_without_lead_or_stragglers_misses_what_comes_from_before(tmp_path: Path) -> None:
    """The tests would notice if windows were cut carelessly."""
    run = crossing()
    store = write_store(tmp_path, run)
    plan = Plan(len(run.processes), 0, len(run.events), lead=0, arrivals=False, borders=(10,))
    careless = sum(
        (check_window(store, plan, window, 0, [], None) for window in range(2)), Findings()
    )
    assert careless.violations == 0
    assert audit(run).violations == 1
    assert judge_in_parts(store, plan, last_deliveries(run), tmp_path).violations == 1
    long = replace(plan, lead=len(run.events))
    assert judge_in_parts(store, long, last_deliveries(run), tmp_path).violations == 1


def test_the_lead_is_the_cheapest() -> None:
    usual = {1: 10, 2: 500, 4: 1000, 8: 20, 100_000: 1}
    assert choose_lead(usual, windows=1, total=10_000_000) == 0
    assert choose_lead(usual, windows=2, total=10_000_000) == 100_000
    assert choose_lead(usual, windows=2, total=10_000) == 8
    assert choose_lead({}, windows=8, total=10) == 0
