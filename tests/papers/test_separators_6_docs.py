"""docs/incomplete-orders.md keeps its word: its Python runs, from top to bottom."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
from markdown_it import MarkdownIt

PAGE = Path(__file__).resolve().parents[2] / "docs" / "incomplete-orders.md"


def test_the_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("incomplete_orders_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    blocks = [
        token
        for token in MarkdownIt().parse(PAGE.read_text("utf-8"))
        if token.type == "fence" and token.info == "python" and token.map
    ]
    assert len(blocks) == 5
    for block in blocks:
        start = block.map[0] if block.map else 0
        padded = "\n" * (start + 1) + block.content  # so that a traceback names the page's line
        exec(compile(padded, str(PAGE), "exec", dont_inherit=True), module.__dict__)
