"""The generated pages are what the code generates."""

from bench import docs


def test_the_page_of_protocols_has_their_needs() -> None:
    page = docs.PAGE.read_text("utf-8")
    assert page.startswith(docs.needs_and_gives()), "run `make docs`"


def test_the_page_of_protocols_has_the_measured_figures() -> None:
    """One of its tables, measured again: a change that moves it moves the others, too."""
    page = docs.PAGE.read_text("utf-8")
    _, fields = docs.TRAFFIC["Broadcast in one group"]
    for name in ("vector", "pairs", "blocks-slow"):
        row = docs.markdown((), [docs.measured_row(*docs.run(name, 8, fields))]).splitlines()[-1]
        assert row in page, "run `make docs`"


def test_the_page_of_campaigns_has_the_columns() -> None:
    page = docs.CAMPAIGNS.read_text("utf-8")
    assert docs.with_campaign_tables(page) == page, "run `make docs`"
