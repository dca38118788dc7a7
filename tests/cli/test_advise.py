"""`antecede advise`: what it prints, and what it refuses."""

import re
from pathlib import Path

import pytest

from antecede.simulate import make_scenario, simulate
from antecede.trace.traffic import measure_traffic
from tests.cli.conftest import Antecede


def test_survival_leaves_what_bears_crashes_and_loss(antecede: Antecede) -> None:
    """And the next in the sentence is a row of the table."""
    told = antecede("advise", "--processes", 4, "--matters", "survival").out
    assert "Ruled out" in told
    sentence, _, table = told.partition("\n\n")
    next_best = re.search(r"; (.*), the\s+next", sentence)
    assert next_best
    rows = [line.split("  ")[0] for line in table.partition("\n\n")[0].splitlines()[1:]]
    assert sorted(rows) == ["daisy", "pairs recovery=rollback"]
    assert next_best[1] in rows
    assert max(map(len, told.splitlines())) <= 80


def test_traffic_is_measured_from_a_trace(antecede: Antecede, tmp_path: Path) -> None:
    trace = tmp_path / "run.parquet"
    talks = [{"sender": 0, "to": [one], "share": one} for one in range(1, 5)]
    workload = {"kind": "talks", "talks": [*talks, {"sender": 4, "to": [0]}]}
    fields = {"processes": 5, "messages": 500, "rate": 4.0, "workload": workload}
    simulate(make_scenario({"protocol": "none", **fields}), trace)
    found = measure_traffic(trace)
    assert (found.processes, found.messages, found.fewest, found.most) == (5, 500, 1, 1)
    assert found.rate == pytest.approx(4.0, rel=0.1)
    assert found.talks.keys() == {(0, (1,)), (0, (2,)), (0, (3,)), (0, (4,)), (4, (0,))}
    assert (sum(found.talks.values()), found.told) == (500, 1.0)
    told = antecede("advise", "--trace", trace, "--matters", "survival")
    measured = " ".join(told.err.split())
    assert "5 processes" in measured
    assert "to one other" in measured
    assert "as often as it was recorded" in measured
    assert "Take" in told.out or "Probably" in told.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--workload", "unicast", "--multicast-size", 3], "--multicast-size goes with --workload"),
        (["--servers", 1], "--servers goes with --workload requests; this is broadcast"),
        (["--group-size", 2], "--group-size goes with --groups"),
        (["--local", 0.9], "--local goes with --workload unicast or multicast; this is broadcast"),
        (["--scenario", "editing", "--trace", "x.parquet"], "give one"),
    ],
)
def test_what_does_not_go_together_is_refused_by_its_flag(
    antecede: Antecede, words: list[str | int], told: str
) -> None:
    outcome = antecede("advise", "--processes", 4, *words)
    assert outcome.status == 2
    assert told in outcome.err
