"""Pictures of a small run, to compare with. `python -m tests.view.pictures` draws them anew.

Only the drawing is compared, without its texts: fonts differ from machine to machine.
"""

import base64
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from tests.browser import ARGUMENTS, find_chromium
from tests.trace.builders import deliver, event, positioned, receive, send
from tests.view.runs import page_of, write_rows

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

FOLDER = Path(__file__).parent / "pictures"
SIZE: "ViewportSize" = {"width": 900, "height": 560}
THEMES: Final[tuple[Literal["light"], Literal["dark"]]] = ("light", "dark")

RUN = positioned(
    event("join", "c", time=0.1),
    send("a", 1, "bcd", time=0.5, stamp_entries=1, stamp_bytes=10),
    receive("b", "a:1", time=1.0),
    deliver("b", "a:1", time=1.0),
    send("b", 1, "cd", time=1.3, stamp_entries=4, stamp_bytes=60),
    receive("c", "b:1", time=1.7),
    event("view", "a", time=2.0),
    receive("c", "a:1", time=2.4),
    deliver("c", "a:1", time=2.8),
    deliver("c", "b:1", time=3.4),
    receive("d", "b:1", time=2.2),
    deliver("d", "b:1", time=2.2),
    receive("d", "a:1", time=3.0),
    deliver("d", "a:1", time=3.0),
    send("c", 1, "ab", time=3.6, stamp_entries=2, stamp_bytes=30),
    receive("a", "c:1", time=4.0),
    deliver("a", "c:1", time=4.0),
    event("crash", "b", time=4.1),
    event("leave", "d", time=4.3),
)
"""Every kind of event, a wait in three parts, an early delivery, a message that is lost."""
EARLY = 11

DRAW = """(selected) => {
  const { surface } = antecede;
  for (const context of surface.contexts) context.fillText = () => {};
  surface.gutter = () => 60;
  surface.measure();
  antecede.select(0, selected, { move: false });
  antecede.fit();
  antecede.paint();
  return surface.plots[0].canvas.toDataURL("image/png");
}"""


def draw(page: "Page", selected: int) -> bytes:
    """The picture with this event selected, -1 for none, as PNG."""
    address: str = page.evaluate(DRAW, selected)
    return base64.b64decode(address.partition(",")[2])


def main() -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only here

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = page_of(write_rows(Path(folder) / "t.parquet", *RUN))
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        for theme in THEMES:
            page = browser.new_page(viewport=SIZE, color_scheme=theme, reduced_motion="reduce")
            page.goto(page_file.as_uri())
            page.wait_for_selector("body[data-ready]")
            for name, selected in (("plain", -1), ("early", EARLY)):
                (FOLDER / f"{name}-{theme}.png").write_bytes(draw(page, selected))
        browser.close()


if __name__ == "__main__":
    main()
