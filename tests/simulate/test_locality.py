"""Traffic that stays near: by the levels of a topology, by links where it has none; and processes
that talk to their neighbours alone."""

from collections import Counter
from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.message import members
from antecede.simulate import Scenario, make_scenario, simulate
from antecede.simulate.workload import traffic_of


def scenario(topology: str, local: float | None = None, **fields: Any) -> Scenario:
    workload = {"kind": "unicast"} | ({} if local is None else {"local": local})
    plain = {"protocol": "none", "topology": topology, "messages": 4000, "workload": workload}
    return make_scenario(plain | fields)


def sends(made: Scenario) -> list[tuple[int, list[int]]]:
    return [(one.process, list(members(one.destinations))) for one in traffic_of(made).opening()]


def shares(made: Scenario) -> dict[int, float]:
    """How often a message and its sender have so many levels in common."""
    deployment = made.deployment
    assert deployment is not None
    zones = [zone.split("/")[:-1] for zone in deployment.topology.zones[: deployment.applications]]
    counts: Counter[int] = Counter()
    for process, (to,) in sends(made):
        counts[sum(a == b for a, b in zip(zones[process], zones[to], strict=True))] += 1
    return {common: count / counts.total() for common, count in counts.items()}


def test_each_level_keeps_its_share() -> None:
    """Departments of 4 in organisations of 12: 0.9 stay in the first; of the rest 0.9 stay in the
    second, where 3 of 11 others are of the same department; and so on."""
    found = shares(scenario("tree:2,3,4", 0.9))
    assert found[2] == pytest.approx(0.9 + 0.09 * 3 / 11 + 0.01 * 3 / 23, abs=0.02)
    assert found[1] == pytest.approx(0.09 * 8 / 11 + 0.01 * 8 / 23, abs=0.02)
    assert found[0] == pytest.approx(0.01 * 12 / 23, abs=0.01)


def test_without_locality_the_traffic_is_what_it_was() -> None:
    assert sends(scenario("tree:2,3,4", 0.0)) == sends(scenario("tree:2,3,4"))
    assert sends(scenario("tree:2,3,4")) == sends(
        make_scenario(
            {
                "protocol": "none",
                "processes": 24,
                "messages": 4000,
                "workload": {"kind": "unicast"},
            }
        )
    )


@pytest.mark.parametrize(("topology", "furthest"), [("Abilene", 1), ("internet:12,3", 3)])
def test_where_there_are_no_levels_links_say_who_is_near(topology: str, furthest: int) -> None:
    made = scenario(topology, 1.0, processes=22)
    assert made.deployment is not None
    network = made.deployment.topology
    for process, (to,) in sends(made):
        ball = 1 << process
        for _ in range(furthest + 2):  # and to the server, and from it
            for node in list(members(ball)):
                ball |= network.neighbours[node]
        assert ball >> to & 1


def test_a_multicast_that_is_too_large_for_its_part_takes_the_next_one() -> None:
    workload = {"kind": "multicast", "local": 1.0}
    made = scenario("tree:2,3,4", workload={**workload, "size": 5})
    assert all(
        len(to) == 5 and {one // 12 for one in to} == {process // 12} for process, to in sends(made)
    )
    made = scenario("tree:2,3,4", workload={**workload, "probability": 0.5})
    assert all({one // 4 for one in to} == {process // 4} for process, to in sends(made))


@pytest.mark.parametrize("workload", [{"kind": "unicast"}, {"kind": "multicast", "size": 3}])
def test_histories_with_r9_talk_to_neighbours(workload: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"protocol": "histories", "messages": 400}
    fields["options"] = {"rules": "R1-R9"}
    made = scenario("tree:2,2,2", workload=workload, **fields)
    assert made.process_names[:2] == ["wan", "o1.r1"]
    neighbours = made.neighbours
    assert neighbours is not None
    for process, to in sends(made):
        assert all(neighbours[process] >> one & 1 for one in to)
    summary = simulate(made)
    assert (summary.undelivered, summary.violations) == (0, 0)
    links = made.order_options.links  # type: ignore[attr-defined]
    fields["options"] = {"rules": "R1-R9", "links": links}
    unseparated = make_scenario(
        {**fields, "processes": len(made.process_names), "workload": workload}
    )
    assert sends(unseparated) == sends(made)
    plain = simulate(unseparated)
    if workload["kind"] == "unicast":  # what goes to all neighbours lies ahead of no separator
        assert summary.stamp_entries.mean < plain.stamp_entries.mean


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"workload": {"kind": "broadcast"}}, "'broadcast' goes beyond neighbours.*'unicast'"),
        ({"processes": 4}, "the 11 nodes of Abilene are the processes"),
        ({"attach": ["Denver"]}, "the 11 nodes of Abilene are the processes"),
        ({"options": {"rules": "R1-R9", "separators": []}}, r"drop the options \['separators'\]"),
    ],
)
def test_what_neighbours_cannot_have(fields: dict[str, Any], match: str) -> None:
    options = {"rules": "R1-R9"}
    with pytest.raises(Misuse, match=match):
        scenario("Abilene", **{"protocol": "histories", "options": options, **fields})


def test_locality_needs_a_topology() -> None:
    with pytest.raises(Misuse, match=r"workload\.local: is for the parts of a topology"):
        make_scenario(
            {"protocol": "none", "processes": 3, "workload": {"kind": "unicast", "local": 0.9}}
        )
