"""Chapter 7: the simulations, reduced, and the page that the full ones have written."""

from typing import Any, Literal

import pytest

from antecede.topology import zoo as zoo_names
from bench import chapter7, zoo
from bench.chapter7_table import row_of_three
from bench.described import Described, expand, history, measure, overlaid, stamps
from bench.ways import cost

SEEDS = 2


@pytest.fixture(scope="module")
def experiment() -> dict[str, Any]:
    return {**chapter7.load(), "messages": 300}


@pytest.mark.parametrize("network", ["six", "ten"])
def test_table_7_1_each_separator_more_makes_stamps_smaller(
    experiment: dict[str, Any], network: str
) -> None:
    nowhere, at_s2, everywhere = (
        found.value for found in row_of_three(experiment, network, seeds=SEEDS)
    )
    assert nowhere > 1.2 * at_s2 > 1.2 * everywhere


@pytest.mark.parametrize("local", ["direct", "together", "server", "each"])
def test_table_7_1_has_this_order_however_the_text_is_read(
    experiment: dict[str, Any], local: str
) -> None:
    row = row_of_three(experiment, "six", seeds=SEEDS, local=local)
    values = [found.value for found in row]
    assert values == sorted(values, reverse=True)


def test_newcomers_who_are_unknown_to_the_separators_are_never_left_out(
    experiment: dict[str, Any],
) -> None:
    everywhere = ("S1", "S2", "S3")
    known = stamps(measure(experiment, "ten", everywhere, seeds=SEEDS))
    newcomers = experiment["ten"]["newcomers"]
    unknown = stamps(measure(experiment, "ten", everywhere, seeds=SEEDS, unknown=newcomers))
    assert unknown.value > known.value


def test_figure_7_5_the_gateway_keeps_the_large_group_out_of_the_small_one(
    experiment: dict[str, Any],
) -> None:
    small = experiment["gateway"]["groups"]["G1"]
    without, with_rule = (
        history(measure(experiment, "gateway", names, seeds=SEEDS, watched=small, senders=small))
        for names in ((), ("S",))
    )
    assert with_rule.value < 5 < without.value


@pytest.mark.parametrize("option", ["own_implied", "gateways"])
def test_the_repairs_of_r9_arrive_at_the_orders(experiment: dict[str, Any], option: str) -> None:
    """p1 sends to p2 and to the server n1 in one multicast; here n1 is a separator."""
    separator = {"members": ["n1"], "parts": [["p1", "p2"], ["d1", "d2"]]}
    changed = {**experiment, "six": {**experiment["six"], "separators": {"S": separator}}}
    switches: list[dict[str, Any]] = [{option: False}, {}]
    switched_off, repaired = (
        stamps(measure(changed, "six", ("S",), seeds=SEEDS, local="together", **options))
        for options in switches
    )
    assert repaired.value < switched_off.value


def test_figure_7_6_needs_no_repair_of_r9(experiment: dict[str, Any]) -> None:
    names = experiment["ring"]["separators"]
    printed, repaired = (
        measure(experiment, "ring", names, seeds=1, own_implied=on, gateways=on)
        for on in (False, True)
    )
    assert printed == repaired


def test_the_chain_of_hops_is_the_papers(experiment: dict[str, Any]) -> None:
    """From p1 to G_C: n1; d1 and d2; d3; n3; p6."""
    found = Described(experiment["six"], "direct", "all")
    way = [(name, found.next_hops(name, source, "p1", "GC")) for name, source in CHAIN]
    assert way == [
        ("p1", [["n1"]]),
        ("n1", [["d1", "d2"]]),
        ("d1", [["d3"]]),
        ("d3", [["n3"]]),
        ("n3", [["p6"]]),
        ("p6", []),
    ]


CHAIN = [("p1", None), ("n1", "p1"), ("d1", "n1"), ("d3", "d1"), ("n3", "d3"), ("p6", "n3")]


def test_ranges_of_names_are_written_out() -> None:
    assert expand(["g", "p9..p11"]) == ["g", "p9", "p10", "p11"]


def test_the_pages_begin_as_their_generators_say() -> None:
    assert chapter7.PAGE.read_text("utf-8").startswith(chapter7.INTRODUCTION)
    assert zoo.PAGE.read_text("utf-8").startswith(zoo.INTRODUCTION)


def test_the_page_on_the_zoo_has_the_figures_of_a_network() -> None:
    """One of them, measured again: a change that moves it moves the others, too."""
    sizes = {name: zoo.size_of(name) for name in zoo_names()}
    task = next(zoo.tasks(sizes))  # networks come in an order of chance, and this is the first
    found = zoo.table(zoo.Figures(sizes, {task: cost(*task)})).splitlines()
    (row,) = [line for line in found if line.startswith(f"| {task.network} |")]
    own = row.split(" / ")[0]  # name, size, and the bytes of the tree with local traffic
    assert f"\n{own} / " in zoo.PAGE.read_text("utf-8"), "run `python -m bench.zoo`"


@pytest.mark.parametrize(
    ("network", "forwarding"), [("six", "all"), ("six", "one"), ("ring", "one")]
)
def test_the_model_of_other_readings_is_the_overlay_that_ships(
    experiment: dict[str, Any], network: str, forwarding: Literal["one", "all"]
) -> None:
    """Where both can do the same: one multicast a zone, every side filtered from all others."""
    changed = {**experiment, "forwarding": forwarding, "messages": 150}
    sides = experiment["readings"]["S2"]["each side from both others"]
    for names in ((), tuple(experiment[network]["separators"])):
        (model,) = measure(changed, network, names, seeds=1, local="together", s2=sides)
        (shipped,) = overlaid(changed, network, names, seeds=1, forwarding=forwarding)
        assert model.stamps == shipped.stamps


def test_the_page_has_figures_of_the_overlay() -> None:
    """One of them, measured again."""
    runs = overlaid(chapter7.load(), "six", (), seeds=3, forwarding="one")
    assert f"| n = 6 | one | {stamps(runs)} |" in chapter7.PAGE.read_text("utf-8")
