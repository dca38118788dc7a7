"""Every table of the documentation says which command makes it, and that command exists."""

import re
import subprocess
from collections.abc import Collection
from importlib.util import find_spec

import pytest

from bench.__main__ import BENCHMARKS
from bench.docs import ROOT, put_table
from bench.errata.__main__ import MEASUREMENTS
from bench.explored import TABLES as EXPLORED
from bench.made import LONG, MADE, Table, has_figures, pages, signed, tables
from bench.results.answers import ANSWERS

FOUND = [
    table
    for page in pages()
    for table in tables(str(page.relative_to(ROOT)), page.read_text("utf-8"))
]
KNOWN: dict[str, Collection[str]] = {
    "bench": BENCHMARKS,
    "bench.errata": MEASUREMENTS,
    "bench.explored": EXPLORED,
    "bench.results": ANSWERS,
}
"""What commands take for their first argument."""


def fault(table: Table) -> str:
    """What is wrong with the source of a table; empty if nothing is."""
    source = table.source
    if not source:
        return "names no source: put `<!-- table: COMMAND -->`, or `words`, on the line above it"
    if source.startswith("words"):
        tested = re.fullmatch(r"words; tested by (\S+)", source)
        if tested and not (ROOT / tested[1]).is_file():
            return f"{tested[1]} does not exist"
        return "" if tested or not has_figures(table) else "is of words, and has figures"
    if source == "make docs":
        return ""
    module, arguments = _command(source)
    if not module or find_spec(module) is None:
        return f"{source} is no command"
    if module in KNOWN and (not arguments or arguments[0] not in KNOWN[module]):
        return f"{source}: there is no such argument"
    if module in LONG and not table.made:
        return f"{source} takes long: say when it was made and at which revision"
    return ""


def _command(source: str) -> tuple[str, list[str]]:
    found = re.fullmatch(r"python -m ([\w.]+)((?: \S+)*)", source)
    return (found[1], found[2].split()) if found else ("", [])


def test_there_are_tables_of_all_kinds() -> None:
    assert len(FOUND) > 90
    sources = {table.source.partition(" ")[0] for table in FOUND}
    assert sources == {"python", "make", "words", "words;"}


@pytest.mark.parametrize("table", FOUND, ids=str)
def test_a_table_has_a_generator(table: Table) -> None:
    assert not fault(table)


PLAIN = "| a | b |\n|---|---|\n| x | {} |\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (PLAIN, "names no source"),
        ("# T\n\n" + "\n" * 12 + "Written by `make docs`.\n\n" + PLAIN, "names no source"),
        (f"<!-- table: words -->\n{PLAIN}", "is of words, and has figures"),
        (f"<!-- table: python -m bench.nonesuch -->\n{PLAIN}", "is no command"),
        (f"<!-- table: python -m bench.errata nonesuch -->\n{PLAIN}", "no such argument"),
        (f"<!-- table: python -m bench.explored pairs -->\n{PLAIN}", "takes long"),
        (f"<!-- table: words; tested by tests/nonesuch.py -->\n{PLAIN}", "does not exist"),
        (f"<!-- table: words -->\n\n{PLAIN}\n\n{PLAIN}", "is of words, and has figures"),
    ],
)
def test_what_has_none_is_found(text: str, complaint: str) -> None:
    """Planted."""
    (table, *_) = tables("page", text.format(*["1,234 ± 5"] * text.count("{}")))
    assert complaint in fault(table)


def test_sources_that_are_named() -> None:
    written = "# T\n\nWritten by `python -m bench.zoo`; do not edit.\n\n" + PLAIN
    part = "<!-- p: written by `make docs` -->\n" + PLAIN + "<!-- end of p -->\n\n" + PLAIN
    assert [table.source for table in tables("", written)] == ["python -m bench.zoo"]
    assert [table.source for table in tables("", part)] == ["make docs", ""]
    (table,) = tables(
        "", "<!-- table: python -m bench.fuzz; made 2026-01-02 at revision 1234567 -->\n" + PLAIN
    )
    assert (table.source, table.made) == ("python -m bench.fuzz", True)
    (table,) = tables("", signed(written))
    assert table.made
    assert MADE.search(signed(written))


def test_a_table_is_put_in_the_place_of_another() -> None:
    page = "before\n\n<!-- table: C -->\n| old |\n|---|\n\nafter\n"
    assert put_table(page, "C", "| new |\n|---|\n") == page.replace("old", "new")


def test_revisions_are_in_the_history() -> None:
    """A reader can check out what a page names, unless the history is cut off or not there."""
    shallow = _git("rev-parse", "--is-shallow-repository")
    if shallow.stdout.strip() != "false":
        pytest.skip("this is no checkout with its whole history")
    named = {found[2] for page in pages() for found in MADE.finditer(page.read_text("utf-8"))}
    assert len(named) > 3
    known = {
        one for one in named if not _git("merge-base", "--is-ancestor", one, "HEAD").returncode
    }
    assert known == named


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
