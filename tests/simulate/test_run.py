"""What a run does, records and sums up."""

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from antecede.errors import BrokenInvariant, Misuse
from antecede.message import Message, MessageId
from antecede.order import Deliver, Effect, Packet, Transmit, Wake
from antecede.orders.none import EMPTY, Unordered
from antecede.simulate import Scenario, make_scenario, simulate
from antecede.trace import read_metadata, read_trace
from antecede.verify import judge
from tests.simulate.traces import delays, rows, run

CASCADE = {"processes": 5, "messages": 300, "workload": {"kind": "broadcast", "cascade": 0.2}}


def scenario(**fields: Any) -> Scenario:
    return make_scenario({"protocol": "none", "processes": 4, "messages": 100, **fields})


def test_none_violates_where_causality_matters_and_vector_does_not() -> None:
    unordered = simulate(make_scenario({"protocol": "none", **CASCADE}))
    ordered = simulate(make_scenario({"protocol": "vector", **CASCADE}))
    assert unordered.violations is not None
    assert unordered.violations > 100
    assert ordered.violations == 0
    assert ordered.undelivered == unordered.undelivered == 0


def test_the_summary_agrees_with_the_trace(tmp_path: Path) -> None:
    fields = {**CASCADE, "network": {"loss": 0.02, "duplication": 0.1}}
    summary, trace = run(tmp_path, protocol="none", **fields)
    verdict = judge(read_trace(tmp_path / "run.parquet").runs[0])
    assert summary.messages == verdict.messages == 300
    assert summary.deliveries == verdict.deliveries
    assert summary.violations == verdict.violations
    assert summary.undelivered == verdict.undelivered > 0
    assert summary.rows == len(trace)
    found = list(delays(trace, "deliver").values())
    assert summary.delay_s.mean == pytest.approx(sum(found) / len(found))
    assert summary.delay_s.maximum == pytest.approx(max(found))
    assert summary.delay_s.p99 == pytest.approx(sorted(found)[-(-99 * len(found) // 100) - 1])


def test_hold_back_and_queue_are_those_of_the_trace(tmp_path: Path) -> None:
    summary, trace = run(tmp_path, protocol="vector", processes=5, messages=200, rate=50.0)
    received = delays(trace, "receive")
    holds = [delay - received[copy] for copy, delay in delays(trace, "deliver").items()]
    assert summary.hold_s.mean == pytest.approx(sum(holds) / len(holds))
    assert summary.hold_s.maximum == pytest.approx(max(holds))
    waiting = [0] * 5
    peak = 0
    for index, row in enumerate(trace):
        if row.process != row.message[0]:
            waiting[row.process] += {"receive": 1, "deliver": -1}.get(row.kind, 0)
            settled = index + 1 == len(trace) or trace[index + 1].time > row.time
            peak = max(peak, waiting[row.process] if settled else 0)
    assert summary.peak_queue == peak > 3


def test_the_scenario_is_stored_with_the_trace(tmp_path: Path) -> None:
    given = scenario(seed=11)
    simulate(given, tmp_path / "trace")
    stored = read_metadata(tmp_path / "trace")["scenario"]
    assert Scenario.model_validate_json(stored) == given


def test_an_output_that_exists_is_refused_without_force(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    simulate(scenario(), path)
    with pytest.raises(Misuse, match="exists already"):
        simulate(scenario(seed=2), path)
    simulate(scenario(seed=2), path, force=True)


def test_progress_is_told() -> None:
    told: list[int] = []
    simulate(scenario(processes=40, messages=1500), progress=told.append)
    assert told
    assert told == sorted(told)


class Twice(Unordered):
    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        return super().receive(packet, now) * 2


class Astray(Unordered):
    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        wrong = Message(MessageId(packet.source, 1), 1 << packet.source)
        return [Deliver(wrong)]


@pytest.mark.parametrize(
    ("order", "expected"),
    [(Twice, "delivers it twice"), (Astray, "is none of its destinations")],
)
def test_a_protocol_that_delivers_wrongly_is_caught_and_leaves_no_trace(
    tmp_path: Path, order: type[Unordered], expected: str
) -> None:
    with pytest.raises(BrokenInvariant, match=expected):
        simulate(scenario(), tmp_path / "trace", order_type=order)
    assert list(tmp_path.iterdir()) == []


class Restless(Unordered):
    """Sends nothing but control packets, every second and for ever."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        return [Wake(now + 1.0), Wake(now + 1.0)]

    def wake(self, now: float) -> list[Effect]:
        return [Wake(now + 1.0), Transmit(Packet(self.process, None, EMPTY), 0b1110)]


def test_timers_are_kept_and_a_run_ends_although_they_go_on() -> None:
    fields = {"messages": 1, "patience_s": 20.0, "network": {"delay": "constant:0.1"}}
    sender_only = {**fields, "workload": {"kind": "unicast"}, "processes": 4, "rate": 1000.0}

    class Quiet(Restless):
        def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
            return []

    summary = simulate(scenario(**sender_only), order_type=Quiet)
    assert summary.undelivered == 1
    assert summary.control_packets == 3 * 21
    assert summary.control_bytes == summary.control_packets
    assert 20.0 < summary.virtual_s < 24.0


class Late(Unordered):
    """Transmits a second after the send, to all at once."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.waiting = [*getattr(self, "waiting", []), message]
        return [Wake(now + 1.0)]

    def wake(self, now: float) -> list[Effect]:
        message = self.waiting.pop(0)
        return [Transmit(Packet(self.process, message, EMPTY), message.destinations)]


def test_a_copy_that_is_transmitted_later_meets_the_same_delay(tmp_path: Path) -> None:
    given = scenario(workload={"kind": "multicast", "size": 2}, rate=0.1)
    simulate(given, tmp_path / "prompt")
    simulate(given, tmp_path / "late", order_type=Late)
    prompt = delays(list(rows(tmp_path / "prompt")), "receive")
    late = delays(list(rows(tmp_path / "late")), "receive")
    assert prompt.keys() == late.keys()
    assert all(late[copy] == pytest.approx(delay + 1.0) for copy, delay in prompt.items())


def test_what_arrives_inside_another_packet_is_received_just_before_its_delivery(
    tmp_path: Path,
) -> None:
    fields: dict[str, Any] = {"processes": 4, "messages": 200, "workload": {"kind": "unicast"}}
    _, direct = run(tmp_path, protocol="none", **fields)
    summary, trace = run(tmp_path, protocol="piggyback", **fields)
    assert summary.violations == 0
    carried_s, direct_s = delays(trace, "receive"), delays(direct, "receive")
    carried = {copy for copy, delay_s in carried_s.items() if delay_s < direct_s[copy]}
    assert carried
    for before, row in pairwise(trace):
        if row.kind == "deliver" and (row.message, row.process) in carried:
            assert before == row._replace(kind="receive")


MEMORY = """
import resource, sys
import antecede.simulate
from antecede.simulate import make_scenario, simulate
antecede.simulate.VIOLATIONS_LIMIT = 0  # the oracle needs memory, and says so
fields = dict(protocol="none", processes=8, messages=int(sys.argv[1]), rate=100.0)
simulate(make_scenario(fields), sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_length_of_a_run(tmp_path: Path) -> None:
    peak_kib = []
    for messages in (20_000, 60_000):
        arguments = [str(messages), str(tmp_path / f"{messages}.parquet")]
        outcome = subprocess.run(
            [sys.executable, "-c", MEMORY, *arguments], check=True, capture_output=True
        )
        peak_kib.append(int(outcome.stdout))
    # The longer run has 640,000 rows more: 27 MB if they were only kept as they are packed.
    assert peak_kib[1] - peak_kib[0] < 12 * 1024


def test_a_killed_run_leaves_nothing_that_looks_like_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    program = f"""
from antecede.simulate import make_scenario, simulate
scenario = make_scenario(dict(protocol="none", processes=8, messages=10_000_000))
simulate(scenario, {str(path)!r}, progress=lambda sent: print("going", flush=True))
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    assert not path.exists()
    assert not list(tmp_path.glob("*.parquet"))


def test_a_summary_is_plain_data() -> None:
    summary = simulate(scenario())
    plain = json.loads(json.dumps(summary.as_dict()))
    assert plain["delay_s"] == summary.delay_s._asdict()
    assert plain["messages"] == 100
