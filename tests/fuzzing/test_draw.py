"""What is drawn: always the same from the same seed, of every kind, and nothing that a protocol
does not promise to bear."""

from collections import Counter

import pytest

from antecede.drawn import BACK_S, FOR_EVER_S
from antecede.fuzzing import draw
from antecede.fuzzing.drawing import draw_fields
from antecede.fuzzing.judging import judge
from antecede.order import Addressing, Channels
from antecede.overlays.daisy.options import SPELL, DaisyOptions
from antecede.protocols import find, names
from antecede.simulate import make_scenario
from antecede.simulate.duty import Duty, duty, loses
from tests.fuzzing.faults import FAULTS, FOUNDING_S, faults_of, longest_cut_s, traffic_s

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
    if protocol == "daisy":  # in whose stories few talk
        expected.add("talks")
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


def test_a_run_goes_on_until_everybody_can_be_back() -> None:
    """What is for one that is cut off is kept as long, but for a few, who are to find it gone."""
    cut = [one for seed in range(1, 301) if (one := draw("daisy", seed)).network.partitions]
    is_kept = []
    for scenario in cut:
        cuts = [one for one in scenario.network.partitions if one.end_s < FOR_EVER_S]
        if cuts:
            away_s = max(one.end_s for one in cuts) - min(one.start_s for one in cuts)
            options = scenario.order_options
            assert isinstance(options, DaisyOptions)
            assert scenario.patience_s >= max(away_s, options.forget_after_s) + 10 * options.tick_s
            is_kept.append(options.forget_after_s > away_s)
    assert 0.8 * len(is_kept) < sum(is_kept) < len(is_kept)


def test_a_run_goes_on_until_others_serve_where_a_link_is_cut_for_good() -> None:
    """With much loss the members of two groups find that out between two calls, which come ever
    more seldom."""
    lasting = []
    for seed in range(1, 301):
        scenario = draw("daisy", seed)
        if any(cut.end_s >= FOR_EVER_S for cut in scenario.network.partitions):
            lasting.append(scenario)
    assert lasting
    for scenario in lasting:
        options = scenario.order_options
        assert isinstance(options, DaisyOptions)
        assert scenario.patience_s >= BACK_S + options.waits_s + SPELL * options.suspect_after_s


def test_traffic_outlasts_most_cuts_and_many_cuts_outlast_founding_anew() -> None:
    scenarios = [draw("daisy", seed) for seed in range(1, 601)]
    hard = [one for one in scenarios if longest_cut_s(one) > 2.0]
    assert len(hard) > 0.3 * len(scenarios)
    assert sum(longest_cut_s(one) > FOUNDING_S for one in hard) > 0.4 * len(hard)
    assert sum(traffic_s(one) > longest_cut_s(one) for one in hard) > 0.7 * len(hard)


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


def test_the_network_of_separators_changes_in_some_runs() -> None:
    drawn = [draw("separators", seed) for seed in range(60)]
    changing = [one for one in drawn if one.options.get("suspect_after_s")]
    assert {one.options["routes"] for one in changing} >= {"flood", "shortest", "tree"}
    assert any(one.returning for one in changing)
    assert any(one.joins for one in changing)
    assert any(one.new_links for one in changing)
    answering = draw("separators", 254)  # somebody who is back answers
    for one in (*changing[:4], answering):
        assert judge(one).failure is None


def test_small_hardship_has_all_that_changes_groups() -> None:
    small = [one for seed in range(1, 401) if ((one := draw("daisy", seed)).messages or 99) <= 30]
    small = [one for one in small if one.options.get("sizes") in ([2], [2, 2])]
    options = Counter(name for one in small for name in one.options)
    for name in ("merge_below", "split_above", "split_servers_above", "forget_after_s"):
        assert options[name] > 10
    assert sum(bool(one.joins) for one in small) > 5
    assert sum(len(one.crashes) > 1 for one in small) > 5


def test_small_groups_that_stay_send_early_and_straight() -> None:
    drawn = [draw("daisy", seed).options for seed in range(1, 401)]
    ways = Counter((one.get("forward"), one.get("local")) for one in drawn)
    for way in (("delivered", None), ("received", None), (None, "recipients")):
        assert ways[way] > 1


def test_crowds_of_newcomers_are_more_than_a_group_lets_in() -> None:
    drawn = [draw("daisy", seed) for seed in range(1, 401)]
    crowds = [one for one in drawn if len(one.joins) >= 6]
    assert len(crowds) > 5
    assert all(one.options["split_above"] == 4 for one in crowds)
    assert any("split_servers_above" in one.options for one in crowds)


def test_a_window_goes_with_its_rate() -> None:
    kept = {"split_servers_above": 3}
    fields = {"processes": 4, "network": {}, "options": kept | {"load_window_s": 2.0}}
    assert DaisyOptions.fitting(fields) == kept


def test_groups_that_change_and_forget_soon_suspect_soon() -> None:
    options = [draw("daisy", seed).order_options for seed in range(1, 301)]
    changing = [one for one in options if isinstance(one, DaisyOptions) and one.evolves]
    assert all(one.forget_after_s >= 9.99 * one.suspect_after_s for one in changing)
    assert any(one.suspect_after_s < 1.0 for one in changing)
