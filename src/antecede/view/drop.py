"""The page on which one drops a log and sees whether causal order was kept: all in the browser.

The rules of the format and the judgement are written a second time here, in JavaScript (`drop/`),
and held to the first by tests: the same answer, the same counts, the same witnesses and the same
words on thousands of logs. The page is one file that asks the network for nothing. It holds three
scripts: that of the page, that of a worker which reads and judges, and the whole viewer, which it
shows in a frame.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Final

from antecede.view.page import MODULES as VIEWER
from antecede.view.page import joined_modules, viewer_page, write_aside

MODULES: Final = (
    *("text", "problems", "json", "times", "lines", "csv", "log", "pairs", "detect", "reading"),
    *(
        "guess",
        "newest",
        "local",
        "clocks",
        "spans",
        "assemble",
        "order",
        "judge",
        "witness",
        "verdict",
    ),
    *("picture", "audit"),
)
"""The modules that read and judge, each after those that it imports."""
WORKER: Final = "worker"
"""The module that does so when it is asked; tests leave it out."""
FRAMED: Final = "framed"
"""The module that starts the viewer in its frame."""
PAGE: Final = ("flags", "main")


def drop_page() -> str:
    """The page."""
    viewer = viewer_page([], joined_modules(VIEWER) + joined_modules((FRAMED,), "drop"))
    folder = files("antecede.view") / "drop"
    page = (folder / "drop.html").read_text(encoding="utf-8")
    for place, text in (
        ("/*style*/", (folder / "drop.css").read_text(encoding="utf-8")),
        ("/*judge*/", _quoted(joined_modules((*MODULES, WORKER), "drop"))),
        ("/*viewer*/", _quoted(viewer)),
        ("/*script*/", joined_modules(PAGE, "drop")),
    ):
        page = page.replace(place, text, 1)
    return page


def _quoted(text: str) -> str:
    """As JSON that can stand in a script."""
    return json.dumps(text, ensure_ascii=False).replace("<", "\\u003c")


def write_drop_page(out: Path, *, force: bool = False) -> Path:
    """Write the page to a file."""
    return write_aside(out, [drop_page()], force)
