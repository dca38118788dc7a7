"""What a topology promises, and what is refused."""

import pytest
from hypothesis import given, settings

from antecede.errors import BadFile, BadInput
from antecede.message import process_set
from antecede.topology import (
    Topology,
    attach,
    build,
    check_connected,
    largest_part,
    load_topology,
)
from tests.topology import connected, path


@settings(deadline=None)
@given(connected())
def test_neighbours_are_mutual(topology: Topology) -> None:
    for first in range(topology.size):
        for second in range(topology.size):
            linked = (min(first, second), max(first, second)) in topology.links
            assert bool(topology.neighbours[first] >> second & 1) == linked
    check_connected(topology)


def test_a_link_given_twice_counts_once() -> None:
    assert build("two", ["a", "b"], [(0, 1), (1, 0)]).links == ((0, 1),)


@pytest.mark.parametrize(
    ("names", "links", "mistake"),
    [
        ([], [], "it has no nodes"),
        (["a", "a"], [], "two nodes have the same name"),
        (["a"], [(0, 1)], "the link 0 – 1 ends at a node that does not exist"),
        (["a"], [(-1, 0)], "the link -1 – 0 ends at a node that does not exist"),
        (["a"], [(0, 0)], "a is linked to itself"),
    ],
)
def test_what_is_no_topology_is_refused(
    names: list[str], links: list[tuple[int, int]], mistake: str
) -> None:
    with pytest.raises(BadFile) as refused:
        build("bad", names, links)
    assert mistake in refused.value.mistakes


def test_roles_are_checked() -> None:
    with pytest.raises(BadFile, match="b is neither a host nor a router"):
        build("idle", ["a", "b"], [(0, 1)], hosts=0b01, routers=0b01)
    with pytest.raises(BadFile, match="a node that does not exist"):
        build("stranger", ["a", "b"], [(0, 1)], hosts=0b100)
    with pytest.raises(BadFile, match="one entry for every node"):
        build("zoned", ["a", "b"], [(0, 1)], zones=["o1"])


def test_a_network_in_pieces_names_two_of_them() -> None:
    pieces = build("pieces", list("abcde"), [(0, 1), (2, 3), (3, 4)])
    with pytest.raises(BadInput, match="no path leads from c, d, e to a, b") as refused:
        check_connected(pieces)
    assert "pieces is not connected: it has 2 parts" in str(refused.value)


def test_the_largest_part_says_what_it_left_out() -> None:
    kept = largest_part(build("pieces", list("abcde"), [(0, 1), (2, 3), (3, 4)], hosts=0b11100))
    assert kept.names == ("c", "d", "e")
    assert kept.links == ((0, 1), (1, 2))
    assert kept.hosts == 0b111
    assert kept.notes == (
        "not connected: 2 nodes outside the largest of 2 parts are left out (a, b)",
    )
    assert largest_part(kept) is kept


def test_processes_attach_to_hosts_and_come_first() -> None:
    extended = attach(path(3), [2, 0])
    assert extended.names == ("p0", "p1", "v0", "v1", "v2")
    assert extended.links == ((0, 4), (1, 2), (2, 3), (3, 4))
    assert extended.hosts == process_set([0, 1])
    assert extended.routers == process_set([2, 3, 4])
    assert extended.zone("v2") == process_set([0, 4])


def test_one_process_attaches_to_every_host_unless_told_otherwise() -> None:
    topology = load_topology("tree:2,2,3")
    extended = attach(topology)
    assert extended.size == topology.size + 12
    assert all((extended.neighbours[process]).bit_count() == 1 for process in range(12))


@pytest.mark.parametrize(
    ("attachments", "reason"),
    [([7], "node 7 does not exist"), ([], "there are none"), ([0], "wan does not host processes")],
)
def test_processes_attach_to_hosts_only(attachments: list[int], reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        attach(load_topology("tree:2,1,1"), attachments)
