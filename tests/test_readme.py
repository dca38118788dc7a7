"""README.md and the overview keep their word: their Python runs, and so do their commands."""

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from markdown_it import MarkdownIt

README = Path(__file__).resolve().parent.parent / "README.md"
OVERVIEW = README.parent / "docs" / "overview.md"
PROGRESS = re.compile(r"^.*: [\d,]+ of [\d,]+(?:;.*)?\n", re.MULTILINE)
SHELL_LANGUAGES = {"bash", "console", "sh", "shell"}


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of README.md where the text begins."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """One call of `antecede` in a shell block: its arguments, and the line where it begins."""

    arguments: tuple[str, ...]
    line: int


def fenced_blocks(markdown: str) -> Iterator[Block]:
    for token in MarkdownIt().parse(markdown):
        if token.type == "fence" and token.map is not None:
            language = (token.info.split() or [""])[0]
            # token.map counts from 0 and points at the fence, the text begins one line below
            yield Block(language, token.content, token.map[0] + 2)


def shell_lines(block: Block) -> Iterator[tuple[int, str]]:
    """The commands of a block, continuation lines joined; in a console, only what follows `$`."""
    joined, begins = "", block.line
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if not joined:
            begins = number
            if block.language == "console":
                if not line.startswith("$ "):
                    continue
                line = line.removeprefix("$ ")  # noqa: PLW2901
        joined += line.removesuffix("\\")
        if not line.endswith("\\"):
            yield begins, joined
            joined = ""


def antecede_commands(block: Block) -> Iterator[Command]:
    for number, line in shell_lines(block):
        if "antecede" not in line:
            continue
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        is_redirection_target = False
        for word in [*lexer, ";"]:
            if set(word) <= set(";|&()"):
                while words and "=" in words[0]:
                    words.pop(0)  # a variable set for this command only
                if words and Path(words[0]).name == "antecede":
                    yield Command(tuple(words[1:]), number)
                words = []
                is_redirection_target = False
            elif set(word) <= set("<>&"):
                is_redirection_target = True
            elif is_redirection_target:
                is_redirection_target = False
            else:
                words.append(word)


BLOCKS = [
    block
    for page in (README, OVERVIEW)
    for block in fenced_blocks(page.read_text(encoding="utf-8"))
]
PYTHON_BLOCKS = [block for block in BLOCKS if block.language == "python"]
COMMANDS = [
    command
    for block in BLOCKS
    if block.language in SHELL_LANGUAGES
    for command in antecede_commands(block)
]


def test_readme_has_a_python_block() -> None:
    assert PYTHON_BLOCKS, "README.md shows no Python"


@pytest.mark.parametrize("block", PYTHON_BLOCKS, ids=lambda block: f"line-{block.line}")
def test_python_block_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A module of its own, as for a script: classes defined in the block find their annotations.
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    padded = "\n" * (block.line - 1) + block.text  # so that a traceback names README.md's line
    exec(compile(padded, str(README), "exec", dont_inherit=True), module.__dict__)


def test_commands_run(tmp_path: Path) -> None:
    """One after the other, as a reader would run them: later ones read what earlier ones wrote."""
    for folder in ("campaigns", "scenarios"):
        (tmp_path / folder).symlink_to(README.parent / folder)
    assert COMMANDS
    for command in COMMANDS:
        result = subprocess.run(
            [Path(sysconfig.get_path("scripts")) / "antecede", *command.arguments],
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        where = f"README.md, line {command.line}: {result.stderr}"
        assert result.returncode in (0, 1), where  # 1 answers a question with no
        assert result.stdout, where
        assert not PROGRESS.sub("", result.stderr), where
