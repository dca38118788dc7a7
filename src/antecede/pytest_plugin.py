"""A fixture `causal` for pytest: it records, and the test fails if causal order was broken.

::

    def test_orders(causal):
        causal.send("order 7", to=["billing", "shipping"], at="shop")
        ...

What the test's processes record by themselves (`antecede.recorder`) counts, too, if it is in
`causal.folder`. A test in which nothing can be judged fails as well.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pytest

from antecede.recorder import Recorder

NAME: Final = "causal"


class Causal(Recorder):
    """A recorder of all processes of a test."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder / "test.trace", process="test", run="test")
        self.folder = folder
        """Recordings of other processes of the test may be put here."""


@pytest.fixture(name=NAME)
def causal_fixture(tmp_path: Path) -> Iterator[Causal]:
    """Records sends and deliveries; the test fails if a delivery came too early."""
    with Causal(tmp_path / "causal") as recorder:
        yield recorder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Judge what was recorded once the test is through."""
    yield
    recorder = getattr(item, "funcargs", {}).get(NAME)
    if isinstance(recorder, Causal):
        recorder.close()
        if told := judged(recorder.folder):
            pytest.fail(told, pytrace=False)


def judged(folder: Path) -> str:
    """What is to be said against the recordings in a folder; nothing if order was kept."""
    from antecede.errors import BadInput  # noqa: PLC0415 - nobody else waits for these
    from antecede.imports.logs import Wishes  # noqa: PLC0415
    from antecede.verify import Answer  # noqa: PLC0415
    from antecede.view.audited import audit_logs  # noqa: PLC0415

    files = sorted(folder.glob("*.trace"))
    try:
        found = audit_logs(files, folder.with_name("causal-audit"), Wishes())
    except BadInput as error:
        return f"causal order cannot be judged: {error}"
    verdict = found.verdict
    if verdict.answer is Answer.KEPT:
        return ""
    page = "" if found.page is None else f"\nsee {found.page.resolve().as_uri()}"
    if verdict.answer is Answer.CANNOT_TELL:
        reasons = "".join(f"\n  {one.sentence()}" for one in verdict.doubts)
        return f"whether causal order was kept cannot be told:{reasons}{page}"
    shown = "".join(f"\n  {witness.sentence()}" for witness in verdict.witnesses[:5])
    return f"causal order was BROKEN: {verdict.violations} early{shown}{page}"
