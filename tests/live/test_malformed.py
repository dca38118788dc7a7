"""Many malformed inputs against the listening end of a real group."""

import asyncio
import tracemalloc

from tests.live.malformed import fuzz


def test_malformed_input_ends_connections_and_nothing_else() -> None:
    tally = asyncio.run(fuzz(seed=1, count=20_000))
    assert tally["closed"] > 10_000
    assert tally["open"] > 100  # Some are cut short, and some right by accident.


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
