"""Reports and figures as files."""

from pathlib import Path

from antecede.errors import Misuse
from antecede.files import make_folder, write_whole
from antecede.report.charts.canvas import WIDE
from antecede.report.markup import Markup
from antecede.report.page import all_figures, read_resource, render_page
from antecede.report.results import read_results
from antecede.report.views import write_views


def write_report(folder: Path, out: Path, force: bool = False) -> Path:
    """One page on the campaign in the folder. An existing file is kept unless `force` is given.

    Of runs that the page points at and whose traces were kept, diagrams are written into the
    folder `views` of the campaign."""
    if out.is_dir():
        raise Misuse(f"{out} is a folder; name a file to write to")
    if out.exists() and not force:
        raise Misuse(f"{out} exists already; use --force to replace it")
    results = read_results(folder)
    failures = write_views(results)
    _write(out, render_page(results, out.parent, failures))
    return out


def write_figures(folder: Path, out: Path) -> list[Path]:
    """Every figure of the report as an SVG file of its own in `out`, for light and dark."""
    results = read_results(folder)
    style = Markup(f"<style>{read_resource('charts.css')}</style>")
    written = []
    for _, figures in all_figures(results):
        for figure in figures:
            path = out / f"{figure.name}.svg"
            picture = figure.draw(WIDE)
            start = picture.index(">") + 1
            _write(path, f"{picture[:start]}{style}{picture[start:]}\n")
            written.append(path)
    return written


def _write(path: Path, text: str) -> None:
    make_folder(path.parent)
    write_whole(path, text)
