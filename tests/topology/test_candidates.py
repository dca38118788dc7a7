"""What is found are separators, and none of the kinds that are promised is missed."""

from itertools import combinations, pairwise

from hypothesis import given, settings

from antecede.message import members, process_set
from antecede.topology import Separator, Topology, build, is_separator, load_topology
from antecede.topology.blocks import block_tree, find_blocks
from antecede.topology.candidates import LARGEST_CUT, find_candidates
from antecede.topology.summary import articulation_points
from tests.topology import connected


@settings(deadline=None)
@given(connected())
def test_every_candidate_is_a_separator_in_both_directions(topology: Topology) -> None:
    found = [candidate.separator for candidate in find_candidates(topology)]
    assert len(set(found)) == len(found)
    for separator in found:
        assert is_separator(topology.neighbours, separator)
        assert separator.reversed() in found
        assert separator.members.bit_count() <= LARGEST_CUT


@settings(deadline=None)
@given(connected())
def test_every_node_that_splits_the_graph_is_found_with_all_its_parts(topology: Topology) -> None:
    found = {candidate.separator for candidate in find_candidates(topology)}
    for node in range(topology.size):
        parts = topology.components(without=1 << node)
        for part in parts if len(parts) > 1 else ():
            rest = topology.everybody & ~part & ~(1 << node)
            assert Separator(1 << node, part, rest) in found


@settings(deadline=None)
@given(connected())
def test_every_near_pair_that_splits_a_block_is_found(topology: Topology) -> None:
    """Removing the pair leaves more parts than each of its nodes leaves by itself explain."""
    cuts = {candidate.separator.members for candidate in find_candidates(topology)}
    for block in find_blocks(topology):
        for first, second in combinations(members(block), 2):
            pair = 1 << first | 1 << second
            inside = [part for part in topology.components(without=pair) if part & block]
            near = topology.neighbours[first] & (1 << second | topology.neighbours[second])
            if len(inside) > 1 and near:
                assert pair in cuts


@settings(deadline=None)
@given(connected())
def test_blocks_fit_the_parts_that_remain(topology: Topology) -> None:
    tree = block_tree(topology)
    splitting = [
        node for node in range(topology.size) if len(topology.components(without=1 << node)) > 1
    ]
    assert tree.articulation_points == process_set(splitting)
    assert articulation_points(list(tree.blocks)) == process_set(splitting)
    for node in splitting:
        assert list(tree.branches[node]) == topology.components(without=1 << node)
        for block in tree.blocks:
            if block >> node & 1:
                elsewhere = [branch for branch in tree.branches[node] if not branch & block]
                assert tree.hanging(node, block) == sum(elsewhere)


def test_a_cut_through_a_block_joins_nodes_that_lie_far_apart() -> None:
    """Three rows of nodes between two ends: no two nodes separate them, three do."""
    links = []
    for row in range(3):
        nodes = [0, *range(1 + 4 * row, 5 + 4 * row), 13]
        links += list(pairwise(nodes))
    for column in range(1, 5):
        links += [(column, column + 4), (column + 4, column + 8)]
    grid = build("rows", list(map(str, range(14))), links)
    cuts = {candidate.separator.members for candidate in find_candidates(grid)}
    assert process_set([1, 5, 9]) in cuts
    assert process_set([4, 8, 12]) in cuts


def test_the_hierarchy_gives_its_routers() -> None:
    topology = load_topology("tree:2,2,3,3")
    by_origin = {
        (candidate.origin, topology.named(candidate.separator.members)): candidate.separator
        for candidate in find_candidates(topology)
    }
    department = by_origin["zone o1/d1", "o1.d1.r1, o1.d1.r2, o1.d1.r3"]
    inside = {topology.named(department.front), topology.named(department.back)}
    assert "o1.d1.n1, o1.d1.n2, o1.d1.n3" in inside
    assert ("zone o2", "o2.r1, o2.r2, o2.r3") in by_origin


def test_gateways_that_two_networks_share_separate_them() -> None:
    topology = load_topology("clusters:3+4,2")
    origins = {
        topology.named(candidate.separator.members): candidate.origin
        for candidate in find_candidates(topology)
    }
    assert origins["c1.g1, c1.g2"] == "zone c1"
