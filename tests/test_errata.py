"""docs/errata.md keeps its word: its tests exist, its commands parse, its figures are measured."""

import ast
import re
import shlex
from fnmatch import fnmatch
from pathlib import Path

import pytest

from antecede.cli import load
from antecede.cli._shared import parse_option_flags
from antecede.protocols import parse_options
from bench.errata.__main__ import MEASUREMENTS, heading, page

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "errata.md"
FOLDERS = ("papers", "overlays")
TEXT = PAGE.read_text("utf-8")
SPANS = re.findall(r"`([^`]+)`", re.sub(r"(?m)^ {4}.*$", "", TEXT))
HEADINGS = re.findall(r"(?m)^###? (.+)$", TEXT)
COMMANDS = re.findall(r"(?m)^ {4}antecede (.+)$", TEXT)
QUICK = ["rounds", "notes", "deadlocks"]


def files() -> list[Path]:
    return [path for folder in FOLDERS for path in (ROOT / "tests" / folder).glob("test_*.py")]


def defined() -> set[str]:
    """The names of all tests of the papers and the overlays."""
    return {
        node.name
        for path in files()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_test_on_the_page_exists() -> None:
    named = [span for span in SPANS if re.fullmatch(r"test_\w+\*?", span)]
    names = defined()
    assert len(named) > 100
    assert [one for one in named if not any(fnmatch(name, one) for name in names)] == []


def test_every_file_on_the_page_exists() -> None:
    named = [span for span in SPANS if re.fullmatch(r"[\w/*-]+\.(py|md)", span)]
    assert named
    missing = [one for one in named if not any([*ROOT.glob(one), *ROOT.glob(f"tests/*/{one}")])]
    assert missing == []


def test_every_section_is_in_the_contents() -> None:
    """By the anchor that a heading is given where the page is shown."""
    linked = re.findall(r"\]\(#([^)]+)\)", TEXT)
    sections = re.findall(r"(?m)^### (.+)$", TEXT)
    anchors = [re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in sections]
    assert linked == anchors
    assert len(set(anchors)) == len(anchors)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_on_the_page_parses(command: str) -> None:
    name, *arguments = shlex.split(command)
    parsed = load(name).make_context(name, arguments).params
    parse_options(parsed["protocol"], parse_option_flags(parsed["option"]))


def test_every_measurement_belongs_to_a_section() -> None:
    assert [
        name for name, measure in MEASUREMENTS.items() if heading(measure) not in HEADINGS
    ] == []


@pytest.mark.parametrize("name", QUICK)
def test_figures_are_those_on_the_page(name: str) -> None:
    """The other ones: `python -m bench.errata`."""
    text = page()
    figures = MEASUREMENTS[name]()
    assert figures
    assert [figure for figure in figures if figure not in text] == []
