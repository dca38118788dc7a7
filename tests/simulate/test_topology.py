"""Processes on a topology: who takes part, who sends, and both layers of the trace."""

from pathlib import Path
from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.simulate import Scenario, load_scenario, make_scenario, simulate
from antecede.trace import APP, read_trace
from antecede.verify import verify_trace

PIECES = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="a"/><node id="b"/><node id="c"/><node id="d"/>
<edge source="a" target="b"/><edge source="c" target="d"/>
</graph></graphml>"""
LINE = PIECES.replace("</graph>", '<edge source="b" target="c"/></graph>')


def scenario(**fields: Any) -> Scenario:
    plain = {"protocol": "separators", "topology": "tree:2,2,2,2", "messages": 120}
    return make_scenario(plain | {"workload": {"kind": "unicast"}} | fields)


def test_one_process_at_each_node_that_hosts() -> None:
    made = scenario()
    assert made.processes == 8
    assert made.process_names[:9] == [*(f"p{process}" for process in range(8)), "wan"]
    assert made.membership.size == 8 + 8 + 4 + 8 + 1  # servers, organisations, departments, wan
    assert made.applications.size == 8


def test_a_protocol_without_overlay_runs_among_the_applications() -> None:
    flat = scenario(protocol="optimal")
    assert flat.membership.size == 8
    assert simulate(flat).violations == 0


def test_processes_can_be_spread_or_attached() -> None:
    spread = scenario(topology="tree:1,1,2", processes=5).deployment
    assert spread is not None
    servers = [server for process, server in spread.topology.links if process < 5]
    assert servers == [servers[0], servers[1]] * 2 + [servers[0]]
    attached = scenario(topology="Abilene", attach=["Denver", "Denver", 0])
    assert attached.applications.size == 3
    assert simulate(attached).undelivered == 0


def test_nobody_can_live_where_no_node_hosts(tmp_path: Path) -> None:
    role = '<key id="r" for="node" attr.name="role" attr.type="string"/><graph'
    routers = LINE.replace('"/><node', '"><data key="r">router</data></node><node')
    routers = routers.replace('id="d"/>', 'id="d"><data key="r">router</data></node>')
    (tmp_path / "routers.graphml").write_text(routers.replace("<graph ", f"{role} "))
    with pytest.raises(Misuse, match=r"routers\.graphml has no node that hosts processes"):
        scenario(topology=str(tmp_path / "routers.graphml"), processes=3)


@pytest.mark.parametrize("workload", [{"kind": "broadcast"}, {"kind": "multicast", "size": 3}])
def test_the_trace_has_both_layers(workload: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "trace.parquet"
    made = scenario(workload=workload, network={"duplication": 0.1})
    summary = simulate(made, out)
    assert summary.violations == summary.undelivered == 0
    app, hop = (verify_trace(out, layer=layer) for layer in ("app", "hop"))
    assert app.messages == summary.messages == 120
    assert hop.messages == summary.hops > 2 * 120
    assert (app.violations, hop.violations) == (0, 0)
    assert (app.undelivered, hop.undelivered) == (0, 0)
    assert summary.rows == len(read_trace(out).runs[0].events)


def test_routers_send_nothing_of_their_own(tmp_path: Path) -> None:
    out = tmp_path / "trace.parquet"
    made = scenario()
    simulate(made, out)
    run = read_trace(out).runs[0]
    named = {run.processes[process] for process in run.layer(APP).process.tolist()}
    assert named == {f"p{process}" for process in range(8)}


def test_a_router_can_crash() -> None:
    made = scenario(crashes=[{"process": "wan", "time_s": 0.0}])
    summary = simulate(made)
    assert summary.violations == 0
    assert summary.undelivered > 0
    with pytest.raises(Misuse, match="there is no process 'wan'"):
        scenario(protocol="optimal", crashes=[{"process": "wan", "time_s": 0.0}])


def test_the_same_scenario_gives_the_same_run(tmp_path: Path) -> None:
    made = scenario(topology="ring:3,3,2")
    again = Scenario.model_validate_json(made.to_json())
    files = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    for file, one in zip(files, (made, again), strict=True):
        simulate(one, file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_file_is_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "line.graphml").write_text(LINE)
    file = tmp_path / "line.toml"
    file.write_text('protocol = "separators"\ntopology = "line.graphml"\nmessages = 30\n')
    made = load_scenario(file)
    assert made.applications.size == 4
    assert simulate(made).violations == 0


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"topology": "Atlantis"}, "topology: there is no topology 'Atlantis'"),
        ({"topology": "none.graphml"}, "topology: none.graphml: 1 mistake"),
        ({"attach": ["Nowhere"], "topology": "Abilene"}, "has no node 'Nowhere'"),
        ({"attach": [0], "topology": None}, "attach: is for a topology, and there is none"),
        ({"attach": [0, 0], "topology": "Abilene", "processes": 3}, "2 places for 3 processes"),
        ({"options": {"links": [[0, 1]]}}, r"drop the options \['links'\]"),
        (
            {
                "topology": None,
                "processes": 4,
                "options": {"zones": [[[0], [1, 2]], [[3], [1, 2]]]},
            },
            r"no application can live at \[1, 2\]",
        ),
        (
            {"topology": None, "processes": 3, "options": {"links": [[0, 1]]}},
            "not connected",
        ),
    ],
)
def test_what_is_wrong_is_said(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(Misuse, match=reason):
        scenario(**fields)


def test_a_network_in_pieces_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pieces.graphml"
    file.write_text(PIECES)
    with pytest.raises(Misuse, match=r"not connected.*'largest:.*pieces\.graphml'"):
        scenario(topology=str(file))
    made = scenario(topology=f"largest:{file}")
    assert made.processes == 2
    assert simulate(made).undelivered == 0


def test_the_largest_part_of_a_file_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "pieces.graphml").write_text(PIECES)
    file = tmp_path / "pieces.toml"
    file.write_text('protocol = "separators"\ntopology = "largest:pieces.graphml"\n')
    assert load_scenario(file).processes == 2


@pytest.mark.parametrize("topology", ["Atlantis", "Nordu2010"])
def test_a_topology_that_is_refused_is_one_mistake(topology: str) -> None:
    with pytest.raises(Misuse, match=f"^topology: .*{topology}") as refused:
        scenario(topology=topology)
    assert "processes:" not in str(refused.value)
