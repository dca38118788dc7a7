"""Processes that come for the first time while a run goes on."""

from typing import Any

import numpy as np
import pytest

from antecede.errors import Misuse
from antecede.fuzzing import judge
from antecede.message import Membership
from antecede.order import Effect, Options, Packet
from antecede.overlays.daisy import Daisy
from antecede.simulate import Scenario, load_scenario, make_scenario, simulate
from antecede.trace import read_trace
from antecede.trace.schema import APP, JOIN, SEND
from antecede.verify.holes import find_holes

JOINS = [
    {"process": 8, "time_s": 1.5, "talks_with": [0, "p1"]},
    {"process": "p7", "time_s": 3.0},
]


def growing(**fields: Any) -> Scenario:
    workload = {"kind": "multicast", "size": 3, "cascade": 0.2}
    data = {"protocol": "daisy", "processes": 9, "messages": 120, "rate": 1.0, "seed": 3}
    return make_scenario({**data, "workload": workload, "joins": JOINS, **fields})


def test_newcomers_take_part_once_they_are_in(tmp_path: Any) -> None:
    scenario = growing(network={"loss": 0.1}, messages=240)
    summary = simulate(scenario, tmp_path / "run.parquet")
    assert (summary.failure, summary.undelivered, summary.violations) == (None, 0, 0)
    assert [told for told in summary.notices if "comes" in told] == [
        "1.500 s: p8 comes",
        "3.000 s: p7 comes",
    ]
    [run] = read_trace(tmp_path / "run.parquet").runs
    assert find_holes(run) == []
    events = run.events
    start = events.destination_start
    for process, time_s in ((8, 1.5), (7, 3.0)):
        [joined] = np.flatnonzero((events.kind == JOIN) & (events.process == process))
        assert events.time[joined] > time_s
        sends = np.flatnonzero((events.kind == SEND) & (events.layer == APP)).tolist()
        to = {one: set(events.destination[start[one] : start[one + 1]].tolist()) for one in sends}
        own = [one for one in sends if events.process[one] == process]
        addressed = [one for one in sends if process in to[one]]
        assert own
        assert addressed
        assert min(own + addressed) > joined


def test_one_seed_explains_a_run_with_newcomers(tmp_path: Any) -> None:
    for name in ("a", "b"):
        simulate(growing(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_scenario_file_has_them(tmp_path: Any) -> None:
    file = tmp_path / "growing.toml"
    file.write_text(growing().to_toml(), "utf-8")
    assert load_scenario(file).newcomers == growing().newcomers
    assert growing().newcomers[0].talks_with == 0b11
    assert growing().order_options.latecomers == (8, 7)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("talks_with", "group"), [([0, 1], 0), ([5, 3, 1], 1), ([], 0), ([6], 2)])
def test_a_newcomer_lives_in_the_group_of_those_whom_it_talks_with(
    talks_with: list[int], group: int
) -> None:
    """In a daisy: here it is the first of all, and would be in group 0 else."""
    joins = [{"process": 8, "time_s": 1.5, "talks_with": talks_with}]
    scenario = growing(joins=joins, options={"groups": [[0, 1, 2], [3, 4, 5], [6, 7]]})
    summary = simulate(scenario)
    assert summary.failure is None
    grown = [told for told in summary.notices if "view 2" in told and "p8" in told]
    assert [f"group {group}" in told for told in grown] == [True]


def test_a_newcomer_may_crash_and_come_back() -> None:
    scenario = growing(crashes=[{"process": 7, "time_s": 5.0, "back_s": 6.0}])
    assert scenario.process_names[-1] == "p7'"
    assert judge(scenario).failure is None


class Inhospitable(Daisy):
    """Asks for nothing when it comes."""

    def join(self, now: float = 0.0, talks_with: int = 0) -> list[Effect]:
        return []


def test_who_is_never_let_in_is_a_failure() -> None:
    failure = judge(growing(patience_s=5.0), Inhospitable).failure
    assert failure is not None
    assert (failure.kind, failure.sentence) == ("outside", "p8 came at 1.5 s and is never in")


@pytest.mark.parametrize(("talks_with", "failure"), [([0, 1], "outside"), ([3, 4], None)])
def test_a_group_that_has_stopped_excuses_its_own_newcomers_alone(
    talks_with: list[int], failure: str | None
) -> None:
    """Most of group 1 has died, so one of it stops; nobody who asks for group 0 is let in."""

    class Asleep(Daisy):
        def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
            is_from_newcomer = packet.source == 8 and self.process < 3
            return [] if is_from_newcomer else super().receive(packet, now)

    scenario = growing(
        joins=[{"process": 8, "time_s": 1.5, "talks_with": talks_with}],
        crashes=[{"process": 3, "time_s": 0.5}, {"process": 4, "time_s": 0.5}],
        options={"groups": [[0, 1, 2], [3, 4, 5], [6, 7]]},
        patience_s=90.0,
    )
    found = judge(scenario, Asleep).failure
    assert (found and found.kind) == failure


def test_the_protocol_is_told_whom_a_newcomer_talks_with() -> None:
    told: dict[int, int] = {}

    class Asking(Daisy):
        def __init__(
            self, process: int, membership: Membership, options: Options | None = None
        ) -> None:
            super().__init__(process, membership, options)

        def join(self, now: float = 0.0, talks_with: int = 0) -> list[Effect]:
            told[self.process] = talks_with
            return super().join(now, talks_with)

    simulate(growing(), order_type=Asking)
    assert told == {8: 0b11, 7: 0}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"protocol": "vector"}, "joins: vector takes no newcomers; leave it out"),
        ({"joins": [{"process": 9, "time_s": 1.0}]}, r"joins\[0\].process: there is no process 9"),
        ({"joins": JOINS[:1] * 2}, r"joins\[1\].process: 8 comes twice; drop one"),
        (
            {"processes": 2, "joins": [{"process": p, "time_s": 1.0} for p in (0, 1)]},
            "joins: all 2 processes come later; leave somebody out",
        ),
        (
            {"crashes": [{"process": 8, "time_s": 1.0}]},
            r"crashes\[0\].time_s: is 1, and the process comes at 1.5 s",
        ),
        (
            {"joins": [{"process": 8, "time_s": 1.0, "talks_with": ["p99"]}]},
            r"joins\[0\].talks_with: there is no process 'p99'",
        ),
    ],
)
def test_mistakes_are_told(fields: dict[str, Any], words: str) -> None:
    fields = {"workload": {"kind": "broadcast"}, **fields}
    with pytest.raises(Misuse, match=words):
        growing(**fields)
