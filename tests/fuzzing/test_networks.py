"""Fuzzing draws networks for R9, and finds what is wrong with it."""

from typing import Any

from antecede.fuzzing import draw, judge
from antecede.orders.histories import Entry, Histories


class Complement(Histories):
    """R9 with everybody outside F taken for B, and S not asked whether it has heard."""

    def is_behind(self, entry: Entry, cuts: list[Any]) -> bool:
        return any(not entry.A & cut.front for cut in cuts)


def test_r9_is_drawn_and_a_bug_in_it_found() -> None:
    drawn = [draw("histories", seed) for seed in range(1, 300)]
    networks = [scenario for scenario in drawn if scenario.topology]
    assert all(scenario.options["rules"] == "R1-R9" for scenario in networks)
    assert 60 < len(networks) < 120
    failed = next((one for one in networks if judge(one, Complement).failure), None)
    assert failed is not None
    assert judge(failed).failure is None
