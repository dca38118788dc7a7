"""Processes whose clocks differ: a protocol sees the clock of its own process alone."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from antecede.errors import Misuse
from antecede.message import Message, ProcessSet
from antecede.order import Effect, Packet, Transmit, Wake
from antecede.orders.none import EMPTY, Unordered
from antecede.simulate import Scenario, load_scenario, make_scenario, simulate
from antecede.simulate.clocks import Clocks
from tests.simulate.traces import delays, rows

APART = [0.0, 3.25, 1e6 + 0.1, 71.3]


def scenario(**fields: Any) -> Scenario:
    return make_scenario({"protocol": "vector", "processes": 4, "messages": 200, **fields})


@pytest.mark.parametrize("protocol", ["vector", "matrix", "histories"])
def test_a_protocol_without_timers_does_the_same_by_any_clock(
    tmp_path: Path, protocol: str
) -> None:
    fields: dict[str, Any] = {"protocol": protocol, "rate": 50.0, "network": {"duplication": 0.1}}
    simulate(scenario(**fields), tmp_path / "right")
    simulate(scenario(**fields, clocks=APART), tmp_path / "apart")
    assert list(rows(tmp_path / "right")) == list(rows(tmp_path / "apart"))


class ByItsClock(Unordered):
    """Transmits 2.5 s after the send, as its own clock shows them."""

    seen: ClassVar[list[tuple[int, float, float]]] = []
    """By process: for when it had asked, and what its clock showed when it was woken."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.waiting: list[tuple[float, Message]] = []

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.waiting.append((now + 2.5, message))
        return [Wake(now + 2.5)]

    def wake(self, now: float) -> list[Effect]:
        at, message = self.waiting.pop(0)
        self.seen.append((self.process, at, now))
        return [Transmit(Packet(self.process, message, EMPTY), message.destinations)]


def test_a_process_is_woken_when_its_own_clock_shows_the_time(tmp_path: Path) -> None:
    workload = {"kind": "multicast", "size": 2}
    given = scenario(protocol="none", rate=1.0, workload=workload, clocks=APART)
    simulate(given, tmp_path / "prompt")
    ByItsClock.seen = []
    simulate(given, tmp_path / "late", order_type=ByItsClock)
    assert len(ByItsClock.seen) == 200
    for process, at, now in ByItsClock.seen:
        assert APART[process] < at <= now < at + 1e-6
    prompt = delays(list(rows(tmp_path / "prompt")), "receive")
    late = delays(list(rows(tmp_path / "late")), "receive")
    assert prompt.keys() == late.keys()
    assert all(late[copy] == pytest.approx(delay + 2.5) for copy, delay in prompt.items())


class Eager(Unordered):
    """Asks to be woken at once, and again until its clock shows what it has waited for."""

    wakes = 0

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.due = now + 0.3
        return [*super().send(message, now), Wake(now - 5.0), Wake(self.due)]

    def wake(self, now: float) -> list[Effect]:
        type(self).wakes += 1
        return [Wake(self.due)] if now < self.due else []


@pytest.mark.parametrize("ahead_s", [0.1, 33.3, 1e8])
def test_what_is_due_by_a_clock_comes_though_times_are_rounded(ahead_s: float) -> None:
    Eager.wakes = 0
    clocks = [ahead_s] * 4
    summary = simulate(scenario(protocol="none", clocks=clocks), order_type=Eager)
    assert summary.undelivered == 0
    assert 200 <= Eager.wakes <= 1200


def test_no_clock_goes_back() -> None:
    clocks = Clocks(scenario(clocks=[1e6 + 0.1]))
    at = 1e6 + 0.1 + 1 / 3
    due = clocks.due(0, at)
    assert clocks.shown(0, due, at) >= at
    assert clocks.shown(0, due) >= at
    assert clocks.shown(0, due + 1.0) == pytest.approx(at + 1.0)
    assert clocks.shown(1, due) == due


class Told(Unordered):
    """Remembers what its clock showed when it asked to be let in."""

    joined: ClassVar[dict[int, float]] = {}

    def join(self, now: float = 0.0, talks_with: ProcessSet = 0) -> list[Effect]:
        self.joined[self.process] = now
        return []


def test_whoever_comes_back_has_the_clock_that_it_had() -> None:
    crashes = [{"process": 1, "time_s": 0.5, "back_s": 2.0}]
    joins = [{"process": 3, "time_s": 1.0}]
    given = scenario(protocol="daisy", crashes=crashes, joins=joins, clocks=[0.0, 50.0, 0.0, 7.0])
    Told.joined = {}
    simulate(given, order_type=Told)
    assert Told.joined == {3: 8.0, 4: 52.0}


def test_a_file_has_them(tmp_path: Path) -> None:
    file = tmp_path / "apart.toml"
    file.write_text(scenario(clocks=APART).to_toml(), "utf-8")
    assert load_scenario(file).clocks == APART


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"clocks": [0.0] * 5}, "clocks: has 5 clocks for 4 processes"),
        ({"clocks": [0.0, -1.0]}, "clocks[1]: input should be greater than or equal to 0"),
        ({"clocks": [1e9]}, "clocks[0]: input should be less than or equal to 1"),
        (
            {"protocol": "histories", "clocks": [1.0], "fully_delivered": {"kind": "evidence"}},
            "fully_delivered: goes with clocks that are right; drop clocks",
        ),
    ],
)
def test_clocks_that_cannot_be_are_refused(fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(Misuse) as caught:
        scenario(**fields)
    assert str(caught.value).startswith(expected)
