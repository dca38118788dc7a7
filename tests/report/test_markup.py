"""Whatever is put into markup comes out as it was."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from antecede.report.markup import Markup, escape, join, tag


class Reader(HTMLParser):
    """What a browser would see: elements with their attributes, and text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(markup: str) -> Reader:
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


# Without the characters that no document may hold: those are shown as U+FFFD.
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"))


@given(TEXT, TEXT)
def test_text_and_attributes_survive(text: str, attribute: str) -> None:
    seen = read(tag("p", text, title=attribute))
    assert seen.elements == [("p", {"title": attribute})]
    assert seen.text == text


def test_markup_is_not_escaped_twice() -> None:
    inner = tag("b", "a < b & c")
    assert tag("p", inner, " > ") == "<p><b>a &lt; b &amp; c</b> &gt; </p>"
    assert join(inner, None, "<i>") == "<b>a &lt; b &amp; c</b>&lt;i&gt;"
    assert isinstance(escape("x"), Markup)


def test_attributes() -> None:
    assert tag("line", x1=1.0, y1=2.345, class_="a", data_series=0, title=None) == (
        '<line x1="1" y1="2.35" class="a" data-series="0"/>'
    )
    assert tag("td") == "<td></td>"


def test_forbidden_characters_become_visible() -> None:
    assert tag("p", "a\x00b\x1bc\td\n") == "<p>a\ufffdb\ufffdc\td\n</p>"
