"""Real processes on loopback, one a member: traffic, recordings, and the verifier's word."""

import asyncio
from pathlib import Path

from antecede.order import Gives
from antecede.orders import names
from antecede.protocols import find
from tests.live.cluster import cluster, judge, load

FLAT = names()


def test_every_protocol(tmp_path: Path) -> None:
    """Every process is in one group for each protocol at the same time."""

    async def run() -> None:
        async with cluster(tmp_path, *FLAT) as group:
            members = await group.start_all("a", "b", "c")
            load(members, count=25)
            await group.sent(*members)
            await group.end(*members)

    asyncio.run(run())
    for protocol in FLAT:
        tally = judge(tmp_path / protocol, causal=find(protocol).traits.gives is Gives.CAUSAL)
        assert tally["send"] >= 3 * 25
        assert tally["crashed"] == 0
