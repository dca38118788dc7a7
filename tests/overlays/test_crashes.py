"""Routers that crash: what is owed all the same, and who delivers it."""

import pytest

from antecede.fuzzing.judging import judge
from antecede.simulate import Scenario, make_scenario
from antecede.simulate.duty import Duty, duty


def scenario(topology: str, crashed: list[str], seed: int = 1, **options: str) -> Scenario:
    return make_scenario(
        {
            "protocol": "separators",
            "topology": topology,
            "options": options,
            "messages": 80,
            "rate": 5.0,
            "seed": seed,
            "workload": {"kind": "unicast", "cascade": 0.4},
            "crashes": [{"process": one, "time_s": 0.3} for one in crashed],
        }
    )


TWINS = "tree:2,2,2,2"
MESH = "ring:4,2,2"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("topology", "crashed", "routes"),
    [
        (TWINS, ["o1.r1"], "direct"),
        (TWINS, ["o1.r2", "o2.d1.r1"], "tree"),
        (TWINS, ["o1.r1", "o2.d1.r1"], "flood"),
        (MESH, ["b1.g1"], "flood"),
    ],
)
def test_where_all_forward_a_router_may_crash(
    topology: str, crashed: list[str], routes: str, seed: int
) -> None:
    run = scenario(topology, crashed, seed, routes=routes, forwarding="all")
    assert run.traits.survives_crashes
    assert duty(run) is Duty.SURVIVORS
    assert judge(run).failure is None


@pytest.mark.parametrize("routes", ["direct", "flood"])
def test_where_one_forwards_what_is_lost_is_owed(routes: str) -> None:
    run = scenario(TWINS, ["o1.r1"], routes=routes, forwarding="one")
    assert not run.traits.survives_crashes
    failure = judge(run).failure
    assert failure is not None
    assert failure.kind == "undelivered"


@pytest.mark.parametrize(
    ("topology", "crashed", "routes"),
    [
        (TWINS, ["o1.r1", "o1.r2"], "direct"),
        (TWINS, ["wan"], "flood"),
        (MESH, ["b1.g1"], "direct"),
        (MESH, ["b1.g1", "b1.g2"], "flood"),
    ],
)
def test_nothing_is_owed_where_a_whole_set_is_gone(
    topology: str, crashed: list[str], routes: str
) -> None:
    run = scenario(topology, crashed, routes=routes, forwarding="all")
    assert duty(run) is Duty.NOTHING


def test_a_crashed_application_takes_nobody_along() -> None:
    run = scenario(TWINS, ["p0"], forwarding="one")
    assert duty(run) is Duty.SURVIVORS
    assert judge(run).failure is None
