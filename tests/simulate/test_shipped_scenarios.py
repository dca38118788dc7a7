"""The scenarios that ship do what their comments say."""

from pathlib import Path

import pytest

from antecede.simulate import Summary, load_scenario, make_scenario, simulate

FOLDER = Path(__file__).resolve().parent.parent.parent / "scenarios"


def run(name: str, **changes: object) -> Summary:
    scenario = load_scenario(FOLDER / f"{name}.toml")
    plain = scenario.model_dump(by_alias=True, exclude_none=True)
    return simulate(make_scenario({**plain, "messages": 400, **changes}))


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.toml")))
def test_a_shipped_scenario_keeps_causal_order(name: str) -> None:
    summary = run(name)
    assert summary.violations == 0
    assert summary.messages > 0


@pytest.mark.parametrize("name", ["answers", "teams", "token"])
def test_without_order_it_is_broken(name: str) -> None:
    violations = run(name, protocol="none").violations
    assert violations is not None
    assert violations > 0


def test_with_faults_a_plain_protocol_blocks_and_piggyback_goes_on() -> None:
    """What is lost for ever is lost at both; beyond that, `matrix` holds what it has."""
    assert run("faults", protocol="matrix").undelivered > 2 * run("faults").undelivered
