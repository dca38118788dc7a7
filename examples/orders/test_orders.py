"""The services under test: the fixture `causal` judges what they record."""

import asyncio

from antecede.pytest_plugin import Causal
from antecede.recorder import record
from examples.orders.services import run


def _run(causal: Causal, *, careful: bool) -> list[str]:
    names = ("shop", "billing", "shipping")
    recorders = [record(causal.folder / f"{name}.trace", name, run="test") for name in names]
    return asyncio.run(run(*recorders, careful=careful))


def test_shipping_waits_for_the_order(causal: Causal) -> None:
    """Passes: what is paid is held until the order is there."""
    assert sorted(_run(causal, careful=True)) == ["1", "2", "3", "4", "5"]


def test_shipping_takes_what_comes(causal: Causal) -> None:
    """Fails, with the witness: the services work, but causal order is broken."""
    assert sorted(_run(causal, careful=False)) == ["1", "2", "3", "4", "5"]
