"""Options of the daisy that cannot do what they say are refused, with what to do instead."""

import re
from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.message import Membership
from antecede.order import Event, Notice
from antecede.overlays.daisy.options import DaisyOptions
from antecede.protocols import find, parse_options
from bench import daisy_options, daisy_page
from bench.daisy import Setting, measure
from bench.docs import ROOT


def make(**options: Any) -> None:
    find("daisy")(0, Membership(12), parse_options("daisy", options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"latecomers": [3, 4], "talks_with": [[0]]}, "talks_with: lists 1 sets"),
        ({"copies": 2}, "copies=2: only local=recipients counts copies"),
        ({"copies": 0, "local": "server"}, "copies=0: only local=recipients counts copies"),
        ({"split_above": 1}, "split_above=1: .* make it 3 or more, or 0"),
        ({"split_above": 2}, "split_above=2: .* make it 3 or more, or 0"),
        ({"merge_below": 1}, "merge_below=1: no group is smaller; make it 2 or more, or 0"),
        ({"groups": [[], list(range(12))]}, "groups: group 0 is empty; drop it"),
        ({"groups": [[0, 1, 2]]}, r"every process is in one local group; they list \[0, 1, 2\]"),
    ],
)
def test_what_cannot_work_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(Misuse, match=words):
        make(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"copies": 2, "local": "recipients"},
        {"copies": 1},
        {"split_above": 3, "merge_below": 2},
        {"split_above": 0, "merge_below": 0},
    ],
)
def test_what_works_is_not(options: dict[str, Any]) -> None:
    make(**options)


@pytest.mark.parametrize(
    ("where", "told"),
    [("group 0", "group 0 is merged"), ("group 0 and group 2", "group 0 and group 2 are merged")],
)
def test_one_is_and_two_are_merged(where: str, told: str) -> None:
    assert Notice(Event.MERGE, where).sentence() == told


def test_the_page_has_all_options_and_their_defaults() -> None:
    page = (ROOT / "docs" / "daisy.md").read_text("utf-8")
    table = page.partition("| option | default | what |")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for line in table.splitlines()[2:]:
        _, options, defaults, *_ = line.split("|")
        words = [word.partition(":")[0].strip(" `") for word in defaults.split(", ")]
        found |= dict(zip(options.replace("`", "").split(","), words, strict=False))
    found = {name.strip(): default for name, default in found.items()}
    chosen = DaisyOptions()
    expected = {name: getattr(chosen, name) for name in chosen.__struct_fields__}
    assert found == {name: written(value) for name, value in expected.items()}


def written(value: object) -> str:
    """A default as the page has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "[]" if value == () else f"{value:g}" if isinstance(value, float) else str(value)


def test_the_page_of_sizes_warns_of_groups_of_two() -> None:
    page = daisy_page.PAGE.read_text("utf-8")
    assert daisy_page._suits() in page, "run `python -m bench.daisy --full`"
    result = measure(Setting((2, 2), 1, 2))
    pairs, triples = (
        "".join(daisy_page._best({Setting(sizes, 1, 2): result}))
        for sizes in ((2, 2, 4, 4), (4, 4, 4))
    )
    warning = "but a group of two cannot lose its senior member"
    assert warning in pairs
    assert warning not in triples
    named = re.findall(r"simulated, (\S+) takes the fewest packets in all \(([^)]*)\)", page)
    assert len(named) == 2 * len(daisy_page.MESSAGES)
    assert all((warning in words) == ("2" in sizes.split("·")) for sizes, words in named)


def test_the_page_of_prices_has_packing() -> None:
    page = daisy_options.PAGE.read_text("utf-8").partition("\n## Packing\n")[2]
    rows = [line.split(" | ")[:2] for line in page.splitlines() if line.startswith("| ")][2:]
    assert rows == [
        [f"| {rate:,.0f}", f"{pack_s:g}"]
        for rate in daisy_options.RATES
        for pack_s in daisy_options.PACK_S
    ], "run `python -m bench.daisy_options`"
