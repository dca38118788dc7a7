"""A page of docs/results: the question, the paper's words on it, the answer, how it was made."""

import json
import os
import platform
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from antecede.report import write_figures
from antecede.report.figure import UNSTEADY
from antecede.report.page import all_figures
from bench.made import signed
from bench.results.answers import ANSWERS
from bench.results.answers.contract import Answer, Picture
from bench.results.reading import Reading
from bench.results.shipped import Shipped

DIGEST = re.compile(r"campaigns/(?P<name>[\w-]+)\.toml`, `(?P<digest>[0-9a-f]{16})`")
"""How a page names the campaign file that it was made from."""
WIDTH = 100
MACHINE_SECONDS = 60


def write_page(shipped: Shipped, folder: Path, out: Path) -> Path:
    """The page on the finished campaign in `folder`, and its pictures, in the folder `out`."""
    answer = ANSWERS[shipped.name]
    reading = Reading(folder)
    out.mkdir(parents=True, exist_ok=True)
    pictures = _draw(shipped.name, answer, reading, out)
    text = "".join(
        (
            _head(shipped, answer, reading),
            "\n## The paper\n\n",
            answer.paper.strip() + "\n",
            answer.body(reading),
            _pictures(pictures),
            _how(shipped, folder, reading),
        )
    )
    page = out / f"{shipped.name}.md"
    page.write_text(signed(wrapped(text)), "utf-8")
    return page


def _head(shipped: Shipped, answer: Answer, reading: Reading) -> str:
    return (
        f"# {answer.title}\n\nWritten by `python -m bench.results {shipped.name}` from "
        f"`campaigns/{shipped.name}.toml`; do not edit.\n\n**The question.** "
        f"{reading.results.question}\n"
    )


def _how(shipped: Shipped, folder: Path, reading: Reading) -> str:
    about = json.loads((folder / "campaign.json").read_text("utf-8"))
    cpu_s = sum(about[part] for part in ("simulate_cpu_s", "verify_cpu_s", "measure_cpu_s"))
    seeds = {row["seed"] for row in reading.results.rows("seed")}
    minutes = max(1, round(cpu_s / MACHINE_SECONDS))
    skipped = {f"{row['variant']}: {row['reason']}" for row in reading.results.skipped}
    left_out = "".join(f"\n- left out: {reason}" for reason in sorted(skipped))
    return (
        f"\n## How it was made\n\n"
        f"- `python -m bench.results {shipped.name}`, or `antecede campaign run` and `antecede "
        f"campaign report` with the same file for all measures and charts\n"
        f"- the file: `campaigns/{shipped.name}.toml`, `{shipped.digest}` (a hash of what it "
        f"says)\n"
        f"- {about['runs']:,} runs ({len(seeds)} seeds), {about['events']:,} events, Antecede "
        f"{about['version']}; causal order was verified in every run, and no protocol broke it"
        f"{left_out}\n"
        f"- about {minutes} minute{'s' * (minutes > 1)} of processor time ({platform.machine()}, "
        f"{os.cpu_count()} cores, Python {platform.python_version()}); nothing but that depends "
        f"on the machine: everything is counted on seeded simulations\n"
        f"- messages in a run, and what of them is not measured: {reading.lengths()}\n"
        f"- a range after ± is half of the 95 % confidence interval of the mean over the seeds\n"
        f"- {UNSTEADY}: runs still changed by more than 2 %, or were too short to tell "
        f"([how](../campaigns.md#warm-up-and-steady-state)); nothing is concluded from these\n"
    )


# Pictures.


def _draw(name: str, answer: Answer, reading: Reading, out: Path) -> list[tuple[Picture, Path]]:
    """Of the report's figures those that the answer wants, as files beside the page."""
    found = []
    with TemporaryDirectory() as folder:
        drawn = {path.stem: path for path in write_figures(reading.results.folder, Path(folder))}
        for wanted in answer.pictures:
            for figure in _figures(reading, wanted):
                target = out / f"{name}-{wanted.name}.svg"
                shutil.copyfile(drawn[figure], target)
                found.append((wanted, target))
                break
    return found


def _figures(reading: Reading, wanted: Picture) -> Iterator[str]:
    for _, figures in all_figures(reading.results):
        for figure in figures:
            if re.fullmatch(wanted.figure, figure.name) and wanted.workload in figure.facet:
                yield figure.name


def _pictures(pictures: Sequence[tuple[Picture, Path]]) -> str:
    if not pictures:
        return ""
    shown = (
        f"![{wanted.caption}]({path.name})\n\n{wanted.caption}.\n" for wanted, path in pictures
    )
    return "\n## Pictures\n\n" + "\n".join(shown)


def wrapped(text: str) -> str:
    """Long lines of prose broken; tables, headings and pictures as they are."""
    lines = []
    for line in text.splitlines():
        if len(line) <= WIDTH or line.startswith(("|", "#", "!")):
            lines.append(line)
            continue
        indent = "  " if line.startswith("- ") else ""
        lines += textwrap.wrap(
            line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(lines) + "\n"
