"""The viewer: the size of a page, and how fast headless Chromium shows it.

First picture: from the start of loading to the first complete drawing. Frame: one drawing while
zooming in from the whole run and while moving, finished by reading a pixel back. Past: the causal
past and future of an event near the end. `python -m bench.view EVENTS ...` chooses other sizes;
besides aims, the best of several runs is printed, for a busy machine only ever adds."""

import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from antecede.view import write_view
from bench.synthetic import write_trace
from tests.browser import ARGUMENTS, find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROCESSES = 64
EVENTS_PER_DELIVERY = 17 / 8
SIZES = (100_000, 1_000_000)
REPEATS = 3
AIMS = {
    100_000: {"page": 1.0, "first": 500.0, "frame": 20.0},
    1_000_000: {"page": 6.0, "first": 2000.0, "past": 300.0},
}
FRAMES = """() => {
  const app = window.antecede, scene = app.scene, [context] = app.surface.contexts;
  const times = [];
  const frame = () => {
    const start = performance.now();
    app.paint();
    context.getImageData(0, 0, 1, 1);
    times.push(performance.now() - start);
  };
  frame(); frame();
  times.length = 0;
  for (let i = 0; i < 40; i++) { scene.zoom(0.82, scene.gutter + 300); frame(); }
  for (let i = 0; i < 20; i++) { scene.pan(40); frame(); }
  return times;
}"""
PAST = """() => {
  const app = window.antecede, trace = app.traces[0];
  let event = trace.size - 1;
  while (trace.kind[event] !== 2) event--;
  const times = [];
  for (let i = 0; i < 5; i++) {
    const start = performance.now();
    app.select(0, event);
    app.coneCounts();
    times.push(performance.now() - start);
  }
  return times;
}"""


def main(*sizes: int) -> None:
    chromium = find_chromium()
    if chromium is None:
        print("no Chromium on the PATH: nothing to measure")
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - takes a while

    print(
        f"{'events':>10}{'page MB':>10}{'first ms':>10}{'frame ms':>10}{'worst':>8}{'past ms':>10}"
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for size in sizes or SIZES:
            measure(browser, Path(folder), size)
        browser.close()


def measure(browser: "Browser", folder: Path, size: int) -> None:
    trace, page = folder / f"{size}.parquet", folder / f"{size}.html"
    write_trace(trace, PROCESSES, int(size / EVENTS_PER_DELIVERY))
    write_view(trace, page)
    first, frames, past = [], [], []
    for _ in range(REPEATS):
        shown = open_page(browser, page)
        first.append(
            shown.evaluate("performance.getEntriesByName('antecede-first-picture')[0].startTime")
        )
        frames.append(shown.evaluate(FRAMES))
        past.append(min(shown.evaluate(PAST)))
        shown.close()
    typical = min(frames, key=median)
    measured = {
        "page": page.stat().st_size / 1e6,
        "first": min(first),
        "frame": median(typical),
        "past": min(past),
    }
    print(
        f"{size:>10,}{measured['page']:>10.2f}{measured['first']:>10.0f}"
        f"{measured['frame']:>10.1f}{max(typical):>8.1f}{measured['past']:>10.0f}"
    )
    for name, aim in AIMS.get(size, {}).items():
        verdict = "kept" if measured[name] < aim else "MISSED"
        print(f"{'':>10}  {name}: {measured[name]:.3g}, aim {aim:.3g}: {verdict}")


def open_page(browser: "Browser", path: Path) -> "Page":
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]")
    return page


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
