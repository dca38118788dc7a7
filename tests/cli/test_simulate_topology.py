"""`antecede simulate --topology`."""

import json
from pathlib import Path

from tests.cli.conftest import Antecede


def test_a_network_by_name_and_both_layers_of_its_trace(antecede: Antecede, tmp_path: Path) -> None:
    out = tmp_path / "trace.parquet"
    run = ("simulate", "--protocol", "separators", "--topology", "Abilene", "--messages", 50)
    outcome = antecede(*run, "--workload", "unicast", "--out", out)
    assert outcome.status == 0
    assert "hop messages, on average" in outcome.out
    for layer in ("app", "hop"):
        verdict = json.loads(antecede("verify", out, "--layer", layer, "--json").out)
        assert verdict["violations"] == verdict["undelivered"] == 0
        assert (verdict["messages"] == 50) is (layer == "app")


def test_processes_are_spread_over_a_generated_network(antecede: Antecede) -> None:
    run = ("simulate", "--protocol", "separators", "--topology", "tree:1,2,2", "--processes", 6)
    outcome = antecede(*run, "--messages", 20, "--json")
    summary = json.loads(outcome.out)
    assert (summary["processes"], summary["violations"]) == (6, 0)
    assert summary["hops"] > summary["messages"]


def test_a_network_that_does_not_exist_is_misuse(antecede: Antecede) -> None:
    outcome = antecede("simulate", "--protocol", "separators", "--topology", "Atlantis")
    assert outcome.status == 2
    assert "there is no topology 'Atlantis'" in outcome.err
