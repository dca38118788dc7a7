"""From a campaign file to runs: identities, what is skipped, what is refused."""

import json
from pathlib import Path

import pytest

from antecede.campaigns.file import load_campaign
from antecede.campaigns.plan import Plan, hash_of, make_plan
from antecede.errors import BadFile
from antecede.simulate import load_scenario, make_scenario, simulate
from antecede.simulate.loading import read_toml
from tests.campaigns.files import SMALL, save


def plan_of(folder: Path, text: str = SMALL) -> Plan:
    file = save(folder, text)
    return make_plan(load_campaign(file), str(file))


def test_the_grid_is_spanned(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    found = [(run.setting.variant, run.setting.workload, run.seed) for run in plan.runs]
    assert found == [
        (protocol, workload, seed)
        for workload, protocols in (
            ("broadcast", ("vector", "fifo", "none")),
            ("sets", ("fifo", "none")),
        )
        for protocol in protocols
        for seed in (1, 2)
    ]


def test_what_a_protocol_cannot_run_is_skipped_with_the_reason(tmp_path: Path) -> None:
    (skipped,) = plan_of(tmp_path).skipped
    assert (skipped.setting.variant, skipped.setting.workload) == ("vector", "sets")
    assert skipped.setting.processes == 3
    assert "vector can address only" in skipped.reason


def test_an_option_that_does_not_suit_the_size_is_skipped(tmp_path: Path) -> None:
    entry = '{ name = "bounded", options = { k = [2, "2n"] } }'
    plan = plan_of(tmp_path, SMALL.replace('"fifo"', entry))
    skipped = {cell.setting.variant: cell.reason for cell in plan.skipped}
    assert "k" in skipped["bounded k=2"]
    runs = [run for run in plan.runs if run.setting.variant == "bounded k=2n"]
    assert {make_scenario(json.loads(run.scenario)).order_options.k for run in runs} == {6}  # type: ignore[attr-defined]


def test_a_protocol_can_take_part_with_some_numbers_of_processes_only(tmp_path: Path) -> None:
    text = SMALL.replace('"fifo"', '{ name = "fifo", processes = [3] }')
    plan = plan_of(tmp_path, text.replace("processes = [3]\n", "processes = [3, 4]\n"))
    sizes: dict[str, set[int]] = {}
    for run in plan.runs:
        sizes.setdefault(run.setting.protocol, set()).add(run.setting.processes)
    assert sizes == {"vector": {3, 4}, "fifo": {3}, "none": {3, 4}}
    assert not any(cell.setting.protocol == "fifo" for cell in plan.skipped)


def test_a_rate_of_all_processes_together(tmp_path: Path) -> None:
    text = SMALL.replace("rate = 20.0", 'rate = "12/n"').replace("[3]\n", "[3, 4]\n")
    runs = [run for run in plan_of(tmp_path, text).runs if run.setting.workload == "broadcast"]
    rates = {run.setting.processes: json.loads(run.scenario)["rate"] for run in runs}
    assert rates == {3: 4.0, 4: 3.0}


def test_what_no_protocol_can_run_is_a_mistake(tmp_path: Path) -> None:
    text = SMALL.replace('size = "n/2"', "size = 3")
    with pytest.raises(BadFile) as caught:
        plan_of(tmp_path, text)
    (mistake,) = caught.value.mistakes
    assert mistake.startswith("network 'flat', workload 'sets', 3 processes: workload:")


def test_nothing_left_to_run_is_a_mistake(tmp_path: Path) -> None:
    first, second = SMALL.split('[[workloads]]\nname = "broadcast"')
    text = first.replace('["vector", "fifo", "none"]', '["vector"]')
    text += "[[workloads]]" + second.split("[[workloads]]")[1]
    with pytest.raises(BadFile, match="there is nothing that can be run"):
        plan_of(tmp_path, text)


def test_a_changed_file_keeps_the_runs_that_it_still_has(tmp_path: Path) -> None:
    before = {run.run for run in plan_of(tmp_path).runs}
    more = {run.run for run in plan_of(tmp_path, SMALL.replace("seeds = 2", "seeds = 3")).runs}
    assert before < more
    assert len(more) == 15
    other = {run.run for run in plan_of(tmp_path, SMALL.replace("0.2", "0.3")).runs}
    assert not before & other


def test_names_do_not_make_a_run(tmp_path: Path) -> None:
    before = {run.run for run in plan_of(tmp_path).runs}
    renamed = SMALL.replace('"flat"', '"level"').replace('"small"', '"other"')
    assert {run.run for run in plan_of(tmp_path, renamed).runs} == before


def test_two_names_for_the_same_are_run_once(tmp_path: Path) -> None:
    text = SMALL.replace(
        "[[workloads]]", '[[networks]]\nname = "twin"\ndelay = "exponential:0.2"\n[[workloads]]', 1
    )
    plan = plan_of(tmp_path, text)
    assert len(plan.runs) == 20
    assert len(plan.distinct()) == 10


@pytest.mark.parametrize("name", ["net.graphml", "largest:net.graphml"])
def test_a_changed_topology_file_makes_new_runs(tmp_path: Path, name: str) -> None:
    text = SMALL.replace('name = "flat"', f'name = "flat"\ntopology = "{name}"')
    text = text.replace("processes = [3]\n", "")
    nodes = "".join(f'<node id="{node}"/>' for node in "abc")
    pairs = [("a", "b"), ("b", "c"), ("c", "a")]
    found = []
    for count in (2, 3):
        edges = "".join(f'<edge source="{one}" target="{two}"/>' for one, two in pairs[:count])
        (tmp_path / "net.graphml").write_text(
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
            f'<graph edgedefault="undirected">{nodes}{edges}</graph></graphml>'
        )
        hash_of.cache_clear()
        found.append({run.run for run in plan_of(tmp_path, text).runs})
    assert not found[0] & found[1]


def test_the_estimate_of_events_is_about_right(tmp_path: Path) -> None:
    for run in plan_of(tmp_path).runs:
        summary = simulate(make_scenario(json.loads(run.scenario)))
        assert 0.5 * summary.events <= run.events <= 2 * summary.events


def test_a_scenario_of_a_run_is_one_that_files_can_hold(tmp_path: Path) -> None:
    run = plan_of(tmp_path).runs[0]
    scenario = make_scenario(json.loads(run.scenario))
    file = tmp_path / "scenario.toml"
    file.write_text(scenario.to_toml())
    assert load_scenario(file) == scenario
    assert read_toml(file)[1]["run"] == run.run


CHANGING = """
name = "growing"
seeds = [1]
processes = [6]
[[protocols]]
name = "separators"
options = { routes = ["flood", "shortest"], suspect_after_s = 1.0 }
[[networks]]
name = "growing"
topology = "ring:3,2,2"
crashes = [{ process = "b1.g1", time_s = 1.0, back_s = 6.0 }]
joins = [{ process = "b2.g1", time_s = 2.0 }]
new_links = [{ between = ["b1.g2", "b2.g2"], time_s = 3.0 }]
[[workloads]]
kind = "unicast"
messages = 60
rate = 3.0
"""


def test_networks_grow_in_a_campaign(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, CHANGING)
    assert not plan.skipped
    for run in plan.runs:
        scenario = make_scenario(json.loads(run.scenario))
        assert [join.process for join in scenario.joins] == ["b2.g1"]
        assert [link.between for link in scenario.new_links] == [["b1.g2", "b2.g2"]]
        outcome = simulate(scenario)
        assert outcome.undelivered == 0
        assert outcome.events
