"""The page in a real browser: what a person sees and does."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pytest

from antecede.errors import Misuse
from antecede.imports import import_csv, write_imported
from antecede.trace import DELIVER, RECEIVE, SEND, Assumed, encode_assumed
from antecede.verify import Answer, explain, verify_trace
from antecede.verify.verdict import NOTHING
from antecede.view import write_shiviz
from antecede.view.excerpt import choose_events
from antecede.view.waits import find_waits
from tests.browser import Visit, Visitor
from tests.trace.builders import deliver, positioned, receive, send, table
from tests.view.runs import (
    HELD,
    OVERTAKEN,
    PLANTED,
    described,
    only_run,
    page_of,
    past_of,
    simulated,
    write_rows,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

SPOT = """([index, event]) => {
  const { scene, pictures, surface } = antecede, picture = pictures[index];
  const frame = surface.plots[index].canvas.getBoundingClientRect();
  const row = scene.lanes.rowOf[picture.trace.process[event]];
  return [frame.left + scene.x(picture.places[event]), frame.top + scene.lineY(row)];
}"""


def opened(visit: Visitor, page: Path, **options: Any) -> Visit:
    visited = visit(page, **options)
    visited.page.wait_for_selector("body[data-ready]")
    return visited


def click_event(page: "Page", event: int, index: int = 0) -> None:
    x, y = page.evaluate(SPOT, [index, event])
    page.mouse.click(x, y)


def panel(page: "Page") -> str:
    return page.inner_text("#panel")


def test_a_click_tells_what_happened_and_what_it_depends_on(visit: Visitor, tmp_path: Path) -> None:
    trace = simulated(tmp_path / "t.parquet", "vector")
    run = only_run(trace)
    visited = opened(visit, page_of(trace))
    page = visited.page
    chosen = [int(i) for i in range(40, len(run.events), 97)]
    for event in chosen:
        page.evaluate(f"antecede.select(0, {event})")
        shown = json.loads(page.evaluate("JSON.stringify(antecede.pictures[0].cone.list('past'))"))
        assert set(shown) == past_of(run, event)
        assert described(run, event) in panel(page)
        assert page.inner_text(".cone .past b") == f"{len(shown):,}"
    assert {int(run.events.kind[event]) for event in chosen} == {SEND, RECEIVE, DELIVER}
    page.keyboard.press("Escape")
    page.keyboard.press("0")
    first = int((run.events.kind == SEND).argmax())
    click_event(page, first)
    assert page.evaluate("antecede.selection.event") in {first, first + 1}
    assert described(run, first).split()[-1] in panel(page)
    assert visited.complaints == []


def test_a_page_that_is_wrong_about_the_past_would_be_noticed(
    visit: Visitor, tmp_path: Path
) -> None:
    trace = simulated(tmp_path / "t.parquet", "vector")
    page_file = page_of(trace)
    text = page_file.read_text(encoding="utf-8")
    right = "if (kind[i] === DELIVER) wanted[message[i]] = 1;"
    assert text.count(right) == 1
    page_file.write_text(text.replace(right, right.replace("DELIVER", "RECEIVE")), "utf-8")
    page = opened(visit, page_file).page
    run = only_run(trace)
    wrong = 0
    for event in range(40, len(run.events), 97):
        page.evaluate(f"antecede.select(0, {event})")
        shown = json.loads(page.evaluate("JSON.stringify(antecede.pictures[0].cone.list('past'))"))
        wrong += set(shown) != past_of(run, event)
    assert wrong > 0


def test_the_sentences_are_those_of_explain(visit: Visitor, tmp_path: Path) -> None:
    for protocol in ("none", "vector", "blocks-slow"):
        trace = simulated(tmp_path / f"{protocol}.parquet", protocol, messages=40)
        run = only_run(trace)
        events = run.events
        visited = opened(visit, page_of(trace))
        asked = [
            i
            for i in range(0, len(events), 13)
            if events.kind[i] == DELIVER and events.process[i] != events.sender[i]
        ]
        assert len(asked) > 8
        told = visited.page.evaluate(
            "(asked) => asked.map((i) => antecede.explain(0, i))",
            asked,
        )
        for event, sentences in zip(asked, told, strict=True):
            process = run.name_of(int(events.process[event]))
            expected = explain(trace, process, run.message_of(event)).sentences()
            assert sentences == expected


def test_a_click_on_a_bar_goes_to_what_the_message_waits_for(
    visit: Visitor, tmp_path: Path
) -> None:
    trace = write_rows(tmp_path / "t.parquet", *HELD)
    visited = opened(visit, page_of(trace))
    page = visited.page
    svg = page.evaluate("antecede.surface.svgText(antecede)[0]")
    assert "p:2 waits for p:1" in svg
    assert "p:3 waits for p:2" in svg
    x, y = page.evaluate(
        """() => { const bar = antecede.pictures[0].bars.find((bar) => bar.delivery === 7);
        const frame = antecede.surface.plots[0].canvas.getBoundingClientRect();
        return [frame.left + (bar.left + bar.right) / 2, frame.top + bar.top + bar.height / 2]; }"""
    )
    page.mouse.move(x, y)
    assert "p:2 waits for p:1" in page.inner_text("#tip")
    page.mouse.click(x, y)
    assert page.evaluate("antecede.selection.event") == 6
    assert "q delivers p:1" in panel(page)
    page.keyboard.press("b")
    assert page.evaluate("antecede.selection.event") == 7
    assert "Of the wait, 1 s was forced" in panel(page)
    assert "0.5 s was inherited" in panel(page)
    assert "1.5 s was its own" in panel(page)
    page.click(".awaited button")
    assert page.evaluate("antecede.selection.event") == 6
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    assert page.evaluate("antecede.selection.event") == 6
    assert visited.complaints == []


def test_the_planted_violation_is_found(visit: Visitor, tmp_path: Path) -> None:
    trace = write_rows(tmp_path / "t.parquet", *PLANTED)
    (witness,) = verify_trace(trace).witnesses
    visited = opened(visit, page_of(trace))
    page = visited.page
    assert "q delivers r:1 before p:1" in panel(page)
    page.click("text=q delivers r:1 before p:1")
    assert witness.sentence() in panel(page)
    assert page.locator("ol.path li").all_inner_texts() == [
        "p sends p:1",
        "r delivers p:1",
        "r sends r:1",
        "q delivers r:1",
    ]
    early = page.evaluate("antecede.palette.early")
    assert early in page.evaluate("antecede.surface.svgText(antecede)[0]")
    clean = opened(visit, page_of(write_rows(tmp_path / "held.parquet", *HELD)))
    assert "None: causal order was kept." in panel(clean.page)
    assert visited.complaints == clean.complaints == []


def test_order_is_not_called_kept_where_that_cannot_be_told(visit: Visitor, tmp_path: Path) -> None:
    assumed = Assumed("clocks", "only <b>clocks</b> were there")
    notes = {f"antecede.{key}": text for key, text in encode_assumed([assumed]).items()}
    unsure = tmp_path / "unsure.parquet"
    pq.write_table(table(*HELD).replace_schema_metadata(notes), unsure)
    nothing = write_rows(tmp_path / "nothing.parquet", *HELD[:6])
    for trace, doubt in ((unsure, assumed), (nothing, NOTHING)):
        page = opened(visit, page_of(trace)).page
        assert "but whether order was kept cannot be told" in panel(page)
        assert page.locator(".doubts li").all_inner_texts() == [doubt.sentence()]
        assert page.locator(".good").count() == 0


@pytest.mark.parametrize(
    ("processes", "sure"), [(("p",), True), (("q",), False), (("r",), False), ((), False)]
)
def test_order_is_not_called_broken_where_that_is_unsure(
    visit: Visitor, tmp_path: Path, processes: tuple[str, ...], sure: bool
) -> None:
    """At q, where something came too early, at r, which handed it on, or anywhere; p's own order is
    no part of the proof."""
    assumed = Assumed("ties", "events may be otherwise", unsure=True, processes=processes)
    notes = {f"antecede.{key}": text for key, text in encode_assumed([assumed]).items()}
    trace = tmp_path / "t.parquet"
    pq.write_table(table(*PLANTED).replace_schema_metadata(notes), trace)
    assert (verify_trace(trace).answer is Answer.BROKEN) == sure
    page = opened(visit, page_of(trace)).page
    page.mouse.move(*page.evaluate(SPOT, [0, 6]))
    page.wait_for_selector("#tip:visible")
    tip = page.inner_text("#tip")
    assert ("causal order is broken here" in tip) == sure
    assert ("perhaps too early: the order of events is unsure" in tip) != sure
    page.click("text=q delivers r:1 before p:1")
    assert ("Perhaps causal order was BROKEN" in panel(page)) != sure
    assert "order was BROKEN" in panel(page)


def test_the_address_may_name_what_to_look_at(visit: Visitor, tmp_path: Path) -> None:
    page = page_of(write_rows(tmp_path / "t.parquet", *PLANTED))
    selected = "antecede.selection.event"
    assert opened(visit, page, fragment="#early").page.evaluate(selected) == 6
    assert opened(visit, page, fragment="#p:1@r").page.evaluate(selected) == 2
    assert opened(visit, page, fragment="#nobody:1").page.evaluate(selected) == -1
    opened_at = page_of(tmp_path / "t.parquet", around="r:1")
    assert opened(visit, opened_at).page.evaluate(selected) == 3


def test_the_bar_of_a_message_that_is_never_delivered(visit: Visitor, tmp_path: Path) -> None:
    rows = [send("p", 1, "q"), send("p", 2, "q"), receive("q", "p:2"), send("q", 1, "p")]
    timed = [{**row, "time": float(at)} for at, row in enumerate(positioned(*rows))]
    visited = opened(visit, page_of(write_rows(tmp_path / "t.parquet", *timed)))
    page = visited.page
    assert "p:2 waits for p:1, never delivered" in page.evaluate(
        "antecede.surface.svgText(antecede)[0]"
    )
    x, y = page.evaluate(
        """() => { const [bar] = antecede.pictures[0].bars;
        const frame = antecede.surface.plots[0].canvas.getBoundingClientRect();
        return [frame.left + (bar.left + bar.right) / 2, frame.top + bar.top + bar.height / 2]; }"""
    )
    page.mouse.move(x, y)
    assert "it depends on p:1, not delivered there" in page.inner_text("#tip")
    page.mouse.click(x, y)
    assert page.inner_text("#panel h2") == "p sends p:1"
    assert visited.complaints == []


NAMES = [
    "<img src=x onerror=alert(1)>",
    "プロセス",
    "עברית",
    "a&b;\"'",
    "</script><script>x",
    "é\t \\",
]


def test_names_are_never_markup(visit: Visitor, tmp_path: Path) -> None:
    rows = [send(NAMES[0], 1, NAMES[1:], time=0.0)]
    for at, name in enumerate(NAMES[1:], 1):
        message = f"{NAMES[0]}:1"
        rows += [receive(name, message, time=at), deliver(name, message, time=at + 0.5)]
    trace = write_rows(tmp_path / "t.parquet", *positioned(*rows))
    visited = opened(visit, page_of(trace))
    page = visited.page
    assert page.evaluate("antecede.traces[0].processes") == NAMES
    for tab in ("processes", "overview", "find", "selection"):
        page.click(f"[data-tab={tab}]")
    page.evaluate("antecede.select(0, 2)")
    assert f"{NAMES[1]} delivers {NAMES[0]}:1" in page.inner_text("#panel h2")
    page.fill("#query", "プロセス")
    assert "2 events" in panel(page)
    svg = page.evaluate("antecede.surface.svgText(antecede)[0]")
    texts = [element.text for element in ElementTree.fromstring(svg).iter() if element.text]
    assert NAMES[0] in texts
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert visited.complaints == []


def test_an_empty_trace_and_one_without_times(visit: Visitor, tmp_path: Path) -> None:
    empty = opened(visit, page_of(write_rows(tmp_path / "empty.parquet")))
    assert "The trace is empty: there is nothing to judge." in panel(empty.page)
    for key in "0+-eEwmbnpafgslct":
        empty.page.keyboard.press(key)
    empty.page.mouse.click(400, 300)
    assert empty.complaints == []
    rows = [{**row, "time": None} for row in PLANTED]
    untimed = opened(visit, page_of(write_rows(tmp_path / "untimed.parquet", *rows)))
    assert untimed.page.evaluate("antecede.axisKind") == "position"
    untimed.page.keyboard.press("e")
    assert "q delivered r:1 without p:1, which r:1 directly depends on" in panel(untimed.page)
    assert untimed.complaints == []


def test_keys_reach_everything(visit: Visitor, tmp_path: Path) -> None:
    trace = simulated(tmp_path / "t.parquet", "fifo")
    visited = opened(visit, page_of(trace))
    page = visited.page
    page.keyboard.press("e")
    first = page.evaluate("antecede.selection.event")
    assert page.evaluate(f"antecede.traces[0].isEarly({first})")
    page.keyboard.press("e")
    assert page.evaluate("antecede.selection.event") > first
    page.keyboard.press("ArrowRight")
    stepped = page.evaluate("antecede.selection.event")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("antecede.selection.event") < stepped
    page.keyboard.press("ArrowDown")
    page.keyboard.press("a")
    assert page.input_value("#axis") == "position"
    page.keyboard.press("a")
    assert page.input_value("#axis") == "depth"
    assert page.locator("#fold").is_hidden()
    page.keyboard.press("s")
    assert page.input_value("#sort") == "by name"
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    page.locator("#help").wait_for(state="hidden")
    page.keyboard.press("/")
    page.keyboard.type("early")
    assert f"{page.evaluate('antecede.traces[0].early.length')} events" in panel(page)
    page.keyboard.press("Enter")
    assert page.evaluate("antecede.traces[0].isEarly(antecede.selection.event)")
    page.keyboard.press("Escape")
    before = page.evaluate("antecede.scene.to - antecede.scene.from")
    page.mouse.move(500, 300)
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"antecede.scene.to - antecede.scene.from < {before}")
    page.mouse.down()
    page.mouse.move(400, 300, steps=3)
    page.mouse.up()
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert visited.complaints == []


def test_two_protocols_on_the_same_traffic(visit: Visitor, tmp_path: Path) -> None:
    ours = simulated(tmp_path / "vector.parquet", "vector")
    theirs = simulated(tmp_path / "none.parquet", "none")
    visited = opened(visit, page_of(ours, compare=theirs))
    page = visited.page
    assert page.locator("#plots canvas").count() == 2
    assert "vector.parquet" in panel(page)
    early = verify_trace(theirs).violations
    cells = page.locator(".statistics tr", has_text="early deliveries").inner_text().split("\t")
    assert cells == ["early deliveries", "0", str(early)]
    page.keyboard.press("w")
    chosen = page.evaluate("antecede.selection.event")
    assert "In none.parquet" in panel(page)
    assert "earlier" in panel(page)
    page.keyboard.press("c")
    other = page.evaluate("antecede.selection")
    assert other["index"] == 1
    assert described(only_run(theirs), other["event"]) == described(only_run(ours), chosen)
    page.click("#arrange")
    assert page.evaluate("antecede.scene.width") < 640
    assert visited.complaints == []


def test_hops_and_groups(visit: Visitor, tmp_path: Path) -> None:
    trace = simulated(
        tmp_path / "t.parquet",
        "separators",
        topology="tree:2,2,2",
        processes=None,
        messages=20,
        crashes=[{"process": 1, "time_s": 0.2}],
    )
    visited = opened(visit, page_of(trace))
    page = visited.page
    run = only_run(trace)
    seen = "antecede.pictures[0].counts.events.reduce((most, n) => Math.max(most, n), 0)"
    assert page.evaluate("antecede.shown") == [True, False, True]
    shown = page.evaluate(seen)
    page.select_option("#layer", "both")
    assert page.evaluate("antecede.shown") == [True, True, True]
    assert page.evaluate(seen) > shown
    page.select_option("#grouping", "zone")
    rows = page.evaluate("antecede.lanes.rows.filter((row) => row.group !== undefined).length")
    assert rows > 1
    page.mouse.click(20, page.evaluate("antecede.scene.y(0)") + 41)
    assert page.evaluate("antecede.lanes.folded.size") == 1
    page.click("[data-tab=processes]")
    page.focus(".groups button[aria-expanded=false]")
    page.keyboard.press("Enter")
    assert page.evaluate("antecede.lanes.folded.size") == 0
    page.keyboard.press("Enter")
    assert page.evaluate("antecede.lanes.folded.size") == 1
    assert page.evaluate("antecede.lanes.rows.length") < len(run.processes) + rows
    hop = int(((run.events.layer == 1) & (run.events.kind == DELIVER)).argmax())
    page.evaluate(f"antecede.select(0, {hop})")
    assert "hop" in panel(page)
    only = opened(visit, page_of(trace, layer="hop"))
    assert only.page.evaluate("antecede.shown") == [False, True, True]
    assert only.page.evaluate("antecede.traces[0].hasApp") is False
    only.page.fill("#query", "crash")
    assert "1 event" in panel(only.page)
    assert visited.complaints == only.complaints == []


def test_exports(visit: Visitor, tmp_path: Path) -> None:
    trace = simulated(tmp_path / "t.parquet", "vector")
    visited = opened(visit, page_of(trace))
    page = visited.page
    with page.expect_download() as waiting:
        page.click("#svg")
    assert waiting.value.suggested_filename == "t.svg"
    root = ElementTree.fromstring(Path(waiting.value.path()).read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert {"p0", "p5"} <= {element.text for element in root.iter()}
    with page.expect_download() as waiting:
        page.click("#shiviz")
    log = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert log == write_shiviz(trace, tmp_path / "t.log").read_text(encoding="utf-8")
    page.evaluate("antecede.select(0, 5)")
    page.evaluate("antecede.surface.copy = (text) => { window.copied = text; }")
    page.click(".listing button")
    lines = page.evaluate("window.copied").splitlines()
    assert lines[0].startswith("process\tseq\tposition\tkind")
    assert len(lines) == page.locator(".listing tbody tr").count() + 1
    assert visited.complaints == []


def test_processes_can_be_hidden(visit: Visitor, tmp_path: Path) -> None:
    visited = opened(visit, page_of(simulated(tmp_path / "t.parquet", "fifo")))
    page = visited.page
    page.click("[data-tab=processes]")
    page.locator(".processes input").first.uncheck()
    assert page.evaluate("antecede.lanes.rows.length") == 5
    assert page.evaluate("document.activeElement.type") == "checkbox"
    hidden = page.evaluate("antecede.traces[0].laneEvents[0]")
    page.evaluate(f"antecede.select(0, {hidden})")
    assert page.evaluate("antecede.lanes.rows.length") == 6
    assert visited.complaints == []


def test_what_is_left_out_is_said(visit: Visitor, tmp_path: Path) -> None:
    trace = simulated(tmp_path / "t.parquet", "none")
    visited = opened(visit, page_of(trace, limit=200))
    events = len(only_run(trace).events)
    assert f"of the {events:,} events of the run" in panel(visited.page)
    assert "around the first early delivery" in panel(visited.page)
    assert f"of {events:,} events" in visited.page.inner_text("#status")
    visited.page.keyboard.press("e")
    assert "BROKEN" in panel(visited.page)
    assert visited.complaints == []


def test_a_part_of_a_run_claims_no_order(visit: Visitor, tmp_path: Path) -> None:
    """What was overtaken may have been sent before the rows that were read."""
    trace = tmp_path / "t.parquet"
    pq.write_table(table(*OVERTAKEN), trace, row_group_size=4)
    visited = opened(visit, page_of(trace, limit=20, around="b:1"))
    visited.page.click("[data-tab=overview]")
    told = panel(visited.page)
    assert "whether order was kept cannot be told" in told
    assert "those around message b:1, were judged" in told
    assert "at least 0" in told
    assert "antecede verify says" in told
    delivery = "antecede.traces[0].eventsOf(antecede.traces[0].findMessage('b:1'))[1]"
    visited.page.evaluate(f"antecede.select(0, {delivery})")
    assert "Whether that kept causal order cannot be told" in panel(visited.page)
    assert visited.complaints == []


def test_an_excerpt_calls_everything_by_its_name(visit: Visitor, tmp_path: Path) -> None:
    trace = simulated(tmp_path / "t.parquet", "none")
    run = only_run(trace)
    waits = find_waits(run)
    kept = choose_events(run, waits, 200, "p2:6").kept
    visited = opened(visit, page_of(trace, limit=200, around="p2:6"))
    page = visited.page
    assert page.inner_text("#panel h2") == "p2 sends p2:6"
    names = page.evaluate(
        """() => { const t = antecede.traces[0];
        return Array.from(t.message, (m) => t.messageName(m)); }"""
    )
    assert names == [run.message_of(event) for event in kept.tolist()]
    early = np.flatnonzero(waits.is_early()[kept]).tolist()
    assert page.evaluate("Array.from(antecede.traces[0].early)") == early
    assert len(early) > 10
    for event in early:
        page.evaluate(f"antecede.select(0, {event})")
        assert "BROKEN" in panel(page)
    assert visited.complaints == []


def test_too_many_to_mark_are_thinned_out_evenly(visit: Visitor, tmp_path: Path) -> None:
    trace = simulated(tmp_path / "t.parquet", "none")
    page_file = page_of(trace)
    text = page_file.read_text(encoding="utf-8")
    assert text.count("MOST_EMPHASISED = 800") == 1
    page_file.write_text(text.replace("MOST_EMPHASISED = 800", "MOST_EMPHASISED = 20"), "utf-8")
    page = opened(visit, page_file).page
    early = page.evaluate("antecede.traces[0].early.length")
    told = f"of the early deliveries about 1 in {-(-early // 20)} is marked"
    page.wait_for_function(f"document.getElementById('status').textContent.includes('{told}')")
    page.fill("#query", "deliver")
    page.wait_for_function("document.getElementById('status').textContent.includes('search res')")


def test_two_runs_of_one_name_are_told_apart(visit: Visitor, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder, protocol in zip(folders, ("vector", "none"), strict=True):
        folder.mkdir()
        simulated(folder / "t.parquet", protocol, messages=10)
    page_file = page_of(folders[0] / "t.parquet", compare=folders[1] / "t.parquet")
    visited = opened(visit, page_file, fragment="#100%")
    captions = visited.page.locator("figcaption").all_inner_texts()
    assert captions == ["t.parquet vector-3", "t.parquet none-3"]
    simulated(tmp_path / "o.parquet", "none", messages=12)
    with pytest.raises(Misuse, match="messages is 10 in one and 12 in the other"):
        page_of(folders[0] / "t.parquet", compare=tmp_path / "o.parquet")
    assert visited.complaints == []
    answering = {"workload": {"kind": "broadcast", "cascade": 0.5}}
    ours, theirs = (
        simulated(tmp_path / f"{protocol}.parquet", protocol, **answering)
        for protocol in ("vector", "none")
    )
    different = opened(visit, page_of(ours, compare=theirs))
    assert "not have the same traffic" in panel(different.page)
    strangers = write_rows(tmp_path / "s.parquet", *HELD)
    with pytest.raises(Misuse, match="are of other processes"):
        page_of(folders[0] / "t.parquet", compare=strangers)


def test_two_fingers_zoom(visit: Visitor, tmp_path: Path) -> None:
    page_file = page_of(simulated(tmp_path / "t.parquet", "vector"))
    visited = opened(visit, page_file, width=390, height=780, touch=True)
    page = visited.page
    before = page.evaluate("antecede.scene.to - antecede.scene.from")
    session = page.context.new_cdp_session(page)
    for kind, apart in (("touchStart", 20), ("touchMove", 40), ("touchMove", 80), ("touchEnd", 0)):
        fingers = [{"x": 200 + side * apart, "y": 200, "id": side} for side in (-1, 1) if apart]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    page.wait_for_function(f"antecede.scene.to - antecede.scene.from < {before} * 0.6")
    assert page.evaluate("antecede.selection.event") == -1
    assert visited.complaints == []


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1280, True)])
def test_it_fits_phones_and_dark_rooms(
    visit: Visitor, tmp_path: Path, width: int, dark: bool
) -> None:
    page_file = page_of(simulated(tmp_path / "t.parquet", "vector"))
    visited = opened(visit, page_file, width=width, height=780, dark=dark, touch=width < 500)
    page = visited.page
    assert not visited.scrolls_sideways()
    paper = page.evaluate("antecede.palette.paper")
    assert paper == ("#12171d" if dark else "#ffffff")
    page.evaluate("antecede.select(0, 50)")
    canvas = page.locator("#plots canvas").bounding_box()
    sheet = page.locator("aside").bounding_box()
    assert canvas is not None
    assert sheet is not None
    assert canvas["height"] > 150
    assert sheet["height"] > 150
    if width < 500:
        x, y = page.evaluate(SPOT, [0, 50])
        page.touchscreen.tap(x, y)
        assert page.evaluate("antecede.selection.event") >= 0
    assert visited.complaints == []


LOG = """process,kind,message,destinations,time,text
checkout-service-blue-1,local,,,2024-05-01T12:00:00Z,warming up
checkout-service-blue-1,send,order 7,checkout-service-green-2,2024-05-01T12:00:01Z,buy <b>
checkout-service-blue-1,send,order 8,checkout-service-green-2,2024-05-01T12:00:02Z,buy more
checkout-service-green-2,deliver,order 8,,2024-05-01T12:00:03.5Z,got it
checkout-service-green-2,local,,,2024-05-01T12:00:04Z,shipped
"""


def test_the_words_of_a_log(visit: Visitor, tmp_path: Path) -> None:
    """Its names, texts, times and local events; lanes with long names can be told apart."""
    (tmp_path / "log.csv").write_text(LOG)
    trace = tmp_path / "t.parquet"
    write_imported(import_csv(tmp_path / "log.csv"), trace)
    visited = opened(visit, page_of(trace))
    page = visited.page
    early = "checkout-service-green-2 delivers order 8 before something that never came"
    assert early in panel(page)
    page.click(f"text={early}")
    assert "at 2024-05-01 12:00:03.500000Z" in panel(page)
    assert "got it" in page.inner_text(".log")
    page.evaluate("antecede.select(0, 0)")
    assert "checkout-service-blue-1: warming up" in panel(page)
    assert page.evaluate("antecede.traces[0].size") == 5
    found = "antecede.traces[0].findMessage('order 7')"
    assert page.evaluate(found) == 0
    svg = page.evaluate("antecede.surface.svgText(antecede)[0]")
    texts = [element.text for element in ElementTree.fromstring(svg).iter() if element.text]
    labels = [text for text in texts if text.startswith("check") and text[-1].isdigit()]
    assert sorted(label[-3:] for label in labels) == ["e-1", "n-2"]
    assert all(len(label) < 24 for label in labels)
    assert visited.complaints == []
