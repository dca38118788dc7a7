"""Rodrigues and Verissimo, chapter 5: causal order of the hops is not causal order end to end, and
the conditions under which it is."""

from pathlib import Path

import pytest

from antecede.errors import Misuse
from antecede.explore import replay
from antecede.message import Message, ProcessSet, members
from antecede.overlays.separators import Separators, SeparatorsOptions
from antecede.overlays.separators import zones as _zones
from antecede.overlays.separators.tree import Tree
from antecede.simulate import make_scenario, simulate
from antecede.verify import verify_trace
from tests.overlays.networks import (
    SHARED,
    TWIN_STAR,
    explore_all,
    factory,
    programs,
    size_of,
)

GRAPH = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
{nodes}
{edges}
</graph></graphml>"""
STAR = SeparatorsOptions(zones=TWIN_STAR, applications=3)


@pytest.fixture
def figure(tmp_path: Path) -> str:
    """Figure 5.2: three nodes, n1 behind d1 and d2, and d3 in the middle."""
    links = [("n1", "d1"), ("n1", "d2"), ("d1", "d3"), ("d2", "d3"), ("n2", "d3"), ("n3", "d3")]
    nodes = "\n".join(f'<node id="{name}"/>' for name in ("n1", "n2", "n3", "d1", "d2", "d3"))
    edges = "\n".join(f'<edge source="{a}" target="{b}"/>' for a, b in links)
    file = tmp_path / "figure.graphml"
    file.write_text(GRAPH.format(nodes=nodes, edges=edges))
    return str(file)


def judged(
    topology: str,
    out: Path,
    order: type[Separators] | type[Tree] = Separators,
    forwarding: str = "one",
) -> tuple[int, int]:
    """How many deliveries come too early: of messages end to end, and of hops."""
    scenario = make_scenario(
        {
            "protocol": "separators",
            "topology": topology,
            "attach": ["n1", "n1", "n2", "n2", "n3", "n3"],
            "messages": 400,
            "workload": {"kind": "multicast", "size": 2},
            "options": {"forwarding": forwarding},
            "network": {"delay": "exponential:0.05"},
        }
    )
    summary = simulate(scenario, out, order_type=order)
    assert summary.undelivered == 0
    app, hop = (verify_trace(out, layer=layer) for layer in ("app", "hop"))
    assert (app.messages, hop.messages) == (summary.messages, summary.hops)
    assert app.violations == summary.violations
    return app.violations, hop.violations


@pytest.mark.parametrize("shared", SHARED)
def test_shared_forwarding_breaks_the_order_end_to_end_and_no_hop_is_out_of_order(
    shared: type[Tree], figure: str, tmp_path: Path
) -> None:
    app, hop = judged(figure, tmp_path / "trace.parquet", shared)
    assert app > 0
    assert hop == 0


@pytest.mark.parametrize("forwarding", ["one", "all"])
def test_one_forwarder_a_link_or_all_keep_the_order(
    forwarding: str, figure: str, tmp_path: Path
) -> None:
    assert judged(figure, tmp_path / "trace.parquet", forwarding=forwarding) == (0, 0)


@pytest.mark.parametrize("shared", SHARED)
def test_the_explorer_finds_a_shortest_schedule(shared: type[Tree]) -> None:
    size = size_of(TWIN_STAR)
    found = explore_all(factory(shared, STAR), size, programs(size, 3, 2, sets=True))
    assert found.failure is not None
    assert found.failure.kind == "early delivery"
    assert replay(found.failure, factory(Separators, STAR)) is None


class Whoever(Tree):
    """Whoever gets a message forwards it."""

    def forwarder(self, message: Message, place: int) -> int:
        return self.process


def test_a_hop_to_one_member_of_the_next_set_breaks_the_order(
    figure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which member it is depends on the destinations."""
    whole = _zones.Zone.next_hop

    def one_member(zone: _zones.Zone, source: _zones.Port, destinations: ProcessSet) -> ProcessSet:
        to = whole(zone, source, destinations)
        for port in zone.ports:
            routers = list(members(port.members & to))
            if len(routers) > 1:
                to ^= 1 << routers[destinations % len(routers)]
        return to

    monkeypatch.setattr(_zones.Zone, "next_hop", one_member)
    app, hop = judged(figure, tmp_path / "trace.parquet", Whoever)
    assert app > 0
    assert hop == 0


def test_two_ways_are_refused() -> None:
    """n1 – d1 – d3 and n1 – d2 – d3 with d1 and d2 each for itself: messages could part."""
    ring: _zones.Zones = (((0,), (1,)), ((1,), (3,)), ((0,), (2,)), ((2,), (3,)))
    with pytest.raises(Misuse, match="the sets do not form a tree: two ways lead to"):
        _zones.structure(4, ring)
