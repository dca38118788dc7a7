"""`python -m bench.pictures`: the pictures of README.md, from a run and a small campaign.

The viewer at an early delivery is a photograph by the system's Chromium; the chart is the report's
own. Both are seeded: only fonts differ from machine to machine.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from antecede.campaigns.file import load_campaign
from antecede.campaigns.plan import make_plan
from antecede.pipeline.campaigns.campaign import run_campaign
from antecede.report import write_figures
from antecede.simulate import make_scenario, simulate
from antecede.verify import verify_trace
from antecede.view import write_view
from tests.browser import ARGUMENTS, find_chromium

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
RUN = {"protocol": "none", "processes": 4, "messages": 14, "seed": 3, "rate": 4.0}
GRID = """
name = "stamps"
seeds = 3
processes = [4, 8, 16, 32]
warm_up = "50%"
protocols = ["vector", "matrix", "optimal", "pairs", "histories"]

[[workloads]]
name = "unicast"
kind = "unicast"
messages = "60n"
"""


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        _photograph(Path(folder))
        _draw(Path(folder))


def _photograph(folder: Path) -> None:
    """A small run that breaks causal order, at its first early delivery."""
    trace = folder / "run.parquet"
    simulate(make_scenario(RUN), trace)
    witness = verify_trace(trace).witnesses[0]
    page = write_view(trace, folder / "run.html", around=witness.second)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
        shown = browser.new_page(viewport={"width": 1180, "height": 560}, color_scheme="light")
        shown.goto(page.as_uri())
        shown.wait_for_timeout(800)
        shown.screenshot(path=PICTURES / "early-delivery.png")
        browser.close()


def _draw(folder: Path) -> None:
    """How stamps grow with the number of processes, unicast between all pairs."""
    file, out = folder / "grid.toml", folder / "grid"
    file.write_text(GRID, "utf-8")
    campaign = load_campaign(file)
    run_campaign(campaign, make_plan(campaign, str(file)), GRID, out, lambda: None)
    chart = next(
        path for path in write_figures(out, folder / "svg") if path.stem.startswith("stamp-bytes")
    )
    (PICTURES / "stamps.svg").write_text(chart.read_text("utf-8"), "utf-8")


if __name__ == "__main__":
    main()
