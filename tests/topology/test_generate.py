"""The generated networks have the shape that their names promise."""

import os
import subprocess
import sys

import pytest

from antecede.errors import Misuse
from antecede.topology import check_connected, choose_separators, load_topology
from antecede.topology.blocks import find_blocks

GENERATED = ["tree:2,3,4", "tree:2,2,2,2", "ring:4,3,2", "clusters:4+28,1", "internet:120,7"]


@pytest.mark.parametrize("source", GENERATED)
def test_they_are_connected_and_named_as_they_were_asked_for(source: str) -> None:
    topology = load_topology(source)
    check_connected(topology)
    assert topology.name == source
    assert not topology.hosts & topology.routers
    assert topology == load_topology(source)


def test_a_tree() -> None:
    topology = load_topology("tree:2,3,4")
    assert topology.size == 1 + 2 * (1 + 3 * (1 + 4))
    assert len(topology.links) == topology.size - 1
    assert topology.hosts.bit_count() == 24
    assert topology.zone("o1/d2").bit_count() == 5
    assert topology.zone("o1").bit_count() == 16
    assert "wan" not in load_topology("tree:1,2,2").names


def test_a_tree_with_two_routers_everywhere() -> None:
    topology = load_topology("tree:2,1,1,2")
    node = topology.names.index("o2.d1.n1")
    assert topology.named(topology.neighbours[node]) == "o2.d1.r1, o2.d1.r2"
    assert min(map(int.bit_count, map(topology.zone, ("o1", "o2")))) == 5


@pytest.mark.parametrize("gateways", [1, 2, 3])
def test_a_ring(gateways: int) -> None:
    topology = load_topology(f"ring:3,4,{gateways}")
    clique = (4 + gateways) * (3 + gateways) // 2
    between = ((gateways + 1) // 2) ** 2
    assert topology.size == 3 * (4 + gateways)
    assert len(topology.links) == 3 * (clique + between)
    assert len(topology.components(without=topology.routers)) == 3


def test_clusters() -> None:
    topology = load_topology("clusters:4+5+6,2")
    assert topology.size == 15 + 4
    assert [part.bit_count() for part in topology.components(without=topology.routers)] == [4, 5, 6]
    assert [block.bit_count() for block in find_blocks(load_topology("clusters:4+28,1"))] == [5, 29]


def test_a_random_internet() -> None:
    topology = load_topology("internet:200,3")
    assert topology.size == 200
    assert topology != load_topology("internet:200,4")
    ends = [topology.neighbours[node].bit_count() for node in range(topology.size)]
    hosts = [links for node, links in enumerate(ends) if topology.hosts >> node & 1]
    assert sum(links == 1 for links in hosts) > 0.8 * len(hosts)
    assert max(hosts) == 2
    assert max(ends) > 10


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("tree:2,3", "write it as tree:ORGANISATIONS"),
        ("tree:2,3,x", "write it as tree:ORGANISATIONS"),
        ("tree:0,1,1", "organisations is 0"),
        ("ring:2,1,1", "networks is 2; it must be at least 3"),
        ("clusters:4,1", "two clusters"),
        ("clusters:4+0,1", "size is 0"),
        ("clusters:4+,1", "write it as clusters"),
        ("internet:3,1", "size is 3"),
        ("internet:", "write it as internet"),
    ],
)
def test_numbers_that_cannot_be_are_refused(source: str, reason: str) -> None:
    with pytest.raises(Misuse, match=reason):
        load_topology(source)


SCRIPT = """
from antecede.topology import choose_separators, load_topology
from antecede.topology.picture import draw
for source in ("internet:80,5", "tree:2,2,2,3", "Aarnet"):
    topology = load_topology(source)
    print(topology.links, choose_separators(topology).lists, draw(topology))
"""


def test_another_hash_seed_changes_nothing() -> None:
    outcomes = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outcomes) == 1
    assert any(choose_separators(load_topology("Aarnet")).lists)
