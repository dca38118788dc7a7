"""Many malformed inputs against the listening end of a real group."""

import asyncio
import tracemalloc

import pytest

from antecede.errors import BrokenInvariant
from antecede.live.pump import Pump
from antecede.live.transport.incoming import _Accepted
from tests.live.malformed import fuzz


def test_malformed_input_ends_connections_and_nothing_else() -> None:
    tally = asyncio.run(fuzz(seed=1, count=30_000))
    assert tally["closed"] > 10_000
    assert tally["open"] > 100  # Some are cut short, and some right by accident.


def test_what_stays_behind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listening end that does not forget, one that says too much, one that lets errors through:
    each is caught."""
    with monkeypatch.context() as planted:
        planted.setattr(_Accepted, "connection_lost", lambda self, error: None)
        with pytest.raises(AssertionError, match="remembered"):
            asyncio.run(fuzz(seed=1, count=200))
    with monkeypatch.context() as planted:
        planted.setattr("antecede.live.transport.incoming.NO_REASON", "r" * 900)
        planted.setattr(_Accepted, "_is_genuine", lambda self, hello: False)
        with pytest.raises(AssertionError, match="much was said"):
            asyncio.run(fuzz(seed=1, count=200))
    with monkeypatch.context() as planted:
        planted.setattr(Pump, "take", lambda self, *items: self._act(lambda: 1 / 0))
        with pytest.raises(BrokenInvariant, match="ZeroDivision"):
            asyncio.run(fuzz(seed=1, count=200))


def test_an_error_of_ours_ends_the_peer_that_met_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antecede.live.pump.decode_items", lambda items, kind: 1 / 0)
    tally = asyncio.run(fuzz(seed=1, count=200))
    assert tally["closed"] > 100


def test_malformed_input_leaves_nothing_behind() -> None:
    """The memory after some thousand connections is that after a few."""

    async def run() -> tuple[int, int]:
        await fuzz(seed=2, count=1000)
        tracemalloc.start()
        await fuzz(seed=3, count=1000)
        early = tracemalloc.get_traced_memory()[0]
        await fuzz(seed=4, count=4000)
        late = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return early, late

    early, late = asyncio.run(run())
    assert late - early < 500_000
