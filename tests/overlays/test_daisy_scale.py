"""What a daisy costs: counted, simulated, and nothing at rest."""

import pytest

from antecede.overlays._daisy_plan import plan
from antecede.overlays.daisy import Daisy
from antecede.simulate import make_scenario
from antecede.simulate.recorder import Recorder
from bench.daisy import Counting, Mixed, Setting, measure
from bench.daisy_counts import Sizes, choices, daisy, matrix, vector


@pytest.mark.parametrize(
    ("sizes", "few", "more"),
    [
        ((8, 8), (19, 156), (48, 381)),
        ((8, 8, 8), (33, 265), (106, 848)),
        ((16, 16, 16), (73, 1168), (254, 4062)),
        ((8, 8, 8, 8), (47, 376), (168, 1344)),
    ],
)
def test_packets_and_integers_of_one_and_of_eight_destinations(
    sizes: Sizes, few: tuple[int, int], more: tuple[int, int]
) -> None:
    assert tuple(map(round, daisy(sizes, 1))) == few
    assert tuple(map(round, daisy(sizes, 8))) == more


def test_flat_protocols_are_counted() -> None:
    assert vector(64) == (63, 63 * 64)
    assert matrix(64, 8) == (8, 8 * 64 * 64)


def test_all_even_divisions() -> None:
    assert sorted(choices(12, 3)) == [
        *((2, 2, 3), (2, 3, 2), (2, 6)),
        *((3, 2, 2), (3, 4), (4, 3), (6, 2)),
    ]


def test_simulation_sends_what_is_counted() -> None:
    """And some of it again, where an acknowledgement takes long."""
    setting = Setting((4, 4), 1, 60)
    counted, result = daisy(setting.sizes, 1), measure(setting)
    assert counted.packets * 0.9 < result.data < counted.packets * 1.5
    assert (result.longest_vector, result.violations, result.undelivered) == (4, 0, 0)


def test_groups_come_to_rest_and_those_without_messages_say_nothing() -> None:
    setting = Setting((4, 4), 2, 3, global_share=0.0)
    groups = plan(16, (4,), (), ())
    traffic = Mixed(setting, groups)
    scenario = make_scenario({"protocol": "daisy", "processes": 16, "options": {"sizes": [4]}})
    run = Counting(scenario, Recorder(None, None), traffic)
    run.run()
    senders = {groups.leaves[send.process] for send in traffic.opening()}
    speakers = {groups.leaves[process] for process, load in enumerate(run.handled) if load}
    assert speakers == senders != set(groups.leaves)
    for order in run.orders:
        assert isinstance(order, Daisy)
        assert all(layer.state.resting for layer in order.layers())
