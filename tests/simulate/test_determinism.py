"""One seed explains a run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from antecede.simulate import make_scenario, simulate
from antecede.simulate.workload import traffic_of
from tests.simulate.traces import delays, run

SCENARIO = """
from antecede.simulate import make_scenario, simulate
import sys
scenario = make_scenario(dict(
    protocol=sys.argv[1], processes=6, messages=300, seed=int(sys.argv[2]),
    workload=dict(kind="broadcast", cascade=0.1),
    network=dict(loss=0.05, duplication=0.1, delay="lognormal:0.05,1.0"),
    crashes=[dict(process=2, time_s=2.0)],
))
simulate(scenario, sys.argv[3])
"""


def trace_bytes(folder: Path, protocol: str, seed: int, hash_seed: str) -> bytes:
    path = folder / f"{protocol}-{seed}-{hash_seed}.parquet"
    subprocess.run(
        [sys.executable, "-c", SCENARIO, protocol, str(seed), str(path)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        check=True,
    )
    return path.read_bytes()


@pytest.mark.parametrize("protocol", ["vector", "optimal"])
def test_a_seed_gives_the_same_bytes_in_another_process_with_another_hash_seed(
    tmp_path: Path, protocol: str
) -> None:
    assert trace_bytes(tmp_path, protocol, 5, "1") == trace_bytes(tmp_path, protocol, 5, "77")


def test_runs_do_not_disturb_each_other(tmp_path: Path) -> None:
    scenario = make_scenario({"protocol": "vector", "processes": 4, "messages": 100})
    other = make_scenario({"protocol": "none", "processes": 3, "messages": 50, "seed": 9})
    simulate(scenario, tmp_path / "first")
    simulate(other)
    simulate(scenario, tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_another_seed_gives_another_trace(tmp_path: Path) -> None:
    _, first = run(tmp_path, protocol="none", processes=4, messages=50, seed=1)
    _, second = run(tmp_path, protocol="none", processes=4, messages=50, seed=2)
    assert [row.time for row in first] != [row.time for row in second]


@pytest.mark.parametrize("workload", [{"kind": "unicast"}, {"kind": "multicast", "size": 3}])
def test_every_protocol_meets_the_same_network_on_the_same_traffic(
    tmp_path: Path, workload: dict[str, object]
) -> None:
    fields = {"processes": 6, "messages": 200, "workload": workload}
    _, unordered = run(tmp_path, protocol="none", **fields)
    for protocol in ("fifo", "matrix"):
        _, ordered = run(tmp_path, protocol=protocol, **fields)
        sends = [row for row in ordered if row.kind == "send"]
        assert sends == [row for row in unordered if row.kind == "send"]
        assert delays(ordered, "receive") == delays(unordered, "receive")
        assert delays(ordered, "deliver") != delays(unordered, "deliver")


def test_losses_and_duplicates_leave_the_delays_as_they_are(tmp_path: Path) -> None:
    fields = {"protocol": "none", "processes": 5, "messages": 200}
    _, clean = run(tmp_path, **fields)
    _, faulty = run(tmp_path, **fields, network={"loss": 0.2})
    before, after = delays(clean, "receive"), delays(faulty, "receive")
    assert len(after) < len(before)
    assert all(before[copy] == delay for copy, delay in after.items())


def test_a_replay_meets_the_same_network_under_every_protocol(tmp_path: Path) -> None:
    replay = {"kind": "replay", "graph": "ubuntu-irc"}
    _, unordered = run(tmp_path, protocol="none", workload=replay, messages=60)
    _, ordered = run(tmp_path, protocol="vector", workload=replay, messages=60)
    before, after = delays(unordered, "receive"), delays(ordered, "receive")
    assert before.keys() == after.keys()
    assert all(abs(before[copy] - after[copy]) < 1e-9 for copy in before)


def test_an_answer_depends_on_its_cause_and_not_on_the_moment() -> None:
    workload = {"kind": "multicast", "probability": 0.4, "cascade": 0.5}
    scenario = make_scenario({"protocol": "none", "processes": 5, "workload": workload})
    deliveries = [(process, tag) for process in range(5) for tag in range(1000, 1040)]
    answers = []
    for order in (deliveries, deliveries[::-1]):
        traffic = traffic_of(scenario)
        found = {}
        for now, (process, tag) in enumerate(order):
            sends = traffic.delivered(process, tag, float(now), own=False)
            found[process, tag] = [(send.destinations, send.tag) for send in sends]
        answers.append(found)
    assert answers[0] == answers[1]
    assert 60 < sum(map(len, answers[0].values())) < 140
