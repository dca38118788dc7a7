"""The shapes of traffic."""

import gzip
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest

from antecede.errors import BadFile, Misuse
from antecede.message import members
from antecede.simulate import make_scenario
from antecede.simulate.graphs import load_graph, shipped
from antecede.simulate.layouts import Shape, lay_out
from tests.simulate.traces import Row, run


def sends(trace: list[Row]) -> list[Row]:
    return [row for row in trace if row.kind == "send"]


def test_open_traffic_comes_at_the_rate_asked_for(tmp_path: Path) -> None:
    _, trace = run(tmp_path, protocol="none", processes=4, messages=4000, rate=5.0)
    sent = sends(trace)
    assert len(sent) == 4000
    assert sent[-1].time == pytest.approx(4000 / (4 * 5.0), rel=0.06)
    for process in range(4):
        share = sum(row.process == process for row in sent) / len(sent)
        assert share == pytest.approx(0.25, abs=0.03)


def test_broadcast_reaches_everybody(tmp_path: Path) -> None:
    summary, trace = run(tmp_path, protocol="vector", processes=5, messages=50)
    assert {row.destinations for row in sends(trace)} == {(0, 1, 2, 3, 4)}
    assert summary.deliveries == 5 * 50
    assert summary.copies == 4 * 50


def test_unicast_reaches_one_other(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"processes": 3, "messages": 200, "workload": {"kind": "unicast"}}
    _, trace = run(tmp_path, protocol="none", **fields)
    pairs = {(row.process, *row.destinations) for row in sends(trace)}
    assert pairs == {(p, q) for p in range(3) for q in range(3) if p != q}


def test_who_talks_to_whom_is_drawn_by_shares(tmp_path: Path) -> None:
    talks = [
        {"sender": 0, "to": [1], "share": 6},
        {"sender": 0, "to": [2, 3]},
        {"sender": "p2", "to": ["p0"], "share": 3},
    ]
    fields = {"processes": 4, "messages": 4000, "workload": {"kind": "talks", "talks": talks}}
    _, trace = run(tmp_path, protocol="none", **fields)
    said = Counter((row.process, row.destinations) for row in sends(trace))
    assert said.keys() == {(0, (1,)), (0, (2, 3)), (2, (0,))}
    for whom, share in ((0, (1,)), 0.6), ((0, (2, 3)), 0.1), ((2, (0,)), 0.3):
        assert said[whom] / 4000 == pytest.approx(share, abs=0.03)
    assert sends(trace)[-1].time == pytest.approx(4000 / (4 * 10.0), rel=0.06)


def test_only_who_is_there_talks() -> None:
    talks = [{"sender": 0, "to": [1]}, {"sender": 1, "to": [5]}]
    with pytest.raises(Misuse, match=r"workload\.talks\[1\].*5"):
        make_scenario(
            {"protocol": "none", "processes": 4, "workload": {"kind": "talks", "talks": talks}}
        )
    with pytest.raises(Misuse, match="'talks' addresses any set of processes"):
        make_scenario(
            {
                "protocol": "vector",
                "processes": 4,
                "workload": {"kind": "talks", "talks": talks[:1]},
            }
        )


def test_clients_ask_and_servers_answer(tmp_path: Path) -> None:
    workload = {"kind": "requests", "servers": 2}
    _, trace = run(tmp_path, protocol="matrix", processes=6, messages=400, workload=workload)
    asked = [row for row in sends(trace) if row.process >= 2]
    answered = [row for row in sends(trace) if row.process < 2]
    assert {row.destinations for row in asked} == {(0,), (1,)}
    assert len(asked) + len(answered) == 400
    assert 190 <= len(answered) <= len(asked)
    requests = [(row.destinations[0], row.process) for row in asked]
    for row in answered:  # each to one who asked, and no more often than that
        requests.remove((row.process, row.destinations[0]))


def test_servers_leave_a_client() -> None:
    with pytest.raises(Misuse, match="4 servers among 4 processes leave no client"):
        make_scenario(
            {
                "protocol": "none",
                "processes": 4,
                "messages": 9,
                "workload": {"kind": "requests", "servers": 4},
            }
        )


def test_multicast_of_a_size(tmp_path: Path) -> None:
    workload = {"kind": "multicast", "size": 2}
    _, trace = run(tmp_path, protocol="matrix", processes=4, messages=300, workload=workload)
    found = {(row.process, row.destinations) for row in sends(trace)}
    others = {p: [q for q in range(4) if q != p] for p in range(4)}
    assert found == {(p, pair) for p in range(4) for pair in combinations(others[p], 2)}


def test_multicast_with_a_probability(tmp_path: Path) -> None:
    workload = {"kind": "multicast", "probability": 0.3}
    _, trace = run(tmp_path, protocol="none", processes=11, messages=1000, workload=workload)
    counts = [len(row.destinations) for row in sends(trace)]
    assert min(counts) == 1
    assert sum(counts) / len(counts) == pytest.approx(3.0, abs=0.2)
    assert not any(row.process in row.destinations for row in sends(trace))


@pytest.mark.parametrize("shape", ["chain", "ring", "random"])
def test_groups_get_messages_of_their_members(tmp_path: Path, shape: str) -> None:
    groups = {"layout": shape, "count": 4}
    _, trace = run(tmp_path, protocol="vector", processes=9, messages=400, groups=groups)
    scenario = make_scenario({"protocol": "vector", "processes": 9, "groups": groups})
    layout = {tuple(members(group)) for group in scenario.membership.groups}
    assert {row.destinations for row in sends(trace)} == layout
    assert all(row.process in row.destinations for row in sends(trace))


def test_groups_can_be_listed(tmp_path: Path) -> None:
    groups = [[0, "p1", 2], [2, 3]]
    _, trace = run(tmp_path, protocol="vector", processes=4, messages=50, groups=groups)
    assert {row.destinations for row in sends(trace)} == {(0, 1, 2), (2, 3)}


@pytest.mark.parametrize(
    ("shape", "processes", "count", "size"),
    [("chain", 9, 4, 3), ("chain", 10, 3, None), ("ring", 8, 4, 3), ("ring", 12, 3, None)],
)
def test_only_neighbours_overlap_in_a_chain_or_a_ring(
    shape: Shape, processes: int, count: int, size: int | None
) -> None:
    groups = lay_out(shape, processes, count, size, seed=1)
    assert sum(1 << p for p in range(processes)) == groups[0] | groups[1] | _union(groups[2:])
    neighbours = list(pairwise(range(count))) + [(0, count - 1)] * (shape == "ring")
    for one, other in combinations(range(count), 2):
        assert bool(groups[one] & groups[other]) == ((one, other) in neighbours)
    assert len({group.bit_count() for group in groups}) == 1


def _union(groups: tuple[int, ...]) -> int:
    union = 0
    for group in groups:
        union |= group
    return union


def test_random_groups_hold_everybody_and_differ_by_seed() -> None:
    groups = lay_out("random", 20, 5, 6, seed=1)
    assert [group.bit_count() for group in groups] == [6] * 5
    assert _union(groups) == (1 << 20) - 1
    assert groups != lay_out("random", 20, 5, 6, seed=2)


def test_an_impossible_layout_is_refused() -> None:
    with pytest.raises(Misuse, match="the size can be 3 to 3"):
        lay_out("chain", 9, 4, 7, seed=1)
    with pytest.raises(Misuse, match="cannot hold 10 processes"):
        lay_out("random", 10, 2, 3, seed=1)


def test_a_cascade_answers_deliveries_at_once(tmp_path: Path) -> None:
    workload = {"kind": "unicast", "cascade": 0.5}
    fields: dict[str, Any] = {"processes": 5, "messages": 500, "workload": workload}
    _, trace = run(tmp_path, protocol="none", **fields, rate=1.0)
    assert len(sends(trace)) == 500
    delivered = {(row.process, row.time) for row in trace if row.kind == "deliver"}
    answers = [row for row in sends(trace) if (row.process, row.time) in delivered]
    assert 180 < len(answers) < 320


def test_a_replay_honours_the_parents(tmp_path: Path) -> None:
    replay = {"kind": "replay", "graph": "git-makefile"}
    _, trace = run(tmp_path, protocol="vector", workload=replay, messages=150)
    graph = load_graph("git-makefile").first(150)
    event_of = _events_by_message(graph.processes)
    delivered: list[set[int]] = [set() for _ in range(graph.size)]
    sent = []
    for row in trace:
        if row.kind == "deliver":
            delivered[row.process].add(event_of[row.message])
        elif row.kind == "send":
            event = event_of[row.message]
            assert delivered[row.process] >= set(graph.parents[event])
            sent.append(event)
    assert sorted(sent) == list(range(150))


def _events_by_message(processes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    numbers: dict[int, int] = {}
    found = {}
    for event, process in enumerate(processes):
        numbers[process] = numbers.get(process, 0) + 1
        found[process, numbers[process]] = event
    return found


def test_the_shipped_graphs() -> None:
    sizes = {name: (len(load_graph(name)), load_graph(name).size) for name in shipped()}
    assert sizes == {
        "friendsforever": (26_078, 2),
        "git-makefile": (3_781, 474),
        "trio": (6_640, 292),
        "ubuntu-irc": (204, 30),
    }
    later = load_graph("ubuntu-irc", "2005-06-27_12")
    assert len(later) == 228
    last: dict[int, int] = {}
    for event, process in enumerate(later.processes):
        assert process not in last or last[process] in later.parents[event]
        last[process] = event


def test_a_broken_graph_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.dag.csv.gz"
    path.write_bytes(gzip.compress(b"event,process,seq,parents\n0,0,1,\n1,0,3,0\n"))
    with pytest.raises(BadFile, match="line 3: seq is 3, but the last of this process was 1"):
        load_graph(str(path))
    path.write_bytes(b"no gzip")
    with pytest.raises(BadFile, match="cannot be read"):
        load_graph(str(path))
    with pytest.raises(BadFile, match="no session 'x'; there are 2004-11-15_03"):
        load_graph("ubuntu-irc", "x")
