"""Routers that crash: what is owed all the same, and who delivers it."""

from random import Random
from typing import Any

import pytest

from antecede.fuzzing.judging import judge
from antecede.message import Membership
from antecede.order import Order
from antecede.overlays.separators import Separators, SeparatorsOptions
from antecede.simulate import Scenario, make_scenario, simulate
from antecede.simulate.duty import Duty, duty, owed_of
from tests.mutants import Mutant, mutated
from tests.overlays.lab import Lab
from tests.overlays.networks import TWIN_PATH, TWIN_STAR, size_of
from tests.overlays.search import run_changing


def scenario(topology: str, crashed: list[str], seed: int = 1, **options: object) -> Scenario:
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


def test_the_traits_say_under_which_options_a_router_may_crash() -> None:
    assert not Separators.traits.survives_crashes
    for under in Separators.traits.crashes_under:
        given: dict[str, Any] = {}
        for one in under.split():
            name, value = one.split("=")
            given[name] = {"true": True, "1": 1.0}.get(value, value)
        assert scenario(TWINS, ["o1.r1"], **given).traits.survives_crashes, under


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


@pytest.mark.parametrize(
    ("routes", "more"), [("flood", {}), ("shortest", {"write_ahead": True, "tidy": 4})]
)
def test_who_watches_sends_again_round_a_router_that_has_crashed(
    routes: str, more: dict[str, object]
) -> None:
    for seed in range(2):
        run = scenario(MESH, ["b1.g1"], seed, routes=routes, suspect_after_s=2.0, **more)
        assert run.traits.survives_crashes
        assert judge(run).failure is None


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("crashed", [["o1.r1"], ["o1.r2", "o2.d1.r1"]])
def test_another_of_the_set_takes_over(crashed: list[str], seed: int) -> None:
    run = scenario(TWINS, crashed, seed, suspect_after_s=2.0)
    assert run.traits.survives_crashes
    assert judge(run).failure is None


@pytest.mark.parametrize("routes", ["flood", "shortest"])
def test_a_run_ends_although_something_is_never_delivered(routes: str) -> None:
    """Word that somebody lives is no progress."""
    run = scenario(TWINS, ["wan"], routes=routes, suspect_after_s=2.0)
    assert judge(run.model_copy(update={"patience_s": 5.0})).failure is None


def take_over(seed: int, make: type[Order] = Separators) -> str:
    """Random traffic through sets of two routers, one of which crashes."""
    chance = Random(seed)
    zones, applications = chance.choice([(TWIN_STAR, 3), (TWIN_PATH, 2)])
    size = size_of(zones)
    options = SeparatorsOptions(
        zones=zones, applications=applications, suspect_after_s=1.0, tidy=chance.choice([1, 3])
    )
    orders = [make(process, Membership(size), options) for process in range(size)]
    crashed = [chance.choice([3, 4])] if zones is TWIN_STAR else chance.choice([[2], [3, 4], [5]])
    return Lab(orders, range(applications), chance).run(10, crashed)


def test_random_traffic_while_others_take_over() -> None:
    assert [seed for seed in range(60) if take_over(seed)] == []


TAKING_OVER = [
    Mutant(
        name="forgets-what-has-passed",
        old="            self.state.kept.append((message, entrance, message.destinations))",
        new="            pass",
    ),
    Mutant(
        name="copies-pass",
        old='if self.options.forwarding == "all" or self.options.suspect_after_s:',
        new='if self.options.forwarding == "all":',
    ),
    Mutant(
        name="nobody-takes-over",
        old="        self._tree.gone = self.state.gossip.gone\n        new",
        new="        new",
    ),
]


@pytest.mark.parametrize("mutant", TAKING_OVER, ids=lambda mutant: mutant.name)
def test_a_bug_planted_in_the_failover_is_found(mutant: Mutant) -> None:
    broken = mutated("separators", mutant)
    assert any(take_over(seed, broken) for seed in range(100))


def test_random_networks_whose_routers_crash() -> None:
    for seed in range(40):
        assert run_changing(seed) == ""
        assert run_changing(seed, routes="flood") == ""


PLANTED = [
    Mutant(
        name="sends-nothing-again",
        old="        for id_ in sorted(self.state.kept):\n            one = self.state.kept[id_]",
        new="        for id_ in ():\n            one = self.state.kept[id_]",
    ),
    Mutant(
        name="keeps-the-old-ways",
        old="        self.state.facts.gone |= gone\n        self.ways = self._gossip.ways\n",
        new="        self.state.facts.gone |= gone\n",
    ),
    Mutant(
        name="waits-for-those-who-are-cut-off",
        old="for member in members(core.regions.border[region] & core.ways.reached)",
        new="for member in members(core.regions.border[region] & ~(1 << core.process))",
    ),
]


@pytest.mark.parametrize("mutant", PLANTED, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    broken = mutated("separators", mutant)
    assert any(run_changing(seed, broken) for seed in range(400))


COMING = [
    Mutant(
        name="hands-over-before-others-know",
        old="        self._change(now)  # and once more when everybody knows of them\n",
        new="        self.look_around()\n",
    ),
    Mutant(
        name="does-not-say-who-else-has-come",
        old="self._word(gone=gone, came=late, links",
        new="self._word(gone=gone, links",
    ),
]


@pytest.mark.parametrize(("mutant", "seed"), list(zip(COMING, (92, 98), strict=True)))
def test_a_bug_planted_in_joins_is_found(mutant: Mutant, seed: int) -> None:
    assert run_changing(seed, mutated("separators", mutant))
    assert not run_changing(seed)


RING = {
    "protocol": "separators",
    "topology": MESH,
    "messages": 80,
    "rate": 2.0,
    "patience_s": 12.0,
    "workload": {"kind": "unicast"},
}


@pytest.mark.parametrize("routes", ["flood", "shortest"])
def test_an_application_that_crashes_excuses_nothing_of_others(routes: str) -> None:
    """Nobody watches, and what a router loses is owed, whoever else has crashed."""
    crashes = [{"process": "p5", "time_s": 0.5}, {"process": "b1.g1", "time_s": 2.0}]
    run = make_scenario({**RING, "options": {"routes": routes}, "crashes": crashes})
    assert judge(run).failure is not None
    assert owed_of(run, simulate(run).leftover) > 0


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("routes", ["flood", "shortest"])
def test_what_may_wait_for_a_message_lost_with_its_sender_is_excused(
    routes: str, seed: int
) -> None:
    """The router that crashes right after the sender has the only copies of what that sent."""
    options = {"routes": routes, "suspect_after_s": 2.0, "write_ahead": routes == "shortest"}
    crashes = [{"process": "p0", "time_s": 0.4}, {"process": "b1.g1", "time_s": 0.4 + 0.02 * seed}]
    workload = {"kind": "multicast", "size": 3, "cascade": 0.4}
    fields = {**RING, "rate": 8.0, "seed": seed, "workload": workload, "options": options}
    run = make_scenario({**fields, "crashes": crashes})
    assert judge(run).failure is None
    left = simulate(run).leftover
    assert left.lost > 0
    assert owed_of(run, left) == 0


@pytest.mark.parametrize("more", [{}, {"write_ahead": True}])
def test_who_comes_back_tells_the_living_what_it_recalls(more: dict[str, object]) -> None:
    """Both gateways crash, one after the other, with reports on their way."""
    options = {"routes": "shortest", "suspect_after_s": 2.0, "recovery": "memory", "tidy": 4}
    both = [
        {"process": "b1.g1", "time_s": 2.0, "back_s": 8.0},
        {"process": "b1.g2", "time_s": 3.0, "back_s": 9.0},
    ]
    fields = {**RING, "messages": 300, "crashes": both, "options": {**options, **more}}
    assert simulate(make_scenario(fields)).undelivered == 0
