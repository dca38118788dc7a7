"""What is drawn: always the same from the same seed, of every kind, and nothing that a protocol
does not promise to bear."""

from collections import Counter

import pytest

from antecede.fuzzing import draw
from antecede.fuzzing.drawing import draw_fields
from antecede.order import Addressing, Channels
from antecede.overlays.daisy.options import DaisyOptions
from antecede.protocols import find, names
from antecede.simulate import make_scenario
from antecede.simulate.duty import Duty, duty, loses
from tests.fuzzing.faults import FAULTS, faults_of

SEEDS = range(1, 81)


@pytest.mark.parametrize("protocol", names())
def test_every_seed_makes_a_scenario(protocol: str) -> None:
    scenarios = [draw(protocol, seed) for seed in SEEDS]
    assert scenarios == [draw(protocol, seed) for seed in SEEDS]
    assert len({scenario.to_toml() for scenario in scenarios}) == len(SEEDS)
    if find(protocol).traits.channels is Channels.FIFO:
        assert not any(map(loses, scenarios))
    owing = sum(duty(scenario) is Duty.SURVIVORS for scenario in scenarios)
    assert owing > len(SEEDS) / 2, "most runs should say whether everything arrives"


@pytest.mark.parametrize("protocol", names())
def test_everything_is_drawn_that_the_protocol_can_bear(protocol: str) -> None:
    traits = find(protocol).traits
    scenarios = [draw(protocol, seed) for seed in SEEDS]
    kinds = {scenario.workload.kind for scenario in scenarios}
    expected = {"broadcast"}
    if traits.addressing >= Addressing.GROUPS:
        expected.add("groups")
    if traits.addressing >= Addressing.SETS:
        expected |= {"unicast", "multicast"}
    assert kinds == expected
    networks = [scenario.network for scenario in scenarios]
    assert {network.delay.kind for network in networks} == {
        *("constant", "uniform", "exponential", "lognormal")
    }
    drawn = Counter(
        what
        for scenario, network in zip(scenarios, networks, strict=True)
        for what, is_drawn in {
            "fifo": network.fifo,
            "duplication": network.duplication,
            "links": network.links,
            "partitions": network.partitions,
            "crashes": scenario.crashes,
            "answers": getattr(scenario.workload, "cascade", 0),
        }.items()
        if is_drawn
    )
    # Who watches the clock is not promised anything on a link that one packet silences for long.
    assert len(drawn) == (5 if traits.survives_crashes else 6), drawn


def test_options_are_drawn() -> None:
    drawn = [draw_fields("bounded", seed)["options"].get("k") for seed in SEEDS]
    assert {type(k) for k in drawn} == {int, list, type(None)}
    assert any(draw_fields("blocks-slow", seed)["options"].get("total") for seed in SEEDS)


def test_topologies_are_drawn_for_overlays() -> None:
    kinds = {(draw("separators", seed).topology or "none").partition(":")[0] for seed in SEEDS}
    assert kinds == {"none", "tree", "ring", "clusters", "internet"}
    assert not any(draw("vector", seed).topology for seed in SEEDS)


def test_survivors_are_owed_everything() -> None:
    """Of a protocol that survives crashes and repairs losses, with processes that come back."""
    scenarios = [draw("daisy", seed) for seed in SEEDS]
    assert {duty(scenario) for scenario in scenarios} == {Duty.SURVIVORS}
    crashes = [crash for scenario in scenarios for crash in scenario.crashes]
    assert {crash.back_s is None for crash in crashes} == {True, False}
    assert any(map(loses, scenarios))
    assert any(scenario.network.partitions for scenario in scenarios)


def test_what_is_for_one_that_is_cut_off_is_kept_until_it_can_be_back() -> None:
    """The daisy promises nothing to who is away for longer; nor does a run go on for ever."""
    cut = [one for seed in range(1, 301) if (one := draw("daisy", seed)).network.partitions]
    assert cut
    for scenario in cut:
        cuts, options = scenario.network.partitions, scenario.order_options
        away_s = max(one.end_s for one in cuts) - min(one.start_s for one in cuts)
        assert isinstance(options, DaisyOptions)
        assert min(options.forget_after_s, scenario.patience_s) >= away_s + 10 * options.tick_s
        assert not scenario.crashes


def test_every_kind_of_fault_is_drawn_for_the_daisy() -> None:
    drawn = Counter(kind for seed in range(1, 601) for kind in set(faults_of(draw("daisy", seed))))
    assert drawn.keys() == set(FAULTS), drawn
    assert max(draw("daisy", seed).network.loss for seed in range(1, 601)) <= 0.3


LOSS = {"network": {"loss": 0.1}}
CRASH = {"crashes": [{"process": 1, "time_s": 0.5}]}


@pytest.mark.parametrize(
    ("protocol", "faults", "owed"),
    [
        ("vector", {}, Duty.SURVIVORS),
        ("vector", {"network": {"duplication": 0.5}}, Duty.SURVIVORS),
        ("vector", LOSS, Duty.NOTHING),
        ("vector", CRASH, Duty.NOTHING),
        ("piggyback", LOSS, Duty.ARRIVED),
        ("piggyback", CRASH, Duty.NOTHING),
        (
            "piggyback",
            {"network": {"links": [{"from": [0], "to": [1], "loss": 0.2}]}},
            Duty.ARRIVED,
        ),
    ],
)
def test_what_faults_excuse(protocol: str, faults: dict[str, object], owed: Duty) -> None:
    scenario = make_scenario({"protocol": protocol, "processes": 3, **faults})
    assert duty(scenario) is owed
