"""The page in a browser: what it shows is what the tables say, on any screen."""

import re
from itertools import pairwise
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from antecede.report import write_report
from tests.browser import Visit, Visitor
from tests.report.campaigns import Row, make_campaign

SIZES = (4, 8, 32)
HOSTILE = (
    "<img src=x onerror=\"document.title='broken in'\">&amp;</script><script>alert(1)</script>"
)

# The contrast of every piece of text that shows with the background it stands on (WCAG 2).
CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => c / 255)
      .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 200) return colour;
    }
    return [255, 255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !element.checkVisibility() || element.closest("title, script, style")) continue;
    const style = getComputedStyle(element);
    const ink = rgba(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(ink.slice(0, 3)), light(background(element).slice(0, 3))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const name = `${element.tagName} ${element.textContent.slice(0, 30)}`;
    if (contrast < 4.5) poor.push(`${name}: ${contrast}`);
  }
  return poor;
}"""


def fail_some(row: Row) -> None:
    if row["variant"] == "pairs" and row["seed"] == 3:
        row |= {"status": "failed", "error": "BrokenInvariant: lost\n  at p3"}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with a bit of everything, and its page."""
    folder = tmp_path_factory.mktemp("campaign") / "everything"
    make_campaign(folder, sizes=SIZES, seeds=(1, 2, 3), ks=(1, 2, 4), change=fail_some)
    write_report(folder, folder / "report.html")
    return folder


UNFOLD = "document.querySelectorAll('.folded').forEach((section) => { section.open = true; })"


@pytest.fixture
def opened(campaign: Path, visit: Visitor) -> Visit:
    """With all its sections open."""
    visited = visit(campaign / "report.html")
    visited.page.evaluate(UNFOLD)
    return visited


def test_it_begins_with_the_answer_and_folds_the_rest(campaign: Path, visit: Visitor) -> None:
    page = visit(campaign / "report.html").page
    assert page.locator("main h2").first.inner_text() == "The answer"
    assert page.locator(".answers li").count() == 3
    places = ".answers, #answer-chart, .facts, nav, .switches"
    shown = page.locator(places).evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().y)"
    )
    assert len(shown) == 5
    assert shown == sorted(shown)
    assert page.locator("svg.chart:visible").count() == 1
    height = page.evaluate("document.documentElement.scrollHeight")
    space = page.locator("#space .figure").first
    assert not space.is_visible()
    page.get_by_role("link", name="Space", exact=True).click()
    space.wait_for(state="visible")  # the page unfolds it when it hears of the new address
    page.evaluate(UNFOLD)
    assert page.evaluate("document.documentElement.scrollHeight") > 3 * height


def test_it_works_from_a_file_without_complaint(opened: Visit) -> None:
    assert opened.page.url.startswith("file://")
    assert opened.page.title() == "everything: Antecede campaign"
    assert opened.page.locator("h1").inner_text() == "everything"
    assert not opened.complaints
    assert not opened.scrolls_sideways()


def test_all_charts_are_there(opened: Visit) -> None:
    figures = opened.page.locator("figure")
    assert figures.count() >= 12
    for place in range(figures.count()):
        shown = figures.nth(place).locator("svg.chart:visible")
        assert shown.count() == 1
        box = shown.bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert box["height"] > 100
        assert shown.get_attribute("aria-label")


def test_the_numbers_of_a_chart_are_those_of_the_table(campaign: Path, opened: Visit) -> None:
    summary = pq.read_table(campaign / "summary")
    chosen = summary.filter(pc.equal(summary["measure"], "stamp_bytes_mean")).to_pylist()
    titles = opened.page.locator("#stamp-bytes-mean-1 .wide .marker title").all_text_contents()
    shown = {}
    for title in titles:
        found = re.fullmatch(r"(.+), (\d+) processes: ([\d.\u202f]+) bytes.*, (\d) runs", title)
        assert found, title
        number = found[3].replace("\u202f", "")
        shown[found[1], int(found[2])] = (float(number), int(found[4]))
    assert len(shown) == len(chosen) == 10 * len(SIZES)
    for row in chosen:
        number, runs = shown[row["variant"], row["processes"]]
        assert number == pytest.approx(
            row["mean"], rel=5e-4, abs=0.5 if row["mean"] > 999 else 1e-9
        )
        assert runs == row["n"]


def test_the_numbers_behind_a_figure_open_by_keyboard(opened: Visit) -> None:
    summary = opened.page.locator("#delay-split-1 summary")
    table = opened.page.locator("#delay-split-1 table")
    assert not table.is_visible()
    summary.focus()
    opened.page.keyboard.press("Enter")
    assert table.is_visible()
    assert table.locator("thead th").all_text_contents()[:3] == [
        "protocol",
        "processes",
        "network, ms",
    ]
    rows = table.locator("tbody tr").all()
    assert len(rows) == 10 * len(SIZES)
    for row in rows:
        *parts, whole = (float(cell) for cell in row.locator("td").all_text_contents()[1:])
        assert sum(parts) == pytest.approx(whole, rel=2e-3)


def test_a_protocol_is_hidden_in_every_chart(opened: Visit) -> None:
    page = opened.page
    button = page.get_by_role("button", name="vector")
    parts = page.locator('[data-series="9"]')
    assert parts.count() > 10
    assert button.get_attribute("aria-pressed") == "true"
    button.focus()
    page.keyboard.press("Space")
    assert button.get_attribute("aria-pressed") == "false"
    assert page.locator('.off:not([data-series="9"])').count() == 0
    assert page.locator(".off").count() == parts.count()
    button.click()
    assert page.locator(".off").count() == 0
    assert not opened.complaints


def test_headings_sort_the_comparison(opened: Visit) -> None:
    table = opened.page.locator("table.comparison")
    column = table.locator("thead th").nth(2)

    def values() -> list[float]:
        cells = table.locator("tbody td:nth-child(3)").all()
        return [float(cell.get_attribute("data-sort") or "nan") for cell in cells]

    column.locator("button").press("Enter")
    assert column.get_attribute("aria-sort") == "ascending"
    assert values() == sorted(values())
    column.locator("button").click()
    assert column.get_attribute("aria-sort") == "descending"
    assert values() == sorted(values(), reverse=True)
    table.locator("thead button").first.click()
    names = table.locator("tbody th span").all_text_contents()
    assert names[:3] == ["blocks-slow", "bounded k=1", "bounded k=2"]


@pytest.mark.parametrize("dark", [False, True])
def test_it_can_be_read_on_a_phone(campaign: Path, visit: Visitor, dark: bool) -> None:
    visited = visit(campaign / "report.html", width=360, height=740, dark=dark, touch=True)
    assert not visited.scrolls_sideways()
    visited.page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    assert not visited.scrolls_sideways()
    sizes = visited.page.evaluate(
        """() => [...document.querySelectorAll("svg.chart text")]
          .filter((text) => text.checkVisibility())
          .map((text) => {
            const sheet = text.ownerSVGElement;
            const scale = sheet.getBoundingClientRect().width / sheet.viewBox.baseVal.width;
            return parseFloat(getComputedStyle(text).fontSize) * scale;
          })"""
    )
    assert len(sizes) > 100
    assert min(sizes) >= 10.5
    assert not visited.complaints


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out(campaign: Path, visit: Visitor, dark: bool) -> None:
    visited = visit(campaign / "report.html", dark=dark)
    visited.page.evaluate(UNFOLD)
    back = visited.page.evaluate("getComputedStyle(document.body).backgroundColor")
    shades = [int(shade) for shade in re.findall(r"\d+", back)]
    assert max(shades) < 60 if dark else min(shades) > 200
    assert visited.page.evaluate(CONTRASTS) == []


def test_the_check_of_contrast_finds_poor_text(campaign: Path, visit: Visitor) -> None:
    page = visit(campaign / "report.html").page
    page.evaluate("document.querySelector('h1').style.setProperty('color', '#999')")
    found = page.evaluate(CONTRASTS)
    assert len(found) == 1
    assert found[0].startswith("H1 everything")


def test_lines_stand_out_from_the_card(campaign: Path, visit: Visitor) -> None:
    for dark in (False, True):
        page = visit(campaign / "report.html", dark=dark).page
        contrasts = page.evaluate(
            """() => {
              const probe = document.createElementNS("http://www.w3.org/2000/svg", "text");
              const found = [];
              for (let look = 0; look < 8; look++) {
                const line = document.querySelector(`.wide .look-${look} .marker`);
                found.push(getComputedStyle(line).fill);
              }
              found.push(getComputedStyle(document.querySelector("figure")).backgroundColor);
              return found;
            }"""
        )
        *colours, card = ([int(part) for part in re.findall(r"\d+", c)[:3]] for c in contrasts)
        assert len({tuple(colour) for colour in colours}) == 8
        for colour in colours:
            lighter, darker = sorted((luminance(colour), luminance(card)), reverse=True)
            assert (lighter + 0.05) / (darker + 0.05) >= 3


def luminance(colour: list[int]) -> float:
    shares = [part / 255 for part in colour]
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_markup_in_names_is_shown_as_it_is(tmp_path: Path, visit: Visitor) -> None:
    def poison(row: Row) -> None:
        row |= {"variant": f"{row['variant']} {HOSTILE}", "network": HOSTILE, "workload": HOSTILE}
        if row["seed"] == 2:
            row |= {"status": "failed", "error": HOSTILE, "run": f"../{HOSTILE}"}

    make_campaign(tmp_path, ("vector", "matrix"), seeds=(1, 2), networks=("a",), change=poison)
    quoted = HOSTILE.replace("\\", "\\\\").replace('"', '\\"')
    (tmp_path / "campaign.toml").write_text(f'name = "{quoted}"\nquestion = "{quoted}"\n')
    visited = visit(write_report(tmp_path, tmp_path / "report.html"), width=360)
    page = visited.page
    assert page.title() == f"{HOSTILE}: Antecede campaign"
    assert page.locator("h1").text_content() == HOSTILE
    assert page.locator(".question").text_content() == HOSTILE
    assert page.locator("#failures code.error").first.text_content() == HOSTILE
    assert page.locator("#verdicts tbody th").first.text_content() == f"matrix {HOSTILE}"
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1
    assert not visited.complaints
    assert not visited.scrolls_sideways()


def test_a_script_from_elsewhere_could_not_run(
    campaign: Path, tmp_path: Path, visit: Visitor
) -> None:
    page = (campaign / "report.html").read_text(encoding="utf-8")
    spoiled = tmp_path / "spoiled.html"
    spoiled.write_text(page.replace("<main", "<script>document.title='broken in'</script><main"))
    visited = visit(spoiled)
    assert visited.page.title() == "everything: Antecede campaign"
    assert any("Content Security Policy" in complaint for complaint in visited.complaints)


def test_it_can_be_printed(tmp_path: Path, visit: Visitor) -> None:
    folder = make_campaign(tmp_path, ("vector", "matrix"), seeds=(1, 2))
    page = visit(write_report(folder, folder / "report.html")).page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(28, 35, 48)"
    assert not page.locator("nav").is_visible()
    assert not page.locator(".switches").is_visible()
    assert page.locator("#stamp-bytes-mean-1 .wide svg").is_visible()
    assert len(page.pdf(format="A4")) > 20_000


def test_every_part_has_a_name_for_those_who_do_not_see_it(opened: Visit) -> None:
    page = opened.page
    assert page.get_attribute("html", "lang") == "en"
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("section, nav, [role], button, figure svg")].filter(
          (e) => !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby")
                   || e.textContent.trim())).length"""
    )
    assert nameless == 0
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
