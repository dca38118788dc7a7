"""The example of docs/live.md runs, and its commands exist."""

import re
from pathlib import Path

from tests.cli.conftest import Antecede, antecede

__all__ = ["antecede"]  # a fixture

PAGE = (Path(__file__).parents[2] / "docs" / "live.md").read_text(encoding="utf-8")


def test_the_example_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "live.md", "exec"), {"__name__": "live"})


def test_the_flags_exist(antecede: Antecede) -> None:
    for command in ("node", "chat"):
        text = re.sub(r"\x1b\[[0-9;]*m", "", antecede(command, "--help").out)
        lines = re.findall(rf"antecede {command} (.*)", PAGE)
        flags = {flag for line in lines for flag in re.findall(r"--[a-z-]+", line)}
        assert flags
        assert all(flag in text for flag in flags)
