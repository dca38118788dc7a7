"""Live members for minutes: memory after more and more messages at full load, then rounds of kills
and restarts under load, each audited from the recordings."""

import asyncio
import random
import signal
import tempfile
from pathlib import Path

from bench.live import measure
from tests.live.cluster import cluster, judge, load

LENGTHS = (5_000, 20_000, 80_000)
ROUNDS = 10


def main(lengths: tuple[int, ...] = LENGTHS, rounds: int = ROUNDS) -> None:
    for messages in lengths:
        found = measure("vector", 4, messages)
        print(
            f"4 members, {messages:,} messages from each: {found['mib']:.0f} MiB at most, "
            f"{found['us']:.1f} µs CPU a delivery",
            flush=True,
        )
    for seed in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_round(Path(folder), seed))
            tally = judge(Path(folder) / "vector")
        print(
            f"round {seed}: {tally['send']:,} sent, {tally['deliver']:,} delivered, "
            f"{tally['crashed']} lives ended early, nothing lost, doubled or out of order",
            flush=True,
        )


async def _round(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    async with cluster(folder) as group:
        members = {one.name: one for one in await group.start_all("a", "b", "c", "d")}
        load(members.values(), count=2_000, pause_s=0.005)
        for _ in range(3):
            await asyncio.sleep(chance.uniform(0.2, 2.0))
            victim = chance.choice(list(members))
            members.pop(victim).signal(signal.SIGKILL)
            for member in members.values():
                await member.sees(*members)
            back = await group.start(victim, chance.choice(list(members)))
            members[victim] = back
            await back.sees(*members)
            load([back], count=500, pause_s=0.005)
        await group.sent(*members.values())
        await group.end(*members.values())
