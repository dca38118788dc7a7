"""The pages of docs/results: made from the campaigns that ship, by a command."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from antecede.campaigns.file import load_campaign
from antecede.campaigns.plan import make_plan
from antecede.errors import BadFile
from bench.results import __main__ as command
from bench.results import shipped
from bench.results.answers import ANSWERS
from bench.results.page import DIGEST, write_page
from bench.results.reading import Reading, estimate, increasing, number, with_interval
from bench.results.shipped import CAMPAIGNS, Shipped, find, run, shrunk
from tests.campaigns.files import SMALL

MOST_QUICK_EVENTS = 20_000


def test_every_campaign_but_the_demo_has_a_page() -> None:
    files = {file.stem for file in CAMPAIGNS.glob("*.toml")}
    assert files - {"demo"} == {*ANSWERS}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_page_was_made_from_the_campaign_as_it_is(name: str) -> None:
    text = (command.PAGES / f"{name}.md").read_text("utf-8")
    made = DIGEST.search(text)
    assert made, "the page names no campaign file"
    current = find(name).digest
    assert made["name"] == name
    assert made["digest"] == current, f"run `python -m bench.results {name}`"
    for picture in ANSWERS[name].pictures:
        assert (command.PAGES / f"{name}-{picture.name}.svg").is_file()


def test_the_hash_is_of_what_the_file_says(tmp_path: Path) -> None:
    def digest(text: str) -> str:
        file = tmp_path / "campaign.toml"
        file.write_text(text)
        return Shipped("campaign", file).digest

    assert digest(SMALL) == digest(f"# A remark.\n{SMALL}")
    assert digest(SMALL) != digest(SMALL.replace("seeds = 2", "seeds = 3"))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_quick_campaign_is_small(name: str) -> None:
    campaign = shrunk(load_campaign(find(name).file))
    assert make_plan(campaign).events < MOST_QUICK_EVENTS


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "insertion-mixed"
    return run(find("insertion-mixed"), folder, quick=True)


@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "insertion-mixed"])
def test_a_quick_campaign_gives_a_page(name: str, tmp_path: Path) -> None:
    folder = run(find(name), tmp_path / "work", quick=True)
    text = write_page(find(name), folder, tmp_path / "pages").read_text("utf-8")
    _check_whole(text, name, tmp_path / "pages")


def test_conclusions_follow_the_tables(mixed: Path, tmp_path: Path) -> None:
    """The same page from figures that say the contrary says the contrary; from runs that are too
    short or drift, nothing."""
    name = "insertion-mixed"
    text = write_page(find(name), mixed, tmp_path / "pages").read_text("utf-8")
    _check_whole(text, name, tmp_path / "pages")
    reading = Reading(mixed)
    found = reading.mean("bounded k=4n", "anybody", 16, "control_per_message")
    assert found is not None
    assert found.is_unsteady  # of so few messages
    assert f"| {with_interval(found)} |" in text
    assert with_interval(found).endswith(" †")
    assert "least with" not in text
    assert "extra messages a message: not all runs were steady, so that nothing is conclu" in text

    other = tmp_path / "other"
    shutil.copytree(mixed, other)
    file = other / "runs" / "table.parquet"
    whole = pq.read_table(file)
    _change(file, short=pc.fill_null(pc.if_else(True, "", whole["short"]), ""))
    settled = write_page(find(name), other, tmp_path / "settled").read_text("utf-8")
    assert "extra messages a message: least with all 64" in settled
    assert "†" not in settled.partition("## How it was made")[0]

    # Planted: one variant drifts by 5 % in its extra messages, and in nothing else.
    drifts = pc.if_else(pc.equal(whole["variant"], "bounded k=4n"), 0.05, 0.0)
    seeded = pc.add(drifts, pc.multiply(whole["seed"].cast(pa.float64()), 1e-5))
    _change(file, drift_control=seeded)
    drifting = write_page(find(name), other, tmp_path / "drifting").read_text("utf-8")
    assert "extra messages a message: not all runs were steady" in drifting
    assert "ordering bytes a message: least with" in drifting
    _change(file, drift_control=pc.multiply(seeded, 0.0))

    whole = pq.read_table(file)
    place = whole.schema.get_field_index("control_per_message")
    is_same = pc.equal(whole["variant"], "bounded k=4n")
    raised = pc.if_else(is_same, pa.scalar(1e6), whole["control_per_message"])
    pq.write_table(whole.set_column(place, whole.schema.field(place), raised), file)
    changed = write_page(find(name), other, tmp_path / "changed").read_text("utf-8")
    assert "most with all 64 (1,000,000)" in changed


def _change(file: Path, **columns: Any) -> None:
    whole = pq.read_table(file)
    for name, values in columns.items():
        place = whole.schema.get_field_index(name)
        field = whole.schema.field(place)
        array = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else None
        array = pa.array([values.as_py()] * len(whole), field.type) if array is None else array
        whole = whole.set_column(place, field, array)
    pq.write_table(whole, file)


def _check_whole(text: str, name: str, pages: Path) -> None:
    made = DIGEST.search(text)
    assert made
    assert made["digest"] == find(name).digest
    assert text.count("\n## ") >= 3
    assert "| --- |" in text
    assert load_campaign(find(name).file).question.split()[0] in text
    for word in ("nan", "None", "inf "):
        assert word not in text.replace("none", "").replace("information", "")
    for picture in ANSWERS[name].pictures:
        assert (pages / f"{name}-{picture.name}.svg").read_text("utf-8").startswith("<svg")


def test_a_campaign_whose_protocol_is_not_there_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = find("daisy").file.read_text("utf-8").replace('"daisy", options', '"tulip", options')
    (tmp_path / "daisy.toml").write_text(text)
    with pytest.raises(BadFile, match="there is no protocol 'tulip'"):
        load_campaign(tmp_path / "daisy.toml")
    monkeypatch.setattr(command, "find", lambda name: shipped.find(name, tmp_path))
    assert command.main(["daisy", "--work", str(tmp_path / "work"), "--quick"]) == 2
    told = capsys.readouterr().err
    assert "daisy" in told
    assert "there is no protocol 'tulip'" in told
    assert not (tmp_path / "work").exists()


def test_an_unknown_page_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command.main(["rose"])
    assert caught.value.code == 2
    assert "no page rose" in capsys.readouterr().err


def test_numbers_for_people() -> None:
    assert [number(value) for value in (0, 0.01234, 1.234, 123.4, 1234.5)] == [
        *("0", "0.0123", "1.23", "123", "1,234"),
    ]
    assert with_interval(estimate([1.0, 2.0, 3.0])) == "2.0 ± 2.5"
    assert with_interval(estimate([5.0, 5.0])) == "5.00"
    assert with_interval(estimate([])) == "–"


def test_a_claim_is_decided_by_differences_beyond_chance() -> None:
    more, less, unclear = estimate([4.9, 5.1]), estimate([-4.9, -5.1]), estimate([-1.0, 1.5])
    assert increasing([more, more]) == "holds here"
    assert increasing([more, less]) == "does not hold here"
    assert increasing([more, unclear]) == "is not decided beyond chance"
    assert increasing([None]) == "is not decided beyond chance"
