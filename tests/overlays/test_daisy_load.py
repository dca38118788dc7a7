"""Local groups that split because they carry too much, and merge when that is over."""

from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.order import Event, Order
from antecede.protocols import find
from tests.mutants import mutated
from tests.mutants.daisy import LOAD
from tests.overlays.daisy_lab import Lab
from tests.overlays.test_daisy_options import make

GROUPS = [[0, 1, 2, 3], [4, 5, 6, 7]]
SPLITS = "splits-at-the-first-burst"
MERGES = "merged-unmeasured"


def traffic(lab: Lab, for_s: float, every_s: float) -> None:
    """0 and 1 talk with each other, and so do 2 and 3."""
    for turn in range(round(for_s / every_s)):
        lab.send(*[(0, 1), (2, 3), (1, 0), (3, 2)][turn % 4])
        if turn % 8 == 0:
            lab.send(5, 1, 2)
        lab.run(every_s)


def loaded(order: type[Order] | None = None, **options: Any) -> Lab:
    limits = {"split_rate": 20.0, "load_window_s": 1.0, **options}
    return Lab(order, size=8, groups=GROUPS, **limits)


def one_burst(order: type[Order]) -> Lab:
    """One window is above the limit, and none after it."""
    lab = loaded(order)
    traffic(lab, 1.2, 0.02)
    traffic(lab, 4.0, 0.2)
    lab.run()
    return lab


def the_halves_are_small(order: type[Order]) -> Lab:
    """Halves of two are below the limit for a merge, and carry too much for one."""
    lab = loaded(order, merge_below=3)
    traffic(lab, 6.0, 0.02)
    return lab


def test_one_burst_splits_nothing() -> None:
    lab = one_burst(find("daisy"))
    assert not lab.faults()
    assert not lab.told(Event.SPLIT)
    assert one_burst(mutated(find("daisy"), named(SPLITS))).told(Event.SPLIT)


def test_what_carries_too_much_is_split_once_and_merged_when_that_is_over() -> None:
    lab = the_halves_are_small(find("daisy"))
    assert {notice.where for notice in lab.told(Event.SPLIT)} == {"group 0"}
    assert not lab.told(Event.MERGE)
    homes = [lab.orders[process].layers()[0].node.index for process in range(4)]
    assert homes[0] == homes[1] != homes[2] == homes[3]  # who talk with each other
    traffic(lab, 12.0, 0.4)
    lab.run()
    assert lab.told(Event.MERGE)
    assert not lab.faults()
    assert the_halves_are_small(mutated(find("daisy"), named(MERGES))).told(Event.MERGE)


def named(name: str) -> Any:
    return next(mutant for mutant in LOAD if mutant.name == name)


def test_a_window_without_a_limit_is_refused() -> None:
    with pytest.raises(Misuse, match="load_window_s=2: is for split_rate alone"):
        make(load_window_s=2.0)
