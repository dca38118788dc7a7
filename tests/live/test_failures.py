"""Members that are killed, stopped, cut off, restarted, that leave and join, under load: among the
survivors nothing is lost, doubled or out of order, and nobody waits for ever."""

import asyncio
import signal
from itertools import combinations
from pathlib import Path

from tests.live.cluster import Cluster, Process, cluster, judge, load
from tests.live.network import Network


def test_killed_and_restarted_with_its_old_name(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "vector", "optimal") as group:
            a, b, c, d = await group.start_all("a", "b", "c", "d")
            load([a, b, c, d], count=200)
            await asyncio.sleep(0.5)
            marks = [len(member.said) for member in (a, b, c)]
            d.signal(signal.SIGKILL)
            again = await group.start("d", "b")  # while the others still take it for alive
            for member, mark in zip((a, b, c), marks, strict=True):
                for protocol in group.protocols:
                    await member.sees("a", "b", "c", since=mark, group=protocol)
                    await member.sees("a", "b", "c", "d", since=mark, group=protocol)
            load([again], count=20)
            await group.sent(a, b, c, again)
            await group.end(a, b, c, again)

    asyncio.run(run())
    for protocol in ("vector", "optimal"):
        tally = judge(tmp_path / protocol)
        assert tally["crashed"] == 1
        assert tally["send"] > 500


def test_stopped_for_longer_than_the_others_wait(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path) as group:
            a, b, c = await group.start_all("a", "b", "c")
            load([a, b, c], count=200)
            await asyncio.sleep(0.5)
            marks = [len(member.said) for member in (a, b)]
            c.signal(signal.SIGSTOP)
            for member, seen in zip((a, b), marks, strict=True):
                await member.sees("a", "b", since=seen)
            mark, again = len(c.said), len(a.said)
            c.signal(signal.SIGCONT)
            await c.says("excluded", since=mark)
            await c.sees("a", "b", "c", since=mark)
            await a.sees("a", "b", "c", since=again)
            await group.sent(a, b, c)
            await group.end(a, b, c)

    asyncio.run(run())
    tally = judge(tmp_path / "vector")
    assert tally["crashed"] == 1


async def through(network: Network, group: Cluster, name: str, *peers: str) -> Process:
    """A member that others reach through the network."""
    port = await network.port_for(name)
    member = await group.start(name, *peers, advertise=("127.0.0.1", port))
    network.lead(name, group.ports[name])
    group.ports[name] = port
    return member


def test_cut_off_and_healed(tmp_path: Path) -> None:
    """First one from the others, which go on without it; then everybody from everybody, so that
    nobody may go on until the network is back. Whoever is linked again long after the other two
    may be taken for gone; mostly nothing has changed."""

    async def run() -> None:
        async with Network() as network, cluster(tmp_path) as group:
            a = await through(network, group, "a")
            b = await through(network, group, "b", "a")
            c = await through(network, group, "c", "a")
            members = (a, b, c)
            for member in members:
                await member.sees("a", "b", "c")
            load(members, count=150)
            await asyncio.sleep(0.5)
            marks = [len(member.said) for member in members]
            network.cut(("a", "c"), ("b", "c"))
            await c.says("interrupted")
            await a.sees("a", "b", since=marks[0])
            await b.sees("a", "b", since=marks[1])
            network.heal()
            await c.says("excluded")
            for member, mark in zip(members, marks, strict=True):
                await member.sees("a", "b", "c", since=mark)
            await group.sent(*members)
            load(members, count=50)
            marks = [len(member.said) for member in members]
            network.cut(*combinations("abc", 2))
            for member, mark in zip(members, marks, strict=True):
                await member.says("interrupted", since=mark)
            network.heal()
            for member, mark in zip(members, marks, strict=True):
                await member.until(lambda said: said["event"] in ("restored", "excluded"), mark)
                await member.says("sent", since=mark)
            await group.end(*members)

    asyncio.run(run())
    assert judge(tmp_path / "vector")["crashed"] in (1, 2)


def test_joining_and_leaving_while_others_talk(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path, "vector", "piggyback") as group:
            a, b, c = await group.start_all("a", "b", "c")
            load([a, b], count=300)
            load([c], count=50)
            d = await group.start("d", "b")
            for protocol in group.protocols:
                await d.sees("a", "b", "c", "d", group=protocol)
            load([d], count=50)
            await group.sent(c)
            c.do("leave")
            assert await c.over() == 0
            await group.sent(a, b, d)
            await group.end(a, b, d)

    asyncio.run(run())
    for protocol in ("vector", "piggyback"):
        tally = judge(tmp_path / protocol, early="c")
        assert tally["crashed"] == 0
        assert tally["leave"] == 4
