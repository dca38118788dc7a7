"""The picture is well-formed and shows every node and every link."""

from xml.etree import ElementTree

import pytest

from antecede.topology import build, load_topology
from antecede.topology.picture import HEIGHT, WIDTH, draw, lay_out

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    "source", ["Abilene", "Kdl", "DialtelecomCz", "Ntt", "tree:2,2,3", "ring:3,4,2"]
)
def test_every_node_and_link_is_drawn_inside(source: str) -> None:
    topology = load_topology(source, "keep")
    root = ElementTree.fromstring(draw(topology))
    assert len(root.findall(f"{SVG}line")) == len(topology.links)
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles == list(topology.names)
    for line in root.findall(f"{SVG}line"):
        for end in "12":
            assert 0 <= float(line.attrib[f"x{end}"]) <= WIDTH
            assert 0 <= float(line.attrib[f"y{end}"]) <= HEIGHT


@pytest.mark.parametrize("source", ["Abilene", "Aarnet", "tree:3,3,3", "internet:60,1"])
def test_no_two_nodes_stand_at_the_same_place(source: str) -> None:
    points = lay_out(load_topology(source))
    assert len(set(points)) == len(points)


def test_north_is_up() -> None:
    places = [(0.0, 60.0), (0.0, 40.0)]
    root = ElementTree.fromstring(draw(build("two", ["n", "s"], [(0, 1)], places=places)))
    north, south = (float(node.attrib["cy"]) for node in root.findall(f"{SVG}circle"))
    assert north < south


def test_marked_nodes_have_a_rim_and_the_caption_says_why() -> None:
    topology = load_topology("Abilene")
    root = ElementTree.fromstring(draw(topology, 0b101, "chosen nodes"))
    rims = [node.attrib["class"].endswith(" marked") for node in root.findall(f"{SVG}circle")]
    assert [index for index, rim in enumerate(rims) if rim] == [0, 2]
    assert "2 chosen nodes (orange rim)" in "".join(root.itertext())
    assert "rim)" not in draw(topology)


def test_names_are_escaped_and_one_node_can_be_drawn() -> None:
    root = ElementTree.fromstring(draw(build("<&>", ["<a&b>"], [])))
    assert [title.text for title in root.iter(f"{SVG}title")] == ["<a&b>"]
