"""Campaign files: what they may say, and how mistakes are named."""

from pathlib import Path

import pytest

from antecede.campaigns.file import load_campaign
from antecede.errors import BadFile
from antecede.protocols import names
from antecede.scaled import scale
from tests.campaigns.files import SMALL, save


def mistakes_of(folder: Path, text: str) -> list[str]:
    with pytest.raises(BadFile) as caught:
        load_campaign(save(folder, text))
    return caught.value.mistakes


def test_a_file_is_read(tmp_path: Path) -> None:
    campaign = load_campaign(save(tmp_path))
    assert campaign.name == "small"
    assert campaign.seeds == [1, 2]
    assert [entry.name for entry in campaign.protocols] == ["vector", "fifo", "none"]
    assert [entry.kind for entry in campaign.workloads] == ["broadcast", "multicast"]


def test_every_mistake_is_named_with_its_line(tmp_path: Path) -> None:
    text = SMALL.replace("seeds = 2", "seeds = 0").replace("size =", "sise =")
    text = text.replace('"fifo"', '"fifi"').replace("rate = 20.0", "rate = -1")
    known = ", ".join(names())
    assert mistakes_of(tmp_path, text) == [
        "line 3: seeds: there have to be some (it is 0)",
        (
            f"line 6: protocols[1]: there is no protocol 'fifi'; there are {known}; one of "
            "your own goes by module:Class"
        ),
        (
            "line 16: workloads[0].rate: '-1' is neither a number above 0 nor of the form 16/n "
            "(16 in all)"
        ),
        "line 21: workloads[1].sise: there is no such field",
    ]


def test_a_wrong_option_is_named(tmp_path: Path) -> None:
    text = SMALL.replace('"fifo"', '{ name = "bounded", options = { q = 3 } }')
    (mistake,) = mistakes_of(tmp_path, text)
    assert mistake.startswith("line 6: protocols[1]: options of bounded:")
    assert mistake.endswith("it knows: k")
    text = SMALL.replace('"fifo"', '{ name = "bounded", options = { k = "3m" } }')
    (mistake,) = mistakes_of(tmp_path, text)
    assert "options of bounded: k: expected int" in mistake


def test_options_of_all_protocols_are_refused(tmp_path: Path) -> None:
    text = SMALL.replace('"fifo"', '{ name = "all", options = { k = 3 } }')
    (mistake,) = mistakes_of(tmp_path, text)
    assert mistake == "line 6: protocols[1]: options belong to one protocol; 'all' has none"


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ('name = "sets"', 'name = "broadcast"', "there are 2 called 'broadcast'; name them apart"),
        ("processes = [3]", "processes = [3, 3]", "has a number twice"),
        ("seeds = 2", "seeds = []", "is empty"),
        (
            'messages = "8n"',
            'messages = "n8"',
            "'n8' is neither a number from 1 on nor of the form 2n",
        ),
        ('traces = "interesting"', 'traces = "some"', "'none', 'interesting' or 'all'"),
        ('kind = "broadcast"', 'kind = "anycast"', "'anycast'"),
    ],
)
def test_mistakes(tmp_path: Path, old: str, new: str, mistake: str) -> None:
    (found,) = mistakes_of(tmp_path, SMALL.replace(old, new))
    assert mistake in found


def test_no_file_and_no_toml(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="there is no such file"):
        load_campaign(tmp_path / "missing.toml")
    assert "cannot be read as TOML" in mistakes_of(tmp_path, "name = ")[0]


def test_a_list_of_values_spans_options(tmp_path: Path) -> None:
    entry = '{ name = "bounded", options = { k = ["n", "2n", [3, 4, 5]] } }'
    campaign = load_campaign(save(tmp_path, SMALL.replace('"fifo"', entry)))
    assert campaign.protocols[1].combinations() == [{"k": "n"}, {"k": "2n"}, {"k": [3, 4, 5]}]


def test_files_are_looked_for_beside_the_campaign(tmp_path: Path) -> None:
    text = SMALL.replace('name = "flat"', 'name = "flat"\ntopology = { 3 = "nets/net.graphml" }')
    campaign = load_campaign(save(tmp_path, text))
    assert campaign.networks[0].topology == {"3": str(tmp_path / "nets/net.graphml")}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(7, 7), ("n", 12), ("2n", 24), ("0.5n", 6), ("n/5", 2), ("3n/2", 18), ("n^2", 144)],
)
def test_numbers_grow_with_the_processes(value: int | str, expected: int) -> None:
    assert scale(value, 12) == expected


def test_other_values_do_not_grow() -> None:
    assert [scale(value, 12) for value in ("tree", "n/0", None, True)] == [
        "tree",
        "n/0",
        None,
        True,
    ]
