"""`antecede view`: what it writes, and what it refuses."""

import json
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Antecede
from tests.trace.builders import deliver, positioned, send, table


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "t.parquet"
    pq.write_table(table(*positioned(send("p", 1, "q"), deliver("q", "p:1"))), path)
    return path


def test_view_writes_a_page_and_a_log(antecede: Antecede, trace: Path, tmp_path: Path) -> None:
    page, log = tmp_path / "t.html", tmp_path / "t.log"
    outcome = antecede("view", trace, "--out", page, "--shiviz", log, "--compare", trace)
    assert outcome.status == 0
    assert str(page) in outcome.out
    assert str(log) in outcome.out
    text = page.read_text(encoding="utf-8")
    assert text.count('class="trace"') == 2
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    assert log.read_text(encoding="utf-8") == (
        'p {"p":1}\nsend p:1\nq {"p":1, "q":1}\ndeliver p:1\n'
    )
    again = antecede("view", trace, "--out", page)
    assert again.status == 2
    assert "use --force" in again.err
    assert antecede("view", trace, "--out", page, "--force").status == 0


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ([send("p", 1, "q"), send("p", 2, "q"), deliver("q", "p:1")], "p:2 is sent in one of them"),
        ([send("p", 1, "pq"), deliver("q", "p:1")], "p:1 is not for the same processes"),
    ],
)
def test_view_refuses_to_compare_other_traffic(
    antecede: Antecede, trace: Path, tmp_path: Path, other: list[Any], told: str
) -> None:
    pq.write_table(table(*positioned(*other)), tmp_path / "other.parquet")
    words = ("view", trace, "--out", tmp_path / "x.html", "--compare", tmp_path / "other.parquet")
    outcome = antecede(*words)
    assert outcome.status == 2
    assert told in outcome.err
    assert not (tmp_path / "x.html").exists()


def test_view_without_a_file_shows_a_temporary_page(
    antecede: Antecede, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    def show(address: str) -> bool:
        shown.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", show)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    outcome = antecede("view", trace)
    assert outcome.status == 0
    (page,) = tmp_path.glob("antecede-view-*/t.html")
    assert shown == [page.as_uri()]
    assert str(page) in outcome.out


def test_view_opens_the_page(
    antecede: Antecede, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    def show(address: str) -> bool:
        shown.append(address)
        return len(shown) == 1

    monkeypatch.setattr(webbrowser, "open", show)
    page = tmp_path / "a b.html"
    opened = antecede("view", trace, "--out", page, "--open")
    assert (opened.status, opened.err) == (0, "")
    assert shown == [page.resolve().as_uri()]
    without = antecede("view", trace, "--out", page, "--open", "--force")
    assert without.status == 0
    assert "found no browser" in without.err


def test_view_for_machines(antecede: Antecede, trace: Path, tmp_path: Path) -> None:
    page, log = tmp_path / "t.html", tmp_path / "t.log"
    told = json.loads(antecede("view", trace, "--out", page, "--shiviz", log, "--json").out)
    assert told == {"page": str(page), "bytes": page.stat().st_size, "log": str(log)}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--shiviz", "x.log", "--open"], "are for the page: add --out"),
        (["--out", "x.html", "--layer", "steam"], "there is no layer 'steam'"),
        (["--out", "x.html", "--run", "s"], "there is no run 's'"),
        (["--out", "x.html", "--around", "p"], "write it as SENDER:NUMBER"),
        (["--out", "x.html", "--compare", "none.parquet"], "there is no such file or folder"),
        (["--out", "x.html", "--shiviz", "./x.html"], "page and log need a file each"),
        (["--out", "x.html", "--shiviz", "t.parquet", "--force"], "is the trace itself"),
        (["--out", "t.parquet", "--force"], "is the trace itself"),
        (["--out", "t.parquet/x.html"], "cannot write t.parquet/x.html"),
        (["--out", f"{'x' * 249}.html"], "File name too long"),
    ],
)
def test_view_refuses(
    antecede: Antecede,
    trace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = antecede("view", trace, *arguments)
    assert outcome.status == 2
    assert told in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
