"""The pages on chapters of *Causal separators* keep their word: their Python runs, from top to
bottom."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
from markdown_it import MarkdownIt

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(("page", "count"), [("incomplete-orders.md", 5), ("joins.md", 8)])
def test_the_examples_run(page: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DOCS / page
    module = ModuleType(file.stem.replace("-", "_") + "_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    blocks = [
        token
        for token in MarkdownIt().parse(file.read_text("utf-8"))
        if token.type == "fence" and token.info == "python" and token.map
    ]
    assert len(blocks) == count
    for block in blocks:
        start = block.map[0] if block.map else 0
        padded = "\n" * (start + 1) + block.content  # so that a traceback names the page's line
        exec(compile(padded, str(file), "exec", dont_inherit=True), module.__dict__)
