"""`antecede topology`."""

import json
from itertools import chain
from pathlib import Path

import pytest

from antecede.message import members
from antecede.overlays.separators.shortest import Shortest
from antecede.overlays.separators.tree import Tree
from antecede.simulate import make_scenario
from tests.cli.conftest import Antecede


@pytest.mark.parametrize("command", ["show", "separators"])
def test_help_has_an_example(antecede: Antecede, command: str) -> None:
    outcome = antecede("topology", command, "--help")
    assert outcome.status == 0
    assert f"Example: antecede topology {command}" in outcome.out


def test_show_tells_and_draws(antecede: Antecede, tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    outcome = antecede("topology", "show", "Aarnet", "--out", picture)
    assert outcome.status == 0
    assert outcome.out.splitlines()[0] == "Aarnet: 19 nodes, 24 links"
    assert "blocks: 5, the largest of 15 nodes; articulation points: 4" in outcome.out
    assert picture.read_text("utf-8").startswith("<svg")


def test_show_speaks_json_and_looks_at_networks_in_pieces(antecede: Antecede) -> None:
    plain = json.loads(antecede("topology", "show", "Nordu2010", "--json").out)
    assert (plain["nodes"], plain["parts"], plain["diameter"]) == (18, 2, None)
    assert "NOT CONNECTED: 2 parts" in antecede("topology", "show", "Nordu2010").out
    assert "note: not connected" in antecede("topology", "show", "Nordu2010", "--largest").out


def test_separators_are_listed(antecede: Antecede) -> None:
    outcome = antecede("topology", "separators", "tree:2,2,3")
    header, first = outcome.out.splitlines()[:2]
    assert header.split() == ["S", "found", "as", "filters", "F", "B", "|S|", "|F|", "|B|"]
    assert first.split()[0] == "wan"
    assert first.split()[-3:] == ["1", "9", "9"]
    plain = json.loads(antecede("topology", "separators", "tree:2,2,3", "--json").out)
    (best, *_) = plain["separators"]
    assert best["members"] == best["kept_by"] == ["wan"]
    assert len(best["front"]) == len(best["back"]) == 9


def test_separators_with_processes_attached(antecede: Antecede) -> None:
    arguments = ("topology", "separators", "tree:1,1,2", "--processes", 2, "--json")
    plain = json.loads(antecede(*arguments).out)
    assert plain["nodes"] == 4 + 4
    assert ["p0", "p1"] in [separator["front"] for separator in plain["separators"]]


def test_separators_are_drawn(antecede: Antecede, tmp_path: Path) -> None:
    picture = tmp_path / "picture.svg"
    for flags, marked in (((), 6), (("--routed",), 9)):
        outcome = antecede("topology", "separators", "Arpanet19706", "--out", picture, *flags)
        assert outcome.status == 0
        text = picture.read_text("utf-8")
        assert f"{marked} members of separators (orange rim)" in text
        assert text.count(" marked") == marked


@pytest.mark.parametrize("source", ["Abilene", "tree:2,2,2,2"])
def test_routed_lists_what_the_overlay_uses(antecede: Antecede, source: str) -> None:
    plain = json.loads(antecede("topology", "separators", source, "--routed", "--json").out)
    shown = {
        (tuple(one["members"]), tuple(side), tuple(sorted(chain(*one["sides"]))))
        for one in plain["sets"]
        for side in one["sides"]
    }
    made = make_scenario({"protocol": "separators", "topology": source})
    deployment = made.deployment
    assert deployment is not None
    names = deployment.topology.names
    used = set()
    for process in range(made.membership.size):
        order = Tree(process, made.membership, made.order_options)
        surroundings = order._order._surroundings
        assert surroundings is not None
        for one in surroundings.separators:
            sets = (one.members, one.front, one.front | one.back)
            S, F, both = (tuple(names[node] for node in members(bits)) for bits in sets)
            used.add((S, F, tuple(sorted(both))))
    assert shown == used
    text = antecede("topology", "separators", source, "--routed").out
    assert f"{len(plain['sets'])} sets of the routed overlay filter" in text


@pytest.mark.parametrize("source", ["Abilene", "ring:3,2,2"])
def test_regions_lists_what_shortest_ways_use(antecede: Antecede, source: str) -> None:
    plain = json.loads(antecede("topology", "separators", source, "--regions", "--json").out)
    shown = {(tuple(one["nodes"]), tuple(one["border"])) for one in plain["regions"]}
    made = make_scenario(
        {"protocol": "separators", "topology": source, "options": {"routes": "shortest"}}
    )
    deployment = made.deployment
    assert deployment is not None
    names = deployment.topology.names
    used = Shortest(0, made.membership, made.order_options).regions
    sets = zip(used.inside, used.border, strict=True)
    assert shown == {
        tuple(tuple(names[node] for node in members(bits)) for bits in pair) for pair in sets
    }
    text = antecede("topology", "separators", source, "--regions").out
    assert f"{len(plain['regions'])} regions filter on shortest ways" in text


def test_mistakes_are_one_message(antecede: Antecede, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a graph")
    nowhere = tmp_path / "none" / "picture.svg"
    for arguments, reason in (
        (("separators", "Nordu2010"), "Nordu2010 is not connected: it has 2 parts"),
        (("separators", "Nordu2010"), "'largest:Nordu2010' is the largest of them"),
        (("separators", "Abilene", "--out", nowhere), "cannot write"),
        (("separators", "Abilene", "--routed", "--regions"), "give one of them"),
        (("show", text), "this is not GraphML"),
        (("show", "Abileen"), "did you mean Abilene"),
        (("show", "Abilene", "--out", nowhere), "cannot write"),
    ):
        outcome = antecede("topology", *arguments)
        assert outcome.status == 2
        assert outcome.out == ""
        assert reason in outcome.err
