"""Each node keeps the separators that filter most."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.errors import BadInput, Misuse
from antecede.message import members
from antecede.topology import (
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


def test_one_member_goes_before_two() -> None:
    """A path of two triangles that share node 2: 2 alone filters better than 2 with another."""
    bow = build("bow", list("abcde"), [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)])
    (first, *_) = choose_separators(bow).lists[2]
    assert first.members == 1 << 2


def test_weights_decide_what_is_kept() -> None:
    """In the middle of a path, with room for one: towards the side that is idle, leave out what
    concerns the busy one. Traffic into F counts as well, so both ends weigh."""
    middle = path(5)
    left_busy = choose_separators(middle, weights=[9, 1, 1, 1, 1], per_node=1).lists[2]
    right_busy = choose_separators(middle, weights=[1, 1, 1, 1, 9], per_node=1).lists[2]
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
