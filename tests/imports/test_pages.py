"""docs/import.md, docs/trace-format.md and their kin keep their word: files and commands are those
of the page, and what is printed, too."""

import shlex
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from antecede.trace.schema import EXTRA, ORDERED, SCHEMA
from tests.cli.conftest import Antecede, antecede

__all__ = ["antecede"]
DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str) -> list[tuple[list[str], str]]:
    """The words after each fence, and its content."""
    tokens = MarkdownIt().parse((DOCS / page).read_text("utf-8"))
    return [(token.info.split(), token.content) for token in tokens if token.type == "fence"]


def test_the_page_of_imports(
    antecede: Antecede, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = 0
    for info, content in blocks("import.md"):
        if len(info) == 2:
            Path(info[1]).write_text(content)
            continue
        if info == ["python"]:
            exec(content, {})
            continue
        assert info == ["console"]
        for call in content.split("$ antecede ")[1:]:
            command, _, printed = call.partition("\n")
            told = antecede(*shlex.split(command))
            assert told.err + told.out == printed, command
            commands += 1
    assert commands == 9


def test_the_page_of_the_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "trace-format.md").read_text("utf-8")
    for name in (*SCHEMA.names, *EXTRA.names, ORDERED):
        assert f"`{name}`" in text
    for info, content in blocks("trace-format.md"):
        assert info == ["python"]
        exec(content, {})
