"""The fast lane of huge runs, without Spark: every way to cut a run gives the local verdict, or
none at all."""

from itertools import product
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.errors import BadTrace
from antecede.pipeline.audit import lane, sweep
from antecede.pipeline.audit.census import find_runs
from antecede.pipeline.audit.job import Limits
from antecede.pipeline.audit.lane import take_lane
from antecede.pipeline.audit.settle import Settled
from antecede.pipeline.audit.store import COPIES, Log
from antecede.trace import read_trace
from antecede.verify import Verdict, verify_trace
from tests.pipeline.copies import copy_rows
from tests.pipeline.plain import plain_job
from tests.pipeline.test_engines import CASES, assert_same, long_rows
from tests.pipeline.traces import crash, crossing, random_rows, write
from tests.trace.builders import Row, deliver, positioned, receive, send, table


def through_lane(
    trace: Path, windows: int, reach: int, layer: int = 0, run: int = 0
) -> Verdict | Log | None:
    limits = Limits(run_rows=0, windows=windows, reach=reach)
    job = plain_job(trace, trace.parent / f"work-{windows}-{reach}-{run}", limits, layer)
    return take_lane(job, find_runs(job)[run], 0, job.work)


def assert_prepared(log: Log, trace: Path) -> None:
    """The copies are those of the run in memory."""
    (run,) = read_trace(trace).runs
    expected = pa.Table.from_pylist(copy_rows(run), schema=COPIES).to_pylist()
    code = {name: number for number, name in enumerate(log.processes)}
    for row in expected:
        for column in ("sender", "destination"):
            row[column] = code[run.processes[row[column]]]
    found = pq.read_table(log.folder, schema=COPIES).to_pylist()
    assert [row["send"] for row in found] == sorted(row["send"] for row in found)
    key = ("send", "destination")
    assert sorted(found, key=lambda row: [row[name] for name in key]) == sorted(
        expected, key=lambda row: [row[name] for name in key]
    )


def assert_right(found: Verdict | Log | None, trace: Path) -> None:
    expected = verify_trace(trace)
    if isinstance(found, Verdict):
        assert_same(found, expected)
    elif found:
        assert (found.messages, found.deliveries) == (expected.messages, expected.deliveries)
        assert_prepared(found, trace)


@pytest.mark.parametrize("seed", range(25))
def test_any_cut_gives_the_local_verdict(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    rows = random_rows(seed) if seed % 2 else positioned(*long_rows(seed), crash("a"))
    trace = write(tmp_path / "run.parquet", ("r", rows), group=random.choice([1, 2, 3, 5, 9]))
    for windows, reach in product((2, random.choice([3, 7, 100])), (0, random.choice([6, 60]))):
        assert_right(through_lane(trace, windows, reach), trace)


def test_the_cuts_are_worth_comparing(tmp_path: Path) -> None:
    """A lane that lets nothing pass would agree with everything."""
    kinds = []
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        trace = write(folder / "run.parquet", ("r", random_rows(seed)), group=3)
        kinds += [type(through_lane(trace, 3, reach)) for reach in (0, 60)]
    assert kinds.count(Verdict) > 3
    assert kinds.count(Log) > 3


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    group=st.integers(1, 12),
    windows=st.integers(1, 40),
    reach=st.integers(0, 60),
)
def test_search_for_a_cut_that_differs(
    seed: int, group: int, windows: int, reach: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    trace = write(folder / "run.parquet", ("r", random_rows(seed)), group=group)
    assert_right(through_lane(trace, windows, reach), trace)


@pytest.mark.parametrize("between", [2, 6, 20])
def test_a_fault_across_borders(between: int, tmp_path: Path) -> None:
    """Wherever the borders are, with leads that reach far enough and with others."""
    seen = set()
    for group in (1, 2, 3, 7):
        trace = write(tmp_path / f"{group}.parquet", ("r", crossing(between)), group=group)
        for windows, reach in product((2, 3, 5, 50), (0, 100)):
            found = through_lane(trace, windows, reach, run=0)
            seen.add(type(found))
            assert found is not None
            assert_right(found, trace)
            if isinstance(found, Verdict):
                assert found.witnesses[0].sentence() == (
                    "c delivered b:1 without a:1, which b:1 directly depends on"
                )
            for left in tmp_path.glob("work-*"):
                left.rename(tmp_path / f"done-{group}-{left.name}")
    assert seen == {Verdict, Log}


def test_windows_that_do_not_settle_would_miss_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above can fail: without the look at stragglers the fault goes unseen."""
    trace = write(tmp_path / "run.parquet", ("r", crossing(20)), group=2)
    assert isinstance(through_lane(trace, 4, 0), Log)
    monkeypatch.setattr(lane, "_settle", lambda *_: Settled())
    careless = through_lane(trace, 5, 0)
    assert isinstance(careless, Verdict)
    assert careless.violations == 0
    assert verify_trace(trace).violations == 1


@pytest.mark.parametrize("windows", [1, 2, 50])
@pytest.mark.parametrize(
    "rows", [pytest.param(case.values[0], id=case.id) for case in CASES.args[1]]
)
def test_nothing_broken_passes(rows: list[Row], windows: int, tmp_path: Path) -> None:
    trace = write(tmp_path / "run.parquet", ("r", rows), group=1)
    with pytest.raises(BadTrace):
        verify_trace(trace)
    assert through_lane(trace, windows, 2) is None


FAR = [row for n in range(1, 20) for row in (send("d", n, "e"), deliver("e", f"d:{n}"))]


@pytest.mark.parametrize(
    "late",
    [
        deliver("q", "p:1"),
        deliver("r", "p:1"),
        deliver("q", "p:2"),
        deliver("q", "s:1"),
        receive("r", "p:1"),
        deliver("p", "p:1"),
    ],
    ids=["again", "elsewhere", "not sent", "no such sender", "not for it", "its own, again"],
)
def test_what_breaks_a_rule_far_away_does_not_pass(late: Row, tmp_path: Path) -> None:
    near = [send("p", 1, "q"), deliver("p", "p:1"), deliver("q", "p:1")]
    trace = write(tmp_path / "run.parquet", ("r", positioned(*near, *FAR, late)), group=3)
    with pytest.raises(BadTrace):
        verify_trace(trace)
    for windows, reach in ((1, 0), (2, 0), (5, 6), (50, 100)):
        assert through_lane(trace, windows, reach) is None


def test_a_delivery_before_its_send_far_away(tmp_path: Path) -> None:
    rows = positioned(deliver("q", "p:1"), *FAR, send("p", 1, "q"))
    trace = write(tmp_path / "run.parquet", ("r", rows), group=3)
    for windows in (1, 2, 7):
        assert through_lane(trace, windows, 6) is None


def test_rows_out_of_order_or_without_positions(tmp_path: Path) -> None:
    rows = positioned(*FAR)
    seqs = [
        {**row, "seq": seq} for row, seq in zip(rows, table(*rows)["seq"].to_pylist(), strict=True)
    ]
    swapped = [*seqs[:10], seqs[12], seqs[11], seqs[10], *seqs[13:]]
    trace = write(tmp_path / "swapped.parquet", ("r", swapped), group=3)
    assert verify_trace(trace).holds
    assert through_lane(trace, 4, 9) is None
    trace = write(tmp_path / "bare.parquet", ("r", [{**row, "position": None} for row in rows]))
    assert through_lane(trace, 3, 9) is None


def test_runs_that_share_row_groups(tmp_path: Path) -> None:
    """Interleaved row by row; each is judged by itself."""
    runs = [("r", crossing(6)), ("s", positioned(*FAR))]
    tables = [table(*rows, run=name) for name, rows in runs]
    rows = sorted(
        (row for one in tables for row in one.to_pylist()), key=lambda row: int(row["position"])
    )
    mixed = pa.Table.from_pylist(rows, schema=tables[0].schema)
    trace = tmp_path / "run.parquet"
    pq.write_table(mixed, trace, row_group_size=8)
    expected = verify_trace(trace)
    found = [through_lane(trace, 3, 100, run=run) for run in range(2)]
    verdicts = [one for one in found if isinstance(one, Verdict)]
    assert len(verdicts) == 2
    assert_same(verdicts[0] + verdicts[1], expected)


def test_too_many_processes_for_one_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = write(tmp_path / "run.parquet", ("r", crossing(6)))
    monkeypatch.setattr(sweep, "WIDEST", 4)
    found = through_lane(trace, 2, 100)
    assert isinstance(found, Log)
    assert_prepared(found, trace)
