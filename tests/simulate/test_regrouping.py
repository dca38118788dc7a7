"""Groups that change while a run goes on (Macedo, sections 3 and 5.2), at a flush."""

from pathlib import Path
from typing import Any

import pytest

from antecede.errors import AntecedeError, Misuse
from antecede.simulate import Scenario, load_scenario, make_scenario, simulate
from antecede.simulate.regrouping import Regroupings
from antecede.trace import SEND, read_trace
from antecede.verify.oracle import judge

FILE = Path(__file__).resolve().parent.parent.parent / "scenarios" / "regrouping.toml"
BLOCKS = ("blocks-fast", "blocks-relative", "blocks-slow")


def scenario(**changes: Any) -> Scenario:
    plain = load_scenario(FILE).model_dump(by_alias=True, exclude_none=True)
    return make_scenario({**plain, **changes})


@pytest.mark.parametrize("protocol", BLOCKS)
def test_groups_change_and_order_is_kept(protocol: str, tmp_path: Path) -> None:
    summary = simulate(scenario(protocol=protocol), tmp_path / "trace.parquet")
    assert summary.failure is None
    assert summary.messages == 600
    assert summary.undelivered == summary.violations == 0
    assert len(summary.flushed_s) == 2
    assert all(0 < wait_s < 1 for wait_s in summary.flushed_s)
    [run] = read_trace(tmp_path / "trace.parquet").runs
    assert judge(run).violations == 0
    events, used = run.events, set()
    for event in (events.kind == SEND).nonzero()[0].tolist():
        start, end = events.destination_start[event : event + 2]
        used.add(frozenset(events.destination[start:end].tolist()))
    assert {frozenset({0, 1, 2}), frozenset({0, 1, 2, 3}), frozenset({2, 3, 4, 5})} <= used


@pytest.mark.parametrize("protocol", BLOCKS)
def test_without_the_flush_it_breaks(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Regroupings, "_flush", lambda self, process, now: self._change(now))
    with pytest.raises(AntecedeError):
        simulate(scenario(protocol=protocol))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(Misuse, match=r"regroupings.*groups of vector cannot change"):
        scenario(protocol="vector")
    with pytest.raises(Misuse, match="loses nothing"):
        scenario(crashes=[{"process": 1, "time_s": 1.0}])
    with pytest.raises(Misuse, match=r"regroupings\[0\].groups\[0\].*no process 9"):
        scenario(regroupings=[{"time_s": 1.0, "groups": [[0, 9]]}])
