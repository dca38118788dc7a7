"""The campaigns that ship can be planned."""

from pathlib import Path

import pytest

from antecede.campaigns.file import load_campaign
from antecede.campaigns.plan import EVENTS_LIMIT, make_plan
from antecede.protocols import names
from antecede.shipped import find

FOLDER = Path(__file__).resolve().parents[2] / "campaigns"


def test_a_folder_of_the_same_name_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as what `antecede campaign run demo --out demo` leaves; a file of the user's does."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    assert find("campaigns", "demo") == FOLDER / "demo.toml"
    (tmp_path / "smoke").touch()
    assert find("campaigns", "smoke") == Path("smoke")


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
