"""The campaigns that ship can be planned."""

from pathlib import Path

import pytest

from antecede.campaigns.file import load_campaign
from antecede.campaigns.plan import EVENTS_LIMIT, make_plan
from antecede.protocols import names

FOLDER = Path(__file__).resolve().parents[2] / "campaigns"


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.toml")), ids=lambda file: file.stem)
def test_it_can_be_planned(file: Path) -> None:
    campaign = load_campaign(file)
    assert campaign.name == file.stem
    assert campaign.question
    plan = make_plan(campaign, str(file))
    assert plan.runs
    if campaign.name == "demo":
        assert {run.setting.protocol for run in plan.runs} == {*names()}
        assert plan.events < EVENTS_LIMIT / 10
