"""Links and their faults."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from antecede.order import Channels
from antecede.orders.none import Unordered
from antecede.simulate import Scenario, make_scenario, simulate
from tests.simulate.traces import Row, delays, run

UNICAST = {"protocol": "none", "workload": {"kind": "unicast"}}


def arrivals_by_link(trace: list[Row]) -> dict[tuple[int, int], list[int]]:
    links: dict[tuple[int, int], list[int]] = {}
    for row in trace:
        if row.kind == "receive":
            links.setdefault((row.message[0], row.process), []).append(row.message[1])
    return links


def is_in_order(trace: list[Row]) -> bool:
    return all(numbers == sorted(numbers) for numbers in arrivals_by_link(trace).values())


def test_fifo_links_keep_the_order_and_others_do_not(tmp_path: Path) -> None:
    fields = {**UNICAST, "processes": 3, "messages": 400, "rate": 50.0}
    _, reordered = run(tmp_path, **fields)
    assert not is_in_order(reordered)
    _, ordered = run(tmp_path, **fields, network={"fifo": True, "duplication": 0.3})
    assert is_in_order(ordered)


class NeedsFifo(Unordered):
    traits = replace(Unordered.traits, channels=Channels.FIFO)


def test_a_protocol_that_needs_fifo_links_gets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {**UNICAST, "processes": 3, "messages": 400, "rate": 50.0}
    monkeypatch.setattr(Scenario, "order", NeedsFifo)
    summary, trace = run(tmp_path, **fields)
    assert is_in_order(trace)
    assert summary.fifo_links
    assert summary.fifo_added


@pytest.mark.parametrize(
    ("delay", "low_s", "mean_s", "high_s"),
    [
        ("constant:0.25", 0.25, 0.25, 0.25),
        ("uniform:0.1,0.3", 0.1, 0.2, 0.3),
        ("exponential:0.2", 0.0, 0.2, 10.0),
        ("lognormal:0.2,0.5", 0.0, 0.2266, 10.0),
        ({"kind": "uniform", "low_s": 1.0, "high_s": 2.0}, 1.0, 1.5, 2.0),
    ],
)
def test_delays_are_distributed_as_asked(
    tmp_path: Path, delay: Any, low_s: float, mean_s: float, high_s: float
) -> None:
    _, trace = run(tmp_path, **UNICAST, processes=4, messages=4000, network={"delay": delay})
    found = list(delays(trace, "receive").values())
    assert len(found) == 4000
    assert low_s - 1e-9 <= min(found)
    assert max(found) <= high_s + 1e-9
    assert sum(found) / len(found) == pytest.approx(mean_s, rel=0.06)


def test_a_link_can_differ_from_the_others(tmp_path: Path) -> None:
    links = [{"from": [0, "p1"], "to": [2], "delay": "constant:5"}]
    links.append({"from": [2], "to": [0], "loss": 1.0})
    network = {"delay": "constant:1", "links": links}
    _, trace = run(tmp_path, **UNICAST, processes=3, messages=300, network=network)
    for (message, process), delay in delays(trace, "receive").items():
        assert (message[0], process) != (2, 0)
        assert delay == pytest.approx(5.0 if process == 2 else 1.0)


def test_copies_are_lost_at_the_rate_asked_for() -> None:
    fields = {**UNICAST, "processes": 4, "messages": 5000, "network": {"loss": 0.2}}
    summary = simulate(make_scenario(fields))
    assert summary.undelivered / summary.messages == pytest.approx(0.2, abs=0.03)
    assert summary.deliveries + summary.undelivered == summary.messages


def test_copies_are_duplicated_at_the_rate_asked_for(tmp_path: Path) -> None:
    fields = {**UNICAST, "processes": 4, "messages": 5000, "network": {"duplication": 0.2}}
    summary, trace = run(tmp_path, **fields)
    arrivals = summary.events - summary.messages
    assert arrivals / summary.messages == pytest.approx(1.2, abs=0.03)
    received = [(row.message, row.process) for row in trace if row.kind == "receive"]
    assert len(received) == len(set(received)) == 5000


PARTITION = {"start_s": 2.0, "end_s": 6.0, "sides": [[0, 1], [2]]}


def across(trace: list[Row]) -> tuple[list[Row], list[Row]]:
    """Receptions of what was sent across during the partition, and all other receptions."""
    sent = {row.message: row.time for row in trace if row.kind == "send"}
    cut: list[Row] = []
    other: list[Row] = []
    for row in trace:
        if row.kind == "receive":
            separated = {row.message[0], row.process} in ({0, 2}, {1, 2})
            (cut if separated and 2.0 <= sent[row.message] < 6.0 else other).append(row)
    return cut, other


@pytest.mark.parametrize("packets", ["held", "lost"])
def test_a_partition_holds_or_loses_what_is_sent_across_and_heals(
    tmp_path: Path, packets: str
) -> None:
    network = {"delay": "constant:0.5", "partitions": [{**PARTITION, "packets": packets}]}
    fields = {**UNICAST, "processes": 4, "messages": 400, "rate": 10.0, "network": network}
    summary, trace = run(tmp_path, **fields)
    cut, other = across(trace)
    sent = {row.message: row.time for row in trace if row.kind == "send"}
    assert all(row.time == pytest.approx(sent[row.message] + 0.5) for row in other)
    assert any(row.process == 2 and row.message[0] == 0 and row.time > 7.0 for row in other)
    if packets == "held":
        assert cut
        assert all(row.time == pytest.approx(6.5) for row in cut)
        assert summary.undelivered == 0
    else:
        assert not cut
        assert summary.undelivered > 0


def test_a_single_side_is_cut_off_from_everybody(tmp_path: Path) -> None:
    partition = {"start_s": 0.0, "end_s": 1000.0, "sides": [[1]], "packets": "lost"}
    network = {"partitions": [partition]}
    _, trace = run(tmp_path, **UNICAST, processes=4, messages=300, network=network)
    received = {(row.message[0], row.process) for row in trace if row.kind == "receive"}
    assert received == {(p, q) for p in (0, 2, 3) for q in (0, 2, 3) if p != q}


@pytest.mark.parametrize(
    ("sides", "lost"), [([[1]], {(1, 0), (1, 2)}), ([[2], [0]], {(2, 0)})], ids=str
)
def test_a_cut_of_one_direction_lets_the_other_through(
    sides: list[list[int]], lost: set[tuple[int, int]], tmp_path: Path
) -> None:
    cut = {"start_s": 0.0, "end_s": 1000.0, "sides": sides, "packets": "lost", "one_way": True}
    _, trace = run(tmp_path, **UNICAST, processes=3, messages=200, network={"partitions": [cut]})
    received = {(row.message[0], row.process) for row in trace if row.kind == "receive"}
    assert {(p, q) for p in range(3) for q in range(3) if p != q} - received == lost


def test_partitions_one_after_the_other_hold_a_packet_until_the_last_heals(tmp_path: Path) -> None:
    partitions = [
        {"start_s": 0.0, "end_s": 5.0, "sides": [[0], [1]]},
        {"start_s": 4.0, "end_s": 9.0, "sides": [[0], [1]]},
    ]
    network = {"delay": "constant:1", "partitions": partitions}
    _, trace = run(tmp_path, **UNICAST, processes=2, messages=40, network=network)
    assert {row.time for row in trace if row.kind == "receive" and row.time < 10.0} == set()


def test_a_crashed_process_does_nothing_and_what_it_sent_still_arrives(tmp_path: Path) -> None:
    fields = {**UNICAST, "processes": 3, "messages": 300, "network": {"delay": "constant:0.5"}}
    summary, trace = run(tmp_path, **fields, crashes=[{"process": 1, "time_s": 3.0}])
    (crash,) = [index for index, row in enumerate(trace) if row.kind == "crash"]
    assert trace[crash].process == 1
    assert trace[crash].time == 3.0
    assert any(row.process == 1 for row in trace[:crash])
    assert not any(row.process == 1 for row in trace[crash + 1 :])
    assert any(row.message[0] == 1 and row.kind == "deliver" for row in trace[crash + 1 :])
    assert summary.undelivered > 0
