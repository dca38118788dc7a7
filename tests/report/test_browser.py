"""The harness hears what a bad page does."""

from pathlib import Path

from tests.browser import Visitor

BAD = """<!doctype html><title>Bad</title><p style="width: 3000px">wide</p>
<script>
console.error("first");
fetch("https://example.org/").catch(() => document.title = "Refused");
throw new Error("second")
</script>"""
GOOD = """<!doctype html><title>Good</title><link rel=icon href=data:,><p>narrow</p>"""


def test_a_bad_page_is_heard(tmp_path: Path, visit: Visitor) -> None:
    (tmp_path / "bad.html").write_text(BAD)
    visited = visit(tmp_path / "bad.html")
    visited.page.wait_for_function("document.title === 'Refused'")
    heard = "\n".join(visited.complaints)
    assert "console error: first" in heard
    assert "uncaught: second" in heard
    assert "asked the network for https://example.org/" in heard
    assert visited.scrolls_sideways()


def test_a_good_page_is_quiet(tmp_path: Path, visit: Visitor) -> None:
    (tmp_path / "good page #1.html").write_text(GOOD)
    visited = visit(tmp_path / "good page #1.html", width=360, dark=True)
    assert visited.page.inner_text("p") == "narrow"
    assert visited.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert not visited.complaints
    assert not visited.scrolls_sideways()
