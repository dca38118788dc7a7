"""The drawing itself: known marks at known places, and whole pictures against stored ones."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import Visitor
from tests.view.pictures import EARLY, FOLDER, RUN, SIZE, THEMES, draw
from tests.view.runs import page_of, write_rows

if TYPE_CHECKING:
    from playwright.sync_api import Page

MOST_DIFFERENT = 0.0005
"""The share of pixels that may differ: edges are smoothed differently by different versions."""

DIFFERENCE = """async (pictures) => {
  const [a, b] = await Promise.all(pictures.map(async (data) => {
    const image = new Image();
    image.src = "data:image/png;base64," + data;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, image.width, image.height);
  }));
  if (a.width !== b.width || a.height !== b.height) return 1;
  let different = 0;
  for (let at = 0; at < a.data.length; at += 4) {
    const away = [0, 1, 2].map((part) => Math.abs(a.data[at + part] - b.data[at + part]));
    if (Math.max(...away) > 60) different++;
  }
  return different / (a.data.length / 4);
}"""

COLOUR_AT = """([event, dx, dy]) => {
  const { scene, pictures: [picture], surface } = antecede, ratio = devicePixelRatio;
  const x = scene.x(picture.places[event]) + dx;
  const y = scene.lineY(scene.lanes.rowOf[picture.trace.process[event]]) + dy;
  const [red, green, blue] = surface.contexts[0].getImageData(x * ratio, y * ratio, 1, 1).data;
  return "#" + [red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("");
}"""


@pytest.mark.parametrize("theme", THEMES)
def test_like_the_stored_pictures(visit: Visitor, tmp_path: Path, theme: str) -> None:
    page_file = page_of(write_rows(tmp_path / "t.parquet", *RUN))
    page = visit(page_file, **SIZE, dark=theme == "dark").page
    assert differences(page, theme) < MOST_DIFFERENT


@pytest.mark.parametrize(
    ("drawn", "instead"),
    [
        ("drawMarks(context, scene, picture, sparse);", ""),
        ("drawLines(context, scene, picture, flying);", ""),
        ("if (picture.copy) drawPath(context, scene, picture);", ""),
        ("case CRASH: // a cross", "case NOTHING:"),
        ('["own", 1],', '["own", 0.75],'),
    ],
    ids=["marks", "lines", "path", "crash", "height of a bar"],
)
def test_a_picture_that_lacks_something_would_be_noticed(
    visit: Visitor, tmp_path: Path, drawn: str, instead: str
) -> None:
    page_file = page_of(write_rows(tmp_path / "t.parquet", *RUN))
    text = page_file.read_text(encoding="utf-8")
    assert text.count(drawn) == 1
    page_file.write_text(text.replace(drawn, instead), "utf-8")
    assert differences(visit(page_file, **SIZE).page, "light") > MOST_DIFFERENT


def differences(page: "Page", theme: str) -> float:
    """How much the two pictures of a page differ from the stored ones, the larger of both."""
    page.wait_for_selector("body[data-ready]")
    found = []
    for name, selected in (("plain", -1), ("early", EARLY)):
        pictures = (draw(page, selected), (FOLDER / f"{name}-{theme}.png").read_bytes())
        encoded = [base64.b64encode(picture).decode() for picture in pictures]
        found.append(float(page.evaluate(DIFFERENCE, encoded)))
    return max(found)


def test_marks_stand_where_their_events_are(visit: Visitor, tmp_path: Path) -> None:
    page = visit(page_of(write_rows(tmp_path / "t.parquet", *RUN)), **SIZE).page
    page.wait_for_selector("body[data-ready]")
    draw(page, -1)
    palette = page.evaluate("antecede.palette")
    size = page.evaluate("antecede.scene.markSize")
    rows = {(row["kind"], row["process"], row.get("time")): at for at, row in enumerate(RUN)}

    def colour(event: int, dx: float = 0, dy: float = 0) -> str:
        return str(page.evaluate(COLOUR_AT, [event, dx, dy]))

    assert colour(rows["send", "a", 0.5]) == palette["send"]
    assert colour(rows["deliver", "c", 2.8]) == palette["deliver"]
    assert colour(rows["receive", "c", 1.7], -size, 0) != palette["paper"]
    assert colour(rows["crash", "b", 4.1]) == palette["member"]
    early = rows["deliver", "d", 2.2]
    assert early == EARLY
    assert colour(early) == palette["early"]
    depth = page.evaluate(
        """() => { const { scene, traces: [trace], pictures: [{ bars }] } = antecede;
        const bar = bars.find((bar) => bar.delivery === 9);
        return bar.top + 2 - scene.lineY(scene.lanes.rowOf[trace.process[9]]); }"""
    )
    held_from, forced_to, allowed_from, delivered = (5, 7, 8, 9)
    assert colour(held_from, 8, depth) == palette["forced"]
    assert colour(forced_to, 8, depth) == palette["inherited"]
    assert colour(allowed_from, 8, depth) == palette["own"]
    assert colour(delivered, 8, depth) not in (palette["own"], palette["forced"])
