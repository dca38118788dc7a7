"""What a daisy costs: counted, simulated, and nothing at rest."""

from types import SimpleNamespace

import msgspec
import pytest

from antecede.errors import BrokenInvariant
from antecede.overlays.daisy import Daisy
from antecede.overlays.daisy.core import Core
from antecede.overlays.daisy.layer import EPOCHS
from antecede.overlays.daisy.options import DaisyOptions
from antecede.overlays.daisy.plan import Plan, plan
from antecede.simulate import make_scenario
from antecede.simulate.recorder import Recorder
from bench import daisy_page
from bench.daisy import (
    Counting,
    Failed,
    Mixed,
    Result,
    Setting,
    measure,
    measure_apart,
    together,
)
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


def test_seeds_are_put_together() -> None:
    one, other = (measure(Setting((2, 2), 1, 5, seed=seed)) for seed in (1, 2))
    both = together([one, other])
    assert both.data == pytest.approx((one.data + other.data) / 2)
    assert both.loads[0] == pytest.approx((one.loads[0] + other.loads[0]) / 2)
    assert both.events == one.events + other.events
    assert both.most_hops == max(one.most_hops, other.most_hops)


def test_a_run_that_fails_is_told_and_the_others_go_on() -> None:
    """Nobody can send to less than nobody."""
    impossible, fine = Setting((2, 2), -1, 2), Setting((2, 2), 1, 2)
    runs = measure_apart([impossible, fine])
    assert isinstance(runs[fine], Result)
    failed = runs[impossible]
    assert isinstance(failed, Failed)
    assert "status 1" in failed.reason
    assert "ValueError" in failed.reason


@pytest.mark.parametrize("fails", [False, True])
def test_the_page_tells_what_failed(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And says nothing twice."""
    result = measure(Setting((2, 2), 1, 5))
    summary = SimpleNamespace(copies_stamp_bytes=100, messages=2)
    monkeypatch.setattr(daisy_page, "_simulated", lambda name, n, to: summary)
    settings = [*daisy_page._grid(), *daisy_page._locality(), *daisy_page._load()]
    runs: dict[Setting, Result | Failed] = {
        msgspec.structs.replace(setting, seed=seed): result
        for setting in settings
        for seed in daisy_page.SEEDS
    }
    if fails:
        worst = Setting((64, 64), 1, daisy_page.MESSAGES[4096], seed=daisy_page.SEEDS[-1])
        assert worst in runs
        runs[worst] = Failed("it ran out of memory")
    text = daisy_page.page(settings, runs)
    assert ("Runs that failed" in text) is fails
    assert ("it ran out of memory" in text) is fails
    row = next(line for line in text.splitlines() if line.startswith("| 4,096 | 64·64 | 1 |"))
    assert ("failed" in row) is fails
    for section in text.split("\n## "):
        rows = [line for line in section.splitlines() if line.startswith("| ") and "--" not in line]
        assert len(set(rows)) == len(rows)


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
        assert all(layer.state.sleep.resting for layer in order.layers())


@pytest.mark.parametrize(("size", "groups"), [(3, 40_000), (100_000, 3)])
def test_no_two_groups_get_the_same_number(size: int, groups: int) -> None:
    """A group takes a number and, if it is split in two, the next one."""
    processes = [0, 1, size // 2, size - 1]
    cores = [Core(one, DaisyOptions(), Plan({}, (0,) * size)) for one in dict.fromkeys(processes)]
    numbers = {number for core in cores for number in (core.new_number() for _ in range(groups))}
    assert len({*numbers, *(number + 1 for number in numbers)}) == 2 * groups * len(cores)
    assert max(numbers) + 1 < EPOCHS  # else it would be a number of another epoch


def test_a_process_without_numbers_for_groups_says_so() -> None:
    core = Core(2, DaisyOptions(), Plan({}, (0,) * 3))
    core.state.groups_numbered = EPOCHS // 2 // 3
    with pytest.raises(BrokenInvariant, match="process 2 has no number left"):
        core.new_number()
