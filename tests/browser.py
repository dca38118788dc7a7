"""Pages in a real browser: the system's Chromium, driven by playwright, cut off from the network.

A test asks for `visit` and opens a file: ``visit(path, width=360, dark=True)``. It gets the page
and a list of complaints (console errors, uncaught exceptions, attempts to reach the network), which
a good page leaves empty.

Where no Chromium is installed these tests are skipped, unless `ANTECEDE_NEEDS_BROWSER` is set.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # playwright takes a third of a second to import: only tests that use it wait
    from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Route

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
OUTSIDE = re.compile(r"^(?!file:|data:|blob:|about:)")


@dataclass
class Visit:
    """A page that was opened, and everything it did wrong so far."""

    page: "Page"
    complaints: list[str] = field(default_factory=list)
    own: str = ""
    """Where the page comes from, if from a server: that is no stranger."""

    def heard(self, message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console {message.type}: {message.text}")

    def thrown(self, error: "Error") -> None:
        self.complaints.append(f"uncaught: {error}")

    def blocked(self, route: "Route") -> None:
        if self.own and route.request.url.startswith(self.own):
            route.continue_()
            return
        self.complaints.append(f"asked the network for {route.request.url}")
        route.abort()

    def scrolls_sideways(self) -> bool:
        """Whether the page as a whole is wider than its window."""
        root = "document.documentElement"
        return bool(self.page.evaluate(f"{root}.scrollWidth > {root}.clientWidth"))


Visitor = Callable[..., Visit]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them in one worker, one module after the other: one browser at a time."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("browser"))


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


# One for a module, not for the session: as long as playwright's synchronous interface is open, an
# event loop counts as running in this thread, and every test that calls asyncio.run would fail.
@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Chromium, without a window. Most tests want `visit`."""
    chromium = find_chromium()
    if chromium is None:
        missing = f"no Chromium on the PATH (looked for {', '.join(NAMES)})"
        if os.environ.get("ANTECEDE_NEEDS_BROWSER"):
            pytest.fail(f"{missing}, and ANTECEDE_NEEDS_BROWSER is set")
        pytest.skip(missing)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: "Browser") -> Iterator[Visitor]:
    """Opens a file, by its ``file://`` address, or what a server of our own shows."""
    contexts = []

    def open_file(
        path: Path | str,
        *,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        touch: bool = False,
        fragment: str = "",
        moves: bool = False,
    ) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="no-preference" if moves else "reduce",
            has_touch=touch,
        )
        contexts.append(context)
        visited = Visit(context.new_page(), own=path if isinstance(path, str) else "")
        context.route(OUTSIDE, visited.blocked)
        visited.page.on("console", visited.heard)
        visited.page.on("pageerror", visited.thrown)
        address = path if isinstance(path, str) else path.resolve().as_uri()
        visited.page.goto(address + fragment)
        return visited

    yield open_file
    for context in contexts:
        context.close()
