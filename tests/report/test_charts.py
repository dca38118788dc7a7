"""Charts show the numbers they were given, in the right places."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from antecede.report.charts.bars import Bar, draw_bars
from antecede.report.charts.canvas import NARROW, WIDE, Estimate
from antecede.report.charts.dots import draw_dots
from antecede.report.charts.histogram import Histogram, draw_histograms
from antecede.report.charts.lines import Line, draw_lines
from antecede.report.charts.looks import Series
from antecede.report.charts.scales import linear
from antecede.report.charts.scatter import Spot, draw_scatter, unbeaten
from antecede.report.numbers import BYTES, ELEMENTS, PROCESSES, SECONDS

SVG = "{http://www.w3.org/2000/svg}"
WIDTHS = pytest.mark.parametrize("width", [WIDE, NARROW])


def sure(value: float) -> Estimate:
    return Estimate(value, value, value, 1)


def parse(picture: str) -> ElementTree.Element:
    """The picture as a program reads it that knows XML only."""
    return ElementTree.fromstring(picture)


def texts(root: ElementTree.Element, kind: str) -> list[str]:
    return [e.text or "" for e in root.iter(f"{SVG}text") if e.get("class") == kind]


def titles(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}title")]


def marker_heights(root: ElementTree.Element) -> list[float]:
    """The middle of each marker that has a title."""
    heights = []
    for element in root.iter(f"{SVG}path"):
        if element.get("class") == "marker" and element.find(f"{SVG}title") is not None:
            start = re.match(r"M([\d.]+) ([\d.]+)a", element.get("d", ""))
            heights.append(float(start[2]) if start else float("nan"))
    return heights


@WIDTHS
def test_lines_are_where_their_values_say(width: int) -> None:
    line = Line(Series("vector", 0), [(4.0, sure(10.0)), (8.0, sure(20.0)), (12.0, sure(30.0))])
    axes = (("Processes", PROCESSES), ("Stamp", BYTES))
    root = parse(draw_lines([line], "Stamps", *axes, width))
    assert root.get("aria-label") == "Stamps"
    assert titles(root) == [
        "vector, 4 processes: 10 bytes, 1 run",
        "vector, 8 processes: 20 bytes, 1 run",
        "vector, 12 processes: 30 bytes, 1 run",
    ]
    low, middle, high = marker_heights(root)
    assert low > middle > high
    assert middle == pytest.approx((low + high) / 2, abs=0.11)
    ticks = {e.text: float(e.get("y", "")) - 4 for e in root.iter(f"{SVG}text")}
    assert [low, middle, high] == pytest.approx([ticks["10"], ticks["20"], ticks["30"]], abs=0.11)
    assert {"4", "8", "12", "0", "10", "20", "30"} == set(texts(root, "tick"))
    assert "vector" in texts(root, "name")


def test_a_confidence_band_reaches_from_end_to_end() -> None:
    line = Line(Series("a", 0), [(1.0, Estimate(5, 4, 6, 9)), (2.0, Estimate(7, 5, 9, 9))])
    root = parse(draw_lines([line], "t", ("x", PROCESSES), ("y", BYTES), WIDE))
    band = next(e for e in root.iter(f"{SVG}path") if e.get("class") == "band")
    assert band.get("d", "").count("L") == 3
    assert titles(root)[0] == "a, 1 processes: 5 bytes (4 to 6), 9 runs"


@WIDTHS
def test_bars_are_stacked_without_gaps(width: int) -> None:
    bars = [Bar(Series("a", 0), "4 processes", (0.05, 0.01, 0.0, 0.02))]
    parts = ("network", "forced", "inherited", "unnecessary")
    root = parse(draw_bars(bars, parts, "Delay", ("Time", SECONDS), width))
    boxes = [
        (float(rect.get("x", "")), float(rect.get("width", "")), rect.get("class"))
        for group in root.iter(f"{SVG}g")
        if group.find(f"{SVG}title") is not None
        for rect in group.iter(f"{SVG}rect")
        if rect.get("class")
    ]
    assert [kind for _, _, kind in boxes] == ["part part-0", "part part-1", "part part-3"]
    for (x, wide, _), (following, _, _) in pairwise(boxes):
        assert x + wide == pytest.approx(following, abs=0.02)
    assert boxes[0][1] == pytest.approx(5 * boxes[1][1], abs=0.1)
    assert "80 ms" in texts(root, "value")


def test_hatchings_of_two_charts_have_different_names() -> None:
    bars = [Bar(Series("a", 0), "", (1.0, 1.0, 1.0, 1.0))]
    names = []
    for title, width in (("One", WIDE), ("One", NARROW), ("Two", WIDE)):
        root = parse(draw_bars(bars, ("a", "b", "c", "d"), title, ("x", SECONDS), width))
        names += [pattern.get("id") for pattern in root.iter(f"{SVG}pattern")]
        used = {e.get("fill") for e in root.iter(f"{SVG}rect") if e.get("fill")}
        assert used == {f"url(#{name})" for name in names[-2:]}
    assert len(names) == len(set(names)) == 6


@WIDTHS
def test_dots(width: int) -> None:
    rows = [(Series("a", 0), Estimate(10, 8, 12, 5)), (Series("b", 1), sure(0.0))]
    root = parse(draw_dots(rows, "Stamp", ("Stamp", BYTES), width))
    assert titles(root) == ["a: 10 bytes (8 to 12), 5 runs", "b: 0 bytes, 1 run"]
    assert texts(root, "value") == ["10", "0"]


def spot(name: str, across: float, up: float) -> Spot:
    return Spot(Series(name, 0), sure(across), sure(up))


def test_the_front_is_what_nobody_beats() -> None:
    spots = [spot("a", 1, 9), spot("b", 2, 5), spot("worse", 3, 5), spot("c", 4, 1)]
    assert [each.series.name for each in unbeaten(spots)] == ["a", "b", "c"]
    assert [each.series.name for each in unbeaten([spot("x", 1, 1), spot("y", 1, 1)])] == ["x"]


@WIDTHS
def test_scatter_names_every_point_inside_the_picture(width: int) -> None:
    spots = [spot(f"protocol {n}", 10.0 + n / 4, 0.05 + n / 1000) for n in range(9)]
    front = unbeaten(spots)
    root = parse(draw_scatter(spots, front, "t", ("Stamp", BYTES), ("Delay", SECONDS), width))
    assert sorted(texts(root, "name")) == [f"protocol {n}" for n in range(9)]
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x", "")) <= width
    assert titles(root)[0] == "protocol 0: 10 bytes, 50 ms, 1 run"


@WIDTHS
def test_histograms_show_shares(width: int) -> None:
    shown = [
        Histogram(Series("a", 0), [(0, 1, 25), (1, 2, 75)], 0.75, 100),
        Histogram(Series("b", 1), [(0, 1, 10), (1, 2, 0)], 0.0, 20),
    ]
    axis = ("Stamp", ELEMENTS)
    root = parse(draw_histograms(shown, "t", axis, lambda n: linear([0, 2], n), width, whole=True))
    assert titles(root) == [
        "a, 0 elements: 25 %",
        "a, 1 elements: 75 %",
        "b, 0 elements: 50 %",
    ]
    heights = [
        float(rect.get("height", ""))
        for rect in root.iter(f"{SVG}rect")
        if rect.get("class") == "column"
    ]
    assert heights[1] == pytest.approx(3 * heights[0], abs=0.05)
    assert heights[2] == pytest.approx(2 * heights[0], abs=0.05)


def test_no_two_of_many_series_look_alike() -> None:
    looks = set()
    for place in range(40):
        series = Series("x", place)
        shape = re.sub(r"[\d.]+", "", series.marker(0, 0)) + str(len(series.marker(50, 50)))
        looks.add((series.look, series.dash, shape))
    assert len(looks) == 40


def test_names_are_escaped_and_cut() -> None:
    name = "<script>alert(1)</script>" * 4
    line = Line(Series(name, 0), [(1.0, sure(1.0)), (2.0, sure(2.0))])
    root = parse(draw_lines([line], name, ("x", PROCESSES), ("y", BYTES), NARROW))
    assert root.get("aria-label") == name
    assert [text for text in texts(root, "name") if text.endswith("…")]
    assert titles(root)[0].startswith(name)
