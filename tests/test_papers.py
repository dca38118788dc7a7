"""docs/papers.md names tests, commands and figures: all of them exist."""

import re
import shlex
from functools import cache
from typing import NamedTuple

import pytest

from tests.commands import ROOT, flaws_of_command

PAGE = ROOT / "docs" / "papers.md"
HEADER = "| section | claim, figure or mechanism | found | shown by | command |"
VERDICTS = ("holds", "repaired", "false", "incomplete", "done", "measured", "answered")


class Row(NamedTuple):
    section: str
    claim: str
    found: str
    tests: str
    command: str


def rows() -> list[Row]:
    lines = PAGE.read_text("utf-8").splitlines()
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("| ")]
    return [Row(*map(str.strip, row)) for row in cells if "section" not in row[0]]


ROWS = rows()
IDS = [f"{row.section}: {row.claim[:40]}" for row in ROWS]


@cache
def all_tests() -> frozenset[str]:
    found = set[str]()
    for file in (ROOT / "tests").rglob("test_*.py"):
        found |= set(re.findall(r"^(?:async )?def (test_\w+)", file.read_text("utf-8"), re.M))
    return frozenset(found)


def flaws(row: Row) -> list[str]:
    """What a row names that does not exist."""
    found = [] if row.found.startswith(VERDICTS) else [f"'{row.found}' begins with no verdict"]
    tests = re.findall(r"`(\w+)`", row.tests)
    found += [f"no test {name}" for name in tests if name not in all_tests()]
    found += [] if tests else ["no test"]
    commands = re.findall(r"`([^`]+)`", row.command)
    found += [] if commands else ["no command"]
    for command in commands:
        found += _flaws_of_command(shlex.split(command))
    return found + _flaws_of_links(row.found)


def _flaws_of_command(words: list[str]) -> list[str]:
    files = [word for word in words if word.endswith((".toml", ".py"))]
    if words[:3] == ["python", "-m", "bench.results"]:
        files += [f"campaigns/{name}.toml" for name in words[3:]]
    missing = [f"no file {file}" for file in files if not (ROOT / file).exists()]
    return missing + flaws_of_command(words)


def _flaws_of_links(text: str) -> list[str]:
    """Pages, their sections, and what is quoted from them."""
    found, pages = [], ""
    for page, _, anchor in (link.partition("#") for link in re.findall(r"\]\(([^)]+)\)", text)):
        file = PAGE.parent / page
        if not file.exists():
            found.append(f"no page {page}")
            continue
        content = file.read_text("utf-8")
        pages += " ".join(content.split())
        if anchor and anchor not in map(_anchor, re.findall(r"^#+ (.*)", content, re.M)):
            found.append(f"no section #{anchor} in {page}")
    quoted = re.findall(r'"([^"]+)"', text)
    return found + [
        f"'{quote}' is quoted and stands nowhere" for quote in quoted if quote not in pages
    ]


def _anchor(title: str) -> str:
    """The anchor that GitHub makes of a title."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_everything_that_is_named_exists(row: Row) -> None:
    assert flaws(row) == []


def test_five_papers_have_a_table() -> None:
    assert PAGE.read_text("utf-8").count(HEADER) == 5
    assert len(ROWS) > 60


def test_what_does_not_exist_is_noticed() -> None:
    row = Row(
        "1",
        "claim",
        'holds: "no such figure" ([errata](errata.md#no-such-section))',
        "`test_no_such_test`",
        "`antecede simulate --no-such-flag`, `python -m bench.no_such_module`, `antecede nothing`",
    )
    assert len(flaws(row)) == 6
