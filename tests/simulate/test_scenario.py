"""Scenarios as people write them, and their mistakes."""

import gzip
import pickle
import tomllib
from pathlib import Path
from typing import Any

import pytest

from antecede.errors import BadFile, Misuse
from antecede.simulate import Scenario, load_scenario, make_scenario

FULL = """
protocol = "vector"
processes = 6
names = ["a", "b", "c", "d", "e", "f"]
messages = 500
rate = 2.5
payload_bytes = 100
seed = 7
run = "my run"

[options]
carry = "own"

[groups]
layout = "chain"
count = 2

[workload]
kind = "groups"
cascade = 0.25

[network]
delay = "uniform:0.1,0.2"
loss = 0.01
duplication = 0.02
fifo = true

[[network.links]]
from = ["a", 1]
to = ["c"]
delay = { kind = "constant", value_s = 3.0 }

[[network.partitions]]
start_s = 1.0
end_s = 2.0
sides = [["a", "b"], ["c"]]
packets = "lost"

[[crashes]]
process = "f"
time_s = 9.5
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "scenario.toml"
    path.write_text(text)
    return path


def mistakes(folder: Path, text: str) -> list[str]:
    with pytest.raises(BadFile) as caught:
        load_scenario(write(folder, text))
    assert caught.value.file.endswith("scenario.toml")
    return caught.value.mistakes


def test_a_file_with_everything(tmp_path: Path) -> None:
    scenario = load_scenario(write(tmp_path, FULL))
    assert scenario.network.delay.model_dump() == {"kind": "uniform", "low_s": 0.1, "high_s": 0.2}
    assert scenario.index("f") == scenario.index(5) == 5
    assert len(scenario.membership.groups) == 2
    assert scenario.run_name == "my run"


def test_a_scenario_survives_toml_json_and_pickle(tmp_path: Path) -> None:
    scenario = load_scenario(write(tmp_path, FULL))
    assert load_scenario(write(tmp_path, scenario.to_toml())) == scenario
    assert Scenario.model_validate_json(scenario.to_json()) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    small = make_scenario({"protocol": "none", "processes": 2})
    assert tomllib.loads(small.to_toml()) == {"protocol": "none", "processes": 2}


def test_every_mistake_is_named_with_its_place(tmp_path: Path) -> None:
    text = """protocol = "vectr"
processes = 4
messages = 0

[network]
loss = 1.5

[[crashes]]
process = 1
time_s = 1.0

[[crashes]]
process = 9
time_s = 2.0
"""
    found = mistakes(tmp_path, text)
    assert len(found) == 4
    assert found[0].startswith("line 1: protocol: there is no protocol 'vectr'; there are ")
    assert found[1] == "line 3: messages: input should be greater than or equal to 1 (it is 0)"
    assert found[2].startswith("line 6: network.loss: input should be less than or equal to 1")
    assert found[3].startswith("line 13: crashes[1].process: there is no process 9; there are 4")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("processes = 3", "protocol: is missing"),
        ("protocol = 'none'", "processes: is missing; say how many there are"),
        ("protocol = 'none'\nprocesses = 3\nspeed = 1", "line 3: speed: there is no such field"),
        ("protocol = 'none'\nprocesses = '3'", "line 2: processes: input should be a valid int"),
        ("protocol = 'none\nprocesses = 3", "cannot be read as TOML: Expected"),
        (
            "protocol = 'none'\nprocesses = 3\nnetwork.delay = 'gauss:3'",
            "line 3: network.delay: 'gauss' is no kind of delay; there are constant, uniform,",
        ),
        (
            "protocol = 'none'\nprocesses = 3\n[network]\ndelay = 'uniform:3'",
            "line 4: network.delay: 'uniform:3' should be uniform:LOW_S,HIGH_S",
        ),
        (
            "protocol = 'none'\nprocesses = 3\n[network]\ndelay = { kind = 'constant' }",
            "line 4: network.delay.value_s: is missing",
        ),
        (
            "protocol = 'none'\nprocesses = 3\n[workload]\nkind = 'multicast'\nsize = 3",
            "line 3: workload: there are only 2 other processes to send to",
        ),
        (
            "protocol = 'none'\nprocesses = 3\n[workload]\nkind = 'groups'",
            "groups: is missing; list the groups, or give a layout and a count",
        ),
        (
            "protocol = 'none'\nprocesses = 3\nnames = ['a', 'b']",
            "line 3: names: has 2 names for 3 processes",
        ),
        (
            "protocol = 'vector'\nprocesses = 3\n[options]\ncary = 'all'",
            (
                "line 3: options: options of vector: Object contains unknown field `cary`; "
                "it knows: carry"
            ),
        ),
        (
            "protocol = 'none'\n[workload]\nkind = 'replay'\ngraph = 'tree'",
            "line 2: workload: there is no graph 'tree'; there are friendsforever,",
        ),
        (
            (
                "protocol = 'none'\nprocesses = 3\n[[network.partitions]]\nstart_s = 2\nend_s = 1\n"
                "sides = [[0], [1]]"
            ),
            "line 3: network.partitions[0]: starts at 2.0 and ends at 1.0",
        ),
        (
            (
                "protocol = 'none'\nprocesses = 3\n[[network.partitions]]\nstart_s = 0\nend_s = 1\n"
                "sides = [[0], [1, 0]]"
            ),
            "line 6: network.partitions[0].sides: a process stands on two sides",
        ),
    ],
)
def test_a_mistake_is_explained(tmp_path: Path, text: str, expected: str) -> None:
    (found,) = mistakes(tmp_path, text)
    assert found.startswith(expected)


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="there is no such file"):
        load_scenario(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"protocol": "vector", "processes": 3, "workload": {"kind": "unicast"}},
            (
                "workload: 'unicast' addresses any set of processes, and vector can address only "
                "whole groups"
            ),
        ),
        ({"protocol": "chaos", "processes": 3}, "protocol: there is no protocol 'chaos'"),
        ({"protocol": "none", "processes": 0}, "processes: input should be greater than or equal"),
    ],
)
def test_flags_that_cannot_be_are_misuse(fields: dict[str, Any], expected: str) -> None:
    with pytest.raises(Misuse) as caught:
        make_scenario(fields)
    assert str(caught.value).startswith(expected)


def test_several_mistakes_in_flags_are_all_named() -> None:
    with pytest.raises(Misuse, match=r"2 mistakes\n  - protocol: .*\n  - seed: "):
        make_scenario({"protocol": "chaos", "processes": 3, "seed": -1})


def test_a_graph_is_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    graph = b"event,process,seq,parents\n0,7,1,\n1,8,1,0\n2,7,2,0 1\n"
    (tmp_path / "mine.dag.csv.gz").write_bytes(gzip.compress(graph))
    text = "protocol = 'vector'\n[workload]\nkind = 'replay'\ngraph = 'mine.dag.csv.gz'"
    scenario = load_scenario(write(tmp_path, text))
    assert scenario.membership.size == 2
    assert scenario.message_limit == 3
    (found,) = mistakes(tmp_path, "processes = 5\n" + text)
    assert found == "line 1: processes: is 5, but the graph has 2; leave it out"
