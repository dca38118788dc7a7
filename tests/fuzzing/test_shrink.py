"""Shrinking: to something smaller, or to the same thing, and always to something that fails."""

from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.fuzzing import Failure, draw, judge, shrink
from antecede.fuzzing.shrinking import plain
from antecede.fuzzing.simpler import RESPECTS
from antecede.order import Order
from antecede.orders.none import Unordered
from antecede.orders.vector import Vector
from antecede.protocols import names
from antecede.simulate import Scenario, load_scenario, make_scenario

EVERYTHING = {
    "protocol": "bounded",
    "processes": 6,
    "messages": 80,
    "seed": 77,
    "rate": 30.0,
    "payload_bytes": 8,
    "options": {"k": [6, 7, 8, 9, 10, 11]},
    "groups": [[0, 1, 2], [2, 3, 4, 5], [5, 0]],
    "workload": {"kind": "groups", "cascade": 0.3},
    "network": {
        "delay": "lognormal:0.05,1.5",
        "duplication": 0.1,
        "links": [{"from": [4], "to": [5], "delay": "constant:1"}],
        "partitions": [{"start_s": 0.1, "end_s": 0.4, "sides": [[1, 2]]}],
    },
    "crashes": [{"process": 3, "time_s": 5.0}],
}


class Hasty(Unordered):
    """Says that it keeps causal order, and does not."""

    traits = Vector.traits


def shrunk(scenario: Scenario, order: type[Order]) -> Scenario:
    failure = judge(scenario, order).failure
    assert failure is not None
    found = shrink(scenario, failure, order, most_runs=1_000)
    assert judge(found.scenario, order).failure == found.failure
    assert found.failure.kind == failure.kind
    return found.scenario


def test_nothing_is_left_but_what_it_takes() -> None:
    """Two messages of one process to another, of which the second comes first."""
    smallest = shrunk(make_scenario(EVERYTHING), Hasty)
    seed = smallest.seed
    expected = {"protocol": "bounded", "processes": 2, "messages": 2, "seed": seed}
    assert smallest == make_scenario(expected)


class OnlyWithRouters(Unordered):
    """Fails if there are more processes than applications can be."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        if self.membership.size > 3:
            raise RuntimeError("too many")


def test_topologies_get_smaller() -> None:
    fields = {"protocol": "separators", "topology": "tree:2,2,2", "messages": 20}
    smallest = shrunk(make_scenario(fields), OnlyWithRouters)
    assert smallest.messages == 1
    assert smallest.membership.size == 4


def test_what_does_not_fail_stays_as_it_is() -> None:
    scenario = make_scenario(EVERYTHING)
    found = shrink(scenario, Failure("early", "no"), most_runs=20)
    assert found.scenario == scenario
    assert found.runs == 20


@pytest.mark.parametrize("protocol", names())
def test_simpler_scenarios_are_scenarios(protocol: str) -> None:
    """A candidate that is none is dropped in silence, so there must not be many."""
    made = tried = 0
    for seed in range(1, 13):
        fields = plain(draw(protocol, seed))
        for respect in RESPECTS:
            for candidate, _ in respect(fields):
                tried += 1
                try:
                    make_scenario(candidate)
                except Misuse:
                    continue
                made += 1
    assert made >= 0.9 * tried


def test_a_file_replays_it(tmp_path: Any) -> None:
    for seed in range(1, 40):
        scenario = draw("separators", seed)
        file = tmp_path / f"{seed}.toml"
        file.write_text(scenario.to_toml(), encoding="utf-8")
        assert load_scenario(file) == scenario
