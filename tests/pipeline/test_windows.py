"""Huge runs in windows, without Spark, which only hands out tasks: every way to cut a run gives the
local verdict, and every broken run the local error."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.errors import BadTrace, Misuse
from antecede.pipeline.audit import boundaries, verify, windows
from antecede.pipeline.audit.boundaries import Settled
from antecede.pipeline.audit.job import Limits
from antecede.pipeline.audit.runs import find_runs
from antecede.trace import intake
from antecede.verify import Verdict, verify_trace
from tests.pipeline.plain import plain_job
from tests.pipeline.test_engines import BY_RULE, CASES, assert_same
from tests.pipeline.traces import crash, crossing, long_rows, random_rows, write
from tests.trace import test_rows
from tests.trace.builders import Row, deliver, positioned, receive, send, table


def judged(
    trace: Path, cut: int, reach: int, *, run: int = 0, told: list[str] | None = None
) -> Verdict:
    """The verdict of tasks that run one behind the other."""
    limits = Limits(run_rows=0, windows=cut, reach=reach, shard=2)
    number = len(list(trace.parent.glob("work-*")))
    steps = [] if told is None else told
    job = plain_job(trace, trace.parent / f"work-{number}", limits, steps.append)
    return verify.verify_huge(job, find_runs(job)[run], 0)


def error_of(trace: Path, cut: int, reach: int) -> str:
    with pytest.raises(BadTrace) as caught:
        judged(trace, cut, reach)
    return str(caught.value)


def local_error(trace: Path) -> str:
    with pytest.raises(BadTrace) as caught:
        verify_trace(trace)
    return str(caught.value)


def test_any_cut_gives_the_local_verdict(tmp_path: Path) -> None:
    trace = write(tmp_path / "run.parquet", ("r", positioned(*long_rows(0), crash("a"))), group=3)
    expected = verify_trace(trace)
    for cut, reach in ((2, 6), (7, 0), (100, 60)):
        assert_same(judged(trace, cut, reach), expected)


def test_the_cuts_are_worth_comparing(tmp_path: Path) -> None:
    """Some need a second look, from end to end, and some do not; none is put in order first, and
    all give the local verdict."""
    looks = []
    for seed in range(8):
        folder = tmp_path / str(seed)
        folder.mkdir()
        trace = write(folder / "run.parquet", ("r", random_rows(seed)), group=3)
        for reach in (0, 60):
            told: list[str] = []
            assert_same(judged(trace, 3, reach, told=told), verify_trace(trace))
            assert "order" not in told
            looks.append("long flights" in told)
    assert looks.count(True) > 2
    assert looks.count(False) > 2


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    group=st.integers(1, 12),
    cut=st.integers(1, 9),
    reach=st.integers(0, 60),
)
def test_search_for_a_cut_that_differs(
    seed: int, group: int, cut: int, reach: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    trace = write(folder / "run.parquet", ("r", random_rows(seed)), group=group)
    assert_same(judged(trace, cut, reach), verify_trace(trace))


@pytest.mark.parametrize("seed", range(4))
def test_a_second_look_gives_the_local_verdict(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is needed or not, with several shards; clocks run backwards now and then."""
    random = Random(seed)
    rows = random_rows(seed) if seed % 2 else positioned(*long_rows(seed), crash("a"))
    for row in rows:
        if row.get("time") is not None and random.random() < 0.2:
            row["time"] -= random.choice([0.0, 1.0, 30.0])
    trace = write(tmp_path / "run.parquet", ("r", rows), group=random.choice([3, 9]))
    settle = boundaries.settle

    def always(*given: object) -> Settled:
        settled = settle(*given)  # type: ignore[arg-type]
        return replace(settled, long_flights=True)

    monkeypatch.setattr(verify, "settle", always)
    for cut in (1, 4):
        assert_same(judged(trace, cut, 9), verify_trace(trace))


def test_a_fault_across_borders(tmp_path: Path) -> None:
    """Wherever the borders are, with leads that reach far enough and with others."""
    for between, group in ((2, 1), (20, 3), (20, 7)):
        trace = write(tmp_path / f"{group}.parquet", ("r", crossing(between)), group=group)
        expected = verify_trace(trace)
        for cut, reach in ((2, 0), (5, 0), (5, 100)):
            found = judged(trace, cut, reach)
            assert_same(found, expected)
            assert found.witnesses[0].sentence() == (
                "c delivered b:1 without a:1, which b:1 directly depends on"
            )


def test_windows_that_do_not_settle_would_miss_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tests above can fail: without the look at long flights the fault goes unseen."""
    trace = write(tmp_path / "run.parquet", ("r", crossing(20)), group=2)
    assert judged(trace, 4, 0).violations == 1
    monkeypatch.setattr(verify, "settle", lambda *_: Settled())
    assert judged(trace, 4, 0).violations == 0


@pytest.mark.parametrize(
    "rows", [pytest.param(case.values[0], id=case.id) for case in CASES.args[1]]
)
def test_broken_rules(rows: list[Row], tmp_path: Path) -> None:
    """The error of the local engine, word for word, with positions and, one for each rule,
    without."""
    bare = any(rows is case.values[0] for case in BY_RULE.values())
    for name, told in (("placed", positioned(*rows)), *[("bare", rows)] * bare):
        trace = write(tmp_path / f"{name}.parquet", ("r", told), group=2)
        assert error_of(trace, 3, 2) == local_error(trace)


def outcome(engine: Callable[..., Verdict], *given: Any) -> Verdict | None:
    """A verdict; nothing if a rule is broken."""
    try:
        return engine(*given)
    except BadTrace:
        return None


def test_what_one_engine_once_could_not_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Destinations named twice, more processes than fit into a code of two bytes, messages that
    nobody will ever send: both engines give the same verdict, or none."""
    verdicts, twice = 0, 0
    for seed in range(12):
        random = Random(seed)
        rows = test_rows.told(seed)
        heard = [row for row in rows if row["kind"] in {"deliver", "receive"}]
        if seed % 3 == 0 and heard:
            random.choice(heard)["number"] += random.choice([7, 2**40])
        monkeypatch.setattr(intake, "NARROW", random.choice([0, 3]))
        trace = write(tmp_path / "run.parquet", ("r", rows), group=random.choice([1, 3]))
        expected = outcome(verify_trace, trace)
        found = outcome(judged, trace, *random.choice([(4, 6), (7, 0)]))
        assert (found is None) == (expected is None), seed
        if found and expected:
            assert_same(found, expected)
            verdicts += 1
            twice += any(len({*to}) < len(to) for row in rows if (to := row["destinations"]))
    assert twice > 2
    assert verdicts > 6


FAR = [row for n in range(1, 20) for row in (send("d", n, "e"), deliver("e", f"d:{n}"))]


@pytest.mark.parametrize(
    "late",
    [
        deliver("q", "p:1"),
        deliver("r", "p:1"),
        deliver("q", "p:2"),
        deliver("q", "e:99"),
        deliver("q", "s:1"),
        receive("r", "p:1"),
        deliver("p", "p:1"),
    ],
    ids=[
        "again",
        "elsewhere",
        "not sent",
        "never sent",
        "no such sender",
        "not for it",
        "its own, again",
    ],
)
def test_what_breaks_a_rule_far_away(late: Row, tmp_path: Path) -> None:
    near = [send("p", 1, "q"), deliver("p", "p:1"), deliver("q", "p:1")]
    trace = write(tmp_path / "run.parquet", ("r", positioned(*near, *FAR, late)), group=3)
    assert error_of(trace, 5, 6) == local_error(trace)


def test_its_own_message_late(tmp_path: Path) -> None:
    """Nothing forbids to deliver it far behind its send."""
    rows = positioned(send("p", 1, "q"), deliver("q", "p:1"), *FAR, deliver("p", "p:1"))
    trace = write(tmp_path / "run.parquet", ("r", rows), group=3)
    for cut in (1, 5, 50):
        told: list[str] = []
        assert_same(judged(trace, cut, 0, told=told), verify_trace(trace))
        assert "order" not in told


def test_a_delivery_before_its_send_far_away(tmp_path: Path) -> None:
    for number, cuts in ((1, (1, 2, 7)), (9, (1,)), (2**40, (1,))):
        rows = positioned(deliver("q", f"p:{number}"), *FAR, send("p", 1, "q"))
        trace = write(tmp_path / "run.parquet", ("r", rows), group=3)
        for cut in cuts:
            assert error_of(trace, cut, 6) == local_error(trace)


def test_rows_out_of_order_or_without_positions(tmp_path: Path) -> None:
    random = Random(3)
    rows = table(*positioned(*long_rows(3), crash("a"))).to_pylist()
    shuffled = random.sample(rows, len(rows))
    bare = [{**row, "position": None} for row in rows]
    some = [{**row, "position": random.choice([row["position"], None])} for row in rows]
    both = [{**row, "position": None} for row in shuffled]
    for name, told_rows in (("shuffled", shuffled), ("bare", bare), ("both", both), ("some", some)):
        trace = write(tmp_path / f"{name}.parquet", ("r", told_rows), group=random.choice([3, 9]))
        expected = verify_trace(trace)
        told: list[str] = []
        found = judged(trace, 4, 9, told=told)
        assert "order" in told
        assert_same(found, expected)


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
    found = [judged(trace, 3, 100, run=run) for run in range(2)]
    assert_same(found[0] + found[1], verify_trace(trace))


def test_too_many_processes_for_one_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are dealt out by destination."""
    trace = write(tmp_path / "run.parquet", ("r", crossing(6)))
    monkeypatch.setattr(windows, "WIDEST", 4)
    told: list[str] = []
    assert_same(judged(trace, 2, 100, told=told), verify_trace(trace))
    assert "long flights" in told


def test_more_in_flight_than_a_task_can_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write(tmp_path / "run.parquet", ("r", crossing(6)), group=3)
    monkeypatch.setattr(boundaries, "MOST", 1)
    with pytest.raises(Misuse, match="rows about messages of other windows, more than the 1 that"):
        judged(trace, 3, 0)
