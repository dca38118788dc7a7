"""A separator is one by the definition: every path from F to B passes through S."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.errors import BadInput
from antecede.message import members, process_set
from antecede.topology import Separator, Topology, check_separator, is_separator
from antecede.topology.candidates import find_candidates
from antecede.topology.separator import path_avoiding, separator_mistake
from tests.topology import connected, path


def simple_paths(topology: Topology, walked: list[int], target: int) -> Iterator[list[int]]:
    """Every path without repetition that goes on from `walked`."""
    if walked[-1] == target:
        yield walked
        return
    for node in members(topology.neighbours[walked[-1]]):
        if node not in walked:
            yield from simple_paths(topology, [*walked, node], target)


@settings(deadline=None)
@given(st.data(), connected(7))
def test_it_is_one_exactly_if_all_paths_pass_through_it(
    data: st.DataObject, topology: Topology
) -> None:
    sides = data.draw(
        st.lists(st.integers(0, 3), min_size=topology.size, max_size=topology.size), "sides"
    )
    cut, front, back = (process_set(v for v, own in enumerate(sides) if own == s) for s in range(3))
    by_paths = bool(cut and front and back) and all(
        process_set(walked) & cut
        for f in members(front)
        for b in members(back)
        for walked in simple_paths(topology, [f], b)
    )
    assert is_separator(topology.neighbours, Separator(cut, front, back)) == by_paths


@settings(deadline=None)
@given(connected())
def test_with_one_member_removed_it_is_refused(topology: Topology) -> None:
    """Those cuts of which every member is needed: it has neighbours on both sides."""
    for candidate in find_candidates(topology):
        separator = candidate.separator
        for node in members(separator.members):
            near = topology.neighbours[node]
            if near & separator.front and near & separator.back:
                rest = separator.members & ~(1 << node)
                for smaller in (
                    Separator(rest, separator.front, separator.back),
                    Separator(rest, separator.front | 1 << node, separator.back),
                ):
                    assert not is_separator(topology.neighbours, smaller)


def test_the_path_that_avoids_it_is_named() -> None:
    square = ((0b1010), (0b0101), (0b1010), (0b0101))
    names = ("a", "b", "c", "d")
    check_separator(square, Separator(0b1010, 0b0001, 0b0100), names)
    with pytest.raises(BadInput, match=r"the path a, d, c leads from F to B and avoids S = b"):
        check_separator(square, Separator(0b0010, 0b0001, 0b0100), names)


@settings(deadline=None)
@given(connected(), st.data())
def test_the_path_is_one_and_the_shortest(topology: Topology, data: st.DataObject) -> None:
    node = st.integers(0, topology.size - 1)
    start, target, avoided = data.draw(node), data.draw(node), data.draw(node)
    found = path_avoiding(topology.neighbours, 1 << avoided, 1 << start, 1 << target)
    every = [walked for walked in simple_paths(topology, [start], target) if avoided not in walked]
    if found is None:
        assert not every
    else:
        assert found in every
        assert len(found) == min(map(len, every))


@pytest.mark.parametrize(
    ("separator", "mistake"),
    [
        (Separator(0b000, 0b001, 0b100), "S is empty"),
        (Separator(0b010, 0b000, 0b100), "F is empty"),
        (Separator(0b010, 0b001, 0b000), "B is empty"),
        (Separator(0b010, 0b011, 0b100), "S and F share v1"),
        (Separator(0b010, 0b001, 0b110), "S and B share v1"),
        (Separator(0b010, 0b101, 0b100), "F and B share v2"),
        (Separator(0b010, 0b001, 0b1100), "B names processes that the topology of 3 does not have"),
        (Separator(-1, 0b001, 0b100), "S names processes that the topology of 3 does not have"),
    ],
)
def test_what_is_wrong_is_said(separator: Separator, mistake: str) -> None:
    topology = path(3)
    assert separator_mistake(topology.neighbours, separator, topology.names) == mistake


def test_processes_on_neither_side_are_allowed() -> None:
    assert is_separator(path(5).neighbours, Separator(0b00100, 0b00001, 0b10000))
