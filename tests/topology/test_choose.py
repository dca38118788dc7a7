"""Each node keeps the separators that filter most."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.errors import BadInput, Misuse
from antecede.message import members
from antecede.topology import (
    Separator,
    Topology,
    attach,
    build,
    choose_separators,
    is_separator,
    load_topology,
)
from antecede.topology.candidates import find_candidates
from tests.topology import connected, path


@settings(deadline=None)
@given(connected(), st.integers(1, 5))
def test_a_list_holds_few_true_separators_of_its_node(topology: Topology, room: int) -> None:
    choice = choose_separators(topology, per_node=room)
    for node, kept in enumerate(choice.lists):
        assert len(kept) == len(set(kept)) <= room
        for separator in kept:
            assert separator.members >> node & 1
            assert separator.front & topology.neighbours[node]
            assert is_separator(topology.neighbours, separator)


@settings(deadline=None)
@given(connected())
def test_every_neighbour_that_can_be_filtered_for_is(topology: Topology) -> None:
    candidates = [candidate.separator for candidate in find_candidates(topology)]
    choice = choose_separators(topology)
    for node, kept in enumerate(choice.lists):
        for neighbour in members(topology.neighbours[node]):
            alone = [
                separator.back
                for separator in candidates
                if separator.members == 1 << node and separator.front >> neighbour & 1
            ]
            best = max((back.bit_count() for back in alone), default=0)
            assert not alone or best == max(
                separator.back.bit_count()
                for separator in kept
                if separator.members == 1 << node and separator.front >> neighbour & 1
            )


def test_every_neighbour_comes_before_sets_of_them() -> None:
    star = build("star", list("abcde"), [(0, leaf) for leaf in range(1, 5)])
    kept = choose_separators(star, per_node=4).lists[0]
    assert sorted(separator.front for separator in kept) == [0b10, 0b100, 0b1000, 0b10000]


def test_one_member_goes_before_two_and_near_ones_before_far_ones() -> None:
    """A ring of six with one more node at node 0. Towards 1, the pair {0, 2} would leave out most,
    but nobody behind it can tell both; towards the others, 1 can."""
    ring = build("ring", list("abcdefg"), [(v, (v + 1) % 6) for v in range(6)] + [(0, 6)])
    kept = choose_separators(ring).lists[0]
    assert kept[0] == Separator(0b1, 0b1000000, 0b0111110)
    near = Separator(0b101, 0b1111000, 0b0000010)
    assert kept.index(near) < kept.index(near.reversed())


def test_weights_decide_what_is_kept() -> None:
    """In the middle of a path, with room for one: leave out what concerns the busier end."""
    middle = path(5)
    left_busy = choose_separators(middle, weights=[8, 1, 1, 1, 7], per_node=1).lists[2]
    right_busy = choose_separators(middle, weights=[7, 1, 1, 1, 8], per_node=1).lists[2]
    assert [separator.back for separator in left_busy] == [0b00011]
    assert [separator.back for separator in right_busy] == [0b11000]


def test_a_server_separates_its_processes() -> None:
    topology = attach(load_topology("tree:1,1,2"), [2, 2, 3])
    server = topology.names.index("o1.d1.n1")
    fronts = {topology.named(one.front) for one in choose_separators(topology).lists[server]}
    assert {"p0", "p1", "p0, p1"} <= fronts


def test_a_mesh_has_none() -> None:
    mesh = load_topology("Globalcenter")
    assert not any(choose_separators(mesh).lists)


def test_a_network_in_pieces_is_refused() -> None:
    with pytest.raises(BadInput, match="not connected"):
        choose_separators(build("two", ["a", "b"], []))


@pytest.mark.parametrize("weights", [[1, 1], [1, 1, -1]])
def test_weights_that_cannot_be_are_refused(weights: list[int]) -> None:
    with pytest.raises(Misuse, match="weights are 3 numbers"):
        choose_separators(path(3), weights=weights)


def test_a_large_network_is_done() -> None:
    topology = load_topology("Kdl")
    choice = choose_separators(topology)
    assert topology.size == 754
    assert sum(bool(kept) for kept in choice.lists) > 600
