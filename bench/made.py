"""Where the tables of the documentation come from.

Every table in README.md and docs/ has a source: the command on the line above it
(`<!-- table: python -m bench.routed --write -->`), the part of the page that `make docs` writes, or
the command that wrote the whole page ("Written by `python -m …`", at its top). A table of words has
the source `words`, and no figures in it, unless a test keeps them true (`words; tested by FILE`);
`<!-- tables: words -->` at the top of a page is for all of its tables.
What takes long to make again says when it was made, and at which revision: beside the command, or
at the end of the page (`signed`). Where that revision is gone because commits were squashed, it
says `before` the first revision that has all of its code.
"""

import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bench.docs import ROOT

LONG = {
    *("bench", "bench.spark", "bench.live", "bench.daisy", "bench.daisy_fuzz", "bench.fuzz"),
    *("bench.explored", "bench.guided", "bench.results", "bench.scale", "bench.zoo"),
    *("bench.daisy_grow", "bench.resequence_spark", "bench.cost"),
}
"""Modules whose tables take long."""
MADE = re.compile(r"[Mm]ade (?:on )?(\d{4}-\d\d-\d\d) (?:at|before) revision ([0-9a-f]{7,})")
_MARK = re.compile(r"<!-- table: (.+?) -->")
_WRITTEN = re.compile(r"Written by `([^`]+)`|<!-- tables: (words.*?) -->")
_PART = re.compile(r"<!-- [\w-]+: written by `([^`]+)` -->")
_RULE = re.compile(r"\|(?: ?:?-+:? ?\|)+")
_FIGURE = re.compile(r"[~+-]?[\d.,]+(?: ?[%±×→–-] ?[\d.,]+| ?(?:%|s|ms|bytes))*")
_HEAD = 12
"""Lines in which a page says who wrote it."""


class Table(NamedTuple):
    page: str
    line: int
    source: str
    """Empty where none is named."""
    cells: tuple[str, ...]
    made: bool
    """Whether it says when and at which revision it was made."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def tables(page: str, text: str) -> Iterator[Table]:
    """All tables of a page, with their sources."""
    lines = text.splitlines()
    head = _WRITTEN.search("\n".join(lines[:_HEAD]))
    is_signed = MADE.search(_MARK.sub("", text)) is not None
    part = ""
    for place, line in enumerate(lines):
        if found := _PART.search(line):
            part = found[1]
        elif line.startswith("<!-- end of"):
            part = ""
        if place and _RULE.fullmatch(line) and lines[place - 1].startswith("|"):
            above = next((one for one in reversed(lines[: place - 1]) if one.strip()), "")
            mark = _MARK.fullmatch(above)
            source = mark[1] if mark else part or (head[1] or head[2] if head else "")
            command = source.partition(";")[0].strip() if not source.startswith("words") else source
            is_made = is_signed or bool(MADE.search(source))
            yield Table(page, place, command, _cells(lines[place + 1 :]), is_made)


def _cells(lines: list[str]) -> tuple[str, ...]:
    """Of the rows that follow, up to the first line that is none."""
    cells: list[str] = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells += [cell.strip() for cell in line.strip("|").split("|")]
    return tuple(cells)


def has_figures(table: Table) -> bool:
    """Whether a cell is a number, or numbers and units."""
    return any(_FIGURE.fullmatch(cell) for cell in table.cells)


def now() -> str:
    """The day and the revision."""
    command = ["git", "rev-parse", "--short=7", "HEAD"]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    revision = asked.stdout.strip()
    return f"{datetime.now(UTC).date()}" + (f" at revision {revision}" if revision else "")


def signed(text: str) -> str:
    """A page that was made now, with the day and the revision."""
    return f"{text.rstrip()}\n\nMade on {now()}.\n"
