"""Diagrams of notable runs, and the command that makes pages."""

import os
from pathlib import Path

import pyarrow.parquet as pq

from antecede.report import write_report
from antecede.simulate import make_scenario, simulate
from tests.browser import Visitor
from tests.cli.conftest import Antecede
from tests.report.campaigns import make_campaign


def keep_traces(folder: Path) -> list[str]:
    """Traces of all runs of a campaign, simulated anew."""
    rows = pq.read_table(folder / "runs").to_pylist()
    (folder / "traces").mkdir()
    for row in rows:
        fields = {"protocol": row["protocol"], "processes": row["processes"], "messages": 20}
        scenario = make_scenario(fields | {"seed": row["seed"]})
        simulate(scenario, folder / "traces" / f"{row['run']}.parquet")
    return [row["run"] for row in rows]


def test_kept_traces_become_diagrams_that_links_lead_to(tmp_path: Path, visit: Visitor) -> None:
    folder = make_campaign(tmp_path / "campaign", ("vector", "none"), sizes=(4,), seeds=(1,))
    runs = keep_traces(folder)
    page = write_report(folder, tmp_path / "report.html")
    assert sorted(os.listdir(folder / "views")) == sorted(f"{run}.html" for run in runs)
    visited = visit(page)
    visited.page.get_by_role("link", name="Runs to look at").click()
    visited.page.get_by_role("link", name="vector, n = 4").click()
    assert "campaign/views/" in visited.page.url
    assert not visited.complaints


def test_a_diagram_is_drawn_once(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, ("vector",), sizes=(4,), seeds=(1,))
    (run,) = keep_traces(folder)
    write_report(folder, tmp_path / "first.html")
    view = folder / "views" / f"{run}.html"
    view.write_text("as it was")
    write_report(folder, tmp_path / "second.html")
    assert view.read_text() == "as it was"
    os.utime(view, (0, 0))
    write_report(folder, tmp_path / "third.html")
    assert view.read_text() != "as it was"


def test_a_broken_trace_is_told_at_the_end_of_the_page(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path, ("vector",), sizes=(4,), seeds=(1,))
    (run,) = keep_traces(folder)
    (folder / "traces" / f"{run}.parquet").write_bytes(b"nothing of the kind")
    page = write_report(folder, tmp_path / "report.html").read_text()
    assert f"There is no diagram of the run {run}: " in page
    assert not list((folder / "views").iterdir())


def test_the_command_writes_page_and_figures(tmp_path: Path, antecede: Antecede) -> None:
    folder = make_campaign(tmp_path / "campaign", ("vector", "matrix"), seeds=(1, 2))
    done = antecede("campaign", "report", folder)
    assert (done.status, done.out) == (0, f"{folder / 'report.html'}\n")
    done = antecede("campaign", "report", folder, "--figures", tmp_path / "figures")
    assert done.status == 0
    assert (tmp_path / "figures" / "stamp-bytes-mean-1.svg").is_file()


def test_the_command_names_what_is_missing(tmp_path: Path, antecede: Antecede) -> None:
    folder = make_campaign(tmp_path / "campaign", ("vector",), sizes=(4,))
    (folder / "summary" / "part-0.parquet").unlink()
    done = antecede("campaign", "report", folder)
    assert done.status == 2
    assert "summary/: no Parquet file there" in done.err
    assert "Traceback" not in done.err
    assert not (folder / "report.html").exists()
