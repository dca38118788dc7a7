"""Every kind of campaign gives a sensible page."""

import html
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from antecede.errors import BadFile, CannotWrite, Misuse
from antecede.report import write_figures, write_report
from tests.report.campaigns import Row, make_campaign
from tests.report.test_markup import read


def page_of(folder: Path) -> str:
    return write_report(folder, folder / "report.html").read_text(encoding="utf-8")


def text_of(page: str) -> str:
    """What a reader sees, without style and script, a space between any two pieces."""
    pieces = re.sub(r"(?s)<(style|script)>.*?</\1>|<[^>]*>", " ", page)
    return " ".join(html.unescape(pieces).split())


def sections_of(page: str) -> list[str]:
    elements = read(page).elements
    return [attributes["id"] or "" for name, attributes in elements if name == "section"]


def break_order(row: Row) -> None:
    if row["variant"] == "matrix" and row["seed"] == 2:
        row["violations"] = 3


def fail(row: Row) -> None:
    setting = {"run", "protocol", "variant", "options", "network", "workload", "processes", "seed"}
    for name in row:
        if name not in setting:
            row[name] = None
    row |= {"scenario": "{}", "status": "failed", "error": "BrokenInvariant: <b>all</b> is lost"}


def test_a_whole_campaign(tmp_path: Path) -> None:
    page = page_of(make_campaign(tmp_path, ks=(1, 2, 4)))
    assert sections_of(page) == [
        *("answer", "verdicts", "comparison", "space", "time", "trade", "traffic", "distributions"),
        "notable",
    ]
    text = text_of(page)
    assert "Every promise of causal order was kept" in text
    assert "Extra messages against k" in text
    assert "How large the stamps are" in text
    assert (
        "What was run: 8 protocols, 10 variants of them, 1 network, 1 workload, 4 sizes, 5 seeds"
        in text
    )


def answers_of(folder: Path) -> str:
    return text_of(page_of(folder)).partition("behind the headings below.")[2][:1600]


def test_the_page_begins_with_the_answer(tmp_path: Path) -> None:
    """From the tables: other figures give another; none that are steady give none."""

    def plant(row: Row) -> None:
        best = "pairs" if row["network"] == "lan" or not depends else "vector"
        row["stamp_bytes_mean"] = (10.0 if row["variant"] == best else 50.0) + row["seed"] / 10
        if row["variant"] == "none":
            row["stamp_bytes_mean"] = 1.0

    three = ("none", "pairs", "vector", "matrix")
    depends = False
    one = make_campaign(tmp_path / "one", three, sizes=(4, 8), change=plant)
    told = answers_of(one)
    assert "The fewest bytes on a message: pairs, 10.30 ±" in told
    assert "which has the most, with 8 processes: 4.88 times as much." in told
    assert "promise no causal order or did not keep it: none." in told
    depends = True
    two = make_campaign(tmp_path / "two", three, sizes=(4,), networks=("lan", "wan"), change=plant)
    told = answers_of(two)
    assert "that depends on the environments: pairs in “lan”; vector in “wan”; 10.30 ±" in told
    assert "4.88 times as much" in told
    assert told.count("Space against delay (lan)") == 2  # over the chart, and over its numbers

    def drift(row: Row) -> None:
        row |= {"drifting": "", "short": "stamp_bytes", "warm_up": 100}

    def drift_best(row: Row) -> None:
        plant(row)
        if row["variant"] == "pairs":
            drift(row)

    def drift_most(row: Row) -> None:
        plant(row)
        if row["variant"] == "matrix":
            row["stamp_bytes_mean"] = 900.0
            drift(row)

    depends = False
    most = make_campaign(tmp_path / "most", three, sizes=(4,), change=drift_most)
    told = answers_of(most)
    assert "has the most of those that are steady, with 4 processes: 4.88 times" in told

    def alike(row: Row) -> None:
        row["stamp_bytes_mean"] = 10.0 + row["seed"]

    same = make_campaign(tmp_path / "same", three, sizes=(4,), change=alike)
    assert "bytes on a message: those compared do not differ by more" in answers_of(same)
    best = make_campaign(tmp_path / "best", three, sizes=(4,), change=drift_best)
    assert "bytes on a message: nothing is concluded, for those" in answers_of(best)
    three_drift = make_campaign(tmp_path / "drift", three, sizes=(4,), change=drift)
    assert "bytes on a message: nothing is concluded, for those" in answers_of(three_drift)


def test_a_page_is_the_same_every_time(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "campaign")
    first = write_report(folder, tmp_path / "first.html").read_bytes()
    assert write_report(folder, tmp_path / "second.html").read_bytes() == first


def test_identities_occur_once(tmp_path: Path) -> None:
    page = page_of(
        make_campaign(tmp_path, sizes=(4, 8), seeds=(1,), networks=("lan", "<x>"), ks=(1, 2))
    )
    found = [attributes["id"] for _, attributes in read(page).elements if "id" in attributes]
    assert len(found) == len(set(found))
    links = [a["href"] or "" for name, a in read(page).elements if name == "a"]
    assert links
    assert {link[1:] for link in links if link.startswith("#")} <= set(found)


def test_what_is_not_steady_is_marked(tmp_path: Path) -> None:
    """Planted: the stamps of one protocol still grow by a twentieth."""

    def drift(row: Row) -> None:
        row |= {"drifting": "", "short": "", "warm_up": 100}
        row["drift_stamp_bytes"] = 0.05 if row["variant"] == "matrix" else 0.001
        row["drift_stamp_bytes"] += row["seed"] * 1e-4

    steady = page_of(make_campaign(tmp_path / "steady"))
    assert "steady" not in sections_of(steady)
    assert "none beats" in text_of(steady)
    page = page_of(make_campaign(tmp_path / "drifting", change=drift))
    assert "steady" in sections_of(page)
    text = text_of(page)
    assert "matrix lan uniform stamp_bytes drifting 32 500 100 +5.0% " in text
    assert "vector lan uniform stamp_bytes" not in text
    assert "Not all are steady (†): none is called better." in text
    assert "none beats" not in text
    assert text.count("†") > text_of(steady).count("†") + 3


def test_a_broken_promise(tmp_path: Path) -> None:
    text = text_of(page_of(make_campaign(tmp_path, ("matrix", "vector"), change=break_order)))
    assert "Causal order was broken in 4 runs" in text
    assert "First broken promise 3 too early matrix" in text
    assert "✗ order broken" in text


def test_violations_without_a_promise_are_no_alarm(tmp_path: Path) -> None:
    text = text_of(page_of(make_campaign(tmp_path, ("none",), sizes=(4,))))
    assert "No protocol here promises causal order" in text
    assert "broken" not in text


def test_undelivered_copies_are_told_with_the_verdict(tmp_path: Path) -> None:
    def lose(row: Row) -> None:
        row["undelivered"] = 2 if row["seed"] == 1 else 0

    folder = make_campaign(tmp_path, ("vector",), sizes=(4,), change=lose)
    assert "2 copies never arrived or were held to the end." in text_of(page_of(folder))


def test_one_size_only(tmp_path: Path) -> None:
    page = page_of(make_campaign(tmp_path, sizes=(8,)))
    assert "space" in sections_of(page)
    assert "With 8 processes" in text_of(page)


def test_one_protocol_one_size_one_seed(tmp_path: Path) -> None:
    page = page_of(make_campaign(tmp_path, ("vector",), sizes=(8,), seeds=(7,)))
    assert "trade" not in sections_of(page)
    assert "1 protocol, 1 network, 1 workload, 1 size, 1 seed" in text_of(page)
    assert "±" not in text_of(page).replace("± half", "")


def test_all_failed(tmp_path: Path) -> None:
    page = page_of(make_campaign(tmp_path, ("vector", "matrix"), change=fail))
    assert sections_of(page) == ["verdicts", "failures"]
    text = text_of(page)
    assert "No run finished" in text
    assert "matrix 20 BrokenInvariant: <b>all</b> is lost" in text


def test_a_protocol_of_which_every_run_failed(tmp_path: Path) -> None:
    def fail_pairs(row: Row) -> None:
        if row["variant"] == "pairs":
            fail(row)

    text = text_of(page_of(make_campaign(tmp_path, ("pairs", "vector"), change=fail_pairs)))
    assert "pairs ? not judged 20 20" in text
    assert "20 runs of 40 failed" in text


def test_a_protocol_that_is_left_out(tmp_path: Path) -> None:
    row = {"protocol": "daisy", "variant": "daisy", "options": "{}", "network": "lan"}
    row |= {"workload": "uniform", "reason": "there is no protocol 'daisy' yet"}
    rows: list[Row] = [row | {"processes": size} for size in (4, 8)]
    folder = make_campaign(tmp_path, ("vector",), skipped=rows)
    assert "daisy there is no protocol 'daisy' yet 2" in text_of(page_of(folder))


def test_nothing_but_left_out(tmp_path: Path) -> None:
    row: Row = {"protocol": "daisy", "variant": "daisy", "options": "{}", "network": "lan"}
    row |= {"workload": "uniform", "reason": "not there", "processes": 4}
    page = page_of(make_campaign(tmp_path, (), skipped=[row]))
    assert "Nothing was run" in text_of(page)


def test_thousands_of_runs_make_no_larger_page(tmp_path: Path) -> None:
    few = make_campaign(tmp_path / "few", ("vector", "matrix"), sizes=(4, 8), seeds=(1, 2))
    seeds = range(1, 501)
    many = make_campaign(tmp_path / "many", ("vector", "matrix"), sizes=(4, 8), seeds=seeds)
    small, large = page_of(few), page_of(many)
    assert "2\u202f000 runs promised it" in large
    assert len(large) < 1.1 * len(small)


def test_many_environments_wait_behind_a_line(tmp_path: Path) -> None:
    networks = [f"net {number}" for number in range(9)]
    page = page_of(
        make_campaign(tmp_path, ("vector", "matrix"), networks=networks, sizes=(4, 8), seeds=(1,))
    )
    assert "3 more" in text_of(page)
    assert "environments" not in sections_of(page)


def test_very_many_environments_get_a_table(tmp_path: Path) -> None:
    networks = [f"net {number}" for number in range(60)]
    page = page_of(
        make_campaign(tmp_path, ("vector",), networks=networks, sizes=(8, 4), seeds=(1,))
    )
    assert "environments" in sections_of(page)
    text = text_of(page)
    assert "The campaign has 60 environments. Figures follow for the first 12" in text
    assert re.search(r"net 59 1[678]", text)  # with 8 processes, not with 4
    assert len(page) < 1_500_000


def test_links_to_diagrams_work_from_wherever_the_page_stands(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "a folder", ("vector",), sizes=(4,), seeds=(1,))
    runs = [Path(name).stem for name in os.listdir(folder)]
    assert "views" not in runs
    bare = page_of(folder)
    run = next(a["title"] or "" for n, a in read(bare).elements if n == "code" and "title" in a)
    (folder / "views").mkdir()
    (folder / "views" / f"{run}.html").write_text("<!doctype html>")
    for out in (folder / "linked.html", tmp_path / "elsewhere" / "page.html"):
        page = write_report(folder, out).read_text()
        links = {(a["href"] or "").partition("#")[0] for n, a in read(page).elements if n == "a"}
        found = [link for link in links if link.endswith(f"{run}.html")]
        assert found
        assert (out.parent / found[0].replace("%20", " ")).resolve().is_file()


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "campaign", ("vector",), sizes=(4,))
    out = tmp_path / "report.html"
    out.write_text("mine")
    with pytest.raises(Misuse, match="--force"):
        write_report(folder, out)
    assert out.read_text() == "mine"
    write_report(folder, out, force=True)
    assert out.read_text().startswith("<!doctype html>")


def test_nothing_half_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_campaign(tmp_path / "campaign", ("vector",), sizes=(4,))

    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(CannotWrite, match="No space left"):
        write_report(folder, tmp_path / "out" / "report.html")
    assert os.listdir(tmp_path / "out") == []


def test_a_bad_folder_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadFile):
        write_report(tmp_path / "nowhere", tmp_path / "report.html")
    with pytest.raises(Misuse, match="is a folder"):
        write_report(tmp_path, tmp_path)
    assert os.listdir(tmp_path) == []


def test_figures_stand_alone(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "campaign", ks=(1, 2))
    written = write_figures(folder, tmp_path / "figures")
    assert len({path.name for path in written}) == len(written) > 8
    for path in written:
        root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        assert root.get("aria-label")
        style = root.find("{http://www.w3.org/2000/svg}style")
        assert style is not None
        assert "prefers-color-scheme" in (style.text or "")
