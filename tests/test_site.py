"""The documentation as a site: it builds without a dead link, and a browser shows it as it is meant
to be."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.reference import COMMAND_LINE, FILES, command_line, files
from tests.browser import Visitor

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Strict: a link or an anchor that leads nowhere is a failure."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_a_browser_shows_it_without_asking_the_network(site: Path, visit: Visitor) -> None:
    for page, heading in (("index.html", "Antecede"), ("tutorial.html", "An hour with causal")):
        for width in (360, 1280):
            visited = visit(site / page, width=width)
            assert visited.page.locator("h1").inner_text().startswith(heading)
            assert not visited.scrolls_sideways()
            assert not visited.complaints


def test_the_site_is_searched_from_a_folder(site: Path, visit: Visitor) -> None:
    visited = visit(site / "index.html", width=1280)
    visited.page.fill('input[name="query"]', "witnesses checkpoint")
    visited.page.wait_for_selector('.md-search-result__link[href*="separators.html"]')
    assert not visited.complaints


def test_a_log_dropped_onto_the_site_is_judged(site: Path, visit: Visitor) -> None:
    visited = visit(site / "browser.html")
    visited.page.click("text=Drop a log here")
    visited.page.click("#example")
    visited.page.wait_for_selector('body[data-pictures="1"]')
    assert "Causal order was broken." in visited.page.inner_text("#told")
    assert not visited.complaints


def test_the_api_has_docstrings(site: Path, visit: Visitor) -> None:
    page = visit(site / "reference" / "api.html").page
    assert page.locator("text=Hold a protocol to the whole contract").count() == 1
    assert page.locator("text=The application sends").count() >= 1


@pytest.mark.parametrize("page", ["command-line", "files"])
def test_the_reference_is_that_of_the_code(page: str) -> None:
    """`make docs` writes it."""
    path, text = (COMMAND_LINE, command_line()) if page == "command-line" else (FILES, files())
    assert path.read_text("utf-8") == text
    assert not re.search(r"`[^`\n]*\\\|[^`\n]*`", text)  # the site would show the backslash


def test_every_field_has_a_meaning() -> None:
    assert "|  |\n" not in files()
