"""For every connected network there is a tree of sets and zones along its links."""

from random import Random

import pytest

from antecede.errors import BadInput, Misuse
from antecede.overlays.separators.plan import plan_zones
from antecede.overlays.separators.zones import Links, structure
from antecede.topology import attach, load_topology, zoo


def test_a_tree_is_its_own_plan() -> None:
    assert plan_zones(4, ((0, 1), (1, 2), (1, 3))) == (
        ((0,), (1,)),
        ((1,), (2,)),
        ((1,), (3,)),
    )


def test_processes_that_are_all_linked_talk_directly_or_along_a_tree() -> None:
    triangle_with_tail: Links = ((0, 1), (0, 2), (1, 2), (2, 3))
    assert plan_zones(4, triangle_with_tail) == (((0,), (1,), (2,)), ((2,), (3,)))
    assert plan_zones(4, triangle_with_tail, None, False) == (
        ((0,), (1,)),
        ((0,), (2,)),
        ((2,), (3,)),
    )


def test_a_ring_is_cut_open() -> None:
    ring: Links = ((0, 1), (1, 2), (2, 3), (0, 3))
    assert plan_zones(4, ring) == (((0,), (1,)), ((0,), (3,)), ((1,), (2,)))


@pytest.mark.parametrize("linked", [False, True])
def test_routers_with_the_same_neighbours_become_one_set(linked: bool) -> None:
    links: Links = ((0, 2), (0, 3), (1, 2), (1, 3), *(((2, 3),) if linked else ()))
    assert plan_zones(4, links, 0b0011) == (((0,), (2, 3)), ((1,), (2, 3)))
    apart = plan_zones(4, links)  # applications at all of them
    assert all(len(one) == 1 for zone in apart for one in zone)


def test_routers_above_routers() -> None:
    topology = attach(load_topology("tree:2,2,2,2"))
    zones = plan_zones(topology.size, topology.links, topology.hosts)
    assert max(len(one) for zone in zones for one in zone) == 2
    structure(topology.size, zones, topology.links)


def test_random_networks_have_a_plan() -> None:
    for seed in range(60):
        chance = Random(seed)
        size = chance.randint(2, 12)
        links = {(chance.randrange(process), process) for process in range(1, size)}
        for _ in range(chance.randint(0, 14)):
            first, second = sorted(chance.sample(range(size), 2))
            links.add((first, second))
        hosts = chance.randrange(1, 1 << size)
        ordered = tuple(sorted(links))
        for is_direct in (True, False):
            zones = plan_zones(size, ordered, hosts, is_direct)
            found = structure(size, zones, ordered)
            assert not hosts & ~found.hosts


@pytest.mark.parametrize("name", zoo()[::12])
def test_real_networks_have_a_plan(name: str) -> None:
    topology = attach(load_topology(name, unconnected="largest"))
    zones = plan_zones(topology.size, topology.links, topology.hosts)
    found = structure(topology.size, zones, topology.links)
    assert not topology.hosts & ~found.hosts


def test_a_network_in_pieces_is_refused() -> None:
    with pytest.raises(BadInput, match="not connected"):
        plan_zones(4, ((0, 1), (2, 3)))


def test_a_link_to_nowhere_is_refused() -> None:
    with pytest.raises(Misuse, match="does not exist; there are 3"):
        plan_zones(3, ((0, 1), (1, 3)))
