"""Reading: the real networks, all of them, and files of which not all are good."""

import subprocess
import sys
from pathlib import Path

import pytest

from antecede.errors import BadFile, BadInput, Misuse
from antecede.topology import largest_part, load_topology, zoo
from antecede.topology.deployment import deploy
from antecede.topology.graphml import read_graphml
from antecede.topology.summary import summarise

NAMESPACE = 'xmlns="http://graphml.graphdrawing.org/xmlns"'


def graphml(body: str, keys: str = "", direction: str = "undirected") -> bytes:
    graph = f'<graph edgedefault="{direction}">{body}</graph>'
    return f"<graphml {NAMESPACE}>{keys}{graph}</graphml>".encode()


def nodes(*identifiers: str) -> str:
    return "".join(f'<node id="{identifier}"/>' for identifier in identifiers)


def test_all_real_networks_are_read() -> None:
    names = zoo()
    assert len(names) == 276
    topologies = {name: load_topology(name, "keep") for name in names}
    assert sum(topology.size for topology in topologies.values()) == 10_952
    pieces = [name for name in names if len(topologies[name].components()) > 1]
    assert len(pieces) == 23
    assert sum("parallel" in " ".join(one.notes) for one in topologies.values()) == 96
    assert sum("to itself" in " ".join(one.notes) for one in topologies.values()) == 1


@pytest.mark.parametrize(
    ("name", "size", "links", "points", "blocks"),
    [
        ("Abilene", 11, 14, 0, 1),
        ("Aarnet", 19, 24, 4, 5),
        ("Kdl", 754, 895, 69, 76),
        ("Psnc", 36, 41, 7, 8),
        ("Uninett", 74, 97, 9, 16),
    ],
)
def test_known_networks(name: str, size: int, links: int, points: int, blocks: int) -> None:
    """The figures were counted apart from this project, blocks in the largest part. Psnc and
    Uninett declare the type "integer", which is none of GraphML's."""
    topology = load_topology(name, "keep")
    assert (topology.size, len(topology.links)) == (size, links)
    summary = summarise(largest_part(topology))
    assert (summary.articulation_points, summary.blocks) == (points, blocks)


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "net.graphml"
    for size in (2, 3):
        names = [f"n{node}" for node in range(size)]
        links = [f'<edge source="n0" target="{name}"/>' for name in names[1:]]
        file.write_bytes(graphml(nodes(*names) + "".join(links)))
        assert deploy(str(file)).applications == size


def test_a_network_in_pieces_is_refused_kept_or_cut_down() -> None:
    with pytest.raises(BadInput, match="Nordu2010 is not connected: it has 2 parts"):
        load_topology("Nordu2010")
    assert len(load_topology("Nordu2010", "keep").components()) == 2
    largest = load_topology("Nordu2010", "largest")
    assert len(largest.components()) == 1
    assert "3 nodes outside the largest of 2 parts" in largest.notes[-1]


def test_an_unknown_name_suggests_close_ones() -> None:
    with pytest.raises(Misuse, match="did you mean Abilene"):
        load_topology("abilenne")
    with pytest.raises(Misuse, match="did you mean tree:ORGANISATIONS"):
        load_topology("trees")
    with pytest.raises(Misuse, match="there is no topology 'Xyzzy'; it can be"):
        load_topology("Xyzzy")


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "pair.graphml"
    file.write_bytes(graphml(nodes("a", "b") + '<edge source="a" target="b"/>'))
    assert load_topology(str(file)).names == ("a", "b")
    with pytest.raises(BadFile, match="cannot be read: No such file"):
        load_topology(str(tmp_path / "none.graphml"))


def test_directions_loops_and_parallel_links_are_dropped_and_it_is_said() -> None:
    edges = "".join(
        f'<edge id="{index}" source="{first}" target="{second}"/>'
        for index, (first, second) in enumerate([("a", "b"), ("b", "a"), ("b", "b")])
    )
    topology = read_graphml("odd", graphml(nodes("a", "b") + edges, direction="directed"))
    assert topology.links == ((0, 1),)
    assert topology.notes == (
        "the directions of its links are dropped",
        "1 parallel links are merged with others",
        "1 links of a node to itself are dropped",
    )


def test_the_first_of_several_graphs_is_read_and_it_is_said() -> None:
    graphs = [f'<graph edgedefault="undirected">{nodes(own)}</graph>' for own in ("a", "b")]
    content = f"<graphml {NAMESPACE}>{''.join(graphs)}</graphml>"
    topology = read_graphml("two", content.encode())
    assert topology.names == ("a",)
    assert topology.notes == ("the file holds 2 graphs; the first one is read",)


def test_labels_roles_zones_and_places_are_read() -> None:
    keys = "".join(
        f'<key id="{name}" for="node" attr.name="{name}" attr.type="string"/>'
        for name in ("label", "role", "zone", "Longitude", "Latitude")
    )

    def node(own: str, **data: str) -> str:
        inside = "".join(f'<data key="{key}">{value}</data>' for key, value in data.items())
        return f'<node id="{own}">{inside}</node>'

    body = (
        node("0", label="hub", role="router", zone="o1", Longitude="1.5", Latitude="2")
        + node("1", label="desk", role="host", zone="o1/d1", Longitude="here", Latitude="2")
        + node("2", label="desk")
    )
    links = '<edge source="0" target="1"/><edge source="0" target="2"/>'
    topology = read_graphml("office", graphml(body + links, keys))
    assert topology.names == ("hub", "desk (1)", "desk (2)")
    assert (topology.hosts, topology.routers) == (0b110, 0b101)
    assert topology.zones == ("o1", "o1/d1", "")
    assert topology.places == ((1.5, 2.0), None, None)
    wrong = graphml(node("0", role="boss"), keys)
    with pytest.raises(BadFile, match="0 has the role 'boss'; there are both, host, router"):
        read_graphml("office", wrong)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "this is not GraphML"),
        (b"nodes: 3", "this is not GraphML"),
        (b"\xff\xfe\x00binary", "this is not GraphML"),
        (b"<?xml version='1.0' encoding='klingon'?><graphml/>", "this is not GraphML"),
        (b"<svg/>", "its root element is <svg>"),
        (f"<graphml {NAMESPACE}/>".encode(), "cannot be understood"),
        (graphml(""), "it has no nodes"),
        (graphml(nodes("a") + '<edge source="a" target="b"/>'), "ends at b, which is no node"),
        (graphml(nodes("a") + '<edge source="a"/>'), "ends at None, which is no node"),
        (graphml(nodes("a") + '<node id="b"><data key="x">1</data></node>'), "be understood"),
        (graphml(nodes("a") + "<hyperedge/>"), "be understood"),
        (graphml(nodes("a", "a")), "two nodes of the file have the identifier a"),
        (graphml("<node/>"), "a node of the file has no identifier"),
    ],
)
def test_what_is_no_graphml_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(BadFile, match=reason):
        read_graphml("bad.graphml", content)


def test_importing_antecede_imports_no_graph_library() -> None:
    script = "import sys, antecede, antecede.topology; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
