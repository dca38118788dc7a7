"""The generated pages are what the code generates; commands on any page could be called."""

import re
import shlex
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bench import docs
from bench.made import pages
from tests.commands import ROOT, flaws_of_command

OURS = re.compile(r"(?:antecede|python -m|make) +[a-z]")


def test_the_page_of_protocols_has_their_needs() -> None:
    page = docs.PAGE.read_text("utf-8")
    assert page.startswith(docs.needs_and_gives()), "run `make docs`"


def test_the_page_of_protocols_has_the_measured_figures() -> None:
    """One of its tables, measured again: a change that moves it moves the others, too."""
    page = docs.PAGE.read_text("utf-8")
    _, fields = docs.TRAFFIC["Broadcast in one group"]
    for name in ("vector", "pairs", "blocks-slow"):
        row = docs.markdown((), [docs.measured_row(*docs.run(name, 8, fields))]).splitlines()[-1]
        assert row in page, "run `make docs`"


def test_the_page_of_campaigns_has_the_columns() -> None:
    page = docs.CAMPAIGNS.read_text("utf-8")
    assert docs.with_campaign_tables(page) == page, "run `make docs`"


def commands(text: str) -> Iterator[tuple[str, bool]]:
    """The commands of a page, and whether each stands in a sentence."""
    for token in _code(MarkdownIt().enable("table").parse(text)):
        is_spoken = token.type == "code_inline"
        lines = re.sub(r"\\\n\s*", "", token.content)
        for line in [lines.replace("\n", " ")] if is_spoken else lines.splitlines():
            if OURS.match(line := line.removeprefix("$ ")):
                yield line, is_spoken


def _code(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        if token.type in ("code_inline", "fence"):
            yield token
        yield from _code(token.children or [])


def flaws(line: str, is_spoken: bool) -> list[str]:
    """A sentence may name a command without all that it needs."""
    words = shlex.split(re.split(r" [|>&;] |;$", line)[0], comments=True)
    unfinished = re.compile(r"antecede \w+: (Missing |Option .* requires )")
    return [one for one in flaws_of_command(words) if not (is_spoken and unfinished.match(one))]


def test_commands_could_be_called() -> None:
    found = dict[tuple[str, str], list[str]]()
    for page in pages():
        shown = list(commands(page.read_text("utf-8")))
        if page.name == "README.md":
            shown = [(line, False) for line, _ in shown]
            assert len(shown) > 4
        found |= {
            (page.name, line): flaw for line, spoken in shown if (flaw := flaws(line, spoken))
        }
    assert found == {}


def test_commands_that_could_not_are_found() -> None:
    page = """Call `antecede view` or `antecede view --nothing`.
```
$ antecede campaign run \\
    --nothing demo
antecede view
```
"""
    found = [flaws(*command) for command in commands(page)]
    assert [bool(one) for one in found] == [False, True, True, True]


def test_the_map_has_every_room_and_no_other() -> None:
    """ARCHITECTURE.md: each module and each folder of the package, and what else it names."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    named = set(re.findall(r"`([\w/.]+(?:/|\.py))`", text))
    package = ROOT / "src" / "antecede"
    parents = (ROOT, ROOT / "src", package, package / "live", ROOT / "bench")
    missing = {one for one in named if not any((parent / one).exists() for parent in parents)}
    assert missing == {"tests/NAME/", "src/antecede/NAME/"}
    rooms = {f"{one.relative_to(package)}/" for one in package.rglob("*/") if any(one.glob("*.*"))}
    modules = {one.name for one in package.glob("*.py")}
    assert {one for one in rooms | modules if "__" not in one} <= named
