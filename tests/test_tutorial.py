"""Every command of the tutorial runs, and ends as it says."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tutorial.md"
FILES = {"csv": "log.csv", "toml": "grid.toml"}
"""Where the page says that a block is to be saved."""


def blocks() -> Iterator[tuple[str, str]]:
    """The language and the text of every block of code."""
    for token in MarkdownIt().parse(PAGE.read_text("utf-8")):
        if token.type == "fence":
            yield token.info, token.content


def test_the_tutorial(tmp_path: Path) -> None:
    commands = 0
    for language, text in blocks():
        if language in FILES:
            (tmp_path / FILES[language]).write_text(text)
        elif language == "python":
            call(tmp_path, ["-c", text])
        else:
            assert language == "sh"
            for line in text.splitlines():
                words = shlex.split(line, comments=True)
                expected = re.search(r"# exit status (\d)", line)
                assert words[0] == "antecede"
                call(tmp_path, ["-m", *words], int(expected[1]) if expected else 0)
                commands += 1
    assert commands > 12


def call(folder: Path, arguments: list[str], expected: int = 0) -> None:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == expected, (arguments, done.stdout, done.stderr)
