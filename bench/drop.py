"""The page on which one drops a log: how long it takes from the drop to the diagram.

`python -m bench.drop` prints a table: seconds by the clock, the best of several, from the moment in
which the page has the file to the moment in which the diagram stands, with the verdict beside it;
processor seconds of the tab, with its worker and all that Chromium does for it; and the most memory
that the tab had at once. `--write` puts it into docs/results/audit.md; `FORMAT EVENTS ...` measures
others.
"""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from antecede.view.drop import write_drop_page
from bench.docs import ROOT, markdown, put_table
from bench.logs import WRITERS
from tests.browser import ARGUMENTS, find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession

PAGE = ROOT / "docs" / "results" / "audit.md"
COMMAND = "python -m bench.drop --write"
SIZES = (("csv", 20_000), ("csv", 100_000), ("csv", 1_000_000), ("jsonl", 100_000),
         ("jsonl", 1_000_000), ("shiviz", 20_000), ("shiviz", 100_000),
         ("otlp", 100_000))  # fmt: skip
REPEATS = 3
TOOK = """() => {
  const at = (name) => performance.getEntriesByName(name)[0].startTime;
  return (at("antecede-picture") - at("antecede-drop")) / 1000;
}"""


class Measured(NamedTuple):
    took_s: float
    cpu_s: float
    peak_mb: float
    answer: str


def main(*chosen: str) -> None:
    write = "--write" in chosen
    rest = [one for one in chosen if one != "--write"]
    sizes = [(rest[at], int(rest[at + 1])) for at in range(0, len(rest), 2)] or SIZES
    chromium = find_chromium()
    if chromium is None:
        sys.exit("bench: no Chromium on the PATH, nothing to measure")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - takes a while

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        page = write_drop_page(Path(folder) / "audit.html")
        for name, count in sizes:
            log = Path(folder) / f"log-{count}.{name}"
            WRITERS[name](log, count)
            seen = []
            for _ in range(REPEATS if count < 1_000_000 else 1):
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
                    seen.append(measure(browser, page, log))
                    browser.close()
            best = min(seen)
            rows.append((name, f"{count:,}", f"{log.stat().st_size / 1e6:.1f}", best.answer,
                         f"{best.took_s:.2f}", f"{min(one.cpu_s for one in seen):.2f}",
                         f"{best.peak_mb:,.0f}"))  # fmt: skip
            print(*rows[-1], sep="  ", flush=True)
            log.unlink()
    columns = ("format", "events", "MB", "answer", "s to the diagram", "processor s", "tab's MB")
    table = markdown(columns, rows)
    if write:
        PAGE.write_text(put_table(PAGE.read_text("utf-8"), COMMAND, table), "utf-8")
    else:
        print(table)


def measure(browser: "Browser", path: Path, log: Path) -> Measured:
    """One drop in a browser of its own."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]")
    session = browser.new_browser_cdp_session()
    before = sum(used for _, used in tabs(session))
    page.set_input_files("#files", log)
    page.wait_for_selector('body[data-pictures="1"]', timeout=600_000)
    found = tabs(session)
    return Measured(
        page.evaluate(TOOK),
        sum(used for _, used in found) - before,
        max(peak_mb(process) for process, _ in found),
        str(page.get_attribute("body", "data-answer")),
    )


def tabs(session: "CDPSession") -> list[tuple[int, float]]:
    """The processes of tabs, with their processor seconds."""
    listed = session.send("SystemInfo.getProcessInfo")["processInfo"]
    return [(one["id"], one["cpuTime"]) for one in listed if one["type"] == "renderer"]


def peak_mb(process: int) -> float:
    """The most memory that a process had."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1e3
    return 0.0


if __name__ == "__main__":
    main(*sys.argv[1:])
