"""The viewer: the size of a page, and how fast headless Chromium shows it.

First picture: from the start of loading to the first complete drawing. Frame: one drawing while
zooming in from the whole run and while moving, finished by reading a pixel back; the worst is
printed, too. Past: selecting an event near the end, with its causal past, its future and the panel
that tells of them. All in milliseconds of wall time, the best of several runs, and behind it of CPU
time of the page's main thread, which a busy machine does not distort.

`python -m bench.view EVENTS ...` chooses other sizes."""

import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from antecede.view import write_view
from bench.synthetic import write_trace
from tests.browser import ARGUMENTS, find_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PROCESSES = 64
EVENTS_PER_DELIVERY = 17 / 8
SIZES = (100_000, 1_000_000)
REPEATS = 3
AIMS = {
    100_000: {"page": 1.0, "first": 500.0, "frame": 20.0},
    1_000_000: {"page": 6.0, "first": 2000.0, "past": 300.0},
}
FIRST = "performance.getEntriesByName('antecede-first-picture')[0].startTime"
FRAMES = """() => {
  const app = window.antecede, scene = app.scene, [context] = app.surface.contexts;
  const times = [];
  const frame = () => {
    const start = performance.now();
    app.paint();
    context.getImageData(0, 0, 1, 1);
    times.push(performance.now() - start);
  };
  frame();
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

    print(f"{'events':>10}{'page MB':>9}{'first':>14}{'frame':>14}{'worst':>8}{'past':>14}")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for size in sizes or SIZES:
            measure(browser, Path(folder), size)
        browser.close()


def measure(browser: "Browser", folder: Path, size: int) -> None:
    trace, page = folder / f"{size}.parquet", folder / f"{size}.html"
    write_trace(trace, PROCESSES, int(size / EVENTS_PER_DELIVERY))
    write_view(trace, page)
    visits = [visit(browser, page) for _ in range(REPEATS)]
    best = {name: min(seen[name] for seen in visits) for name in visits[0]}
    best["page"] = page.stat().st_size / 1e6
    shown = {name: f"{best[name]:.0f} ({best[name + ' CPU']:.0f})" for name in ("first", "past")}
    shown["frame"] = f"{best['frame']:.1f} ({best['frame CPU']:.1f})"
    print(
        f"{size:>10,}{best['page']:>9.2f}{shown['first']:>14}{shown['frame']:>14}"
        f"{best['worst']:>8.1f}{shown['past']:>14}"
    )
    for name, aim in AIMS.get(size, {}).items():
        by = min(best[name], best.get(f"{name} CPU", best[name]))
        verdict = "kept" if best[name] < aim else "kept in CPU time" if by < aim else "MISSED"
        print(f"{'':>10}  {name}: {best[name]:.3g}, aim {aim:.3g}: {verdict}")


def visit(browser: "Browser", path: Path) -> dict[str, float]:
    """One measurement of everything."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy_ms() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return 1e3 * float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    seen = {}
    before = busy_ms()
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready]")
    seen["first CPU"] = busy_ms() - before
    seen["first"] = page.evaluate(FIRST)
    for name, script in (("frame", FRAMES), ("past", PAST)):
        before = busy_ms()
        times = page.evaluate(script)
        seen[f"{name} CPU"] = (busy_ms() - before) / len(times)
        seen[name] = median(times)
        seen.setdefault("worst", max(times))
    page.close()
    return seen


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
